"""One table (or query) that is read pass by pass, a batch at a time, whatever the mode; `rows.py` makes the records.

Its shape is looked up again as it is read: a column that comes or goes gives a new schema, and no end.
"""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import exc

from caudal.connect.connector import SourceContext
from caudal.connect.connectors.sql.columns import Mapping as TypeMapping
from caudal.connect.connectors.sql.database import Database
from caudal.connect.connectors.sql.positions import Ordering, Question, check_columns
from caudal.connect.connectors.sql.rows import Row, RowReader
from caudal.connect.connectors.sql.tables import Shape, TableName, query_shape, table_shape
from caudal.connect.errors import ConnectError, RetriableError
from caudal.connect.records import SourceRecord

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0  # a table's shape is looked up at most this often, unless the rows themselves look different
_PAGE = 1000  # a page has at least as many rows, however small the batches


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
        self._rows: RowReader | None = None
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
        assert self._rows is not None
        records, self.position = self._rows.records(rows, self.position, self._held[0] if self._held else None)
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
        keeps_last = self._ordering.is_grouped
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
        if self._shape is not None and self._shape.schema == shape.schema and self._rows is not None:
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
        self._rows = RowReader(
            self._database, self._mapping, shape, self._ordering, self._question.has_instant_column,
            self._config["key.mode"], self._where, self.topic, self.partition, self._context.report_error,
        )  # fmt: skip

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
