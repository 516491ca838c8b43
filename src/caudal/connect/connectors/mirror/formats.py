"""MirrorMaker 2's internal records as bytes: offset syncs, checkpoints, heartbeats. Its tools read ours, we read its.

Texts have a length of two bytes, numbers are big-endian; checkpoints and heartbeats begin with a version. Pure: no I/O.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from caudal.connect.errors import DataError

VERSION = 0
_SHORT = struct.Struct(">h")
_INT = struct.Struct(">i")
_TWO_LONGS = struct.Struct(">qq")
_VERSION_LONG = struct.Struct(">hq")
_VERSION_TWO_LONGS = struct.Struct(">hqq")


@dataclass(frozen=True, slots=True)
class OffsetSync:
    """The record at `upstream` of the source's partition lies at `downstream` of the copy."""

    topic: str  # of the source
    partition: int
    upstream: int
    downstream: int

    def key(self) -> bytes:
        return _text(self.topic) + _INT.pack(self.partition)

    def value(self) -> bytes:
        return _TWO_LONGS.pack(self.upstream, self.downstream)

    @classmethod
    def read(cls, key: bytes, value: bytes) -> OffsetSync:
        try:
            topic, at = _read_text(key, 0)
            (partition,) = _INT.unpack_from(key, at)
            upstream, downstream = _TWO_LONGS.unpack_from(value)
        except (struct.error, UnicodeDecodeError) as error:
            raise DataError(f"A record is no offset sync of MirrorMaker 2: {error}.") from None
        return cls(topic, partition, upstream, downstream)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Group `group` is at `upstream` in the source, which is `downstream` in the copy's partition."""

    group: str
    topic: str  # of the copy
    partition: int
    upstream: int
    downstream: int
    metadata: str = ""

    def key(self) -> bytes:
        return _text(self.group) + _text(self.topic) + _INT.pack(self.partition)

    def value(self) -> bytes:
        return _VERSION_TWO_LONGS.pack(VERSION, self.upstream, self.downstream) + _text(self.metadata)

    @classmethod
    def read(cls, key: bytes, value: bytes) -> Checkpoint:
        try:
            group, at = _read_text(key, 0)
            topic, at = _read_text(key, at)
            (partition,) = _INT.unpack_from(key, at)
            version, upstream, downstream = _VERSION_TWO_LONGS.unpack_from(value)
            metadata, _ = _read_text(value, _VERSION_TWO_LONGS.size)
        except (struct.error, UnicodeDecodeError) as error:
            raise DataError(f"A record is no checkpoint of MirrorMaker 2: {error}.") from None
        _check(version, "checkpoint")
        return cls(group, topic, partition, upstream, downstream, metadata)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    source: str
    target: str
    timestamp: int

    def key(self) -> bytes:
        return _text(self.source) + _text(self.target)

    def value(self) -> bytes:
        return _VERSION_LONG.pack(VERSION, self.timestamp)

    @classmethod
    def read(cls, key: bytes, value: bytes) -> Heartbeat:
        try:
            source, at = _read_text(key, 0)
            target, _ = _read_text(key, at)
            version, timestamp = _VERSION_LONG.unpack_from(value)
        except (struct.error, UnicodeDecodeError) as error:
            raise DataError(f"A record is no heartbeat of MirrorMaker 2: {error}.") from None
        _check(version, "heartbeat")
        return cls(source, target, timestamp)


def _check(version: int, kind: str) -> None:
    if version != VERSION:
        raise DataError(f"A {kind} has version {version}; this mirror reads version {VERSION}.")


def _text(text: str) -> bytes:
    data = text.encode()
    return _SHORT.pack(len(data)) + data


def _read_text(data: bytes, at: int) -> tuple[str, int]:
    (length,) = _SHORT.unpack_from(data, at)
    end = at + 2 + length
    if length < 0 or end > len(data):
        raise struct.error(f"a text of {length} bytes does not fit")
    return data[at + 2 : end].decode(), end
