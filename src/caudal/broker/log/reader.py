"""The half of a log that any thread may call: reading by offset, by time, and the aborted transactions of a range.

It changes nothing but its memory of where reads ended, so that the next read of the same consumer starts there without
a search. `read` with nowait=True is for the event loop and never waits for the disk; everything else may.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.log.segment import ScannedBatch, Segment
from caudal.broker.wire.batch import records

logger = logging.getLogger(__name__)

_REMEMBERED_READS = 64

TimestampedOffset = tuple[int, int, int]


class LogReader:
    __slots__ = (
        "_active",
        "_positions",
        "_segments",
        "closed",
        "failure",
        "log_end_offset",
        "log_start_offset",
        "on_failure",
        "partition",
        "topic",
    )

    def __init__(
        self, topic: str, partition: int, segments: list[Segment], log_start_offset: int, log_end_offset: int
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.closed = False
        self.failure: OSError | None = None
        self.on_failure: Callable[[Any, OSError], None] | None = None  # called in the thread that notices
        self._segments = segments
        self._active = segments[-1]
        self._positions: dict[int, tuple[Segment, int]] = {}

    @property
    def segments(self) -> list[Segment]:
        """All segments, oldest first; a value of this moment."""
        return self._segments

    @property
    def active(self) -> Segment:
        return self._active

    def fail(self, error: OSError, *, quiet: bool = False) -> None:
        """Takes the log offline, with one line in the log unless `quiet`: the caller has said it for all."""
        if self.failure is not None or self.closed:
            return
        self.failure = error
        if not quiet:
            logger.error("partition %s-%d is offline: %s", self.topic, self.partition, error)
        if self.on_failure is not None:
            self.on_failure(self, error)

    def read(
        self, offset: int, max_bytes: int, upper_offset: int, *, whole_batch: bool = False, nowait: bool = True
    ) -> bytes | bytearray:
        """Whole batches from the one with `offset` on, below `upper_offset`, of one segment.

        `nowait` is for the event loop: BlockingIOError when the disk would have to be waited for. In a thread call it
        with nowait=False. The caller has checked the offset against start and end of the log.
        """
        end_offset = self.log_end_offset
        if offset >= end_offset or offset >= upper_offset:
            return b""
        try:
            return self._read(offset, max_bytes, upper_offset, end_offset, whole_batch, nowait)
        except FileNotFoundError as error:
            if not self.closed:
                self.fail(error)
            raise KafkaError(ErrorCode.kafka_storage_error, f"{self.topic}-{self.partition} is offline") from error

    def _read(
        self, offset: int, max_bytes: int, upper_offset: int, end_offset: int, whole_batch: bool, nowait: bool
    ) -> bytes | bytearray:
        found = self._positions.pop(offset, None)
        if found is None or found[0].dead or (found[1] >= found[0].size and found[0] is not self._active):
            found = self._find(offset, nowait)
            if found is None:
                return b""
        segment, position = found
        size = segment.size
        if nowait and upper_offset >= end_offset and segment is self._active and size - position <= max_bytes:
            # The tail, in the event loop, where size and end offset agree: no boundary to look for.
            data, next_offset = segment.pread(size - position, position, True), end_offset
            if len(data) != size - position:
                data, next_offset = segment.read(position, size, max_bytes, upper_offset, whole_batch, nowait)
        else:
            data, next_offset = segment.read(position, size, max_bytes, upper_offset, whole_batch, nowait)
        if data:
            self._remember(next_offset, segment, position + len(data))
        else:
            self._remember(offset, segment, position)
        return data

    def _find(self, offset: int, nowait: bool) -> tuple[Segment, int] | None:
        """Segment and position of the first batch that ends at or after the offset."""
        segments = self._segments
        number = len(segments) - 1
        while number > 0 and segments[number].base_offset > offset:
            number = floor(segments, offset)
        while number < len(segments):
            segment = segments[number]
            position = segment.locate(offset, segment.size, nowait)
            if position is not None:
                return segment, position
            number += 1  # the offsets up to the end of the segment were compacted away
        return None

    def _remember(self, offset: int, segment: Segment, position: int) -> None:
        positions = self._positions
        if position >= segment.size and segment is not self._active:
            return  # the next read begins in another segment
        positions[offset] = (segment, position)
        if len(positions) > _REMEMBERED_READS:
            try:
                del positions[next(iter(positions))]
            except (KeyError, RuntimeError, StopIteration):
                pass  # another thread was faster; it is only a cache

    def batches(self, start_offset: int, end_offset: int | None = None) -> Iterator[ScannedBatch]:
        """All batches that reach into the range, across segments. Blocking."""
        end = self.log_end_offset if end_offset is None else end_offset
        segments = self._segments
        for segment in segments[floor(segments, start_offset) :]:
            size = segment.size
            if segment.base_offset >= end:
                return
            position = segment.locate(start_offset, size)
            if position is None:
                continue
            for batch in segment.batches(position, size):
                if batch.header.base_offset >= end:
                    return
                yield batch

    def aborted_transactions(self, start: int, end: int) -> list[tuple[int, int]]:
        """(producer id, first offset) of the aborted transactions with records in [start, end)."""
        found = []
        segments = self._segments
        for segment in segments[floor(segments, start) :]:
            for entry in segment.aborted():
                if entry.last_offset >= start and entry.first_offset < end:
                    found.append((entry.producer_id, entry.first_offset))
                if entry.last_stable_offset >= end:
                    return found  # all that can matter below the end was decided by then
        return found

    def offset_for_timestamp(self, timestamp: int, upper_offset: int) -> TimestampedOffset | None:
        """(timestamp, offset, leader epoch) of the first record at or after the timestamp. Blocking."""
        start = self.log_start_offset
        for segment in list(self._segments):
            if segment.largest_timestamp() < timestamp:
                continue
            first = max(segment.base_offset + segment.time_index().offset_before(timestamp), start)
            size = segment.size
            position = segment.locate(first, size)
            if position is None:
                continue
            for batch in segment.batches(position, size):
                if batch.header.base_offset >= upper_offset:
                    return None
                if batch.header.max_timestamp < timestamp:
                    continue
                for record in records(batch.buffer, batch.start, batch.header):
                    if record.timestamp >= timestamp and start <= record.offset < upper_offset:
                        return record.timestamp, record.offset, batch.header.leader_epoch
        return None

    def offset_of_max_timestamp(self, upper_offset: int) -> TimestampedOffset | None:
        """The first record with the latest timestamp of the log. Blocking."""
        best: ScannedBatch | None = None
        for segment in self._segments:
            if segment.base_offset >= upper_offset:
                break
            if best is not None and segment.largest_timestamp() <= best.header.max_timestamp:
                continue
            largest = segment.largest_timestamp()
            first = max(segment.base_offset + segment.time_index().offset_before(largest), self.log_start_offset)
            size = segment.size
            position = segment.locate(first, size)
            for batch in segment.batches(position, size) if position is not None else ():
                if batch.header.last_offset >= upper_offset:
                    break
                later = best is None or batch.header.max_timestamp > best.header.max_timestamp
                if later and batch.header.record_count:
                    best = batch
        if best is None:
            return None
        header = best.header
        for record in records(best.buffer, best.start, header):
            if record.timestamp == header.max_timestamp:
                return record.timestamp, record.offset, header.leader_epoch
        return header.max_timestamp, header.last_offset, header.leader_epoch


def floor(segments: list[Segment], offset: int) -> int:
    """Number of the segment that holds the offset (the first one for offsets below all)."""
    low, high = 0, len(segments)
    while low < high:
        middle = (low + high) // 2
        if segments[middle].base_offset <= offset:
            low = middle + 1
        else:
            high = middle
    return max(low - 1, 0)
