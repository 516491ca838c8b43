"""Variable-length integers and what the flexible versions build from them: counts, texts, tagged fields.

Functions on a plain buffer and a position, for the hand-written paths; `primitives.py` has the same as objects.
"""

from __future__ import annotations

import struct

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")


class Malformed(ValueError):
    """A message that does not follow its schema: the connection is closed, as Kafka does."""


def read_uvarint(buffer: bytes | bytearray, position: int) -> tuple[int, int]:
    """The value and the position behind it; IndexError where the buffer ends first."""
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


def skip_tagged_fields(buffer: bytes | bytearray, position: int, end: int) -> int:
    """The position behind tagged fields that nobody here reads."""
    count, position = read_uvarint(buffer, position)
    for _ in range(count):
        _, position = read_uvarint(buffer, position)
        size, position = read_uvarint(buffer, position)
        position += size
        if position > end:
            raise Malformed("a tagged field is longer than the request")
    return position


def write_uvarint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)


def write_count(out: bytearray, count: int, flexible: bool) -> None:
    """The length of an array; -1 for null."""
    if flexible:
        write_uvarint(out, count + 1)
    else:
        out += _INT32.pack(count)


def write_text(out: bytearray, text: str | None, flexible: bool) -> None:
    raw = b"" if text is None else text.encode()
    if flexible:
        write_uvarint(out, 0 if text is None else len(raw) + 1)
    else:
        out += _INT16.pack(-1 if text is None else len(raw))
    out += raw
