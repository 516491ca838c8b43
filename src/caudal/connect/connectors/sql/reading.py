"""One table (or query) that is read pass by pass: rows to records, a batch at a time, whatever the mode.

For each shape of the rows one function is generated that makes records of a whole batch: reading a name, a converter
or a flag for every value would cost more than making the values. When a row of a batch does not convert, the batch is
gone through again row by row, and that row alone is reported.
"""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import exc

from caudal.connect.connector import SourceContext
from caudal.connect.connectors.sql.columns import UTC
from caudal.connect.connectors.sql.columns import Mapping as TypeMapping
from caudal.connect.connectors.sql.database import Database, Unreadable
from caudal.connect.connectors.sql.positions import Ordering, Question, check_columns, instant_offset
from caudal.connect.connectors.sql.tables import Shape, TableName, query_shape, table_shape
from caudal.connect.data import Field, Kind, Schema
from caudal.connect.errors import ConnectError, DataError, RetriableError
from caudal.connect.records import SourceRecord

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0  # a table's shape is looked up at most this often, unless the rows themselves look different
Row = tuple[Any, ...]
Make = Callable[[Sequence[Row]], list[SourceRecord]]


class Reader:
    """`read` gives the next records, and an empty list when a pass is over; the next begins at `due`."""

    def __init__(
        self,
        database: Database,
        config: Mapping[str, Any],
        context: SourceContext,
        mapping: TypeMapping,
        table: TableName | None,
    ) -> None:
        self._database = database
        self._config = config
        self._context = context
        self._mapping = mapping
        self._table = table
        self._where = f"The table {table}" if table is not None else "The query"
        self._source = database.qualified(*table) if table is not None else config["query"]
        self.topic: str = config["topic.prefix"] + (table.name if table is not None else "")
        self.partition: dict[str, str] = (
            {"protocol": "1", "table": str(table)} if table is not None else {"query": "query"}
        )
        self.due = 0.0
        self.is_passing = False
        self._batch: int = config["batch.max.rows"]
        self._ordering = Ordering(None, ())
        self._shape: Shape | None = None
        self._looked = float("-inf")
        self._description: Any = None
        self._make: Make | None = None
        self._question: Question | None = None
        self._cursor: Any = None
        self._end: datetime.datetime | None = None
        self._held: list[Row] = []  # rows of a page that is larger than a batch; of a timestamp, the last row
        self._exhausted = False
        self.position: dict[str, Any] = {}

    @property
    def is_streaming(self) -> bool:
        return self._cursor is not None

    def resume(self, offset: Mapping[str, Any] | None) -> None:
        """From the offset of the last record that was stored, or from the beginning."""
        self.position = dict(offset or {})
        mode = self._config["mode"]
        initial = self._config["timestamp.initial"]
        if not offset and "timestamp" in mode and initial is not None:
            milliseconds = int(time.time() * 1000) if initial == -1 else initial
            # The millisecond itself is read, too.
            self.position = {"timestamp": milliseconds - 1, "timestamp_nanos": None}
        self._stop_pass()

    def read(self) -> list[SourceRecord]:
        """Raises RetriableError when the database is away: the position is kept, and the pass begins again there."""
        try:
            if not self.is_passing:
                self._begin_pass()
            return self._next_records()
        except ConnectError:
            self._stop_pass()
            raise
        except (exc.SQLAlchemyError, self._database.dialect.loaded_dbapi.Error) as error:
            self._stop_pass()
            if not self._database.lenient and isinstance(error, self._database.dialect.loaded_dbapi.DataError):
                self._database.be_lenient()
                return self.read()
            raise self._database.translated(error) from error

    def close(self) -> None:
        self._stop_pass()

    # A pass.

    def _begin_pass(self) -> None:
        self._look()
        question = self._question
        assert question is not None
        if self._ordering.timestamps:
            self._end = question.now() - datetime.timedelta(milliseconds=self._config["timestamp.delay.interval.ms"])
        self.is_passing = True
        self._exhausted = False
        self._held = []
        if not question.is_paged:
            self._cursor = self._execute(stream=True)
            if self._table is not None and self._look_at(self._cursor.description, []):
                self._cursor = self._execute(stream=True)  # looking has ended the transaction of the first
                self._look_at(self._cursor.description, [])

    def _stop_pass(self) -> None:
        cursor, self._cursor = self._cursor, None
        if cursor is not None:
            try:
                cursor.close()
            except Exception as error:  # of a connection that is lost
                _LOG.debug("cursor of %s: %s", self._where, error)
        self._database.end()
        self.is_passing = False
        self._held = []
        self.due = time.monotonic() + self._config["poll.interval.ms"] / 1000

    def _execute(self, *, stream: bool) -> Any:
        assert self._question is not None
        sql, values = self._question.sql(self.position, self._end)
        return self._database.cursor(sql, values, stream=stream)

    def _next_records(self) -> list[SourceRecord]:
        if self._question is not None and self._question.is_paged:
            rows = self._next_of_page()
        else:
            rows = self._next_of_stream()
        if not rows:
            self._stop_pass()
            return []
        records = self._records(rows)
        if self._exhausted and not self._held:
            self._stop_pass()
        return records

    def _next_of_page(self) -> list[Row]:
        if not self._held and not self._exhausted:
            cursor = self._execute(stream=False)
            description = cursor.description
            self._held = cursor.fetchall()
            cursor.close()
            self._database.end()
            self._exhausted = len(self._held) < max(self._batch, _PAGE)
            self._look_at(description, self._held)
        rows, self._held = self._held[: self._batch], self._held[self._batch :]
        return rows

    def _next_of_stream(self) -> list[Row]:
        rows = self._held
        keeps_last = self._is_grouped
        while len(rows) <= self._batch and not self._exhausted:
            more = self._cursor.fetchmany(self._batch)
            self._exhausted = len(more) == 0
            rows = rows + more
            if rows and not keeps_last:
                break
        self._held = []
        if rows and self._table is None:
            self._look_at(self._cursor.description, rows)
        if len(rows) > self._batch or (keeps_last and not self._exhausted):
            at = min(self._batch, len(rows) - 1)
            rows, self._held = rows[:at], rows[at:]
        return rows

    @property
    def _is_grouped(self) -> bool:
        """Whether several rows may share a position: then the next row tells whether it may move on."""
        return bool(self._ordering.timestamps) and not self._ordering.is_exact

    # The shape.

    def _look(self) -> None:
        """At the table's catalogue: also for changes that rows do not show, such as NOT NULL."""
        now = time.monotonic()
        if self._question is not None and now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        if self._table is not None:
            self._adopt(table_shape(self._database, self._table, self._mapping))
        elif self._shape is None and self._database.is_postgres:
            query = self._database.literal(self._config["query"])
            cursor = self._database.cursor(f"SELECT * FROM ({query}) AS caudal_query WHERE 1 = 0")
            self._adopt(query_shape(self._database, cursor.description, [], self.topic, self._mapping))
            self._database.end()
        elif self._question is None:
            self._ordering = self._chosen_ordering(None)
            self._ask(None)

    def _look_at(self, description: Any, rows: list[Row]) -> bool:
        """At the result itself: a column that came or went shows here first. Whether the catalogue was asked."""
        seen = tuple((one[0], one[1], *one[4:6]) for one in description)
        if seen == self._description:
            return False
        changed = self._description is not None or self._shape is None
        self._description = seen
        if self._question is not None and self._question.has_instant_column:
            description = description[:-1]
        shape = self._shape
        if shape is not None and [one.name for one in shape.columns] != [one[0] for one in description]:
            changed = True
        if not changed:
            return False
        if self._table is None:
            self._adopt(query_shape(self._database, description, rows, self.topic, self._mapping))
            return False
        self._adopt(table_shape(self._database, self._table, self._mapping), keep_question=True)
        assert self._shape is not None
        if [one.name for one in self._shape.columns] != [one[0] for one in description]:
            # It has changed once more since these rows were read: they are read again.
            self._description = None
            raise RetriableError(f"{self._where} changes while it is read: it is read again.")
        return True

    def _adopt(self, shape: Shape, keep_question: bool = False) -> None:
        if self._shape is not None and self._shape.schema == shape.schema and self._make is not None:
            return
        if self._shape is not None:
            _LOG.info("%s has changed its shape: a new schema from here on", self._where)
        self._ordering = self._chosen_ordering(shape)
        is_strict = self._config["validate.non.null"] and self._table is not None
        check_columns(shape, self._ordering, self._where, is_strict)
        self._shape = shape
        if not keep_question or self._question is None:
            self._ask(shape)
        assert self._question is not None
        self._make = self._compile(shape, self._question.has_instant_column)

    def _ask(self, shape: Shape | None) -> None:
        self._question = Question(
            self._database, self._mapping, self._source, self._table is None, self._config["query.suffix"],
            self._ordering, shape, max(self._batch, _PAGE),
        )  # fmt: skip

    def _chosen_ordering(self, shape: Shape | None) -> Ordering:
        mode = self._config["mode"]
        incrementing: str | None = None
        if "incrementing" in mode:
            incrementing = self._config["incrementing.column.name"] or (shape.incrementing if shape else None)
            if incrementing is None:
                raise ConnectError(
                    f"{self._where} has no column that the database numbers by itself: name one in "
                    "incrementing.column.name."
                )
        timestamps = tuple(self._config["timestamp.column.name"]) if "timestamp" in mode else ()
        return Ordering(incrementing, timestamps)

    # Rows to records.

    def _records(self, rows: list[Row]) -> list[SourceRecord]:
        make = self._make
        assert make is not None
        try:
            if self._database.lenient:
                raise DataError("one by one")
            records = make(rows)
        except Exception:
            records = self._one_by_one(rows, make)
        else:
            if self._is_grouped:
                self._hold_positions_back(records, rows)
        if self._ordering.timestamps or self._ordering.incrementing:
            self._advance(rows, records)
        return records

    def _advance(self, rows: list[Row], records: list[SourceRecord]) -> None:
        if self._is_grouped:
            if records:
                self.position = dict(records[-1].offset)
            return
        assert self._offset_of is not None
        self.position = self._offset_of(rows[-1])

    def _one_by_one(self, rows: list[Row], make: Make) -> list[SourceRecord]:
        records: list[SourceRecord] = []
        good: list[Row] = []
        for row in rows:
            try:
                for value in row:
                    if isinstance(value, Unreadable):
                        raise DataError(f"{value.text} is beyond the dates and times that can be read.")
                records += make([row])
                good.append(row)
            except Exception as error:
                self._report(row, error)
        if self._is_grouped and records:
            self._hold_positions_back(records, good)
        return records

    def _report(self, row: Row, error: Exception) -> None:
        offset = self.position
        try:
            if self._offset_of is not None:
                offset = self._offset_of(row)
        except Exception as unreadable:  # then it stays where it was
            _LOG.debug("%s: no position in a row that does not convert: %s", self._where, unreadable)
        record = SourceRecord(self.partition, offset, self.topic)
        column = self._culprit(row)
        at = f" ({', '.join(f'{name}={value}' for name, value in offset.items())})" if offset else ""
        self._context.report_error(
            record, DataError(f"{self._where} has a row that does not convert{at}{column}: {error}")
        )

    def _culprit(self, row: Row) -> str:
        assert self._shape is not None
        for column, value in zip(self._shape.columns, row, strict=False):
            if isinstance(value, Unreadable):
                return f", column {column.name}"
            if value is not None and column.read is not None:
                try:
                    column.read(value)
                except Exception:
                    return f", column {column.name}"
        return ""

    def _hold_positions_back(self, records: list[SourceRecord], rows: list[Row]) -> None:
        """A record of a timestamp carries the position before it until the last record of that timestamp."""
        following: Any = None
        if self._held:
            assert self._offset_of is not None
            following = self._offset_of(self._held[0])
        own = [record.offset for record in records]
        before: Mapping[str, Any] = self.position
        for at, record in enumerate(records):
            later = own[at + 1] if at + 1 < len(own) else following
            if later == own[at]:
                record.offset = before
            else:
                before = own[at]

    def _compile(self, shape: Shape, has_instant_column: bool) -> Make:
        """The function for rows of this shape. Names of columns appear in it as Python literals only."""
        names: dict[str, Any] = {"Record": SourceRecord, "partition": self.partition, "topic": self.topic,
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
        if columns := self._key_columns(shape):
            key_schema = "key_schema"
            if len(columns) == 1:
                names["key_schema"] = shape.columns[shape.indexes[columns[0]]].schema
                key = value(columns[0])
            else:
                key_fields = tuple(Field(one, shape.columns[shape.indexes[one]].schema) for one in columns)
                names["key_schema"] = Schema(Kind.STRUCT, name=f"{shape.schema.name}Key", fields=key_fields)
                key = "{" + ", ".join(f"{one!r}: {value(one)}" for one in columns) + "}"
        offset = self._compile_offset(shape, has_instant_column, names)
        record = f"Record(partition, {offset}, topic, {{{fields}}}, schema, {key}, {key_schema})"
        text = f"def make(rows):\n    return [{record} for row in rows]\ndef offset_of(row):\n    return {offset}\n"
        exec(compile(text, f"<rows of {shape.schema.name}>", "exec"), names)
        self._offset_of = names["offset_of"]
        make: Make = names["make"]
        return make

    def _key_columns(self, shape: Shape) -> tuple[str, ...]:
        match self._config["key.mode"]:
            case "primary_key":
                return shape.primary_key
            case "incrementing" if self._ordering.incrementing:
                return (self._ordering.incrementing,)
        return ()

    def _compile_offset(self, shape: Shape, has_instant_column: bool, names: dict[str, Any]) -> str:
        ordering = self._ordering
        parts = []
        if ordering.timestamps:
            if has_instant_column:
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

    _offset_of: Callable[[Row], dict[str, Any]] | None = None


_PAGE = 1000  # a page has at least as many rows, however small the batches


def _aware(mapping: TypeMapping) -> Callable[[Any], datetime.datetime]:
    """A COALESCE of timestamps with and without time zone, whichever it became."""

    def read(value: datetime.datetime) -> datetime.datetime:
        return (value if value.tzinfo is not None else value.replace(tzinfo=mapping.zone)).astimezone(UTC)

    return read
