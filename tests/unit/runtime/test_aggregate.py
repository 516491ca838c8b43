"""count, aggregate and reduce of streams and tables, without windows."""

from __future__ import annotations

from typing import Any

from tests.unit.runtime.topologies import J, L, after_each, outputs, started, stream_of, table_of

from caudal.runtime.operators.operator import NULL_KEY, NULL_KEY_OR_VALUE
from caudal.streams import StreamsBuilder


def test_count_carries_the_largest_timestamp_and_drops_nulls() -> None:
    driver = started(lambda b: stream_of(b, "in").group_by_key().count(store="counts").to("out"))
    assert after_each(
        driver, ("in", "a", 1, 5), ("in", "a", 1, 3), ("in", "b", 1, 4), ("in", "a", None, 9), ("in", None, 1, 9)
    ) == [[("a", 1, 5)], [("a", 2, 5)], [("b", 1, 4)], [], []]
    assert driver.dropped == {NULL_KEY_OR_VALUE: 2}
    assert driver.store("counts").get("a") == (2, 5)


def test_results_carry_the_headers_of_the_record_that_made_them() -> None:
    driver = started(lambda b: stream_of(b, "in").group_by_key().count().to("out"))
    driver.pipe_input("in", "a", 1, timestamp=0, headers={"h": b"x"})
    record = driver.read_output("out")
    assert record is not None and record.headers == (("h", b"x"),)


def test_an_aggregate_of_none_deletes_the_key_and_the_next_begins_anew() -> None:
    driver = started(
        lambda b: (
            stream_of(b, "in")
            .group_by_key()
            .aggregate(lambda: 0, lambda key, value, total: total + value if value else None, value=L)
            .to("out")
        )
    )
    assert after_each(driver, ("in", "a", 3, 9), ("in", "a", 0, 10), ("in", "a", 4, 2)) == [
        [("a", 3, 9)],
        [("a", None, 10)],
        [("a", 4, 2)],
    ]


def test_reduce_begins_with_the_first_value() -> None:
    driver = started(lambda b: stream_of(b, "in").group_by_key().reduce(lambda total, value: total + value).to("out"))
    assert after_each(driver, ("in", "a", "x", 7), ("in", "a", "y", 1), ("in", "a", None, 9)) == [
        [("a", "x", 7)],
        [("a", "xy", 7)],
        [],
    ]


def test_an_aggregator_that_changes_its_object_in_place_does_not_reach_the_old_value() -> None:
    def appended(key: str, value: Any, values: list[Any]) -> list[Any]:
        values.append(value)
        return values

    def build(builder: StreamsBuilder) -> None:
        lists = stream_of(builder, "in").group_by_key().aggregate(list, appended, value=J)
        by_length = lists.group_by(lambda key, values: (str(len(values)), 1), value=L)
        by_length.count(store="lengths").to("out", value=L)

    driver = started(build)
    assert after_each(driver, ("in", "a", 1, 0), ("in", "a", 2, 1), ("in", "b", 9, 2)) == [
        [("1", 1, 0)],
        [("1", 0, 1), ("2", 1, 1)],
        [("1", 1, 2)],
    ]


def test_the_first_result_of_a_key_has_no_old_value() -> None:
    """Grouped by its own value a count of 1 must not be taken away from the group of the initial 0."""

    def build(builder: StreamsBuilder) -> None:
        counts = stream_of(builder, "in").group_by_key().count()
        counts.group_by(lambda key, count: (str(count % 2), count), value=L).count().to("out", value=L)

    assert after_each(started(build), ("in", "a", 1, 0), ("in", "a", 1, 1), ("in", "b", 1, 2), ("in", "b", 1, 3)) == [
        [("1", 1, 0)],
        [("1", 0, 1), ("0", 1, 1)],
        [("1", 1, 2)],
        [("1", 0, 3), ("0", 2, 3)],
    ]


def grouped(builder: StreamsBuilder) -> Any:
    return table_of(builder, "in").group_by(lambda key, value: (value["g"], value["n"]), value=L)


def test_a_grouped_table_subtracts_before_it_adds() -> None:
    calls: list[tuple[str, int, int]] = []

    def add(key: str, value: int, total: int) -> int:
        calls.append(("+", value, total))
        return total + value

    def subtract(key: str, value: int, total: int) -> int:
        calls.append(("-", value, total))
        return total - value

    driver = started(lambda b: grouped(b).aggregate(lambda: 0, add, subtract, value=L).to("out", value=L))
    assert after_each(
        driver,
        ("in", "1", {"g": "x", "n": 3}, 5),
        ("in", "2", {"g": "x", "n": 4}, 1),  # out of order: the larger timestamp stays
        ("in", "1", {"g": "x", "n": 5}, 6),  # same group: one change, one result
        ("in", "1", {"g": "y", "n": 5}, 7),  # another group: first taken away, then added
        ("in", "2", None, 8),
        ("in", "2", None, 9),  # it was gone already
    ) == [[("x", 3, 5)], [("x", 7, 5)], [("x", 9, 6)], [("x", 4, 7), ("y", 5, 7)], [("x", 0, 8)], []]
    assert calls[2:4] == [("-", 3, 7), ("+", 5, 4)]


def test_a_grouped_table_drops_what_has_no_group_or_value() -> None:
    driver = started(lambda b: grouped(b).count().to("out", value=L))
    assert after_each(
        driver,
        ("in", "1", {"g": None, "n": 3}, 0),
        ("in", "1", {"g": "x", "n": None}, 1),
        ("in", "1", {"g": "x", "n": 3}, 2),
        ("in", "1", {"g": None, "n": 3}, 3),
    ) == [[], [], [("x", 1, 2)], [("x", 0, 3)]]


def test_reduce_of_a_grouped_table() -> None:
    driver = started(
        lambda b: grouped(b).reduce(lambda total, value: total + value, lambda total, value: total - value).to("out")
    )
    assert after_each(
        driver, ("in", "1", {"g": "x", "n": 3}, 0), ("in", "2", {"g": "x", "n": 4}, 1), ("in", "1", None, 2)
    ) == [[("x", 3, 0)], [("x", 7, 1)], [("x", 4, 2)]]


def test_a_grouped_table_drops_null_keys_of_its_topic() -> None:
    driver = started(lambda b: grouped(b).count().to("out", value=L))
    driver.pipe_input("in", None, {"g": "x", "n": 1}, timestamp=0)
    assert outputs(driver) == []
    assert driver.dropped == {NULL_KEY: 1}
