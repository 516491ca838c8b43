"""The messages of `pgoutput`, PostgreSQL's own logical decoding plug-in (protocol version 1): bytes in, values out.

No I/O, and no types: a column's value stays the text that PostgreSQL sent. Streaming of transactions in progress
(version 2) is left out: what comes is committed.
"""

from __future__ import annotations

import datetime
import struct
from dataclasses import dataclass
from typing import Final

_UINT64 = struct.Struct(">Q")
_UINT32 = struct.Struct(">I")
_UINT16 = struct.Struct(">H")
_INT32 = struct.Struct(">i")
_BEGIN = struct.Struct(">QqI")
_COMMIT = struct.Struct(">BQQq")
POSTGRES_EPOCH_MICROS: Final = 946_684_800_000_000  # 2000-01-01, from 1970


class Unchanged:
    """A value that was stored out of line (TOAST) and has not changed: it is not sent."""

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Final = Unchanged()
Value = bytes | None | Unchanged
Values = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Begin:
    commit_lsn: int
    micros: int  # since 1970
    transaction: int


@dataclass(frozen=True, slots=True)
class Commit:
    commit_lsn: int
    end_lsn: int
    micros: int


@dataclass(frozen=True, slots=True)
class RelationColumn:
    name: str
    type: int
    modifier: int
    is_key: bool  # of the replica identity, which with FULL is every column


@dataclass(frozen=True, slots=True)
class Relation:
    id: int
    schema: str
    name: str
    identity: str  # d, n, f, i: default, nothing, full, index
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True)
class Insert:
    relation: int
    new: Values


@dataclass(frozen=True, slots=True)
class Update:
    relation: int
    old: Values | None  # when the key changed, or with REPLICA IDENTITY FULL
    old_is_full: bool
    new: Values


@dataclass(frozen=True, slots=True)
class Delete:
    relation: int
    old: Values
    old_is_full: bool


@dataclass(frozen=True, slots=True)
class Truncate:
    relations: tuple[int, ...]


Message = Begin | Commit | Relation | Insert | Update | Delete | Truncate


def decode(data: bytes) -> Message | None:
    """None for messages without a change: types, origins, logical messages."""
    kind = data[0]
    if kind == 0x49:  # I
        values, _ = _tuple(data, 6)
        return Insert(_UINT32.unpack_from(data, 1)[0], values)
    if kind == 0x55:  # U
        relation = _UINT32.unpack_from(data, 1)[0]
        mark = data[5]
        old: Values | None = None
        at = 6
        if mark in (0x4B, 0x4F):  # K, O
            old, at = _tuple(data, at)
            at += 1
        new, _ = _tuple(data, at)
        return Update(relation, old, mark == 0x4F, new)
    if kind == 0x44:  # D
        values, _ = _tuple(data, 6)
        return Delete(_UINT32.unpack_from(data, 1)[0], values, data[5] == 0x4F)
    if kind == 0x42:  # B
        lsn, micros, transaction = _BEGIN.unpack_from(data, 1)
        return Begin(lsn, micros + POSTGRES_EPOCH_MICROS, transaction)
    if kind == 0x43:  # C
        _, lsn, end, micros = _COMMIT.unpack_from(data, 1)
        return Commit(lsn, end, micros + POSTGRES_EPOCH_MICROS)
    if kind == 0x52:  # R
        return _relation(data)
    if kind == 0x54:  # T
        (count,) = _UINT32.unpack_from(data, 1)
        return Truncate(tuple(_UINT32.unpack_from(data, 6 + 4 * at)[0] for at in range(count)))
    return None


def _tuple(data: bytes, at: int) -> tuple[Values, int]:
    (count,) = _UINT16.unpack_from(data, at)
    at += 2
    values: list[Value] = []
    for _ in range(count):
        kind = data[at]
        at += 1
        if kind == 0x74:  # t
            (size,) = _INT32.unpack_from(data, at)
            at += 4
            values.append(data[at : at + size])
            at += size
        else:
            values.append(None if kind == 0x6E else UNCHANGED)  # n, u
    return tuple(values), at


def _relation(data: bytes) -> Relation:
    (number,) = _UINT32.unpack_from(data, 1)
    schema, at = _text(data, 5)
    name, at = _text(data, at)
    identity = chr(data[at])
    (count,) = _UINT16.unpack_from(data, at + 1)
    at += 3
    columns = []
    for _ in range(count):
        flags = data[at]
        column, at = _text(data, at + 1)
        (type,) = _UINT32.unpack_from(data, at)
        (modifier,) = _INT32.unpack_from(data, at + 4)
        at += 8
        columns.append(RelationColumn(column, type, modifier, bool(flags & 1)))
    return Relation(number, schema or "pg_catalog", name, identity, tuple(columns))


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(0, at)
    return data[at:end].decode(), end + 1


def lsn_text(lsn: int) -> str:
    """
    >>> lsn_text(0x1_0000_00FF)
    '1/FF'
    """
    return f"{lsn >> 32:X}/{lsn & 0xFFFF_FFFF:X}"


def lsn_number(text: str) -> int:
    """
    >>> lsn_number("1/FF") == 0x1_0000_00FF
    True
    """
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) | int(low, 16)


def micros_now() -> int:
    return int(datetime.datetime.now(datetime.UTC).timestamp() * 1_000_000)
