"""Keys of windowed tables, as Kafka Streams writes them to topics: the key's bytes, then times of 8 bytes, big endian.

Time windows carry their start only (the reader knows the size), sessions their end and start.
"""

from __future__ import annotations

import struct
from typing import Any

from caudal.runtime.record import Windowed
from caudal.serde.serde import BuiltInSerde, Serde, cannot_read, cannot_write

_start = struct.Struct(">q")
_end_start = struct.Struct(">qq")


class TimeWindowed(BuiltInSerde):
    """A key in a tumbling, hopping or sliding window: key, start.

    >>> from caudal.serde import String
    >>> TimeWindowed(String(), 60_000).deserialize(b"ana" + bytes(8))
    Windowed(key='ana', start=0, end=60000)
    """

    __slots__ = ("key", "window_size")
    settings = ("key", "window_size")

    def __init__(self, key: Serde, window_size: int) -> None:
        self.key = key
        self.window_size = window_size

    def serialize(self, value: Any) -> bytes:
        try:
            key, start, _ = value
            tail = _start.pack(start)
        except (TypeError, ValueError, struct.error):
            raise cannot_write(self, value, "a Windowed is needed (key, start, end)") from None
        return self.key.serialize(key) + tail

    def deserialize(self, data: bytes) -> Windowed:
        if len(data) < 8:
            raise cannot_read(self, data, "a windowed key has at least 8 bytes")
        (start,) = _start.unpack_from(data, len(data) - 8)
        # An end beyond the 64-bit range is cut there, as Kafka Streams cuts it.
        return Windowed(self.key.deserialize(data[:-8]), start, min(start + self.window_size, (1 << 63) - 1))


class SessionWindowed(BuiltInSerde):
    """A key in a session window: key, end, start.

    >>> from caudal.serde import String
    >>> SessionWindowed(String()).serialize(Windowed("a", 0, 1))
    b'a\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00'
    """

    __slots__ = ("key",)
    settings = ("key",)

    def __init__(self, key: Serde) -> None:
        self.key = key

    def serialize(self, value: Any) -> bytes:
        try:
            key, start, end = value
            tail = _end_start.pack(end, start)
        except (TypeError, ValueError, struct.error):
            raise cannot_write(self, value, "a Windowed is needed (key, start, end)") from None
        return self.key.serialize(key) + tail

    def deserialize(self, data: bytes) -> Windowed:
        if len(data) < 16:
            raise cannot_read(self, data, "a session key has at least 16 bytes")
        end, start = _end_start.unpack_from(data, len(data) - 16)
        return Windowed(self.key.deserialize(data[:-16]), start, end)
