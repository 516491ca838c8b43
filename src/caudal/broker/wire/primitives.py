"""Kafka's primitive types, read and written one by one.

For the formats that are ours to write: headers of requests, Produce and Fetch, records of the internal topics. All
other messages go through `messages.py`. A read past the end raises `Truncated`, never a struct error.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

Buffer = bytes | bytearray | memoryview
T = TypeVar("T")
Data = bytes  # inside the classes below `bytes` is a method

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_UINT32 = struct.Struct(">I")
_INT64 = struct.Struct(">q")
_FLOAT64 = struct.Struct(">d")


class Truncated(ValueError):
    """The bytes end before the value does, or a length points outside of them."""


class Reader:
    """Reads values in order from a buffer; `position` is where the next one starts."""

    __slots__ = ("buffer", "end", "position")

    def __init__(self, buffer: Buffer, position: int = 0, end: int | None = None) -> None:
        self.buffer = memoryview(buffer)
        self.position = position
        self.end = len(buffer) if end is None else end

    @property
    def remaining(self) -> int:
        return self.end - self.position

    def take(self, count: int) -> memoryview:
        start = self.position
        if count < 0 or start + count > self.end:
            raise Truncated(f"{count} bytes wanted at {start}, {self.end - start} are left")
        self.position = start + count
        return self.buffer[start : start + count]

    def int8(self) -> int:
        value = self.take(1)[0]
        return value - 256 if value > 127 else value

    def int16(self) -> int:
        return int(_INT16.unpack(self.take(2))[0])

    def int32(self) -> int:
        return int(_INT32.unpack(self.take(4))[0])

    def uint32(self) -> int:
        return int(_UINT32.unpack(self.take(4))[0])

    def int64(self) -> int:
        return int(_INT64.unpack(self.take(8))[0])

    def float64(self) -> float:
        return float(_FLOAT64.unpack(self.take(8))[0])

    def boolean(self) -> bool:
        return self.take(1)[0] != 0

    def uuid(self) -> UUID:
        return UUID(bytes=bytes(self.take(16)))

    def uvarint(self) -> int:
        result = shift = 0
        while True:
            byte = self.take(1)[0]
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result
            shift += 7
            if shift > 63:
                raise Truncated("a variable-length integer does not end")

    def varint(self) -> int:
        raw = self.uvarint()
        return (raw >> 1) ^ -(raw & 1)

    varlong = varint

    def string(self) -> str:
        return str(self.take(self.int16()), "utf-8")

    def nullable_string(self) -> str | None:
        length = self.int16()
        return None if length < 0 else str(self.take(length), "utf-8")

    def compact_string(self) -> str:
        return str(self.take(self.uvarint() - 1), "utf-8")

    def compact_nullable_string(self) -> str | None:
        length = self.uvarint()
        return None if length == 0 else str(self.take(length - 1), "utf-8")

    def bytes(self) -> Data:
        return Data(self.take(self.int32()))

    def nullable_bytes(self) -> Data | None:
        length = self.int32()
        return None if length < 0 else bytes(self.take(length))

    def compact_bytes(self) -> Data:
        return Data(self.take(self.uvarint() - 1))

    def array(self, item: Callable[[], T]) -> list[T]:
        return [item() for _ in range(self._bounded(self.int32()))]

    def compact_array(self, item: Callable[[], T]) -> list[T]:
        return [item() for _ in range(self._bounded(self.uvarint() - 1))]

    def tagged_fields(self) -> dict[int, Data]:
        return {self.uvarint(): bytes(self.take(self.uvarint())) for _ in range(self._bounded(self.uvarint()))}

    def _bounded(self, count: int) -> int:
        # Every element takes at least a byte: a count beyond that is a lie that would only cost memory.
        if count > self.remaining:
            raise Truncated(f"an array of {count} elements cannot be in {self.remaining} bytes")
        return max(count, 0)


class Writer:
    """Appends values to a growing buffer; `data` is the result so far."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data = bytearray()

    def __bytes__(self) -> bytes:
        return bytes(self.data)

    def raw(self, value: Buffer) -> Writer:
        self.data += value
        return self

    def int8(self, value: int) -> Writer:
        self.data.append(value & 0xFF)
        return self

    def int16(self, value: int) -> Writer:
        self.data += _INT16.pack(value)
        return self

    def int32(self, value: int) -> Writer:
        self.data += _INT32.pack(value)
        return self

    def uint32(self, value: int) -> Writer:
        self.data += _UINT32.pack(value)
        return self

    def int64(self, value: int) -> Writer:
        self.data += _INT64.pack(value)
        return self

    def float64(self, value: float) -> Writer:
        self.data += _FLOAT64.pack(value)
        return self

    def boolean(self, value: bool) -> Writer:
        self.data.append(1 if value else 0)
        return self

    def uuid(self, value: UUID | None) -> Writer:
        self.data += value.bytes if value is not None else bytes(16)
        return self

    def uvarint(self, value: int) -> Writer:
        data = self.data
        while value > 0x7F:
            data.append((value & 0x7F) | 0x80)
            value >>= 7
        data.append(value)
        return self

    def varint(self, value: int) -> Writer:
        return self.uvarint((value << 1) ^ (value >> 63))

    varlong = varint

    def string(self, value: str) -> Writer:
        raw = value.encode()
        self.data += _INT16.pack(len(raw))
        self.data += raw
        return self

    def nullable_string(self, value: str | None) -> Writer:
        return self.int16(-1) if value is None else self.string(value)

    def compact_string(self, value: str) -> Writer:
        raw = value.encode()
        self.uvarint(len(raw) + 1)
        self.data += raw
        return self

    def compact_nullable_string(self, value: str | None) -> Writer:
        return self.uvarint(0) if value is None else self.compact_string(value)

    def bytes(self, value: Buffer) -> Writer:
        self.data += _INT32.pack(len(value))
        self.data += value
        return self

    def nullable_bytes(self, value: Buffer | None) -> Writer:
        return self.int32(-1) if value is None else self.bytes(value)

    def compact_bytes(self, value: Buffer) -> Writer:
        self.uvarint(len(value) + 1)
        self.data += value
        return self

    def tagged_fields(self, fields: dict[int, Data] | None = None) -> Writer:
        self.uvarint(len(fields) if fields else 0)
        for tag, value in sorted((fields or {}).items()):
            self.uvarint(tag).uvarint(len(value))
            self.data += value
        return self
