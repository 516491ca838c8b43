"""SQL columns as a JSON Schema, as Connect writes it (`connect.type` keeps what JSON's types cannot say), and JSON
Schemas as SQL columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from caudal.ksql import types
from caudal.ksql.errors import KsqlError
from caudal.ksql.schema import Column
from caudal.ksql.types import Base, SqlType

_CONNECT = "org.apache.kafka.connect.data."
_SIMPLE: dict[Base, dict[str, Any]] = {
    Base.BOOLEAN: {"type": "boolean"},
    Base.INTEGER: {"type": "integer", "connect.type": "int32"},
    Base.BIGINT: {"type": "integer", "connect.type": "int64"},
    Base.DOUBLE: {"type": "number", "connect.type": "float64"},
    Base.STRING: {"type": "string"},
    Base.BYTES: {"type": "string", "connect.type": "bytes"},
    Base.DATE: {"type": "integer", "title": f"{_CONNECT}Date", "connect.version": 1, "connect.type": "int32"},
    Base.TIME: {"type": "integer", "title": f"{_CONNECT}Time", "connect.version": 1, "connect.type": "int32"},
    Base.TIMESTAMP: {"type": "integer", "title": f"{_CONNECT}Timestamp", "connect.version": 1, "connect.type": "int64"},
}
_TITLED = {f"{_CONNECT}Date": types.DATE, f"{_CONNECT}Time": types.TIME, f"{_CONNECT}Timestamp": types.TIMESTAMP}
_INTEGERS = {"int8": types.INTEGER, "int16": types.INTEGER, "int32": types.INTEGER, "int64": types.BIGINT}


def json_schema(columns: Sequence[Column], wrapped: bool, name: str | None = None) -> dict[str, Any]:
    """
    >>> json_schema([Column("ID", types.STRING)], True)
    {'type': 'object', 'properties': {'ID': {'connect.index': 0, 'oneOf': [{'type': 'null'}, {'type': 'string'}]}}}
    """
    if not wrapped:
        schema = _schema(columns[0].type)
        return schema if name is None else {**schema, "title": name}
    made = _object([(column.name, column.type) for column in columns])
    return made if name is None else {**made, "title": name}


def json_schema_text(columns: Sequence[Column], wrapped: bool, name: str | None = None) -> str:
    return orjson.dumps(json_schema(columns, wrapped, name)).decode()


def _optional(type: SqlType) -> dict[str, Any]:
    return {"oneOf": [{"type": "null"}, _schema(type)]}


def _object(fields: Sequence[tuple[str, SqlType]]) -> dict[str, Any]:
    properties = {name: {"connect.index": place, **_optional(type)} for place, (name, type) in enumerate(fields)}
    return {"type": "object", "properties": properties}


def _schema(type: SqlType) -> dict[str, Any]:
    if isinstance(type, types.Decimal):
        parameters = {"scale": str(type.scale), "connect.decimal.precision": str(type.precision)}
        return {
            "type": "number",
            "title": f"{_CONNECT}Decimal",
            "connect.version": 1,
            "connect.type": "bytes",
            "connect.parameters": parameters,
        }
    if isinstance(type, types.Array):
        return {"type": "array", "items": _optional(type.element)}
    if isinstance(type, types.Map):
        return {"type": "object", "connect.type": "map", "additionalProperties": _optional(type.value)}
    if isinstance(type, types.Struct):
        return _object([(field.name, field.type) for field in type.fields])
    return dict(_SIMPLE[type.base])


# -- inference ---------------------------------------------------------------------------------------------------------


def sql_type(schema: Any, upper: bool = True, documents: Mapping[str, Any] | None = None) -> SqlType:
    """The SQL type of a JSON Schema (as parsed JSON). `documents`: those it refers to, by name."""
    return _Inference(schema, upper, documents or {}).type(schema, ())


class _Inference:
    def __init__(self, root: Any, upper: bool, documents: Mapping[str, Any]) -> None:
        self.root = root
        self.upper = upper
        self.documents = documents

    def type(self, schema: Any, open: tuple[str, ...]) -> SqlType:
        if not isinstance(schema, dict):
            raise KsqlError("The JSON Schema allows anything somewhere, which SQL has no type for.")
        reference = schema.get("$ref")
        if reference is not None:
            if reference in open:
                raise KsqlError(f"The JSON Schema refers to {reference} inside of itself, which SQL has no type for.")
            return self.type(self._referred(reference), (*open, reference))
        for choice in ("oneOf", "anyOf"):
            if choice in schema:
                return self._one(schema[choice], open)
        kind = schema.get("type")
        if isinstance(kind, list):
            kinds = [each for each in kind if each != "null"]
            if len(kinds) != 1:
                raise KsqlError(f"The JSON Schema has several types, which SQL has no type for: {', '.join(kind)}.")
            kind = kinds[0]
        return self._of_kind(kind, schema, open)

    def _one(self, choices: list[Any], open: tuple[str, ...]) -> SqlType:
        others = [each for each in choices if not (isinstance(each, dict) and each.get("type") == "null")]
        if len(others) != 1:
            raise KsqlError("The JSON Schema has a choice of several types, which SQL has no type for.")
        return self.type(others[0], open)

    def _of_kind(self, kind: Any, schema: dict[str, Any], open: tuple[str, ...]) -> SqlType:
        connect, title = str(schema.get("connect.type")), schema.get("title")
        if title == f"{_CONNECT}Decimal":
            parameters = schema.get("connect.parameters", {})
            return types.decimal(int(parameters.get("connect.decimal.precision", 64)), int(parameters.get("scale", 0)))
        if title in _TITLED:
            return _TITLED[title]
        if kind == "boolean":
            return types.BOOLEAN
        if kind == "integer":
            return _INTEGERS.get(connect, types.BIGINT)
        if kind == "number":
            return _INTEGERS.get(connect, types.DOUBLE)
        if kind == "string" or (kind is None and "enum" in schema):
            return types.BYTES if connect == "bytes" else types.STRING
        if kind == "array":
            return types.array(self.type(schema.get("items"), open))
        if kind == "object" or "properties" in schema:
            return self._object(schema, open)
        raise KsqlError(f"The JSON Schema has a type that SQL does not have: {kind}.")

    def _object(self, schema: dict[str, Any], open: tuple[str, ...]) -> SqlType:
        properties = schema.get("properties")
        if schema.get("connect.type") == "map" or not properties:
            return types.mapping(types.STRING, self.type(schema.get("additionalProperties"), open))
        ordered = sorted(properties.items(), key=lambda item: _index(item[1]))
        return types.struct(
            *((name.upper() if self.upper else name, self.type(inner, open)) for name, inner in ordered)
        )

    def _referred(self, reference: str) -> Any:
        document, _, path = reference.partition("#")
        found = self.root if not document else self.documents.get(document)
        for part in path.strip("/").split("/") if path.strip("/") else ():
            found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
        if found is None:
            raise KsqlError(f"The JSON Schema refers to {reference}, which is not there.")
        return found


def _index(schema: Any) -> int:
    found = schema.get("connect.index") if isinstance(schema, dict) else None
    return found if isinstance(found, int) else 1 << 30
