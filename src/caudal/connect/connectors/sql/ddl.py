"""Tables made, and columns added, from the schema of the records: `auto.create` and `auto.evolve`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy
from sqlalchemy import exc, types

from caudal.connect import data
from caudal.connect.connectors.sql.database import Database, reason
from caudal.connect.connectors.sql.tables import TableName
from caudal.connect.data import Kind, Schema
from caudal.connect.errors import ConnectError

_POSTGRES = {
    Kind.INT8: "SMALLINT", Kind.INT16: "SMALLINT", Kind.INT32: "INTEGER", Kind.INT64: "BIGINT", Kind.FLOAT32: "REAL",
    Kind.FLOAT64: "DOUBLE PRECISION", Kind.BOOLEAN: "BOOLEAN", Kind.STRING: "TEXT", Kind.BYTES: "BYTEA",
    Kind.MAP: "JSONB", Kind.STRUCT: "JSONB",
}  # fmt: skip
_SQLITE = {
    Kind.INT8: "INTEGER", Kind.INT16: "INTEGER", Kind.INT32: "INTEGER", Kind.INT64: "INTEGER", Kind.FLOAT32: "REAL",
    Kind.FLOAT64: "REAL", Kind.BOOLEAN: "BOOLEAN", Kind.STRING: "TEXT", Kind.BYTES: "BLOB",
    Kind.MAP: "TEXT", Kind.STRUCT: "TEXT", Kind.ARRAY: "TEXT",
}  # fmt: skip
_OTHERS = {
    Kind.INT8: "SMALLINT", Kind.INT16: "SMALLINT", Kind.INT32: "INTEGER", Kind.INT64: "BIGINT", Kind.FLOAT32: "REAL",
    Kind.FLOAT64: "DOUBLE PRECISION", Kind.BOOLEAN: "BOOLEAN", Kind.STRING: "VARCHAR(256)", Kind.BYTES: "BLOB",
    Kind.MAP: "JSON", Kind.STRUCT: "JSON", Kind.ARRAY: "JSON",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wanted:
    """A column that records need."""

    name: str
    schema: Schema
    is_key: bool


def existing_columns(database: Database, table: TableName) -> dict[str, types.TypeEngine[Any]] | None:
    """By name; None when there is no such table."""
    connection = database.connection()
    try:
        return {
            one["name"]: one["type"] for one in sqlalchemy.inspect(connection).get_columns(table.name, table.schema)
        }
    except exc.NoSuchTableError:
        return None
    except exc.SQLAlchemyError as error:
        raise database.translated(error) from error
    finally:
        database.end()


def create_table(database: Database, table: TableName, wanted: list[Wanted]) -> None:
    parts = [column_definition(database, one) for one in wanted]
    if keys := [database.quoted(one.name) for one in wanted if one.is_key]:
        parts.append(f"PRIMARY KEY ({', '.join(keys)})")
    _change(database, table, f"CREATE TABLE IF NOT EXISTS {database.qualified(*table)} ({', '.join(parts)})")


def add_columns(database: Database, table: TableName, missing: list[Wanted]) -> None:
    for one in missing:
        if not one.schema.optional and not one.schema.has_default:
            raise ConnectError(
                f"The column {one.name} cannot be added to the table {table}: it is required and has no default, so "
                "the rows that are there would have no value. Make it optional, or add it by hand."
            )
    if_missing = "IF NOT EXISTS " if database.is_postgres else ""
    for one in missing:
        column = column_definition(database, one)
        _change(database, table, f"ALTER TABLE {database.qualified(*table)} ADD COLUMN {if_missing}{column}")


def _change(database: Database, table: TableName, sql: str) -> None:
    """Another task may be doing the same: then the table is looked at again, by the caller."""
    connection = database.connection()
    try:
        connection.exec_driver_sql(database.literal(sql))
        connection.commit()
    except exc.SQLAlchemyError as error:
        database.end()
        words = reason(error).lower()
        if "already exists" in words or "duplicate" in words:
            return
        if database.is_passing(error):
            raise database.translated(error) from error
        raise ConnectError(f"The table {table} cannot be made to fit the records: {reason(error)}.") from error


def column_definition(database: Database, column: Wanted) -> str:
    schema = column.schema
    text = f"{database.quoted(column.name)} {sql_type(database, schema, column.is_key)}"
    if (
        schema.has_default
        and schema.default is not None
        and (default := _literal(database, schema.default)) is not None
    ):
        text += f" DEFAULT {default}"
    if column.is_key or not schema.optional:
        text += " NOT NULL"
    return text


def sql_type(database: Database, schema: Schema, is_key: bool = False) -> str:
    if schema.name == data.DECIMAL:
        if database.is_sqlite:
            return "NUMERIC"
        scale = int(schema.parameters.get("scale", "0"))
        if precision := schema.parameters.get("connect.decimal.precision"):
            return f"NUMERIC({precision}, {scale})"
        return "NUMERIC" if database.is_postgres else f"NUMERIC(38, {scale})"
    match schema.name:
        case data.DATE:
            return "DATE"
        case data.TIME:
            return "TIME"
        case data.TIMESTAMP:
            return "TIMESTAMP WITH TIME ZONE" if database.is_postgres else "TIMESTAMP"
    if database.is_postgres:
        if schema.kind is Kind.ARRAY:
            element = schema.values
            if element is None or element.kind in (Kind.ARRAY, Kind.MAP, Kind.STRUCT):
                return "JSONB"
            return f"{sql_type(database, element)}[]"
        return _POSTGRES[schema.kind]
    return (_SQLITE if database.is_sqlite else _OTHERS)[schema.kind]


def _literal(database: Database, value: Any) -> str | None:
    """None for what has no plain literal; then the column has no default."""
    match value:
        case bool():
            return ("TRUE" if value else "FALSE") if not database.is_sqlite else str(int(value))
        case int() | float() | Decimal():
            return str(value)
        case str():
            return "'" + value.replace("'", "''") + "'"
    return None
