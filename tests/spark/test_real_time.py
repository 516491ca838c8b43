"""Real-time mode: what is its own. Its results are those of micro-batch mode (test_application.py, golden cases)."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from caudal.runtime.errors import StreamsError
from caudal.runtime.spark.host import SparkHost
from caudal.runtime.spark.settings import Mode
from caudal.serde import Long, String
from caudal.streams import StreamsBuilder
from caudal.streams.application import Application

from .conftest import Kafka

Names = Callable[[str], str]


def regrouped(application_id: str, source: str, target: str) -> StreamsBuilder:
    """A count behind a repartition."""
    builder = StreamsBuilder(application_id)
    stream = builder.stream(source, key=String(), value=String())
    grouped = stream.group_by(lambda key, value: value, key=String())
    grouped.count(store="n").to_stream().to(target, key=String(), value=Long())
    return builder


def test_batch_ends_a_stop_and_a_restart(spark: Any, kafka: Kafka, unique: Names, tmp_path: Path) -> None:
    """Spark's batches end every five seconds here: workers keep their tasks, and every record counts once."""
    name, source, target = unique("ends"), unique("source"), unique("target")
    kafka.create(source, target)
    host = SparkHost(threads=2, mode=Mode.REAL_TIME, batch_duration="5 seconds")
    settings: dict[str, Any] = {"bootstrap": kafka.bootstrap, "mode": "real-time", "state_dir": str(tmp_path)}
    app = Application(regrouped(name, source, target), host=host, **settings).start()
    sent = 0
    try:
        begun = time.monotonic()
        while time.monotonic() - begun < 13:
            kafka.send(source, *[(str(sent + index), f"word-{(sent + index) % 7}") for index in range(10)])
            sent += 10
            time.sleep(0.05)
        expected = {f"word-{number}": sent // 7 + (number < sent % 7) for number in range(7)}
        kafka.until(lambda: kafka.table(target), expected)
        assert app.metrics()["moves"] == 0, "a slot moved to another worker"
        assert app.metrics()["restarts"] == 0
    finally:
        app.stop()
        host.close()
    app = Application(regrouped(name, source, target), threads=2, **settings).start()
    try:
        kafka.send(source, ("x", "word-0"))
        expected["word-0"] += 1
        kafka.until(lambda: kafka.table(target), expected)
        assert len(kafka.read(target)) == sent + 1
        kafka.until(lambda: _lag(kafka, name), 0, seconds=10)
    finally:
        app.stop()


def _lag(kafka: Kafka, group: str) -> int:
    """Over all topics that the group reads, its repartition topic with its transaction markers as well."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    (future,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
    places = future.result(10).topic_partitions
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "lag"})
    try:
        ends = [consumer.get_watermark_offsets(place, 10, cached=False)[1] for place in places]
    finally:
        consumer.close()
    return sum(end - place.offset for end, place in zip(ends, places, strict=True))


def test_a_record_waits_for_no_other(start: Any, kafka: Kafka, unique: Names) -> None:
    source, target = unique("source"), unique("target")
    kafka.create(source, target)
    builder = StreamsBuilder(unique("quick"))
    builder.stream(source, key=String(), value=String()).map_values(str.upper).to(target)
    start(builder, mode="real-time", guarantee="at_least_once")
    for number in range(3):
        kafka.send(source, ("k", f"a{number}"))
        kafka.read(target, number + 1, seconds=20)
    assert [message.value() for message in kafka.read(target)] == [b"A0", b"A1", b"A2"]


def test_a_failing_record_ends_the_application_with_its_place(start: Any, kafka: Kafka, unique: Names) -> None:
    source, target = unique("source"), unique("target")
    kafka.create(source, target, partitions=1)
    builder = StreamsBuilder(unique("fails"))
    builder.stream(source, key=String(), value=String()).map_values(lambda value: 1 // int(value)).to(
        target, value=Long()
    )
    app = start(builder, mode="real-time")
    kafka.send(source, ("a", "1"), ("b", "0"))
    assert app.wait(30)
    for part in ("offset 1", f"'{source}'", "partition 0", "ZeroDivisionError"):
        assert part in app.failure, app.failure


def test_more_partitions_than_threads_of_spark(start: Any, spark: Any, kafka: Kafka, unique: Names) -> None:
    source, target = unique("source"), unique("target")
    threads = spark.sparkContext.defaultParallelism
    kafka.create(source, partitions=threads)
    kafka.create(target)
    builder = StreamsBuilder(unique("wide"))
    builder.stream(source, key=String(), value=String()).to(target)
    with pytest.raises(StreamsError, match=f"needs {threads + 2} task slots of Spark .* has {threads}: give it more"):
        start(builder, mode="real-time", guarantee="at_least_once")


def test_host_and_application_agree_on_the_mode(spark: Any, kafka: Kafka, unique: Names, tmp_path: Path) -> None:
    source, target = unique("source"), unique("target")
    kafka.create(source, target)
    host = SparkHost(threads=1)
    try:
        with pytest.raises(StreamsError, match="is to run in real-time mode, and its host runs in micro-batch mode"):
            Application(
                regrouped(unique("other"), source, target),
                host=host,
                bootstrap=kafka.bootstrap,
                mode="real-time",
                state_dir=str(tmp_path),
            ).start()
    finally:
        host.close()
