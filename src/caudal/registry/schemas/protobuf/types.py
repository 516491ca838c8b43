"""What evolution looks at in a Protobuf schema: messages with their fields by number. Made once for each file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf import descriptor_pb2

_FIELD: Final = descriptor_pb2.FieldDescriptorProto

# Kinds within a group can be read as one another: the bytes are laid out alike.
GROUPS: Final = {
    _FIELD.TYPE_INT32: "number",
    _FIELD.TYPE_INT64: "number",
    _FIELD.TYPE_UINT32: "number",
    _FIELD.TYPE_UINT64: "number",
    _FIELD.TYPE_BOOL: "number",
    _FIELD.TYPE_ENUM: "number",
    _FIELD.TYPE_SINT32: "zigzag number",
    _FIELD.TYPE_SINT64: "zigzag number",
    _FIELD.TYPE_STRING: "string or bytes",
    _FIELD.TYPE_BYTES: "string or bytes",
    _FIELD.TYPE_FIXED32: "fixed32",
    _FIELD.TYPE_SFIXED32: "fixed32",
    _FIELD.TYPE_FIXED64: "fixed64",
    _FIELD.TYPE_SFIXED64: "fixed64",
    _FIELD.TYPE_FLOAT: "float",
    _FIELD.TYPE_DOUBLE: "double",
}


@dataclass(frozen=True, slots=True)
class FieldType:
    group: str | None  # None: a message
    name: str  # `int32`, or the full name of a message or enum


@dataclass(frozen=True, slots=True)
class MapType:
    key: FieldType
    value: FieldType


@dataclass(frozen=True, slots=True)
class FieldShape:
    name: str
    number: int
    type: FieldType | MapType
    repeated: bool
    required: bool
    oneof: str | None


@dataclass(slots=True)
class MessageShape:
    full_name: str
    local_name: str  # from the package on
    package: str
    fields: dict[int, FieldShape]
    oneofs: dict[str, list[int]]
    nested: list[MessageShape]  # without those that stand for maps

    def all(self) -> Iterator[MessageShape]:
        yield self
        for message in self.nested:
            yield from message.all()


def messages_of(file: Any) -> list[MessageShape]:
    prefix = f"{file.package}." if file.package else ""
    return [_message(message, "", prefix, file.package) for message in file.message_type]


def _message(message: Any, outer: str, prefix: str, package: str) -> MessageShape:
    local = f"{outer}{message.name}"
    entries = {f".{prefix}{local}.{kind.name}": kind for kind in message.nested_type if kind.options.map_entry}
    shape = MessageShape(prefix + local, local, package, {}, {}, [])
    for field in message.field:
        oneof = None
        if field.HasField("oneof_index") and not field.proto3_optional:
            oneof = message.oneof_decl[field.oneof_index].name
            shape.oneofs.setdefault(oneof, []).append(field.number)
        entry = entries.get(field.type_name)
        shape.fields[field.number] = FieldShape(
            field.name,
            field.number,
            MapType(*(_type(part) for part in entry.field)) if entry else _type(field),
            field.label == _FIELD.LABEL_REPEATED,
            field.label == _FIELD.LABEL_REQUIRED,
            oneof,
        )
    shape.nested = [
        _message(kind, f"{local}.", prefix, package) for kind in message.nested_type if not kind.options.map_entry
    ]
    return shape


def _type(field: Any) -> FieldType:
    if field.type_name:
        return FieldType(GROUPS.get(field.type), field.type_name.removeprefix("."))
    return FieldType(GROUPS[field.type], _FIELD.Type.Name(field.type).removeprefix("TYPE_").lower())
