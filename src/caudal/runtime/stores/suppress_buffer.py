"""The buffer of suppress: at most one change per key, taken out in the order (time, serialised key).

All of it is in memory, as in Kafka Streams, because suppress has limits of its own (records, bytes) and a buffer that
is emptied in order is read whole anyway. The engine has a copy for a quick start; a rollback reads it again.
A key that is put and taken out between two commits leaves no changelog record.

Changelog: key → context of the record (timestamp, offset, topic, partition, headers), the value before the first
buffered change, the last change's old and new value, and the time: Kafka Streams' layout of buffered values.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable
from heapq import heapify, heappop, heappush
from typing import Any

from caudal.plan.topology import StoreSpec
from caudal.runtime.record import Change, Headers, RecordContext
from caudal.runtime.stores.api import Buffered, StreamContext
from caudal.runtime.stores.base import EngineItem, LogRecord, Store
from caudal.runtime.stores.engines.engine import Engine

_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_TIME_OFFSET = struct.Struct(">qq")
_NULL = -1
_SAME_AS_PRIOR = -2


class _Held:
    """A buffered change. `data` is its serialised form, once somebody needed it."""

    __slots__ = ("change", "context", "data", "prior", "raw", "time")

    def __init__(self, time: int, raw: bytes, change: Change, prior: Any, context: RecordContext) -> None:
        self.time = time
        self.raw = raw
        self.change = change
        self.prior = prior
        self.context = context
        self.data: bytes | None = None


class SuppressBuffer(Store):
    def __init__(
        self, spec: StoreSpec, engine: Engine, prefix: bytes, context: StreamContext, cache_entries: int
    ) -> None:
        super().__init__(spec, engine, prefix, context, cache_entries)
        self._held: dict[Hashable, _Held] = {}
        self._order: list[tuple[int, bytes]] = []  # heap; exact, because a key leaves only as the first
        self._dirty: dict[bytes, Hashable] = {}
        self._records: list[LogRecord] | None = None
        self._in_engine: set[bytes] = set()
        self._unsized: set[Hashable] = set()
        self._bytes = 0

    # -- operations --------------------------------------------------------------------------------------------------

    def put(self, key: Any, change: Change, time: int, context: RecordContext) -> None:
        """Buffers the change; where the key is buffered already, it replaces the change and keeps time and prior."""
        ident = key if key.__class__ is self._plain else self._ident(key)
        own = Change(self._own(change.new), self._own(change.old))
        held = self._held.get(ident)
        if held is None:
            raw = self._raw(ident)
            held = self._held[ident] = _Held(time, raw, own, own.old, context)
            heappush(self._order, (time, raw))
        else:
            self._forget_size(ident, held)
            held.change = own
            held.context = context
            held.data = None
        self._unsized.add(ident)
        self._dirty[held.raw] = ident

    def get(self, key: Any) -> Buffered | None:
        ident = key if key.__class__ is self._plain else self._ident(key)
        held = self._held.get(ident)
        return None if held is None else self._buffered(ident, held)

    def pop(self) -> Buffered:
        """Takes out the first. IndexError where the buffer is empty."""
        _, raw = heappop(self._order)
        ident = self._dirty.get(raw)
        if ident is None:
            ident = self._ident(self._deserialize_key(raw))
        held = self._held.pop(ident)
        self._forget_size(ident, held)
        self._dirty[raw] = ident
        return self._buffered(ident, held)

    def __len__(self) -> int:
        return len(self._held)

    @property
    def min_time(self) -> int | None:
        return self._order[0][0] if self._order else None

    @property
    def size_bytes(self) -> int:
        """Bytes of the buffered keys and values as serialised. Serialises what changed since it was last asked."""
        for ident in self._unsized:
            held = self._held[ident]
            self._bytes += len(held.raw) + len(self._data(held))
        self._unsized.clear()
        return self._bytes

    def _forget_size(self, ident: Hashable, held: _Held) -> None:
        if ident in self._unsized:
            self._unsized.remove(ident)
        elif held.data is not None:
            self._bytes -= len(held.raw) + len(held.data)

    def _buffered(self, ident: Hashable, held: _Held) -> Buffered:
        change = Change(self._own(held.change.new), self._own(held.change.old))
        return Buffered(held.time, self._key_of(ident), change, self._own(held.prior), held.context)

    def _data(self, held: _Held) -> bytes:
        if held.data is None:
            serialize = self._serialize
            values = (held.prior, held.change.old, held.change.new)
            prior, old, new = (None if value is None else serialize(value) for value in values)
            held.data = pack_context(held.context) + pack_values(prior, old, new) + _INT64.pack(held.time)
        return held.data

    # -- life cycle --------------------------------------------------------------------------------------------------

    @property
    def pending(self) -> int:
        return len(self._dirty) + len(self._records or ())

    def freeze(self) -> list[LogRecord]:
        if self._records is None:
            records: list[LogRecord] = []
            for raw, ident in self._dirty.items():
                held = self._held.get(ident)
                if held is not None:
                    records.append((raw, self._data(held), held.context.timestamp))
                elif raw in self._in_engine:
                    records.append((raw, None, self.context.timestamp))
            self._records = records
            self._dirty = {}
        return self._records

    def engine_items(self, records: Iterable[LogRecord]) -> list[EngineItem]:
        return [(self._prefix + key, value) for key, value, _ in records]

    def committed(self) -> None:
        for key, value, _ in self._records or ():
            if value is None:
                self._in_engine.discard(key)
            else:
                self._in_engine.add(key)
        self._records = None

    def rollback(self) -> None:
        if self._dirty or self._records is not None:
            self.load({})

    def load(self, state: dict[str, int]) -> None:
        self._held = {}
        self._dirty = {}
        self._records = None
        self._in_engine = set()
        self._unsized = set()
        self._bytes = 0
        skip = len(self._prefix)
        for key, data in self._engine.scan(self._prefix, self._end):
            raw = key[skip:]
            held = self._read(raw, data)
            self._held[self._ident(self._deserialize_key(raw))] = held
            self._in_engine.add(raw)
            self._bytes += len(raw) + len(data)
        self._order = [(held.time, held.raw) for held in self._held.values()]
        heapify(self._order)

    def _read(self, raw: bytes, data: bytes) -> _Held:
        context, at = unpack_context(data)
        values = unpack_values(data, at)
        prior, old, new = (None if value is None else self._deserialize(value) for value in values)
        held = _Held(_INT64.unpack_from(data, len(data) - 8)[0], raw, Change(new, old), prior, context)
        held.data = data
        return held


# -- layout of a buffered value --------------------------------------------------------------------------------------


def pack_context(context: RecordContext) -> bytes:
    topic = None if context.topic is None else context.topic.encode()
    parts = [_TIME_OFFSET.pack(context.timestamp, context.offset), _sized(topic), _INT32.pack(context.partition)]
    parts.append(_INT32.pack(len(context.headers)))
    for name, value in context.headers:
        parts += (_sized(name.encode()), _sized(value))
    return b"".join(parts)


def unpack_context(data: bytes) -> tuple[RecordContext, int]:
    timestamp, offset = _TIME_OFFSET.unpack_from(data)
    topic, at = _read_sized(data, 16)
    partition, count = _INT32.unpack_from(data, at)[0], _INT32.unpack_from(data, at + 4)[0]
    at += 8
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        name, at = _read_sized(data, at)
        value, at = _read_sized(data, at)
        headers.append(((name or b"").decode(), value))
    read: Headers = tuple(headers)
    return RecordContext(None if topic is None else topic.decode(), partition, offset, timestamp, read), at


def pack_values(prior: bytes | None, old: bytes | None, new: bytes | None) -> bytes:
    same = old is not None and old == prior
    return _sized(prior) + (_INT32.pack(_SAME_AS_PRIOR) if same else _sized(old)) + _sized(new)


def unpack_values(data: bytes, at: int) -> tuple[bytes | None, bytes | None, bytes | None]:
    prior, at = _read_sized(data, at)
    if _INT32.unpack_from(data, at)[0] == _SAME_AS_PRIOR:
        old, at = prior, at + 4
    else:
        old, at = _read_sized(data, at)
    return prior, old, _read_sized(data, at)[0]


def _sized(data: bytes | None) -> bytes:
    return _INT32.pack(_NULL) if data is None else _INT32.pack(len(data)) + data


def _read_sized(data: bytes, at: int) -> tuple[bytes | None, int]:
    size = _INT32.unpack_from(data, at)[0]
    return (None, at + 4) if size < 0 else (data[at + 4 : at + 4 + size], at + 4 + size)
