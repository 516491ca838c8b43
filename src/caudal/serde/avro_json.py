"""From JSON to the values of an Avro schema, for people who type records: dates and times in ISO 8601, decimals as text
or numbers, bytes in base64, which is how `caudal consume` shows them. A union takes the first branch that fits."""

from __future__ import annotations

import binascii
import datetime
import uuid
from base64 import b64decode
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

Convert = Callable[[Any], Any]


def from_json(schema: Any, value: Any, named: Mapping[str, Any] | None = None) -> Any:
    """`schema` as fastavro parsed it. ValueError where a text is not what its field needs; what is of another kind
    altogether stays as it is, for the writer to refuse."""
    if named is None:
        named = schema.get("__named_schemas", {}) if isinstance(schema, dict) else {}
    if isinstance(schema, list):
        return _union(schema, value, named)
    if isinstance(schema, str):
        if schema in named:
            return from_json(named[schema], value, named)
        return _bytes(value) if schema == "bytes" else value
    kind = schema["type"]
    if kind in ("record", "error") and isinstance(value, dict):
        return _record(schema, value, named)
    if kind == "array" and isinstance(value, list):
        return [from_json(schema["items"], item, named) for item in value]
    if kind == "map" and isinstance(value, dict):
        return {key: from_json(schema["values"], item, named) for key, item in value.items()}
    logical = _LOGICAL.get(schema.get("logicalType", ""))
    if logical is not None:
        return logical(value)
    if kind in ("bytes", "fixed"):
        return _bytes(value)
    return from_json(kind, value, named) if isinstance(kind, (dict, list)) else value


def _record(schema: Any, value: dict[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    fields = {field["name"]: field["type"] for field in schema["fields"]}
    made = {}
    for name, item in value.items():
        if name not in fields:
            raise ValueError(f"{schema['name']} has no field '{name}'")
        try:
            made[name] = from_json(fields[name], item, named)
        except ValueError as error:
            said = str(error)
            raise ValueError(said if said.startswith("the field") else f"the field '{name}': {said}") from None
    return made


def _union(schemas: list[Any], value: Any, named: Mapping[str, Any]) -> Any:
    if value is None:
        return None
    failure: ValueError | None = None
    for schema in schemas:
        if schema == "null":
            continue
        try:
            made = from_json(schema, value, named)
        except ValueError as error:
            failure = failure or error
            continue
        whole = {**schema, "__named_schemas": dict(named)} if isinstance(schema, dict) else schema
        if len(schemas) <= 2 or _fits(whole, made, named):
            return made
    if failure is not None:
        raise failure
    return value


def _fits(schema: Any, value: Any, named: Mapping[str, Any]) -> bool:
    from fastavro import validate

    known = named.get(schema, schema) if isinstance(schema, str) else schema
    return bool(validate(value, known, raise_errors=False))


def _bytes(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return b64decode(value, validate=True)
    except binascii.Error:
        raise ValueError(f"{value!r:.60} is not base64") from None


def _text(read: Callable[[str], Any], what: str) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return read(value)
        except (ValueError, InvalidOperation):
            raise ValueError(f"{value!r:.60} is not {what}") from None

    return convert


def _moment(text: str) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)


def _decimal(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return value
    return _text(Decimal, "a decimal number")(str(value))


_LOGICAL: dict[str, Convert] = {
    "date": _text(datetime.date.fromisoformat, "a date such as 2026-01-31"),
    "time-millis": _text(datetime.time.fromisoformat, "a time such as 12:30:00"),
    "time-micros": _text(datetime.time.fromisoformat, "a time such as 12:30:00"),
    "timestamp-millis": _text(_moment, "a moment such as 2026-01-31T12:30:00Z"),
    "timestamp-micros": _text(_moment, "a moment such as 2026-01-31T12:30:00Z"),
    "local-timestamp-millis": _text(datetime.datetime.fromisoformat, "a moment such as 2026-01-31T12:30:00"),
    "local-timestamp-micros": _text(datetime.datetime.fromisoformat, "a moment such as 2026-01-31T12:30:00"),
    "decimal": _decimal,
    "uuid": _text(uuid.UUID, "a UUID"),
}
