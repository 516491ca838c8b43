"""Connect's schemas as .proto files, near to Confluent's ProtobufData, and their values as the dicts of our serde.

What Protobuf does not have is kept in `confluent.field_meta` and `confluent.message_meta`: Confluent's own parameters
(`connect.type`, `precision`, `scale`), and ours for what it loses (`connect.name`, `connect.version`,
`connect.parameters`, `connect.default`, `connect.required`, `connect.optional`); fields without any need none. A struct
named io.confluent.connect.protobuf.Union.X is a oneof. Null in an array or map field is an empty one: Protobuf has no
other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from caudal.connect.converters import logical
from caudal.connect.converters.json_schemas import JsonStyle
from caudal.connect.converters.json_schemas import writing as json_writing
from caudal.connect.converters.shaping import Member, Shape, Shaping, listed, mapped, nullable, plain, struct_shape
from caudal.connect.data import DATE, DECIMAL, TIME, TIMESTAMP, Kind, Schema
from caudal.connect.errors import DataError

NAMESPACE = "io.confluent.connect.protobuf"
ENUM = f"{NAMESPACE}.Enum"
UNION = f"{NAMESPACE}.Union."
TAG = f"{NAMESPACE}.Tag"
DEFAULT_NAME = "ConnectDefault"
PRECISION = "connect.decimal.precision"
DEFAULTS = JsonStyle(entry_objects=True)
_META = "confluent/meta.proto"
_SCALARS = {
    Kind.INT8: "int32",
    Kind.INT16: "int32",
    Kind.INT32: "int32",
    Kind.INT64: "int64",
    Kind.FLOAT32: "float",
    Kind.FLOAT64: "double",
    Kind.BOOLEAN: "bool",
    Kind.STRING: "string",
    Kind.BYTES: "bytes",
}
_WRAPPERS = {
    Kind.INT8: "Int32Value",
    Kind.INT16: "Int32Value",
    Kind.INT32: "Int32Value",
    Kind.INT64: "Int64Value",
    Kind.FLOAT32: "FloatValue",
    Kind.FLOAT64: "DoubleValue",
    Kind.BOOLEAN: "BoolValue",
    Kind.STRING: "StringValue",
    Kind.BYTES: "BytesValue",
}
_LOGICAL = {
    DECIMAL: ("confluent.type.Decimal", "confluent/type/decimal.proto"),
    DATE: ("google.type.Date", "google/type/date.proto"),
    TIME: ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    TIMESTAMP: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
}
_MAP_KEYS = (Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64, Kind.BOOLEAN, Kind.STRING)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_union(schema: Schema) -> bool:
    return schema.kind is Kind.STRUCT and schema.name is not None and schema.name.startswith(UNION)


class ProtobufWriter:
    """Makes the file of one Connect schema. `message` is the full name of the message to write."""

    def __init__(self, schema: Schema, options: Mapping[str, Any]) -> None:
        if schema.kind is not Kind.STRUCT:
            raise DataError(f"Protobuf has messages only, which are structs, and the schema is {schema.kind}.")
        self._scrub: bool = options.get("scrub.invalid.names", False)
        self._wrappers: bool = options.get("wrapper.for.nullables", False)
        self._imports: set[str] = set()
        self._unnamed = 0
        self._messages: dict[Schema, str] = {}  # nested ones, by the struct
        package, _, name = (schema.name or self._default_name()).rpartition(".")
        package = ".".join(self.name(part) for part in package.split(".")) if package else ""
        name = self.name(name)
        self.message = f"{package}.{name}" if package else name
        self._root_fields = {self.name(field.name) for field in schema.fields}
        self._nested_lines: list[str] = []
        body = self._message(name, replace(schema, optional=False), schema.name in (None, self.message), "")
        body[-1:-1] = self._nested_lines
        lines = ['syntax = "proto3";']
        if package:
            lines.append(f"package {package};")
        lines += [f'import "{each}";' for each in sorted(self._imports)]
        self.text = "\n".join([*lines, *body]) + "\n"
        self.shape: Shape = struct_writer(schema, self).shape

    def name(self, name: str) -> str:
        if _NAME.fullmatch(name):
            return name
        if not self._scrub:
            raise DataError(f"'{name}' cannot be a name in Protobuf; set scrub.invalid.names=true to have it changed.")
        return re.sub(r"^(?![A-Za-z])", "x", re.sub(r"[^A-Za-z0-9_]", "_", name))

    def _default_name(self) -> str:
        self._unnamed += 1
        return f"{DEFAULT_NAME}{self._unnamed}"

    def _message(self, name: str, schema: Schema, is_named: bool, indent: str) -> list[str]:
        """The lines of a message; those nested in it are all in the root's, so that each finds the others."""
        inner = indent + "  "
        lines: list[str] = []
        fields: list[str] = []
        numbers = _numbers(schema)
        for field in schema.fields:
            if is_union(field.schema):
                assert field.schema.name is not None
                members = [
                    f"{inner}  {self._field(each.name, each.schema, numbers, lines, inner, in_oneof=True)}"
                    for each in field.schema.fields
                ]
                fields += [f"{inner}oneof {self.name(field.schema.name[len(UNION) :])} {{", *members, f"{inner}}}"]
            else:
                fields.append(inner + self._field(field.name, field.schema, numbers, lines, inner))
        params = {} if is_named else {"connect.name": schema.name or ""}
        params |= _described(schema, name=False)
        options = [f"{inner}option (confluent.message_meta) = {self._meta(schema.doc, params)};"]
        shown = options if params or schema.doc is not None else []
        return [f"{indent}message {name} {{", *shown, *lines, *fields, f"{indent}}}"]

    def _field(
        self,
        name: str,
        schema: Schema,
        numbers: dict[tuple[str, int], int],
        lines: list[str],
        indent: str,
        *,
        in_oneof: bool = False,
    ) -> str:
        number = numbers[name, id(schema)]
        params: dict[str, str] = {}
        label = ""
        match schema.kind:
            case Kind.ARRAY:
                assert schema.values is not None
                if schema.values.kind in (Kind.ARRAY, Kind.MAP):
                    raise DataError(f"Field {name}: Protobuf has no arrays of arrays or maps.")
                kind = self._type(schema.values, lines, indent, params, plain_scalar=True)
                label = "repeated "
                if schema.values.optional:
                    params["connect.items.optional"] = "true"
                if schema.optional:
                    params["connect.optional"] = "true"
            case Kind.MAP:
                assert schema.keys is not None and schema.values is not None
                if schema.keys.kind not in _MAP_KEYS or schema.keys.name is not None:
                    raise DataError(f"Field {name}: keys of Protobuf's maps are whole numbers, booleans or text.")
                if schema.values.kind in (Kind.ARRAY, Kind.MAP):
                    raise DataError(f"Field {name}: Protobuf has no maps of arrays or maps.")
                value = self._type(schema.values, lines, indent, params, plain_scalar=True)
                if schema.keys.kind in (Kind.INT8, Kind.INT16):
                    params["connect.keys.type"] = schema.keys.kind.value
                if schema.values.optional:
                    params["connect.items.optional"] = "true"
                if schema.optional:
                    params["connect.optional"] = "true"
                kind = f"map<{_SCALARS[schema.keys.kind]}, {value}>"
            case _:
                kind = self._type(schema, lines, indent, params)
                if in_oneof:
                    pass  # only one is there
                elif "." in kind or schema.kind is Kind.STRUCT:
                    if not schema.optional:
                        params["connect.required"] = "true"
                elif schema.optional:
                    label = "optional "
        params |= _described(schema)
        meta = f" [(confluent.field_meta) = {self._meta(schema.doc, params)}]" if params or schema.doc else ""
        return f"{label}{kind} {self.name(name)} = {number}{meta};"

    def _type(
        self,
        schema: Schema,
        lines: list[str],
        indent: str,
        params: dict[str, str],
        *,
        plain_scalar: bool = False,
    ) -> str:
        if schema.name in _LOGICAL:
            kind, file = _LOGICAL[schema.name]
            self._imports.add(file)
            if schema.name == DECIMAL:
                params["scale"] = str(logical.scale_of(schema))
                if PRECISION in schema.parameters:
                    params["precision"] = schema.parameters[PRECISION]
            return kind
        if schema.kind is Kind.STRUCT:
            return self._nested(schema)
        if schema.kind in (Kind.INT8, Kind.INT16):
            params["connect.type"] = schema.kind.value
        if schema.kind is Kind.STRING and ENUM in schema.parameters:
            return self._enum(schema, lines, indent)
        if schema.optional and self._wrappers and not plain_scalar:
            self._imports.add("google/protobuf/wrappers.proto")
            return f"google.protobuf.{_WRAPPERS[schema.kind]}"
        return _SCALARS[schema.kind]

    def _nested(self, schema: Schema) -> str:
        struct = replace(schema, optional=False, has_default=False, default=None)
        known = self._messages.get(struct)
        if known is not None:
            return known
        name = self.name((schema.name or self._default_name()).rpartition(".")[2])
        taken = {full.rpartition(".")[2] for full in self._messages.values()}
        while name in self._root_fields or name in taken:
            name += "Message"  # a field or another struct is called so
        self._messages[struct] = full = f".{self.message}.{name}"
        self._nested_lines += self._message(name, struct, schema.name is None, "  ")
        return full

    def _enum(self, schema: Schema, lines: list[str], indent: str) -> str:
        name = self.name(schema.parameters[ENUM].rpartition(".")[2])
        symbols = [
            (key[len(ENUM) + 1 :], int(value)) for key, value in schema.parameters.items() if key.startswith(f"{ENUM}.")
        ]
        symbols.sort(key=lambda symbol: symbol[1] != 0)  # proto3 begins with zero
        head = f"{indent}enum {name} {{"
        if head not in lines:
            lines += [head, *(f"{indent}  {self.name(key)} = {number};" for key, number in symbols), f"{indent}}}"]
        return name

    def _meta(self, doc: str | None, params: Mapping[str, str]) -> str:
        parts = [] if doc is None else [f"doc: {_quoted(doc)}"]
        parts += [f"params: {{key: {_quoted(key)}, value: {_quoted(value)}}}" for key, value in params.items()]
        if parts:
            self._imports.add(_META)
        return "{" + ", ".join(parts) + "}"


def _numbers(schema: Schema) -> dict[tuple[str, int], int]:
    """The number of every field: as its parameter says, or the next that is free."""
    fields = [each for field in schema.fields for each in (field.schema.fields if is_union(field.schema) else (field,))]
    given = {int(field.schema.parameters[TAG]) for field in fields if TAG in field.schema.parameters}
    numbers, following = {}, 1
    for field in fields:
        tag = field.schema.parameters.get(TAG)
        if tag is None:
            while following in given:
                following += 1
            numbers[field.name, id(field.schema)] = following
            following += 1
        else:
            numbers[field.name, id(field.schema)] = int(tag)
    return numbers


def _described(schema: Schema, *, name: bool = True) -> dict[str, str]:
    """What only Connect has."""
    found: dict[str, str] = {}
    if schema.kind is Kind.STRUCT and name:
        return found  # with the message
    if name and schema.name is not None and schema.name not in _LOGICAL and ENUM not in schema.parameters:
        found["connect.name"] = schema.name
    if schema.version is not None and schema.name not in _LOGICAL:
        found["connect.version"] = str(schema.version)
    own = {
        key: value
        for key, value in schema.parameters.items()
        if not key.startswith(NAMESPACE) and not (schema.name == DECIMAL and key in ("scale", PRECISION))
    }
    if own:
        found["connect.parameters"] = orjson.dumps(own).decode()
    if schema.has_default and schema.default is not None:
        shape = json_writing(replace(schema, has_default=False), DEFAULTS).shape
        found["connect.default"] = orjson.dumps(shape(schema.default)).decode()
    return found


def _quoted(text: str) -> str:
    """A text in a .proto file: the bytes that are not plain letters by their numbers."""
    plain_text = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\' else f"\\{byte:03o}" for byte in text.encode()
    )
    return f'"{plain_text}"'


# ---------------------------------------------------------------------- values to the serde's dicts


def struct_writer(schema: Schema, writer: ProtobufWriter) -> Shaping:
    unions = [field.name for field in schema.fields if is_union(field.schema)]
    members = [
        Member(field.name, field.name if is_union(field.schema) else writer.name(field.name), _of(field.schema, writer))
        for field in schema.fields
    ]
    shape = struct_shape(members, schema.name or "The struct")
    if not unions:
        return Shaping(shape)

    def flat(value: Any) -> dict[str, Any]:
        made = shape(value)
        for name in unions:
            made.update(made.pop(name) or {})
        result: dict[str, Any] = made
        return result

    return Shaping(flat)


def _of(schema: Schema, writer: ProtobufWriter) -> Shaping:
    inner = _inner(schema, writer)
    default = inner.shape(schema.default) if schema.has_default and schema.default is not None else None
    return nullable(schema, inner, default=default)


def _inner(schema: Schema, writer: ProtobufWriter) -> Shaping:
    if schema.name in _LOGICAL:
        return Shaping(_logical(schema))
    match schema.kind:
        case Kind.STRUCT if is_union(schema):
            return Shaping(_union(schema, writer))
        case Kind.STRUCT:
            return struct_writer(schema, writer)
        case Kind.ARRAY:
            assert schema.values is not None
            return Shaping(listed(_of(replace(schema.values, optional=False), writer)))
        case Kind.MAP:
            assert schema.keys is not None and schema.values is not None
            return Shaping(mapped(_of(schema.keys, writer), _of(replace(schema.values, optional=False), writer)))
    return plain(schema.kind)


def _union(schema: Schema, writer: ProtobufWriter) -> Shape:
    members = {field.name: (writer.name(field.name), _of(field.schema, writer).shape) for field in schema.fields}

    def union(value: Any) -> dict[str, Any]:
        given = [(name, item) for name, item in value.items() if item is not None] if isinstance(value, dict) else []
        if len(given) > 1 or any(name not in members for name, _ in given):
            raise DataError("A union is a dict with one field that is not null.")
        return {members[name][0]: members[name][1](item) for name, item in given}

    return union


def _logical(schema: Schema) -> Shape:
    match schema.name:
        case name if name == DECIMAL:
            return _decimal(schema)
        case name if name == DATE:

            def date_of(value: Any) -> dict[str, int]:
                logical.days_of(value)
                return {"year": value.year, "month": value.month, "day": value.day}

            return date_of
        case name if name == TIME:

            def time_of(value: Any) -> dict[str, int]:
                logical.day_milliseconds_of(value)
                nanos = value.microsecond // 1000 * 1_000_000
                return {"hours": value.hour, "minutes": value.minute, "seconds": value.second, "nanos": nanos}

            return time_of
    return lambda value: logical.datetime_of(logical.milliseconds_of(value))


def _decimal(schema: Schema) -> Shape:
    scale = logical.scale_of(schema)

    def decimal(value: Any) -> dict[str, Any]:
        data = logical.bytes_of_decimal(value, scale)
        digits = len(str(abs(logical.unscaled_of(value, scale))))
        return {"value": data, "precision": digits, "scale": scale}

    return decimal
