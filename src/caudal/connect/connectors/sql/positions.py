"""Where a table or query is read from, and how the question is put: one class for each `mode`.

A position is the `offset` of a source record, with the JDBC source's names: `incrementing`, `timestamp` (milliseconds)
and `timestamp_nanos` (of the second). Modes with an incrementing column have a strict order, so their positions tell
exactly what was read, and pages can be asked for one by one with no cursor held open in between. A timestamp alone may
belong to many rows: its position moves on when the last of them is read, and a restart in between reads them again.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping as Properties
from dataclasses import dataclass
from typing import Any

from sqlalchemy import exc, types

from caudal.connect.connectors.sql.columns import UTC, Mapping, _datetime
from caudal.connect.connectors.sql.database import Database
from caudal.connect.connectors.sql.tables import Shape
from caudal.connect.errors import ConnectError

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
_LIMIT_DIALECTS = ("postgresql", "sqlite", "mysql", "mariadb")
_SQLITE_INSTANT = (
    "CASE typeof({0}) WHEN 'integer' THEN strftime('%Y-%m-%d %H:%M:%f', {0} / 1000.0, 'unixepoch') "
    "ELSE strftime('%Y-%m-%d %H:%M:%f', {0}) END"
)


@dataclass(frozen=True, slots=True)
class Ordering:
    """The columns that a mode goes by."""

    incrementing: str | None
    timestamps: tuple[str, ...]

    @property
    def is_exact(self) -> bool:
        return self.incrementing is not None

    @property
    def is_grouped(self) -> bool:
        """Whether several rows may share a position: then the next row tells whether it may move on."""
        return bool(self.timestamps) and not self.is_exact


def instant_offset(instant: datetime.datetime) -> tuple[int, int]:
    """Milliseconds since the epoch, and nanoseconds of the second."""
    since = instant - EPOCH
    return (
        (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000,
        since.microseconds * 1000,
    )


def offset_instant(offset: Properties[str, Any]) -> datetime.datetime | None:
    milliseconds = offset.get("timestamp")
    if milliseconds is None:
        return None
    nanos = offset.get("timestamp_nanos")
    seconds, rest = divmod(int(milliseconds), 1000)
    micros = rest * 1000 if nanos is None else int(nanos) // 1000
    return EPOCH + datetime.timedelta(seconds=seconds, microseconds=micros)


class Question:
    """The SQL for one table (or query) in one mode."""

    def __init__(
        self, database: Database, mapping: Mapping, source: str, is_query: bool, suffix: str, ordering: Ordering,
        shape: Shape | None, page: int,
    ) -> None:  # fmt: skip
        self._database = database
        self._mapping = mapping
        self._ordering = ordering
        self._suffix = database.literal(suffix)
        self._page = page
        can_limit = database.engine.dialect.name in _LIMIT_DIALECTS
        self.is_paged = ordering.is_exact and can_limit and not is_query and not suffix
        self._instant = self._instant_expression()
        # Whether the timestamp comes as a column of its own, behind the others.
        self.has_instant_column = bool(ordering.timestamps) and (database.is_sqlite or len(ordering.timestamps) > 1)
        source = database.literal(source)
        is_bare = is_query and not ordering.timestamps and not ordering.incrementing
        if is_query and not is_bare:
            # As a table of its own it may have conditions and joins; the planner sees through it.
            source = f"({source}) AS caudal_query"
            everything = "caudal_query.*"
        else:
            everything = f"{source}.*"
        columns = f"{everything}, {self._instant}" if self.has_instant_column else "*"
        self._select = source if is_bare else f"SELECT {columns} FROM {source}"
        self._naive = False
        if shape is not None and database.is_postgres:
            kinds = [column.type for one in ordering.timestamps if (column := shape.column(one)) is not None]
            self._naive = any(isinstance(kind, types.DateTime) and not kind.timezone for kind in kinds)

    def _instant_expression(self) -> str:
        database, names = self._database, self._ordering.timestamps
        parts = [database.literal(database.quoted(name)) for name in names]
        if database.is_sqlite:
            # SQLite compares texts; its own function makes one form of all that it accepts as a time.
            parts = [_SQLITE_INSTANT.format(part) for part in parts]
        return f"COALESCE({', '.join(parts)})" if len(parts) > 1 else "".join(parts)

    def sql(self, position: Properties[str, Any], end: datetime.datetime | None) -> tuple[str, list[Any]]:
        database, ordering = self._database, self._ordering
        values: list[Any] = []

        def parameter(value: Any) -> str:
            values.append(value)
            return database.placeholder(len(values))

        last_id = position.get("incrementing")
        since = offset_instant(position)
        conditions = []
        order = []
        number = database.literal(database.quoted(ordering.incrementing)) if ordering.incrementing else ""
        if ordering.timestamps:
            order.append(self._instant)
            if end is not None:
                conditions.append(f"{self._instant} < {parameter(self._bound(end))}")
            if since is not None and ordering.incrementing and last_id is not None:
                bound = self._bound(since)
                conditions.append(
                    f"({self._instant} > {parameter(bound)} OR "
                    f"({self._instant} = {parameter(bound)} AND {number} > {parameter(last_id)}))"
                )
            elif since is not None:
                conditions.append(f"{self._instant} > {parameter(self._bound(since))}")
            else:
                conditions.append(f"{self._instant} IS NOT NULL")
        elif ordering.incrementing and last_id is not None:
            conditions.append(f"{number} > {parameter(last_id)}")
        elif ordering.incrementing:
            conditions.append(f"{number} IS NOT NULL")
        if ordering.incrementing:
            order.append(number)
        sql = self._select
        if conditions:
            sql += " WHERE " + " AND ".join(conditions)
        if order:
            sql += " ORDER BY " + ", ".join(f"{one} ASC" for one in order)
        if self.is_paged:
            sql += f" LIMIT {self._page}"
        if self._suffix:
            sql += " " + self._suffix
        return sql, values

    def _bound(self, instant: datetime.datetime) -> Any:
        """As this database compares it."""
        database = self._database
        local = instant.astimezone(self._mapping.zone).replace(tzinfo=None)
        if database.is_sqlite:
            return local.strftime("%Y-%m-%d %H:%M:%S.") + f"{local.microsecond // 1000:03}"
        if database.is_postgres:
            return local if self._naive else instant
        return local

    def now(self) -> datetime.datetime:
        """By the database's clock: its timestamps are its own."""
        database = self._database
        try:
            if database.is_sqlite:
                (value,) = database.cursor("SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')").fetchone()
                return datetime.datetime.fromisoformat(value).replace(tzinfo=UTC)
            if database.is_postgres:
                (value,) = database.cursor("SELECT clock_timestamp()").fetchone()
                return value.astimezone(UTC)  # type: ignore[no-any-return]
            (value,) = database.cursor("SELECT CURRENT_TIMESTAMP").fetchone()
        except (exc.SQLAlchemyError, database.dialect.loaded_dbapi.Error) as error:
            raise database.translated(error) from error
        instant = _datetime(value)
        return instant.astimezone(UTC) if instant.tzinfo else instant.replace(tzinfo=self._mapping.zone).astimezone(UTC)


def check_columns(shape: Shape, ordering: Ordering, where: str, must_not_be_null: bool) -> None:
    """Raises ConnectError for columns that are missing, of another type, or may be null."""
    for name in (*((ordering.incrementing,) if ordering.incrementing else ()), *ordering.timestamps):
        if shape.column(name) is None:
            raise ConnectError(f"{where} has no column {name}: {_property(name, ordering)} names one that it has not.")
    if ordering.incrementing is not None:
        column = shape.column(ordering.incrementing)
        assert column is not None
        is_whole = column.schema.kind.value.startswith("int") and column.schema.name is None
        if not is_whole and not (column.schema.parameters.get("scale") == "0"):
            raise ConnectError(
                f"The column {column.name} of {_inside(where)} is no whole number: "
                "incrementing.column.name needs one that grows."
            )
        if must_not_be_null and column.is_nullable:
            raise _nullable(column.name, where)
    stamps = [shape.column(name) for name in ordering.timestamps]
    for stamp in stamps:
        if stamp is not None and stamp.type is not None and not isinstance(stamp.type, types.DateTime):
            raise ConnectError(
                f"The column {stamp.name} of {_inside(where)} is no timestamp: timestamp.column.name needs one that is."
            )
    if must_not_be_null and stamps and all(stamp is not None and stamp.is_nullable for stamp in stamps):
        raise _nullable(", ".join(ordering.timestamps), where)


def _property(name: str, ordering: Ordering) -> str:
    return "incrementing.column.name" if name == ordering.incrementing else "timestamp.column.name"


def _inside(where: str) -> str:
    return where[0].lower() + where[1:]


def _nullable(name: str, where: str) -> ConnectError:
    return ConnectError(
        f"The column {name} of {_inside(where)} may be null, and such rows would never be read: "
        "declare it NOT NULL, or set validate.non.null=false."
    )
