"""Tables: sources, filter, map_values, transform_values, reading a table that has no store."""

from __future__ import annotations

from typing import Any

from tests.unit.runtime.topologies import J, L, after_each, started, stream_of, table_of

from caudal.runtime.operators.operator import NULL_KEY
from caudal.streams import StreamsBuilder, ValueTransformer


def test_a_table_passes_updates_and_tombstones_on_and_drops_null_keys() -> None:
    driver = started(lambda b: table_of(b, "in", store="t").to_stream().to("out"))
    assert after_each(driver, ("in", "a", 1, 5), ("in", "a", None, 6), ("in", None, 1, 7), ("in", "b", None, 8)) == [
        [("a", 1, 5)],
        [("a", None, 6)],
        [],
        [("b", None, 8)],
    ]
    assert driver.dropped == {NULL_KEY: 1}


def test_an_out_of_order_update_replaces_the_value_as_any_other() -> None:
    driver = started(lambda b: table_of(b, "in", store="t").to_stream().to("out"))
    assert after_each(driver, ("in", "a", 1, 5), ("in", "a", 2, 3)) == [[("a", 1, 5)], [("a", 2, 3)]]
    assert driver.store("t").get("a") == (2, 3)


INPUTS = (
    ("in", "a", 1, 0),
    ("in", "a", 5, 1),
    ("in", "a", 6, 2),
    ("in", "a", 2, 3),
    ("in", "a", 3, 4),
    ("in", "b", None, 5),
)


def test_a_filter_of_a_stored_table_sends_a_tombstone_only_for_what_was_there() -> None:
    driver = started(lambda b: table_of(b, "in", store="t").filter(lambda key, value: value > 4).to("out"))
    assert after_each(driver, *INPUTS) == [[], [("a", 5, 1)], [("a", 6, 2)], [("a", None, 3)], [], []]


def test_a_filter_of_a_table_without_a_store_cannot_know_and_sends_them_all() -> None:
    driver = started(lambda b: table_of(b, "in").filter(lambda key, value: value > 4).to("out"))
    assert after_each(driver, *INPUTS) == [
        [("a", None, 0)],
        [("a", 5, 1)],
        [("a", 6, 2)],
        [("a", None, 3)],
        [("a", None, 4)],
        [("b", None, 5)],
    ]


def test_filter_not_with_a_store_of_its_own() -> None:
    driver = started(lambda b: table_of(b, "in", store="t").filter_not(lambda k, v: v > 4, store="small").to("out"))
    assert after_each(driver, *INPUTS) == [[("a", 1, 0)], [("a", None, 1)], [], [("a", 2, 3)], [("a", 3, 4)], []]
    assert driver.store("small").get("a") == (3, 4)


def test_map_values_leaves_tombstones_alone() -> None:
    driver = started(lambda b: table_of(b, "in").map_values(lambda value: value * 10).to("out"))
    assert after_each(driver, ("in", "a", 1, 0), ("in", "a", None, 1)) == [[("a", 10, 0)], [("a", None, 1)]]


def test_old_values_go_through_map_values_to_a_group() -> None:
    def build(builder: StreamsBuilder) -> None:
        table = table_of(builder, "in").map_values(lambda value: value % 10)
        table.group_by(lambda key, value: (str(value), value), value=L).count().to("out", value=L)

    assert after_each(started(build), ("in", "a", 11, 0), ("in", "a", 21, 1), ("in", "a", 22, 2)) == [
        [("1", 1, 0)],
        [("1", 1, 1)],
        [("1", 0, 2), ("2", 1, 2)],
    ]


class Remember(ValueTransformer):
    """Sees deletions as well, and reads where the record came from."""

    def transform(self, key: Any, value: Any) -> Any:
        metadata = self.context.record_metadata
        return [value, metadata.offset if metadata is not None else None]


def test_transform_values_sees_tombstones_and_metadata() -> None:
    driver = started(lambda b: table_of(b, "in").transform_values(Remember, value=J).to("out"))
    assert after_each(driver, ("in", "a", 1, 0), ("in", "a", None, 1)) == [[("a", [1, 0], 0)], [("a", [None, 1], 1)]]


def test_a_stream_joins_a_table_that_is_computed_from_another() -> None:
    def build(builder: StreamsBuilder) -> None:
        table = table_of(builder, "table").map_values(lambda value: value * 10).filter(lambda key, value: value > 10)
        stream_of(builder, "in").join(table, lambda value, other: [value, other]).to("out")

    assert after_each(
        started(build), ("table", "a", 1, 0), ("in", "a", "x", 1), ("table", "a", 2, 2), ("in", "a", "y", 3)
    ) == [[], [], [], [("a", ["y", 20], 3)]]


def test_to_stream_with_a_new_key() -> None:
    driver = started(lambda b: table_of(b, "in").to_stream(lambda key, value: f"{key}-{value}").to("out"))
    assert after_each(driver, ("in", "a", 1, 0), ("in", "a", None, 1)) == [[("a-1", 1, 0)], [("a-None", None, 1)]]


def test_to_table_makes_changes_from_a_stream() -> None:
    def build(builder: StreamsBuilder) -> None:
        table = stream_of(builder, "in").to_table(store="t")
        table.group_by(lambda key, value: (value, 1), value=L).count().to("out", value=L)

    assert after_each(started(build), ("in", "a", "x", 0), ("in", "a", "y", 1), ("in", "a", None, 2)) == [
        [("x", 1, 0)],
        [("x", 0, 1), ("y", 1, 1)],
        [("y", 0, 2)],
    ]
