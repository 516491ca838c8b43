"""A table's change on a repartition topic: new and old value in one record, in Kafka Streams' format.

Old only: value, 0. New only: value, 1. Both: length of the new value as a varint, new, old, 2. Made by the DSL for the
topics behind `KTable.group_by`; nobody else needs it.
"""

from __future__ import annotations

from typing import Any

from caudal.runtime.record import Change
from caudal.serde.serde import BuiltInSerde, Serde, cannot_read, cannot_write
from caudal.serde.wire_format import varint

_OLD, _NEW, _BOTH = 0, 1, 2


class ChangeSerde(BuiltInSerde):
    """Between a Change and bytes; one of its two values may be None.

    >>> from caudal.serde import String
    >>> ChangeSerde(String()).serialize(Change("new", None))
    b'new\\x01'
    """

    __slots__ = ("value",)
    settings = ("value",)

    def __init__(self, value: Serde) -> None:
        self.value = value

    def serialize(self, value: Any) -> bytes:
        try:
            new, old = value
        except (TypeError, ValueError):
            raise cannot_write(self, value, "a Change is needed (new, old)") from None
        if old is None:
            if new is None:
                raise cannot_write(self, value, "new and old value are both None")
            return self.value.serialize(new) + b"\x01"
        if new is None:
            return self.value.serialize(old) + b"\x00"
        data = self.value.serialize(new)
        length = varint(len(data) << 1)  # zigzag, as everywhere in Kafka's records
        return length + data + self.value.serialize(old) + b"\x02"

    def deserialize(self, data: bytes) -> Change:
        if not data:
            raise cannot_read(self, data, "a change has at least one byte")
        kind = data[-1]
        if kind == _NEW:
            return Change(self.value.deserialize(data[:-1]), None)
        if kind == _OLD:
            return Change(None, self.value.deserialize(data[:-1]))
        if kind != _BOTH:
            raise cannot_read(self, data, f"{kind} is no kind of change")
        length, begin = _read_varint(data)
        end = begin + length
        if length < 0 or end > len(data) - 1:
            raise cannot_read(self, data, "the new value is longer than the record")
        return Change(self.value.deserialize(data[begin:end]), self.value.deserialize(data[end:-1]))


def _read_varint(data: bytes) -> tuple[int, int]:
    value = position = 0
    for byte in data:
        value |= (byte & 0x7F) << 7 * position
        position += 1
        if byte < 0x80:
            break
    return (value >> 1) ^ -(value & 1), position
