"""From flags, file and -c to Kafka's properties; `caudal broker` as a process: ready line, signals, refusals."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from caudal.broker.broker import Broker
from caudal.broker.config import BrokerConfig
from caudal.cli.broker_process import STOP_SECONDS, _Recovery, broker_properties, parser
from caudal.testing import embedded_broker

READY = re.compile(r"caudal broker (\d+) is ready at 127\.0\.0\.1:(\d+) after ([\d.]+) s, metrics at (\S+)")


def properties(*arguments: str) -> dict[str, str]:
    return broker_properties(parser().parse_args(list(arguments)))


def test_without_arguments_it_listens_on_this_machine_only() -> None:
    assert properties() == {
        "listeners": "PLAINTEXT://127.0.0.1:9092",
        "log.dirs": "caudal-data/broker",
        "node.id": "1",
    }


def test_c_wins_over_flags_and_flags_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "# a file of Kafka's\nbroker.id=7\nlisteners=PLAINTEXT://0.0.0.0:9000\n"
        "advertised.listeners=PLAINTEXT://kafka.example:9000\nlog.dirs=/from/file\nnum.partitions=3\n"
    )
    taken = properties("--config", str(file))
    assert taken["listeners"] == "PLAINTEXT://0.0.0.0:9000"
    assert taken["advertised.listeners"] == "PLAINTEXT://kafka.example:9000"
    assert (taken["broker.id"], taken["log.dirs"], taken["num.partitions"]) == ("7", "/from/file", "3")
    assert "node.id" not in taken
    taken = properties(
        "--config", str(file), "--port", "19", "--data", "d", "-c", "num.partitions=9", "-c", "log.dirs=/c"
    )
    assert taken["listeners"] == "PLAINTEXT://127.0.0.1:19"
    assert "advertised.listeners" not in taken
    assert (taken["num.partitions"], taken["log.dirs"]) == ("9", "/c")


@pytest.mark.parametrize(
    ("arguments", "advertised"),
    [
        (["--advertised", "kafka.example"], "PLAINTEXT://kafka.example:9092"),
        (["--advertised", "kafka.example:29092"], "PLAINTEXT://kafka.example:29092"),
        (["--advertised", "[::1]:5"], "PLAINTEXT://[::1]:5"),
        (["--host", "0.0.0.0"], f"PLAINTEXT://{socket.gethostname()}:9092"),
    ],
)
def test_what_clients_are_told(arguments: list[str], advertised: str) -> None:
    assert properties(*arguments)["advertised.listeners"] == advertised


@contextlib.contextmanager
def broker_process(data: Path, *arguments: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`caudal broker` as a person starts it, and its ready line."""
    command = [sys.executable, "-m", "caudal.cli.main", "broker", "--port", str(port), "--data", str(data), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline()
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def failed_start(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "caudal.cli.main",
        "broker",
        "--data",
        str(data),
        "--log-level",
        "error",
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_one_line_when_ready_and_stops_cleanly_on_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    with broker_process(tmp_path / "d") as (process, line):
        ready = READY.match(line)
        assert ready, line
        with socket.create_connection(("127.0.0.1", int(ready[2])), 30):
            pass
        with urllib.request.urlopen(ready[4], timeout=30) as page:
            assert b"caudal_info" in page.read()
        process.send_signal(number)
        assert process.wait(STOP_SECONDS + 5) == 0
        out, err = process.communicate()
        assert out == ""
        assert "Traceback" not in err


def test_a_second_start_finds_a_clean_shutdown(tmp_path: Path) -> None:
    for _ in range(2):
        with broker_process(tmp_path / "d") as (process, line):
            assert READY.match(line), line
            process.terminate()
            assert process.wait(STOP_SECONDS + 5) == 0
            assert "not orderly" not in process.communicate()[1]


def test_a_taken_port_is_said_with_who_holds_it(tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        failed = failed_start(tmp_path / "d", "--port", str(port))
        import os

        assert failed.returncode == 1
        assert f"port {port} is taken by python" in failed.stderr
        assert f"(pid {os.getpid()})" in failed.stderr
        assert "--port" in failed.stderr
        assert failed.stderr.count("\n") == 1
        failed = failed_start(tmp_path / "d", "--port", "0", "--metrics-port", str(port))
        assert "--metrics-port" in failed.stderr


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    with broker_process(tmp_path / "d") as (_, line):
        assert READY.match(line), line
        failed = failed_start(tmp_path / "d", "--port", "0")
    assert failed.returncode == 1
    assert "--data" in failed.stderr
    assert failed.stderr.count("\n") == 1


def test_a_file_in_place_of_the_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "d").write_text("")
    failed = failed_start(tmp_path / "d", "--port", "0")
    assert (failed.returncode, failed.stderr.count("\n")) == (1, 1)
    assert "--data" in failed.stderr


def test_two_brokers_live_side_by_side_with_metrics_each(tmp_path: Path) -> None:
    with broker_process(tmp_path / "a") as (_, first), broker_process(tmp_path / "b") as (_, second):
        pages = [match[4] for line in (first, second) if (match := READY.match(line))]
    assert len(set(pages)) == 2


def test_json_logs_are_json_from_the_first_line(tmp_path: Path) -> None:
    with broker_process(tmp_path / "d", "--log-format", "json", "--no-metrics") as (process, line):
        ready = json.loads(line)
        assert ready["event"] == "ready"
        assert ready["metrics"] is None
        process.terminate()
        assert process.wait(STOP_SECONDS + 5) == 0
        for entry in process.communicate()[1].splitlines():
            assert {"ts", "level", "logger", "message"} <= json.loads(entry).keys()


def test_it_is_up_in_half_a_second(tmp_path: Path) -> None:
    """Of CPU: what a start costs us. How long that takes is also the business of whoever else is on the machine."""
    best = 9.0
    for attempt in range(3):
        with broker_process(tmp_path / str(attempt), "--no-metrics") as (process, line):
            spent = psutil.Process(process.pid).cpu_times()
            best = min(best, spent.user + spent.system)
            assert "is ready" in line
    # The target is 0.3 s; the margin is for caches and clocks that others slow down.
    assert best < 1.0


def test_it_ends_with_the_process_that_supervises_it(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "caudal.cli.main",
        "broker",
        "--port",
        "0",
        "--data",
        str(tmp_path),
        "--stop-on-stdin-eof",
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdin is not None
    assert "is ready" in process.stdout.readline()
    process.stdin.close()
    assert process.wait(STOP_SECONDS + 5) == 0
    process.stdout.close()


async def test_a_start_tells_how_many_logs_are_loaded(tmp_path: Path) -> None:
    with embedded_broker(data=tmp_path) as before:
        before.create_topic("t", partitions=3)
    broker = Broker(BrokerConfig({"log.dirs": str(tmp_path), "listeners": "PLAINTEXT://127.0.0.1:0", "node.id": "1"}))
    told: list[tuple[int, int]] = []
    broker.on_recovery = lambda done, total: told.append((done, total))
    await broker.start()
    await broker.stop()
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_long_recovery_is_said_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("caudal.cli.broker_process.time.monotonic", lambda: now[0])
    recovery = _Recovery()
    for done in range(1, 13):
        now[0] = float(done)
        recovery.say(done, 12)
    assert capsys.readouterr().err.splitlines() == [
        "checking the logs: 5 of 12 (41 %)",
        "checking the logs: 10 of 12 (83 %)",
    ]
