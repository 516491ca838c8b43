"""MIN and MAX: NULL until there is a value. NaN is the largest DOUBLE. They cannot take values back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caudal.ksql.functions.registry import Udaf, aggregate
from caudal.ksql.types import Base, SqlType

_COMPARED = ("INTEGER", "BIGINT", "DECIMAL", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP")
_SIGNATURES = tuple(f"(value {kind}) -> {kind}" for kind in _COMPARED)


class _Extreme(Udaf):
    plain: str
    with_nan: str

    def __init__(self, argument_types: Sequence[SqlType], literals: Sequence[Any]) -> None:
        self.state_type = self.result_type = argument_types[0]
        self.inline_add = self.with_nan if argument_types[0].base is Base.DOUBLE else self.plain

    def initial(self) -> None:
        return None

    def merge(self, left: Any, right: Any) -> Any:
        return self.add(left, right)


@aggregate("MAX", *_SIGNATURES, description="The largest value that is not null.")
class Largest(_Extreme):
    plain = "{s} if {0} is None else {0} if {s} is None or {0} > {s} else {s}"
    with_nan = "{s} if {0} is None else {0} if {s} is None or {0} > {s} or {0} != {0} else {s}"

    def add(self, state: Any, value: Any) -> Any:
        if value is None:
            return state
        return value if state is None or value > state or value != value else state


@aggregate("MIN", *_SIGNATURES, description="The smallest value that is not null.")
class Smallest(_Extreme):
    plain = "{s} if {0} is None else {0} if {s} is None or {0} < {s} else {s}"
    with_nan = "{s} if {0} is None else {0} if {s} is None or {0} < {s} or {s} != {s} else {s}"

    def add(self, state: Any, value: Any) -> Any:
        if value is None:
            return state
        return value if state is None or value < state or state != state else state
