"""The buffer of left and outer stream-stream joins: records of either side that have found no partner yet.

A key-value store whose key is (time, side, key) and whose value is the list of records that share it, so the engine's
order is the order in which they expire. Changelog: time (8), side (1: left is 1), key → list of side and value, in the
layouts Kafka Streams uses for the same store.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import Any

from caudal.plan.topology import StoreSpec
from caudal.runtime.stores.api import StreamContext, Unjoined
from caudal.runtime.stores.engines.engine import Engine
from caudal.runtime.stores.key_value import Keyed
from caudal.serde import Serde
from caudal.serde.either import LeftOrRight

_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_HEAD = struct.Struct(">q?")
_LIST_HEAD = struct.Struct(">iii")
_VARIABLE_SIZE = 1
_UNKNOWN = -2


class _KeySerde:
    def __init__(self, key: Serde) -> None:
        self._key = key

    def serialize(self, value: tuple[int, bool, Any]) -> bytes:
        time, left, key = value
        return _HEAD.pack(time, left) + self._key.serialize(key)

    def deserialize(self, data: bytes) -> tuple[int, bool, Any]:
        time, left = _HEAD.unpack_from(data)
        return time, left, self._key.deserialize(data[_HEAD.size :])


class _ListSerde:
    def __init__(self, item: LeftOrRight) -> None:
        self._item = item

    def serialize(self, values: list[tuple[bool, Any]]) -> bytes:
        parts = [_LIST_HEAD.pack(_VARIABLE_SIZE, 0, len(values))]  # no nulls among them
        for value in values:
            data = self._item.serialize(value)
            parts += (_INT32.pack(len(data)), data)
        return b"".join(parts)

    def deserialize(self, data: bytes) -> list[tuple[bool, Any]]:
        at = _LIST_HEAD.size
        values = []
        for _ in range(_LIST_HEAD.unpack_from(data)[2]):
            size = _INT32.unpack_from(data, at)[0]
            values.append(self._item.deserialize(data[at + 4 : at + 4 + size]))
            at += 4 + size
        return values


class JoinBuffer(Keyed):
    """`StoreSpec.value` is a LeftOrRight, or one serde for both sides."""

    def __init__(
        self, spec: StoreSpec, engine: Engine, prefix: bytes, context: StreamContext, cache_entries: int
    ) -> None:
        sides = spec.value if isinstance(spec.value, LeftOrRight) else LeftOrRight(spec.value, spec.value)
        inner = replace(spec, key=_KeySerde(spec.key), value=_ListSerde(sides))
        super().__init__(inner, engine, prefix, context, cache_entries)
        self._min: int | None = _UNKNOWN
        # Nothing is left before it: without it every scan would walk over all that was taken out since the commit.
        self._floor = b""

    def _ident(self, key: Any) -> Hashable:
        return (self._serialize_key(key),)  # a tuple of time, side and key has no use as its own identity

    def add(self, key: Any, value: Any, time: int, left: bool) -> None:
        place = (time, left, key)
        there = self._entry(place)[0] or []
        self._put_entry(place, [*there, (left, value)], self.context.timestamp)
        if self._min is None or (self._min != _UNKNOWN and time < self._min):
            self._min = time
        self._floor = min(self._floor, _INT64.pack(max(time, 0)))

    def remove(self, key: Any, time: int, left: bool) -> bool:
        """Those of this key, time and side have found a partner. False where there were none."""
        place = (time, left, key)
        if self._entry(place)[0] is None:
            return False
        self._put_entry(place, None, self.context.timestamp)
        if time == self._min:
            self._min = _UNKNOWN
        return True

    def pop_before(self, time: int) -> Iterator[Unjoined]:
        """Takes out, one by one, what is older than `time`."""
        end = _INT64.pack(max(time, 0))
        for place, (values, _) in self._scan(self._floor, end):
            self.remove(place[2], place[0], place[1])
            for left, value in values:
                yield Unjoined(place[0], left, place[2], value)
        self._floor = max(self._floor, end)

    def all(self) -> Iterator[Unjoined]:
        for (time, left, key), (values, _) in self._scan(self._floor, None):
            for _, value in values:
                yield Unjoined(time, left, key, value)

    @property
    def min_time(self) -> int | None:
        """The time of the oldest record; None where there is none."""
        if self._min == _UNKNOWN:
            first = next(self._scan(self._floor, None), None)
            self._min = None if first is None else first[0][0]
            if first is not None:
                self._floor = max(self._floor, _INT64.pack(max(first[0][0], 0)))
        return self._min

    def rollback(self) -> None:
        super().rollback()
        self._min = _UNKNOWN
        self._floor = b""
