"""Which source offsets may be committed: those of the longest acknowledged prefix of each source partition.

Records are sent to many topics and partitions, and acknowledged in any order. The offset of a record may only be stored
when it and all before it, of the same source partition, are acknowledged. They are counted in spans of up to
`SPAN` consecutive records: one object per span instead of one per record.

One thread submits. Acknowledgements may come from another, but from one at a time; `committable` may be asked by any.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import orjson

SPAN = 500

Partition = Mapping[str, Any]
Offset = Mapping[str, Any]
# A record was refused for good; returns whether that is tolerated.
Refused = Callable[[Any, Any], bool]


def partition_key(partition: Partition) -> bytes:
    """The same for equal partitions, whatever the order of their fields."""
    try:
        return orjson.dumps(partition, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # numbers beyond 64 bits
        return json.dumps(partition, sort_keys=True).encode()


class Span:
    """Calling it acknowledges one record: it is the delivery report's callback itself."""

    __slots__ = ("acknowledged", "offset", "partition", "refused", "sealed", "sent")

    def __init__(self, partition: Partition, refused: Refused) -> None:
        self.partition = partition
        self.offset: Offset = {}
        self.refused = refused
        self.sent = 0  # by the thread that submits
        self.acknowledged = 0  # by the thread that is told
        self.sealed = False

    def __call__(self, error: Any, message: Any) -> None:
        if error is None or self.refused(error, message):
            self.acknowledged += 1

    @property
    def is_done(self) -> bool:
        return self.sealed and self.acknowledged == self.sent


class Acknowledgements:
    def __init__(self, refused: Refused) -> None:
        self._refused = refused
        self._lock = threading.Lock()
        self._spans: dict[bytes, deque[Span]] = {}
        self._open: dict[bytes, Span] = {}
        self._last: Span | None = None
        self._last_key = b""
        self._last_partition: Partition | None = None

    def span(self, partition: Partition) -> Span:
        """The open span of this source partition: the caller counts the record in (`sent`) and sets its `offset`."""
        last = self._last
        if last is not None and (partition is self._last_partition or partition == last.partition):
            if last.sent < SPAN:
                return last
            key = self._last_key
        else:
            key = partition_key(partition)
            found = self._open.get(key)
            if found is not None and found.sent < SPAN:
                self._last, self._last_key, self._last_partition = found, key, partition
                return found
        return self._new(key, partition)

    def _new(self, key: bytes, partition: Partition) -> Span:
        span = Span(partition, self._refused)
        with self._lock:
            if (before := self._open.get(key)) is not None:
                before.sealed = True
            self._spans.setdefault(key, deque()).append(span)
        self._open[key] = span
        self._last, self._last_key, self._last_partition = span, key, partition
        return span

    def seal(self) -> None:
        """The end of what one poll has returned."""
        for span in self._open.values():
            span.sealed = True
        self._open.clear()
        self._last = self._last_partition = None

    def committable(self) -> dict[bytes, tuple[Partition, Offset]]:
        """What has become committable since the last question, the latest of each source partition."""
        found: dict[bytes, tuple[Partition, Offset]] = {}
        with self._lock:
            for key in list(self._spans):
                spans = self._spans[key]
                while spans and spans[0].is_done:
                    span = spans.popleft()
                    found[key] = (span.partition, span.offset)
                if not spans:
                    del self._spans[key]
        return found

    @property
    def pending(self) -> int:
        """Records sent and not acknowledged."""
        with self._lock:
            return sum(span.sent - span.acknowledged for spans in self._spans.values() for span in spans)
