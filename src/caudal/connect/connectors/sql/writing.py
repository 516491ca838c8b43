"""Rows into one table: insert, upsert, update and delete, in the fastest way the database has.

PostgreSQL takes COPY: into the table itself for plain inserts, into a temporary table for upserts and updates, from
where one statement moves all rows on. Against executemany (psycopg's pipeline) that is less than half of the time.
Others take executemany. A batch that is refused is halved until the row is found that is to blame.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy
from sqlalchemy import types

from caudal.connect.connectors.sql.database import Database, reason
from caudal.connect.connectors.sql.ddl import add_columns, create_table, existing_columns
from caudal.connect.connectors.sql.layouts import Layout, Row, Rows, layout_of
from caudal.connect.connectors.sql.tables import TableName
from caudal.connect.errors import ConfigError, ConnectError, DataError, RetriableError
from caudal.connect.records import SinkRecord

Report = Callable[[SinkRecord, Exception], None]
_MOST_LAYOUTS = 1000  # of a table; more come only from a converter that makes a schema for every record


class TableWriter:
    def __init__(self, database: Database, config: Mapping[str, Any], table: TableName, zone: datetime.tzinfo) -> None:
        self._database = database
        self._config = config
        self.table = table
        self._zone = zone
        self._mode: str = config["insert.mode"]
        self._size: int = config["batch.size"]
        self._existing: dict[str, types.TypeEngine[Any]] | None = None
        self._layouts: dict[Any, _Prepared] = {}
        self._has_looked_again = False  # since a statement failed that had succeeded before
        self._schemas: list[Any] = []  # keeps them alive: layouts are found by their identity

    def prepared(self, record: SinkRecord) -> _Prepared:
        """The layout of records such as this one, with the table made to fit. Before the transaction: it may change
        the table."""
        value = record.value
        schema_less = tuple(value) if record.value_schema is None and isinstance(value, dict) else None
        kind = (
            id(record.key_schema),
            id(record.value_schema),
            value is None,
            schema_less,
            type(record.key),
        )
        found = self._layouts.get(kind)
        if found is None:
            if len(self._layouts) >= _MOST_LAYOUTS:
                self.forget()
            if value is None and not self._config["delete.enabled"]:
                raise DataError("The record has no value (a tombstone), and delete.enabled is false.")
            layout = layout_of(self._config, record)
            existing = self._fit(layout, is_delete=value is None)
            found = self._layouts[kind] = _Prepared(self._database, self.table, layout, existing, self._zone)
            self._schemas.append((record.key_schema, record.value_schema))
        return found

    def _fit(self, layout: Layout, is_delete: bool) -> Mapping[str, types.TypeEngine[Any]]:
        database, table = self._database, self.table
        for attempt in range(3):
            if self._existing is None or attempt:
                self._existing = existing_columns(database, table)
            existing = self._existing
            if existing is None:
                if not self._config["auto.create"]:
                    raise ConnectError(f"The table {table} does not exist: make it, or set auto.create=true.")
                if not layout.has_schema or is_delete:
                    raise DataError(
                        f"The table {table} does not exist, and a record without schema cannot tell its types."
                    )
                create_table(database, table, list(layout.columns))
                continue
            missing = [one for one in layout.columns if one.name not in existing]
            if not missing:
                return existing
            names = ", ".join(one.name for one in missing)
            if attempt == 0:
                self._existing = None  # somebody may have added them since
            elif not self._config["auto.evolve"]:
                raise ConnectError(f"The table {table} has no column {names}: add it, or set auto.evolve=true.")
            elif not layout.has_schema:
                raise DataError(
                    f"The table {table} has no column {names}, and a record without schema cannot tell its type."
                )
            else:
                add_columns(database, table, missing)
        raise ConnectError(f"The table {table} cannot be made to fit the records.")

    def forget(self) -> None:
        """After an error that may come from a table that has changed: all is looked up again."""
        self._existing = None
        self._layouts.clear()
        self._schemas.clear()

    def segments(self, records: Sequence[SinkRecord], report: Report) -> list[Segment]:
        """Runs of records that one statement can write, with the table made ready. What cannot be a row is reported."""
        joins_deletes = self._mode == "upsert"  # the last record of a key counts there, so order is no matter
        found: list[Segment] = []
        last: SinkRecord | None = None
        for record in records:
            if (
                last is None
                or record.value_schema is not last.value_schema
                or record.key_schema is not last.key_schema
                or record.value_schema is None
                or record.value is None
                or type(record.key) is not type(last.key)
                or len(found[-1].records) >= self._size
            ):
                try:
                    prepared = self.prepared(record)
                except DataError as error:
                    report(record, error)
                    continue
                segment = found[-1] if found and len(found[-1].records) < self._size else None
                is_delete = record.value is None
                if segment is None or not (
                    segment.prepared is prepared or (joins_deletes and is_delete and not segment.is_delete)
                ):
                    found.append(Segment(prepared, is_delete, []))
                last = None if is_delete else record
            found[-1].records.append(record)
        return found

    def write(self, connection: sqlalchemy.Connection, segments: Sequence[Segment], report: Report) -> None:
        """In the caller's transaction; what is refused is reported, the rest is written."""
        for segment in segments:
            self._write_some(connection, segment.prepared, segment.records, report)
        self._has_looked_again = False

    def _changed(self, error: Exception) -> ConnectError:
        """The table is not what it was: the batch is tried once more with what it is now. No row is to blame."""
        text = f"The table {self.table} cannot be written: {reason(error)}."
        self.forget()
        if self._has_looked_again:
            return ConnectError(text)
        self._has_looked_again = True
        return RetriableError(text)

    def _write_some(
        self, connection: sqlalchemy.Connection, prepared: _Prepared, records: Sequence[SinkRecord], report: Report
    ) -> None:
        try:
            with connection.begin_nested():
                self._execute(connection, prepared, records)
            return
        except Exception as error:
            if self._database.is_passing(error) or isinstance(error, ConfigError):
                raise
            if self._database.is_about_statement(error):
                raise self._changed(error) from error
            failure = error
        if len(records) == 1:
            text = reason(failure)
            report(records[0], DataError(f"The table {self.table} refused a row: {text}."))
            return
        middle = len(records) // 2
        self._write_some(connection, prepared, records[:middle], report)
        self._write_some(connection, prepared, records[middle:], report)

    def _execute(self, connection: sqlalchemy.Connection, prepared: _Prepared, records: Sequence[SinkRecord]) -> None:
        deletes: list[Row] = []
        if self._mode == "upsert":
            last: dict[Row, SinkRecord] = dict(zip(prepared.keys(records), records, strict=True))
            deletes = [key for key, record in last.items() if record.value is None]
            records = [record for record in last.values() if record.value is not None]
        elif records[0].value is None:
            deletes, records = prepared.keys(records), []
        if deletes:
            self._many(connection, prepared.delete_sql, deletes)
        if not records:
            return
        if self._mode == "update" and len(records) > 1:
            # One statement changes a row once: the last counts, as it would one after the other.
            records = list(dict(zip(prepared.keys(records), records, strict=True)).values())
        rows = prepared.rows(records)
        if self._database.is_postgres:
            prepared.copy(connection, rows, self._mode)
        else:
            self._many(connection, prepared.statement(self._mode), prepared.ordered(rows, self._mode))

    def _many(self, connection: sqlalchemy.Connection, sql: str, rows: list[Row]) -> None:
        driver: Any = connection.connection
        cursor = driver.cursor()
        try:
            cursor.executemany(sql, [self._database.parameters(row) for row in rows])
        finally:
            cursor.close()


@dataclass(frozen=True, slots=True)
class Segment:
    prepared: _Prepared
    is_delete: bool
    records: list[SinkRecord]


class _Prepared:
    """A layout for one table: functions for its rows, and the statements."""

    def __init__(
        self, database: Database, table: TableName, layout: Layout, existing: Mapping[str, types.TypeEngine[Any]],
        zone: datetime.tzinfo,
    ) -> None:  # fmt: skip
        self._database = database
        self._layout = layout
        self.rows: Rows = layout.rows(database, existing, zone)
        self.keys: Rows = layout.key_rows(database, existing, zone)
        self._into = database.literal(database.qualified(*table))
        self._columns = [database.literal(database.quoted(name)) for name in layout.names]
        self._keys = [database.literal(database.quoted(name)) for name in layout.keys]
        self._others = [name for name in self._columns if name not in self._keys]
        self._staging = f'"caudal_staging_{id(self):x}"'

    @property
    def delete_sql(self) -> str:
        return f"DELETE FROM {self._into} WHERE {self._match(self._keys, 1)}"

    def statement(self, mode: str) -> str:
        if mode == "update":
            sets = self._assignments(self._others, 1)
            return f"UPDATE {self._into} SET {sets} WHERE {self._match(self._keys, len(self._others) + 1)}"
        marks = ", ".join(self._database.placeholder(number) for number in range(1, len(self._columns) + 1))
        sql = f"INSERT INTO {self._into} ({', '.join(self._columns)}) VALUES ({marks})"
        return sql + self._on_conflict() if mode == "upsert" else sql

    def ordered(self, rows: list[Row], mode: str) -> list[Row]:
        """In the order of the statement's parameters: of an update, the key comes last."""
        count = len(self._keys)
        return [row[count:] + row[:count] for row in rows] if mode == "update" else rows

    def copy(self, connection: sqlalchemy.Connection, rows: list[Row], mode: str) -> None:
        driver: Any = connection.connection
        columns = ", ".join(self._columns)
        target = self._into
        with driver.cursor() as cursor:
            if mode != "insert":
                target = self._staging
                cursor.execute(
                    f"CREATE TEMPORARY TABLE IF NOT EXISTS {target} ON COMMIT DROP "
                    f"AS SELECT {columns} FROM {self._into} WITH NO DATA"
                )
                cursor.execute(f"TRUNCATE {target}")
            with cursor.copy(f"COPY {target} ({columns}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            if mode == "upsert":
                cursor.execute(
                    f"INSERT INTO {self._into} ({columns}) SELECT {columns} FROM {target}{self._on_conflict()}"
                )
            elif mode == "update":
                sets = ", ".join(f"{name} = staged.{name}" for name in self._others)
                match = " AND ".join(f"{self._into}.{name} = staged.{name}" for name in self._keys)
                cursor.execute(f"UPDATE {self._into} SET {sets} FROM {target} AS staged WHERE {match}")

    def _on_conflict(self) -> str:
        dialect = self._database.engine.dialect.name
        if dialect in ("mysql", "mariadb"):
            changed = self._others or self._keys[:1]
            return " ON DUPLICATE KEY UPDATE " + ", ".join(f"{name} = VALUES({name})" for name in changed)
        if dialect not in ("postgresql", "sqlite"):
            raise ConfigError(f"insert.mode=upsert is not known for {dialect}: use insert or update.", "insert.mode")
        sets = ", ".join(f"{name} = excluded.{name}" for name in self._others)
        action = f"UPDATE SET {sets}" if sets else "NOTHING"
        return f" ON CONFLICT ({', '.join(self._keys)}) DO {action}"

    def _match(self, names: list[str], first: int) -> str:
        place = self._database.placeholder
        return " AND ".join(f"{name} = {place(number)}" for number, name in enumerate(names, first))

    def _assignments(self, names: list[str], first: int) -> str:
        place = self._database.placeholder
        return ", ".join(f"{name} = {place(number)}" for number, name in enumerate(names, first))
