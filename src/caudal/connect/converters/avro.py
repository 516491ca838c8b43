"""Avro, with its schemas in a registry: the bytes and the schemas of Confluent's AvroConverter."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from io import BytesIO
from typing import Any

import orjson

from caudal.connect.columns import DecodedColumns, NotThisWay
from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def
from caudal.connect.converters.avro_codec import Unsupported
from caudal.connect.converters.avro_codec import reader as read_generated
from caudal.connect.converters.avro_codec import writer as write_generated
from caudal.connect.converters.avro_reading import AvroReader, adjusted
from caudal.connect.converters.avro_schemas import AvroWriter, writing
from caudal.connect.converters.registry import REGISTRY_KEYS, Format, RegistryConverter
from caudal.connect.converters.shaping import Shape
from caudal.connect.data import Schema
from caudal.registry.client import RegisteredSchema
from caudal.serde.avro import Avro
from caudal.serde.registry_serde import Read, Reading, Write
from caudal.serde.serde import cannot_read, cannot_write
from caudal.serde.wire_format import HEAD_BYTES, head


class _ConnectAvro(Avro):
    """The serde whose values are Connect's: only the logical types that Connect has, and branches of unions by name.
    What is written was checked by its shape."""

    __slots__ = ()

    def _loaded(self, text: str) -> Any:
        return adjusted(super()._loaded(text))

    def _encoder(self, schema: RegisteredSchema) -> Write:
        from fastavro import schemaless_writer

        parsed = self.parsed(schema)
        begin = head(schema.id)
        if not self.use_latest_version and self.schema_id is None:  # else there may be fields that the value has not
            with suppress(Unsupported):
                return write_generated(parsed, begin, lambda value, error: cannot_write(self, value, error))

        def encode(value: Any) -> bytes:
            out = BytesIO()
            out.write(begin)
            try:
                schemaless_writer(out, parsed, value)
            except Exception as error:
                raise cannot_write(self, value, error) from None
            return out.getvalue()

        return encode

    def _decoder(self, writer: RegisteredSchema, reader: RegisteredSchema | None) -> Read:
        from fastavro import schemaless_reader

        written = self.parsed(writer)
        wanted = None if reader is None or reader.text == writer.text else self.parsed(reader)

        def failed(data: bytes, error: Exception) -> Exception:
            said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            return cannot_read(self, data, f"it does not fit schema {writer.id}: {said}")

        if wanted is None:
            with suppress(Unsupported):
                return read_generated(written, failed)
        named: dict[str, Any] = (
            {"return_record_name": True, "return_record_name_override": True} if _has_unions(written) else {}
        )

        def decode(data: bytes) -> Any:
            source = BytesIO(data)
            source.seek(HEAD_BYTES)
            try:
                value = schemaless_reader(source, written, wanted, **named)
            except Exception as error:
                raise failed(data, error) from None
            if source.read(1):
                raise cannot_read(self, data, f"it is longer than a value of schema {writer.id}")
            return value

        return decode


class AvroConverter(RegistryConverter):
    aliases = ("io.confluent.connect.avro.AvroConverter",)
    serde = _ConnectAvro

    def __init__(self) -> None:
        super().__init__()
        self._parsed: dict[bytes, tuple[Any, Schema]] = {}  # by head; of schemas whose values stay as they are read
        self._columns: dict[bytes, Any] = {}  # their ColumnReader, or None

    @classmethod
    def config(cls) -> ConfigDef:
        return REGISTRY_KEYS + config_def(
            Key(
                name="enhanced.avro.schema.support",
                type=Type.BOOLEAN,
                default=False,
                doc="Whether enums stay enums, and branches of unions are named with their namespaces.",
            ),
            Key(
                name="connect.meta.data",
                type=Type.BOOLEAN,
                default=True,
                importance=Importance.LOW,
                doc="Whether Avro schemas keep what only Connect has, in properties (connect.name and others).",
            ),
            Key(
                name="scrub.invalid.names",
                type=Type.BOOLEAN,
                default=False,
                doc="Whether characters that Avro does not allow in names become underscores.",
            ),
        )

    def format_of(self, schema: Schema) -> Format:
        text = orjson.dumps(AvroWriter(self.options).schema(schema)).decode()
        return Format(text, writing(schema, AvroWriter(self.options)).shape)

    def connect_of(self, reading: Reading, reader: Any, data: bytes) -> tuple[Schema, Shape | None]:
        parsed = reader.parsed(reading.seen)
        made = AvroReader(parsed, self.options)
        head = self.head_of(data)
        self._columns.pop(head, None)
        if made.shape is None and not self.options["use.latest.version"]:
            self._parsed[head] = parsed, made.schema
        return made.schema, made.shape

    def decode_columns(self, topic: str, values: Sequence[bytes]) -> DecodedColumns:
        from caudal.connect.converters.avro_columns import ColumnReader

        head = self.head_of(values[0])
        if head not in self._columns:
            self.decode(topic, values[0])  # looks the schema up
            reader = None
            with suppress(NotThisWay):
                if head in self._parsed:
                    reader = ColumnReader(*self._parsed[head])
            self._columns[head] = reader
        found = self._columns[head]
        if found is None or values[0][0]:
            raise NotThisWay
        return DecodedColumns(self._parsed[head][1], found.read(values))


def _has_unions(parsed: Any) -> bool:
    """Whether there is a union that is more than an optional value."""
    if isinstance(parsed, list):
        return sum(each != "null" for each in parsed) > 1 or any(_has_unions(each) for each in parsed)
    if not isinstance(parsed, dict):
        return False
    fields = [field["type"] for field in parsed.get("fields") or ()]
    inner = [parsed.get("items"), parsed.get("values"), *parsed.get("__named_schemas", {}).values()]
    return any(_has_unions(each) for each in (*fields, *inner))
