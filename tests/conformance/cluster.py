"""The cluster a test talks to, and how a Caudal broker is started for it: a process of its own, as users run it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True)
class Cluster:
    bootstrap: str
    data: Path | None
    """The folder with the partitions' files, when this machine has it."""
    is_caudal: bool
    process_id: int | None = None


@contextmanager
def caudal_broker(data: Path, **config: str) -> Iterator[Cluster]:
    """A broker that must start, live through the block, and stop cleanly; underscores in names stand for dots."""
    port = free_port()
    log = data.with_suffix(".log")
    command = [sys.executable, "-m", "caudal.cli.main", "broker", "--port", str(port), "--data", str(data)]
    command += ["--metrics-port", str(free_port())]
    for name, value in config.items():
        command += ["-c", f"{name.replace('_', '.')}={value}"]
    with log.open("ab") as output:
        environment = os.environ | {"PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
    try:
        _wait_for(port, process, log)
        yield Cluster(f"127.0.0.1:{port}", data, True, process.pid)
        assert process.poll() is None, f"the broker died during the tests:\n{log.read_text()[-3000:]}"
    finally:
        process.terminate()
        try:
            code = process.wait(45)  # longer than the broker gives itself
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = -9
    assert code == 0, f"the broker ended with {code} after SIGTERM:\n{log.read_text()[-3000:]}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    pytest.fail(f"the broker did not start:\n{log.read_text()[-3000:]}")
