"""Callables with the arguments they ask for, and SQL in every place that takes a function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from caudal.plan.functions import Function
from caudal.runtime.test_driver import TopologyTestDriver
from caudal.serde import Json, Long, String
from caudal.streams import StreamsBuilder, functions, tumbling


class Callable2:
    def __call__(self, key: Any, value: Any) -> Any:
        return key, value


class WithMethod:
    def only_value(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize(
    ("given", "result"),
    [
        (lambda key, value: (key, value), ("k", "v")),
        (lambda value: value, "v"),
        (lambda *all: all, ("k", "v")),
        (lambda value, suffix="!": value + suffix, "v!"),
        (lambda key, value, extra=3: (key, value, extra), ("k", "v", 3)),
        (functools.partial(lambda a, key, value: (a, key, value), 1), (1, "k", "v")),
        (Callable2(), ("k", "v")),
        (WithMethod().only_value, "v"),
        (str.upper, "V"),
        (len, 1),
        (str, "v"),
        ("value", "v"),
    ],
)
def test_key_value_functions(given: Any, result: Any) -> None:
    assert functions.key_value(given, "map_values()").call("k", "v") == result


def test_joiners_take_two_arguments_or_three_with_the_key_first() -> None:
    assert functions.joiner(lambda left, right: (left, right), "join()").call("k", 1, 2) == (1, 2)
    assert functions.joiner(lambda key, left, right: (key, left, right), "join()").call("k", 1, 2) == ("k", 1, 2)


def test_partitioners_may_leave_the_topic_out() -> None:
    assert functions.partitioner(lambda key, value, n: n, "to()").call("t", "k", "v", 7) == 7
    assert functions.partitioner(lambda topic, key, value, n: topic, "to()").call("t", "k", "v", 7) == "t"


def test_a_function_is_shown_by_its_own_name() -> None:
    def double(value: int) -> int:
        return value * 2

    assert str(functions.key_value(double, "map_values()")).endswith("double")
    assert str(functions.key_value("amount * 2", "map_values()")) == "amount * 2"
    assert str(Function(Callable2())) == "Callable2"


def run(build: Callable[[StreamsBuilder], None], *inputs: tuple[str, Any]) -> list[tuple[Any, Any]]:
    builder = StreamsBuilder("app")
    build(builder)
    with TopologyTestDriver(builder, start_time=0) as driver:
        for key, value in inputs:
            driver.pipe_input("in", key, value, timestamp=0)
        return [(record.key, record.value) for record in driver.read_outputs("out")]


def test_sql_everywhere() -> None:
    def build(builder: StreamsBuilder) -> None:
        lines = builder.stream("in", key=String(), value=String())
        words = lines.flat_map_values("split(lower(value), ' ')").filter("length(value) > 1")
        counts = words.group_by("value").aggregate("0", "aggregate + 1", value=Long())
        counts.to_stream().map("(upper(key), value * 10)").to("out")

    assert run(build, ("1", "En un lugar"), ("2", "un dia")) == [
        ("EN", 10),
        ("UN", 10),
        ("LUGAR", 10),
        ("UN", 20),
        ("DIA", 10),
    ]


def test_sql_joins_reducers_and_windows() -> None:
    def build(builder: StreamsBuilder) -> None:
        amounts = builder.stream("in", key=String(), value=Json())
        totals = amounts.group_by_key().reduce("aggregate + value", value=Long())
        amounts.join(totals, "STRUCT(left AS amount, right AS total)").to("out")
        amounts.group_by_key().windowed_by(tumbling("1 minute")).reduce("greatest(aggregate, value)")

    assert run(build, ("a", 3), ("a", 4)) == [("a", {"amount": 3, "total": 3}), ("a", {"amount": 4, "total": 7})]


def test_filter_and_filter_not_both_drop_what_is_unknown() -> None:
    rows = [("a", {"n": 1}), ("b", {"n": 5}), ("c", {})]
    for method, kept in (("filter", ["b"]), ("filter_not", ["a"])):

        def build(builder: StreamsBuilder, method: str = method) -> None:
            getattr(builder.stream("in", key=String(), value=Json()), method)("n > 2").to("out")

        assert [key for key, _ in run(build, *rows)] == kept


def test_timestamps_from_the_value() -> None:
    builder = StreamsBuilder("app")
    builder.stream("in", key=String(), value=Json(), timestamp="at * 1000").to("out")
    with TopologyTestDriver(builder, start_time=0) as driver:
        driver.pipe_input("in", "a", {"at": 5})
        record = driver.read_output("out")
    assert record is not None and record.timestamp == 5000
