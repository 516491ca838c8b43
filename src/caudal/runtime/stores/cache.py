"""Two small structures of the object cache: clean entries with a limit, and a dict that can be walked in key order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice
from typing import Any

# (value, timestamp); a value of None means: deleted, or not there.
Entry = tuple[Any, int]
ABSENT: Entry = (None, -1)


class CleanCache:
    """Entries equal to what the engine holds, at most `limit`, least recently used out first, roughly.

    Two generations instead of a linked list: a hit in the old one moves to the young one; when the young one is full it
    becomes the old one. One dict lookup on a hit, no bookkeeping per access.
    """

    __slots__ = ("_half", "_old", "_young")

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._young: dict[Hashable, Entry] = {}
        self._old: dict[Hashable, Entry] = {}

    def get(self, ident: Hashable) -> Entry | None:
        entry = self._young.get(ident)
        if entry is None and self._old:
            entry = self._old.pop(ident, None)
            if entry is not None:
                self.put(ident, entry)
        return entry

    def put(self, ident: Hashable, entry: Entry) -> None:
        young = self._young
        if len(young) >= self._half:
            self._old = young
            self._young = young = {}
        young[ident] = entry

    def absorb(self, entries: dict[Hashable, Entry]) -> None:
        """Takes over what a commit has just written. It goes into the young generation, which hides older entries."""
        if len(entries) > self._half:
            self._old = {}
            self._young = dict(islice(entries.items(), len(entries) - self._half, None))
        elif len(self._young) + len(entries) > self._half:
            self._old = self._young
            self._young = dict(entries)
        else:
            self._young.update(entries)

    def clear(self) -> None:
        self._young = {}
        self._old = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)


class OrderedOverlay(dict[Any, Entry]):
    """A dict whose keys are never removed, with a sorted view that is brought up to date only when somebody scans.

    Puts stay plain dict puts. A scan sorts in the keys that were added since the last one; they are the last in the
    dict's own order, so finding them costs nothing.
    """

    __slots__ = (
        "_sorted",
    )  # made by the first scan: a window store has one of these per key, and most are not scanned
    _sorted: list[Any]

    def ordered(self, sort_key: Callable[[Any], Any] | None = None) -> list[Any]:
        """The sorted keys; where `sort_key` is given, pairs (sort_key(key), key)."""
        try:
            order = self._sorted
        except AttributeError:
            order = self._sorted = []
        added = len(self) - len(order)
        if added:
            fresh: Iterable[Any] = islice(reversed(self), added)
            if sort_key is not None:
                fresh = [(sort_key(key), key) for key in fresh]
            if added * 16 < len(order):
                for item in fresh:
                    insort(order, item)
            else:
                order.extend(fresh)
                order.sort()
        return order

    def between(self, first: Any, last: Any, reverse: bool = False) -> list[tuple[Any, Entry]]:
        """The entries with first <= key <= last (None: open), as they are now."""
        order = self.ordered()
        low = 0 if first is None else bisect_left(order, first)
        high = len(order) if last is None else bisect_right(order, last)
        keys = order[low:high]
        if reverse:
            keys.reverse()
        return [(key, self[key]) for key in keys]


def merged(
    overlay: list[tuple[Any, Entry]],
    stored: Iterator[tuple[Any, bytes]],
    decode: Callable[[bytes], Entry],
    own: Callable[[Entry], Entry],
    reverse: bool = False,
) -> Iterator[tuple[Any, Entry]]:
    """Both sides in order; what is in the overlay hides the same key in the engine; deleted entries are left out.

    `own` makes the caller's copy of an entry of the overlay; what is decoded is fresh already.
    """
    position, size = 0, len(overlay)
    for key, data in stored:
        while position < size:
            above, entry = overlay[position]
            if above == key:
                break
            if (above > key) is not reverse:
                break
            if entry[0] is not None:
                yield above, own(entry)
            position += 1
        if position < size and overlay[position][0] == key:
            entry = overlay[position][1]
            if entry[0] is not None:
                yield key, own(entry)
            position += 1
        else:
            yield key, decode(data)
    while position < size:
        above, entry = overlay[position]
        if entry[0] is not None:
            yield above, own(entry)
        position += 1
