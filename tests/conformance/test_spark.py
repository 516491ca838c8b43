"""Spark's Kafka source and sink, unmodified: batch, micro-batch and real-time mode."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .clients import Client, Outgoing
from .cluster import Cluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(360)]

pytest.importorskip("pyspark")


@pytest.fixture
def pair(other: Client, unique: Callable[[str], str]) -> tuple[str, str]:
    """An input topic of two partitions with a hundred records, and an output topic."""
    source, target = unique("source"), unique("target")
    with other.admin() as admin:
        admin.create_topic(source, partitions=2)
        admin.create_topic(target, partitions=2)
    with other.producer(codec="snappy") as producer:
        producer.send(Outgoing(source, f"record {number}".encode(), str(number).encode()) for number in range(100))
    return source, target


def values(client: Client, topic: str, count: int) -> list[bytes]:
    with client.consumer() as consumer:
        consumer.assign([(topic, 0), (topic, 1)])
        return sorted(message.value or b"" for message in consumer.take(count, seconds=60))


def stream(spark: Any, cluster: Cluster, topic: str) -> Any:
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", cluster.bootstrap)
    return reader.option("subscribe", topic).option("startingOffsets", "earliest").load()


def test_a_batch_reads_and_writes_a_topic(spark: Any, cluster: Cluster, other: Client, pair: tuple[str, str]) -> None:
    source, target = pair
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", cluster.bootstrap).option("subscribe", source)
    rows = reader.option("includeHeaders", "true").load()
    assert rows.count() == 100
    writer = rows.selectExpr("key", "upper(cast(value as string)) as value").write.format("kafka")
    writer.option("kafka.bootstrap.servers", cluster.bootstrap).option("topic", target).save()
    assert values(other, target, 100) == sorted(f"RECORD {number}".encode() for number in range(100))


def test_micro_batches_pass_every_record_once_across_a_restart(
    spark: Any, cluster: Cluster, other: Client, pair: tuple[str, str], tmp_path: Path
) -> None:
    source, target = pair

    def run_to_the_end() -> None:
        rows = stream(spark, cluster, source).selectExpr("key", "upper(cast(value as string)) as value")
        writer = (
            rows.writeStream.format("kafka")
            .option("kafka.bootstrap.servers", cluster.bootstrap)
            .option("topic", target)
        )
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        assert query.awaitTermination(90)

    run_to_the_end()
    with other.producer() as producer:
        producer.send(Outgoing(source, f"record {number}".encode()) for number in range(100, 150))
    run_to_the_end()
    assert values(other, target, 150) == sorted(f"RECORD {number}".encode() for number in range(150))


def test_real_time_mode_answers_in_milliseconds(
    spark: Any, cluster: Cluster, other: Client, pair: tuple[str, str], tmp_path: Path
) -> None:
    source, target = pair
    rows = stream(spark, cluster, source).selectExpr("key", "upper(cast(value as string)) as value")
    writer = (
        rows.writeStream.format("kafka").option("kafka.bootstrap.servers", cluster.bootstrap).option("topic", target)
    )
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).outputMode("update")
    query = writer.trigger(realTime="30 seconds").start()
    try:
        with other.consumer() as consumer, other.producer() as producer:
            consumer.assign([(target, 0), (target, 1)])
            assert len(consumer.take(100, seconds=60)) == 100
            delays = []
            for number in range(10):
                began = time.monotonic()
                producer.send([Outgoing(source, f"live {number}".encode())])
                assert consumer.take(1)[0].value == f"LIVE {number}".encode()
                delays.append(time.monotonic() - began)
        assert min(delays) < 1, delays  # a micro-batch of this query would take its 30 s
    finally:
        query.stop()
