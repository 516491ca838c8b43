"""HTTP servers under measurement, as a person starts them: `caudal registry`, `caudal ksql-server`, the empty peers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from caudal.bench.servers import ServerError, children, signal_all

STOP_SECONDS = 30.0


class HttpServer:
    """`caudal NAME …` on a free port. `facts` is what it said when it was ready, `seconds` how long that took."""

    def __init__(self, words: Sequence[str], output: Path) -> None:
        ready, said = os.pipe()
        command = [sys.executable, "-m", "caudal.cli.main", *words, "--port", "0"]
        command += ["--ready-fd", str(said), "--log-level", "warning"]
        begin = time.perf_counter()
        with output.open("ab") as log:
            self.process = psutil.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(said,), start_new_session=True
            )
        os.close(said)
        with os.fdopen(ready) as pipe:
            line = pipe.readline()
        if not line:
            self.stop()
            raise ServerError(f"caudal {words[0]} did not start.\n{output.read_text()[-2000:]}")
        self.seconds = time.perf_counter() - begin
        self.facts: dict[str, Any] = json.loads(line)
        self.http_port = int(str(self.facts["address"]).rpartition(":")[2])

    def memory_mb(self) -> float:
        return float(self.process.memory_info().rss / 1e6)

    def stop(self) -> None:
        """A clean stop; what is left of it and its children after that is killed."""
        descendants = children(self.process)
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except (psutil.TimeoutExpired, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait(STOP_SECONDS)
        signal_all(descendants, signal.SIGKILL)


class Peer:
    """An empty endpoint: `python -m MODULE`, which says its port when it listens."""

    def __init__(self, module: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", module], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self.process.stdout is not None
        self.http_port = int(self.process.stdout.readline() or 0)
        if not self.http_port:
            raise ServerError(f"{module} did not start.")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
