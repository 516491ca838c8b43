"""A task with a real broker and without Spark: fencing, skipping, gaps, restore, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

from caudal.runtime.errors import StreamsError
from caudal.runtime.spark.hosted_task import HostedTask
from caudal.runtime.spark.kafka_errors import Meaning, meaning
from caudal.runtime.spark.log_reader import LogReader
from caudal.runtime.spark.outputs import TransactionalOutput
from caudal.runtime.spark.rows import COLUMNS, Chunk
from caudal.runtime.spark.settings import Cargo, Settings
from caudal.runtime.spark.topics import ClusterTopics
from caudal.serde import Long, String
from caudal.streams import StreamsBuilder
from caudal.testing import EmbeddedBroker, embedded_broker

pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with embedded_broker() as started:
        yield started


class Bench:
    """One application with one task, driven by hand."""

    def __init__(self, broker: EmbeddedBroker, name: str, state_dir: Path) -> None:
        self.name = name
        self.source, self.target = f"{name}-in", f"{name}-out"
        for topic in (self.source, self.target):
            broker.create_topic(topic, 1)
        builder = StreamsBuilder(name)
        stream = builder.stream(self.source, key=String(), value=String())
        stream.group_by_key().count(store="n").to_stream().to(self.target, key=String(), value=Long())
        self.settings = Settings(bootstrap=broker.bootstrap, state_dir=str(state_dir))
        topics = ClusterTopics(builder.build(), self.settings)
        topics.prepare()
        self.cargo = Cargo(topics.topology, self.settings, topics.partitions, frozenset())
        self.group: Any = Consumer(self.settings.librdkafka(group_id=name, isolation_level="read_committed"))
        self.reader = LogReader(self.settings)
        self.restored: list[tuple[str, int, int]] = []

    def task(self) -> HostedTask:
        task = HostedTask(
            self.cargo,
            0,
            0,
            TransactionalOutput(self.settings, f"{self.name}-0-0", self.source),
            {},
            is_empty_between=self.reader.is_empty_between,
            end_of=self.reader.end_of,
        )
        task.group = self.group.consumer_group_metadata()
        task.open(self.committed, lambda *at: self.restored.append(at))
        return task

    def committed(self, places: list[tuple[str, int]]) -> dict[str, tuple[int, str]]:
        found = self.group.committed([TopicPartition(*place) for place in places], 10)
        return {place.topic: (max(place.offset, 0), place.metadata or "") for place in found}

    def counts(self) -> list[int]:
        consumer = Consumer(
            self.settings.librdkafka(group_id="x", isolation_level="read_committed", enable_partition_eof=True)
        )
        consumer.assign([TopicPartition(self.target, 0, OFFSET_BEGINNING)])
        found = []
        while (message := consumer.poll(10)).error() is None:
            found.append(int.from_bytes(message.value(), "big"))
        consumer.close()
        return found

    def rows(self, first: int, end: int) -> Chunk:
        number = end - first
        headers = pyarrow.list_(pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())]))
        columns = [
            pyarrow.array([0] * number, pyarrow.int32()),
            pyarrow.array([self.source] * number),
            pyarrow.array([0] * number, pyarrow.int32()),
            pyarrow.array(range(first, end), pyarrow.int64()),
            pyarrow.array([1000] * number, pyarrow.int64()),
            pyarrow.array([b"k"] * number),
            pyarrow.array([b"v"] * number),
            pyarrow.nulls(number, headers),
        ]
        return Chunk(0, self.source, 0, pyarrow.record_batch(columns, names=list(COLUMNS)))


@pytest.fixture
def bench(broker: EmbeddedBroker, request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name.removeprefix("test_"))
    return Bench(broker, name[-60:].strip("-"), tmp_path)


def feed_and_commit(task: HostedTask, chunk: Chunk) -> None:
    task.feed(chunk)
    task.commit()


def test_rows_below_the_commit_are_skipped(bench: Bench) -> None:
    task = bench.task()
    feed_and_commit(task, bench.rows(0, 3))
    task.close()
    task = bench.task()
    feed_and_commit(task, bench.rows(0, 5))
    assert bench.counts() == [1, 2, 3, 4, 5]
    assert bench.restored == [], "the state was where the commit was"
    task.close()


def test_an_aborted_batch_leaves_nothing(bench: Bench) -> None:
    task = bench.task()
    feed_and_commit(task, bench.rows(0, 2))
    task.feed(bench.rows(2, 4))
    task.abandon()
    feed_and_commit(task, bench.rows(2, 5))
    assert bench.counts() == [1, 2, 3, 4, 5]
    task.close()


def test_a_newer_owner_fences_the_older(bench: Bench) -> None:
    old = bench.task()
    old.feed(bench.rows(0, 2))
    new = bench.task()
    with pytest.raises(KafkaException) as caught:
        old.commit()
    assert meaning(caught.value) is Meaning.FENCED
    feed_and_commit(new, bench.rows(0, 3))
    assert bench.counts() == [1, 2, 3]
    old.close()
    new.close()


def test_a_hole_that_nothing_explains_stops_the_task(bench: Bench, broker: EmbeddedBroker) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for _ in range(6):
        producer.produce(bench.source, b"v", b"k")
    producer.flush()
    task = bench.task()
    feed_and_commit(task, bench.rows(0, 2))
    task.feed(bench.rows(4, 6))
    with pytest.raises(StreamsError, match="Spark skipped offsets 2 to 3 of topic"):
        task.commit()
    task.abandon()
    task.ranges = {bench.source: (2, 6)}  # the batch begins where the last ended: the hole is a marker
    task.feed(bench.rows(4, 6))
    task.all_rows_came()
    task.commit()
    assert bench.committed([(bench.source, 0)])[bench.source][0] == 6
    task.close()


def test_rows_out_of_order_stop_the_task(bench: Bench) -> None:
    task = bench.task()
    task.feed(bench.rows(0, 4))
    with pytest.raises(StreamsError, match="out of order"):
        task.feed(bench.rows(2, 6))
    task.close()


@pytest.mark.parametrize(
    ("meta", "why"),
    [
        ({"offsets": {"in": 99}, "changelogs": {"n": 1}, "written": 1e12}, "but 3 is committed"),
        ({"offsets": {"in": 3}, "changelogs": {"n": 77}, "written": 1e12}, "but the changelog ends at"),
        ({"offsets": {"in": 1}, "changelogs": {"n": 0}, "written": 0.0}, "hours old"),
    ],
    ids=["ahead", "beyond", "old"],
)
def test_state_that_kafka_does_not_explain_is_rebuilt(
    bench: Bench, meta: dict[str, Any], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    task = bench.task()
    feed_and_commit(task, bench.rows(0, 3))
    assert task._state is not None
    meta["offsets"] = {bench.source: meta["offsets"]["in"]}
    task._state.stores["n"].put("ghost", 666, 0)
    task._state.commit(meta)
    task.close()
    task = bench.task()
    assert why in caplog.text
    assert task._state is not None
    assert task._state.stores["n"].get("ghost") is None
    assert task._state.stores["n"].get("k") == (3, 1000)
    feed_and_commit(task, bench.rows(3, 4))
    assert bench.counts() == [1, 2, 3, 4]
    task.close()


def test_only_the_tail_is_replayed_where_the_state_is_behind(bench: Bench, tmp_path: Path) -> None:
    task = bench.task()
    feed_and_commit(task, bench.rows(0, 3))
    state = task._state
    assert state is not None
    real: Callable[..., None] = state.commit
    state.commit = lambda meta: None  # type: ignore[method-assign]  # killed between the two commits
    feed_and_commit(task, bench.rows(3, 5))
    state.commit = real  # type: ignore[method-assign]
    task.close()
    task = bench.task()
    assert task.figures.restored == 1
    feed_and_commit(task, bench.rows(5, 6))
    assert bench.counts() == [1, 2, 3, 4, 5, 6]
    task.close()


def test_in_real_time_a_dropped_row_is_found_after_a_failed_commit(bench: Bench) -> None:
    """Spark's reader answers for holes while rows are under way, but not for rows that were given back here."""
    producer = Producer(bench.settings.librdkafka())
    for _ in range(6):
        producer.produce(bench.source, b"v", b"k")
    assert producer.flush(10) == 0
    task = bench.task()
    task.begin_real_time()
    feed_and_commit(task, bench.rows(0, 2))
    task.feed(bench.rows(2, 4))
    task.abandon()
    task.feed(bench.rows(4, 6))  # 2 and 3 do not come again
    with pytest.raises(StreamsError, match="skipped offsets 2 to 3"):
        task.commit()
    task.abandon()
    task.feed(bench.rows(2, 4))
    task.feed(bench.rows(4, 6))
    task.commit()
    assert bench.counts() == [1, 2, 3, 4, 5, 6]
    task.close()
