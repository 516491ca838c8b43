"""Key-value stores, plain and with a timestamp per value.

Changelog: key and value as serialised, the record's timestamp (plain: of the record being processed; timestamped: of
the value). Engine: prefix + key → value, with the timestamp in front where there is one.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator
from operator import itemgetter
from typing import Any

from caudal.plan.topology import StoreSpec
from caudal.runtime.stores.api import StreamContext
from caudal.runtime.stores.base import EngineItem, LogRecord, Store, following
from caudal.runtime.stores.cache import ABSENT, CleanCache, Entry, OrderedOverlay, merged
from caudal.runtime.stores.engines.engine import Engine
from caudal.runtime.stores.isolation import ATOMS

_INT64 = struct.Struct(">q")
_pack = _INT64.pack
_unpack = _INT64.unpack_from
_RAW = itemgetter(0)


class Keyed(Store):
    """What both kinds share: entries by key. Subclasses decide what of an entry the caller sees."""

    _has_timestamp = False

    def __init__(
        self, spec: StoreSpec, engine: Engine, prefix: bytes, context: StreamContext, cache_entries: int
    ) -> None:
        super().__init__(spec, engine, prefix, context, cache_entries)
        self._dirty = OrderedOverlay()
        self._frozen: dict[Hashable, Entry] = {}
        self._records: list[LogRecord] | None = None
        self._clean = CleanCache(cache_entries)
        self._engine_get = engine.get
        self._decode = _timestamped(self._deserialize) if self._has_timestamp else _plain(self._deserialize)

    # -- entries -----------------------------------------------------------------------------------------------------

    def _entry(self, key: Any) -> Entry:
        """The value is the cache's own: copy it before it goes out."""
        ident = key if key.__class__ is self._plain else self._ident(key)
        entry = self._dirty.get(ident)
        return self._load(ident) if entry is None else entry

    def _load(self, ident: Any) -> Entry:
        """An entry that is not dirty. The path of every first read of a key, so it calls little."""
        if self._frozen:
            entry = self._frozen.get(ident)
            if entry is not None:
                return entry
        entry = self._clean.get(ident)
        if entry is not None:
            return entry
        raw = self._serialize_key(ident) if ident.__class__ is self._plain else ident[0]
        data = self._engine_get(self._prefix + raw)
        if data is None:
            return ABSENT
        entry = self._decode(data)
        self._clean.put(ident, entry)
        return entry

    def _put_entry(self, key: Any, value: Any, timestamp: int) -> None:
        if value.__class__ not in ATOMS:
            value = self._own(value)
        self._dirty[key if key.__class__ is self._plain else self._ident(key)] = (value, timestamp)

    # -- scans -------------------------------------------------------------------------------------------------------

    def _scan(self, first: bytes, end: bytes | None, reverse: bool = False) -> Iterator[tuple[Any, Entry]]:
        """Entries with first <= raw key < end. The overlay is taken at once, so that later puts do not disturb."""
        key_of = self._deserialize_key
        return ((key_of(raw), entry) for raw, entry in self.entries(first, end, reverse))

    def entries(self, first: bytes, end: bytes | None, reverse: bool = False) -> Iterator[tuple[bytes, Entry]]:
        """The same with keys as bytes: what puts the stores of several partitions in one order."""
        stored = self._stored(first, end, reverse)
        return merged(self._overlay(first, end, reverse), stored, self._decode, self._own_entry, reverse)

    def _stored(self, first: bytes, end: bytes | None, reverse: bool) -> Iterator[tuple[bytes, bytes]]:
        prefix = self._prefix
        skip = len(prefix)
        for key, data in self._engine.scan(prefix + first, self._end if end is None else prefix + end, reverse):
            yield key[skip:], data

    def _overlay(self, first: bytes, end: bytes | None, reverse: bool) -> list[tuple[Any, Entry]]:
        order = self._dirty.ordered(self._raw)
        low = bisect_left(order, first, key=_RAW) if first else 0
        high = len(order) if end is None else bisect_left(order, end, key=_RAW)
        dirty = self._dirty
        found = [(raw, dirty[ident]) for raw, ident in order[low:high]]
        if self._frozen:  # between freeze and commit: rare, so no index is kept
            both = {
                raw: entry
                for raw, entry in ((self._raw(ident), entry) for ident, entry in self._frozen.items())
                if first <= raw and (end is None or raw < end)
            }
            both.update(found)
            found = sorted(both.items(), key=_RAW)
        if reverse:
            found.reverse()
        return found

    def _bounds(self, first: Any, last: Any) -> tuple[bytes, bytes | None]:
        low = b"" if first is None else self._serialize_key(first)
        return low, None if last is None else self._serialize_key(last) + b"\0"

    def _prefix_bounds(self, prefix: Any, serializer: Any) -> tuple[bytes, bytes | None]:
        if serializer is not None:
            call: Callable[[Any], bytes] = getattr(serializer, "serialize", serializer)
            raw = call(prefix)
        elif isinstance(prefix, bytes):
            raw = prefix
        else:
            raw = self._serialize_key(prefix)
        return raw, following(raw) if raw else None

    def count(self) -> int:
        """How many keys there are. Reads the keys of the whole store."""
        overlay = self._overlay(b"", None, False)
        return sum(
            1 for _ in merged(overlay, self._stored(b"", None, False), lambda data: (data, -1), lambda entry: entry)
        )

    # -- life cycle --------------------------------------------------------------------------------------------------

    @property
    def pending(self) -> int:
        return len(self._dirty) + len(self._frozen)

    def freeze(self) -> list[LogRecord]:
        if self._records is None:
            serialize_key, serialize = self._serialize_key, self._serialize
            self._records = [
                (
                    ident[0] if ident.__class__ is tuple else serialize_key(ident),
                    None if value is None else serialize(value),
                    timestamp,
                )
                for ident, (value, timestamp) in self._dirty.items()
            ]
            self._frozen = self._dirty
            self._dirty = OrderedOverlay()
        return self._records

    def engine_items(self, records: Iterable[LogRecord]) -> list[EngineItem]:
        prefix = self._prefix
        if self._has_timestamp:
            return [
                (prefix + key, None if value is None else _pack(timestamp) + value) for key, value, timestamp in records
            ]
        return [(prefix + key, value) for key, value, _ in records]

    def committed(self) -> None:
        self._clean.absorb(self._frozen)
        self._frozen = {}
        self._records = None

    def rollback(self) -> None:
        self._dirty = OrderedOverlay()
        self._frozen = {}
        self._records = None

    def load(self, state: dict[str, int]) -> None:
        self.rollback()
        self._clean.clear()


class PlainKeyValueStore(Keyed):
    def get(self, key: Any) -> Any:
        ident = key if key.__class__ is self._plain else self._ident(key)
        entry = self._dirty.get(ident)
        value = (self._load(ident) if entry is None else entry)[0]
        return value if value.__class__ in ATOMS else self._own(value)

    def put(self, key: Any, value: Any) -> None:
        if value.__class__ not in ATOMS:
            value = self._own(value)
        self._dirty[key if key.__class__ is self._plain else self._ident(key)] = (value, self.context.timestamp)

    def put_if_absent(self, key: Any, value: Any) -> Any:
        """The value that was there; where there was none, `value` is put and None returned."""
        old = self.get(key)
        if old is None:
            self.put(key, value)
        return old

    def delete(self, key: Any) -> Any:
        old = self.get(key)
        self.put(key, None)
        return old

    def range(self, first: Any = None, last: Any = None) -> Iterator[tuple[Any, Any]]:
        """From `first` to `last`, both included, in the order of the serialised keys."""
        return _values(self._scan(*self._bounds(first, last)))

    def reverse_range(self, first: Any = None, last: Any = None) -> Iterator[tuple[Any, Any]]:
        return _values(self._scan(*self._bounds(first, last), reverse=True))

    def prefix_scan(self, prefix: Any, serializer: Any = None) -> Iterator[tuple[Any, Any]]:
        """Keys whose bytes begin with the prefix's: bytes, or what `serializer` (else the key serde) makes of it."""
        return _values(self._scan(*self._prefix_bounds(prefix, serializer)))

    def all(self) -> Iterator[tuple[Any, Any]]:
        return _values(self._scan(b"", None))

    def reverse_all(self) -> Iterator[tuple[Any, Any]]:
        return _values(self._scan(b"", None, reverse=True))


class TimestampedKeyValueStore(Keyed):
    _has_timestamp = True

    def get(self, key: Any) -> tuple[Any, int] | None:
        ident = key if key.__class__ is self._plain else self._ident(key)
        entry = self._dirty.get(ident)
        if entry is None:
            entry = self._load(ident)
        value = entry[0]
        if value is None:
            return None
        return entry if value.__class__ in ATOMS else (self._own(value), entry[1])

    def put(self, key: Any, value: Any, timestamp: int) -> None:
        if value.__class__ not in ATOMS:
            value = self._own(value)
        self._dirty[key if key.__class__ is self._plain else self._ident(key)] = (value, timestamp)

    def put_if_absent(self, key: Any, value: Any, timestamp: int) -> tuple[Any, int] | None:
        old = self.get(key)
        if old is None:
            self.put(key, value, timestamp)
        return old

    def delete(self, key: Any) -> tuple[Any, int] | None:
        old = self.get(key)
        self.put(key, None, self.context.timestamp)
        return old

    def range(self, first: Any = None, last: Any = None) -> Iterator[tuple[Any, tuple[Any, int]]]:
        """From `first` to `last`, both included, in the order of the serialised keys."""
        return self._scan(*self._bounds(first, last))

    def reverse_range(self, first: Any = None, last: Any = None) -> Iterator[tuple[Any, tuple[Any, int]]]:
        return self._scan(*self._bounds(first, last), reverse=True)

    def prefix_scan(self, prefix: Any, serializer: Any = None) -> Iterator[tuple[Any, tuple[Any, int]]]:
        """Keys whose bytes begin with the prefix's: bytes, or what `serializer` (else the key serde) makes of it."""
        return self._scan(*self._prefix_bounds(prefix, serializer))

    def all(self) -> Iterator[tuple[Any, tuple[Any, int]]]:
        return self._scan(b"", None)

    def reverse_all(self) -> Iterator[tuple[Any, tuple[Any, int]]]:
        return self._scan(b"", None, reverse=True)


def _values(entries: Iterator[tuple[Any, Entry]]) -> Iterator[tuple[Any, Any]]:
    for key, entry in entries:
        yield key, entry[0]


# What reads an engine value, as a closure: it runs for every entry that is read.


def _plain(deserialize: Callable[[bytes], Any]) -> Callable[[bytes], Entry]:
    return lambda data: (deserialize(data), -1)


def _timestamped(deserialize: Callable[[bytes], Any]) -> Callable[[bytes], Entry]:
    return lambda data: (deserialize(data[8:]), _unpack(data)[0])
