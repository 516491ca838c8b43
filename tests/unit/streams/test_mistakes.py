"""What a user can get wrong in the DSL is said at once, in one sentence, with what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from caudal.plan.errors import PlanError
from caudal.runtime.test_driver import TopologyTestDriver
from caudal.serde import Json, Long, String
from caudal.streams import (
    KStream,
    KTable,
    Processor,
    StreamsBuilder,
    hopping,
    key_value_store,
    persistent,
    session,
    tumbling,
    until_time_limit,
    until_window_closes,
    window_store,
)

builder = StreamsBuilder("app")


def stream(topic: str = "a") -> KStream:
    return StreamsBuilder("app").stream(topic, key=String(), value=Json())


def table(topic: str = "t") -> KTable:
    return StreamsBuilder("app").table(topic, key=String(), value=Json())


def both(left: Any, right: Any) -> Any:
    return left


def two(act: Callable[[StreamsBuilder], object]) -> object:
    return act(StreamsBuilder("app"))


def twice_the_name(b: StreamsBuilder) -> None:
    b.stream("a").filter("TRUE", name="same").filter("TRUE", name="same")


def twice_the_store(b: StreamsBuilder) -> None:
    group = b.stream("a").group_by_key()
    group.count(store="same")
    group.count(store="same")


def twice_the_repartition(b: StreamsBuilder) -> None:
    b.stream("a").repartition(name="same")
    b.stream("b").repartition(name="same")


def twice_the_same_repartition(b: StreamsBuilder) -> None:
    a = b.stream("a")
    a.repartition(name="same")
    a.repartition(name="same", partitions=3)


def one_group_with_two_serdes(b: StreamsBuilder) -> None:
    a = b.stream("a").select_key("value")
    a.group_by_key(name="g").count()
    a.group_by_key(name="g", key=String()).count()


def stream_and_table(b: StreamsBuilder) -> None:
    b.table("a")
    b.stream("a")


def overlapping_topics(b: StreamsBuilder) -> None:
    b.stream(["a", "b"])
    b.stream("a")


def two_serdes(b: StreamsBuilder) -> None:
    b.stream("a", value=Json())
    b.stream("a", value=String())


def unknown_store(b: StreamsBuilder) -> None:
    b.stream("a").process(Processor, stores=["nowhere"])
    b.build()


def ended_split(b: StreamsBuilder) -> None:
    split = b.stream("a").split().branch("TRUE")
    split.default_branch()
    split.branch("TRUE")


MISTAKES: list[tuple[Callable[[], object], str]] = [
    (lambda: StreamsBuilder("my app"), "may only have letters, digits"),
    (lambda: StreamsBuilder(""), "must not be ''"),
    (lambda: StreamsBuilder("app").build(), "reads no topic"),
    (lambda: StreamsBuilder("app").stream([]), "at least one topic"),
    (lambda: StreamsBuilder("app").stream("a b"), "may only have letters"),
    (lambda: StreamsBuilder("app").stream(5), "named by text"),  # type: ignore[arg-type]
    (lambda: StreamsBuilder("app").stream("a", reset="middle"), "'earliest' or 'latest'"),
    (lambda: stream().filter(3), "filter() needs a function or a SQL string, not int 3"),  # type: ignore[arg-type]
    (lambda: stream().filter(lambda: True), "filter() calls its function with (key, value) or (value)"),
    (lambda: stream().map_values(lambda a, b, c: 1), "map_values() calls its function with"),
    (lambda: stream().filter("amount >"), "line 1, column 8"),
    (lambda: stream().filter_not("amount >"), "'amount >'"),
    (lambda: stream().group_by_key().aggregate(lambda: 0, lambda key, value: 1), "(key, value, aggregate)"),
    (lambda: stream().group_by_key().reduce(lambda a: a), "(aggregate, value)"),
    (lambda: stream().group_by_key().count(store=persistent("x", retention="1 day")), "for window stores"),
    (lambda: stream().join(stream("b"), both), "one builder"),
    (lambda: stream().merge(stream("b")), "one builder"),
    (lambda: table().join(table("u"), both), "one builder"),
    (lambda: two(lambda b: b.stream("a").join(b.stream("b"), both)), "needs within="),
    (lambda: two(lambda b: b.stream("a").join(b.table("t"), both, within="1 s")), "has no window"),
    (lambda: two(lambda b: b.stream("a").join(b.table("t"), both, grace="1 s")), "has no window"),
    (lambda: two(lambda b: b.stream("a").outer_join(b.table("t"), both)), "with another stream"),  # type: ignore[arg-type]
    (lambda: two(lambda b: b.stream("a").join(b.global_table("t"), both)), "needs key_selector="),
    (lambda: two(lambda b: b.stream("a").join(b.table("t"), both, key_selector="x")), "is on the key"),
    (lambda: two(lambda b: b.stream("a").join(b.stream("b"), both, key_selector="x", within=1)), "on their keys"),
    (lambda: two(lambda b: b.stream("a").join(b.table("t"), both, store="x")), "needs no store"),
    (lambda: stream().join("b", both), "needs a stream, a table or a global table, not str"),  # type: ignore[arg-type]
    (lambda: table().join(stream(), both), "with another table, not KStream"),  # type: ignore[arg-type]
    (
        lambda: two(lambda b: b.stream("a").join(b.stream("b"), lambda x: x, within=1)),
        "(left, right) or (key, left, right)",
    ),
    (lambda: stream().group_by_key().windowed_by("1 minute"), "tumbling(), hopping()"),  # type: ignore[call-overload]
    (lambda: stream().group_by_key().windowed_by(tumbling(5), emit="later"), "'on_update' or 'on_close'"),
    (lambda: tumbling(0), "at least one millisecond"),
    (lambda: tumbling("1 fortnight"), "unknown unit 'fortnight'"),
    (lambda: hopping("1 minute", "2 minutes"), "cannot advance"),
    (lambda: session("1 minute", grace=-1), "must not be negative"),
    (lambda: window_store("w", key=String(), value=Long(), retention=1, window_size=2), "less than their size"),
    (lambda: table().suppress(until_window_closes()), "needs a windowed table"),
    (lambda: table().suppress("1 minute"), "until_window_closes() or until_time_limit"),  # type: ignore[arg-type]
    (lambda: until_time_limit("1 minute", when_full="wait"), "'emit' or 'stop'"),
    (lambda: until_time_limit("1 minute", max_records=-1), "must not be negative"),
    (lambda: stream().process(3), "needs a class or a function"),  # type: ignore[arg-type]
    (lambda: stream().process(Processor, stores="seen"), "write stores=['seen']"),
    (lambda: stream().repartition(partitions=0), "at least 1"),
    (lambda: stream().to("no topic"), "may only have letters"),
    (lambda: table().filter("TRUE", store=persistent()), "needs a name"),
    (lambda: StreamsBuilder("app").add_state_store("x"), "add_state_store() needs"),  # type: ignore[arg-type]
    (lambda: stream().group_by_key().cogroup(lambda k, v, a: a).cogroup(stream(), both), "grouped stream"),  # type: ignore[arg-type]
    (lambda: two(twice_the_name), "node named 'same' already"),
    (lambda: two(twice_the_store), "store named 'same' already"),
    (lambda: two(twice_the_repartition), "'same-repartition'"),
    (lambda: two(twice_the_same_repartition), "topic 'same-repartition' already"),
    (lambda: two(one_group_with_two_serdes), "twice with different serdes"),
    (lambda: two(stream_and_table), "Topic 'a' is read by KSTREAM-SOURCE-0000000001 already"),
    (lambda: two(overlapping_topics), "Topic 'a' is read by"),
    (lambda: two(two_serdes), "read twice with different value serdes"),
    (lambda: two(unknown_store), "uses the store 'nowhere', which was not added"),
    (lambda: two(ended_split), "This split has ended"),
]


@pytest.mark.parametrize(("act", "said"), MISTAKES, ids=[said for _, said in MISTAKES])
def test_a_mistake_is_said_in_one_sentence(act: Callable[[], object], said: str) -> None:
    with pytest.raises(PlanError) as raised:
        act()
    assert said in str(raised.value)
    assert str(raised.value).endswith(".") and "\n" not in str(raised.value)


def test_a_pyspark_column_is_refused_by_name() -> None:
    class Column:
        __module__ = "pyspark.sql.classic.column"

    with pytest.raises(PlanError, match=r"map\(\) got a PySpark Column, which it does not take in any lane"):
        stream().map(Column())  # type: ignore[arg-type]
    builder = StreamsBuilder("columns")
    builder.stream("a").filter(Column(), name="positive").to("b")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="positive has a PySpark Column, which runs in the native lane only"):
        TopologyTestDriver(builder)


def test_a_branch_that_is_not_there_is_said_with_those_that_are() -> None:
    branches = stream().split(name="by-").branch("TRUE", name="good").default_branch(name="rest")
    with pytest.raises(KeyError, match="no branch 'bad'; there are: by-good, by-rest"):
        branches["bad"]


def test_a_store_may_be_added_twice_if_it_is_the_same() -> None:
    seen = key_value_store("seen", key=String(), value=Long())
    b = StreamsBuilder("app").add_state_store(seen)
    b.stream("a").process(Processor, stores=[seen])
    assert list(b.build().stores) == ["seen"]
