"""The shape of an Avro schema that fastavro has parsed; tags are in a field's `confluent:tags`."""

from __future__ import annotations

from typing import Any

from caudal.serde.rules.shapes import AnyOf, Field, ListOf, MapOf, Record, Shape

_LOGICAL = {"date", "time-millis", "time-micros", "timestamp-millis", "timestamp-micros", "decimal", "uuid"}


def avro_shape(schema: Any) -> Shape:
    names = dict(schema.get("__named_schemas", {})) if isinstance(schema, dict) else {}
    return _shape(schema, names, {})


def _shape(schema: Any, names: dict[str, Any], made: dict[str, Record]) -> Shape:
    if isinstance(schema, list):
        return AnyOf("COMBINED", [_shape(each, names, made) for each in schema if each != "null"])
    if isinstance(schema, str):
        if schema in made:
            return made[schema]
        return _shape(names[schema], names, made) if schema in names else Shape(schema.upper())
    kind = schema["type"]
    if kind in ("record", "error"):
        return _record(schema, names, made)
    if kind == "array":
        return ListOf("ARRAY", _shape(schema["items"], names, made))
    if kind == "map":
        return MapOf("MAP", _shape(schema["values"], names, made))
    if isinstance(kind, (dict, list)):
        return _shape(kind, names, made)
    return _Logical(kind.upper()) if schema.get("logicalType") in _LOGICAL else Shape(kind.upper())


class _Logical(Shape):
    """A date, a decimal: not of the Python type that its Avro type has."""

    def fits(self, value: Any) -> bool:
        return not isinstance(value, (dict, list))


def _record(schema: Any, names: dict[str, Any], made: dict[str, Record]) -> Record:
    name = schema["name"]
    if name in made:
        return made[name]
    record = made[name] = Record("RECORD", name)
    for each in schema["fields"]:
        tags = frozenset(each.get("confluent:tags") or ())
        known = Field(each["name"], f"{name}.{each['name']}", tags)
        record.fields[each["name"]] = known, _shape(each["type"], names, made)
    return record
