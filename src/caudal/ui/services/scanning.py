"""Reads a topic's partitions, oldest or newest first, and keeps the messages that match: the engine of every page of
messages, of exports and of searches through a million records.

It works in rounds: partitions that have nothing to offer read their next piece, onwards or backwards, and then the
heads of all partitions are merged by time. A match is handed out when every partition has one to compare it with or has
been read beyond its time, so that one rare match does not wait for all the others to end. A page ends with a cursor at
which the next begins. Pieces are small at first and grow while nothing matches; what is kept in memory is bounded by
bytes.
Blocking: run it in a thread. Progress may be read, and `cancel` called, from any other.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from caudal.ui.services.decoding import Message, Readings, Record, Schemas, record_of

if TYPE_CHECKING:
    from confluent_kafka import Consumer

SMALLEST_PIECE = 10
LARGEST_PIECE = 25_000
PIECE_BYTES = 4 << 20  # of matches that one partition may hold
SILENCE_SECONDS = 10.0
_POLL_SECONDS = 0.1
_DRAIN = 1000

# Small queues: the control center is a small process, and a page needs little of what librdkafka would fetch ahead. A
# short record costs librdkafka many times its bytes, so messages are bounded, too.
CONSUMER_PROPERTIES: Mapping[str, Any] = {
    "group.id": "caudal-ui",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "queued.min.messages": 30_000,
    "queued.max.messages.kbytes": 8192,
    "fetch.message.max.bytes": 1 << 19,
    "fetch.wait.max.ms": 50,
}


class BrokerSilent(Exception):
    """Nothing came for too long from partitions that should have something."""


@dataclass(frozen=True, slots=True)
class Span:
    """The offsets of a partition that a scan goes over: from `low` up to, without, `high`."""

    low: int
    high: int


@dataclass(slots=True)
class _Lane:
    """One partition. `edge` is where the next piece begins (backwards: where it ends)."""

    span: Span
    edge: int
    found: deque[Message]
    kept_bytes: int = 0
    reached: int | None = None  # the time of the last record looked at
    cut: bool = False  # backwards: the oldest of the piece did not fit

    def is_exhausted(self, backward: bool) -> bool:
        return self.edge <= self.span.low if backward else self.edge >= self.span.high


class Scan:
    """One way through a topic. `read` may be called again and goes on where it stopped."""

    def __init__(
        self,
        consumer: Consumer,
        topic: str,
        spans: Mapping[int, Span],
        *,
        backward: bool,
        matches: Callable[[Message], bool] | None,
        schemas: Schemas,
        readings: Readings,
    ) -> None:
        self._consumer = consumer
        self._topic = topic
        self._backward = backward
        self._matches = matches
        self._schemas = schemas
        self._readings = readings
        self._lanes = {
            partition: _Lane(span, span.high if backward else span.low, deque()) for partition, span in spans.items()
        }
        self._piece = SMALLEST_PIECE
        self._cancelled = threading.Event()
        self.total = sum(max(0, span.high - span.low) for span in spans.values())
        self.scanned = 0  # records looked at
        self.matched = 0

    def cancel(self) -> None:
        """The reading ends soon, with what it has found."""
        self._cancelled.set()

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    @property
    def passed(self) -> int:
        """How many offsets of `total` need not be read any more."""
        if self._backward:
            return sum(lane.span.high - max(lane.edge, lane.span.low) for lane in self._lanes.values())
        return sum(min(lane.edge, lane.span.high) - lane.span.low for lane in self._lanes.values())

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left, neither to read nor to hand out."""
        return all(not lane.found and lane.is_exhausted(self._backward) for lane in self._lanes.values())

    def cursor(self) -> dict[int, int]:
        """Where a scan has to begin to give what this one has not given yet."""
        after = 1 if self._backward else 0
        return {
            partition: lane.found[0].record.offset + after if lane.found else lane.edge
            for partition, lane in self._lanes.items()
        }

    def read(self, count: int, *, most: int, seconds: float) -> list[Message]:
        """Up to `count` matches; fewer when the topic ends, when about `most` records were looked at or `seconds` have
        passed, or when cancelled."""
        self._cancelled.clear()
        self._piece = max(self._piece, min(count, 2 * count // max(1, len(self._lanes))))
        stop_scanned, deadline = self.scanned + most, time.monotonic() + seconds
        page: list[Message] = []
        while len(page) < count:
            message = self._next()
            if message is not None:
                page.append(message)
                continue
            spent = self.scanned >= stop_scanned or time.monotonic() >= deadline
            if spent or self.is_finished or self._cancelled.is_set():
                break
            self._read_pieces(deadline)
        self._consumer.unassign()
        return page

    def every(self, most: int) -> Iterator[Message]:
        """All matches, as far as `most` of them, without holding more than a piece of each partition."""
        given = 0
        while given < most and not self._cancelled.is_set():
            message = self._next()
            if message is not None:
                given += 1
                yield message
            elif self.is_finished:
                return
            else:
                self._read_pieces(time.monotonic() + SILENCE_SECONDS)

    # ------------------------------------------------------------------ merging

    def _next(self) -> Message | None:
        """The next match of all partitions; None while one of them has to be read first."""
        best = self._best()
        if best is None or self._waited_for(best):
            return None
        message = best.found.popleft()
        best.kept_bytes -= message.size
        return message

    def _best(self) -> _Lane | None:
        """The partition whose head comes first."""
        best: _Lane | None = None
        for lane in self._lanes.values():
            if lane.found and (
                best is None or self._is_before(lane.found[0].record.timestamp, best.found[0].record.timestamp)
            ):
                best = lane
        return best

    def _waited_for(self, best: _Lane | None) -> list[int]:
        """The partitions that may have something before the best head; all that are not at their end without one."""
        limit = None if best is None else best.found[0].record.timestamp
        return [
            partition
            for partition, lane in self._lanes.items()
            if not lane.found
            and not lane.is_exhausted(self._backward)
            and (limit is None or lane.reached is None or not self._is_before(limit, lane.reached))
        ]

    def _is_before(self, one: int, other: int) -> bool:
        return one > other if self._backward else one < other

    # ------------------------------------------------------------------ reading

    def _read_pieces(self, deadline: float) -> None:
        """The next piece of every partition that is waited for."""
        from confluent_kafka import TopicPartition

        pieces: dict[int, tuple[int, int]] = {}
        for partition in self._waited_for(self._best()):
            lane = self._lanes[partition]
            if self._backward:
                pieces[partition] = max(lane.span.low, lane.edge - self._piece), lane.edge
            else:
                pieces[partition] = lane.edge, min(lane.span.high, lane.edge + self._piece)
        places = [TopicPartition(self._topic, one, low) for one, (low, _) in pieces.items()]
        self._consumer.assign(places)
        # librdkafka remembers that a partition was paused, also over a new assignment.
        self._consumer.resume(places)
        matched = self.matched
        self._collect(pieces, deadline)
        if self.matched == matched:
            self._piece = min(LARGEST_PIECE, self._piece * 4)

    def _collect(self, pieces: dict[int, tuple[int, int]], deadline: float) -> None:
        waiting = dict(pieces)
        heard = time.monotonic()
        while waiting:
            first = self._consumer.poll(_POLL_SECONDS)
            now = time.monotonic()
            if first is None:
                if self._cancelled.is_set() or now >= deadline:
                    break
                if now - heard > SILENCE_SECONDS:
                    raise BrokerSilent
                continue
            for message in (first, *self._consumer.consume(_DRAIN, 0)):
                if self._take(message, waiting):
                    heard = now
            if self._cancelled.is_set() or now >= deadline:
                break
        for partition in waiting:
            # A piece that was begun from its old end cannot be handed out backwards; it is read again.
            if self._backward:
                lane = self._lanes[partition]
                self.matched -= len(lane.found)
                lane.found.clear()
                lane.kept_bytes, lane.cut = 0, False

    def _take(self, message: Any, waiting: dict[int, tuple[int, int]]) -> bool:
        """Whether it brought a piece forward."""
        partition = message.partition()
        error = message.error()
        if error is not None:
            return self._take_error(error, partition, waiting)
        if partition not in waiting:
            return False
        low, high = waiting[partition]
        offset = message.offset()
        if offset < high:
            self.scanned += 1
            record = Message(record_of(message), self._schemas, self._readings)
            self._note_time(partition, record.record)
            if self._matches is None or self._matches(record):
                self.matched += 1
                self._keep(partition, record)
        if offset >= high - 1:
            self._end_piece(partition, low if self._backward else high, waiting)
        elif not self._backward:
            lane = self._lanes[partition]
            lane.edge = offset + 1
            if lane.kept_bytes > PIECE_BYTES:
                self._end_piece(partition, lane.edge, waiting)
        return True

    def _take_error(self, error: Any, partition: int, waiting: dict[int, tuple[int, int]]) -> bool:
        from confluent_kafka import KafkaError, KafkaException

        code = error.code()
        if partition in waiting and code in (KafkaError._PARTITION_EOF, KafkaError._AUTO_OFFSET_RESET):
            # The end came before the piece's (markers and removed records have offsets, too), or the beginning has
            # just been deleted.
            low, high = waiting[partition]
            self._end_piece(partition, low if self._backward else high, waiting)
            return True
        if code not in (KafkaError._PARTITION_EOF, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN):
            raise KafkaException(error)
        return False

    def _note_time(self, partition: int, record: Record) -> None:
        """Onwards the last record of a piece counts, backwards the first, which is the oldest."""
        lane = self._lanes[partition]
        if not self._backward or lane.reached is None or record.timestamp < lane.reached:
            lane.reached = record.timestamp

    def _keep(self, partition: int, message: Message) -> None:
        lane = self._lanes[partition]
        lane.kept_bytes += message.size
        if not self._backward:
            lane.found.append(message)
            return
        lane.found.appendleft(message)
        while lane.kept_bytes > PIECE_BYTES and len(lane.found) > 1:
            # Too much to hold: the oldest are left for the next piece.
            lane.kept_bytes -= lane.found.pop().size
            lane.cut = True
            self.matched -= 1

    def _end_piece(self, partition: int, edge: int, waiting: dict[int, tuple[int, int]]) -> None:
        from confluent_kafka import TopicPartition

        lane = self._lanes[partition]
        del waiting[partition]
        lane.edge = lane.found[-1].record.offset if lane.cut else edge
        lane.cut = False
        self._consumer.pause([TopicPartition(self._topic, partition)])
