"""Produce 3–13 by hand: the request is taken apart without copying the record batches in it.

Pure: `parse` gives positions in the receive buffer, `encode` gives the response body.
"""

from __future__ import annotations

import struct
from typing import NamedTuple
from uuid import UUID

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.messages import Malformed

FIRST_FLEXIBLE = 9
FIRST_WITH_TOPIC_ID = 13
FIRST_WITH_IMPLICIT_ADD = 12  # from here on a transactional Produce adds its partitions to the transaction (KIP-890)

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_ACKS_TIMEOUT = struct.Struct(">hi")
_PARTITION_AND_LENGTH = struct.Struct(">ii")
_RESULT = struct.Struct(">ihqqq")
_OLD_RESULT = struct.Struct(">ihqq")
_NO_THROTTLE = bytes(4)


class PartitionData(NamedTuple):
    """Where the records of one partition lie in the receive buffer; `start` is -1 for a null."""

    partition: int
    start: int
    stop: int


class ProduceRequest(NamedTuple):
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topics: list[tuple[str | UUID, list[PartitionData]]]


class PartitionResult(NamedTuple):
    partition: int
    error: ErrorCode
    base_offset: int = -1
    log_append_time: int = -1
    log_start_offset: int = -1
    message: str | None = None


def parse(buffer: bytearray, position: int, end: int, version: int) -> ProduceRequest:
    """The request in `buffer[position:end]`; raises Malformed on anything that does not fit in it."""
    try:
        if version >= FIRST_FLEXIBLE:
            return _parse_flexible(buffer, position, end, version)
        return _parse_legacy(buffer, position, end)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise Malformed(f"PRODUCE v{version} does not parse: {error}") from error


def _parse_legacy(buffer: bytearray, position: int, end: int) -> ProduceRequest:
    transactional_id = None
    (length,) = _INT16.unpack_from(buffer, position)
    position += 2
    if length >= 0:
        transactional_id = _text(buffer, position, length, end)
        position += length
    acks, timeout = _ACKS_TIMEOUT.unpack_from(buffer, position)
    (topic_count,) = _INT32.unpack_from(buffer, position + 6)
    position += 10
    topics: list[tuple[str | UUID, list[PartitionData]]] = []
    for _ in range(topic_count):
        (length,) = _INT16.unpack_from(buffer, position)
        name = _text(buffer, position + 2, length, end)
        position += 2 + length
        (count,) = _INT32.unpack_from(buffer, position)
        position += 4
        partitions = []
        for _ in range(count):
            index, length = _PARTITION_AND_LENGTH.unpack_from(buffer, position)
            position += 8
            partitions.append(_data(index, position, length, end))
            position += max(length, 0)
        topics.append((name, partitions))
    return ProduceRequest(transactional_id, acks, timeout, topics)


def _parse_flexible(buffer: bytearray, position: int, end: int, version: int) -> ProduceRequest:
    length, position = _uvarint(buffer, position)
    transactional_id = None
    if length:
        transactional_id = _text(buffer, position, length - 1, end)
        position += length - 1
    acks, timeout = _ACKS_TIMEOUT.unpack_from(buffer, position)
    topic_count, position = _uvarint(buffer, position + 6)
    topics: list[tuple[str | UUID, list[PartitionData]]] = []
    for _ in range(topic_count - 1):
        topic: str | UUID
        if version >= FIRST_WITH_TOPIC_ID:
            topic = UUID(bytes=bytes(buffer[position : position + 16]).ljust(16, b"\0"))
            position += 16
        else:
            length, position = _uvarint(buffer, position)
            topic = _text(buffer, position, length - 1, end)
            position += length - 1
        count, position = _uvarint(buffer, position)
        partitions = []
        for _ in range(count - 1):
            (index,) = _INT32.unpack_from(buffer, position)
            length, position = _uvarint(buffer, position + 4)
            partitions.append(_data(index, position, length - 1, end))
            position = _skip_tags(buffer, position + max(length - 1, 0), end)
        position = _skip_tags(buffer, position, end)
        topics.append((topic, partitions))
    _skip_tags(buffer, position, end)
    return ProduceRequest(transactional_id, acks, timeout, topics)


def _data(index: int, position: int, length: int, end: int) -> PartitionData:
    if length < 0:
        return PartitionData(index, -1, -1)
    if position + length > end:
        raise Malformed("the records of a partition are longer than the request")
    return PartitionData(index, position, position + length)


def _text(buffer: bytearray, position: int, length: int, end: int) -> str:
    if length < 0 or position + length > end:
        raise Malformed("a string is longer than the request")
    return str(memoryview(buffer)[position : position + length], "utf-8")


def _uvarint(buffer: bytearray, position: int) -> tuple[int, int]:
    byte = buffer[position]
    if byte < 0x80:
        return byte, position + 1
    value, shift = byte & 0x7F, 7
    while True:
        position += 1
        byte = buffer[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
        if shift > 28:
            raise Malformed("a variable-length integer does not end")


def _skip_tags(buffer: bytearray, position: int, end: int) -> int:
    count, position = _uvarint(buffer, position)
    for _ in range(count):
        _, position = _uvarint(buffer, position)
        size, position = _uvarint(buffer, position)
        position += size
        if position > end:
            raise Malformed("a tagged field is longer than the request")
    return position


def encode(version: int, topics: list[tuple[str | UUID, list[PartitionResult]]]) -> bytes:
    """The response body: one result per partition of the request."""
    out = bytearray()
    flexible = version >= FIRST_FLEXIBLE
    _put_count(out, len(topics), flexible)
    for topic, results in topics:
        if isinstance(topic, UUID):
            out += topic.bytes
        else:
            _put_text(out, topic, flexible)
        _put_count(out, len(results), flexible)
        for index, error, base, append_time, start, message in results:
            if version < 5:
                out += _OLD_RESULT.pack(index, error, base, append_time)
                continue
            out += _RESULT.pack(index, error, base, append_time, start)
            if version >= 8:
                _put_count(out, 0, flexible)  # single records are never refused, only their whole batch
                _put_text(out, message, flexible)
            if flexible:
                out.append(0)
        if flexible:
            out.append(0)
    out += _NO_THROTTLE
    if flexible:
        out.append(0)
    return bytes(out)


def _put_count(out: bytearray, count: int, flexible: bool) -> None:
    if flexible:
        _put_uvarint(out, count + 1)
    else:
        out += _INT32.pack(count)


def _put_text(out: bytearray, text: str | None, flexible: bool) -> None:
    raw = b"" if text is None else text.encode()
    if flexible:
        _put_uvarint(out, 0 if text is None else len(raw) + 1)
    else:
        out += _INT16.pack(-1 if text is None else len(raw))
    out += raw


def _put_uvarint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
