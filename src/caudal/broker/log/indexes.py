"""The two sparse indexes of a segment, in memory and in Kafka's file formats.

Offset index: 8 bytes an entry (offset relative to the segment's base, position in the log file), both big-endian
int32. The entry names the *last* offset of the batch at that position. Time index: 12 bytes an entry (int64 timestamp,
int32 relative offset): no record at or before that offset has a later timestamp. Both are strictly increasing.

An index is only a hint: whoever uses an entry checks the batch it points at, so a damaged index costs a rebuild and
never a wrong answer. Nothing here opens files; segment.py does.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right

OFFSET_ENTRY = 8
TIME_ENTRY = 12
MAX_RELATIVE_OFFSET = 2**31 - 1

_SWAP = sys.byteorder == "little"


class CorruptIndex(Exception):
    """The bytes of an index file cannot be what a writer left behind."""


class OffsetIndex:
    """Relative offset → file position, every `index.interval.bytes`."""

    __slots__ = ("offsets", "positions")

    def __init__(self) -> None:
        self.offsets: array[int] = array("I")
        self.positions: array[int] = array("I")

    def __len__(self) -> int:
        # A reader in another thread may look between the two appends of a new entry: positions is the later one.
        return len(self.positions)

    def append(self, relative_offset: int, position: int) -> None:
        self.offsets.append(relative_offset)
        self.positions.append(position)

    def entry_for_offset(self, relative_offset: int) -> int:
        """Number of the last entry at or before the offset, or -1: scan from the start of the file."""
        return bisect_right(self.offsets, relative_offset, 0, len(self)) - 1

    def entry_for_position(self, position: int) -> int:
        """Number of the last entry at or before the file position, or -1."""
        return bisect_right(self.positions, position, 0, len(self)) - 1

    def truncate(self, relative_offset: int) -> None:
        """Forgets the entries at or after the offset."""
        keep = bisect_left(self.offsets, relative_offset)
        del self.offsets[keep:]
        del self.positions[keep:]

    def encode(self, start: int = 0, end: int | None = None) -> bytes:
        stop = len(self) if end is None else end
        words = array("I", bytes(OFFSET_ENTRY * (stop - start)))
        words[0::2] = self.offsets[start:stop]
        words[1::2] = self.positions[start:stop]
        if _SWAP:
            words.byteswap()
        return words.tobytes()

    @classmethod
    def decode(cls, data: bytes, log_size: int) -> OffsetIndex:
        """Raises CorruptIndex when the bytes do not fit a log file of that size."""
        if len(data) % OFFSET_ENTRY:
            raise CorruptIndex(f"its size, {len(data)}, is not a multiple of {OFFSET_ENTRY}")
        words = array("I", data)
        if _SWAP:
            words.byteswap()
        index = cls()
        index.offsets, index.positions = words[0::2], words[1::2]
        if words:
            if index.positions[-1] >= log_size:
                raise CorruptIndex(f"its last entry points to {index.positions[-1]}, past the end of the log")
            if index.offsets[-1] < index.offsets[0] or max(index.offsets) > MAX_RELATIVE_OFFSET:
                raise CorruptIndex("its offsets do not increase")
        return index


class TimeIndex:
    """Timestamp → relative offset: the latest timestamp seen up to that offset."""

    __slots__ = ("offsets", "timestamps")

    def __init__(self) -> None:
        self.timestamps: array[int] = array("q")
        self.offsets: array[int] = array("I")

    def __len__(self) -> int:
        return len(self.offsets)

    def append(self, timestamp: int, relative_offset: int) -> None:
        """Adds the entry if it says something new; an entry with an older timestamp adds nothing."""
        if timestamp >= 0 and (not self.timestamps or timestamp > self.timestamps[-1]):
            self.timestamps.append(timestamp)
            self.offsets.append(relative_offset)

    def last(self) -> tuple[int, int] | None:
        """(timestamp, relative offset) of the last entry."""
        count = len(self)
        return (self.timestamps[count - 1], self.offsets[count - 1]) if count else None

    def offset_before(self, timestamp: int) -> int:
        """A relative offset from which to look for the first record at or after the timestamp."""
        entry = bisect_left(self.timestamps, timestamp, 0, len(self)) - 1
        return self.offsets[entry] if entry >= 0 else 0

    def truncate(self, relative_offset: int) -> None:
        keep = bisect_left(self.offsets, relative_offset)
        del self.timestamps[keep:]
        del self.offsets[keep:]

    def encode(self, start: int = 0, end: int | None = None) -> bytes:
        stop = len(self) if end is None else end
        timestamps, offsets = self.timestamps[start:stop], self.offsets[start:stop]
        if _SWAP:
            timestamps.byteswap()
            offsets.byteswap()
        halves = array("I", timestamps.tobytes())
        words = array("I", bytes(TIME_ENTRY * (stop - start)))
        words[0::3], words[1::3], words[2::3] = halves[0::2], halves[1::2], offsets
        return words.tobytes()

    @classmethod
    def decode(cls, data: bytes) -> TimeIndex:
        if len(data) % TIME_ENTRY:
            raise CorruptIndex(f"its size, {len(data)}, is not a multiple of {TIME_ENTRY}")
        words = array("I", data)
        halves = array("I", bytes(len(data) // TIME_ENTRY * 8))
        halves[0::2], halves[1::2] = words[0::3], words[1::3]
        index = cls()
        index.timestamps = array("q", halves.tobytes())
        index.offsets = words[2::3]
        if _SWAP:
            index.timestamps.byteswap()
            index.offsets.byteswap()
        if words and (index.timestamps[-1] < index.timestamps[0] or max(index.offsets) > MAX_RELATIVE_OFFSET):
            raise CorruptIndex("its timestamps do not increase")
        return index
