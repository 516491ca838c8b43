"""`-o` and times as people type them."""

from __future__ import annotations

import pytest

from caudal.cli.errors import UsageError
from caudal.cli.offset_spec import OffsetSpec, parse_offsets
from caudal.cli.times import parse_time, time_text


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["beginning"], OffsetSpec(place="beginning")),
        (["end"], OffsetSpec(place="end")),
        (["stored"], OffsetSpec(place="stored")),
        (["12"], OffsetSpec(offset=12)),
        (["-3"], OffsetSpec(tail=3)),
        (["s@1000"], OffsetSpec(start_ms=1000)),
        (["e@2000"], OffsetSpec(end_ms=2000)),
        (["e@2000", "s@1000"], OffsetSpec(start_ms=1000, end_ms=2000)),
        (["5", "e@2000"], OffsetSpec(offset=5, end_ms=2000)),
        ([], OffsetSpec()),
    ],
)
def test_every_form_of_an_offset(typed: list[str], expected: OffsetSpec) -> None:
    assert parse_offsets(typed) == expected


@pytest.mark.parametrize(
    "typed",
    [["middle"], ["--3"], ["s@"], ["s@yesterday"], ["1", "2"], ["s@1", "end"], ["e@1", "e@2"], ["s@2000", "e@1000"]],
)
def test_a_wrong_offset_is_a_usage_error(typed: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse_offsets(typed)
    assert caught.value.exit_code == 2


def test_times_in_all_notations_mean_the_same_moment() -> None:
    assert parse_time("1700000000000") == 1_700_000_000_000
    assert parse_time("2023-11-14T22:13:20+00:00") == 1_700_000_000_000
    assert parse_time("2023-11-15T00:13:20+02:00") == 1_700_000_000_000
    assert parse_time("now", now_ms=7) == 7
    assert parse_time("-1d", now_ms=86_400_000) == 0
    assert parse_time("now-90s", now_ms=90_000) == 0


def test_a_shown_time_can_be_typed_back() -> None:
    assert parse_time(time_text(1_700_000_000_123)) == 1_700_000_000_123


def test_what_lies_within_the_bounds_is_shown() -> None:
    spec = OffsetSpec(start_ms=10, end_ms=20)
    assert [moment for moment in (9, 10, 19, 20) if spec.shows(moment)] == [10, 19]
    assert spec.shows(-1), "a record without a timestamp cannot be outside"
