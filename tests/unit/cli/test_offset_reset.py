"""The plan of a reset: every kind of target, the log's bounds, partitions that are gone."""

from __future__ import annotations

import pytest

from caudal.cli.offset_reset import Move, Target, plan_moves

PLACE = ("orders", 0)


def move(target: Target, *, committed: int | None = 6, at_time: int = -1) -> Move:
    (found,) = plan_moves(
        target,
        [PLACE],
        committed={} if committed is None else {PLACE: committed},
        earliest={PLACE: 2},
        latest={PLACE: 10},
        at_time={PLACE: at_time},
    )
    return found


@pytest.mark.parametrize(
    ("target", "new", "change", "bounded"),
    [
        (Target("earliest"), 2, -4, False),
        (Target("latest"), 10, 4, False),
        (Target("offset", 7), 7, 1, False),
        (Target("offset", 99), 10, 4, True),
        (Target("offset", 0), 2, -4, True),
        (Target("shift", -3), 3, -3, False),
        (Target("shift", -30), 2, -4, True),
        (Target("shift", 30), 10, 4, True),
    ],
)
def test_each_target_stays_within_the_log(target: Target, new: int, change: int, bounded: bool) -> None:
    found = move(target)
    assert (found.new, found.change, found.bounded) == (new, change, bounded)


def test_a_time_is_the_first_record_at_or_after_it() -> None:
    assert move(Target("time", 1000), at_time=5).new == 5


def test_a_time_after_the_last_record_is_the_end() -> None:
    found = move(Target("time", 1000), at_time=-1)
    assert (found.new, found.bounded) == (10, False)


def test_without_a_commit_a_shift_begins_at_the_first_record() -> None:
    found = move(Target("shift", 3), committed=None)
    assert (found.new, found.change) == (5, None)


def test_a_partition_that_is_gone_is_left_out() -> None:
    gone = ("deleted", 0)
    moves = plan_moves(
        Target("earliest"),
        [gone, PLACE],
        committed={gone: 3, PLACE: 4},
        earliest={PLACE: 0},
        latest={PLACE: 9},
        at_time={},
    )
    assert [(found.topic, found.new) for found in moves] == [("orders", 0)]
