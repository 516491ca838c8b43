"""Exactly-once sources: killed in the middle of transactions, each record is there once to readers of committed."""

from __future__ import annotations

import dataclasses
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from caudal.connect import ConnectError
from caudal.connect.runtime.model import State, TargetState, TaskId, TaskSpec
from caudal.connect.runtime.offset_store import open_offset_store
from caudal.connect.runtime.tasks import fence, start_task
from caudal.connect.runtime.tasks.process_host import TaskProcess
from caudal.testing import EmbeddedBroker
from tests.connect.task_harness import Bench, Heard, stored, wait_for

KILLS = 5


@pytest.fixture
def bench(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(broker.bootstrap, tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("boundary", [pytest.param("poll", marks=pytest.mark.slow), "interval"])
def test_killed_five_times_each_record_is_there_once(bench: Bench, broker: EmbeddedBroker, boundary: str) -> None:
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
    assert len(bench.records(name, "read_uncommitted")) > 2 * count, "no kill hit a transaction"
    assert len(bench.notes("start", "source-")) == KILLS + 1


def test_a_zombie_is_fenced_and_writes_nothing_more(bench: Bench) -> None:
    config = {
        "topic": "fenced", "count": "1000000", "batch": "10", "wait.ms": "20", "exactly.once.support": "required",
    }  # fmt: skip
    _, old = bench.start("Counting", "fenced", config)
    old.wait(State.RUNNING)
    wait_for(lambda: "fenced" in old.topics and bench.length("fenced") > 0, "records of the old run")
    fence(bench.settings, "fenced", 3, config)
    old.wait(State.FAILED)
    assert "has taken over" in old.traces[0]
    new, heard = bench.start("Counting", "fenced", config)
    heard.wait(State.RUNNING)
    length = bench.length("fenced")
    wait_for(lambda: bench.length("fenced") > length, "records of the new run")
    bench.stop(new)
    numbers = [one["n"] for one in bench.values("fenced")]
    assert numbers == list(range(len(numbers)))


def test_a_late_run_is_kept_from_fencing_a_newer_one(bench: Bench) -> None:
    def newer() -> None:
        raise ConnectError("generation 2 is running")

    for isolation in ("thread", "process"):
        properties = {
            "name": "late", "connector.class": "Counting", "folder": str(bench.folder), "topic": "late",
            "exactly.once.support": "required", "caudal.task.isolation": isolation,
        }  # fmt: skip
        heard = Heard()
        spec = TaskSpec(TaskId("late", 0), properties, properties, 1, 1)
        bench.running.append(start_task(spec, bench.settings, heard, TargetState.STARTED, newer))
        heard.wait(State.FAILED)
        assert "generation 2 is running" in heard.traces[0]


def test_records_that_are_all_dropped_move_the_offsets(bench: Bench) -> None:
    config = {
        "topic": "dropped", "count": "500", "exactly.once.support": "required", "transforms": "none",
        "transforms.none.type": "DropAll",
    }  # fmt: skip
    task, heard = bench.start("Counting", "dropped", config)
    heard.wait(State.RUNNING)
    wait_for(lambda: stored(bench.settings, "dropped") == [({"source": "s0"}, {"n": 499})], "the last offset")
    bench.stop(task)


def test_boundaries_of_the_connector_are_refused(bench: Bench) -> None:
    config = {"topic": "x", "exactly.once.support": "required", "transaction.boundary": "connector"}
    _, heard = bench.start("Counting", "boundaries", config)
    heard.wait(State.FAILED)
    assert "transaction.boundary" in heard.traces[0]


def test_a_transaction_ends_in_time_while_the_task_waits_in_poll(bench: Bench) -> None:
    config = {
        "topic": "slow-poll", "count": "100", "fail.at": "100", "fail.with": "stuck",
        "exactly.once.support": "required", "transaction.boundary": "interval",
        "transaction.boundary.interval.ms": "300",
    }  # fmt: skip
    task, heard = bench.start("Counting", "slow-poll", config)
    heard.wait(State.RUNNING)
    wait_for(lambda: stored(bench.settings, "slow-poll") == [({"source": "s0"}, {"n": 99})], "the last offset")
    assert len(bench.records("slow-poll")) == 100
    task.stop()
    bench.abandon(task)


def test_offsets_behind_the_open_transaction_of_another_are_found(bench: Bench, broker: EmbeddedBroker) -> None:
    """The reader of committed records sees nothing behind an open transaction: it has to wait for its end."""
    settings = dataclasses.replace(bench.settings, offset_topic="one-partition", offset_partitions=1)
    store = open_offset_store(settings)
    store.write("mine", [({"p": 1}, {"n": 1})])
    assert store.read_all("mine") == [({"p": 1}, {"n": 1})]
    other = Producer({"bootstrap.servers": bench.bootstrap, "transactional.id": "other"})
    other.init_transactions(60)
    other.begin_transaction()
    other.produce("one-partition", b'{"n":5}', b'["other",{"p":1}]')
    assert other.flush(60) == 0
    store.write("mine", [({"p": 1}, {"n": 2})])
    found: list[Any] = []
    reader = threading.Thread(target=lambda: found.append(store.read_all("mine")))
    reader.start()
    reader.join(1.0)
    assert found == [], "it must not answer with the old offset"
    other.abort_transaction(60)
    reader.join(60)
    assert found == [[({"p": 1}, {"n": 2})]]
    assert store.read_all("other") == []
    store.close()


def test_offsets_in_a_topic_of_the_connector(bench: Bench) -> None:
    config = {
        "topic": "own-offsets", "count": "100", "exactly.once.support": "required",
        "offsets.storage.topic": "their-offsets",
    }  # fmt: skip
    task, heard = bench.start("Counting", "own", config)
    heard.wait(State.RUNNING)
    wait_for(lambda: stored(bench.settings, "own", config) == [({"source": "s0"}, {"n": 99})], "the last offset")
    bench.stop(task)
    assert stored(bench.settings, "own") == []
    keys = {message.key() for message in bench.records("their-offsets")}
    assert keys == {b'["own",{"source":"s0"}]'}


def _has_more(bench: Bench, topic: str, than: int) -> bool:
    return bench.length(topic) > than
