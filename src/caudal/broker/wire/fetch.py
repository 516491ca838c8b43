"""Fetch 4–18 by hand: what a consumer asks for, and the response around record batches that are not touched.

Pure: `parse` reads the request, `encode` gives a list of buffers in which the batches stand as the log returned them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.primitives import Reader, Truncated
from caudal.broker.wire.varints import Malformed, write_count, write_text, write_uvarint

FIRST_FLEXIBLE = 12
FIRST_WITH_TOPIC_ID = 13
FIRST_WITH_SESSION = 7

READ_COMMITTED = 1

_INT32 = struct.Struct(">i")
_SESSION_HEAD = struct.Struct(">ihi")
_PARTITION_V5 = struct.Struct(">ihqqq")
_PARTITION_V4 = struct.Struct(">ihqq")
_ABORTED = struct.Struct(">qq")


class PartitionRequest(NamedTuple):
    topic: str | UUID
    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    max_bytes: int


class FetchRequest(NamedTuple):
    replica_id: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    partitions: list[PartitionRequest]
    forgotten: list[tuple[str | UUID, int]]
    rack_id: str


class PartitionResponse(NamedTuple):
    topic: str | UUID
    partition: int
    error: ErrorCode
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: Sequence[tuple[int, int]] | None
    records: bytes | bytearray
    diverging: tuple[int, int] | None = None  # epoch and its end offset, for a fetcher whose log took another way


def parse(buffer: bytearray, position: int, end: int, version: int) -> FetchRequest:
    """The request in `buffer[position:end]`; raises Malformed on anything that does not fit in it."""
    reader = Reader(buffer, position, end)
    try:
        return _parse(reader, version)
    except (Truncated, UnicodeDecodeError) as error:
        raise Malformed(f"FETCH v{version} does not parse: {error}") from error


def _parse(reader: Reader, version: int) -> FetchRequest:
    flexible = version >= FIRST_FLEXIBLE
    replica_id = reader.int32() if version < 15 else -1
    max_wait, min_bytes, max_bytes, isolation = reader.int32(), reader.int32(), reader.int32(), reader.int8()
    session_id, session_epoch = (reader.int32(), reader.int32()) if version >= FIRST_WITH_SESSION else (0, -1)
    partitions: list[PartitionRequest] = []
    for _ in range(_count(reader, flexible)):
        topic = _topic(reader, version)
        partitions += [_partition(reader, version, topic) for _ in range(_count(reader, flexible))]
        if flexible:
            reader.tagged_fields()
    forgotten: list[tuple[str | UUID, int]] = []
    if version >= FIRST_WITH_SESSION:
        for _ in range(_count(reader, flexible)):
            topic = _topic(reader, version)
            forgotten += [(topic, reader.int32()) for _ in range(_count(reader, flexible))]
            if flexible:
                reader.tagged_fields()
    rack = ""
    if version >= 11:
        rack = reader.compact_string() if flexible else reader.string()
    if flexible:
        tags = reader.tagged_fields()
        if 1 in tags:  # from version 15 a replica tells its id and epoch in a tagged field
            replica_id = Reader(tags[1]).int32()
    return FetchRequest(
        replica_id, max_wait, min_bytes, max_bytes, isolation, session_id, session_epoch, partitions, forgotten, rack
    )


def _partition(reader: Reader, version: int, topic: str | UUID) -> PartitionRequest:
    index = reader.int32()
    leader_epoch = reader.int32() if version >= 9 else -1
    offset = reader.int64()
    last_epoch = reader.int32() if version >= 12 else -1
    if version >= 5:
        reader.int64()  # log start offset, of followers only
    max_bytes = reader.int32()
    if version >= FIRST_FLEXIBLE:
        reader.tagged_fields()
    return PartitionRequest(topic, index, leader_epoch, offset, last_epoch, max_bytes)


def _topic(reader: Reader, version: int) -> str | UUID:
    if version >= FIRST_WITH_TOPIC_ID:
        return reader.uuid()
    return reader.compact_string() if version >= FIRST_FLEXIBLE else reader.string()


def _count(reader: Reader, flexible: bool) -> int:
    count = reader.uvarint() - 1 if flexible else reader.int32()
    if count > reader.remaining:
        raise Truncated(f"an array of {count} elements cannot be in {reader.remaining} bytes")
    return max(count, 0)


def encode(
    version: int, error: ErrorCode, session_id: int, partitions: Sequence[PartitionResponse]
) -> list[bytes | bytearray]:
    """The response body as buffers; partitions of one topic must stand together."""
    flexible = version >= FIRST_FLEXIBLE
    buffers: list[bytes | bytearray] = []
    out = bytearray()
    out += _SESSION_HEAD.pack(0, error, session_id) if version >= FIRST_WITH_SESSION else bytes(4)
    groups: list[list[PartitionResponse]] = []
    for item in partitions:
        if groups and groups[-1][0].topic == item.topic:
            groups[-1].append(item)
        else:
            groups.append([item])
    write_count(out, len(groups), flexible)
    for group in groups:
        _put_topic(out, group[0].topic, flexible)
        write_count(out, len(group), flexible)
        for item in group:
            _put_partition(out, item, version, flexible)
            if item.records:
                buffers.append(out)
                buffers.append(item.records)
                out = bytearray()
            if flexible:
                _put_partition_tags(out, item)
        if flexible:
            out.append(0)
    if flexible:
        out.append(0)
    buffers.append(out)
    return buffers


def _put_partition(out: bytearray, item: PartitionResponse, version: int, flexible: bool) -> None:
    if version >= 5:
        out += _PARTITION_V5.pack(
            item.partition, item.error, item.high_watermark, item.last_stable_offset, item.log_start_offset
        )
    else:
        out += _PARTITION_V4.pack(item.partition, item.error, item.high_watermark, item.last_stable_offset)
    if item.aborted is None:
        write_count(out, -1, flexible)
    else:
        write_count(out, len(item.aborted), flexible)
        for producer_id, first_offset in item.aborted:
            out += _ABORTED.pack(producer_id, first_offset)
            if flexible:
                out.append(0)
    if version >= 11:
        out += _INT32.pack(-1)  # preferred read replica: the one that was asked
    length = len(item.records)
    if flexible:
        write_uvarint(out, length + 1)
    else:
        out += _INT32.pack(length)


def _put_partition_tags(out: bytearray, item: PartitionResponse) -> None:
    if item.diverging is None:
        out.append(0)
        return
    body = struct.pack(">iq", *item.diverging) + b"\0"
    out += bytes((1, 0, len(body)))
    out += body


def _put_topic(out: bytearray, topic: str | UUID, flexible: bool) -> None:
    if isinstance(topic, UUID):
        out += topic.bytes
    else:
        write_text(out, topic, flexible)
