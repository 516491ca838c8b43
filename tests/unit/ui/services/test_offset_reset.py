"""What is typed into the form of a reset: targets, lengths of time, partitions; and what a plan comes to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from caudal.cli.offset_reset import Move, Target
from caudal.ui.services import groups, offset_reset
from caudal.ui.services.errors import UiError
from caudal.ui.services.offset_reset import FieldError, Plan, partitions_of, target_of

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("kind", "value", "target"),
    [
        ("earliest", "", Target("earliest")),
        ("latest", "ignored", Target("latest")),
        ("offset", " 1500 ", Target("offset", 1500)),
        ("offset", "0", Target("offset", 0)),
        ("time", "2023-11-14T22:13:20Z", Target("time", NOW)),
        ("time", "-10m", Target("time", NOW - 600_000)),
        ("duration", "10m", Target("time", NOW - 600_000)),
        ("duration", "1h 30m", Target("time", NOW - 5_400_000)),
        ("duration", "2W", Target("time", NOW - 14 * 86_400_000)),
        ("duration", "999999999w", Target("time", 0)),
        ("shift", "-100", Target("shift", -100)),
        ("shift", "+7", Target("shift", 7)),
    ],
)
def test_what_is_typed_becomes_a_target(kind: str, value: str, target: Target) -> None:
    assert target_of(kind, value, NOW) == target


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("offset", "-1", "whole number"),
        ("offset", "1.5", "whole number"),
        ("offset", "", "whole number"),
        ("offset", "٣", "whole number"),
        ("offset", "9" * 30, "whole number"),
        ("time", "", "Not a time"),
        ("time", "tomorrow", "Not a time"),
        ("time", "1969-01-01T00:00:00Z", "Not a time"),
        ("duration", "10", "length of time"),
        ("duration", "10m and more", "length of time"),
        ("shift", "0", "how many"),
        ("shift", "ten", "how many"),
        ("sideways", "", "Choose"),
    ],
)
def test_what_cannot_be_meant_is_refused_for_its_field(kind: str, value: str, words: str) -> None:
    with pytest.raises(FieldError, match=words):
        target_of(kind, value, NOW)


@pytest.mark.parametrize(
    ("text", "chosen"),
    [("", [0, 1, 2, 3]), ("2", [2]), ("0-2", [0, 1, 2]), ("3, 0 - 1", [0, 1, 3]), ("1,1", [1])],
)
def test_partitions_are_typed_as_numbers_and_ranges(text: str, chosen: list[int]) -> None:
    assert partitions_of(text, range(4)) == chosen


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("4", "no partition 4; the last one is 3"),
        ("0-9", "no partition 9"),
        ("a", "Give"),
        ("2-1", "Give"),
        (",", "Give"),
    ],
)
def test_partitions_that_are_not_there_are_refused(text: str, words: str) -> None:
    with pytest.raises(FieldError, match=words):
        partitions_of(text, range(4))


def test_a_plan_counts_what_is_read_again_and_what_is_skipped() -> None:
    moves = (Move("t", 0, 10, 4, 4), Move("t", 1, 10, 15, 15), Move("t", 2, None, 3, 3), Move("t", 3, 5, 5, 5))
    plan = Plan("g", moves)
    assert (plan.again, plan.skipped, plan.changed) == (6, 5, 3)


def test_an_active_group_is_refused_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def two(kafka: Any, name: str) -> int:
        return 2

    monkeypatch.setattr(groups, "member_count", two)
    with pytest.raises(UiError, match="2 active members"):
        asyncio.run(offset_reset.apply(None, Plan("g", (Move("t", 0, 1, 0, 0),))))  # type: ignore[arg-type]
