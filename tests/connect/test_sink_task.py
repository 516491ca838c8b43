"""Sink tasks with a real broker: what is committed was flushed, and a failed record is in the dead-letter topic."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from caudal.connect.runtime.model import State
from caudal.testing import EmbeddedBroker
from tests.connect.task_harness import Bench, wait_for


@pytest.fixture
def bench(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(broker.bootstrap, tmp_path)
    yield made
    made.close()


def committed(bench: Bench, name: str, topic: str, partitions: int = 1) -> list[int]:
    consumer = Consumer({"bootstrap.servers": bench.bootstrap, "group.id": f"connect-{name}"})
    try:
        places = consumer.committed([TopicPartition(topic, one) for one in range(partitions)], timeout=30)
        return [one.offset for one in places]
    finally:
        consumer.close()


def written(bench: Bench) -> list[int]:
    return sorted(value[3]["n"] for value in bench.notes("record", "sink-"))


def test_records_are_put_flushed_and_then_committed(bench: Bench, broker: EmbeddedBroker) -> None:
    broker.create_topic("sink-plain", 3)
    bench.produce("sink-plain", [{"n": n} for n in range(3000)])
    task, heard = bench.start("Writing", "sink-plain", {"topics": "sink-plain"})
    wait_for(lambda: sum(committed(bench, "sink-plain", "sink-plain", 3)) == 3000, "all offsets committed")
    bench.stop(task)
    assert heard.states == [State.RUNNING, State.UNASSIGNED]
    assert heard.topics == {"sink-plain"}
    assert written(bench) == list(range(3000))
    metrics = task.metrics()
    assert metrics["sink-record-read-total"] == metrics["sink-record-send-total"] == 3000
    assert metrics["partition-count"] == 3
