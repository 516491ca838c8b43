"""`caudal connect` as a process of its own, for tests that kill it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import httpx

ANSWER_SECONDS = 90
PATIENCE = 120.0


class WorkerProcess:
    """Starts at once; `wait` until it is ready."""

    def __init__(self, bootstrap: str, *arguments: str, port: int = 0, log: Any = subprocess.DEVNULL) -> None:
        ready, said = os.pipe()
        command = [sys.executable, "-m", "caudal.cli.main", "connect", "--bootstrap", bootstrap, "--port", str(port)]
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
        self.url = ""

    def wait(self) -> WorkerProcess:
        line = self._ready.readline()
        self._ready.close()
        assert line, "the worker did not start"
        self.url = str(json.loads(line)["address"])
        return self

    @property
    def worker_id(self) -> str:
        return self.url.removeprefix("http://")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self._end()

    def stop(self) -> int:
        self.process.terminate()
        return self._end()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer's body. Asked again while the group is being rebalanced, as every client of Connect does."""
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = httpx.request(method, self.url + path, json=body, timeout=ANSWER_SECONDS)
            if answer.is_success:
                return answer.json() if answer.content else None
            assert answer.status_code in (409, 500, 503), answer.text
            assert time.monotonic() < deadline, answer.text
            time.sleep(0.1)

    def _end(self) -> int:
        code = self.process.wait(60)
        if self.process.stdin is not None:
            self.process.stdin.close()
        if not self._ready.closed:
            self._ready.close()
        return code
