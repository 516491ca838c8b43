"""TOPK and TOPKDISTINCT: the k largest values, largest first; TOPK also with other columns of the same rows."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from caudal.ksql import types
from caudal.ksql.errors import KsqlError
from caudal.ksql.functions.order import UNORDERED, distinct, order_key
from caudal.ksql.functions.registry import Udaf, aggregate
from caudal.ksql.types import Base, SqlType

_COMPARED = ("INTEGER", "BIGINT", "DECIMAL", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP")
_SIGNATURES = tuple(f"(value {kind}, _k INTEGER) -> ARRAY<{kind}>" for kind in _COMPARED)
_LETTERS = "ABCDEFGH"


def _with_columns(count: int) -> str:
    columns = [(f"col{place}", letter) for place, letter in enumerate(_LETTERS[:count])]
    given = ", ".join(f"{name} {letter}" for name, letter in columns)
    fields = ", ".join(f"`{name}` {letter}" for name, letter in [("sort_col", "T"), *columns])
    return f"(value T, {given}, _k INTEGER) -> ARRAY<STRUCT<{fields}>>"


class _Descending:
    """Turns the order of a key around, so that `bisect` works on what is sorted from the largest on."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __lt__(self, other: _Descending) -> bool:
        return bool(other.key < self.key)


def _rank(value: Any) -> _Descending:
    return _Descending(order_key(value))


def _k(name: str, literals: Sequence[Any]) -> int:
    k = literals[-1]
    if k is None or k < 1:
        raise KsqlError(f"{name} must be asked for at least 1 value, not {k}.")
    return int(k)


class Top(Udaf):
    def __init__(self, kind: SqlType, k: int) -> None:
        self.state_type = self.result_type = types.array(kind)
        self.k = k

    def initial(self) -> list[Any]:
        return []

    def add(self, state: list[Any], value: Any) -> list[Any]:
        if value is None:
            return state
        if len(state) == self.k and not order_key(value) > order_key(state[-1]):
            return state
        place = bisect_right(state, _rank(value), key=_rank)
        return [*state[:place], value, *state[place : self.k - 1]]

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        return list(heapq.merge(left, right, key=order_key, reverse=True))[: self.k]


class TopDistinct(Top):
    def add(self, state: list[Any], value: Any) -> list[Any]:
        if value is None or value in state or (value != value and any(one != one for one in state)):
            return state
        return super().add(state, value)

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        both = heapq.merge(left, right, key=order_key, reverse=True)
        return list(distinct(both).values())[: self.k]


class TopRows(Udaf):
    """State and result are structs, named as in ksqlDB: an aggregate does not know what its columns are called."""

    def __init__(self, kinds: Sequence[SqlType], k: int) -> None:
        self.names = ("sort_col", *(f"col{place}" for place in range(len(kinds) - 1)))
        self.state_type = self.result_type = types.array(types.struct(*zip(self.names, kinds, strict=True)))
        self.k = k

    def initial(self) -> list[dict[str, Any]]:
        return []

    def add(self, state: list[dict[str, Any]], *values: Any) -> list[dict[str, Any]]:
        value = values[0]
        if value is None:
            return state
        if len(state) == self.k and not order_key(value) > order_key(state[-1]["sort_col"]):
            return state
        place = bisect_right(state, _rank(value), key=_rank_of_row)
        return [*state[:place], dict(zip(self.names, values, strict=True)), *state[place : self.k - 1]]

    def merge(self, left: list[dict[str, Any]], right: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return list(heapq.merge(left, right, key=_order_of_row, reverse=True))[: self.k]


def _rank_of_row(row: dict[str, Any]) -> _Descending:
    return _rank(row["sort_col"])


def _order_of_row(row: dict[str, Any]) -> Any:
    return order_key(row["sort_col"])


@aggregate(
    "TOPK",
    *_SIGNATURES,
    *(_with_columns(count) for count in range(1, len(_LETTERS) + 1)),
    description="The k largest values; with other columns, structs of the value (sort_col) and them (col0, col1…).",
)
def top(argument_types: Sequence[SqlType], literals: Sequence[Any]) -> Udaf:
    k, columns = _k("TOPK", literals), argument_types[:-1]
    if columns[0].base in UNORDERED or columns[0].base is Base.BOOLEAN:
        raise KsqlError(f"TOPK does not compare values of type {columns[0]}.")
    return Top(columns[0], k) if len(columns) == 1 else TopRows(columns, k)


@aggregate("TOPKDISTINCT", *_SIGNATURES, description="The k largest different values.")
def top_distinct(argument_types: Sequence[SqlType], literals: Sequence[Any]) -> Udaf:
    return TopDistinct(argument_types[0], _k("TOPKDISTINCT", literals))
