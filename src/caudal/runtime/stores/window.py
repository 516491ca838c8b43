"""Window stores: a value (with its timestamp) per key and window start; with `retain_duplicates` any number of them.

Changelog: key, start (8), sequence (4) → value, the record's timestamp that of the value. Engine: see segments.py; the
timestamp stands in front of the value. Sequence is 0 unless duplicates are kept; then it counts on over restarts, so
that a record that comes back after one never replaces another.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from caudal.plan.topology import StoreSpec
from caudal.runtime.record import Windowed
from caudal.runtime.stores.api import StreamContext
from caudal.runtime.stores.base import EngineItem, LogRecord
from caudal.runtime.stores.cache import Entry, OrderedOverlay
from caudal.runtime.stores.engines.engine import Engine
from caudal.runtime.stores.isolation import ATOMS
from caudal.runtime.stores.segments import Segmented

_TIMES = struct.Struct(">qi")
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_pack_times = _TIMES.pack
_LAST_SEQUENCE = 0x7FFFFFFF
_END_OF_TIME = (1 << 62) - 1


class SegmentedWindowStore(Segmented):
    _times_size = _TIMES.size

    def __init__(
        self, spec: StoreSpec, engine: Engine, prefix: bytes, context: StreamContext, cache_entries: int
    ) -> None:
        super().__init__(spec, engine, prefix, context, cache_entries)
        self._duplicates = spec.retain_duplicates
        self._size = spec.window_size
        self._sequence = self._frozen_sequence = self._committed_sequence = 0

    # -- layout: a place is the start, or (start, sequence) where duplicates are kept --------------------------------

    def _pack_place(self, place: Any) -> bytes:
        return _pack_times(*place) if self._duplicates else _pack_times(place, 0)

    def _place(self, key: bytes) -> Any:
        times = _TIMES.unpack_from(key, len(key) - 12)
        return times if self._duplicates else times[0]

    def _time(self, place: Any) -> int:
        return place[0] if self._duplicates else place  # type: ignore[no-any-return]

    def _order(self, raw: bytes, place: Any) -> Any:
        return (place[0], raw, place[1]) if self._duplicates else (place, raw)

    def _encode(self, value: bytes, timestamp: int) -> bytes:
        return _INT64.pack(timestamp) + value

    def _decode(self, data: bytes) -> Entry:
        return self._deserialize(data[8:]), _INT64.unpack_from(data)[0]

    # -- operations --------------------------------------------------------------------------------------------------

    def put(self, key: Any, value: Any, start: int, timestamp: int | None = None) -> None:
        if value is None and self._duplicates:
            return  # which of them? A null record joins nothing: it is not kept, and time does not move
        if start > self.stream_time:
            self.stream_time = start
        elif start <= self.stream_time - self._retention:
            self.expired += 1
            return
        if value.__class__ not in ATOMS:
            value = self._own(value)
        place: Any = start
        if self._duplicates:
            self._sequence = (self._sequence + 1) & _LAST_SEQUENCE
            place = (start, self._sequence)
        ident = key if key.__class__ is self._plain else self._ident(key)
        group = self._dirty.get(ident)
        if group is None:
            group = self._dirty[ident] = OrderedOverlay()
        group[place] = (value, self.context.timestamp if timestamp is None else timestamp)

    def fetch(self, key: Any, start: int) -> Any:
        found = self.fetch_with_timestamp(key, start)
        return None if found is None else found[0]

    def fetch_with_timestamp(self, key: Any, start: int) -> tuple[Any, int] | None:
        """(value, timestamp); the first one where duplicates are kept."""
        if start <= self.stream_time - self._retention:
            return None
        if self._duplicates:
            for _, entry in self._of_key(key, *self._bounds(start, start)):
                return entry
            return None
        entry = self._entry(key, start)
        value = entry[0]
        if value is None:
            return None
        return entry if value.__class__ in ATOMS else (self._own(value), entry[1])

    def fetch_range(
        self, key: Any, first_start: int | None = None, last_start: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        """One key's windows that start from `first_start` to `last_start`: (start, value), oldest first."""
        for start, value, _ in self._fetch_range(key, first_start, last_start, False):
            yield start, value

    def fetch_range_with_timestamp(
        self, key: Any, first_start: int | None = None, last_start: int | None = None
    ) -> Iterator[tuple[int, Any, int]]:
        return self._fetch_range(key, first_start, last_start, False)

    def backward_fetch_range(
        self, key: Any, first_start: int | None = None, last_start: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        for start, value, _ in self._fetch_range(key, first_start, last_start, True):
            yield start, value

    def fetch_all(
        self, first_start: int | None = None, last_start: int | None = None
    ) -> Iterator[tuple[Windowed, Any]]:
        """Every key's windows that start from `first_start` to `last_start`, by start, then by serialised key."""
        for windowed, value, _ in self._fetch_all(first_start, last_start, False):
            yield windowed, value

    def fetch_all_with_timestamp(
        self, first_start: int | None = None, last_start: int | None = None
    ) -> Iterator[tuple[Windowed, Any, int]]:
        return self._fetch_all(first_start, last_start, False)

    def backward_fetch_all(
        self, first_start: int | None = None, last_start: int | None = None
    ) -> Iterator[tuple[Windowed, Any]]:
        for windowed, value, _ in self._fetch_all(first_start, last_start, True):
            yield windowed, value

    def all(self) -> Iterator[tuple[Windowed, Any]]:
        return self.fetch_all()

    def backward_all(self) -> Iterator[tuple[Windowed, Any]]:
        return self.backward_fetch_all()

    def _limits(self, first: int | None, last: int | None) -> tuple[int, int]:
        live = max(self._first_live, 0)
        return live if first is None else max(first, live), _END_OF_TIME if last is None else last

    def _bounds(self, first: int, last: int) -> tuple[Any, Any]:
        return ((first, 0), (last, _LAST_SEQUENCE)) if self._duplicates else (first, last)

    def _fetch_range(
        self, key: Any, first_start: int | None, last_start: int | None, reverse: bool
    ) -> Iterator[tuple[int, Any, int]]:
        first, last = self._limits(first_start, last_start)
        if first > last:
            return
        duplicates = self._duplicates
        for place, (value, timestamp) in self._of_key(key, *self._bounds(first, last), reverse):
            yield place[0] if duplicates else place, value, timestamp

    def _fetch_all(
        self, first_start: int | None, last_start: int | None, reverse: bool
    ) -> Iterator[tuple[Windowed, Any, int]]:
        first, last = self._limits(first_start, last_start)
        if first > last:
            return
        for raw, place, (value, timestamp) in self._of_all(first, last, reverse):
            start = self._time(place)
            yield Windowed(self._deserialize_key(raw), start, start + self._size), value, timestamp

    # -- life cycle: the sequence is committed and rolled back with the entries --------------------------------------

    def freeze(self) -> list[LogRecord]:
        fresh = self._records is None
        records = super().freeze()
        if fresh:
            self._frozen_sequence = self._sequence
        return records

    def engine_items(self, records: Iterable[LogRecord]) -> list[EngineItem]:
        if self._duplicates:
            records = list(records)
            for key, _, _ in records:  # in a restore the sequence is learnt from the records
                sequence = _INT32.unpack_from(key, len(key) - 4)[0]
                if sequence > self._sequence:
                    self._sequence = sequence
        return super().engine_items(records)

    def committed(self) -> None:
        super().committed()
        self._committed_sequence = self._frozen_sequence

    def rollback(self) -> None:
        super().rollback()
        self._sequence = self._frozen_sequence = self._committed_sequence

    def state(self) -> dict[str, int]:
        return {**super().state(), "sequence": self._frozen_sequence}

    def load(self, state: dict[str, int]) -> None:
        self._committed_sequence = state.get("sequence", 0)
        super().load(state)
