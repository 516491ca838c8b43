"""`-o` of `caudal consume`: where to begin and where to end, as typed, and as offsets of partitions.

Kafka finds a point in time as the first record whose timestamp is at or after it; a start and an end found that way
bound the reading. Records in between with a timestamp outside of the two (clocks of producers differ) are left out by
the caller, so what is shown lies in [start, end).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from caudal.cli.errors import UsageError
from caudal.cli.times import parse_time

BEGINNING, END, STORED = "beginning", "end", "stored"


@dataclass(frozen=True, slots=True)
class OffsetSpec:
    """At most one of the starts is set; none of them means: not said. Times are epoch milliseconds."""

    place: str | None = None
    offset: int | None = None
    tail: int | None = None
    start_ms: int | None = None
    end_ms: int | None = None

    @property
    def has_start(self) -> bool:
        return any(part is not None for part in (self.place, self.offset, self.tail, self.start_ms))

    def end_is_past(self) -> bool:
        """Whether nothing can be written within the bounds any more (as far as clocks agree)."""
        return self.end_ms is not None and self.end_ms <= int(time.time() * 1000)

    def shows(self, timestamp: int) -> bool:
        """Whether a record of this timestamp lies within the times asked for; one without a timestamp always does."""
        if timestamp < 0:
            return True
        return (self.start_ms is None or timestamp >= self.start_ms) and (
            self.end_ms is None or timestamp < self.end_ms
        )


def parse_offsets(texts: Sequence[str] | None) -> OffsetSpec:
    """All -o together: one start (`beginning`, `end`, `stored`, N, -N, s@TIME) and at most one end (e@TIME).

    >>> parse_offsets(["-5"]).tail
    5
    >>> parse_offsets(["s@1000", "e@2000"])
    OffsetSpec(place=None, offset=None, tail=None, start_ms=1000, end_ms=2000)
    """
    place: str | None = None
    offset = tail = start_ms = end_ms = None
    starts = 0
    for text in texts or ():
        if text.startswith("e@"):
            if end_ms is not None:
                raise UsageError("-o e@TIME was given twice")
            end_ms = parse_time(text[2:])
            continue
        starts += 1
        if text.startswith("s@"):
            start_ms = parse_time(text[2:])
        elif text in (BEGINNING, END, STORED):
            place = text
        elif text.isascii() and text.isdigit():
            offset = int(text)
        elif text[:1] == "-" and text[1:].isascii() and text[1:].isdigit():
            tail = int(text[1:])
        else:
            raise UsageError(f"-o takes beginning, end, stored, N, -N, s@TIME or e@TIME, not '{text}'")
    if starts > 1:
        raise UsageError("-o takes one start (and one end as e@TIME)")
    if start_ms is not None and end_ms is not None and end_ms <= start_ms:
        raise UsageError("-o: the end e@ is not after the start s@")
    return OffsetSpec(place, offset, tail, start_ms, end_ms)
