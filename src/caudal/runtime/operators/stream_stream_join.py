"""Stream-stream joins: inner, left, outer, within a window of time.

Each side puts its records into its own window store (`WindowPut`, behind the join, so that a record does not meet
itself) and looks up the other's. Left and outer joins hold records without a partner back until their window has
closed by the stream time of both sides, then send them on with None. Kafka Streams looks for those at most once a
second of wall-clock time, to save store reads; here they are saved by knowing the oldest that waits.

Records with a null key or value are dropped with a count; but on the outer side a null key with a value goes on at
once with None, as it can never have a partner (KIP-962).
"""

from __future__ import annotations

from typing import Any

from caudal.plan import steps
from caudal.runtime.operators.operator import NULL_KEY_OR_VALUE, Operator, runs
from caudal.runtime.record import Record
from caudal.runtime.stores.api import Unjoined


@runs(steps.WindowPut)
class WindowPut(Operator):
    def prepare(self, step: steps.WindowPut) -> None:
        self.put = self.task.store(step.store).put

    def process(self, record: Record) -> None:
        self.forward(record)
        if record.key is not None:
            self.put(record.key, record.value, record.timestamp, record.timestamp)


class _SharedTime:
    """What both sides of one join know: stream time over both, and the time of the oldest record that waits."""

    __slots__ = ("oldest", "stream_time")

    def __init__(self, oldest: int | None, stream_time: int) -> None:
        self.oldest = oldest  # None: nothing waits. May be too old, never too young
        self.stream_time = stream_time


@runs(steps.StreamStreamJoin)
class StreamStreamJoin(Operator):
    def prepare(self, step: steps.StreamStreamJoin) -> None:
        self.left_side = step.left_side
        self.outer = step.type is steps.JoinType.OUTER or (step.type is steps.JoinType.LEFT and step.left_side)
        self.before, self.after, self.grace = step.before, step.after, step.grace
        # How long after its time a record of each side may still find a partner.
        self.left_wait = (step.after if step.left_side else step.before) + step.grace
        self.right_wait = (step.before if step.left_side else step.after) + step.grace
        self.fetch = self.task.store(step.other_store).fetch_range
        self.joiner = step.joiner.direct
        self.waiting = self.task.store(step.outer_store) if step.outer_store is not None else None
        if self.waiting is not None:
            key = f"join {step.outer_store}"
            if key not in self.task.shared:
                stream_time = self.task.remembered.get(f"{self.name}.stream_time", -1)  # both sides remember the same
                self.task.shared[key] = _SharedTime(self.waiting.min_time, stream_time)
            self.time: _SharedTime = self.task.shared[key]

    def remember(self) -> dict[str, int]:
        return {"stream_time": self.time.stream_time} if self.waiting is not None else {}

    def join(self, key: Any, this: Any, other: Any) -> Any:
        return self.joiner(key, this, other) if self.left_side else self.joiner(key, other, this)

    def process(self, record: Record) -> None:
        key, value, timestamp, waiting = record.key, record.value, record.timestamp, self.waiting
        if waiting is not None and timestamp > self.time.stream_time:
            self.time.stream_time = timestamp
        if key is None or value is None:
            if self.outer and value is not None:
                self.forward(Record(None, self.join(None, value, None), timestamp, record.headers))
            else:
                self.task.dropped[NULL_KEY_OR_VALUE] += 1
            return
        if waiting is not None and self.time.oldest is not None and timestamp == self.time.stream_time:
            self.emit_unmatched(record)
        latest = max(0, timestamp + self.after)
        found = False
        for other_time, other in self.fetch(key, max(0, timestamp - self.before), latest):
            found = True
            if waiting is not None:
                waiting.remove(key, other_time, not self.left_side)
            joined = self.join(key, value, other)
            self.forward(Record(key, joined, max(timestamp, other_time), record.headers))
        if self.outer and not found:
            if waiting is None or latest < self.time.stream_time:
                # Its window has passed already: nothing to wait for.
                self.forward(Record(key, self.join(key, value, None), timestamp, record.headers))
            else:
                waiting.add(key, value, timestamp, self.left_side)
                if self.time.oldest is None or timestamp < self.time.oldest:
                    self.time.oldest = timestamp

    def emit_unmatched(self, record: Record) -> None:
        """Sends on, in the order of time, what found no partner and can find none any more."""
        now, waiting = self.time.stream_time, self.waiting
        assert waiting is not None and self.time.oldest is not None
        soonest = min(self.left_wait, self.right_wait)
        if self.time.oldest + soonest >= now:
            return
        if self.left_wait == self.right_wait:
            for entry in waiting.pop_before(now - soonest):
                self.forward(Record(entry.key, self.alone(entry), entry.time, record.headers))
            self.time.oldest = waiting.min_time
            return
        self.time.oldest = None
        expired = []
        for entry in waiting.all():
            if entry.time + (self.left_wait if entry.left else self.right_wait) < now:
                expired.append(entry)
                continue
            if self.time.oldest is None:
                self.time.oldest = entry.time
            if entry.time + soonest >= now:
                break  # from here on both sides are open
        for entry in expired:
            waiting.remove(entry.key, entry.time, entry.left)
            self.forward(Record(entry.key, self.alone(entry), entry.time, record.headers))

    def alone(self, entry: Unjoined) -> Any:
        return self.joiner(entry.key, entry.value, None) if entry.left else self.joiner(entry.key, None, entry.value)
