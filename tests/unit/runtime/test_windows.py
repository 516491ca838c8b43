"""Aggregates over tumbling, hopping, sliding and session windows; emitting on update and on close."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.runtime.topologies import J, L, S, after_each, outputs, started, stream_of

from caudal.runtime.operators.operator import LATE, NULL_KEY, NULL_KEY_OR_VALUE
from caudal.runtime.test_driver import TopologyTestDriver
from caudal.streams import StreamsBuilder, hopping, session, sliding, tumbling


def counting(windows: Any, **given: Any) -> TopologyTestDriver:
    return started(lambda b: stream_of(b, "in").group_by_key().windowed_by(windows, **given).count(store="s").to("out"))


def one(*times: int, key: str = "a") -> list[tuple[str, Any, Any, int]]:
    return [("in", key, 1, time) for time in times]


def test_tumbling_windows_take_late_records_within_the_grace_period() -> None:
    driver = counting(tumbling(10, grace=5))
    assert after_each(driver, *one(3, 9, 10, 14, 2, 15, 4, 10)) == [
        [("a@0-10", 1, 3)],
        [("a@0-10", 2, 9)],
        [("a@10-20", 1, 10)],
        [("a@10-20", 2, 14)],
        [("a@0-10", 3, 9)],  # late, but the window closes at 15
        [("a@10-20", 3, 15)],
        [],  # closed
        [("a@10-20", 4, 15)],
    ]
    assert driver.dropped == {LATE: 1}
    assert driver.store("s").fetch("a", 10) == 4


def test_a_window_aggregate_drops_null_keys_but_sees_null_values() -> None:
    driver = counting(tumbling(10))
    assert after_each(driver, ("in", None, 1, 0), ("in", "a", None, 1)) == [[], [("a@0-10", 1, 1)]]
    assert driver.dropped == {NULL_KEY: 1}


def test_hopping_windows_put_a_record_into_each_and_drop_only_the_closed_ones() -> None:
    driver = counting(hopping(10, 5))
    assert after_each(driver, *one(7, 12, 9)) == [
        [("a@0-10", 1, 7), ("a@5-15", 1, 7)],
        [("a@5-15", 2, 12), ("a@10-20", 1, 12)],
        [("a@5-15", 3, 12)],
    ]
    assert driver.dropped == {LATE: 1}


def test_windows_do_not_begin_before_zero() -> None:
    assert after_each(counting(hopping(10, 3)), *one(1)) == [[("a@0-10", 1, 1)]]


def test_stream_time_is_per_node_not_per_key() -> None:
    driver = counting(tumbling(10))
    assert after_each(driver, *one(25), *one(3, key="b")) == [[("a@20-30", 1, 25)], []]


def test_reduce_in_windows_begins_with_the_first_value_of_each() -> None:
    driver = started(
        lambda b: stream_of(b, "in").group_by_key().windowed_by(tumbling(10)).reduce(lambda a, v: a + v).to("out")
    )
    assert after_each(driver, ("in", "a", "x", 1), ("in", "a", "y", 2), ("in", "a", "z", 11)) == [
        [("a@0-10", "x", 1)],
        [("a@0-10", "xy", 2)],
        [("a@10-20", "z", 11)],
    ]


def test_on_close_each_window_comes_once_in_the_order_of_time_and_key() -> None:
    driver = counting(tumbling(10, grace=2), emit="on_close")
    steps = [*one(5), *one(3, key="b"), *one(1), *one(11), *one(12), *one(4), *one(23)]
    assert after_each(driver, *steps) == [
        [],
        [],
        [],
        [],
        [("a@0-10", 2, 5), ("b@0-10", 1, 3)],
        [],
        [("a@10-20", 2, 12)],
    ]
    assert driver.dropped == {LATE: 1}


def test_on_close_a_jump_of_time_loses_no_window() -> None:
    driver = counting(tumbling(10), emit="on_close")
    assert after_each(driver, *one(0, 1000, 5000)) == [[], [("a@0-10", 1, 0)], [("a@1000-1010", 1, 1000)]]


def test_on_close_hopping() -> None:
    driver = counting(hopping(10, 5), emit="on_close")
    assert after_each(driver, *one(7, 12, 16, 40)) == [
        [],
        [("a@0-10", 1, 7)],
        [("a@5-15", 2, 12)],
        [("a@10-20", 2, 16), ("a@15-25", 1, 16)],
    ]


def test_on_close_what_was_emitted_is_not_emitted_again_by_the_next_task_object() -> None:
    driver = counting(tumbling(10), emit="on_close")
    after_each(driver, *one(5, 11))
    remembered = driver.tasks[0].metadata()
    assert {name.split(".")[-1]: number for name, number in remembered.items()} == {
        "stream_time": 11,
        "observed": 11,
        "emitted": 11,
    }


def test_sliding_windows() -> None:
    """Checked against Kafka Streams 4.3."""
    driver = counting(sliding(10, grace=50))
    assert after_each(driver, *one(20, 25, 31, 22, 3, 5)) == [
        [("a@10-20", 1, 20)],
        [("a@21-31", 1, 25), ("a@15-25", 2, 25)],
        [("a@21-31", 2, 31), ("a@26-36", 1, 31)],
        [("a@21-31", 3, 31), ("a@15-25", 3, 25), ("a@12-22", 2, 22), ("a@23-33", 2, 31)],
        [("a@0-10", 1, 3)],
        [("a@4-14", 1, 5), ("a@0-10", 2, 5)],
    ]


def test_sliding_windows_drop_nulls_and_late_records() -> None:
    driver = counting(sliding(10))
    after_each(driver, *one(50), ("in", None, 1, 50), ("in", "a", None, 50), *one(39))
    assert driver.dropped == {NULL_KEY_OR_VALUE: 2, LATE: 1}


def test_sliding_windows_keep_objects_apart_that_the_aggregator_changes_in_place() -> None:
    def appended(key: str, value: Any, values: list[Any]) -> list[Any]:
        values.append(value)
        return values

    def build(builder: StreamsBuilder) -> None:
        windows = stream_of(builder, "in").group_by_key().windowed_by(sliding(10, grace=50))
        windows.aggregate(list, appended, value=J).to("out")

    driver = started(build)
    after_each(driver, ("in", "a", "x", 20), ("in", "a", "y", 25))
    driver.pipe_input("in", "a", "z", timestamp=22)
    found = {key: sorted(value) for key, value, _ in outputs(driver)}
    assert found == {"a@21-31": ["y", "z"], "a@15-25": ["x", "y", "z"], "a@12-22": ["x", "z"], "a@23-33": ["y"]}


@pytest.mark.parametrize("difference", [1, 7, 30])
def test_every_sliding_window_has_exactly_the_records_within_it(difference: int) -> None:
    """The invariant, on out-of-order input: the last result of each window counts what lies in it."""
    times = [40, 12, 33, 5, 41, 60, 12, 59, 0, 28, 29, 61, 35, 90, 31]
    driver = counting(sliding(difference, grace=1000))
    last: dict[str, int] = {}
    for time in times:
        for rows in after_each(driver, *one(time)):
            last |= {key: value for key, value, _ in rows}
    for name, count in last.items():
        start, end = map(int, name.removeprefix("a@").split("-"))
        assert count == sum(start <= time <= end for time in times), name
    ends = {int(name.split("-")[1]) for name in last}
    assert {time for time in times if time >= difference} <= ends  # each record's left window is there


def test_sliding_windows_on_close() -> None:
    driver = counting(sliding(10), emit="on_close")
    assert after_each(driver, *one(20, 25, 31, 60)) == [
        [],
        [("a@10-20", 1, 20)],
        [("a@15-25", 2, 25)],
        [("a@21-31", 2, 31), ("a@26-36", 1, 31)],
    ]


def test_sessions_merge_and_delete_what_they_merged() -> None:
    driver = counting(session(10))
    assert after_each(driver, *one(0, 20, 15, 10, 100, 3)) == [
        [("a@0-0", 1, 0)],
        [("a@20-20", 1, 20)],
        [("a@20-20", None, 20), ("a@15-20", 2, 20)],
        [("a@15-20", None, 20), ("a@10-20", 3, 20)],
        [("a@100-100", 1, 100)],
        [],
    ]
    assert driver.dropped == {LATE: 1}


def test_a_session_bridges_two_others_within_the_grace_period() -> None:
    driver = counting(session(10, grace=100))
    assert after_each(driver, *one(0, 20, 10)) == [
        [("a@0-0", 1, 0)],
        [("a@20-20", 1, 20)],
        [("a@0-0", None, 0), ("a@20-20", None, 20), ("a@0-20", 3, 20)],
    ]


def test_a_second_record_of_the_same_time_replaces_its_session() -> None:
    driver = counting(session(10))
    assert after_each(driver, *one(5, 5)) == [[("a@5-5", 1, 5)], [("a@5-5", 2, 5)]]


def test_sessions_drop_null_keys_only_and_carry_no_headers() -> None:
    driver = counting(session(10))
    driver.pipe_input("in", "a", None, timestamp=1, headers={"h": b"x"})
    record = driver.read_output("out")
    assert record is not None and record.headers == ()
    driver.pipe_input("in", None, 1, timestamp=1)
    assert driver.dropped == {NULL_KEY: 1}


def test_reduce_in_sessions() -> None:
    driver = started(
        lambda b: stream_of(b, "in").group_by_key().windowed_by(session(10)).reduce(lambda a, v: a + v).to("out")
    )
    assert after_each(driver, ("in", "a", "x", 0), ("in", "a", "y", 5)) == [
        [("a@0-0", "x", 0)],
        [("a@0-0", None, 0), ("a@0-5", "xy", 5)],
    ]


def test_sessions_on_close() -> None:
    driver = counting(session(10), emit="on_close")
    assert after_each(driver, *one(0, 20, 10, 100, 3, 111)) == [
        [],
        [("a@0-0", 1, 0)],
        [],
        [("a@10-20", 2, 20)],
        [],
        [("a@100-100", 1, 100)],
    ]


def test_old_values_of_windows_reach_a_group() -> None:
    def build(builder: StreamsBuilder) -> None:
        counts = stream_of(builder, "in").group_by_key().windowed_by(tumbling(10)).count()
        counts.group_by(lambda key, count: (key.key, count), key=S, value=L).reduce(
            lambda total, value: total + value, lambda total, value: total - value
        ).to("out", value=L)

    assert [rows[-1][1] for rows in after_each(started(build), *one(1, 2, 11))] == [1, 2, 3]
