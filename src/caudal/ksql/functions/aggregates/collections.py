"""Aggregates that keep values: COLLECT_LIST, COLLECT_SET, HISTOGRAM, and ATTR for the one value there should be.

ksqlDB limits the first two by server properties (`ksql.functions.collect_list.limit`, …). Here the limit is an argument
of the call, a literal: so it is part of the plan, and the same wherever the plan runs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from caudal.ksql import types
from caudal.ksql.functions.order import distinct, identity
from caudal.ksql.functions.registry import Udaf, aggregate
from caudal.ksql.types import SqlType

HISTOGRAM_VALUES = 1000
_LIMITED = ("(value T) -> ARRAY<T>", "(value T, _limit INTEGER) -> ARRAY<T>")


class _Collected(Udaf):
    def __init__(self, argument_types: Sequence[SqlType], literals: Sequence[Any]) -> None:
        self.state_type = self.result_type = types.array(argument_types[0])
        limit = literals[1] if len(literals) > 1 else None
        self.limit: int = sys.maxsize if limit is None or limit < 0 else limit

    def initial(self) -> list[Any]:
        return []


@aggregate(
    "COLLECT_LIST",
    *_LIMITED,
    description="All values, nulls too, in the order in which they came; what comes after the limit is left out.",
)
class Listed(_Collected):
    def add(self, state: list[Any], value: Any) -> list[Any]:
        return [*state, value] if len(state) < self.limit else state

    def undo(self, state: list[Any], value: Any) -> list[Any]:
        """Takes the last one that is equal: which of them it was is not known."""
        wanted = identity(value)
        for place in range(len(state) - 1, -1, -1):
            if identity(state[place]) == wanted:
                return state[:place] + state[place + 1 :]
        return state  # it came after the limit

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        return (left + right)[: self.limit]


@aggregate(
    "COLLECT_SET",
    *_LIMITED,
    description="The different values, null too, in the order of their first occurrence.",
)
class Distinct(_Collected):
    def add(self, state: list[Any], value: Any) -> list[Any]:
        if len(state) >= self.limit or value in state:
            return state
        return state if type(value) is float and identity(value) in distinct(state) else [*state, value]

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        return list(distinct([*left, *right]).values())[: self.limit]


@aggregate(
    "HISTOGRAM",
    "(value STRING) -> MAP<STRING, BIGINT>",
    description=f"How often each text occurs, for the first {HISTOGRAM_VALUES} different ones.",
)
class Histogram(Udaf):
    state_type = result_type = types.mapping(types.STRING, types.BIGINT)

    def __init__(self, argument_types: Sequence[SqlType], literals: Sequence[Any]) -> None:
        pass

    def initial(self) -> dict[str, int]:
        return {}

    def add(self, state: dict[str, int], value: str | None) -> dict[str, int]:
        if value is None or (value not in state and len(state) >= HISTOGRAM_VALUES):
            return state
        return {**state, value: state.get(value, 0) + 1}

    def undo(self, state: dict[str, int], value: str | None) -> dict[str, int]:
        count = 0 if value is None else state.get(value, 0)
        if not count:
            return state
        left = dict(state)
        if count > 1:
            left[value] = count - 1  # type: ignore[index]
        else:
            del left[value]  # type: ignore[arg-type]
        return left

    def merge(self, left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
        both = dict(left)
        for value, count in right.items():
            if value in both or len(both) < HISTOGRAM_VALUES:
                both[value] = both.get(value, 0) + count
        return both


@aggregate("ATTR", "(value T) -> T", description="The value that all rows have; NULL where they have several.")
class TheOne(Udaf):
    """How often each value is there, so that one that is taken back leaves the other."""

    def __init__(self, argument_types: Sequence[SqlType], literals: Sequence[Any]) -> None:
        self.result_type = argument_types[0]
        self.state_type = types.array(types.struct(("VALUE", argument_types[0]), ("COUNT", types.BIGINT)))

    def initial(self) -> list[dict[str, Any]]:
        return []

    def add(self, state: list[dict[str, Any]], value: Any) -> list[dict[str, Any]]:
        return self._changed(state, value, 1)

    def undo(self, state: list[dict[str, Any]], value: Any) -> list[dict[str, Any]]:
        return self._changed(state, value, -1)

    def merge(self, left: list[dict[str, Any]], right: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for one in right:
            left = self._changed(left, one["VALUE"], one["COUNT"])
        return left

    def result(self, state: list[dict[str, Any]]) -> Any:
        return state[0]["VALUE"] if len(state) == 1 else None

    def _changed(self, state: list[dict[str, Any]], value: Any, by: int) -> list[dict[str, Any]]:
        wanted = identity(value)
        for place, one in enumerate(state):
            if identity(one["VALUE"]) == wanted:
                count = one["COUNT"] + by
                now = [{"VALUE": one["VALUE"], "COUNT": count}] if count > 0 else []
                return state[:place] + now + state[place + 1 :]
        return [*state, {"VALUE": value, "COUNT": by}] if by > 0 else state
