"""Order and equality of SQL values, as functions over arrays and aggregates need them.

They differ from Python's in floating point: NaN equals itself and is greater than everything else, and -0.0 is less
than 0.0 where values are sorted. Text is compared by code points, which is what Spark does too.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import Any

from caudal.ksql.errors import KsqlError
from caudal.ksql.types import Array, Base, SqlType

UNORDERED = {Base.ARRAY, Base.MAP, Base.STRUCT}


def order_key(value: Any) -> Any:
    """What to compare instead of a value that is not null.

    >>> sorted([math.nan, 1.0, -0.0, 0.0, -math.inf], key=order_key)
    [-inf, -0.0, 0.0, 1.0, nan]
    """
    if type(value) is float:
        return (1, 0.0, 0.0) if value != value else (0, value, math.copysign(1.0, value))
    return value


def identity(value: Any) -> Hashable:
    """Equal for equal values, whatever they are made of.

    >>> identity([1, {"a": math.nan}]) == identity([1, {"a": math.nan}])
    True
    """
    kind = type(value)
    if kind is float:
        return value if value == value else "NaN", float
    if kind is list:
        return tuple(map(identity, value)), list
    if kind is dict:
        return frozenset((name, identity(one)) for name, one in value.items()), dict
    return value  # type: ignore[no-any-return]


def distinct(values: Iterable[Any]) -> dict[Hashable, Any]:
    """Each value once, by its identity, in the order of their first occurrence."""
    found: dict[Hashable, Any] = {}
    for value in values:
        found.setdefault(identity(value), value)
    return found


def element_of(name: str, argument: SqlType | None) -> SqlType:
    """The type of an array's elements, where a function compares them."""
    if not isinstance(argument, Array):
        raise KsqlError(f"{name} needs an array, not {argument or 'NULL'}.")
    if argument.element.base in UNORDERED:
        raise KsqlError(f"{name} does not compare values of type {argument.element}.")
    return argument.element
