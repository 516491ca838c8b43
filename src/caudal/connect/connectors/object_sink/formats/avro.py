"""Avro container files. The schema is what the Avro converter would register; the same records give the same bytes.

fastavro writes the records, the container around them is made here: a chunk must be encoded before any of it is in the
file, and the sync marker must not be random.
"""

from __future__ import annotations

import bz2
import hashlib
import io
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple

import cramjam
import orjson
from fastavro import parse_schema, schemaless_writer

from caudal.connect.converters.avro_schemas import AvroWriter, writing
from caudal.connect.data import Schema
from caudal.connect.errors import DataError


class _Shape(NamedTuple):
    text: bytes  # the schema
    parsed: Any
    shape: Callable[[Any], Any] | None


class _Block(NamedTuple):
    size: int  # in records
    data: bytes


class AvroContainer:
    extension = ".avro"
    takes_any = True  # they are all refused
    takes_columns = False

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._codec = config["avro.codec"]

    def writer(self, stream: BinaryIO, schema: Schema | None, first: Any) -> _Writer:
        if schema is None:
            raise DataError("Avro files need a schema; use a converter that has one (Avro, JsonSchema, Protobuf).")
        return _Writer(stream, _shape_of(schema), self._codec)

    def is_same_file(self, first: Any, value: Any) -> bool:
        return True


class _Writer:
    def __init__(self, stream: BinaryIO, shape: _Shape, codec: str) -> None:
        self._stream = stream
        self._shape = shape
        self._compress = _CODECS[codec]
        self._sync = hashlib.md5(shape.text, usedforsecurity=False).digest()
        meta = {b"avro.schema": shape.text, b"avro.codec": codec.encode()}
        head = b"".join(_long(len(part)) + part for pair in meta.items() for part in pair)
        stream.write(b"Obj\x01" + _long(len(meta)) + head + _long(0) + self._sync)

    def encode(self, values: Sequence[Any]) -> _Block:
        shape, parsed = self._shape.shape, self._shape.parsed
        out = io.BytesIO()
        for value in values:
            try:
                schemaless_writer(out, parsed, value if shape is None else shape(value))
            except DataError:
                raise
            except Exception as error:  # fastavro raises what its Cython code happens to meet
                raise DataError(f"The value does not fit its Avro schema: {error}.") from None
        return _Block(len(values), out.getvalue())

    def append(self, encoded: _Block) -> None:
        data = self._compress(encoded.data)
        self._stream.write(_long(encoded.size) + _long(len(data)))
        self._stream.write(data)
        self._stream.write(self._sync)

    def finish(self) -> None:
        """Nothing is kept back."""


@lru_cache(256)
def _shape_of(schema: Schema) -> _Shape:
    schema = replace(schema, optional=False)
    described = AvroWriter({}).schema(schema)
    return _Shape(orjson.dumps(described), parse_schema(described), writing(schema, AvroWriter({})).shape)


def _long(number: int) -> bytes:
    """Avro's variable-length number, zigzag."""
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _deflate(data: bytes) -> bytes:
    codec = zlib.compressobj(wbits=-15)
    return codec.compress(data) + codec.flush()


def _snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data)) + zlib.crc32(data).to_bytes(4, "big")


_CODECS: dict[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": _deflate,
    "bzip2": bz2.compress,
    "snappy": _snappy,
}

FORMAT = AvroContainer
