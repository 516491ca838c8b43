"""Two instances of one application: the second stands by, and goes on exactly where the first was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from caudal.cli.errors import CliError, UsageError

from .conftest import Kafka
from .test_exactly_once import assert_each_count_once, lines, word_count, words

Names = Callable[[str], str]
APP = Path(__file__).with_name("apps") / "count_words.py"
SESSION_SECONDS = 3


@pytest.fixture
def processes() -> Iterator[list[psutil.Process]]:
    started: list[psutil.Process] = []
    yield started
    for process in started:
        kill_tree(process)


def kill_tree(process: psutil.Process) -> None:
    """kill -9 of the driver, its JVM and its Python workers, the driver first."""
    try:
        tree = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for member in tree:
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(tree, 10)


def test_the_standby_goes_on_where_the_killed_instance_was(
    kafka: Kafka, start: Callable[..., Any], unique: Names, tmp_path: Path, processes: list[psutil.Process]
) -> None:
    source, target, application_id = unique("lines"), unique("counts"), unique("wc")
    kafka.create(source, target)
    kafka.send(source, *lines(0, 100))
    state_dir = str(tmp_path / "state")
    command = [
        sys.executable,
        "-m",
        "caudal.cli.main",
        "run",
        str(APP),
        "--bootstrap",
        kafka.bootstrap,
        "--threads",
        "2",
    ]
    first = psutil.Popen(
        [*command, "--state-dir", state_dir, "-X", f"session.timeout.ms={SESSION_SECONDS * 1000}"],
        env={**os.environ, "APPLICATION": application_id, "SOURCE": source, "TARGET": target},
        stdout=subprocess.DEVNULL,
        stderr=(tmp_path / "log").open("w"),
    )
    processes.append(first)
    kafka.until(lambda: kafka.table(target), words(lines(0, 100)), seconds=100)

    second = start(
        word_count(application_id, source, target), state_dir=state_dir, session_timeout=SESSION_SECONDS * 1000
    )
    assert second.state == "STANDBY"
    changes: dict[str, float] = {}
    second.add_state_listener(lambda new, old: changes.setdefault(new.value, time.monotonic()))
    # Records keep coming while the first is killed in the middle of its work.

    def send_slowly() -> None:
        for number in range(100, 500, 20):
            kafka.send(source, *lines(number, number + 20))
            time.sleep(0.1)

    sender = threading.Thread(target=send_slowly)
    sender.start()
    time.sleep(0.8)
    kill_tree(first)
    killed = time.monotonic()
    kafka.until(lambda: second.state, "RUNNING", seconds=60)
    sender.join()
    kafka.until(lambda: kafka.table(target), words(lines(0, 500)))
    assert_each_count_once(kafka, target, words(lines(0, 500)))
    took, ran = changes["STARTING"] - killed, changes["RUNNING"] - killed
    print(f"the standby took over after {took:.1f} s and ran after {ran:.1f} s")
    # Alone on two cores a second or two after the session's end; the limits are for a busy machine.
    assert took < SESSION_SECONDS + 10, f"the standby took over after {took:.1f} s"
    assert ran < SESSION_SECONDS + 30, f"the standby ran after {ran:.1f} s"
    assert f"'{application_id}' is RUNNING" in (tmp_path / "log").read_text()


def test_wrong_flags_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from caudal.cli.commands import run

    for name, value in {"APPLICATION": "app", "SOURCE": "a", "TARGET": "b"}.items():
        monkeypatch.setenv(name, value)
    builder = run.load_builder(APP)
    assert builder.application_id == "app"
    given: dict[str, Any] = {
        "bootstrap": "localhost:1",
        "mode": "micro-batch",
        "http": None,
        "state_dir": None,
        "metrics_port": None,
        "properties": None,
        "describe": False,
        "quiet": True,
    }
    with pytest.raises(UsageError, match="--http takes a port or HOST:PORT, not 'here'"):
        run._run(builder, **{**given, "http": "here"})
    with pytest.raises(CliError, match="no broker at localhost:1"):
        run._run(builder, **given)
    empty = tmp_path / "empty.py"
    empty.write_text("x = 1\n")
    with pytest.raises(UsageError, match="has no StreamsBuilder"):
        run.load_builder(empty)


@pytest.mark.slow  # a JVM of its own
def test_ctrl_c_stops_in_good_order(
    kafka: Kafka, unique: Names, tmp_path: Path, processes: list[psutil.Process]
) -> None:
    """`python app.py` with the same flags; SIGINT commits, leaves the group and ends with 0."""
    source, target, application_id = unique("lines"), unique("counts"), unique("wc")
    kafka.create(source, target, partitions=1)
    kafka.send(source, *lines(0, 10))
    process = psutil.Popen(
        [sys.executable, str(APP), "--bootstrap", kafka.bootstrap, "--state-dir", str(tmp_path)],
        env={**os.environ, "APPLICATION": application_id, "SOURCE": source, "TARGET": target},
        stderr=(tmp_path / "log").open("w"),
    )
    processes.append(process)
    kafka.until(lambda: kafka.table(target), words(lines(0, 10)), seconds=100)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    assert f"'{application_id}' is STOPPED" in (tmp_path / "log").read_text()
