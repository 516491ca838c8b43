"""Produce 3–13 by hand: the request is taken apart without copying the record batches in it.

Pure: `parse` gives positions in the receive buffer, `encode` gives the response body.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.varints import Malformed, read_uvarint, skip_tagged_fields, write_count, write_text

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
    record_errors: Sequence[tuple[int, str]] = ()  # which records of the batch are to blame, and why


def parse(buffer: bytearray, position: int, end: int, version: int) -> ProduceRequest:
    """The request in `buffer[position:end]`; raises Malformed on anything that does not fit in it."""
    try:
        if version >= FIRST_FLEXIBLE:
            request, position = _parse_flexible(buffer, position, end, version)
        else:
            request, position = _parse_legacy(buffer, position, end)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise Malformed(f"PRODUCE v{version} does not parse: {error}") from error
    if position > end:  # the receive buffer goes on behind the request
        raise Malformed(f"PRODUCE v{version} ends before its last field")
    return request


def _parse_legacy(buffer: bytearray, position: int, end: int) -> tuple[ProduceRequest, int]:
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
    return ProduceRequest(transactional_id, acks, timeout, topics), position


def _parse_flexible(buffer: bytearray, position: int, end: int, version: int) -> tuple[ProduceRequest, int]:
    length, position = read_uvarint(buffer, position)
    transactional_id = None
    if length:
        transactional_id = _text(buffer, position, length - 1, end)
        position += length - 1
    acks, timeout = _ACKS_TIMEOUT.unpack_from(buffer, position)
    topic_count, position = read_uvarint(buffer, position + 6)
    topics: list[tuple[str | UUID, list[PartitionData]]] = []
    for _ in range(topic_count - 1):
        topic: str | UUID
        if version >= FIRST_WITH_TOPIC_ID:
            topic = UUID(bytes=bytes(buffer[position : position + 16]).ljust(16, b"\0"))
            position += 16
        else:
            length, position = read_uvarint(buffer, position)
            topic = _text(buffer, position, length - 1, end)
            position += length - 1
        count, position = read_uvarint(buffer, position)
        partitions = []
        for _ in range(count - 1):
            (index,) = _INT32.unpack_from(buffer, position)
            length, position = read_uvarint(buffer, position + 4)
            partitions.append(_data(index, position, length - 1, end))
            position = skip_tagged_fields(buffer, position + max(length - 1, 0), end)
        position = skip_tagged_fields(buffer, position, end)
        topics.append((topic, partitions))
    return ProduceRequest(transactional_id, acks, timeout, topics), skip_tagged_fields(buffer, position, end)


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


def encode(version: int, topics: list[tuple[str | UUID, list[PartitionResult]]]) -> bytes:
    """The response body: one result per partition of the request."""
    out = bytearray()
    flexible = version >= FIRST_FLEXIBLE
    write_count(out, len(topics), flexible)
    for topic, results in topics:
        if isinstance(topic, UUID):
            out += topic.bytes
        else:
            write_text(out, topic, flexible)
        write_count(out, len(results), flexible)
        for index, error, base, append_time, start, message, record_errors in results:
            if version < 5:
                out += _OLD_RESULT.pack(index, error, base, append_time)
                continue
            out += _RESULT.pack(index, error, base, append_time, start)
            if version >= 8:
                write_count(out, len(record_errors), flexible)
                for record, why in record_errors:
                    out += _INT32.pack(record)
                    write_text(out, why, flexible)
                    if flexible:
                        out.append(0)
                write_text(out, message, flexible)
            if flexible:
                out.append(0)
        if flexible:
            out.append(0)
    out += _NO_THROTTLE
    if flexible:
        out.append(0)
    return bytes(out)
