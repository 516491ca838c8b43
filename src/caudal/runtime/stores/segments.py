"""What window and session stores share: entries of a key in time order, kept in segments that expire as a whole.

Engine key: prefix, segment (8), length of the key (4), key, then the times as in the changelog. The segment number is
time / interval, so
- one key's entries between two times are one short scan per segment (the key's length makes its range exact, where
  plain key + time would mix keys that begin alike);
- what retention lets go is one range per segment, dropped in the write that commits;
- all entries of a time range are whole segments.
The interval is the window size (so a tumbling window is one segment, and a join looks into two), but not so small that
a long retention makes more than 256 of them; half the retention where there is no size.

Which segments exist is kept in memory: a lookup touches only those. Inside the cache entries are grouped by key, so a
lookup of one key sees its own entries only, and no key is serialised for it.
"""

from __future__ import annotations

import struct
from abc import abstractmethod
from bisect import bisect_left, bisect_right, insort
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from caudal.plan.topology import StoreSpec
from caudal.runtime.stores.api import StreamContext
from caudal.runtime.stores.base import EngineItem, LogRecord, Store
from caudal.runtime.stores.cache import ABSENT, CleanCache, Entry, OrderedOverlay, merged
from caudal.runtime.stores.engines.engine import Engine

_MOST_SEGMENTS = 256
_HEAD = struct.Struct(">qI")  # segment, length of the key
_SEGMENT = struct.Struct(">q")
_pack_head = _HEAD.pack
_HEAD_SIZE = _HEAD.size

Groups = dict[Hashable, OrderedOverlay]


class Segmented(Store):
    """Entries by key and *place*: what orders a key's entries, beginning with the time that retention goes by."""

    _times_size: int  # bytes of the times at the end of a changelog key

    def __init__(
        self, spec: StoreSpec, engine: Engine, prefix: bytes, context: StreamContext, cache_entries: int
    ) -> None:
        super().__init__(spec, engine, prefix, context, cache_entries)
        self._retention = max(spec.retention, 1)
        if spec.window_size:
            self._interval = max(spec.window_size, -(-self._retention // _MOST_SEGMENTS))
        else:
            self._interval = -(
                -self._retention // 2
            )  # sessions have no size: few segments, a lookup visits most of them
        self._dirty: Groups = {}
        self._frozen: Groups = {}
        self._records: list[LogRecord] | None = None
        self._clean = CleanCache(cache_entries)
        self._segments: list[int] = []  # in the engine, sorted
        self._fresh_segments: set[int] = set()  # in what is being committed
        self._dropped_segments: list[int] = []
        self.stream_time = -1
        self._frozen_time = self._committed_time = -1
        self.expired = 0  # puts that came after their window had gone

    # -- layout, different for windows and sessions ------------------------------------------------------------------

    @abstractmethod
    def _pack_place(self, place: Any) -> bytes:
        """The times at the end of a changelog key."""

    @abstractmethod
    def _place(self, key: bytes) -> Any:
        """The place from a changelog or engine key (its last bytes)."""

    @abstractmethod
    def _time(self, place: Any) -> int:
        """The time that segment and expiry go by."""

    @abstractmethod
    def _encode(self, value: bytes, timestamp: int) -> bytes: ...

    @abstractmethod
    def _decode(self, data: bytes) -> Entry: ...

    # -- time --------------------------------------------------------------------------------------------------------

    @property
    def _first_live(self) -> int:
        """The earliest time that retention still shows."""
        return self.stream_time - self._retention + 1

    def _arrived(self, time: int) -> bool:
        """Lets a put move stream time on; False where the put is too late to be kept."""
        if time > self.stream_time:
            self.stream_time = time
        elif time <= self.stream_time - self._retention:
            self.expired += 1
            return False
        return True

    # -- one key -----------------------------------------------------------------------------------------------------

    def _entry(self, key: Any, place: Any) -> Entry:
        """The value is the cache's own: copy it before it goes out."""
        ident = key if key.__class__ is self._plain else self._ident(key)
        group = self._dirty.get(ident)
        entry = group.get(place) if group is not None else None
        return self._load(ident, place) if entry is None else entry

    def _load(self, ident: Hashable, place: Any) -> Entry:
        if self._frozen:
            group = self._frozen.get(ident)
            entry = group.get(place) if group is not None else None
            if entry is not None:
                return entry
        entry = self._clean.get((ident, place))
        if entry is not None:
            return entry
        segment = self._time(place) // self._interval
        at = bisect_left(self._segments, segment)
        if at == len(self._segments) or self._segments[at] != segment:
            return ABSENT
        raw = self._raw(ident)
        data = self._engine.get(self._prefix + _pack_head(segment, len(raw)) + raw + self._pack_place(place))
        if data is None:
            return ABSENT
        entry = self._decode(data)
        self._clean.put((ident, place), entry)
        return entry

    def _put_entry(self, key: Any, place: Any, value: Any, timestamp: int) -> None:
        ident = key if key.__class__ is self._plain else self._ident(key)
        group = self._dirty.get(ident)
        if group is None:
            group = self._dirty[ident] = OrderedOverlay()
        group[place] = (value, timestamp)

    def _of_key(self, key: Any, first: Any, last: Any, reverse: bool = False) -> Iterator[tuple[Any, Entry]]:
        """One key's entries with first <= place <= last, in order."""
        ident = key if key.__class__ is self._plain else self._ident(key)
        group = self._dirty.get(ident)
        overlay = group.between(first, last, reverse) if group is not None else []
        if self._frozen and (below := self._frozen.get(ident)) is not None:
            both = dict(below.between(first, last))
            both.update(overlay)
            overlay = sorted(both.items(), key=lambda item: item[0], reverse=reverse)
        segments = self._segments_between(self._time(first), self._time(last))
        if not segments:
            return ((place, self._own_entry(entry)) for place, entry in overlay if entry[0] is not None)
        if reverse:
            segments.reverse()
        stored = self._stored(self._raw(ident), segments, first, last, reverse)
        return merged(overlay, stored, self._decode, self._own_entry, reverse)

    def _stored(
        self, raw: bytes, segments: list[int], first: Any, last: Any, reverse: bool
    ) -> Iterator[tuple[Any, bytes]]:
        prefix, place_of = self._prefix, self._place
        low, high = self._pack_place(first), self._pack_place(last) + b"\0"
        for segment in segments:
            start = prefix + _pack_head(segment, len(raw)) + raw
            for key, data in self._engine.scan(start + low, start + high, reverse):
                yield place_of(key), data

    def _segments_between(self, first: int, last: int) -> list[int]:
        segments = self._segments
        if not segments:
            return []
        return segments[bisect_left(segments, first // self._interval) : bisect_right(segments, last // self._interval)]

    # -- all keys ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def _order(self, raw: bytes, place: Any) -> Any:
        """How a scan over all keys is sorted: time first, then key."""

    def _of_all(self, first: Any, last: Any, reverse: bool = False) -> Iterator[tuple[bytes, Any, Entry]]:
        """All keys' entries from time `first` to `last`: (raw key, place, entry). One segment in memory at once."""
        overlay: dict[int, dict[tuple[bytes, Any], Entry]] = {}
        for groups in (self._frozen, self._dirty):
            for ident, group in groups.items():
                raw = None
                for place, entry in group.items():
                    time = self._time(place)
                    if first <= time <= last:
                        if raw is None:
                            raw = self._raw(ident)
                        overlay.setdefault(time // self._interval, {})[raw, place] = entry
        segments = sorted({*overlay, *self._segments_between(first, last)}, reverse=reverse)
        return self._walk_segments(segments, overlay, first, last, reverse)

    def _walk_segments(
        self,
        segments: list[int],
        overlay: dict[int, dict[tuple[bytes, Any], Entry]],
        first: int,
        last: int,
        reverse: bool,
    ) -> Iterator[tuple[bytes, Any, Entry]]:
        skip = len(self._prefix) + _HEAD_SIZE
        tail = self._times_size
        for segment in segments:
            above = overlay.pop(segment, {})
            found: dict[tuple[bytes, Any], Entry | bytes] = {}
            if segment in self._segments:
                start = self._prefix + _SEGMENT.pack(segment)
                for key, data in self._engine.scan(start, self._prefix + _SEGMENT.pack(segment + 1)):
                    place = self._place(key)
                    if first <= self._time(place) <= last:
                        found[key[skip:-tail], place] = data
            found.update(above)
            for raw, place in sorted(found, key=lambda item: self._order(*item), reverse=reverse):
                content = found[raw, place]
                entry = self._decode(content) if isinstance(content, bytes) else self._own_entry(content)
                if entry[0] is not None:
                    yield raw, place, entry

    # -- life cycle --------------------------------------------------------------------------------------------------

    @property
    def pending(self) -> int:
        return sum(map(len, self._dirty.values())) + sum(map(len, self._frozen.values()))

    def freeze(self) -> list[LogRecord]:
        if self._records is None:
            serialize, pack = self._serialize, self._pack_place
            records: list[LogRecord] = []
            add = records.append
            for ident, group in self._dirty.items():
                raw = self._raw(ident)
                for place, (value, timestamp) in group.items():
                    add((raw + pack(place), None if value is None else serialize(value), timestamp))
            self._records = records
            self._frozen, self._dirty = self._dirty, {}
            self._frozen_time = self.stream_time
        return self._records

    def engine_items(self, records: Iterable[LogRecord]) -> list[EngineItem]:
        prefix, interval, tail = self._prefix, self._interval, self._times_size
        encode, unpack, fresh = self._encode, _SEGMENT.unpack_from, self._fresh_segments
        newest = self._frozen_time
        live = newest - self._retention + 1
        items: list[EngineItem] = []
        for key, value, timestamp in records:
            size = len(key) - tail
            time = unpack(key, size)[0]  # the first of the times is the one that retention goes by
            if time > newest:  # only in a restore, where stream time is learnt from the records
                newest = time
                live = newest - self._retention + 1
            segment = time // interval
            if segment * interval + interval <= live:
                continue  # the whole segment goes, or has gone
            fresh.add(segment)
            items.append(
                (prefix + _pack_head(segment, size) + key, None if value is None else encode(value, timestamp))
            )
        self._frozen_time = newest
        self.stream_time = max(newest, self.stream_time)
        return items

    def expired_ranges(self) -> list[tuple[bytes, bytes]]:
        # Only whole segments, and only by the time that is being committed: a rollback must find them again.
        live = self._frozen_time - self._retention + 1
        interval = self._interval
        self._dropped_segments = [segment for segment in self._segments if segment * interval + interval <= live]
        pack, prefix = _SEGMENT.pack, self._prefix
        return [(prefix + pack(segment), prefix + pack(segment + 1)) for segment in self._dropped_segments]

    def committed(self) -> None:
        for segment in self._dropped_segments:
            self._segments.remove(segment)
        self._dropped_segments = []
        for segment in self._fresh_segments.difference(self._segments):
            insort(self._segments, segment)
        self._fresh_segments = set()
        if not self.spec.retain_duplicates:  # duplicates are only ever scanned
            self._clean.absorb(
                {(ident, place): entry for ident, group in self._frozen.items() for place, entry in group.items()}
            )
        self._frozen = {}
        self._records = None
        self._committed_time = self._frozen_time

    def rollback(self) -> None:
        self._dirty = {}
        self._frozen = {}
        self._records = None
        self._fresh_segments = set()
        self._dropped_segments = []
        self.stream_time = self._frozen_time = self._committed_time

    def state(self) -> dict[str, int]:
        return {"stream_time": self._frozen_time}

    @property
    def layout(self) -> str:
        return f"{super().layout}/{self._interval}"

    def load(self, state: dict[str, int]) -> None:
        self._committed_time = state.get("stream_time", -1)
        self.rollback()
        self._clean.clear()
        self._segments = self._existing_segments()

    def _existing_segments(self) -> list[int]:
        """By jumping from one segment to the next: one seek each, however many entries they have."""
        found: list[int] = []
        at = self._prefix
        skip = len(self._prefix)
        while (head := next(self._engine.scan(at, self._end), None)) is not None:
            segment = _SEGMENT.unpack_from(head[0], skip)[0]
            found.append(segment)
            at = self._prefix + _SEGMENT.pack(segment + 1)
        return found
