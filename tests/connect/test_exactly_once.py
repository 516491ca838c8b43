"""Exactly-once sources: killed in the middle of transactions, each record is there once for who reads committed ones."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from caudal.connect.runtime.model import State
from caudal.connect.runtime.tasks.process_host import TaskProcess
from caudal.testing import EmbeddedBroker
from tests.connect.task_harness import Bench, stored, wait_for

KILLS = 10


@pytest.fixture
def bench(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(broker.bootstrap, tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("boundary", ["poll", "interval"])
def test_killed_ten_times_each_record_is_there_once(bench: Bench, broker: EmbeddedBroker, boundary: str) -> None:
    name, count = f"killed-{boundary}", 100_000
    broker.create_topic(name, 4)
    config = {
        "topic": name, "count": str(count), "batch": "200", "sources": "2", "wait.ms": "2",
        "exactly.once.support": "required", "transaction.boundary": boundary,
        "transaction.boundary.interval.ms": "150", "caudal.task.isolation": "process",
    }  # fmt: skip
    dice = random.Random(8)
    for _ in range(KILLS):
        task, heard = bench.start("Counting", name, config)
        assert isinstance(task, TaskProcess)
        heard.wait(State.RUNNING)
        before = bench.length(name)
        wait_for(partial(_has_more, bench, name, before), "some records")
        time.sleep(dice.uniform(0, 0.3))  # anywhere in a transaction
        os.kill(task.pid, signal.SIGKILL)
        heard.wait(State.FAILED)
        assert "SIGKILL" in heard.traces[0]
    assert len(bench.values(name)) < 2 * count, "the kills came too late to prove anything"
    task, heard = bench.start("Counting", name, {**config, "batch": "5000"})
    wait_for(lambda: [{"n": count - 1}] * 2 == [offset for _, offset in stored(bench.settings, name)], "the end")
    bench.stop(task)
    found = Counter((one["source"], one["n"]) for one in bench.values(name))
    assert len(found) == 2 * count
    assert set(found.values()) == {1}
    assert len(bench.notes("start", "source-")) == KILLS + 1


def _has_more(bench: Bench, topic: str, than: int) -> bool:
    return bench.length(topic) > than
