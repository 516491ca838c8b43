"""The time of a row from its column: WITH (TIMESTAMP='…', TIMESTAMP_FORMAT='…')."""

from __future__ import annotations

from typing import Any

from caudal.ksql.errors import KsqlError, Position, suggestion
from caudal.ksql.formats.values import ms_of_timestamp
from caudal.ksql.schema import Place, Schema
from caudal.ksql.types import Base, quoted

INVALID = -1  # a record with such a time is dropped, as in ksqlDB


class ColumnTime:
    """(key, value, the record's time) → milliseconds. A row that is null as a whole keeps the record's time; where the
    column has none, the row is dropped with a line in the processing log."""

    __slots__ = ("_read", "base", "index", "is_key", "is_windowed", "name", "pattern")

    def __init__(
        self, name: str, base: str, is_key: bool, index: int, is_windowed: bool = False, pattern: str | None = None
    ) -> None:
        self.name = name
        self.base = base
        self.is_key = is_key
        self.index = index
        self.is_windowed = is_windowed
        self.pattern = pattern
        self._read = None if pattern is None else _patterns(pattern)

    def __call__(self, key: Any, value: Any, timestamp: int) -> int:
        if self.is_key:
            row = key.key if self.is_windowed and key is not None else key
        else:
            row = value
        if row is None:
            return timestamp
        found = row[self.index]
        try:
            if found is None:
                raise ValueError(f"The timestamp column {quoted(self.name)} is NULL.")
            if self._read is not None:
                return ms_of_timestamp(self._read(found))
            if self.base == Base.TIMESTAMP.value:
                return ms_of_timestamp(found)
            if found < 0:
                raise ValueError(f"The timestamp column {quoted(self.name)} is negative: {found}.")
            return int(found)
        except ValueError as error:
            _report(f"Extracting the timestamp of {quoted(self.name)}", error)
            return INVALID

    def _settings(self) -> tuple[Any, ...]:
        return (self.name, self.base, self.is_key, self.index, self.is_windowed, self.pattern)

    def __reduce__(self) -> tuple[Any, ...]:
        return ColumnTime, self._settings()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ColumnTime) and other._settings() == self._settings()

    def __hash__(self) -> int:
        return hash(self._settings())

    def __repr__(self) -> str:
        return f"ColumnTime({self.name!r})" if self.pattern is None else f"ColumnTime({self.name!r}, {self.pattern!r})"


def timestamp_extractor(
    schema: Schema,
    column: str | None,
    pattern: str | None = None,
    *,
    is_windowed: bool = False,
    at: Position | None = None,
    format_at: Position | None = None,
) -> ColumnTime | None:
    """The extractor of a source; KsqlError where the column cannot tell the time. `at` and `format_at`: where TIMESTAMP
    and TIMESTAMP_FORMAT stand."""
    if column is None:
        return None
    found = schema.find(column)
    if found is None:
        raise KsqlError(
            f"The TIMESTAMP column set in the WITH clause does not exist in the schema: '{column}'."
            f"{suggestion(column, schema.names())}",
            at,
        )
    base = found.type.base
    if found.place is Place.HEADERS:
        raise KsqlError(f"Timestamp column {quoted(column)} is a header, which cannot tell the time.", at)
    if base not in (Base.BIGINT, Base.TIMESTAMP, Base.STRING) or (base is Base.STRING) != (pattern is not None):
        if pattern is not None and base in (Base.BIGINT, Base.TIMESTAMP):
            raise KsqlError(
                f"'TIMESTAMP_FORMAT' set, but the timestamp column {quoted(column)} with type {found.type} is not a "
                "STRING.",
                format_at or at,
            )
        raise KsqlError(
            f"Timestamp column, {quoted(column)}, should be BIGINT, TIMESTAMP, or a STRING with a timestamp format "
            f"specified, and it is {found.type}.",
            at,
        )
    if pattern is not None:
        try:
            _patterns(pattern)
        except ValueError as error:
            raise KsqlError(
                f"Invalid timestamp format '{pattern}': {str(error).rstrip('.')}.", format_at or at
            ) from None
    is_key = found.place is Place.KEY
    index = (schema.key if is_key else schema.value).index(found)
    return ColumnTime(column, base.value, is_key, index, is_windowed, pattern)


def _patterns(pattern: str) -> Any:
    from caudal.ksql.functions.date_patterns import compiled

    return compiled(pattern, True).timestamp  # without regard to case, as in PARSE_TIMESTAMP


def _report(what: str, error: Exception) -> None:
    from caudal.ksql.processing_log import report

    report(what, error)
