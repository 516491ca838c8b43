"""Table functions: one row in, several rows out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from caudal.ksql.functions.registry import table_function

MOST_CUBE_COLUMNS = 20  # a million rows from one


@table_function(
    "EXPLODE", "(array ARRAY<T>) -> T", description="A row for each element of an array; none where it is null."
)
def explode(array: list[Any] | None) -> list[Any]:
    return [] if array is None else array


@table_function(
    "CUBE_EXPLODE",
    "(columns ARRAY<T>) -> ARRAY<T>",
    description="A row for each way to take some of the columns and leave the others null.",
)
def cube_explode(columns: list[Any] | None) -> list[list[Any]]:
    """The last column changes most often; a column that is null anyway gives no row of its own.

    >>> cube_explode(["a", None, "b"])
    [[None, None, None], [None, None, 'b'], ['a', None, None], ['a', None, 'b']]
    """
    if columns is None:
        return []
    if len(columns) > MOST_CUBE_COLUMNS:
        raise ValueError(f"CUBE_EXPLODE takes at most {MOST_CUBE_COLUMNS} columns, not {len(columns)}.")
    return list(_combinations(columns))


def _combinations(columns: list[Any]) -> Iterator[list[Any]]:
    if not columns:
        yield []
        return
    first, rest = columns[0], columns[1:]
    for choice in (None,) if first is None else (None, first):
        for others in _combinations(rest):
            yield [choice, *others]
