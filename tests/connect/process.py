"""`caudal connect` as a process of its own, for tests that stop and kill it, and what they ask it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import httpx

WAIT_SECONDS = 120.0
# On a broker that allows it (group.min.session.timeout.ms): who was killed is missed soon.
QUICK = (
    "session.timeout.ms=3000",
    "heartbeat.interval.ms=500",
    "scheduled.rebalance.max.delay.ms=0",
    "offset.flush.interval.ms=500",
)


class ConnectProcess:
    """Starts at once; `wait` until it is ready."""

    def __init__(
        self, bootstrap: str, *arguments: str, properties: tuple[str, ...] = QUICK, log: Any = subprocess.DEVNULL
    ) -> None:
        ready, said = os.pipe()
        command = [sys.executable, "-m", "caudal.cli.main", "connect", "--bootstrap", bootstrap, "--port", "0"]
        command += [word for each in properties for word in ("-c", each)]
        command += ["--ready-fd", str(said), "--stop-on-stdin-eof", *arguments]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=log,
            pass_fds=(said,),
            start_new_session=True,
        )
        os.close(said)
        self._ready = os.fdopen(ready)
        self.facts: dict[str, Any] = {}

    def wait(self) -> ConnectProcess:
        line = self._ready.readline()
        self._ready.close()
        assert line, "the worker did not start"
        self.facts = json.loads(line)
        return self

    @property
    def url(self) -> str:
        return str(self.facts["address"])

    @property
    def id(self) -> str:
        """As statuses name it."""
        return self.url.removeprefix("http://")

    def ask(self, method: str, path: str, body: Any = None, status: int | None = None) -> Any:
        """The body of the answer. A rebalance is waited for, as every client of Connect does."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            answer = httpx.request(method, self.url + path, json=body, timeout=WAIT_SECONDS, trust_env=False)
            if answer.status_code == 409 and "rebalance" in answer.text and time.monotonic() < deadline:
                time.sleep(0.1)
                continue
            assert status is None or answer.status_code == status, f"{answer.status_code} {answer.text}"
            return answer.json() if answer.content else None

    def states(self, connector: str) -> list[str]:
        """Of the connector and its tasks."""
        status = self.ask("GET", f"/connectors/{connector}/status")
        if "connector" not in status:
            return []
        return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self._end()

    def stop(self) -> int:
        self.process.terminate()
        return self._end()

    def _end(self) -> int:
        code = self.process.wait(60)
        if self.process.stdin is not None:
            self.process.stdin.close()
        if not self._ready.closed:
            self._ready.close()
        return code


def until(question: Callable[[], Any], wanted: Any, seconds: float = WAIT_SECONDS) -> None:
    """Waits until the answer is as wanted."""
    deadline = time.monotonic() + seconds
    while (answer := question()) != wanted:
        assert time.monotonic() < deadline, f"{answer!r} is not {wanted!r}"
        time.sleep(0.1)
