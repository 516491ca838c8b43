"""Protobuf, with its schemas in a registry: the bytes of Confluent's ProtobufConverter, and schemas near to its own."""

from __future__ import annotations

from typing import Any

from caudal.connect.configuration import ConfigDef, Key, Type, config_def
from caudal.connect.converters.protobuf_reading import ProtobufReader
from caudal.connect.converters.protobuf_schemas import ProtobufWriter
from caudal.connect.converters.registry import REGISTRY_KEYS, Format, RegistryConverter
from caudal.connect.converters.shaping import Shape
from caudal.connect.data import Schema
from caudal.serde.protobuf import Protobuf
from caudal.serde.registry_serde import Reading
from caudal.serde.wire_format import HEAD_BYTES, read_message_indexes


class ProtobufConverter(RegistryConverter):
    aliases = ("io.confluent.connect.protobuf.ProtobufConverter",)
    serde = Protobuf
    head_is_id = False  # a file may have several messages

    @classmethod
    def config(cls) -> ConfigDef:
        return REGISTRY_KEYS + config_def(
            Key(
                name="enhanced.protobuf.schema.support",
                type=Type.BOOLEAN,
                default=True,
                doc="Whether the names of structs have the package of their messages.",
            ),
            Key(
                name="scrub.invalid.names",
                type=Type.BOOLEAN,
                default=False,
                doc="Whether characters that Protobuf does not allow in names become underscores.",
            ),
            Key(
                name="wrapper.for.nullables",
                type=Type.BOOLEAN,
                default=False,
                doc="Whether optional fields are messages (google.protobuf.StringValue); else they are `optional`.",
            ),
        )

    def format_of(self, schema: Schema) -> Format:
        made = ProtobufWriter(schema, self.options)
        return Format(made.text, made.shape, {"message": made.message})

    def head_of(self, data: bytes) -> bytes:
        if len(data) > HEAD_BYTES and data[HEAD_BYTES] == 0:
            return data[1 : HEAD_BYTES + 1]
        try:
            return data[1 : read_message_indexes(data)[1]]
        except ValueError:
            return b""  # the serde says what is wrong

    def connect_of(self, reading: Reading, reader: Any, data: bytes) -> tuple[Schema, Shape | None]:
        made = ProtobufReader(reader.message_of(data, reading.written, reading.seen), self.options)
        return made.schema, made.shape
