"""Bytes as they are."""

from __future__ import annotations

from typing import Any

from caudal.connect.converter import Converter, Decoded
from caudal.connect.data import BYTES, Kind, Schema
from caudal.connect.errors import DataError

_OPTIONAL = BYTES.as_optional()


class ByteArrayConverter(Converter):
    aliases = ("org.apache.kafka.connect.converters.ByteArrayConverter",)
    for_headers = True

    def encode(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.kind is not Kind.BYTES:
            raise DataError(f"The ByteArrayConverter writes bytes only, and the schema is {schema.kind}.")
        if value is None or value.__class__ is bytes:
            return value
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        raise DataError(f"The ByteArrayConverter writes bytes only, and the value is {type(value).__name__}.")

    def decode(self, topic: str, data: bytes | None) -> Decoded:
        return Decoded(_OPTIONAL, data)
