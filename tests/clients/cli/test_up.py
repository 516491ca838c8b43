"""`caudal up`: the table of addresses, what is not built yet, Ctrl-C, and that nothing is left behind."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from caudal.cli.ports import is_listening

from .conftest import Caudal


def start(data: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "caudal.cli.main", "up", "--data", str(data), "--kafka-port", "0", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def table(process: subprocess.Popen[str]) -> str:
    """What is printed until everything has been said: the table, the notes, and an empty line."""
    assert process.stdout is not None
    said = ""
    while not ("└" in said and said.endswith("\n\n")):
        line = process.stdout.readline()
        assert line, process.communicate()
        said += line
    return said


def address(said: str) -> tuple[str, int]:
    match = re.search(r"Kafka broker\s+│ ([\d.]+):(\d+)", said)
    assert match, said
    return match[1], int(match[2])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_shows_where_everything_listens_and_stops_on_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    process = start(tmp_path, "-c", "num.partitions=3")
    said = table(process)
    host, port = address(said)
    assert is_listening(host, port)
    assert "/metrics" in said
    assert str(tmp_path) in said
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert out.endswith("stopped\n")
    assert not is_listening(host, port)
    assert (tmp_path / "broker").is_dir()


def test_parts_that_come_later_are_said_to_have_no_effect(tmp_path: Path) -> None:
    process = start(tmp_path, "--registry-port", "18081", "--demo", "--master", "local[2]")
    out = table(process)
    process.terminate()
    process.communicate(timeout=20)
    for flag in ("--registry-port", "--demo", "--master"):
        assert f"{flag} has no effect" in out


def test_no_server_outlives_a_killed_parent(tmp_path: Path) -> None:
    process = start(tmp_path)
    host, port = address(table(process))
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 10
    while is_listening(host, port) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_listening(host, port)


def test_a_server_that_dies_ends_it_all(tmp_path: Path) -> None:
    import psutil

    process = start(tmp_path)
    table(process)
    (child,) = psutil.Process(process.pid).children()
    os.kill(child.pid, signal.SIGKILL)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "Kafka broker ended by itself" in err


def test_a_taken_port_is_said_with_its_own_flag(caudal: Caudal, tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        outcome = caudal("up", "--data", str(tmp_path), "--kafka-port", str(port))
    assert outcome.code == 1
    assert f"(pid {os.getpid()})" in outcome.err
    assert "--kafka-port" in outcome.err


def test_a_wrong_property_is_said_by_the_broker_itself(tmp_path: Path) -> None:
    process = start(tmp_path, "-c", "no.such.property=1")
    _, err = process.communicate(timeout=20)
    assert process.returncode == 2
    assert "no.such.property" in err
    assert "Traceback" not in err
