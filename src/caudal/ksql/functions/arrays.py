"""Arrays: as sets, sorted, cut, joined. Elements are counted from 1."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from caudal.ksql import types
from caudal.ksql.errors import KsqlError
from caudal.ksql.expressions.casts import double_text
from caudal.ksql.functions.order import distinct, element_of, identity, order_key
from caudal.ksql.functions.registry import scalar
from caudal.ksql.types import Array, Base, SqlType

ARRAY = "ARRAY"
LONGEST_SERIES = 1_000_000  # far more than fits into a record, and little enough for the server's memory


@scalar(
    "ARRAY_LENGTH",
    "(array ARRAY<T>) -> INTEGER",
    description="How many elements an array has.",
    category=ARRAY,
    spark="array_size({0})",
)
def array_length(array: list[Any]) -> int:
    return len(array)


# -- as sets -----------------------------------------------------------------------------------------------------------


@scalar(
    "ARRAY_CONTAINS",
    "(array ARRAY<T>, value T) -> BOOLEAN",
    description="Whether a value is in the array; false for an array that is null.",
    category=ARRAY,
    nulls=True,
)
def array_contains(array: list[Any] | None, value: Any) -> bool:
    if array is None:
        return False
    if value is None or type(value) in (int, str, bool):
        return value in array
    sought = identity(value)
    return any(identity(one) == sought for one in array)


@scalar(
    "ARRAY_DISTINCT",
    "(array ARRAY<T>) -> ARRAY<T>",
    description="Each value of the array once, in the order of their first occurrence.",
    category=ARRAY,
)
def array_distinct(array: list[Any]) -> list[Any]:
    return list(distinct(array).values())


@scalar(
    "ARRAY_EXCEPT",
    "(array1 ARRAY<T>, array2 ARRAY<T>) -> ARRAY<T>",
    description="The distinct values of the first array that the second one does not have.",
    category=ARRAY,
)
def array_except(one: list[Any], two: list[Any]) -> list[Any]:
    others = distinct(two)
    return [value for key, value in distinct(one).items() if key not in others]


@scalar(
    "ARRAY_INTERSECT",
    "(array1 ARRAY<T>, array2 ARRAY<T>) -> ARRAY<T>",
    description="The distinct values that both arrays have, in the order of the first one.",
    category=ARRAY,
)
def array_intersect(one: list[Any], two: list[Any]) -> list[Any]:
    others = distinct(two)
    return [value for key, value in distinct(one).items() if key in others]


@scalar(
    "ARRAY_UNION",
    "(array1 ARRAY<T>, array2 ARRAY<T>) -> ARRAY<T>",
    description="The distinct values of both arrays, in the order in which they are met.",
    category=ARRAY,
)
def array_union(one: list[Any], two: list[Any]) -> list[Any]:
    return list(distinct([*one, *two]).values())


@scalar(
    "ARRAY_REMOVE",
    "(array ARRAY<T>, value T) -> ARRAY<T>",
    description="The array without the elements that equal a value; NULL removes nulls.",
    category=ARRAY,
    nulls=True,
)
def array_remove(array: list[Any] | None, value: Any) -> list[Any] | None:
    if array is None:
        return None
    removed = identity(value)
    return [one for one in array if identity(one) != removed]


# -- in order ----------------------------------------------------------------------------------------------------------


def _largest_type(arguments: Sequence[SqlType | None]) -> SqlType:
    return element_of("ARRAY_MAX", arguments[0])


def _smallest_type(arguments: Sequence[SqlType | None]) -> SqlType:
    return element_of("ARRAY_MIN", arguments[0])


def _sorted_type(arguments: Sequence[SqlType | None]) -> SqlType:
    return types.array(element_of("ARRAY_SORT", arguments[0]))


@scalar(
    "ARRAY_MAX",
    "(array ARRAY<T>) -> T",
    description="The largest element that is not null.",
    category=ARRAY,
    returns=_largest_type,
)
def array_max(array: list[Any]) -> Any:
    return max((value for value in array if value is not None), key=order_key, default=None)


@scalar(
    "ARRAY_MIN",
    "(array ARRAY<T>) -> T",
    description="The smallest element that is not null.",
    category=ARRAY,
    returns=_smallest_type,
)
def array_min(array: list[Any]) -> Any:
    return min((value for value in array if value is not None), key=order_key, default=None)


@scalar(
    "ARRAY_SORT",
    "(array ARRAY<T>) -> ARRAY<T>",
    "(array ARRAY<T>, direction STRING) -> ARRAY<T>",
    description="The elements in order, 'ASC' or 'DESC'; nulls come last either way.",
    category=ARRAY,
    returns=_sorted_type,
)
def array_sort(array: list[Any], direction: str = "ASC") -> list[Any] | None:
    wanted = direction.upper()
    if wanted not in ("ASC", "ASCENDING", "DESC", "DESCENDING"):
        return None
    values = [value for value in array if value is not None]
    values.sort(key=order_key, reverse=wanted.startswith("DESC"))
    return values + [None] * (len(array) - len(values))


# -- parts and wholes --------------------------------------------------------------------------------------------------


@scalar(
    "ARRAY_CONCAT",
    "(array1 ARRAY<T>, array2 ARRAY<T>) -> ARRAY<T>",
    description="The elements of both arrays; an array that is null counts as empty, unless both are.",
    category=ARRAY,
    nulls=True,
)
def array_concat(one: list[Any] | None, two: list[Any] | None) -> list[Any] | None:
    if one is None or two is None:
        return one if two is None else two
    return one + two


@scalar(
    "SLICE",
    "(array ARRAY<T>, first INTEGER, last INTEGER) -> ARRAY<T>",
    description="The elements from one place to another, both included; NULL where there is no such place.",
    category=ARRAY,
    nulls=True,
)
def slice_of(array: list[Any] | None, first: int | None, last: int | None) -> list[Any] | None:
    if array is None:
        return None
    begin = 0 if first is None else first - 1
    end = len(array) if last is None else last
    return array[begin:end] if 0 <= begin <= end <= len(array) else None


@scalar(
    "GENERATE_SERIES",
    "(first INTEGER, last INTEGER) -> ARRAY<INTEGER>",
    "(first INTEGER, last INTEGER, step INTEGER) -> ARRAY<INTEGER>",
    "(first BIGINT, last BIGINT) -> ARRAY<BIGINT>",
    "(first BIGINT, last BIGINT, step INTEGER) -> ARRAY<BIGINT>",
    description="The numbers from one to another, both included where a step meets them.",
    category=ARRAY,
)
def generate_series(first: int, last: int, step: int | None = None) -> list[int]:
    if step is None:
        step = 1 if last > first else -1
    if step == 0:
        raise ValueError("GENERATE_SERIES step cannot be zero.")
    if (last - first) * step < 0:
        raise ValueError("GENERATE_SERIES step has wrong sign.")
    series = range(first, last + (1 if step > 0 else -1), step)
    if len(series) > LONGEST_SERIES:
        raise ValueError(f"GENERATE_SERIES makes at most {LONGEST_SERIES} numbers, not {len(series)}.")
    return list(series)


_JOINED = {Base.BOOLEAN, Base.INTEGER, Base.BIGINT, Base.DOUBLE, Base.DECIMAL, Base.STRING}


def _joined_type(arguments: Sequence[SqlType | None]) -> SqlType:
    array = arguments[0]
    if not isinstance(array, Array) or array.element.base not in _JOINED:
        raise KsqlError(f"ARRAY_JOIN joins texts, numbers and booleans, not {array or 'NULL'}.")
    return types.STRING


@scalar(
    "ARRAY_JOIN",
    "(array ARRAY<T>) -> STRING",
    "(array ARRAY<T>, delimiter STRING) -> STRING",
    description="The elements as one text, with a delimiter (a comma) in between; a null is written as null.",
    category=ARRAY,
    nulls=True,
    returns=_joined_type,
)
def array_join(array: list[Any] | None, delimiter: str | None = ",") -> str | None:
    if array is None:
        return None
    return (delimiter or "").join(map(_text, array))


def _text(value: Any) -> str:
    if value is None:
        return "null"
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is float:
        return double_text(value)
    return format(value, "f") if isinstance(value, Decimal) else str(value)
