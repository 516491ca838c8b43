"""SUM, SUM_LIST and AVG. Nulls count for nothing; the sum of nothing is 0.

Integers wrap around where they leave their type, as in Java. The sum of INTEGERs is kept as a BIGINT, so that it is
right again as soon as it fits again. A sum of DECIMALs has their type, and what does not fit is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any

from caudal.ksql import types
from caudal.ksql.functions.registry import Udaf, aggregate
from caudal.ksql.types import Array, Base, SqlType

_WRAPPED_INTEGER = "{s} if -2147483649 < {s} < 2147483648 else (({s} + 2147483648) & 4294967295) - 2147483648"
_ADDED_BIGINT = (
    "{s} if {0} is None else _sum if -9223372036854775809 < (_sum := {s} + {0}) < 9223372036854775808 "
    "else ((_sum + 9223372036854775808) & 18446744073709551615) - 9223372036854775808"
)


def integer(number: int) -> int:
    """In 32 bits.

    >>> integer(2**31)
    -2147483648
    """
    return number if -(1 << 31) <= number < 1 << 31 else ((number + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def bigint(number: int) -> int:
    """In 64 bits."""
    return number if -(1 << 63) <= number < 1 << 63 else ((number + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


class SumOfDoubles(Udaf):
    state_type = result_type = types.DOUBLE
    inline_add: str | None = "{s} if {0} is None else {s} + {0}"

    def initial(self) -> Any:
        return 0.0

    def add(self, state: Any, value: Any) -> Any:
        return state if value is None else state + value

    def undo(self, state: Any, value: Any) -> Any:
        return state if value is None else state - value

    def merge(self, left: Any, right: Any) -> Any:
        return left + right


class SumOfBigints(SumOfDoubles):
    state_type = result_type = types.BIGINT
    inline_add: str | None = _ADDED_BIGINT

    def initial(self) -> int:
        return 0

    def add(self, state: int, value: int | None) -> int:
        return state if value is None else bigint(state + value)

    def undo(self, state: int, value: int | None) -> int:
        return state if value is None else bigint(state - value)

    def merge(self, left: int, right: int) -> int:
        return bigint(left + right)


class SumOfIntegers(SumOfBigints):
    result_type = types.INTEGER
    # 2^32 rows would be needed to leave the 64 bits
    inline_add: str | None = "{s} if {0} is None else {s} + {0}"
    inline_result = _WRAPPED_INTEGER

    def result(self, state: int) -> int:
        return integer(state)


class SumOfDecimals(Udaf):
    def __init__(self, of: types.Decimal) -> None:
        self.state_type = self.result_type = of
        self._context = Context(prec=of.precision + 1)
        self._zero = Decimal((0, (0,), -of.scale))
        self._limit = Decimal(1).scaleb(of.precision - of.scale)
        self._of = of

    def initial(self) -> Decimal:
        return self._zero

    def add(self, state: Decimal, value: Decimal | None) -> Decimal:
        return state if value is None else self._fitting(self._context.add(state, value))

    def undo(self, state: Decimal, value: Decimal | None) -> Decimal:
        return state if value is None else self._fitting(self._context.subtract(state, value))

    def merge(self, left: Decimal, right: Decimal) -> Decimal:
        return self._fitting(self._context.add(left, right))

    def _fitting(self, total: Decimal) -> Decimal:
        if -self._limit < total < self._limit:
            return total
        raise ArithmeticError(f"Numeric field overflow: {total} does not fit into {self._of}.")


def _sum_of(kind: SqlType) -> Udaf:
    if isinstance(kind, types.Decimal):
        return SumOfDecimals(kind)
    return {Base.INTEGER: SumOfIntegers, Base.BIGINT: SumOfBigints}.get(kind.base, SumOfDoubles)()


@aggregate(
    "SUM",
    "(value INTEGER) -> INTEGER",
    "(value BIGINT) -> BIGINT",
    "(value DOUBLE) -> DOUBLE",
    "(value DECIMAL) -> DECIMAL",
    description="The sum of the values that are not null.",
)
def sum_of(argument_types: Sequence[SqlType], literals: Sequence[Any]) -> Udaf:
    return _sum_of(argument_types[0])


@aggregate(
    "SUM_LIST",
    "(values ARRAY<INTEGER>) -> INTEGER",
    "(values ARRAY<BIGINT>) -> BIGINT",
    "(values ARRAY<DOUBLE>) -> DOUBLE",
    description="The sum of all elements of all arrays.",
)
class SumOfLists(Udaf):
    def __init__(self, argument_types: Sequence[SqlType], literals: Sequence[Any]) -> None:
        assert isinstance(argument_types[0], Array)
        self._sum = _sum_of(argument_types[0].element)
        self.state_type, self.result_type = self._sum.state_type, self._sum.result_type

    def initial(self) -> Any:
        return self._sum.initial()

    def add(self, state: Any, values: list[Any] | None) -> Any:
        for value in values or ():
            state = self._sum.add(state, value)
        return state

    def undo(self, state: Any, values: list[Any] | None) -> Any:
        assert self._sum.undo is not None
        for value in values or ():
            state = self._sum.undo(state, value)
        return state

    def merge(self, left: Any, right: Any) -> Any:
        return self._sum.merge(left, right)

    def result(self, state: Any) -> Any:
        return self._sum.result(state)


@aggregate(
    "AVG",
    "(value INTEGER) -> DOUBLE",
    "(value BIGINT) -> DOUBLE",
    "(value DOUBLE) -> DOUBLE",
    description="The mean of the values that are not null; 0 where there are none.",
)
class Average(Udaf):
    result_type = types.DOUBLE
    inline_result = "{s}['SUM'] / {s}['COUNT'] if {s}['COUNT'] else 0.0"

    def __init__(self, argument_types: Sequence[SqlType], literals: Sequence[Any]) -> None:
        self._sum = SumOfDoubles() if argument_types[0].base is Base.DOUBLE else SumOfBigints()
        self.state_type = types.struct(("SUM", self._sum.state_type), ("COUNT", types.BIGINT))
        if argument_types[0].base is not Base.BIGINT:  # whose sums may have to wrap around
            self.inline_add = "{s} if {0} is None else {{'SUM': {s}['SUM'] + {0}, 'COUNT': {s}['COUNT'] + 1}}"

    def initial(self) -> dict[str, Any]:
        return {"SUM": self._sum.initial(), "COUNT": 0}

    def add(self, state: dict[str, Any], value: Any) -> dict[str, Any]:
        if value is None:
            return state
        return {"SUM": self._sum.add(state["SUM"], value), "COUNT": state["COUNT"] + 1}

    def undo(self, state: dict[str, Any], value: Any) -> dict[str, Any]:
        if value is None:
            return state
        return {"SUM": self._sum.undo(state["SUM"], value), "COUNT": state["COUNT"] - 1}

    def merge(self, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        return {"SUM": self._sum.merge(left["SUM"], right["SUM"]), "COUNT": left["COUNT"] + right["COUNT"]}

    def result(self, state: dict[str, Any]) -> float:
        return float(state["SUM"] / state["COUNT"]) if state["COUNT"] else 0.0
