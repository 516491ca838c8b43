"""Connect's schemas as Avro's, by the rules of Confluent's AvroData, and the shapes of their values for fastavro.

What Avro does not have is kept in properties: `connect.name`, `connect.version`, `connect.doc`, `connect.parameters`,
`connect.default`, `connect.type`. Optional is a union with null. A map whose keys are not strings is an array of
records named MapEntry. A struct named io.confluent.connect.avro.Union is a union.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from caudal.connect.converters import logical
from caudal.connect.converters.registry import is_string_map
from caudal.connect.converters.shaping import Member, Shape, Shaping, listed, mapped, nullable, plain, struct_shape
from caudal.connect.data import DATE, DECIMAL, TIME, TIMESTAMP, Kind, Schema
from caudal.connect.errors import DataError

NAMESPACE = "io.confluent.connect.avro"
DEFAULT_NAME = f"{NAMESPACE}.ConnectDefault"
MAP_ENTRY = f"{NAMESPACE}.MapEntry"
UNION = f"{NAMESPACE}.Union"
ENUM = f"{NAMESPACE}.Enum"
FIXED_SIZE = "connect.fixed.size"
PRECISION = "connect.decimal.precision"
DEFAULT_PRECISION = 64
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PRIMITIVES = {
    Kind.INT8: "int",
    Kind.INT16: "int",
    Kind.INT32: "int",
    Kind.INT64: "long",
    Kind.FLOAT32: "float",
    Kind.FLOAT64: "double",
    Kind.BOOLEAN: "boolean",
    Kind.STRING: "string",
    Kind.BYTES: "bytes",
}
_LOGICAL = {
    (DATE, Kind.INT32): "date",
    (TIME, Kind.INT32): "time-millis",
    (TIMESTAMP, Kind.INT64): "timestamp-millis",
}


class AvroWriter:
    """Makes the Avro schema of one Connect schema; a named struct that comes again is named only."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._meta: bool = options.get("connect.meta.data", True)
        self._enhanced: bool = options.get("enhanced.avro.schema.support", False)
        self._scrub: bool = options.get("scrub.invalid.names", False)
        self._named: dict[str, Schema] = {}

    def schema(self, schema: Schema, namespace: str = "") -> Any:
        base = self._base(schema, namespace)
        if isinstance(base, list) or not schema.optional:
            return base
        return [base, "null"] if _has_default(schema) else ["null", base]

    def field_name(self, name: str) -> str:
        if _NAME.fullmatch(name):
            return name
        if not self._scrub:
            raise DataError(f"'{name}' cannot be a name in Avro; set scrub.invalid.names=true to have it changed.")
        return re.sub(r"^(?=[0-9])", "_", re.sub(r"[^A-Za-z0-9_]", "_", name)) or "_"

    def _base(self, schema: Schema, namespace: str) -> Any:
        match schema.kind:
            case Kind.STRUCT if schema.name == UNION:
                members = [self._base(field.schema, namespace) for field in schema.fields]
                return ["null", *members] if schema.optional else members
            case Kind.STRUCT:
                return self._record(schema, namespace)
            case Kind.ARRAY:
                assert schema.values is not None
                base = {"type": "array", "items": self.schema(schema.values, namespace)}
            case Kind.MAP:
                base = self._map(schema, namespace)
            case Kind.STRING if self._enhanced and ENUM in schema.parameters:
                return self._enum(schema)
            case Kind.BYTES if FIXED_SIZE in schema.parameters and schema.name != DECIMAL:
                return self._fixed(schema)
            case _:
                base = {"type": _PRIMITIVES[schema.kind]}
        base |= self._properties(schema)
        base |= _logical_type(schema)
        return base["type"] if len(base) == 1 else base

    def _properties(self, schema: Schema) -> dict[str, Any]:
        if not self._meta:
            return {}
        found: dict[str, Any] = {}
        if schema.doc is not None:
            found["connect.doc"] = schema.doc
        if schema.version is not None:
            found["connect.version"] = schema.version
        if schema.parameters:
            found["connect.parameters"] = dict(schema.parameters)
        if _has_default(schema):
            found["connect.default"] = json_default(schema, schema.default)
        if schema.name is not None:
            found["connect.name"] = schema.name
        if schema.kind in (Kind.INT8, Kind.INT16):
            found["connect.type"] = schema.kind.value
        return found

    def _record(self, schema: Schema, namespace: str) -> Any:
        full = self._full_name(schema)
        known = self._named.get(full)
        if known is not None:
            if known.as_optional() != schema.as_optional():
                raise DataError(f"Two structs of the schema are named {full}, and they are not the same.")
            return full
        self._named[full] = schema
        space, _, name = full.rpartition(".")
        base: dict[str, Any] = {"type": "record", "name": name}
        if space or namespace:
            base["namespace"] = space
        base["fields"] = [self._field(field.name, field.schema, space) for field in schema.fields]
        return base | self._properties(schema)

    def _field(self, name: str, schema: Schema, namespace: str) -> dict[str, Any]:
        field = {"name": self.field_name(name), "type": self.schema(schema, namespace)}
        if _has_default(schema):
            field["default"] = json_default(schema, schema.default)
        elif schema.optional:
            field["default"] = None
        return field

    def _full_name(self, schema: Schema) -> str:
        if schema.name is not None:
            return ".".join(self.field_name(part) for part in schema.name.split("."))
        index, name = 1, DEFAULT_NAME
        while name in self._named and self._named[name].as_optional() != schema.as_optional():
            index += 1
            name = f"{DEFAULT_NAME}{index}"
        return name

    def _map(self, schema: Schema, namespace: str) -> dict[str, Any]:
        assert schema.keys is not None and schema.values is not None
        if is_string_map(schema):
            return {"type": "map", "values": self.schema(schema.values, namespace)}
        full, marked = (MAP_ENTRY, {}) if schema.name is None else (schema.name, {"connect.internal.type": "MapEntry"})
        index, name = 1, full
        while name in self._named:  # another map's entries
            index += 1
            name = f"{full}{index}"
        self._named[name] = schema
        space, _, short = name.rpartition(".")
        fields = [self._field("key", schema.keys, space), self._field("value", schema.values, space)]
        if name != MAP_ENTRY:
            marked = {"connect.internal.type": "MapEntry"}
        entry = {"type": "record", "name": short, "namespace": space, "fields": fields, **marked}
        return {"type": "array", "items": entry}

    def _enum(self, schema: Schema) -> Any:
        name = schema.parameters[ENUM]
        if name in self._named:
            return name
        self._named[name] = schema
        symbols = [value for key, value in schema.parameters.items() if key.startswith(f"{ENUM}.")]
        space, _, short = name.rpartition(".")
        return {"type": "enum", "name": short, "namespace": space, "symbols": symbols} | self._properties(schema)

    def _fixed(self, schema: Schema) -> Any:
        size = int(schema.parameters[FIXED_SIZE])
        name = schema.name or f"{NAMESPACE}.Fixed{size}"
        if name in self._named:
            return name
        self._named[name] = schema
        space, _, short = name.rpartition(".")
        return {"type": "fixed", "name": short, "namespace": space, "size": size} | self._properties(schema)


def _has_default(schema: Schema) -> bool:
    return schema.has_default and schema.default is not None


def precision_of(schema: Schema) -> int:
    return int(schema.parameters.get(PRECISION, DEFAULT_PRECISION))


def is_native_decimal(schema: Schema) -> bool:
    """Whether Avro's decimal can have this scale; else the bytes are ours, and `connect.name` says what they are."""
    return 0 <= logical.scale_of(schema) <= precision_of(schema)


def _logical_type(schema: Schema) -> dict[str, Any]:
    if schema.name == DECIMAL and schema.kind is Kind.BYTES:
        shown: dict[str, Any] = {"scale": logical.scale_of(schema), "precision": precision_of(schema)}
        return shown | {"logicalType": "decimal"} if is_native_decimal(schema) else shown
    found = _LOGICAL.get((schema.name or "", schema.kind))
    return {} if found is None else {"logicalType": found}


def json_default(schema: Schema, value: Any) -> Any:
    """A default as Avro's schemas have it: bytes are text of Latin letters."""
    if value is None:
        return None
    match schema.kind:
        case Kind.STRUCT:
            return {field.name: json_default(field.schema, value.get(field.name)) for field in schema.fields}
        case Kind.ARRAY:
            assert schema.values is not None
            return [json_default(schema.values, item) for item in value]
        case Kind.MAP:
            assert schema.keys is not None and schema.values is not None
            if is_string_map(schema):
                return {key: json_default(schema.values, item) for key, item in value.items()}
            return [
                {"key": json_default(schema.keys, key), "value": json_default(schema.values, item)}
                for key, item in value.items()
            ]
        case Kind.BYTES:
            raw = logical.bytes_of_decimal(value, logical.scale_of(schema)) if schema.name == DECIMAL else value
            return bytes(raw).decode("latin-1")
    match schema.name:
        case name if name == DATE:
            return logical.days_of(value)
        case name if name == TIME:
            return logical.day_milliseconds_of(value)
        case name if name == TIMESTAMP:
            return logical.milliseconds_of(value)
    return value


# ---------------------------------------------------------------------- values to fastavro


def writing(schema: Schema, writer: AvroWriter) -> Shaping:
    inner = _writing_inner(schema, writer)
    default = inner.shape(schema.default) if _has_default(schema) else None
    return nullable(schema, inner, default=default)


def _writing_inner(schema: Schema, writer: AvroWriter) -> Shaping:
    match schema.kind:
        case Kind.STRUCT if schema.name == UNION:
            return Shaping(_union_writer(schema, writer))
        case Kind.STRUCT:
            members = [
                Member(field.name, writer.field_name(field.name), writing(field.schema, writer))
                for field in schema.fields
            ]
            return Shaping(struct_shape(members, schema.name or "The struct"))
        case Kind.ARRAY:
            assert schema.values is not None
            return Shaping(listed(writing(schema.values, writer)))
        case Kind.MAP:
            assert schema.keys is not None and schema.values is not None
            keys, values = writing(schema.keys, writer), writing(schema.values, writer)
            return Shaping(mapped(keys, values) if is_string_map(schema) else entries_of(keys.shape, values.shape))
    if schema.name == DECIMAL and schema.kind is Kind.BYTES:
        return _decimal_writer(schema)
    found = _LOGICAL.get((schema.name or "", schema.kind))
    if found == "date":
        return Shaping(_checked(logical.days_of), "x.__class__ is date")
    if found == "time-millis":
        return Shaping(_checked(logical.day_milliseconds_of), "x.__class__ is time")
    if found == "timestamp-millis":
        return Shaping(logical.as_utc, "x.__class__ is datetime and x.tzinfo is UTC")
    return plain(schema.kind)


def _checked(check: Shape) -> Shape:
    """fastavro takes Python's own dates and times; others are refused as everywhere."""

    def checked(value: Any) -> Any:
        check(value)
        return value

    return checked


def _decimal_writer(schema: Schema) -> Shaping:
    """To bytes at once, which fastavro and our writer both take."""
    scale, precision = logical.scale_of(schema), precision_of(schema)
    if not is_native_decimal(schema):
        return Shaping(lambda value: logical.bytes_of_decimal(value, scale))
    largest = 10**precision

    def decimal(value: Any) -> bytes:
        whole = logical.unscaled_of(value, scale)
        if not -largest < whole < largest:
            raise DataError(f"The decimal {value} has more digits than its schema's precision, {precision}.")
        return logical.bytes_of_whole(whole)

    return Shaping(decimal)


def entries_of(key: Shape, item: Shape) -> Shape:
    """A map whose keys are not strings, as a list of records."""

    def entries(value: Any) -> list[dict[str, Any]]:
        if not isinstance(value, dict):
            raise DataError(f"{type(value).__name__} is not a dict, which a map is.")
        return [{"key": key(each), "value": item(found)} for each, found in value.items()]

    return entries


def _union_writer(schema: Schema, writer: AvroWriter) -> Shape:
    members: dict[str, tuple[Shape, str | None]] = {}
    for field in schema.fields:
        branch = AvroWriter({}).schema(field.schema)
        branch = next((each for each in branch if each != "null"), branch) if isinstance(branch, list) else branch
        # fastavro is told the branch where it can be named; else it finds the first that fits.
        named = branch if isinstance(branch, str) else None
        if field.schema.kind is Kind.STRUCT:
            named = writer._full_name(field.schema)
        members[field.name] = writing(field.schema, writer).shape, named

    def union(value: Any) -> Any:
        given = [(name, item) for name, item in value.items() if item is not None] if isinstance(value, dict) else []
        if len(given) != 1 or given[0][0] not in members:
            raise DataError("A union is a dict with one field that is not null.")
        shape, named = members[given[0][0]]
        return shape(given[0][1]) if named is None else (named, shape(given[0][1]))

    return union
