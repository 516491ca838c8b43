"""What compaction does to one batch: step through its records as bytes, and write it again with fewer of them.

A record's bytes are relative to the batch's base offset and base timestamp; as long as those stay, records are copied
without being decoded. Only setting a delete horizon changes the base timestamp and so encodes the records again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from caudal.broker.log.segment import ScannedBatch
from caudal.broker.wire import codecs
from caudal.broker.wire.batch import (
    CONTROL,
    HEADER,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    TIMESTAMP_TYPE,
    TRANSACTIONAL,
    BatchHeader,
    build_batch,
    records,
    seal,
)


class RawRecord(NamedTuple):
    """A record as bytes of its batch: enough to decide and to copy."""

    start: int
    end: int
    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    is_tombstone: bool


def body_of(batch: ScannedBatch) -> bytes:
    """The records of a batch, decompressed."""
    start = batch.start + HEADER_SIZE
    body = batch.buffer[start : batch.start + batch.header.size]
    return codecs.decompress(batch.header.codec, body) if batch.header.codec else body


def raw_records(body: bytes, count: int) -> Iterator[RawRecord]:
    """Steps through records without making objects of values and headers: most of a cleaner's time goes here."""
    position = 0
    for _ in range(count):
        start = position
        length, position = _varint(body, position)
        end = position + length
        timestamp_delta, position = _varint(body, position + 1)
        offset_delta, position = _varint(body, position)
        key_length, position = _varint(body, position)
        key = None
        if key_length >= 0:
            key = body[position : position + key_length]
            position += key_length
        yield RawRecord(start, end, timestamp_delta, offset_delta, key, body[position] == 1)  # 1: zigzag of length -1
        position = end


def _varint(data: bytes, position: int) -> tuple[int, int]:
    byte = data[position]
    position += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position
    value, shift = byte & 0x7F, 7
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
        shift += 7


def with_records(header: BatchHeader, body: bytes, kept: list[RawRecord]) -> bytearray:
    """The batch with fewer records: same range, sequence, base timestamp and codec, so the records' bytes stay."""
    data: bytes = b"".join([body[record.start : record.end] for record in kept])
    if header.codec:
        data = codecs.compress(header.codec, data)
    max_timestamp = header.max_timestamp
    if not header.attributes & TIMESTAMP_TYPE:
        max_timestamp = header.base_timestamp + max(record.timestamp_delta for record in kept)
    return _sealed(
        header._replace(
            length=HEADER_SIZE - LENGTH_OVERHEAD + len(data), max_timestamp=max_timestamp, record_count=len(kept)
        ),
        data,
    )


def with_horizon(batch: ScannedBatch, offset_deltas: set[int], horizon_ms: int) -> bytearray:
    """The batch with a delete horizon. It replaces the base timestamp, so every record is encoded again."""
    header = batch.header
    kept = [
        record
        for record in records(batch.buffer, batch.start, header)
        if record.offset - header.base_offset in offset_deltas
    ]
    return build_batch(
        kept,
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        codec=header.codec,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        control=header.is_control,
        leader_epoch=header.leader_epoch,
        log_append_time=header.max_timestamp if header.log_append_time else None,
        delete_horizon_ms=horizon_ms,
    )


def empty_batch(header: BatchHeader) -> bytearray:
    """Only the header stays: range, producer and sequence."""
    keep = header.attributes & (TIMESTAMP_TYPE | TRANSACTIONAL | CONTROL)
    return _sealed(
        header._replace(length=HEADER_SIZE - LENGTH_OVERHEAD, attributes=keep, base_timestamp=-1, record_count=0), b""
    )


def _sealed(header: BatchHeader, data: bytes) -> bytearray:
    batch = bytearray(HEADER_SIZE)
    HEADER.pack_into(batch, 0, *header)
    batch += data
    seal(batch)
    return batch
