"""Record batches, format v2: the unit that clients send, the log keeps and fetches return, byte for byte.

The broker reads the 61-byte header and leaves the records closed; only validation of compacted topics and of schema
ids, recompression, time look-ups, the coordinators and the cleaner open them. Formats v0 and v1 ended with Kafka 4.0
and are refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import crc32c

from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.wire import codecs
from caudal.broker.wire.primitives import Buffer

HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE = HEADER.size  # 61
MIN_RECORD_SIZE = 7  # length, attributes, two deltas, null key, null value, no headers: a byte each
LENGTH_OVERHEAD = 12  # base offset and the length field itself are not counted by the length field
CRC_START = 21  # the checksum covers everything from the attributes on: offsets and leader epoch may be patched
MAGIC = 2

CODEC_MASK = 0x07
TIMESTAMP_TYPE = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

_OFFSET_AND_LENGTH = struct.Struct(">qi")
_CRC = struct.Struct(">I")
_CONTROL_KEY = struct.Struct(">hh")
_END_TXN_MARKER = struct.Struct(">hi")


class BatchHeader(NamedTuple):
    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        return self.length + LENGTH_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def log_append_time(self) -> bool:
        return bool(self.attributes & TIMESTAMP_TYPE)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def has_delete_horizon(self) -> bool:
        return bool(self.attributes & DELETE_HORIZON)


class Record(NamedTuple):
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class EndTxnMarker(NamedTuple):
    """The one record of a control batch that ends a transaction."""

    commit: bool
    coordinator_epoch: int


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at `position`; the caller has made sure that 61 bytes are there."""
    return BatchHeader._make(HEADER.unpack_from(buffer, position))


def crc_is_valid(buffer: Buffer, position: int, header: BatchHeader) -> bool:
    view = memoryview(buffer)[position + CRC_START : position + header.length + LENGTH_OVERHEAD]
    return crc32c.crc32c(view) == header.crc


def seal(batch: bytearray | memoryview, position: int = 0, size: int | None = None) -> None:
    """Writes the checksum over the batch as it now stands."""
    end = len(batch) if size is None else position + size
    _CRC.pack_into(batch, position + 17, crc32c.crc32c(memoryview(batch)[position + CRC_START : end]))


def iter_batches(buffer: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of each whole batch; a cut-off batch at the end is left out."""
    position, end = 0, len(buffer)
    while position + HEADER_SIZE <= end:
        header = BatchHeader._make(HEADER.unpack_from(buffer, position))
        size = header.length + LENGTH_OVERHEAD
        if size < HEADER_SIZE or position + size > end:
            return
        yield position, header
        position += size


def records(buffer: Buffer, position: int, header: BatchHeader) -> Iterator[Record]:
    """The records of one batch, decompressed. What does not parse raises CORRUPT_MESSAGE."""
    view = memoryview(buffer)[position + HEADER_SIZE : position + header.size]
    body = codecs.decompress(header.codec, view) if header.codec else bytes(view)
    append_time = header.max_timestamp if header.log_append_time else None
    place = 0
    try:
        for _ in range(header.record_count):
            record, place = _read_record(body, place, header.base_offset, header.base_timestamp, append_time)
            yield record
    except (ValueError, IndexError) as error:
        raise KafkaError(ErrorCode.corrupt_message, f"a record does not parse: {error}") from error
    if place != len(body):
        raise KafkaError(ErrorCode.corrupt_message, f"{len(body) - place} bytes follow the last record of a batch")


def all_have_keys(buffer: Buffer, position: int, header: BatchHeader) -> bool:
    """Whether every record of the batch has a key. What does not parse raises CORRUPT_MESSAGE, as in `records`.

    Every record that is written to a compacted topic passes here: it is stepped over, no object is made of it.
    """
    view = memoryview(buffer)[position + HEADER_SIZE : position + header.size]
    body = codecs.decompress(header.codec, view) if header.codec else bytes(view)
    place, size, everywhere = 0, len(body), True
    try:
        for _ in range(header.record_count):
            start = place
            length, place = _read_varint(body, place)
            end = place + length
            if length < 0 or end > size:
                raise ValueError("a record is longer than its batch")
            place += 1  # attributes; timestamp and offset follow
            behind = place + 10
            while body[place] >= 0x80:
                place += 1
            place += 1
            while body[place] >= 0x80:
                place += 1
            place += 1
            if place > behind:  # longer than any real one
                _read_record(body, start, 0, 0, None)
            byte = body[place]
            if byte < 0x80 and not byte & 1:
                place += 1 + (byte >> 1)
            else:
                length, place = _read_varint(body, place)
                everywhere = everywhere and length >= 0
                place += max(length, 0)
            byte = body[place]
            if byte < 0x80 and not byte & 1:
                place += 1 + (byte >> 1)
            else:
                length, place = _read_varint(body, place)
                place += max(length, 0)
            if place >= end or body[place] or place + 1 != end:  # headers, or something is wrong: the long way
                place = _read_record(body, start, 0, 0, None)[1]
            else:
                place = end
    except (ValueError, IndexError) as error:
        raise KafkaError(ErrorCode.corrupt_message, f"a record does not parse: {error}") from error
    if place != size:
        raise KafkaError(ErrorCode.corrupt_message, f"{size - place} bytes follow the last record of a batch")
    return everywhere


def leading_bytes(
    buffer: Buffer, position: int, header: BatchHeader, size: int, limit: int, *, keys: bool, values: bool
) -> tuple[set[bytes], set[bytes]]:
    """The different beginnings, `size` bytes long, of the batch's keys and of its values, where they are asked for.

    Nulls have none. What does not parse raises CORRUPT_MESSAGE, as in `records`. Past `limit` different ones it stops,
    so that a batch that opens to millions of records cannot fill the memory.
    """
    view = memoryview(buffer)[position + HEADER_SIZE : position + header.size]
    body = codecs.decompress(header.codec, view) if header.codec else bytes(view)
    found_keys, found_values = set[bytes](), set[bytes]()
    place, end_of_body = 0, len(body)
    try:
        for _ in range(header.record_count):
            start = place
            length, place = _read_varint(body, place)
            end = place + length
            if length < 0 or end > end_of_body:
                raise ValueError("a record is longer than its batch")
            place += 1  # attributes; timestamp and offset follow
            behind = place + 10
            while body[place] >= 0x80:
                place += 1
            place += 1
            while body[place] >= 0x80:
                place += 1
            place += 1
            if place > behind:  # longer than any real one
                _read_record(body, start, 0, 0, None)
            length, place = _read_varint(body, place)
            if length >= 0:
                if keys:
                    found_keys.add(body[place : place + (length if length < size else size)])
                place += length
            length, place = _read_varint(body, place)
            if length >= 0:
                if values:
                    found_values.add(body[place : place + (length if length < size else size)])
                place += length
            if place >= end or body[place] or place + 1 != end:  # headers, or something is wrong: the long way
                place = _read_record(body, start, 0, 0, None)[1]
            else:
                place = end
            if len(found_keys) > limit or len(found_values) > limit:
                return found_keys, found_values
    except (ValueError, IndexError) as error:
        raise KafkaError(ErrorCode.corrupt_message, f"a record does not parse: {error}") from error
    if place != end_of_body:
        raise KafkaError(ErrorCode.corrupt_message, f"{end_of_body - place} bytes follow the last record of a batch")
    return found_keys, found_values


def _read_record(
    body: bytes, place: int, base_offset: int, base_timestamp: int, append_time: int | None
) -> tuple[Record, int]:
    """One record at `place` and the place behind it. Loading state reads millions: hence no Reader object here."""
    length, place = _read_varint(body, place)
    end = place + length
    if length < 0 or end > len(body):
        raise ValueError("a record is longer than its batch")
    delta, place = _read_varint(body, place + 1)  # behind the attributes of a record, unused so far
    timestamp = base_timestamp + delta if append_time is None else append_time
    delta, place = _read_varint(body, place)
    key, place = _read_bytes(body, place, end)
    value, place = _read_bytes(body, place, end)
    count, place = _read_varint(body, place)
    headers: tuple[tuple[str, bytes | None], ...] = ()
    if count:
        if count < 0 or count > end - place:
            raise ValueError("more headers than bytes")
        found = []
        for _ in range(count):
            name, place = _read_bytes(body, place, end)
            content, place = _read_bytes(body, place, end)
            if name is None:
                raise ValueError("a header without a name")
            found.append((name.decode(), content))
        headers = tuple(found)
    if place != end:
        raise ValueError("a record's length does not match its fields")
    return Record(base_offset + delta, timestamp, key, value, headers), end


def _read_varint(body: bytes, place: int) -> tuple[int, int]:
    byte = body[place]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), place + 1
    value, shift = byte & 0x7F, 7
    while True:
        place += 1
        byte = body[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), place + 1
        shift += 7
        if shift > 63:
            raise ValueError("a variable-length integer does not end")


def _read_bytes(body: bytes, place: int, end: int) -> tuple[bytes | None, int]:
    length, place = _read_varint(body, place)
    if length < 0:
        return None, place
    stop = place + length
    if stop > end:
        raise ValueError("a field is longer than its record")
    return body[place:stop], stop


def _varint(out: bytearray, value: int) -> None:
    value = (value << 1) ^ (value >> 63)
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)


def encode_record(record: Record, base_offset: int, base_timestamp: int) -> bytearray:
    """One record with its length in front, relative to the batch's base offset and timestamp."""
    body = bytearray(1)
    _varint(body, record.timestamp - base_timestamp)
    _varint(body, record.offset - base_offset)
    if record.key is None:
        body.append(1)  # zigzag of -1
    else:
        _varint(body, len(record.key))
        body += record.key
    if record.value is None:
        body.append(1)
    else:
        _varint(body, len(record.value))
        body += record.value
    _varint(body, len(record.headers))
    for name, value in record.headers:
        raw = name.encode()
        _varint(body, len(raw))
        body += raw
        if value is None:
            body.append(1)
        else:
            _varint(body, len(value))
            body += value
    out = bytearray()
    _varint(out, len(body))
    out += body
    return out


def build_batch(
    items: Sequence[Record],
    *,
    base_offset: int | None = None,
    last_offset: int | None = None,
    codec: int = codecs.NONE,
    level: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
    leader_epoch: int = -1,
    log_append_time: int | None = None,
    base_timestamp: int | None = None,
    delete_horizon_ms: int | None = None,
    max_timestamp: int | None = None,
) -> bytearray:
    """A sealed batch of records that carry absolute offsets.

    `base_offset` and `last_offset` keep the range of a compacted batch whose first or last record is gone; an empty
    batch needs both. A delete horizon takes the place of the base timestamp, as KIP-534 lays down.
    """
    first = base_offset if base_offset is not None else items[0].offset
    last = last_offset if last_offset is not None else items[-1].offset
    if base_timestamp is None:
        base_timestamp = items[0].timestamp if items else -1
    if delete_horizon_ms is not None:
        base_timestamp = delete_horizon_ms
    if max_timestamp is None:
        max_timestamp = max((item.timestamp for item in items), default=-1)
    if log_append_time is not None:
        max_timestamp = log_append_time
    body = b"".join(encode_record(item, first, base_timestamp) for item in items)
    if codec and items:
        body = codecs.compress(codec, body, level)
    attributes = codec if items else 0
    attributes |= TIMESTAMP_TYPE if log_append_time is not None else 0
    attributes |= TRANSACTIONAL if transactional else 0
    attributes |= CONTROL if control else 0
    attributes |= DELETE_HORIZON if delete_horizon_ms is not None else 0
    batch = bytearray(HEADER_SIZE)
    HEADER.pack_into(
        batch, 0, first, HEADER_SIZE - LENGTH_OVERHEAD + len(body), leader_epoch, MAGIC, 0, attributes, last - first,
        base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, len(items),
    )  # fmt: skip
    batch += body
    seal(batch)
    return batch


def build_marker(
    offset: int, timestamp: int, producer_id: int, producer_epoch: int, marker: EndTxnMarker, leader_epoch: int
) -> bytearray:
    """The control batch that commits or aborts a producer's open transaction on one partition."""
    key = _CONTROL_KEY.pack(0, 1 if marker.commit else 0)
    value = _END_TXN_MARKER.pack(0, marker.coordinator_epoch)
    return build_batch(
        [Record(offset, timestamp, key, value)],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
        leader_epoch=leader_epoch,
    )


def read_marker(record: Record) -> EndTxnMarker | None:
    """The marker in a control record; None for control records that are not about transactions."""
    if record.key is None or len(record.key) < 4 or record.value is None:
        return None
    _, kind = _CONTROL_KEY.unpack_from(record.key)
    if kind not in (0, 1) or len(record.value) < 6:
        return None
    return EndTxnMarker(kind == 1, _END_TXN_MARKER.unpack_from(record.value)[1])
