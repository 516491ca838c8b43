"""`caudal up`: the table of addresses, Ctrl-C, and that nothing is left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from caudal.cli.ports import is_listening
from caudal.cli.supervision import STOP_WAIT_SECONDS
from caudal.testing import embedded_broker

from .conftest import Caudal


def start(data: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "caudal.cli.main", "up", "--data", str(data), "--kafka-port", "0"]
    command += ["--registry-port", "0", "--connect-port", "0", "--ksql-port", "0", "--ui-port", "0", *arguments]
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


def ended(process: subprocess.Popen[str], code: int = 0) -> tuple[str, str]:
    """What else it said. Waits as long as `up` waits for its servers (a disk may take its time), none of which hung."""
    try:
        out, err = process.communicate(timeout=5 * STOP_WAIT_SECONDS + 10)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"it did not end: {process.communicate()}") from None
    assert process.returncode == code, err
    assert "is killed" not in err and "Timeout (" not in err, err
    return out, err


def address(said: str) -> tuple[str, int]:
    match = re.search(r"Kafka broker\s+│ ([\d.]+):(\d+)", said)
    assert match, said
    return match[1], int(match[2])


def url(said: str, name: str) -> str:
    match = re.search(rf"{name}\s+│ (http://\S+)", said)
    assert match, said
    return match[1]


def answer(address: str, body: bytes | None = None) -> Any:
    with urllib.request.urlopen(urllib.request.Request(address, body)) as response:
        return json.load(response)


def test_everything_is_there_knows_the_others_and_stops_on_a_signal(tmp_path: Path) -> None:
    process = start(tmp_path, "-c", "num.partitions=3")
    said = table(process)
    host, port = address(said)
    assert is_listening(host, port)
    assert "/metrics" in said
    assert str(tmp_path) in said
    assert answer(url(said, "Control center") + "/health")["status"] == "ok"
    assert answer(url(said, "Schema Registry") + "/schemas/types") == ["AVRO", "JSON", "PROTOBUF"]
    assert answer(url(said, "KSQL") + "/healthcheck")["isHealthy"]
    assert answer(url(said, "Connect") + "/health")["status"] == "healthy"
    shown = answer(url(said, "KSQL") + "/ksql", json.dumps({"ksql": "SHOW CONNECTORS;"}).encode())
    assert shown[0]["connectors"] == []
    process.terminate()
    out, _ = ended(process)
    assert out.endswith("stopped\n")
    assert not is_listening(host, port)
    assert (tmp_path / "broker").is_dir()


def test_with_bootstrap_it_starts_no_broker(tmp_path: Path) -> None:
    with embedded_broker() as broker:
        process = start(tmp_path, "--bootstrap", broker.bootstrap)
        said = table(process)
        process.send_signal(signal.SIGINT)
        out, _ = ended(process)
    assert out.endswith("stopped\n")
    assert "Kafka broker" not in said
    assert "Schema Registry" in said
    assert f"the broker is the one at {broker.bootstrap}" in said


def test_a_bootstrap_without_a_broker_is_said(caudal: Caudal, tmp_path: Path) -> None:
    outcome = caudal(
        "up", "--data", str(tmp_path), "--registry-port", "0", "--connect-port", "0", "--ksql-port", "0",
        "--ui-port", "0", "--bootstrap", "127.0.0.1:1",
    )  # fmt: skip
    assert outcome.code == 1
    assert "no broker at 127.0.0.1:1" in outcome.err


def test_without_the_extra_the_rest_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from caudal.cli.commands import up

    started: list[tuple[list[str], list[str]]] = []
    monkeypatch.setattr(up, "registry_is_installed", lambda: False)
    monkeypatch.setattr(up, "connect_is_installed", lambda: False)
    monkeypatch.setattr(up, "ksql_is_installed", lambda: False)
    monkeypatch.setattr(up, "ui_is_installed", lambda: False)
    monkeypatch.setattr(
        up, "supervise", lambda services, notes, data: started.append(([item.name for item in services], notes))
    )
    up.up(data=tmp_path, kafka_port=0, registry_port=0, connect_port=0, ksql_port=0, ui_port=0)
    ((names, notes),) = started
    assert names == ["Kafka broker"]
    for extra in ("registry", "connect", "ksql", "ui"):
        assert any(f"pip install 'caudal[{extra}]'" in note for note in notes)


def test_no_server_outlives_a_killed_parent(tmp_path: Path) -> None:
    process = start(tmp_path)
    host, port = address(table(process))
    process.kill()
    process.communicate()
    deadline = time.monotonic() + STOP_WAIT_SECONDS
    while is_listening(host, port) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_listening(host, port)


def test_a_server_that_dies_ends_it_all(tmp_path: Path) -> None:
    import psutil

    process = start(tmp_path)
    table(process)
    children = psutil.Process(process.pid).children()
    (registry,) = [child for child in children if "registry" in child.cmdline()]
    os.kill(registry.pid, signal.SIGKILL)
    _, err = ended(process, 1)
    assert "Schema Registry ended by itself" in err
    assert not any(child.is_running() for child in children)


@pytest.mark.parametrize("flag", ["--kafka-port", "--registry-port", "--connect-port", "--ksql-port", "--ui-port"])
def test_a_taken_port_is_said_with_its_own_flag(caudal: Caudal, tmp_path: Path, flag: str) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        others = ("--kafka-port", "--registry-port", "--connect-port", "--ksql-port", "--ui-port")
        ports = {**dict.fromkeys(others, "0"), flag: str(port)}
        outcome = caudal("up", "--data", str(tmp_path), *(word for pair in ports.items() for word in pair))
    assert outcome.code == 1
    assert f"(pid {os.getpid()})" in outcome.err
    assert flag in outcome.err


def test_a_wrong_property_is_said_by_the_broker_itself(tmp_path: Path) -> None:
    process = start(tmp_path, "-c", "no.such.property=1")
    _, err = ended(process, 2)
    assert "no.such.property" in err
    assert "Traceback" not in err
