"""The engine of stores that are not persistent, and of tests: a dict with sorted access.

A deleted key stays in the dict as None until deletions outnumber the rest: so "is it new" is one lookup, and the sorted
list is only ever added to, or made anew. It is brought up to date by the first scan after a write, not by the write.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

_FEW = 16  # new keys that are inserted one by one; more are sorted in (linear on an almost sorted list)
_CHUNK = 512


class MemoryEngine:
    def __init__(self) -> None:
        self._data: dict[bytes, bytes | None] = {}
        self._keys: list[bytes] = []
        self._fresh: list[bytes] = []  # in _data, not yet in _keys
        self._deleted = 0
        self._bytes = 0
        self._meta: bytes | None = None
        self.get = self._data.get

    def _order(self) -> list[bytes]:
        if self._deleted > len(self._data) // 2:
            for key in [key for key, value in self._data.items() if value is None]:
                del self._data[key]
            self._deleted = 0
            self._keys = sorted(self._data)
        elif len(self._fresh) <= _FEW:
            for key in self._fresh:
                insort(self._keys, key)
        else:
            self._keys.extend(self._fresh)
            self._keys.sort()
        self._fresh = []
        return self._keys

    def scan(self, first: bytes, end: bytes | None, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        data = self._data
        while True:
            keys = self._order()
            low = bisect_left(keys, first)
            high = len(keys) if end is None else bisect_left(keys, end)
            if low >= high:
                return
            chunk = keys[max(low, high - _CHUNK) : high] if reverse else keys[low : min(high, low + _CHUNK)]
            if reverse:
                chunk.reverse()
            for key in chunk:
                value = data.get(key)
                if value is not None:
                    yield key, value
            if len(chunk) >= high - low:
                return
            # Writes may have come in between: look the place up again.
            if reverse:
                end = chunk[-1]
            else:
                first = chunk[-1] + b"\0"

    def write(
        self,
        items: Iterable[tuple[bytes, bytes | None]],
        meta: bytes | None = None,
        drops: Iterable[tuple[bytes, bytes]] = (),
    ) -> None:
        batch = items if isinstance(items, list) else list(items)  # an iterator that raises must leave nothing behind
        for first, end in drops:
            for key in [key for key, _ in self.scan(first, end)]:
                self._put(key, None)
        for key, value in batch:
            self._put(key, value)
        if meta is not None:
            self._meta = meta

    def _put(self, key: bytes, value: bytes | None) -> None:
        data = self._data
        if key in data:
            old = data[key]
            if old is not None:
                self._bytes -= len(key) + len(old)
                self._deleted += value is None
            else:
                self._deleted -= value is not None
        elif value is None:
            return
        else:
            self._fresh.append(key)
        data[key] = value
        if value is not None:
            self._bytes += len(key) + len(value)

    def meta(self) -> bytes | None:
        return self._meta

    def wipe(self) -> None:
        self._data.clear()
        self._keys = []
        self._fresh = []
        self._deleted = self._bytes = 0
        self._meta = None

    def sync(self) -> None:
        pass

    def size_bytes(self) -> int:
        return self._bytes

    def approximate_count(self) -> int:
        return len(self._data) - self._deleted

    def close(self) -> None:
        pass
