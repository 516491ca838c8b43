"""The platform's servers as processes of their own, each of which can be killed and started again where it was."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

STOP_SECONDS = 120


def free_ports(count: int) -> list[int]:
    holders = [socket.socket() for _ in range(count)]
    try:
        for holder in holders:
            holder.bind(("127.0.0.1", 0))
        return [holder.getsockname()[1] for holder in holders]
    finally:
        for holder in holders:
            holder.close()


class Part:
    """`caudal WORDS`, with its log in a file."""

    def __init__(self, words: list[str], folder: Path, log: Path, environment: Mapping[str, str]) -> None:
        self._words = words
        self._folder = folder
        self._log = log
        self._environment = {**os.environ, **environment}
        self.process: psutil.Popen | None = None

    def start(self) -> None:
        """Returns when it is ready."""
        ready, said = os.pipe()
        command = [sys.executable, "-m", "caudal.cli.main", *self._words, "--log-level", "warning"]
        with self._log.open("ab") as log:
            self.process = psutil.Popen(
                [*command, "--ready-fd", str(said), "--stop-on-stdin-eof"], stdin=subprocess.PIPE, stdout=log,
                stderr=log, pass_fds=(said,), cwd=self._folder, env=self._environment, start_new_session=True,
            )  # fmt: skip
        os.close(said)
        with os.fdopen(ready) as pipe:
            line = pipe.readline()
        assert line, f"caudal {self._words[0]} did not start: {self._log.read_text()[-4000:]}"
        assert json.loads(line)["address"]

    def descendants(self, word: str = "") -> list[psutil.Process]:
        """Those whose command has the word in it."""
        found = []
        for process in self.process.children(recursive=True) if self.process is not None else ():
            try:
                if word in " ".join(process.cmdline()):
                    found.append(process)
            except psutil.NoSuchProcess:
                continue
        return found

    def kill(self) -> None:
        """With -9, and nothing else: what it has started has to notice."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self._end()

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self._end()

    def _end(self) -> None:
        process: Any = self.process
        process.wait(STOP_SECONDS)
        process.stdin.close()
        self.process = None


class Platform:
    """Broker, registry, Connect and KSQL as `caudal up` starts them, but each for itself."""

    def __init__(self, folder: Path, logs: Path, environment: Mapping[str, str], spark: bool = True) -> None:
        kafka, registry, connect, ksql = free_ports(4)
        self.bootstrap = f"127.0.0.1:{kafka}"
        self.registry, self.connect = f"http://127.0.0.1:{registry}", f"http://127.0.0.1:{connect}"
        self.ksql = f"http://127.0.0.1:{ksql}"
        known = ["--bootstrap", self.bootstrap]
        words = {
            "broker": ["broker", "--port", str(kafka), "--data", "data/caudal/broker", "--no-metrics",
                       "-c", "group.initial.rebalance.delay.ms=0"],
            "registry": ["registry", "--port", str(registry), *known],
            "connect": ["connect", "--port", str(connect), *known, "--registry", self.registry,
                        "--allow-folder", "data"],
            "ksql": ["ksql-server", "--port", str(ksql), *known, "--registry", self.registry,
                     "--data", "data/caudal/ksql"],
        }  # fmt: skip
        if not spark:
            del words["ksql"]
        self.parts = {name: Part(one, folder, logs / f"{name}.log", environment) for name, one in words.items()}
        self._folder = folder
        # As somebody who types has them.
        self._environment = {
            **os.environ, "CAUDAL_BOOTSTRAP": self.bootstrap, "CAUDAL_REGISTRY": self.registry,
            "CAUDAL_CONNECT": self.connect, "CAUDAL_KSQL": self.ksql,
        }  # fmt: skip

    def caudal(self, *words: str) -> str:
        """What the command says; it has to succeed."""
        done = subprocess.run(
            [sys.executable, "-m", "caudal.cli.main", *words], cwd=self._folder, env=self._environment,
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, f"caudal {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    @contextmanager
    def running(self) -> Iterator[None]:
        try:
            for part in self.parts.values():
                part.start()
            yield
        finally:
            for part in reversed(self.parts.values()):
                part.stop()
