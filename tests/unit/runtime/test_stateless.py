"""Operators of streams that keep nothing."""

from __future__ import annotations

import pytest
from tests.unit.runtime.plans import driver, f, node, rows, sink, source

from caudal.plan import steps
from caudal.runtime.errors import StreamsError


def test_filter_and_filter_not_split_a_stream() -> None:
    runner = driver(
        source("in"),
        node("even", steps.Filter(f(lambda key, value: value % 2 == 0)), "in"),
        node("odd", steps.Filter(f(lambda key, value: value % 2 == 0), negate=True), "in"),
        sink("evens", "even"),
        sink("odds", "odd"),
    )
    for number in range(4):
        runner.pipe_input("in", "k", number, timestamp=number)
    assert rows(runner, "evens") == [("k", 0, 0), ("k", 2, 2)]
    assert rows(runner, "odds") == [("k", 1, 1), ("k", 3, 3)]


def test_a_filter_sees_null_keys_and_values() -> None:
    seen = []

    def keep(key: object, value: object) -> bool:
        seen.append((key, value))
        return True

    runner = driver(source("in"), node("f", steps.Filter(f(keep)), "in"), sink("out", "f"))
    runner.pipe_input("in", None, None, timestamp=1)
    assert seen == [(None, None)]
    assert rows(runner) == [(None, None, 1)]


def test_maps_keep_timestamp_and_headers() -> None:
    runner = driver(
        source("in"),
        node("map", steps.Map(f(lambda key, value: (key.upper(), value + 1))), "in"),
        node("key", steps.SelectKey(f(lambda key, value: f"{key}{value}")), "map"),
        node("value", steps.MapValues(f(lambda key, value: [key, value])), "key"),
        sink("out", "value"),
    )
    runner.pipe_input("in", "a", 1, timestamp=7, headers={"h": b"1"})
    record = runner.read_output("out")
    assert record is not None
    assert (record.key, record.value, record.timestamp, record.headers) == ("A2", ["A2", 2], 7, (("h", b"1"),))


def test_flat_maps_send_every_item_in_order() -> None:
    runner = driver(
        source("in"),
        node("pairs", steps.FlatMap(f(lambda key, value: [(word, len(word)) for word in value.split()])), "in"),
        node("values", steps.FlatMapValues(f(lambda key, value: range(value))), "pairs"),
        sink("out", "values"),
    )
    runner.pipe_input("in", "k", "ab c", timestamp=3)
    assert rows(runner) == [("ab", 0, 3), ("ab", 1, 3), ("c", 0, 3)]
    runner.pipe_input("in", "k", "", timestamp=3)
    assert rows(runner) == []


@pytest.mark.parametrize(
    "step",
    [steps.Map(f(lambda k, v: None)), steps.FlatMap(f(lambda k, v: None)), steps.FlatMapValues(f(lambda k, v: None))],
)
def test_a_map_that_returns_none_is_an_error_that_names_the_record(step: steps.Step) -> None:
    runner = driver(source("in"), node("bad", step, "in"), sink("out", "bad"))
    with pytest.raises(StreamsError, match=r"bad.*offset 0 of topic 'in', partition 0.*returned None"):
        runner.pipe_input("in", "k", 1, timestamp=0)


def test_peek_passes_on_and_foreach_ends() -> None:
    seen: list[object] = []
    runner = driver(
        source("in"),
        node("peek", steps.Peek(f(lambda key, value: seen.append(value))), "in"),
        node("foreach", steps.Peek(f(lambda key, value: seen.append(-value)), forward=False), "peek"),
        sink("out", "peek"),
    )
    runner.pipe_input("in", "k", 5, timestamp=0)
    assert seen == [5, -5]
    assert rows(runner) == [("k", 5, 0)]


def test_print_writes_label_key_and_value(capsys: pytest.CaptureFixture[str]) -> None:
    runner = driver(source("in"), node("print", steps.Print("in"), "in"))
    runner.pipe_input("in", "k", "v", timestamp=0)
    assert capsys.readouterr().out == "[in]: k, v\n"


def test_a_branch_takes_the_first_that_holds_then_the_default() -> None:
    runner = driver(
        source("in"),
        node(
            "split",
            steps.Branch((f(lambda k, v: v > 10), f(lambda k, v: v > 5)), ("big", "middle", "rest")),
            "in",
        ),
        node("big", steps.PassThrough(), "split"),
        node("middle", steps.PassThrough(), "split"),
        node("rest", steps.PassThrough(), "split"),
        sink("bigs", "big"),
        sink("middles", "middle"),
        sink("rests", "rest"),
    )
    for number in (11, 6, 1):
        runner.pipe_input("in", "k", number, timestamp=0)
    assert [rows(runner, t)[0][1] for t in ("bigs", "middles", "rests")] == [11, 6, 1]


def test_a_branch_without_default_drops_the_rest() -> None:
    runner = driver(
        source("in"),
        node("split", steps.Branch((f(lambda k, v: v > 10),), ("big",)), "in"),
        node("big", steps.PassThrough(), "split"),
        sink("out", "big"),
    )
    runner.pipe_input("in", "k", 1, timestamp=0)
    assert rows(runner) == []


def test_merge_takes_both_streams() -> None:
    runner = driver(source("a"), source("b"), node("merge", steps.PassThrough(), "a", "b"), sink("out", "merge"))
    runner.pipe_input("a", "k", 1, timestamp=1)
    runner.pipe_input("b", "k", 2, timestamp=2)
    assert rows(runner) == [("k", 1, 1), ("k", 2, 2)]


def test_three_children_get_the_record_in_the_order_of_the_plan() -> None:
    seen: list[str] = []
    runner = driver(
        source("in"),
        *(node(name, steps.Peek(f(lambda k, v, name=name: seen.append(name))), "in") for name in "abc"),
    )
    runner.pipe_input("in", "k", 1, timestamp=0)
    assert seen == ["a", "b", "c"]


def test_a_topic_that_the_application_reads_itself_loops_back() -> None:
    runner = driver(
        source("in"),
        sink("to", "in", topic="middle"),
        source("again", "middle"),
        node("map", steps.MapValues(f(lambda k, v: v + 1)), "again"),
        sink("out", "map"),
    )
    runner.pipe_input("in", "k", 1, timestamp=9)
    assert rows(runner) == [("k", 2, 9)]
