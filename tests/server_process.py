"""A server of ours (`caudal registry`, `caudal connect`) as a process of its own, for tests that stop and kill it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any, Self

END_SECONDS = 60


class ServerProcess:
    """Starts at once; `wait` until it is ready."""

    def __init__(self, command: str, bootstrap: str, *arguments: str, port: int = 0, log: Any = None) -> None:
        ready, said = os.pipe()
        words = [sys.executable, "-m", "caudal.cli.main", command, "--bootstrap", bootstrap, "--port", str(port)]
        self.process = subprocess.Popen(
            [*words, "--ready-fd", str(said), "--stop-on-stdin-eof", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if log is None else log,
            pass_fds=(said,),
            start_new_session=True,
        )
        os.close(said)
        self._command = command
        self._ready = os.fdopen(ready)
        self.facts: dict[str, Any] = {}

    def wait(self) -> Self:
        line = self._ready.readline()
        self._ready.close()
        assert line, f"caudal {self._command} did not start"
        self.facts = json.loads(line)
        return self

    @property
    def url(self) -> str:
        return str(self.facts["address"])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self._end()

    def stop(self) -> int:
        self.process.terminate()
        return self._end()

    def _end(self) -> int:
        code = self.process.wait(END_SECONDS)
        if self.process.stdin is not None:
            self.process.stdin.close()
        if not self._ready.closed:
            self._ready.close()
        return code
