"""What the serdes of rows share: they are made for columns, are data (equality, hash, pickle, description), and say
what is wrong in one sentence.

A row is a tuple of the columns' values. Header columns are in it as None, and never written. A subclass sets
`serialize` and `deserialize` as attributes: functions made for these very columns, without a method in between. Both
may give None: a row that is null as a whole, and a key without bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from caudal.ksql.formats.types_json import columns_from_json, columns_to_json
from caudal.ksql.schema import Column, Place
from caudal.ksql.types import Base
from caudal.serde.serde import BuiltInSerde, SerdeError, cannot_read, cannot_write

# 0.0 equals -0.0; decimals, arrays and the like may be equal in other ways than their bytes.
EXACT_TYPES = frozenset({Base.BOOLEAN, Base.INTEGER, Base.BIGINT, Base.STRING, Base.BYTES})


class ColumnsSerde(BuiltInSerde):
    """`columns`: the columns, or their JSON form. `wrapped`: whether a single column is a record with one field."""

    __slots__ = ("columns", "deserialize", "serialize", "wrapped")
    settings: ClassVar[tuple[str, ...]] = ("columns", "wrapped")
    format: ClassVar[str]

    def __init__(self, columns: Sequence[Any], wrapped: bool = True) -> None:
        given = tuple(columns)
        self.columns: tuple[Column, ...] = (
            given if all(isinstance(one, Column) for one in given) else columns_from_json(given)
        )
        self.wrapped = wrapped
        self.serialize: Callable[[Any], Any]
        self.deserialize: Callable[[bytes], Any]

    @property
    def written(self) -> tuple[Column, ...]:
        """Those that are in the bytes."""
        return tuple(column for column in self.columns if column.place is not Place.HEADERS)

    @property
    def exact(self) -> bool:
        """Whether rows that are equal in Python always are equal bytes: stores then remember the bytes of hot keys."""
        return all(column.type.base in EXACT_TYPES for column in self.written)

    @property
    def places(self) -> list[int]:
        """Where the written columns are in the row."""
        return [place for place, column in enumerate(self.columns) if column.place is not Place.HEADERS]

    def described(self) -> dict[str, Any]:
        return {**super().described(), "columns": columns_to_json(self.columns)}

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (type(self), {name: getattr(self, name) for name in self.settings})

    def __repr__(self) -> str:
        return f"{self.format}({', '.join(str(column) for column in self.columns)})"

    def unreadable(self, data: bytes, cause: object) -> SerdeError:
        return cannot_read(self, data, str(cause).rstrip("."))

    def unwritable(self, row: Any, cause: object) -> SerdeError:
        return cannot_write(self, row, str(cause).rstrip("."))

    def with_headers(self, read: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
        """Rows of the written columns as rows of all columns, those of headers None."""
        if len(self.places) == len(self.columns):
            return read
        sources = iter(range(len(self.columns)))
        order = [next(sources) if column.place is not Place.HEADERS else None for column in self.columns]

        def filled(data: bytes) -> Any:
            row = read(data)
            return None if row is None else tuple(None if place is None else row[place] for place in order)

        return filled

    def without_headers(self, write: Callable[[Any], Any]) -> Callable[[Any], Any]:
        places = self.places
        if len(places) == len(self.columns):
            return write

        def reduced(row: Any) -> Any:
            return write(tuple([row[place] for place in places]))

        return reduced


def _made(kind: type[ColumnsSerde], settings: dict[str, Any]) -> ColumnsSerde:
    return kind(**settings)
