"""Rows of one shape to records, a batch at a time.

For each shape of the rows one function is generated that makes records of a whole batch: reading a name, a converter
or a flag for every value would cost more than making the values. When a row of a batch does not convert, the batch is
gone through again row by row, and that row alone is reported.
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from caudal.connect.connectors.sql.columns import UTC
from caudal.connect.connectors.sql.columns import Mapping as TypeMapping
from caudal.connect.connectors.sql.database import Database, Unreadable
from caudal.connect.connectors.sql.positions import Ordering, instant_offset
from caudal.connect.connectors.sql.tables import Shape
from caudal.connect.data import Field, Kind, Schema
from caudal.connect.errors import DataError
from caudal.connect.records import SourceRecord

_LOG = logging.getLogger(__name__)
Row = tuple[Any, ...]
Position = Mapping[str, Any]


class RowReader:
    """`where` is what an error calls the table; `report` takes the rows that do not convert."""

    def __init__(
        self, database: Database, mapping: TypeMapping, shape: Shape, ordering: Ordering, has_instant_column: bool,
        key_mode: str, where: str, topic: str, partition: Mapping[str, str],
        report: Callable[[SourceRecord, Exception], None],
    ) -> None:  # fmt: skip
        self._database = database
        self._mapping = mapping
        self._shape = shape
        self._ordering = ordering
        self._has_instant_column = has_instant_column
        self._key_mode = key_mode
        self._where = where
        self._topic = topic
        self._partition = partition
        self._send_report = report
        self._make: Callable[[Sequence[Row]], list[SourceRecord]]
        self._offset_of: Callable[[Row], dict[str, Any]]
        self._compile()

    def records(
        self, rows: list[Row], position: dict[str, Any], following: Row | None
    ) -> tuple[list[SourceRecord], dict[str, Any]]:
        """And the position behind them. `following` is the row behind `rows`, where it is known."""
        try:
            records = None if self._database.lenient else self._make(rows)
        except Exception:  # which row it was is found below
            records = None
        if records is None:
            records = self._one_by_one(rows, position)
        ordering = self._ordering
        if not ordering.timestamps and not ordering.incrementing:
            return records, position
        behind = self._behind(rows, position)
        if ordering.is_grouped:
            upcoming = None if following is None else self._offset_of(following)
            behind = self._hold_positions_back(records, position, behind, upcoming)
        return records, behind

    def _behind(self, rows: list[Row], position: dict[str, Any]) -> dict[str, Any]:
        """The position of the last row that shows one: of a row that was reported, it may be the unreadable part."""
        for row in reversed(rows):
            try:
                return self._offset_of(row)
            except Exception as unreadable:
                _LOG.debug("%s: no position in a row that does not convert: %s", self._where, unreadable)
        return position

    def _one_by_one(self, rows: list[Row], position: Position) -> list[SourceRecord]:
        records: list[SourceRecord] = []
        for row in rows:
            try:
                for value in row:
                    if isinstance(value, Unreadable):
                        raise DataError(f"{value.text} is beyond the dates and times that can be read.")
                records += self._make([row])
            except Exception as error:
                self._report(row, position, error)
        return records

    def _report(self, row: Row, position: Position, error: Exception) -> None:
        offset = position
        try:
            offset = self._offset_of(row)
        except Exception as unreadable:  # then it stays where it was
            _LOG.debug("%s: no position in a row that does not convert: %s", self._where, unreadable)
        record = SourceRecord(self._partition, offset, self._topic)
        column = self._culprit(row)
        at = f" ({', '.join(f'{name}={value}' for name, value in offset.items())})" if offset else ""
        self._send_report(record, DataError(f"{self._where} has a row that does not convert{at}{column}: {error}"))

    def _culprit(self, row: Row) -> str:
        for column, value in zip(self._shape.columns, row, strict=False):
            if isinstance(value, Unreadable):
                return f", column {column.name}"
            if value is not None and column.read is not None:
                try:
                    column.read(value)
                except Exception:
                    return f", column {column.name}"
        return ""

    def _hold_positions_back(
        self, records: list[SourceRecord], position: dict[str, Any], behind: dict[str, Any],
        upcoming: dict[str, Any] | None,
    ) -> dict[str, Any]:  # fmt: skip
        """A record of a timestamp carries the position before it until the last record of that timestamp.

        What it returns is the position behind all rows, also those that made no record.
        """
        own = [record.offset for record in records]
        before: Mapping[str, Any] = position
        for at, record in enumerate(records):
            later = own[at + 1] if at + 1 < len(own) else upcoming
            if later == own[at]:
                record.offset = before
            else:
                before = own[at]
        return dict(before) if upcoming == behind else behind

    def _compile(self) -> None:
        """The function for rows of this shape. Names of columns appear in it as Python literals only."""
        shape = self._shape
        names: dict[str, Any] = {"Record": SourceRecord, "partition": self._partition, "topic": self._topic,
                                 "schema": shape.schema}  # fmt: skip

        def value(name: str) -> str:
            at = shape.indexes[name]
            read = shape.columns[at].read
            if read is None:
                return f"row[{at}]"
            names[f"read_{at}"] = read
            if not shape.columns[at].is_nullable and self._database.is_postgres:
                return f"read_{at}(row[{at}])"
            return f"None if row[{at}] is None else read_{at}(row[{at}])"

        fields = ", ".join(f"{column.name!r}: {value(column.name)}" for column in shape.columns)
        key, key_schema = "None", "None"
        if columns := self._key_columns():
            key_schema = "key_schema"
            if len(columns) == 1:
                names["key_schema"] = shape.columns[shape.indexes[columns[0]]].schema
                key = value(columns[0])
            else:
                key_fields = tuple(Field(one, shape.columns[shape.indexes[one]].schema) for one in columns)
                names["key_schema"] = Schema(Kind.STRUCT, name=f"{shape.schema.name}Key", fields=key_fields)
                key = "{" + ", ".join(f"{one!r}: {value(one)}" for one in columns) + "}"
        offset = self._compile_offset(names)
        record = f"Record(partition, {offset}, topic, {{{fields}}}, schema, {key}, {key_schema})"
        text = f"def make(rows):\n    return [{record} for row in rows]\ndef offset_of(row):\n    return {offset}\n"
        exec(compile(text, f"<rows of {shape.schema.name}>", "exec"), names)
        self._make, self._offset_of = names["make"], names["offset_of"]

    def _key_columns(self) -> tuple[str, ...]:
        match self._key_mode:
            case "primary_key":
                return self._shape.primary_key
            case "incrementing" if self._ordering.incrementing:
                return (self._ordering.incrementing,)
        return ()

    def _compile_offset(self, names: dict[str, Any]) -> str:
        shape, ordering = self._shape, self._ordering
        parts = []
        if ordering.timestamps:
            if self._has_instant_column:
                at = len(shape.columns)
                read = self._mapping.instant_reader(False) if not self._database.is_postgres else _aware(self._mapping)
            else:
                at = shape.indexes[ordering.timestamps[0]]
                read = shape.columns[at].read
            names["read_instant"] = read
            names["instant"] = instant_offset
            argument = f"row[{at}]" if read is None else f"read_instant(row[{at}])"
            # The two numbers of the instant are unpacked inside the expression, to convert it once.
            parts.append(f"'timestamp': (at := instant({argument}))[0], 'timestamp_nanos': at[1]")
        if ordering.incrementing:
            at = shape.indexes[ordering.incrementing]
            is_whole = shape.columns[at].read is None and shape.columns[at].schema.kind is not Kind.BYTES
            parts.append(f"'incrementing': row[{at}]" if is_whole else f"'incrementing': int(row[{at}])")
        return "{" + ", ".join(parts) + "}"


def _aware(mapping: TypeMapping) -> Callable[[Any], datetime.datetime]:
    """A COALESCE of timestamps with and without time zone, whichever it became."""

    def read(value: datetime.datetime) -> datetime.datetime:
        return (value if value.tzinfo is not None else value.replace(tzinfo=mapping.zone)).astimezone(UTC)

    return read
