"""Stream-stream, stream-table, global and table-table joins, with late, out-of-order, null and deleted records."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.runtime.topologies import L, S, after_each, started, stream_of, table_of

from caudal.runtime.operators.operator import NULL_KEY, NULL_KEY_OR_VALUE
from caudal.runtime.test_driver import TopologyTestDriver
from caudal.streams import StreamsBuilder


def streams(kind: str, **window: Any) -> TopologyTestDriver:
    def build(builder: StreamsBuilder) -> None:
        left, right = stream_of(builder, "l"), stream_of(builder, "r")
        getattr(left, kind)(right, lambda a, b: [a, b], **(window or {"within": 10})).to("out")

    return started(build)


def test_an_inner_join_meets_within_the_window_both_ways() -> None:
    driver = streams("join")
    assert after_each(
        driver,
        ("l", "a", 1, 100),
        ("r", "a", 2, 110),
        ("r", "a", 3, 111),
        ("l", "a", 4, 101),  # out of order: meets both
        ("r", "b", 5, 111),
    ) == [[], [("a", [1, 2], 110)], [], [("a", [4, 2], 110), ("a", [4, 3], 111)], []]


def test_an_inner_join_keeps_duplicates_and_drops_nulls() -> None:
    driver = streams("join")
    assert after_each(
        driver, ("l", "a", 1, 0), ("l", "a", 1, 0), ("r", "a", 2, 0), ("l", None, 1, 0), ("r", "a", None, 0)
    ) == [[], [], [("a", [1, 2], 0), ("a", [1, 2], 0)], [], []]
    assert driver.dropped == {NULL_KEY_OR_VALUE: 2}


def test_an_asymmetric_window() -> None:
    driver = streams("join", before=5, after=0)
    assert after_each(driver, ("l", "a", 1, 10), ("r", "a", 2, 5), ("r", "a", 3, 4), ("r", "a", 4, 11)) == [
        [],
        [("a", [1, 2], 10)],
        [],
        [],
    ]


def test_a_left_join_sends_lonely_records_when_their_window_has_closed() -> None:
    driver = streams("left_join")
    assert after_each(
        driver,
        ("l", "a", 1, 0),
        ("l", "b", 2, 1),
        ("l", "c", 3, 2),
        ("r", "b", 9, 3),  # b found a partner
        ("r", "x", 9, 10),  # exactly at the end: still open
        ("r", "x", 9, 11),
        ("r", "x", 9, 50),
    ) == [[], [], [], [("b", [2, 9], 3)], [], [("a", [1, None], 0)], [("c", [3, None], 2)]]


def test_grace_keeps_lonely_records_waiting() -> None:
    driver = streams("left_join", within=10, grace=5)
    assert after_each(driver, ("l", "a", 1, 0), ("r", "x", 9, 15), ("r", "a", 2, 4), ("r", "x", 9, 99)) == [
        [],
        [],
        [("a", [1, 2], 4)],
        [],
    ]


def test_a_late_record_whose_window_has_passed_goes_on_at_once() -> None:
    driver = streams("left_join")
    assert after_each(driver, ("l", "a", 1, 100), ("l", "b", 2, 50)) == [[], [("b", [2, None], 50)]]


def test_an_outer_join_sends_both_sides_in_the_order_of_time() -> None:
    driver = streams("outer_join")
    assert after_each(
        driver, ("l", "a", 1, 5), ("r", "b", 2, 3), ("r", "c", 3, 5), ("l", "z", 0, 100), ("r", "z", 0, 105)
    ) == [
        [],
        [],
        [],
        [("b", [None, 2], 3), ("c", [None, 3], 5), ("a", [1, None], 5)],
        [("z", [0, 0], 105)],
    ]


def test_an_outer_join_with_an_asymmetric_window_waits_as_long_as_each_side_needs() -> None:
    # A left record's partner may come up to 20 later; a right record's partner is never later than itself.
    driver = streams("outer_join", before=0, after=20)
    assert after_each(
        driver, ("l", "a", 1, 0), ("r", "b", 2, 1), ("l", "x", 0, 2), ("r", "a", 3, 20), ("l", "y", 0, 23)
    ) == [[], [], [("b", [None, 2], 1)], [("a", [1, 3], 20)], [("x", [0, None], 2)]]


@pytest.mark.parametrize(("kind", "left", "right"), [("left_join", True, False), ("outer_join", True, True)])
def test_null_keys_on_an_outer_side_go_on_alone(kind: str, left: bool, right: bool) -> None:
    driver = streams(kind)
    assert after_each(driver, ("l", None, 1, 0), ("r", None, 2, 0), ("l", None, None, 0), ("l", "a", None, 0)) == [
        [(None, [1, None], 0)] if left else [],
        [(None, [None, 2], 0)] if right else [],
        [],
        [],
    ]
    assert driver.dropped == {NULL_KEY_OR_VALUE: 2 if right else 3}


def test_a_stream_joined_with_itself_meets_itself_once() -> None:
    def build(builder: StreamsBuilder) -> None:
        stream = stream_of(builder, "in")
        stream.join(stream, lambda a, b: [a, b], within=10).to("out")

    assert after_each(started(build), ("in", "a", 1, 0), ("in", "a", 2, 1)) == [
        [("a", [1, 1], 0)],
        [("a", [2, 1], 1), ("a", [1, 2], 1), ("a", [2, 2], 1)],
    ]


def stream_table(kind: str) -> TopologyTestDriver:
    def build(builder: StreamsBuilder) -> None:
        getattr(stream_of(builder, "in"), kind)(table_of(builder, "t"), lambda a, b: [a, b]).to("out")

    return started(build)


def test_a_stream_table_join_sees_the_table_as_it_is_now() -> None:
    driver = stream_table("join")
    assert after_each(
        driver,
        ("in", "a", 1, 0),
        ("t", "a", "x", 100),
        ("in", "a", 2, 1),  # older than the table's row: joined all the same, with its own time
        ("t", "a", None, 2),
        ("in", "a", 3, 3),
        ("in", None, 4, 4),
        ("in", "a", None, 5),
    ) == [[], [], [("a", [2, "x"], 1)], [], [], [], []]
    assert driver.dropped == {NULL_KEY_OR_VALUE: 2}


def test_a_left_stream_table_join() -> None:
    driver = stream_table("left_join")
    assert after_each(
        driver, ("in", "a", 1, 0), ("t", "a", "x", 0), ("in", "a", 2, 1), ("in", None, 3, 2), ("in", "a", None, 3)
    ) == [[("a", [1, None], 0)], [], [("a", [2, "x"], 1)], [(None, [3, None], 2)], []]
    assert driver.dropped == {NULL_KEY_OR_VALUE: 1}


@pytest.mark.parametrize(("kind", "alone"), [("join", []), ("left_join", [("k", [{"fk": "z"}, None], 2)])])
def test_a_join_with_a_global_table(kind: str, alone: list[Any]) -> None:
    def build(builder: StreamsBuilder) -> None:
        table = builder.global_table("g", key=S, value=S)
        select = {"key_selector": lambda key, value: value["fk"]}
        getattr(stream_of(builder, "in"), kind)(table, lambda a, b: [a, b], **select).to("out")

    driver = started(build)
    assert after_each(
        driver,
        ("g", "a", "A", 0),
        ("in", "k", {"fk": "a"}, 1),
        ("in", "k", {"fk": "z"}, 2),
        ("in", None, {"fk": "a"}, 3),  # the stream's own key does not matter
        ("in", "k", None, 4),
    ) == [[], [("k", [{"fk": "a"}, "A"], 1)], alone, [(None, [{"fk": "a"}, "A"], 3)], []]
    driver.pipe_input("in", "k", {"fk": None}, timestamp=5)
    dropped = 1 if kind == "left_join" else 2
    assert driver.dropped == {NULL_KEY_OR_VALUE: dropped}


def tables(kind: str, **given: Any) -> TopologyTestDriver:
    def build(builder: StreamsBuilder) -> None:
        left, right = table_of(builder, "l"), table_of(builder, "r")
        getattr(left, kind)(right, lambda a, b: [a, b], **given).to("out")

    return started(build)


CHANGES = (
    ("l", "a", 1, 5),
    ("r", "a", 2, 3),
    ("l", "a", 3, 9),
    ("r", "a", None, 10),
    ("r", "a", None, 11),
    ("l", "a", None, 12),
    ("l", "a", None, 13),
    ("r", "a", 4, 14),
)


def test_a_table_table_inner_join() -> None:
    driver = tables("join")
    assert after_each(driver, *CHANGES) == [
        [],
        [("a", [1, 2], 5)],
        [("a", [3, 2], 9)],
        [("a", None, 10)],
        [("a", None, 11)],
        [],
        [],
        [],
    ]


def test_a_table_table_left_join() -> None:
    driver = tables("left_join")
    assert after_each(driver, *CHANGES) == [
        [("a", [1, None], 5)],
        [("a", [1, 2], 5)],
        [("a", [3, 2], 9)],
        [("a", [3, None], 10)],
        [("a", [3, None], 11)],
        [("a", None, 12)],
        [],
        [],
    ]


def test_a_table_table_outer_join() -> None:
    driver = tables("outer_join")
    assert after_each(driver, *CHANGES) == [
        [("a", [1, None], 5)],
        [("a", [1, 2], 5)],
        [("a", [3, 2], 9)],
        [("a", [3, None], 10)],
        [("a", [3, None], 11)],
        [("a", None, 12)],
        [],
        [("a", [None, 4], 14)],
    ]


def test_a_table_table_join_drops_null_keys() -> None:
    driver = tables("join")
    driver.pipe_input("l", None, 1, timestamp=0)
    assert driver.dropped == {NULL_KEY: 1}


def test_a_joined_table_sends_old_values_to_a_group() -> None:
    def build(builder: StreamsBuilder) -> None:
        joined = table_of(builder, "l").left_join(table_of(builder, "r"), lambda a, b: f"{a}{b}")
        joined.group_by(lambda key, value: (value, 1), value=L).count().to("out", value=L)

    assert after_each(started(build), ("l", "a", 1, 0), ("r", "a", 2, 1), ("l", "a", None, 2)) == [
        [("1None", 1, 0)],
        [("1None", 0, 1), ("12", 1, 1)],
        [("12", 0, 2)],
    ]


def test_a_stream_reads_a_joined_table_that_has_no_store() -> None:
    def build(builder: StreamsBuilder) -> None:
        joined = table_of(builder, "l").outer_join(table_of(builder, "r"), lambda a, b: [a, b])
        stream_of(builder, "in").left_join(joined, lambda value, both: [value, both]).to("out")

    assert after_each(
        started(build), ("in", "a", 0, 0), ("l", "a", 1, 1), ("in", "a", 0, 2), ("r", "a", 2, 3), ("in", "a", 0, 4)
    ) == [[("a", [0, None], 0)], [], [("a", [0, [1, None]], 2)], [], [("a", [0, [1, 2]], 4)]]


def test_a_materialised_join_can_be_read() -> None:
    driver = tables("join", store="joined")
    after_each(driver, ("l", "a", 1, 5), ("r", "a", 2, 3))
    assert driver.store("joined").get("a") == ([1, 2], 5)
