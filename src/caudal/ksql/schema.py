"""Columns and schemas: what the rows of a stream or table look like, and how a row lies in a record.

A row is two tuples: its key columns in the order of the schema, and its value columns. In the plan the record's key is
the first (a `Windowed` around it in windowed sources), its value the second. Header columns are value columns that are
filled from the record's headers and never written back as values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from caudal.ksql.types import BIGINT, INTEGER, SqlType, quoted

ROWTIME, ROWPARTITION, ROWOFFSET = "ROWTIME", "ROWPARTITION", "ROWOFFSET"
WINDOWSTART, WINDOWEND = "WINDOWSTART", "WINDOWEND"
# Columns that every source has without naming them; the window's bounds are there in windowed sources only.
PSEUDO_COLUMNS: dict[str, SqlType] = {ROWTIME: BIGINT, ROWPARTITION: INTEGER, ROWOFFSET: BIGINT}
WINDOW_COLUMNS: dict[str, SqlType] = {WINDOWSTART: BIGINT, WINDOWEND: BIGINT}
RESERVED = frozenset({*PSEUDO_COLUMNS, *WINDOW_COLUMNS})


class Place(Enum):
    KEY = "KEY"
    VALUE = "VALUE"
    HEADERS = "HEADERS"  # with `header` the value of that one header, else all of them


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: SqlType
    place: Place = Place.VALUE
    header: str | None = None

    def __str__(self) -> str:
        return f"{quoted(self.name)} {self.type}"


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns in the order they were declared in."""

    columns: tuple[Column, ...]

    @property
    def key(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.place is Place.KEY)

    @property
    def value(self) -> tuple[Column, ...]:
        """What is in the value tuple of a row, header columns included, in order."""
        return tuple(column for column in self.columns if column.place is not Place.KEY)

    @property
    def written(self) -> tuple[Column, ...]:
        """What is in the record's value."""
        return tuple(column for column in self.columns if column.place is Place.VALUE)

    def find(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)

    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __str__(self) -> str:
        """As in messages: `K STRING KEY, A INTEGER`."""
        keys = {Place.KEY: " KEY", Place.VALUE: "", Place.HEADERS: " HEADERS"}
        return ", ".join(f"{column}{keys[column.place]}" for column in self.columns)


def schema(columns: Iterable[Column]) -> Schema:
    return Schema(tuple(columns))
