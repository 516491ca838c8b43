"""Suppress: until windows close, for a time, and with a full buffer."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.runtime.topologies import L, after_each, started, stream_of, table_of

from caudal.runtime.errors import StreamsError
from caudal.runtime.test_driver import TopologyTestDriver
from caudal.streams import StreamsBuilder, session, tumbling, until_time_limit, until_window_closes


def final(windows: Any, **given: Any) -> TopologyTestDriver:
    def build(builder: StreamsBuilder) -> None:
        counts = stream_of(builder, "in").group_by_key().windowed_by(windows).count()
        counts.suppress(until_window_closes(**given)).to("out")

    return started(build)


def one(*times: int, key: str = "a") -> list[tuple[str, Any, Any, int]]:
    return [("in", key, 1, time) for time in times]


def test_one_result_per_window_after_its_grace_period() -> None:
    driver = final(tumbling(10, grace=5))
    assert after_each(driver, *one(1), *one(2, key="b"), *one(14, 3, 15, 2, 40)) == [
        [],
        [],
        [],
        [],
        [("a@0-10", 2, 3), ("b@0-10", 1, 2)],
        [],
        [("a@10-20", 2, 15)],
    ]


def test_merged_sessions_send_no_tombstones() -> None:
    driver = final(session(10))
    assert after_each(driver, *one(0, 5, 100)) == [[], [], [("a@0-5", 2, 5)]]


def test_a_full_buffer_of_final_results_stops_the_application() -> None:
    driver = final(tumbling(10), max_records=1)
    driver.pipe_input("in", "a", 1, timestamp=0)
    with pytest.raises(StreamsError, match=r"full: 2 records .* 1 records .* allowed"):
        driver.pipe_input("in", "b", 1, timestamp=0)


def limited(limit: int, **given: Any) -> TopologyTestDriver:
    return started(lambda b: table_of(b, "in", store="t").suppress(until_time_limit(limit, **given)).to("out"))


def test_a_time_limit_counts_from_the_first_change_and_sends_the_last() -> None:
    driver = limited(10)
    assert after_each(
        driver, ("in", "a", 1, 0), ("in", "a", 2, 5), ("in", "b", 9, 9), ("in", "a", None, 8), ("in", "c", 7, 10)
    ) == [[], [], [], [], [("a", None, 8)]]


def test_a_full_buffer_sends_the_oldest_early() -> None:
    driver = limited(100, max_records=1)
    assert after_each(driver, ("in", "a", 1, 0), ("in", "b", 2, 1), ("in", "b", 3, 2), ("in", "c", 4, 3)) == [
        [],
        [("a", 1, 0)],
        [],
        [("b", 3, 2)],
    ]


def test_a_buffer_of_nothing_sends_at_once() -> None:
    assert after_each(limited(100, max_records=0), ("in", "a", 1, 0)) == [[("a", 1, 0)]]


def test_bytes_are_limited_as_well() -> None:
    driver = limited(100, max_bytes=1)
    assert after_each(driver, ("in", "a", "x" * 50, 0)) == [[("a", "x" * 50, 0)]]


def test_what_was_held_goes_on_with_its_own_headers() -> None:
    driver = limited(10)
    driver.pipe_input("in", "a", 1, timestamp=0, headers={"h": b"a"})
    driver.pipe_input("in", "b", 1, timestamp=10, headers={"h": b"b"})
    record = driver.read_output("out")
    assert record is not None and (record.key, record.headers) == ("a", (("h", b"a"),))


def test_a_join_with_a_suppressed_table_reads_what_was_sent_on() -> None:
    def build(builder: StreamsBuilder) -> None:
        held = table_of(builder, "in", store="t").suppress(until_time_limit(10))
        stream_of(builder, "s").left_join(held, lambda value, other: [value, other]).to("out")

    assert after_each(
        started(build),
        ("in", "a", 1, 0),
        ("s", "a", 0, 1),
        ("in", "b", 1, 20),
        ("s", "a", 0, 21),
        ("in", "a", 2, 21),
        ("s", "a", 0, 22),
    ) == [[], [("a", [0, None], 1)], [], [("a", [0, 1], 21)], [], [("a", [0, 1], 22)]]


def test_the_old_value_behind_suppress_is_what_was_sent_on_before() -> None:
    def build(builder: StreamsBuilder) -> None:
        held = table_of(builder, "in", store="t").suppress(until_time_limit(10))
        held.group_by(lambda key, value: (str(value), 1), value=L).count().to("out", value=L)

    assert after_each(
        started(build),
        ("in", "a", 1, 0),
        ("in", "x", 0, 10),
        ("in", "a", 2, 20),  # held, and replaced by the next: nobody behind ever sees it
        ("in", "a", 3, 21),
        ("in", "x", 0, 30),
    ) == [[], [("1", 1, 0)], [("0", 1, 10)], [], [("1", 0, 21), ("3", 1, 21)]]
