"""How a record says which schema it has: a zero byte, the schema's id in four bytes, for Protobuf the way to the
message within its file, then the value."""

from __future__ import annotations

import struct
from collections.abc import Sequence

MAGIC = 0
HEAD_BYTES = 5
_head = struct.Struct(">BI")
_id = struct.Struct(">I")


def head(id: int) -> bytes:
    """
    >>> head(7)
    b'\\x00\\x00\\x00\\x00\\x07'
    """
    return _head.pack(MAGIC, id)


def schema_id(data: bytes) -> int | None:
    """The id in a record's head; None where it has none.

    >>> schema_id(b"\\x00\\x00\\x00\\x00\\x07value"), schema_id(b"{}")
    (7, None)
    """
    if len(data) < HEAD_BYTES or data[0] != MAGIC:
        return None
    return _id.unpack_from(data, 1)[0]  # type: ignore[no-any-return]


def message_indexes(path: Sequence[int]) -> bytes:
    """The way to a message: the place of the outermost one in its file, then that of each one nested in it. The first
    message of a file, which is the usual case, is one zero byte.

    >>> message_indexes([0]), message_indexes([1, 0])
    (b'\\x00', b'\\x04\\x02\\x00')
    """
    if list(path) == [0]:
        return b"\x00"
    return b"".join(varint(number << 1) for number in (len(path), *path))


def read_message_indexes(data: bytes, begin: int = HEAD_BYTES) -> tuple[tuple[int, ...], int]:
    """The way and where the value begins; ValueError where it cannot be one.

    >>> read_message_indexes(b"\\x04\\x02\\x00value", 0)
    ((1, 0), 3)
    """
    count, position = _read_varint(data, begin)
    if count == 0:
        return (0,), position
    if count < 0 or count > len(data):
        raise ValueError(f"{count} is no number of message indexes")
    path = []
    for _ in range(count):
        number, position = _read_varint(data, position)
        path.append(number)
    return tuple(path), position


def varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; a number that is not negative."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise ValueError("its message indexes have no end")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
        shift += 7
