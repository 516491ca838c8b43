"""The life of a native application with a real broker: results, the group's offsets, restart, pause, bad records."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from caudal.runtime.errors import StreamsError
from caudal.runtime.test_driver import TopologyTestDriver
from caudal.serde import Json, Long, String
from caudal.streams import StreamsBuilder, tumbling

from .conftest import Kafka, number

Names = Callable[[str], str]
Start = Callable[..., Any]
ORDERS = Json(schema="user STRING, amount BIGINT")


def doubled(application_id: str, source: str, target: str) -> StreamsBuilder:
    builder = StreamsBuilder(application_id)
    orders = builder.stream(source, key=String(), value=ORDERS)
    orders.filter("amount <> 13").map_values("STRUCT(user, amount * 2 AS total)").to(target)
    return builder


def committed(kafka: Kafka, group: str) -> int:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    futures = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
    return sum(max(place.offset, 0) for place in futures[group].result(10).topic_partitions)


def order(user: str, amount: int) -> tuple[str, str]:
    return user, f'{{"user": "{user}", "amount": {amount}}}'


def test_it_runs_commits_to_the_group_and_goes_on_after_a_restart(kafka: Kafka, start: Start, unique: Names) -> None:
    source, target, group = unique("orders"), unique("doubled"), unique("native")
    kafka.create(source, target, partitions=2)
    kafka.send(source, *(order(f"user-{n}", n) for n in range(100)))
    app = start(doubled(group, source, target), guarantee="at_least_once", lane="native")
    assert app.lane[0] == "native"
    assert len(kafka.read(target, 99)) == 99
    kafka.until(lambda: committed(kafka, group), 100)
    kafka.until(lambda: app.metrics()["records"], 100)
    kafka.until(lambda: app.metrics()["lag_by_partition"], {f"{source}-0": 0, f"{source}-1": 0})
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    assert admin.describe_consumer_groups([group])[group].result(10).state.name == "STABLE"

    app.pause()
    assert app.state == "PAUSED"
    kafka.send(source, order("later", 7))
    time.sleep(1)
    assert len(kafka.read(target)) == 99, "a paused application reads nothing"
    app.resume()
    assert kafka.read(target, 100)[-1] is not None
    kafka.until(lambda: committed(kafka, group), 101)
    app.stop()
    assert app.state == "STOPPED"

    kafka.send(source, order("after", 8))
    again = start(doubled(group, source, target), guarantee="at_least_once", lane="native")
    found = [message.value() for message in kafka.read(target, 101)]
    kafka.until(lambda: committed(kafka, group), 102)
    again.stop()
    assert found.count(b'{"user":"after","total":16}') == 1
    assert len(kafka.read(target)) == 101, "an idle stop repeats nothing"


def test_auto_is_native_where_topics_stamp_records(kafka: Kafka, start: Start, unique: Names) -> None:
    source, plain, stamped = unique("orders"), unique("plain"), unique("stamped")
    kafka.create(source, plain, partitions=1)
    kafka.create(stamped, partitions=1, **{"message.timestamp.type": "LogAppendTime"})
    native = start(doubled(unique("a"), source, stamped), guarantee="at_least_once")
    assert native.lane == ("native", "every step has a Spark form of the same meaning")
    task = start(doubled(unique("b"), source, plain), guarantee="at_least_once")
    assert task.lane[0] == "task"
    assert f"'{plain}' keeps the time that it is given" in task.lane[1]
    kafka.send(source, order("ana", 3))
    assert kafka.read(stamped, 1)[0].value() == kafka.read(plain, 1)[0].value() == b'{"user":"ana","total":6}'


@pytest.mark.parametrize(
    ("bad", "cause"),
    [("no json", "Deserialising failed for"), ('{"amount": 9000000000000000000}', "Processing in KSTREAM-MAPVALUES")],
)
def test_a_failing_record_stops_it_with_the_task_lanes_sentence(
    kafka: Kafka, start: Start, unique: Names, bad: str, cause: str
) -> None:
    source, target = unique("orders"), unique("target")
    kafka.create(source, target, partitions=1)
    builder = doubled(unique("failing"), source, target)
    app = start(builder, guarantee="at_least_once", lane="native")
    kafka.send(source, order("ana", 1), ("bad", bad), order("eva", 2))
    assert app.wait(60)
    assert app.state == "ERROR"
    with TopologyTestDriver(builder) as driver:
        driver.pipe_bytes(source, b"ana", b'{"amount": 1}')
        with pytest.raises(StreamsError) as raised:
            driver.pipe_bytes(source, b"bad", bad.encode())
    assert app.failure == str(raised.value)
    assert cause in app.failure
    assert f"the record at offset 1 of topic '{source}', partition 0" in app.failure


def test_bad_records_are_counted_or_buried(kafka: Kafka, start: Start, unique: Names) -> None:
    source, target, letters = unique("orders"), unique("target"), unique("letters")
    kafka.create(source, target, letters, partitions=1)
    settings = {"guarantee": "at_least_once", "lane": "native"}
    skipping = start(doubled(unique("skip"), source, target), on_bad_record="skip", **settings)
    burying = start(
        doubled(unique("bury"), source, target), on_bad_record="dead letter", dead_letter_topic=letters, **settings
    )
    kafka.send(source, order("ana", 1), ("b", "no json"), ("c", '{"amount": "x"}'), order("eva", 13))
    assert [message.value() for message in kafka.read(target, 2)] == [b'{"user":"ana","total":2}'] * 2
    buried = {message.key(): (message.value(), dict(message.headers())) for message in kafka.read(letters, 2)}
    assert buried[b"b"][0] == b"no json"
    assert buried[b"c"][1]["__streams.errors.offset"] == b"2"
    assert b"cannot read it with key=String(), value=Json(schema=" in buried[b"c"][1]["__streams.errors.message"]
    kafka.until(lambda: skipping.metrics()["dropped"], {"deserialization error": 2})
    kafka.until(lambda: burying.metrics()["dropped"], {"deserialization error": 2})


def test_what_cannot_run_natively_is_said_at_once(kafka: Kafka, start: Start, unique: Names) -> None:
    builder = StreamsBuilder(unique("app"))
    builder.stream("in", key=String(), value=ORDERS).filter(lambda order: True, name="python").to("out")
    with pytest.raises(StreamsError, match="cannot run in the native lane: python has the Python function"):
        start(builder, guarantee="at_least_once", lane="native")
    with pytest.raises(StreamsError, match="exactly_once always means the task lane"):
        start(doubled(unique("app"), "in", "out"), lane="native")
    with pytest.raises(StreamsError, match="lane takes 'auto', 'task', 'native', not 'fast'"):
        start(builder, lane="fast")


@pytest.mark.slow
def test_counts_on_request(kafka: Kafka, start: Start, unique: Names) -> None:
    source, target, windowed, group = unique("orders"), unique("counts"), unique("windows"), unique("counting")
    kafka.create(source, target, windowed, partitions=2)
    settings = {"guarantee": "at_least_once", "lane": "native"}

    def per_user() -> StreamsBuilder:
        builder = StreamsBuilder(group)
        orders = builder.stream(source, key=String(), value=ORDERS)
        orders.filter("amount > 0").group_by("user").count().to(target, value=Long())
        return builder

    app = start(per_user(), **settings)
    kafka.send(source, order("ana", 1), order("eva", 2), order("ana", 3), order("ana", -1), ("none", "{}"))
    kafka.until(lambda: kafka.table(target), {"ana": 2, "eva": 1})
    kafka.until(lambda: committed(kafka, group), 5)
    app.stop()
    kafka.send(source, order("eva", 9))
    again = start(per_user(), **settings)
    kafka.until(lambda: kafka.table(target), {"ana": 2, "eva": 2})
    again.stop()

    builder = StreamsBuilder(unique("windowed"))
    orders = builder.stream(source, key=String(), value=ORDERS)
    orders.group_by_key().windowed_by(tumbling("1 day", grace="1 day")).count().to_stream().to(windowed, value=Long())
    start(builder, **settings)

    def total() -> int:
        last = {message.key(): number(message.value()) for message in kafka.read(windowed)}
        assert all(int.from_bytes(key[-8:], "big") % 86_400_000 == 0 for key in last)
        return sum(last.values())

    kafka.until(total, 6)


@pytest.mark.slow
def test_real_time_mode(kafka: Kafka, start: Start, unique: Names) -> None:
    source, target, group = unique("orders"), unique("doubled"), unique("real-time")
    kafka.create(source, target, partitions=2)
    kafka.send(source, order("first", 1))
    app = start(doubled(group, source, target), guarantee="at_least_once", lane="native", mode="real-time")
    assert kafka.read(target, 1)[0].value() == b'{"user":"first","total":2}'
    for n in range(20):  # each result comes before the next record is there
        kafka.send(source, order(f"user-{n}", n + 100))
        kafka.read(target, n + 2)
    kafka.until(lambda: committed(kafka, group), 21)
    app.stop()
