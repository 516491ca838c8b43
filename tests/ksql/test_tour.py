"""docs/ksql-tour.md, word for word: every block as a newcomer types it, the server killed in the middle."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "ksql-tour.md"
BLOCK = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)
UP_SECONDS = 120
WAIT_SECONDS = 120


def free_ports(count: int) -> list[int]:
    holders = [socket.socket() for _ in range(count)]
    try:
        for holder in holders:
            holder.bind(("127.0.0.1", 0))
        return [holder.getsockname()[1] for holder in holders]
    finally:
        for holder in holders:
            holder.close()


@contextmanager
def caudal_up(folder: Path, ports: list[int]) -> Iterator[subprocess.Popen[str]]:
    names = ("--kafka-port", "--registry-port", "--ksql-port", "--connect-port")
    flags = [word for name, port in zip(names, ports, strict=True) for word in (name, str(port))]
    command = [sys.executable, "-m", "caudal.cli.main", "up", "--data", str(folder), *flags]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "Caudal is up" in line, line + process.stdout.read()
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(UP_SECONDS)


class Shell:
    """`caudal ksql`, with the session's setting of the tour."""

    def __init__(self, port: int, folder: Path) -> None:
        self._command = [sys.executable, "-m", "caudal.cli.main", "ksql", "--server", f"http://127.0.0.1:{port}"]
        self._folder = folder

    def run(self, text: str, *flags: str) -> subprocess.CompletedProcess[str]:
        file = self._folder / "typed.sql"
        file.write_text(f"SET 'auto.offset.reset' = 'earliest';\n{text}")
        command = [*self._command, *flags, "-f", str(file)]
        return subprocess.run(command, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False)

    def rows(self, text: str) -> list[list[Any]]:
        done = self.run(text, "--json")
        assert done.returncode == 0, done.stderr
        return [list(json.loads(line).values()) for line in done.stdout.splitlines()]


def wait_port_free(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return
        time.sleep(0.1)
    pytest.fail(f"port {port} is still taken after the kill")


@pytest.mark.timeout(600)
def test_the_tour(tmp_path: Path) -> None:
    before, after = PAGE.read_text().split("## Kill it")
    ports = free_ports(4)
    shell = Shell(ports[2], tmp_path)
    expected: dict[str, list[list[Any]]] = {
        "FROM orders WHERE amount > 100": [[2, "ben", 120.5], [3, "ana", 340.0]],
        "FROM large_orders EMIT CHANGES LIMIT 2": [[2, "BEN", 120.5], [3, "ANA", 340.0]],
        "FROM sales_per_minute WHERE": [["lamp", 1767261600000, 1, 30.0], ["lamp", 1767261660000, 1, 30.0]],
        "FROM sales_per_minute GROUP BY": [["desk", 340.0], ["chair", 120.5], ["lamp", 60.0]],
        "SELECT * FROM sales_per_city": [["Cuenca", 1, 120.5], ["Soria", 3, 400.0]],
    }
    seen = set()
    with caudal_up(tmp_path / "data", ports) as process:
        for text in BLOCK.findall(before):
            found = next((key for key in expected if key in text), None)
            if found is None:
                done = shell.run(text)
                assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
                continue
            seen.add(found)
            rows = shell.rows(text)
            ordered = rows if "ORDER BY" in text else sorted(rows, key=lambda row: [str(cell) for cell in row])
            assert ordered == expected[found], text
        assert seen == set(expected)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    for port in ports:
        wait_port_free(port)
    with caudal_up(tmp_path / "data", ports):
        again, insert, one, wrong, tidy = BLOCK.findall(after)
        assert sorted(shell.rows(again)) == expected["SELECT * FROM sales_per_city"]
        assert shell.run(insert).returncode == 0
        deadline = time.monotonic() + WAIT_SECONDS
        while (rows := shell.rows(one)) != [["Soria", 4, 412.25]]:
            assert time.monotonic() < deadline, rows
        done = shell.run(wrong)
        assert done.returncode == 1
        assert "Did you mean 'CUSTOMER'?" in done.stderr + done.stdout
        done = shell.run(tidy)
        assert done.returncode == 0, done.stderr
