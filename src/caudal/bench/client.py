"""The parent's side of the client process: starts it, sends it workloads, waits for their results.

The client is a process of its own so that its CPU is not the broker's nor the runner's. One client does one workload
at a time; a case that needs two at once (a steady producer beside a catch-up read) takes two clients.
"""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
from typing import Any

RESULT_TIMEOUT = 600.0


class ClientError(Exception):
    """A workload failed; the text is the client's reason."""


class Client:
    def __init__(self, *modules: str) -> None:
        """`modules` are those with further workloads."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "caudal.bench.client_process", *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.busy = False

    def begin(self, workload: str, **arguments: Any) -> None:
        """Sends a workload and returns at once; `result` or `finish` must follow."""
        if self.busy:
            raise ClientError(f"the client is still busy, {workload} cannot begin")
        self.busy = True
        self._send({"workload": workload, "arguments": arguments})

    def finish(self) -> dict[str, Any]:
        """Tells the running workload to end early and waits for its result."""
        self._send({"stop": True})
        return self.result()

    def result(self, timeout: float = RESULT_TIMEOUT) -> dict[str, Any]:
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(timeout):
                self.close()
                raise ClientError(f"no result within {timeout:.0f} s")
        line = self.process.stdout.readline()
        self.busy = False
        if not line:
            raise ClientError("the client process ended by itself")
        message: dict[str, Any] = json.loads(line)
        if "error" in message:
            raise ClientError(message["error"])
        result: dict[str, Any] = message["result"]
        return result

    def run(self, workload: str, **arguments: Any) -> dict[str, Any]:
        self.begin(workload, **arguments)
        return self.result()

    def close(self) -> None:
        # Nothing in the client is worth a graceful end, and a stuck workload must not keep the bench from ending.
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        except (OSError, ValueError) as error:
            raise ClientError("the client process is gone") from error
