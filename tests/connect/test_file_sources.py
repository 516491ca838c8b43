"""Sources of files in real tasks: exactly once over kills, and files are moved when their records are safe."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from caudal.connect.runtime.model import State
from caudal.connect.runtime.tasks.process_host import TaskProcess
from caudal.testing import EmbeddedBroker
from tests.connect.task_harness import Bench, wait_for

FILES, LINES = 6, 2000


@pytest.fixture
def bench(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(broker.bootstrap, tmp_path, allowed_folders=(tmp_path,), value_converter="String")
    yield made
    made.close()


def texts(bench: Bench, topic: str) -> Counter[str]:
    return Counter(message.value().decode() for message in bench.records(topic))


def _is_longer(bench: Bench, length: int) -> bool:
    return bench.length("spooled") > length


def test_a_spool_directory_is_read_once_over_kills(bench: Bench, broker: EmbeddedBroker, tmp_path: Path) -> None:
    broker.create_topic("spooled", 2)
    (tmp_path / "in").mkdir()
    for file in range(FILES):
        (tmp_path / f"in/{file}.txt").write_text("".join(f"{file}-{line}\n" for line in range(LINES)))
    config = {
        "topic": "spooled", "input.path": str(tmp_path / "in"), "finished.path": str(tmp_path / "done"),
        "batch.size": "100", "poll.interval.ms": "50", "exactly.once.support": "required",
        "caudal.task.isolation": "process",
    }  # fmt: skip
    for _ in range(3):
        before = bench.length("spooled")
        task, heard = bench.start("SpoolDirectory", "spool", config)
        assert isinstance(task, TaskProcess)
        wait_for(partial(_is_longer, bench, before + 300), "records")
        os.kill(task.pid, signal.SIGKILL)
        heard.wait(State.FAILED)
    task, heard = bench.start("SpoolDirectory", "spool", config)
    wait_for(lambda: len(list((tmp_path / "done").glob("*.txt"))) == FILES, "all files moved")
    bench.stop(task)
    found = texts(bench, "spooled")
    assert len(found) == FILES * LINES and set(found.values()) == {1}
    assert list((tmp_path / "in").iterdir()) == []


def test_a_file_that_grows_is_followed(bench: Bench, broker: EmbeddedBroker, tmp_path: Path) -> None:
    broker.create_topic("followed", 1)
    file = tmp_path / "log.txt"
    file.write_text("one\ntwo\nthr")
    config = {"file": str(file), "topic": "followed"}
    task, _ = bench.start("org.apache.kafka.connect.file.FileStreamSourceConnector", "follow", config)
    wait_for(lambda: bench.length("followed") >= 2, "two lines")
    bench.stop(task)
    with file.open("a") as more:
        more.write("ee\nfour\n")
    task, _ = bench.start("FileStreamSource", "follow", config)
    wait_for(lambda: bench.length("followed") >= 4, "four lines")
    bench.stop(task)
    assert [message.value().decode() for message in bench.records("followed")] == ["one", "two", "three", "four"]
