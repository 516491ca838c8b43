"""Order across topics: a task with several inputs takes the oldest head first, whatever order the records came in.

All is produced before the start, so that one batch has it all; the driver in process, fed in the order that follows
from the timestamps, says what must come out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confluent_kafka import Producer

from caudal.runtime.test_driver import TopologyTestDriver
from caudal.serde import String
from caudal.streams import StreamsBuilder

from .conftest import Kafka

Names = Callable[[str], str]
Record = tuple[str, str, int]  # key, value, timestamp

# Out of order within "left" as well: 60 stands behind 90 and must wait for it, as only heads are compared.
LEFT: list[Record] = [("a", "l10", 10), ("a", "l30", 30), ("a", "l90", 90), ("a", "l60", 60), ("a", "l100", 100)]
RIGHT: list[Record] = [("a", "r20", 20), ("a", "r40", 40), ("a", "r50", 50), ("a", "r95", 95)]
IN_ORDER = ["l10", "r20", "l30", "r40", "r50", "l90", "l60", "r95", "l100"]


def written(builder: StreamsBuilder, left: str, right: str, target: str, *, repartition: bool) -> StreamsBuilder:
    """Every value appended to what its key has seen: the result is the order itself."""
    streams = [builder.stream(topic, key=String(), value=String()) for topic in (left, right)]
    if repartition:
        streams = [stream.repartition(name=name) for stream, name in zip(streams, ("one", "two"), strict=True)]
    seen = streams[0].merge(streams[1]).group_by_key().reduce(lambda seen, value: f"{seen} {value}")
    seen.to_stream().to(target, key=String(), value=String())
    return builder


def expected(left: str, right: str, target: str) -> list[tuple[str, int]]:
    """From the driver, record by record in the order of the heads."""
    rows = {value: (topic, key, value, at) for topic, of in ((left, LEFT), (right, RIGHT)) for key, value, at in of}
    plan = written(StreamsBuilder("order"), left, right, target, repartition=False).build()
    with TopologyTestDriver(plan, start_time=0) as driver:
        for name in IN_ORDER:
            topic, key, value, at = rows[name]
            driver.pipe_input(topic, key, value, timestamp=at)
        return [(record.value, record.timestamp) for record in driver.read_outputs(target)]


def produce(kafka: Kafka, left: str, right: str) -> None:
    """The whole of one topic, then the whole of the other: arrival says nothing about the order."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for topic, rows in ((right, RIGHT), (left, LEFT)):
        for key, value, timestamp in rows:
            producer.produce(topic, value, key, timestamp=timestamp)
        assert producer.flush(30) == 0


def came(kafka: Kafka, target: str) -> list[tuple[str, int]]:
    messages = kafka.read(target, len(IN_ORDER))
    return [(message.value().decode(), message.timestamp()[1]) for message in messages]


def test_the_oldest_head_is_first(kafka: Kafka, start: Callable[..., Any], unique: Names) -> None:
    left, right, target = unique("left"), unique("right"), unique("target")
    kafka.create(left, right, target, partitions=1, retention_ms="-1")
    produce(kafka, left, right)
    start(written(StreamsBuilder(unique("order")), left, right, target, repartition=False))
    wanted = expected(left, right, target)
    assert wanted[-1][0].split() == IN_ORDER
    assert came(kafka, target) == wanted


def test_the_oldest_head_is_first_behind_repartition_topics(
    kafka: Kafka, start: Callable[..., Any], unique: Names
) -> None:
    """Both repartition topics are written by one batch and read by the next: the order is made there once more."""
    left, right, target = unique("left"), unique("right"), unique("target")
    kafka.create(left, right, target, partitions=1, retention_ms="-1")
    produce(kafka, left, right)
    start(written(StreamsBuilder(unique("order")), left, right, target, repartition=True), threads=1)
    assert came(kafka, target) == expected(left, right, target)
