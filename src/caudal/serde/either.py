"""Values of one of two kinds, as an outer join keeps records that wait for a partner: (is left, value).

A flag byte (1: left), then the value, which is Kafka Streams' format."""

from __future__ import annotations

from typing import Any

from caudal.serde.serde import BuiltInSerde, Serde, cannot_read, cannot_write


class LeftOrRight(BuiltInSerde):
    """Pairs of (is left, value), each side with its own serde; a value is never None, joins drop those.

    >>> from caudal.serde import Long, String
    >>> LeftOrRight(String(), Long()).serialize((True, "a"))
    b'\\x01a'
    """

    __slots__ = ("left", "right")
    settings = ("left", "right")

    def __init__(self, left: Serde, right: Serde) -> None:
        self.left = left
        self.right = right

    def serialize(self, value: Any) -> bytes:
        try:
            is_left, inner = value
        except (TypeError, ValueError):
            raise cannot_write(self, value, "a pair of (is left, value) is needed") from None
        return (b"\x01" + self.left.serialize(inner)) if is_left else (b"\x00" + self.right.serialize(inner))

    def deserialize(self, data: bytes) -> tuple[bool, Any]:
        kind = data[0] if data else 255
        if kind == 1:
            return True, self.left.deserialize(data[1:])
        if kind == 0:
            return False, self.right.deserialize(data[1:])
        raise cannot_read(self, data, "its first byte says neither left nor right")
