"""Which tables a source reads, and what a table or query looks like: its columns, its schema, its key."""

from __future__ import annotations

import re
from collections.abc import Mapping as Properties
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy
from sqlalchemy import exc, types
from sqlalchemy.engine.interfaces import ReflectedColumn

from caudal.connect.connectors.sql.columns import Column, Mapping, schema_of_value, zone_of
from caudal.connect.connectors.sql.database import Database
from caudal.connect.data import Field, Kind, Schema
from caudal.connect.errors import ConnectError

_SYSTEM_SCHEMAS = ("information_schema", "pg_catalog", "pg_toast", "sys", "mysql", "performance_schema")


class TableName(NamedTuple):
    schema: str | None  # None: the database has none (SQLite)
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass(frozen=True, slots=True)
class Shape:
    """What rows look like: as long as this stays the same object, so does the schema of the records."""

    columns: tuple[Column, ...]
    schema: Schema
    primary_key: tuple[str, ...] = ()
    incrementing: str | None = None  # the column that numbers its rows by itself
    indexes: Properties[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, name: str, columns: tuple[Column, ...], primary_key: tuple[str, ...] = (), incrementing: str | None = None,
        doc: str | None = None,
    ) -> Shape:  # fmt: skip
        schema = Schema(Kind.STRUCT, name=name, doc=doc, fields=tuple(Field(one.name, one.schema) for one in columns))
        return cls(columns, schema, primary_key, incrementing, {one.name: at for at, one in enumerate(columns)})

    def column(self, name: str) -> Column | None:
        at = self.indexes.get(name)
        return None if at is None else self.columns[at]


def mapping_of(database: Database, config: Properties[str, Any]) -> Mapping:
    return Mapping(
        database.is_postgres, database.is_sqlite, config.get("numeric.mapping") or "none",
        zone_of(config["db.timezone"]),
    )  # fmt: skip


def find_tables(database: Database, config: Properties[str, Any]) -> list[TableName]:
    """The tables that the configuration asks for and that there are, by name."""
    connection = database.connection()
    try:
        inspector = sqlalchemy.inspect(connection)
        found = []
        for schema in _schemas(database, inspector, config["schema.pattern"]):
            found += [TableName(schema, name) for name in _names(database, inspector, schema, config["table.types"])]
    except exc.SQLAlchemyError as error:
        raise database.translated(error) from error
    finally:
        database.end()
    catalogue = config.get("catalog.pattern") or database.url.database
    wanted, unwanted = set(config["table.whitelist"]), set(config["table.blacklist"])

    def is_among(table: TableName, names: set[str]) -> bool:
        return not names.isdisjoint((table.name, str(table), f"{catalogue}.{table}"))

    return sorted(
        table for table in found
        if (is_among(table, wanted) if wanted else not is_among(table, unwanted))
    )  # fmt: skip


def _schemas(database: Database, inspector: sqlalchemy.Inspector, pattern: str | None) -> list[str | None]:
    if database.is_sqlite:
        return [None]
    names = [name for name in inspector.get_schema_names() if name not in _SYSTEM_SCHEMAS]
    if pattern:
        like = re.escape(pattern).replace("%", ".*").replace("_", ".").replace(r"\%", ".*").replace(r"\_", ".")
        names = [name for name in names if re.fullmatch(like, name)]
    return list(names)


def _names(database: Database, inspector: sqlalchemy.Inspector, schema: str | None, kinds: list[str]) -> list[str]:
    names: list[str] = []
    wanted = {kind.upper() for kind in kinds}
    if wanted & {"TABLE", "PARTITIONED TABLE"}:
        names += inspector.get_table_names(schema)
        if database.is_postgres:
            # A partition's rows are seen through its table; seen twice they would be read twice.
            parts = database.cursor(
                "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
                "WHERE relispartition AND nspname = %s",
                [schema],
            )
            hidden = {name for (name,) in parts.fetchall()}
            names = [name for name in names if name not in hidden]
    if "VIEW" in wanted:
        names += inspector.get_view_names(schema)
    if wanted & {"VIEW", "MATERIALIZED VIEW"} and database.is_postgres:
        names += inspector.get_materialized_view_names(schema)
    # What Connect keeps for itself (the sink's offsets) is nobody's data.
    return [name for name in names if not name.startswith("_caudal_connect_")]


def table_shape(database: Database, table: TableName, mapping: Mapping) -> Shape:
    """Raises ConnectError when the table is not there."""
    connection = database.connection()
    try:
        inspector = sqlalchemy.inspect(connection)
        described = inspector.get_columns(table.name, table.schema)
        key = tuple(inspector.get_pk_constraint(table.name, table.schema)["constrained_columns"])
        try:
            doc = inspector.get_table_comment(table.name, table.schema)["text"]
        except NotImplementedError:
            doc = None
    except exc.NoSuchTableError:
        raise ConnectError(f"The table {table} does not exist in {database.where} (any more).") from None
    except exc.SQLAlchemyError as error:
        raise database.translated(error) from error
    finally:
        database.end()
    incrementing = _incrementing(database, described, key)
    columns = []
    for one in described:
        # SQLite says that the number of a row may be null, which it never is.
        nullable = one["nullable"] and not (database.is_sqlite and one["name"] == incrementing)
        columns.append(mapping.column(one["name"], one["type"], nullable, one["default"], one.get("comment")))
    return Shape.of(table.name, tuple(columns), key, incrementing, doc)


def _incrementing(database: Database, described: list[ReflectedColumn], key: tuple[str, ...]) -> str | None:
    """The one column that the database itself numbers."""
    if database.is_sqlite:
        kinds = {one["name"]: one["type"] for one in described}
        return key[0] if len(key) == 1 and isinstance(kinds[key[0]], types.Integer) else None
    found = [
        one["name"] for one in described
        if one.get("identity") or str(one["default"] or "").startswith("nextval(") or one.get("autoincrement") is True
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None


def query_shape(
    database: Database, description: Any, rows: list[tuple[Any, ...]], name: str, mapping: Mapping
) -> Shape:
    """Of a query's result. PostgreSQL tells its types; elsewhere the first rows have to, and all may be null."""
    columns = []
    kinds = _types_of_query(database, description) if database.is_postgres else {}
    for at, described in enumerate(description):
        if database.is_postgres:
            columns.append(mapping.column(described[0], kinds[at], True))
        else:
            value = next((row[at] for row in rows if row[at] is not None), None)
            schema, read = schema_of_value(value)
            columns.append(Column(described[0], schema.as_optional(), read))
    return Shape.of(name, tuple(columns))


def _types_of_query(database: Database, description: Any) -> dict[int, types.TypeEngine[Any]]:
    """By position: PostgreSQL's names of types, read as SQLAlchemy reads those of a table's columns."""
    names = {}
    cursor = database.cursor(
        "SELECT oid, format_type(oid, NULL) FROM pg_type WHERE oid = ANY(%s)", [[one.type_code for one in description]]
    )
    names = dict(cursor.fetchall())
    found = {}
    for at, one in enumerate(description):
        name = names.get(one.type_code, "text")
        base = name.removesuffix("[]")
        known = database.dialect.ischema_names.get(base.replace("character varying", "varchar"))  # type: ignore[attr-defined]
        type: types.TypeEngine[Any]
        if base == "numeric":
            type = types.Numeric(one.precision, one.scale)
        elif base == "timestamp with time zone":
            type = types.DateTime(timezone=True)
        elif base == "time with time zone":
            type = types.Time(timezone=True)
        else:
            type = known() if known is not None and not issubclass(known, types.ARRAY) else types.String()
        found[at] = types.ARRAY(type) if name.endswith("[]") else type
    return found
