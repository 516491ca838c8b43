"""EARLIEST_BY_OFFSET and LATEST_BY_OFFSET: the first or last values in the order in which rows came.

Sessions that merge may have been filled in turns, so each value carries when it was taken: a number that only grows,
in this process, in others, and after the next start.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import time_ns
from typing import Any

from caudal.ksql import types
from caudal.ksql.errors import KsqlError
from caudal.ksql.functions.registry import Udaf, aggregate
from caudal.ksql.types import SqlType

Kept = dict[str, Any]
_SIGNATURES = (
    "(value T) -> T",
    "(value T, _ignore_nulls BOOLEAN) -> T",
    "(value T, _n INTEGER) -> ARRAY<T>",
    "(value T, _n INTEGER, _ignore_nulls BOOLEAN) -> ARRAY<T>",
)
_last = 0


def _sequence() -> int:
    """The clock, and not a counter of this process: a task, and its sessions, may move to a process that began earlier.
    Threads that race here aggregate different partitions, whose values never meet."""
    global _last
    now = time_ns()
    _last = now if now > _last else _last + 1
    return _last


def _when(kept: Kept) -> int:
    return kept["SEQ"]  # type: ignore[no-any-return]


class _One(Udaf):
    """State is null until there is a value."""

    def __init__(self, kind: SqlType, ignore_nulls: bool) -> None:
        self.result_type = kind
        self.state_type: SqlType = types.struct(("SEQ", types.BIGINT), ("VAL", kind))
        self.ignore_nulls = ignore_nulls

    def initial(self) -> None:
        return None

    def result(self, state: Kept | None) -> Any:
        return None if state is None else state["VAL"]


class Earliest(_One):
    def add(self, state: Kept | None, value: Any) -> Kept | None:
        if state is not None or (value is None and self.ignore_nulls):
            return state
        return {"SEQ": _sequence(), "VAL": value}

    def merge(self, left: Kept | None, right: Kept | None) -> Kept | None:
        if left is None or right is None:
            return right if left is None else left
        return min(left, right, key=_when)


class Latest(_One):
    def add(self, state: Kept | None, value: Any) -> Kept | None:
        return state if value is None and self.ignore_nulls else {"SEQ": _sequence(), "VAL": value}

    def merge(self, left: Kept | None, right: Kept | None) -> Kept | None:
        if left is None or right is None:
            return right if left is None else left
        return max(left, right, key=_when)


class _Several(Udaf):
    def __init__(self, kind: SqlType, ignore_nulls: bool, count: int) -> None:
        self.result_type = types.array(kind)
        self.state_type = types.array(types.struct(("SEQ", types.BIGINT), ("VAL", kind)))
        self.ignore_nulls = ignore_nulls
        self.count = count

    def initial(self) -> list[Kept]:
        return []

    def result(self, state: list[Kept]) -> list[Any]:
        return [one["VAL"] for one in state]


class SeveralEarliest(_Several):
    def add(self, state: list[Kept], value: Any) -> list[Kept]:
        if len(state) >= self.count or (value is None and self.ignore_nulls):
            return state
        return [*state, {"SEQ": _sequence(), "VAL": value}]

    def merge(self, left: list[Kept], right: list[Kept]) -> list[Kept]:
        return sorted(left + right, key=_when)[: self.count]


class SeveralLatest(_Several):
    def add(self, state: list[Kept], value: Any) -> list[Kept]:
        if value is None and self.ignore_nulls:
            return state
        return [*state, {"SEQ": _sequence(), "VAL": value}][-self.count :]

    def merge(self, left: list[Kept], right: list[Kept]) -> list[Kept]:
        return sorted(left + right, key=_when)[-self.count :]


def _made(
    name: str,
    one: type[_One],
    several: type[_Several],
    argument_types: Sequence[SqlType],
    literals: Sequence[Any],
) -> Udaf:
    initial = [literal for literal in literals[1:] if literal is not None]
    ignore_nulls = next((literal for literal in initial if isinstance(literal, bool)), True)
    count = next((literal for literal in initial if not isinstance(literal, bool)), None)
    if count is None:
        return one(argument_types[0], ignore_nulls)
    if count < 1:
        raise KsqlError(f"{name} must be asked for at least 1 value, not {count}.")
    return several(argument_types[0], ignore_nulls, count)


@aggregate(
    "EARLIEST_BY_OFFSET",
    *_SIGNATURES,
    description="The first value, or the first n; nulls are passed over unless the last argument is false.",
)
def earliest(argument_types: Sequence[SqlType], literals: Sequence[Any]) -> Udaf:
    return _made("EARLIEST_BY_OFFSET", Earliest, SeveralEarliest, argument_types, literals)


@aggregate(
    "LATEST_BY_OFFSET",
    *_SIGNATURES,
    description="The last value, or the last n; nulls are passed over unless the last argument is false.",
)
def latest(argument_types: Sequence[SqlType], literals: Sequence[Any]) -> Udaf:
    return _made("LATEST_BY_OFFSET", Latest, SeveralLatest, argument_types, literals)
