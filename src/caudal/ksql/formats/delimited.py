"""DELIMITED: comma-separated values by the rules of CSV, or with another delimiter. Nested types have no form here.

An empty field is NULL. Dates and times are numbers (days, milliseconds), bytes are base64.
"""

from __future__ import annotations

import re
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
    names = [column.name for column in serde.written]
    parsers = [_parser(column.type) for column in serde.written]
    count = len(parsers)

    def row_of(data: bytes) -> Any:
        text = str(data, "utf-8")
        if '"' in text or "\n" in text or "\r" in text:
            fields = _fields(text.lstrip("\r\n"), delimiter)
        else:
            fields = text.split(delimiter)
        if fields == [""] and count != 1:
            raise Misfit("No fields in record")
        if len(fields) != count:
            raise Misfit(f"Unexpected field count, csvFields:{len(fields)} schemaFields:{count}")
        try:
            return tuple(
                [
                    (text if parse is None else parse(text)) if text else None
                    for parse, text in zip(parsers, fields, strict=True)
                ]
            )
        except Misfit:
            raise _placed(names, parsers, fields) from None

    def read(data: bytes) -> Any:
        if not parsers:
            return ()
        try:
            return row_of(data)
        except Misfit as error:
            raise serde.unreadable(data, error if error.path else error.cause) from None
        except UnicodeError as error:
            raise serde.unreadable(data, error) from None

    return read


def _fields(text: str, delimiter: str) -> list[str]:
    """The fields of the first line, by the rules of CSV. Python's csv module would do, but for its limit on the length
    of a field, which is the whole process's."""
    fields = []
    at, end = 0, len(text)
    stops = re.compile(f"[\r\n{re.escape(delimiter)}]")
    while True:
        if text.startswith('"', at):
            field, at = _quoted_field(text, at + 1)
        else:
            stop = stops.search(text, at)
            field, at = (text[at:], end) if stop is None else (text[at : stop.start()], stop.start())
        fields.append(field)
        if at == end or text[at] in "\r\n":
            return fields
        if text[at] != delimiter:
            raise Misfit(f"A delimiter is needed behind a field in quotes, not {text[at]!r}")
        at += 1


def _quoted_field(text: str, at: int) -> tuple[str, int]:
    """The field that begins here, and where it ends, behind its quotes."""
    parts = []
    while True:
        close = text.find('"', at)
        if close < 0:
            raise Misfit("A field in quotes has no end")
        parts.append(text[at:close])
        at = close + 1
        if not text.startswith('"', at):
            return "".join(parts), at
        parts.append('"')
        at += 1


def _placed(names: list[str], parsers: list[Callable[[str], Any] | None], fields: list[str]) -> Misfit:
    """The first misfit of a line, with its column."""
    for name, parse, text in zip(names, parsers, fields, strict=True):
        try:
            if parse is not None and text:
                parse(text)
        except Misfit as error:
            return Misfit(error.cause, f".{name}")
    raise AssertionError("a field that did not fit fits")


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
