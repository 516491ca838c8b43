"""The order of records across partitions."""

from __future__ import annotations

import random

from caudal.runtime.ordering import in_task_order


def order(rows: dict[tuple[str, int], list[int]]) -> list[str]:
    return [f"{topic}{row}" for (topic, _), row in in_task_order(rows, timestamp=lambda row: row)]


def test_the_partition_with_the_oldest_head_goes_first() -> None:
    assert order({("b", 0): [1, 5], ("a", 0): [2, 3, 9]}) == ["b1", "a2", "a3", "b5", "a9"]


def test_a_record_behind_a_younger_one_waits_for_it() -> None:
    assert order({("a", 0): [10, 1], ("b", 0): [5, 11]}) == ["b5", "a10", "a1", "b11"]


def test_equally_old_heads_begin_by_name_and_then_alternate() -> None:
    assert order({("b", 0): [1, 1], ("a", 0): [1, 1]}) == ["a1", "b1", "a1", "b1"]


def test_empty_partitions_and_no_partitions() -> None:
    assert order({}) == []
    assert order({("a", 0): [], ("b", 0): [1]}) == ["b1"]


def test_nothing_is_lost_and_partitions_stay_in_order() -> None:
    chance = random.Random(7)
    rows = {(name, 0): [chance.randrange(20) for _ in range(50)] for name in "abcde"}
    merged = list(in_task_order(rows, timestamp=lambda row: row))
    for partition, expected in rows.items():
        assert [row for place, row in merged if place == partition] == expected
    # At each step no other partition's head is older.
    at = dict.fromkeys(rows, 0)
    for partition, row in merged:
        assert all(rows[p][at[p]] >= row for p in rows if at[p] < len(rows[p]))
        at[partition] += 1
