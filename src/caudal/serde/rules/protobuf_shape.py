"""The shape of a Protobuf message as a dict; tags are in the field option (confluent.field_meta).tags."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from caudal.serde.rules.shapes import Field, ListOf, MapOf, Record, Shape

_NAMES = {
    FieldDescriptor.TYPE_DOUBLE: "DOUBLE",
    FieldDescriptor.TYPE_FLOAT: "FLOAT",
    FieldDescriptor.TYPE_BOOL: "BOOLEAN",
    FieldDescriptor.TYPE_STRING: "STRING",
    FieldDescriptor.TYPE_BYTES: "BYTES",
    FieldDescriptor.TYPE_ENUM: "ENUM",
    FieldDescriptor.TYPE_INT32: "INT",
    FieldDescriptor.TYPE_SINT32: "INT",
    FieldDescriptor.TYPE_UINT32: "INT",
    FieldDescriptor.TYPE_FIXED32: "INT",
    FieldDescriptor.TYPE_SFIXED32: "INT",
}
_FIELD_META, _TAGS = 1088, 3  # the numbers in confluent/meta.proto


def protobuf_shape(descriptor: Descriptor) -> Shape:
    return _record(descriptor, {})


def _record(descriptor: Descriptor, made: dict[str, Record]) -> Record:
    name = descriptor.full_name
    if name in made:
        return made[name]
    record = made[name] = Record("RECORD", name)
    for field in descriptor.fields:
        known = Field(field.name, field.full_name, _tags(field))
        record.fields[field.name] = known, _shape(field, made)
    return record


def _shape(field: FieldDescriptor, made: dict[str, Record]) -> Shape:
    message = field.message_type
    if message is not None and message.has_options and message.GetOptions().map_entry:
        return MapOf("MAP", _one(message.fields_by_name["value"], made))
    one = _one(field, made)
    return ListOf("ARRAY", one) if field.is_repeated else one


def _one(field: FieldDescriptor, made: dict[str, Record]) -> Shape:
    message = field.message_type
    if message is not None and message.full_name.startswith("google.protobuf."):
        return Shape("COMBINED")  # a datetime, a plain value: not a dict with fields
    return _record(message, made) if message is not None else Shape(_NAMES.get(field.type, "LONG"))


def _tags(field: FieldDescriptor) -> frozenset[str]:
    """From the option's bytes: whether the pool knows confluent/meta.proto or not."""
    if not field.has_options:
        return frozenset()
    from google.protobuf.descriptor_pb2 import FieldOptions
    from google.protobuf.unknown_fields import UnknownFieldSet

    options: Any = FieldOptions()
    data = field.GetOptions().SerializeToString()
    try:
        from confluent_kafka.schema_registry.confluent import meta_pb2
    except ImportError:
        options.ParseFromString(data)
    else:
        options = FieldOptions.FromString(data)
        extension: Any = meta_pb2.field_meta
        return frozenset(options.Extensions[extension].tags)
    return frozenset(
        inner.data.decode()
        for each in UnknownFieldSet(options)
        if each.field_number == _FIELD_META
        for inner in UnknownFieldSet(each.data)
        if inner.field_number == _TAGS
    )
