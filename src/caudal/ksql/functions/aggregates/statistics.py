"""STDDEV_SAMPLE, STDDEV_SAMP and CORRELATION."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from caudal.ksql import types
from caudal.ksql.functions.aggregates.sums import SumOfBigints, SumOfDoubles
from caudal.ksql.functions.registry import Udaf, aggregate
from caudal.ksql.types import Base, SqlType

_NUMBERS = ("(value INTEGER) -> DOUBLE", "(value BIGINT) -> DOUBLE", "(value DOUBLE) -> DOUBLE")
State = dict[str, Any]


# What ksqlDB computes under this name is the variance. It kept that, and added the other name for the root of it.
@aggregate(
    "STDDEV_SAMP",
    *_NUMBERS,
    description="The variance of the sample, as ksqlDB has it under this name; its root is STDDEV_SAMPLE.",
)
class Variance(Udaf):
    """Sum, count, and the sum of the squared distances from the mean, kept up as Youngs and Cramer do it (1971)."""

    result_type = types.DOUBLE

    def __init__(self, argument_types: Sequence[SqlType], literals: Sequence[Any]) -> None:
        self._sum = SumOfDoubles() if argument_types[0].base is Base.DOUBLE else SumOfBigints()
        self.state_type = types.struct(("SUM", self._sum.state_type), ("COUNT", types.BIGINT), ("M2", types.DOUBLE))

    def initial(self) -> State:
        return {"SUM": self._sum.initial(), "COUNT": 0, "M2": 0.0}

    def add(self, state: State, value: Any) -> State:
        if value is None:
            return state
        before, total = state["COUNT"], self._sum.add(state["SUM"], value)
        squares = state["M2"]
        if before:
            squares += _distance(value, before + 1, total)
        return {"SUM": total, "COUNT": before + 1, "M2": squares}

    def undo(self, state: State, value: Any) -> State:
        if value is None:
            return state
        left = state["COUNT"] - 1
        if left <= 0:
            return self.initial()
        # rounding may leave a little less than nothing
        squares = max(0.0, state["M2"] - _distance(value, left + 1, state["SUM"])) if left > 1 else 0.0
        return {"SUM": self._sum.undo(state["SUM"], value), "COUNT": left, "M2": squares}

    def merge(self, left: State, right: State) -> State:
        one, two = left["COUNT"], right["COUNT"]
        if not one or not two:
            return left if one else right
        apart = left["SUM"] / one - right["SUM"] / two
        squares = left["M2"] + right["M2"] + apart * apart * one * two / (one + two)
        return {"SUM": self._sum.merge(left["SUM"], right["SUM"]), "COUNT": one + two, "M2": squares}

    def result(self, state: State) -> float:
        return float(state["M2"]) / (state["COUNT"] - 1) if state["COUNT"] > 1 else 0.0


def _distance(value: Any, count: int, total: Any) -> float:
    """What a value adds to the squares, where it is the last of `count` that sum up to `total`."""
    apart = float(value * count - total)
    return apart * apart / (count * (count - 1))


@aggregate("STDDEV_SAMPLE", *_NUMBERS, description="The standard deviation of the sample; 0 for fewer than two values.")
class StandardDeviation(Variance):
    def result(self, state: State) -> float:
        return math.sqrt(super().result(state))


@aggregate(
    "CORRELATION",
    "(x DOUBLE, y DOUBLE) -> DOUBLE",
    description="Pearson's correlation of two columns, over the rows that have both; NaN where there is none.",
)
class Correlation(Udaf):
    state_type = types.struct(
        *((name, types.DOUBLE) for name in ("X_SUM", "Y_SUM", "X_SQUARED_SUM", "Y_SQUARED_SUM", "XY_SUM")),
        ("COUNT", types.BIGINT),
    )
    result_type = types.DOUBLE

    def __init__(self, argument_types: Sequence[SqlType], literals: Sequence[Any]) -> None:
        pass

    def initial(self) -> State:
        return {field.name: 0 if field.name == "COUNT" else 0.0 for field in self.state_type.fields}

    def add(self, state: State, x: float | None, y: float | None) -> State:
        return state if x is None or y is None else self.merge(state, _terms(x, y, 1))

    def undo(self, state: State, x: float | None, y: float | None) -> State:
        return state if x is None or y is None else self.merge(state, _terms(x, y, -1))

    def merge(self, left: State, right: State) -> State:
        return {name: value + right[name] for name, value in left.items()}

    def result(self, state: State) -> float:
        x, y, xx, yy, xy, count = state.values()
        spread = (count * xx - x * x) * (count * yy - y * y)
        return (count * xy - x * y) / math.sqrt(spread) if spread > 0 else math.nan


def _terms(x: float, y: float, by: int) -> State:
    return {
        "X_SUM": by * x,
        "Y_SUM": by * y,
        "X_SQUARED_SUM": by * x * x,
        "Y_SQUARED_SUM": by * y * y,
        "XY_SUM": by * x * y,
        "COUNT": by,
    }
