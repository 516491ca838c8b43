"""Writing a message after its kio schema: one encoder per entity, made once from kio's field descriptions.

An encoder takes a plain dict that may know more fields than the version has, and less than the schema has defaults for.
kio's own writer wants one class per version and is about three times slower (ARCHITECTURE.md has the figures).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any

from kio.serial._introspect import EntityField, EntityTupleField, classify_field, is_optional

from caudal.broker.wire.varints import write_uvarint

Encoder = Callable[[bytearray, Any], None]

_MARK_NULL, _MARK_PRESENT = b"\xff", b"\x01"
_NO_UUID = bytes(16)


def _fixed(fmt: str) -> Encoder:
    pack = struct.Struct(fmt).pack

    def encode(out: bytearray, value: Any) -> None:
        out += pack(value)

    return encode


def _milliseconds(fmt: str) -> Encoder:
    pack = struct.Struct(fmt).pack

    def encode(out: bytearray, value: Any) -> None:
        if value is None:
            value = -1
        elif hasattr(value, "total_seconds"):
            value = round(value.total_seconds() * 1000)
        elif hasattr(value, "timestamp"):
            value = round(value.timestamp() * 1000)
        out += pack(value)

    return encode


def _encode_uuid(out: bytearray, value: Any) -> None:
    out += _NO_UUID if value is None else value.bytes


def _compact_text(out: bytearray, value: Any) -> None:
    if value is None:
        out.append(0)
        return
    raw = value.encode() if isinstance(value, str) else value
    write_uvarint(out, len(raw) + 1)
    out += raw


def _legacy_text(length: struct.Struct) -> Encoder:
    null = length.pack(-1)

    def encode(out: bytearray, value: Any) -> None:
        if value is None:
            out += null
            return
        raw = value.encode() if isinstance(value, str) else value
        out += length.pack(len(raw))
        out += raw

    return encode


_LEGACY_STRING = _legacy_text(struct.Struct(">h"))
_LEGACY_BYTES = _legacy_text(struct.Struct(">i"))
_FIXED: dict[str, Encoder] = {
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
    "error_code": _fixed(">h"),
    "timedelta_i32": _milliseconds(">i"),
    "timedelta_i64": _milliseconds(">q"),
    "datetime_i64": _milliseconds(">q"),
    "uuid": _encode_uuid,
}


def _primitive_encoder(kafka_type: str, flexible: bool) -> Encoder:
    if kafka_type == "string":
        return _compact_text if flexible else _LEGACY_STRING
    if kafka_type in ("bytes", "records"):
        return _compact_text if flexible else _LEGACY_BYTES
    return _FIXED[kafka_type]


def _array_encoder(item: Encoder, flexible: bool) -> Encoder:
    length = struct.Struct(">i").pack

    def compact(out: bytearray, values: Sequence[Any] | None) -> None:
        if values is None:
            out.append(0)
            return
        write_uvarint(out, len(values) + 1)
        for value in values:
            item(out, value)

    def legacy(out: bytearray, values: Sequence[Any] | None) -> None:
        if values is None:
            out += length(-1)
            return
        out += length(len(values))
        for value in values:
            item(out, value)

    return compact if flexible else legacy


def _nullable(entity: Encoder) -> Encoder:
    def encode(out: bytearray, value: Any) -> None:
        if value is None:
            out += _MARK_NULL
        else:
            out += _MARK_PRESENT
            entity(out, value)

    return encode


def _field_encoder(field: Field[Any], flexible: bool) -> Encoder:
    kind = classify_field(field)
    if isinstance(kind, EntityTupleField):
        return _array_encoder(entity_encoder(kind.type_), flexible)
    if isinstance(kind, EntityField):
        entity = entity_encoder(kind.type_)
        return _nullable(entity) if is_optional(field) and "tag" not in field.metadata else entity
    item = _primitive_encoder(field.metadata["kafka_type"], flexible)
    return _array_encoder(item, flexible) if kind.is_array else item


def _default(field: Field[Any]) -> Any:
    """The schema's default as the encoders take it; MISSING where the handler has to give a value."""
    if field.default is MISSING:
        # Kafka's generator gives every field an implicit zero; only the ones that are never meant are left required.
        return 0 if field.name in ("throttle_time",) else MISSING
    return as_plain(field.default)


def as_plain(value: Any) -> Any:
    if is_dataclass(value):
        return {item.name: as_plain(getattr(value, item.name)) for item in fields(value)}
    return value


@cache
def entity_encoder(entity: Any) -> Encoder:
    flexible = entity.__flexible__
    plain: list[tuple[str, Encoder, Any]] = []
    tagged: list[tuple[int, str, Encoder, Any]] = []
    for field in fields(entity):
        encoder = _field_encoder(field, flexible)
        if "tag" in field.metadata:
            tagged.append((field.metadata["tag"], field.name, encoder, _default(field)))
        else:
            plain.append((field.name, encoder, _default(field)))
    tagged.sort(key=lambda item: item[0])
    name = entity.__name__

    def encode(out: bytearray, values: Mapping[str, Any]) -> None:
        get = values.get
        for field_name, encoder, default in plain:
            value = get(field_name, default)
            if value is MISSING:
                raise KeyError(f"{name} needs the field {field_name}")
            encoder(out, value)
        if flexible:
            _encode_tagged(out, values)

    def _encode_tagged(out: bytearray, values: Mapping[str, Any]) -> None:
        present = [item for item in tagged if item[1] in values and values[item[1]] != item[3]]
        write_uvarint(out, len(present))
        for tag, field_name, encoder, _ in present:
            body = bytearray()
            encoder(body, values[field_name])
            write_uvarint(out, tag)
            write_uvarint(out, len(body))
            out += body

    return encode
