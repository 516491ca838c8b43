"""Messages as Connect's schemas, and the dicts of our serde as Connect's values; the other way is
`protobuf_schemas.py`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, time
from typing import TYPE_CHECKING, Any

import orjson

from caudal.connect.converters import logical
from caudal.connect.converters.json_schemas import reading_inner
from caudal.connect.converters.protobuf_schemas import DEFAULT_NAME, DEFAULTS, ENUM, TAG, UNION
from caudal.connect.converters.shaping import STAYS, Member, Shape, Shaping, listed, mapped, struct_shape
from caudal.connect.data import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA, Field, Kind, Schema, decimal
from caudal.connect.errors import DataError

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

_META_NUMBER = 1088
_WRAPPED = {
    "Double": Kind.FLOAT64,
    "Float": Kind.FLOAT32,
    "Int64": Kind.INT64,
    "UInt64": Kind.INT64,
    "Int32": Kind.INT32,
    "UInt32": Kind.INT64,
    "Bool": Kind.BOOLEAN,
    "String": Kind.STRING,
    "Bytes": Kind.BYTES,
}
_UNNAMED = re.compile(rf"(?:.*\.)?{DEFAULT_NAME}\d+(?:Message)*")


class ProtobufReader:
    """Reads one message type."""

    def __init__(self, descriptor: Descriptor, options: Mapping[str, Any]) -> None:
        self._full_names: bool = options.get("enhanced.protobuf.schema.support", True)
        self._within: list[str] = []
        self.schema, shaping = self._message(descriptor)
        self.shape: Shape | None = None if shaping.unchanged == "" else shaping.shape

    def _message(self, descriptor: Descriptor) -> tuple[Schema, Shaping]:
        if descriptor.full_name in self._within:
            raise DataError(f"The message {descriptor.full_name} contains itself, which Connect's schemas cannot.")
        if descriptor.full_name.startswith("google.protobuf.") and descriptor.name != "Any":
            raise DataError(f"{descriptor.full_name} has no schema in Connect.")
        self._within.append(descriptor.full_name)
        fields: list[Field] = []
        members: list[Member] = []
        unions: list[tuple[str, list[str]]] = []
        number = 0
        for field in descriptor.fields:
            oneof = field.containing_oneof
            if oneof is not None and not _is_synthetic(oneof):
                if oneof.fields[0].number == field.number:
                    name = f"{oneof.name}_{oneof.index}"
                    schema, shaping = self._oneof(oneof, number)
                    fields.append(Field(name, schema))
                    members.append(Member(name, name, shaping))
                    unions.append((name, [each.name for each in oneof.fields]))
                    number += len(oneof.fields)
                continue
            number += 1
            schema, shaping = self._field(field, number)
            fields.append(Field(field.name, schema))
            members.append(Member(field.name, field.name, shaping))
        self._within.pop()
        meta = _meta(descriptor)
        name = descriptor.full_name if self._full_names else descriptor.name
        found: str | None = meta.params.get("connect.name", None if _UNNAMED.fullmatch(name) else name)
        schema = Schema(Kind.STRUCT, name=found, doc=meta.doc, fields=tuple(fields))
        return _described(schema, meta, named=False), _grouped(members, unions, descriptor.full_name)

    def _oneof(self, oneof: Any, number: int) -> tuple[Schema, Shaping]:
        fields, members = [], []
        for offset, field in enumerate(oneof.fields, 1):
            schema, shaping = self._field(field, number + offset)
            fields.append(Field(field.name, schema.as_optional()))
            members.append(Member(field.name, field.name, _or_none(shaping)))
        schema = Schema(Kind.STRUCT, optional=True, name=f"{UNION}{oneof.name}", fields=tuple(fields))
        if all(member.shaping.unchanged == "" for member in members):
            return schema, STAYS
        return schema, _or_none(Shaping(struct_shape(members, oneof.name, strict=False)))

    def _field(self, field: FieldDescriptor, number: int) -> tuple[Schema, Shaping]:
        meta = _meta(field)
        if _is_map(field):
            by_name = field.message_type.fields_by_name
            keys, key = self._one(by_name["key"], _Meta())
            if "connect.keys.type" in meta.params:
                keys = replace(keys, kind=Kind(meta.params["connect.keys.type"]))
            values, value_of = self._one(by_name["value"], meta)
            values = replace(values, optional="connect.items.optional" in meta.params)
            schema = Schema(Kind.MAP, keys=keys, values=values, optional="connect.optional" in meta.params)
            shaping = STAYS if (key.unchanged, value_of.unchanged) == ("", "") else Shaping(mapped(key, value_of))
        elif field.is_repeated:
            values, item = self._one(field, meta)
            values = replace(values, optional="connect.items.optional" in meta.params)
            schema = Schema(Kind.ARRAY, values=values, optional="connect.optional" in meta.params)
            shaping = STAYS if item.unchanged == "" else Shaping(listed(item))
        else:
            schema, shaping = self._one(field, meta)
            optional = field.has_presence and "connect.required" not in meta.params
            schema, shaping = replace(schema, optional=optional), _or_none(shaping)
        schema = _described(schema, meta, named=schema.kind is not Kind.STRUCT)
        if field.number != number:
            schema = replace(schema, parameters={**schema.parameters, TAG: str(field.number)})
        return schema, shaping

    def _one(self, field: FieldDescriptor, meta: _Meta) -> tuple[Schema, Shaping]:
        if field.enum_type is not None:
            symbols = {f"{ENUM}.{value.name}": str(value.number) for value in field.enum_type.values}
            name = field.enum_type.name
            return Schema(Kind.STRING, name=name, parameters={ENUM: name, **symbols}), Shaping(str)
        if field.message_type is not None:
            return self._of_message(field.message_type, meta)
        if field.type in (field.TYPE_STRING, field.TYPE_BYTES):
            return Schema(Kind.STRING if field.type == field.TYPE_STRING else Kind.BYTES), STAYS
        if field.type in (field.TYPE_INT32, field.TYPE_SINT32, field.TYPE_SFIXED32):
            kind = meta.params.get("connect.type")
            return Schema(Kind(kind) if kind in (Kind.INT8, Kind.INT16) else Kind.INT32), STAYS
        kinds = {
            field.TYPE_DOUBLE: Kind.FLOAT64,
            field.TYPE_FLOAT: Kind.FLOAT32,
            field.TYPE_BOOL: Kind.BOOLEAN,
        }
        return Schema(kinds.get(field.type, Kind.INT64)), STAYS

    def _of_message(self, descriptor: Descriptor, meta: _Meta) -> tuple[Schema, Shaping]:
        name = descriptor.full_name
        match name:
            case "google.protobuf.Timestamp":
                return TIMESTAMP_SCHEMA, STAYS
            case "google.type.Date":
                return DATE_SCHEMA, Shaping(_date)
            case "google.type.TimeOfDay":
                return TIME_SCHEMA, Shaping(_time)
            case "confluent.type.Decimal" | "confluent.types.Decimal":
                precision = meta.params.get("precision")
                digits = None if precision is None else _whole(precision, 64)
                return decimal(_whole(meta.params.get("scale"), 0), digits), Shaping(_decimal)
        wrapped = name.removeprefix("google.protobuf.").removesuffix("Value")
        if name.startswith("google.protobuf.") and name.endswith("Value") and wrapped in _WRAPPED:
            kind = meta.params.get("connect.type")
            return Schema(Kind(kind) if kind in (Kind.INT8, Kind.INT16) else _WRAPPED[wrapped]), STAYS
        return self._message(descriptor)


def _grouped(members: list[Member], unions: list[tuple[str, list[str]]], called: str) -> Shaping:
    """The struct's shape; the fields of a oneof become one."""
    stays = all(member.shaping.unchanged == "" for member in members)
    if stays and not unions:
        return STAYS
    shape = struct_shape(members, called, strict=False)
    if not unions:
        return Shaping(shape)

    def grouped(value: Any) -> Any:
        value = dict(value)
        for name, parts in unions:
            union = {part: value.pop(part, None) for part in parts}
            value[name] = union if any(item is not None for item in union.values()) else None
        return shape(value)

    return Shaping(grouped)


def _described(schema: Schema, meta: _Meta, *, named: bool) -> Schema:
    params = meta.params
    changes: dict[str, Any] = {}
    if named and "connect.name" in params:
        changes["name"] = params["connect.name"]
    if "connect.version" in params:
        changes["version"] = _whole(params["connect.version"], 1)
    if meta.doc is not None and schema.doc is None:
        changes["doc"] = meta.doc
    if "connect.parameters" in params:
        changes["parameters"] = {**schema.parameters, **orjson.loads(params["connect.parameters"])}
    schema = replace(schema, **changes) if changes else schema
    if "connect.default" in params:
        default = reading_inner(schema, DEFAULTS).shape(orjson.loads(params["connect.default"]))
        schema = replace(schema, default=default, has_default=True)
    return schema


# ---------------------------------------------------------------------- options


class _Meta:
    """A confluent.Meta."""

    def __init__(self, doc: str | None = None, params: dict[str, str] | None = None) -> None:
        self.doc = doc
        self.params: dict[str, str] = params or {}


def _meta(descriptor: Any) -> _Meta:
    """The options' extension, taken from their bytes: whether this process knows the extension or not."""
    if not descriptor.has_options:
        return _Meta()
    data: bytes = descriptor.GetOptions().SerializeToString()
    found = next((value for number, value in _parts(data) if number == _META_NUMBER), None)
    if found is None:
        return _Meta()
    doc, params = None, {}
    for number, value in _parts(found):
        if number == 1:
            doc = value.decode()
        elif number == 2:
            entry = dict(_parts(value))
            params[entry.get(1, b"").decode()] = entry.get(2, b"").decode()
    return _Meta(doc, params)


def _parts(data: bytes) -> list[tuple[int, bytes]]:
    """The fields of a message that have a length; others are passed over."""
    found, position = [], 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, kind = tag >> 3, tag & 7
        if kind == 2:
            length, position = _varint(data, position)
            found.append((number, data[position : position + length]))
            position += length
        elif kind == 0:
            _, position = _varint(data, position)
        else:
            position += 8 if kind == 1 else 4
    return found


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def _is_synthetic(oneof: Any) -> bool:
    """What the compiler makes of a proto3 `optional`."""
    return len(oneof.fields) == 1 and oneof.name == f"_{oneof.fields[0].name}"


def _is_map(field: Any) -> bool:
    return bool(
        field.message_type is not None and field.message_type.has_options and field.message_type.GetOptions().map_entry
    )


# ---------------------------------------------------------------------- values


def _or_none(shaping: Shaping) -> Shaping:
    if shaping.unchanged == "":
        return shaping
    shape = shaping.shape
    return Shaping(lambda value: None if value is None else shape(value))


def _date(value: dict[str, int]) -> date:
    try:
        return date(value["year"], value["month"], value["day"])
    except ValueError as error:
        raise DataError(f"The google.type.Date is no whole date: {error}.") from None


def _time(value: dict[str, int]) -> time:
    try:
        return time(value["hours"], value["minutes"], value["seconds"], value["nanos"] // 1_000_000 * 1000)
    except ValueError as error:
        raise DataError(f"The google.type.TimeOfDay is no time of a day: {error}.") from None


def _decimal(value: dict[str, Any]) -> Any:
    return logical.decimal_of_bytes(value["value"], value["scale"])


def _whole(text: str | None, default: int) -> int:
    try:
        return int(text or default)
    except ValueError:
        return default
