"""SQL columns as an Avro schema, named and shaped as ksqlDB's sinks have it, and Avro schemas as SQL columns.

Every field is a union with null, by default null. A MAP is an array of entries with key and value: keys may be null in
SQL, which Avro's own maps cannot say, so that is what ksqlDB writes. Both forms are read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import orjson

from caudal.ksql import types
from caudal.ksql.errors import KsqlError
from caudal.ksql.schema import Column
from caudal.ksql.types import Base, SqlType

NAMESPACE = "io.confluent.ksql.avro_schemas"
DEFAULT_NAME = f"{NAMESPACE}.KsqlDataSourceSchema"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FULL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")

_SIMPLE: dict[Base, Any] = {
    Base.BOOLEAN: "boolean",
    Base.INTEGER: "int",
    Base.BIGINT: "long",
    Base.DOUBLE: "double",
    Base.STRING: "string",
    Base.BYTES: "bytes",
    Base.DATE: {"type": "int", "logicalType": "date"},
    Base.TIME: {"type": "int", "logicalType": "time-millis"},
    Base.TIMESTAMP: {"type": "long", "logicalType": "timestamp-millis"},
}
_SQL: dict[str, SqlType] = {
    "boolean": types.BOOLEAN,
    "int": types.INTEGER,
    "long": types.BIGINT,
    "float": types.DOUBLE,
    "double": types.DOUBLE,
    "string": types.STRING,
    "bytes": types.BYTES,
    "fixed": types.BYTES,
    "enum": types.STRING,
}
_LOGICAL: dict[str, SqlType] = {
    "date": types.DATE,
    "time-millis": types.TIME,
    "time-micros": types.TIME,
    "timestamp-millis": types.TIMESTAMP,
    "timestamp-micros": types.TIMESTAMP,
    "local-timestamp-millis": types.TIMESTAMP,
    "local-timestamp-micros": types.TIMESTAMP,
    "uuid": types.STRING,
}


def key_schema_name(source: str) -> str:
    """The name of the key's schema of a stream or table.

    >>> key_schema_name("DAILY_ORDERS")
    'io.confluent.ksql.avro_schemas.DailyOrdersKey'
    """
    return f"{NAMESPACE}.{''.join(part[:1].upper() + part[1:].lower() for part in source.split('_'))}Key"


def avro_schema(columns: Sequence[Column], wrapped: bool, name: str | None = None) -> Any:
    """
    >>> avro_schema([Column("ID", types.BIGINT)], False)
    'long'
    >>> avro_schema([Column("ID", types.BIGINT)], True)["fields"]
    [{'name': 'ID', 'type': ['null', 'long'], 'default': None}]
    """
    full = name or DEFAULT_NAME
    if not wrapped:
        return _schema(columns[0].type, full)
    return _record(full, [(column.name, column.type) for column in columns])


def avro_text(columns: Sequence[Column], wrapped: bool, name: str | None = None) -> str:
    return orjson.dumps(avro_schema(columns, wrapped, name)).decode()


def check_names(columns: Sequence[Column]) -> None:
    """KsqlError where a name cannot be one in Avro."""

    def check(name: str, type: SqlType) -> None:
        if _NAME.fullmatch(name) is None:
            raise KsqlError(f"Schema is not compatible with Avro: Illegal name of a field: {name}")
        for inner in (getattr(type, "element", None), getattr(type, "key", None), getattr(type, "value", None)):
            if isinstance(inner, SqlType):
                check("_", inner)
        for field in getattr(type, "fields", ()):
            check(field.name, field.type)

    for column in columns:
        check(field_name(column.name), column.type)


def is_full_name(name: str) -> bool:
    return _FULL_NAME.fullmatch(name) is not None


def field_name(name: str) -> str:
    return name.replace(".", "_")


def _record(full: str, fields: Sequence[tuple[str, SqlType]], **more: Any) -> dict[str, Any]:
    namespace, _, short = full.rpartition(".")
    record: dict[str, Any] = {"type": "record", "name": short}
    if namespace:
        record["namespace"] = namespace
    record["fields"] = [
        {"name": field_name(name), "type": ["null", _schema(type, f"{full}_{field_name(name)}")], "default": None}
        for name, type in fields
    ]
    return {**record, **more}


def _schema(type: SqlType, full: str) -> Any:
    if isinstance(type, types.Decimal):
        return {"type": "bytes", "logicalType": "decimal", "precision": type.precision, "scale": type.scale}
    if isinstance(type, types.Array):
        return {"type": "array", "items": ["null", _schema(type.element, full)]}
    if isinstance(type, types.Map):
        entry = _record(full, [])
        for name, inner, part in (("key", type.key, "MapKey"), ("value", type.value, "MapValue")):
            entry["fields"].append({"name": name, "type": ["null", _schema(inner, f"{full}_{part}")], "default": None})
        entry["connect.internal.type"] = "MapEntry"
        return {"type": "array", "items": entry, "connect.internal.type": "MapEntry"}
    if isinstance(type, types.Struct):
        return _record(full, [(field.name, field.type) for field in type.fields])
    return _SIMPLE[type.base]


# -- inference ---------------------------------------------------------------------------------------------------------


def sql_type(schema: Any, upper: bool = True) -> SqlType:
    """The SQL type of an Avro schema (as parsed JSON); KsqlError where there is none. `upper`: names in upper case."""
    return sql_type_with(schema, (), upper)


def sql_type_with(schema: Any, others: Sequence[Any], upper: bool = True) -> SqlType:
    """`others` are the schemas it refers to, theirs first."""
    inference = _Inference(upper)
    for other in others:
        inference.type(other, "")
    return inference.type(schema, "")


class _Inference:
    def __init__(self, upper: bool) -> None:
        self.upper = upper
        self.named: dict[str, Any] = {}
        self.open: list[str] = []

    def type(self, schema: Any, space: str) -> SqlType:
        if isinstance(schema, list):
            return self._union(schema, space)
        if isinstance(schema, str):
            if schema in _SQL:
                return _SQL[schema]
            full = schema if "." in schema or not space else f"{space}.{schema}"
            if full in self.open:
                raise KsqlError(f"The Avro schema refers to {full} inside of itself, which SQL has no type for.")
            if full not in self.named:
                raise KsqlError(f"The Avro schema has an unknown type: {schema}.")
            return self.type(self.named[full], space)
        return self._complex(schema, space)

    def _union(self, schema: list[Any], space: str) -> SqlType:
        branches = [branch for branch in schema if branch != "null"]
        if len(branches) != 1:
            shown = ", ".join(
                str(each.get("name", each.get("type")) if isinstance(each, dict) else each) for each in schema
            )
            raise KsqlError(f"The Avro schema has a union of several types, which SQL has no type for: {shown}.")
        return self.type(branches[0], space)

    def _complex(self, schema: dict[str, Any], space: str) -> SqlType:
        kind, logical = schema["type"], schema.get("logicalType")
        if logical == "decimal" and "precision" in schema:
            return types.decimal(schema["precision"], schema.get("scale", 0))
        if logical in _LOGICAL:
            return _LOGICAL[logical]
        if kind == "array":
            return self._array(schema, space)
        if kind == "map":
            return types.mapping(types.STRING, self.type(schema["values"], space))
        if kind in ("record", "error"):
            return self._record(schema, space)
        if kind in ("enum", "fixed"):
            self._remember(schema, space)
            return _SQL[kind]
        return self.type(kind, space)

    def _array(self, schema: dict[str, Any], space: str) -> SqlType:
        items = schema["items"]
        if (isinstance(items, dict) and items.get("connect.internal.type") == "MapEntry") or _is_entry(items):
            entry = {field["name"]: field["type"] for field in items["fields"]}
            inner = items.get("namespace", space)
            return types.mapping(self.type(entry["key"], inner), self.type(entry["value"], inner))
        return types.array(self.type(items, space))

    def _remember(self, schema: dict[str, Any], space: str) -> str:
        name = schema["name"]
        space = schema.get("namespace", space)
        full = name if "." in name or not space else f"{space}.{name}"
        self.named[full] = schema
        return str(full)

    def _record(self, schema: dict[str, Any], space: str) -> SqlType:
        full = self._remember(schema, space)
        if full in self.open:
            raise KsqlError(f"The Avro schema refers to {full} inside of itself, which SQL has no type for.")
        self.open.append(full)
        inner = full.rpartition(".")[0]
        fields = [
            (field["name"].upper() if self.upper else field["name"], self.type(field["type"], inner))
            for field in schema["fields"]
        ]
        self.open.pop()
        return types.struct(*fields)


def _is_entry(items: Any) -> bool:
    """Connect's entries of maps had a name of their own once."""
    return (
        isinstance(items, dict)
        and items.get("name") == "MapEntry"
        and [field["name"] for field in items.get("fields", ())] == ["key", "value"]
    )
