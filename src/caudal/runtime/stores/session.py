"""Session stores: an aggregate per key, session end and session start.

Changelog: key, end (8), start (8) → aggregate, stamped with the record being processed. Engine: segments.py, by end.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from caudal.runtime.record import Windowed
from caudal.runtime.stores.cache import Entry
from caudal.runtime.stores.isolation import ATOMS
from caudal.runtime.stores.segments import Segmented

_TIMES = struct.Struct(">qq")
_END_OF_TIME = (1 << 62) - 1


class SegmentedSessionStore(Segmented):
    _times_size = _TIMES.size

    # -- layout: a place is (end, start) -----------------------------------------------------------------------------

    def _pack_place(self, place: Any) -> bytes:
        return _TIMES.pack(*place)

    def _place(self, key: bytes) -> Any:
        return _TIMES.unpack_from(key, len(key) - 16)

    def _time(self, place: Any) -> int:
        return place[0]  # type: ignore[no-any-return]

    def _order(self, raw: bytes, place: Any) -> Any:
        return (place, raw)

    def _encode(self, value: bytes, timestamp: int) -> bytes:
        return value

    def _decode(self, data: bytes) -> Entry:
        return self._deserialize(data), -1

    # -- operations --------------------------------------------------------------------------------------------------

    def put(self, session: Windowed, aggregate: Any) -> None:
        """None removes the session."""
        key, start, end = session
        if not self._arrived(end):
            return
        if aggregate.__class__ not in ATOMS:
            aggregate = self._own(aggregate)
        self._put_entry(key, (end, start), aggregate, self.context.timestamp)

    def remove(self, session: Windowed) -> None:
        self.put(session, None)

    def find_sessions(self, key: Any, earliest_end: int, latest_start: int) -> Iterator[tuple[Windowed, Any]]:
        """The key's sessions that end at or after `earliest_end` and start at or before `latest_start`, by end."""
        return self._find(key, earliest_end, latest_start, False)

    def backward_find_sessions(self, key: Any, earliest_end: int, latest_start: int) -> Iterator[tuple[Windowed, Any]]:
        return self._find(key, earliest_end, latest_start, True)

    def _find(self, key: Any, earliest_end: int, latest_start: int, reverse: bool) -> Iterator[tuple[Windowed, Any]]:
        first = max(earliest_end, self._first_live, 0)
        for (end, start), (aggregate, _) in self._of_key(key, (first, 0), (_END_OF_TIME, _END_OF_TIME), reverse):
            if start <= latest_start:
                yield Windowed(key, start, end), aggregate

    def find_sessions_ending(self, first_end: int, last_end: int) -> Iterator[tuple[Windowed, Any]]:
        """Every key's sessions that end from `first_end` to `last_end`, by end, start and serialised key."""
        first = max(first_end, self._first_live, 0)
        if first > last_end:
            return
        for raw, (end, start), (aggregate, _) in self._of_all(first, last_end):
            yield Windowed(self._deserialize_key(raw), start, end), aggregate

    def fetch_session(self, key: Any, start: int, end: int) -> Any:
        if end < self._first_live:
            return None
        value = self._entry(key, (end, start))[0]
        return value if value.__class__ in ATOMS else self._own(value)

    def fetch(self, key: Any) -> Iterator[tuple[Windowed, Any]]:
        return self._find(key, 0, _END_OF_TIME, False)

    def backward_fetch(self, key: Any) -> Iterator[tuple[Windowed, Any]]:
        return self._find(key, 0, _END_OF_TIME, True)

    def all(self) -> Iterator[tuple[Windowed, Any]]:
        return self.find_sessions_ending(0, _END_OF_TIME)
