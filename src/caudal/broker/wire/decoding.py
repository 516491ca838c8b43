"""Reading a message after its kio schema: one decoder per entity, made once from kio's field descriptions.

kio's native reader is quicker, but it reserves memory for as many elements as an array claims to have, and a claim
of two thousand million ends the process: one hostile packet must not stop a broker. Here no length is believed that the
bytes at hand cannot hold. The requests that are many, Produce and Fetch, are read by hand elsewhere.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import Field, fields
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.serial._implicit_defaults import get_tagged_field_default
from kio.serial._introspect import EntityField, EntityTupleField, classify_field, is_optional

from caudal.broker.wire.varints import Malformed, read_uvarint

Decoder = Callable[[bytes, int], tuple[Any, int]]


_FAULTS = (struct.error, IndexError, UnicodeDecodeError, OverflowError, OSError)


def _fixed(fmt: str, convert: Callable[[Any], Any] | None = None) -> Decoder:
    unpack, size = struct.Struct(fmt).unpack_from, struct.calcsize(fmt)

    def plain(buffer: bytes, position: int) -> tuple[Any, int]:
        return unpack(buffer, position)[0], position + size

    def converted(buffer: bytes, position: int) -> tuple[Any, int]:
        return convert(unpack(buffer, position)[0]), position + size  # type: ignore[misc]

    return plain if convert is None else converted


def _moment(milliseconds: int) -> datetime | None:
    return None if milliseconds == -1 else datetime.fromtimestamp(milliseconds / 1000, UTC)


def _uuid(raw: bytes) -> UUID | None:
    return UUID(bytes=raw) if any(raw) else None


_FIXED: dict[str, Decoder] = {
    "int8": _fixed(">b"),
    "int16": _fixed(">h"),
    "int32": _fixed(">i"),
    "int64": _fixed(">q"),
    "uint8": _fixed(">B"),
    "uint16": _fixed(">H"),
    "uint32": _fixed(">I"),
    "uint64": _fixed(">Q"),
    "float64": _fixed(">d"),
    "bool": _fixed(">?"),
    "error_code": _fixed(">h", ErrorCode),
    "timedelta_i32": _fixed(">i", lambda value: timedelta(milliseconds=value)),
    "timedelta_i64": _fixed(">q", lambda value: timedelta(milliseconds=value)),
    "datetime_i64": _fixed(">q", _moment),
    "uuid": _fixed("16s", _uuid),
}


def _compact_length(buffer: bytes, position: int) -> tuple[int, int]:
    length, position = read_uvarint(buffer, position)
    return length - 1, position


def _chunk(length_of: Decoder, convert: Callable[[bytes], Any], nullable: bool) -> Decoder:
    """Bytes or text behind their length; -1 is null."""

    def decode(buffer: bytes, position: int) -> tuple[Any, int]:
        length, position = length_of(buffer, position)
        if length < 0:
            if nullable and length == -1:
                return None, position
            raise Malformed("a null or negative length where a value is needed")
        end = position + length
        if end > len(buffer):
            raise Malformed(f"{length} bytes are announced, {len(buffer) - position} are there")
        return convert(buffer[position:end]), end

    return decode


def _primitive_decoder(kafka_type: str, flexible: bool, nullable: bool) -> Decoder:
    if kafka_type == "string":
        return _chunk(_compact_length if flexible else _FIXED["int16"], bytes.decode, nullable)
    if kafka_type in ("bytes", "records"):
        return _chunk(_compact_length if flexible else _FIXED["int32"], bytes, nullable)
    return _FIXED[kafka_type]


def _array_decoder(item: Decoder, flexible: bool, nullable: bool) -> Decoder:
    length_of = _compact_length if flexible else _FIXED["int32"]

    def decode(buffer: bytes, position: int) -> tuple[Any, int]:
        count, position = length_of(buffer, position)
        if count < 0:
            if nullable and count == -1:
                return None, position
            raise Malformed("a null array where one is needed")
        if count > len(buffer) - position:  # an element takes at least one byte
            raise Malformed(f"an array of {count} elements cannot be in {len(buffer) - position} bytes")
        values = []
        for _ in range(count):
            value, position = item(buffer, position)
            values.append(value)
        return tuple(values), position

    return decode


def _nullable(entity: Decoder) -> Decoder:
    def decode(buffer: bytes, position: int) -> tuple[Any, int]:
        marker = buffer[position]
        return (None, position + 1) if marker >= 0x80 else entity(buffer, position + 1)

    return decode


def _field_decoder(field: Field[Any], flexible: bool) -> Decoder:
    kind = classify_field(field)
    nullable = is_optional(field)
    if isinstance(kind, EntityTupleField):
        return _array_decoder(entity_decoder(kind.type_), flexible, nullable)
    if isinstance(kind, EntityField):
        entity = entity_decoder(kind.type_)
        return _nullable(entity) if nullable and "tag" not in field.metadata else entity
    if kind.is_array:
        item = _primitive_decoder(field.metadata["kafka_type"], flexible, False)
        return _array_decoder(item, flexible, nullable)
    return _primitive_decoder(field.metadata["kafka_type"], flexible, nullable)


@cache
def entity_decoder(entity: Any) -> Decoder:
    flexible = entity.__flexible__
    plain: list[tuple[str, Decoder]] = []
    tagged: dict[int, tuple[str, Decoder]] = {}
    absent: dict[str, Any] = {}
    for field in fields(entity):
        decoder = _field_decoder(field, flexible)
        if "tag" in field.metadata:
            tagged[field.metadata["tag"]] = (field.name, decoder)
            absent[field.name] = get_tagged_field_default(field)
        else:
            plain.append((field.name, decoder))

    def decode(buffer: bytes, position: int) -> tuple[Any, int]:
        values = absent.copy()
        try:
            for name, decoder in plain:
                values[name], position = decoder(buffer, position)
            if flexible:
                position = decode_tagged(buffer, position, values)
        except _FAULTS as error:
            raise Malformed(f"{entity.__name__} does not parse: {error}") from error
        except ValueError as error:
            raise error if isinstance(error, Malformed) else Malformed(str(error)) from error
        return entity(**values), position

    def decode_tagged(buffer: bytes, position: int, values: dict[str, Any]) -> int:
        count, position = read_uvarint(buffer, position)
        for _ in range(count):
            tag, position = read_uvarint(buffer, position)
            size, position = read_uvarint(buffer, position)
            if position + size > len(buffer):
                raise Malformed("a tagged field is longer than the message")
            if tag in tagged:
                name, decoder = tagged[tag]
                values[name], end = decoder(buffer, position)
                if end != position + size:
                    raise Malformed(f"the tagged field {name} does not fill its size")
            position += size
        return position

    return decode
