"""DELIMITED: comma-separated values by the rules of CSV, or with another delimiter. Nested types have no form here.

An empty field is NULL. Dates and times are numbers (days, milliseconds), bytes are base64.
"""

from __future__ import annotations

import csv
import io
from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any

from caudal.ksql import types
from caudal.ksql.formats.columns import ColumnsSerde
from caudal.ksql.formats.values import (
    Misfit,
    bytes_of,
    date_of,
    days_of,
    decimal_of,
    double_of,
    integer_of,
    java_double,
    ms_of_time,
    ms_of_timestamp,
    time_of,
    timestamp_of,
)
from caudal.ksql.types import Base, SqlType

NAMED_DELIMITERS = {"SPACE": " ", "TAB": "\t"}


class DelimitedRow(ColumnsSerde):
    """
    >>> from caudal.ksql.schema import Column
    >>> serde = DelimitedRow([Column("ID", types.BIGINT), Column("NAME", types.STRING)])
    >>> serde.deserialize(b'7,"Ruiz, Ana"')
    (7, 'Ruiz, Ana')
    >>> serde.serialize((7, None))
    b'7,'
    """

    __slots__ = ("delimiter",)
    settings = ("columns", "delimiter")
    format = "DELIMITED"

    def __init__(self, columns: Sequence[Any], delimiter: str = ",") -> None:
        super().__init__(columns, True)
        self.delimiter = delimiter
        self.deserialize = self.with_headers(_reader(self))
        self.serialize = self.without_headers(_writer(self))


def _reader(serde: DelimitedRow) -> Callable[[bytes], Any]:
    delimiter = serde.delimiter
    parsers = [_at(f".{column.name}", _parser(column.type)) for column in serde.written]
    count = len(parsers)

    def fields_of(text: str) -> list[str]:
        if '"' not in text and "\n" not in text and "\r" not in text:
            return text.split(delimiter)
        try:
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
            return next((row for row in rows if row), [])
        except csv.Error as error:
            raise Misfit(str(error)) from None

    def read(data: bytes) -> Any:
        if not parsers:
            return ()
        try:
            fields = fields_of(str(data, "utf-8"))
            if fields == [""] and count != 1:
                raise Misfit("No fields in record")
            if len(fields) != count:
                raise Misfit(f"Unexpected field count, csvFields:{len(fields)} schemaFields:{count}")
            return tuple([parse(text) if text else None for parse, text in zip(parsers, fields, strict=True)])
        except Misfit as error:
            raise serde.unreadable(data, error if error.path else error.cause) from None
        except UnicodeError as error:
            raise serde.unreadable(data, error) from None

    return read


def _at(path: str, parse: Callable[[str], Any] | None) -> Callable[[str], Any]:
    def parsed(text: str) -> Any:
        try:
            return text if parse is None else parse(text)
        except Misfit as error:
            error.path = path
            raise

    return parsed


def _parser(type: SqlType) -> Callable[[str], Any] | None:
    """None: the text itself."""
    if isinstance(type, types.Decimal):
        return lambda text: decimal_of(text, type)
    parsers: dict[Base, Callable[[str], Any] | None] = {
        Base.BOOLEAN: lambda text: text.lower() == "true",
        Base.INTEGER: lambda text: integer_of(text, type),
        Base.BIGINT: lambda text: integer_of(text, type),
        Base.DOUBLE: double_of,
        Base.STRING: None,
        Base.BYTES: bytes_of,
        Base.DATE: lambda text: date_of(integer_of(text, type)),
        Base.TIME: lambda text: time_of(integer_of(text, type)),
        Base.TIMESTAMP: lambda text: timestamp_of(integer_of(text, type)),
    }
    return parsers[type.base]


_SHOWN: dict[Base, Callable[[Any], str]] = {
    Base.BOOLEAN: lambda value: "true" if value else "false",
    Base.INTEGER: str,
    Base.BIGINT: str,
    Base.DOUBLE: java_double,
    Base.DECIMAL: lambda value: f"{value:f}",
    Base.STRING: str,
    Base.BYTES: lambda value: b64encode(value).decode(),
    Base.DATE: lambda value: str(days_of(value)),
    Base.TIME: lambda value: str(ms_of_time(value)),
    Base.TIMESTAMP: lambda value: str(ms_of_timestamp(value)),
}


def _writer(serde: DelimitedRow) -> Callable[[Any], Any]:
    delimiter = serde.delimiter
    shown = [_SHOWN[column.type.base] for column in serde.written]

    def write(row: Any) -> bytes:
        try:
            fields = []
            for place, (show, value) in enumerate(zip(shown, row, strict=True)):
                fields.append("" if value is None else _quoted(show(value), delimiter, place == 0))
            return delimiter.join(fields).encode()
        except (TypeError, ValueError, AttributeError) as error:
            raise serde.unwritable(row, error) from None

    return write


def _quoted(text: str, delimiter: str, is_first: bool) -> str:
    """In quotes where a reader of CSV would take it for something else; also as Apache's printer does at the edges, so
    that the bytes are the same as ksqlDB's: keys are partitioned by them."""
    if not text:
        return '""' if is_first else ""
    first = text[0]
    if (
        delimiter in text
        or '"' in text
        or "\n" in text
        or "\r" in text
        or first <= "#"
        or text[-1] <= " "
        or (is_first and first > "~")
    ):
        return '"' + text.replace('"', '""') + '"'
    return text
