"""A broker in a process of its own that can be killed, stopped, started again on the same folder and port, and watched.

What it prints goes to a file beside the data folder: tests count its lines. Its memory is read from the system.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

START_SECONDS = 60.0  # longer is a hang
STOP_SECONDS = 45.0  # longer than the broker gives itself

_LINE = re.compile(r"^\S+ +(WARN\w*|ERROR|CRIT\w*)\b", re.MULTILINE)

# What makes a test broker quick; the internal topics are small so that a start after a crash has little to look at.
PROPERTIES: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class BrokerProcess:
    def __init__(self, data: Path, properties: Mapping[str, str] | None = None, port: int | None = None) -> None:
        self.data = data
        self.port = port or free_port()
        self.output = data.with_name(data.name + ".output")
        self.properties = {**PROPERTIES, **(properties or {})}
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None, "the broker is not running"
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    # -- life

    def spawn(self) -> None:
        """Begins to start it; does not wait."""
        command = [sys.executable, "-m", "caudal.cli.main", "broker", "--port", str(self.port)]
        command += ["--data", str(self.data), "--no-metrics"]
        for name, value in self.properties.items():
            command += ["-c", f"{name}={value}"]
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=_environment()
            )

    def start(self) -> None:
        self.spawn()
        self.wait_until_it_listens()

    def wait_until_it_listens(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if not self.is_alive:
                raise AssertionError(f"the broker did not start:\n{self.said()[-3000:]}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise AssertionError(f"the broker did not start in {START_SECONDS:.0f} s:\n{self.said()[-3000:]}")

    def kill(self) -> None:
        """`kill -9`, at whatever it is doing."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Asks it to end; the exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the broker did not stop in {STOP_SECONDS:.0f} s:\n{self.said()[-3000:]}") from None
        finally:
            self.process = None

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    # -- what can be seen of it

    def said(self) -> str:
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def complaints(self) -> list[str]:
        """Every line it logged as a warning or worse."""
        return [line for line in self.said().splitlines() if _LINE.match(line)]

    def resident_bytes(self) -> int:
        return self._memory("VmRSS")

    def peak_bytes(self) -> int:
        """The most it ever had."""
        return self._memory("VmHWM")

    def _memory(self, name: str) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("the system does not say how much memory the broker has")

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))


@contextmanager
def running_broker(data: Path, properties: Mapping[str, str] | None = None) -> Iterator[BrokerProcess]:
    """A broker process for the length of the block. It is killed at the end: stopping is what some tests are about."""
    broker = BrokerProcess(data, properties)
    broker.start()
    try:
        yield broker
    finally:
        broker.close()


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONUNBUFFERED": "1"}
