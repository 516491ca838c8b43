"""A pipeline on real Spark, seen and ordered over the topics: figures arrive, a pause loses and doubles nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from caudal.pipelines.board import Instance
from caudal.pipelines.control import send
from caudal.pipelines.reader import BoardFollower
from caudal.pipelines.records import Command, Order
from caudal.runtime.errors import StreamsError
from caudal.serde import Long, String
from caudal.streams import StreamsBuilder

from .conftest import Kafka

Names = Callable[[str], str]


def counting(application_id: str, source: str, target: str) -> StreamsBuilder:
    builder = StreamsBuilder(application_id)
    stream = builder.stream(source, key=String(), value=String())
    kept = stream.map_values(lambda value: value.upper()).filter(lambda key, value: value != "NO")
    kept.select_key(lambda key, value: value).group_by_key().count(store="n").to_stream().to(
        target, key=String(), value=Long()
    )
    return builder


@pytest.fixture
def follower(kafka: Kafka) -> Iterator[BoardFollower]:
    following = BoardFollower({"bootstrap.servers": kafka.bootstrap, "log_level": 0}).start()
    yield following
    following.close()


def seen(follower: BoardFollower, application: str) -> Instance | None:
    found = follower.board.pipeline(application, int(time.time() * 1000))
    return found.leader if found is not None else None


def figures(follower: BoardFollower, application: str) -> dict[str, Any]:
    found = seen(follower, application)
    return {} if found is None else found.figures


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_paused_and_resumed_from_outside_it_loses_and_doubles_nothing(
    kafka: Kafka, start: Callable[..., Any], unique: Names, follower: BoardFollower, mode: str
) -> None:
    name, source, target = unique("watched"), unique("source"), unique("target")
    connection = {"bootstrap.servers": kafka.bootstrap}
    kafka.create(source, target)
    app = start(counting(name, source, target), mode=mode)
    kafka.send(source, *[(str(number), f"word{number % 7}") for number in range(700)], ("x", "no"))
    kafka.until(lambda: sum(kafka.table(target).values()), 700)

    # What it says: everything came in, was passed on inside, and came out.
    kafka.until(lambda: figures(follower, name).get("read", {}).get(source), 701)
    kafka.until(lambda: figures(follower, name)["read"].get(f"{name}-n-repartition"), 700)
    told = figures(follower, name)
    assert told["written"][f"{name}-n-repartition"] == 700 and told["written"][target] >= 7
    assert told["records"] == 1401 and told["in"] == 701 and told["out"] == told["written"][target]
    assert told["state"] == "RUNNING" and told["failure"] is None
    kafka.until(lambda: figures(follower, name)["state_rows"], 7)
    assert told["stream_time"] > 1_600_000_000_000
    about = seen(follower, name)
    assert about is not None and len(about.topology["subtopologies"]) == 2
    assert about.about["lane"] == "task" and about.about["spark"]["master"].startswith("local")
    assert {task["task"] for task in about.about["tasks"]} == {"0_0", "0_1", "1_0", "1_1"}
    history = about.history
    assert any(value for _, value in history.since(0, "in")), "a rate was seen"
    assert any(value for _, value in history.since(0, "latency_p50")), "a latency was seen"

    send(connection, Command(Order.PAUSE, name))
    kafka.until(lambda: figures(follower, name)["state"], "PAUSED")
    kafka.send(source, *[(str(number), f"word{number % 7}") for number in range(70)])
    kafka.until(lambda: figures(follower, name)["lag"] >= 70, True)
    assert sum(kafka.table(target).values()) == 700
    send(connection, Command(Order.RESUME, name))
    kafka.until(lambda: sum(kafka.table(target).values()), 770)
    assert kafka.table(target) == {f"WORD{number}": 110 for number in range(7)}
    kafka.until(lambda: figures(follower, name)["state"], "RUNNING")

    send(connection, Command(Order.STOP, name))
    assert app.wait(60) and app.state == "STOPPED" and app.failure is None
    kafka.until(lambda: seen(follower, name), None)
    assert kafka.table(target) == {f"WORD{number}": 110 for number in range(7)}


def test_a_failed_application_stays_to_be_seen_with_its_reason(
    kafka: Kafka, start: Callable[..., Any], unique: Names, follower: BoardFollower
) -> None:
    name, source, target = unique("failing"), unique("source"), unique("target")
    kafka.create(source, target)

    def fails(value: str) -> str:
        raise ValueError("no such value")

    builder = StreamsBuilder(name)
    builder.stream(source, key=String(), value=String()).map_values(fails).to(target)
    app = start(builder)
    kafka.send(source, ("a", "b"))
    assert app.wait(60)
    app.stop()
    kafka.until(lambda: figures(follower, name).get("state"), "ERROR")
    assert "no such value" in figures(follower, name)["failure"]


def test_the_native_lane_reports_too(
    kafka: Kafka, start: Callable[..., Any], unique: Names, follower: BoardFollower
) -> None:
    name, source, target = unique("native"), unique("source"), unique("target")
    kafka.create(source, target)
    builder = StreamsBuilder(name)
    builder.stream(source, key=String(), value=String()).filter("value <> 'no'").to(target)
    start(builder, lane="native", guarantee="at_least_once")
    kafka.send(source, ("a", "yes"), ("b", "no"), ("c", "yes"))
    kafka.read(target, 2)
    kafka.until(lambda: figures(follower, name).get("read", {}).get(source), 3)
    kafka.until(lambda: figures(follower, name)["written"].get(target), 2)
    found = seen(follower, name)
    assert found is not None and found.about["lane"] == "native"


def test_one_that_does_not_report_is_not_seen(
    kafka: Kafka, start: Callable[..., Any], unique: Names, follower: BoardFollower
) -> None:
    name, loud, source, target = unique("silent"), unique("loud"), unique("source"), unique("target")
    kafka.create(source, target)
    with pytest.raises(StreamsError, match="reporting takes"):
        start(counting(name, source, target), reporting="sometimes")
    start(counting(name, source, target), reporting="off")
    start(counting(loud, source, target))
    kafka.until(lambda: figures(follower, loud).get("state"), "RUNNING")
    assert seen(follower, name) is None
