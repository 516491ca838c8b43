"""From what a user says to offsets."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from caudal.runtime.batch import bounds
from caudal.runtime.batch.bounds import Offsets, parse
from caudal.runtime.errors import StreamsError


class _Answer:
    def __init__(self, offset: int) -> None:
        self.offset = offset

    def result(self, timeout: float) -> _Answer:
        return self


class Log:
    """An admin client that knows one topic: partition 0 from 10 to 20, partition 1 empty, one record a second."""

    def list_offsets(self, specs: Any, **_: Any) -> dict[Any, _Answer]:
        from confluent_kafka.admin import OffsetSpec

        answers = {}
        for place, spec in specs.items():
            low, high = (10, 20) if place.partition == 0 else (3, 3)
            if spec is OffsetSpec.earliest() or type(spec) is type(OffsetSpec.earliest()):
                offset = low
            elif type(spec) is type(OffsetSpec.latest()):
                offset = high
            else:
                late = [number for number in range(low, high) if number * 1000 >= spec._value]
                offset = late[0] if late else -1
            answers[place] = _Answer(offset)
        return answers


def ranges(starting: Any = "earliest", ending: Any = "latest") -> dict[tuple[str, int], tuple[int, int]]:
    return Offsets(Log()).ranges([("a", 0), ("a", 1)], starting, ending)


def at(second: float) -> datetime:
    return datetime.fromtimestamp(second, UTC)


@pytest.mark.parametrize(
    ("starting", "ending", "expected"),
    [
        ("earliest", "latest", (10, 20)),
        (12_500, at(15), (13, 15)),
        (at(0), 99_000, (10, 20)),
        ({"a": {0: 12}}, {"a": {0: 13}}, (12, 13)),
        ({"a": {1: 5}}, "latest", (10, 20)),
        ({"a": at(18)}, {"a": "latest"}, (18, 20)),
        ({"a": {0: 2}}, {"a": {0: 500}}, (10, 20)),
    ],
)
def test_the_end_is_exclusive_and_both_keep_to_the_log(starting: Any, ending: Any, expected: tuple[int, int]) -> None:
    assert ranges(starting, ending) == {("a", 0): expected}


@pytest.mark.parametrize(("starting", "ending"), [("latest", "latest"), (30_000, "latest"), ("earliest", 500)])
def test_partitions_with_nothing_to_read_are_left_out(starting: Any, ending: Any) -> None:
    assert ranges(starting, ending) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("earliest", "earliest"),
        ("1700000000000", 1_700_000_000_000),
        ("a:0=5,b:1=7,a:2=0", {"a": {0: 5, 2: 0}, "b": {1: 7}}),
        ("with:colon:3=4", {"with:colon": {3: 4}}),
        ("2026-01-31T08:00:00+00:00", datetime(2026, 1, 31, 8, tzinfo=UTC)),
    ],
)
def test_the_command_line_takes_the_same(text: str, expected: Any) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize("text", ["yesterday", "a=5", "a:x=5", "a:0=", ""])
def test_what_is_no_bound_is_said_in_one_sentence(text: str) -> None:
    with pytest.raises(StreamsError):
        parse(text)


@pytest.mark.parametrize(
    ("bound", "sentence"),
    [
        ("now", "starting takes 'earliest', 'latest', a time or offsets by topic and partition, not 'now'"),
        (-5, "not -5"),
        (True, "not True"),
        ({"b": "latest"}, "names topic 'b', which the topology does not read"),
        ({"a": 5}, r"gives topic 'a' the number 5: offsets are by partition \(\{0: 5\}\)"),
        ({"a": {"0": 5}}, "takes partitions and offsets as numbers, not '0': 5"),
    ],
)
def test_a_bound_is_checked_before_anything_is_read(bound: Any, sentence: str) -> None:
    with pytest.raises(StreamsError, match=sentence):
        bounds.check(bound, "starting", ["a"])
