"""One number or boolean, in the bytes of Kafka's serialisers: big-endian, of a fixed length."""

from __future__ import annotations

import struct
from typing import Any, ClassVar

from caudal.connect.converter import Converter, Decoded
from caudal.connect.data import BOOLEAN, FLOAT32, FLOAT64, INT16, INT32, INT64, Schema
from caudal.connect.errors import DataError


class _NumberConverter(Converter):
    for_headers = True
    schema: ClassVar[Schema]
    layout: ClassVar[struct.Struct]
    python: ClassVar[type[Any]]

    def encode(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.kind is not self.schema.kind:
            raise DataError(
                f"The {type(self).__name__} writes {self.schema.kind} only, and the schema is {schema.kind}."
            )
        if value is None:
            return None
        try:
            if value.__class__ is bool and self.python is not bool:
                raise TypeError
            return self.layout.pack(value)
        except (struct.error, OverflowError, TypeError):
            raise DataError(f"{value!r} is not {self.schema.kind}, which the {type(self).__name__} writes.") from None

    def decode(self, topic: str, data: bytes | None) -> Decoded:
        if data is None:
            return Decoded(self.schema, None)
        try:
            return Decoded(self.schema, self.layout.unpack(data)[0])
        except struct.error:
            expected = f"{self.schema.kind} has {self.layout.size}"
            raise DataError(f"The {type(self).__name__} was given {len(data)} bytes, and {expected}.") from None


class BooleanConverter(_NumberConverter):
    aliases = ("org.apache.kafka.connect.converters.BooleanConverter",)
    schema = BOOLEAN.as_optional()
    layout = struct.Struct("?")
    python = bool

    def encode(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is not None and value.__class__ is not bool:
            raise DataError(f"{value!r} is not boolean, which the BooleanConverter writes.")
        return super().encode(topic, schema, value)

    def decode(self, topic: str, data: bytes | None) -> Decoded:
        if data is not None and data not in (b"\0", b"\1"):
            raise DataError("A boolean is one byte, 0 or 1.")
        return super().decode(topic, data)


class ShortConverter(_NumberConverter):
    aliases = ("org.apache.kafka.connect.converters.ShortConverter",)
    schema = INT16.as_optional()
    layout = struct.Struct(">h")
    python = int


class IntegerConverter(_NumberConverter):
    aliases = ("org.apache.kafka.connect.converters.IntegerConverter",)
    schema = INT32.as_optional()
    layout = struct.Struct(">i")
    python = int


class LongConverter(_NumberConverter):
    aliases = ("org.apache.kafka.connect.converters.LongConverter",)
    schema = INT64.as_optional()
    layout = struct.Struct(">q")
    python = int


class FloatConverter(_NumberConverter):
    aliases = ("org.apache.kafka.connect.converters.FloatConverter",)
    schema = FLOAT32.as_optional()
    layout = struct.Struct(">f")
    python = float


class DoubleConverter(_NumberConverter):
    aliases = ("org.apache.kafka.connect.converters.DoubleConverter",)
    schema = FLOAT64.as_optional()
    layout = struct.Struct(">d")
    python = float
