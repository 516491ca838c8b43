"""Exactly once on Spark: what is counted is counted once, over repartition, restart, killed workers and joins."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from caudal.serde import Json, Long, String
from caudal.streams import StreamsBuilder

from .conftest import Kafka, number

Names = Callable[[str], str]


def word_count(application_id: str, source: str, target: str) -> StreamsBuilder:
    builder = StreamsBuilder(application_id)
    (
        builder.stream(source, key=String(), value=String())
        .flat_map_values(lambda line: line.split())
        .select_key(lambda key, word: word)
        .group_by_key(key=String(), value=String())
        .count(store="counts")
        .to_stream()
        .to(target, key=String(), value=Long())
    )
    return builder


def lines(first: int, end: int) -> list[tuple[str, str]]:
    return [(str(index), f"all third{index % 3} seventh{index % 7}") for index in range(first, end)]


def words(records: list[tuple[str, str]]) -> dict[str, int]:
    return dict(Counter(word for _, line in records for word in line.split()))


def assert_each_count_once(kafka: Kafka, target: str, expected: dict[str, int]) -> None:
    """Every count from 1 up came exactly once: nothing was lost, nothing doubled, in read_committed output."""
    seen: dict[str, list[int]] = {}
    for message in kafka.read(target):
        seen.setdefault(message.key().decode(), []).append(number(message.value()))
    assert {word: sorted(counts) for word, counts in seen.items()} == {
        word: list(range(1, count + 1)) for word, count in expected.items()
    }


def committed(kafka: Kafka, group: str, topic: str) -> dict[int, int]:
    """What the group has committed of a topic, by partition."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
    places = [TopicPartition(topic, partition) for partition in ends(kafka, topic)]
    try:
        return {place.partition: place.offset for place in consumer.committed(places, 10)}
    finally:
        consumer.close()


def ends(kafka: Kafka, topic: str) -> dict[int, int]:
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "ends"})
    try:
        partitions = consumer.list_topics(topic, 10).topics[topic].partitions
        return {number: consumer.get_watermark_offsets(TopicPartition(topic, number), 10)[1] for number in partitions}
    finally:
        consumer.close()


def test_word_count_restarts_where_it_stopped(kafka: Kafka, start: Callable[..., Any], unique: Names) -> None:
    source, target, application_id = unique("lines"), unique("counts"), unique("wc")
    kafka.create(source, target)
    kafka.send(source, *lines(0, 100))
    app = start(word_count(application_id, source, target))
    kafka.until(lambda: kafka.table(target), words(lines(0, 100)))
    assert app.state == "RUNNING"
    assert [row["task"] for row in app.tasks()] == ["0_0", "0_1", "1_0", "1_1"]
    assert {row["thread"] for row in app.tasks()} == {0, 1}

    # The group is active: its offsets cannot be reset under the application, and any tool sees its lag.
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    reset = ConsumerGroupTopicPartitions(application_id, [TopicPartition(source, 0, 0)])
    refused = next(iter(admin.alter_consumer_group_offsets([reset]).values())).result(10)
    assert [place.error.name() for place in refused.topic_partitions] == ["UNKNOWN_MEMBER_ID"]
    described = next(iter(admin.describe_consumer_groups([application_id]).values())).result(10)
    assert described.state.name == "STABLE"
    assert len(described.members) == 1
    kafka.until(lambda: app.metrics()["lag"], 0, 15)
    assert app.metrics()["records"] == 100 + 300

    app.stop()
    assert app.state == "STOPPED"
    kafka.send(source, *lines(100, 150))
    again = start(word_count(application_id, source, target))
    kafka.until(lambda: kafka.table(target), words(lines(0, 150)))
    assert_each_count_once(kafka, target, words(lines(0, 150)))
    assert again.metrics()["restored"] == 0, "local state was where the commit was, so nothing had to be replayed"
    assert again.metrics()["records"] == 50 + 150


def test_lost_local_state_is_rebuilt_and_a_lost_worker_replaced(
    kafka: Kafka, start: Callable[..., Any], unique: Names, tmp_path: Any
) -> None:
    source, target, application_id = unique("lines"), unique("counts"), unique("wc")
    kafka.create(source, target)
    kafka.send(source, *lines(0, 60))
    app = start(word_count(application_id, source, target))
    kafka.until(lambda: kafka.table(target), words(lines(0, 60)))
    app.stop()

    app = start(word_count(application_id, source, target), state_dir=str(tmp_path / "elsewhere"))
    assert app.metrics()["restored"] > 0
    for batch in range(4):
        kafka.send(source, *lines(60 + 40 * batch, 100 + 40 * batch))
        victims = sorted({row["pid"] for row in app.tasks() if row["pid"]})
        with contextlib.suppress(ProcessLookupError):  # the figures of a worker that died just before
            os.kill(victims[batch % len(victims)], signal.SIGKILL)
        time.sleep(1.5)
    kafka.until(lambda: kafka.table(target), words(lines(0, 220)))
    assert_each_count_once(kafka, target, words(lines(0, 220)))
    assert app.state == "RUNNING"


def test_a_stream_joins_a_table(kafka: Kafka, start: Callable[..., Any], unique: Names) -> None:
    orders, customers, target = unique("orders"), unique("customers"), unique("enriched")
    kafka.create(orders, customers, target)
    builder = StreamsBuilder(unique("join"))
    table = builder.table(customers, key=String(), value=Json())
    stream = builder.stream(orders, key=String(), value=Json())
    stream.join(table, lambda order, customer: {**order, "city": customer["city"]}).to(
        target, key=String(), value=Json()
    )
    app = start(builder)

    def send_customers(*records: tuple[str, str]) -> None:
        """Sends, and waits until the table has them: an order that is sent afterwards must meet them."""
        kafka.send(customers, *records)
        kafka.until(lambda: committed(kafka, app.application_id, customers), ends(kafka, customers))

    send_customers(("ana", '{"city": "Cuenca"}'), ("luis", '{"city": "Soria"}'))
    kafka.send(orders, ("ana", '{"n": 1}'), ("luis", '{"n": 2}'), ("eva", '{"n": 3}'))
    found = {message.key(): message.value() for message in kafka.read(target, 2)}
    assert found == {b"ana": b'{"n":1,"city":"Cuenca"}', b"luis": b'{"n":2,"city":"Soria"}'}
    send_customers(("ana", '{"city": "Lugo"}'))
    kafka.send(orders, ("ana", '{"n": 4}'))
    kafka.read(target, 3)
    kafka.until(lambda: committed(kafka, app.application_id, orders), ends(kafka, orders))
    values = {message.value() for message in kafka.read(target)}
    assert values == {b'{"n":1,"city":"Cuenca"}', b'{"n":2,"city":"Soria"}', b'{"n":4,"city":"Lugo"}'}
