"""Aggregates over session windows [start, end], both ends included: times of activity with gaps of at least `gap`
between.

A record that falls within the gap of sessions merges them into one: the old ones are deleted (a tombstone each), the
merged one is put. Results carry the session's end as timestamp and, as in Kafka Streams, no headers. Only null keys
are dropped.
"""

from __future__ import annotations

from typing import Any

from caudal.plan import steps
from caudal.runtime.operators.operator import LATE, NULL_KEY, Operator, Values, runs
from caudal.runtime.operators.windowed import NEVER
from caudal.runtime.record import Change, Record, Windowed


@runs(steps.SessionAggregate)
class SessionAggregate(Operator):
    def prepare(self, step: steps.SessionAggregate) -> None:
        self.store = self.task.store(step.store)
        self.gap, self.grace = step.windows.gap, step.windows.grace
        self.initializer = step.initializer.direct if step.initializer is not None else None
        self.aggregator, self.merger = step.aggregator.direct, step.merger.direct
        self.on_close = step.emit is steps.Emit.ON_CLOSE
        remembered = self.task.remembered
        self.observed = remembered.get(f"{self.name}.observed", NEVER)
        self.emitted = remembered.get(f"{self.name}.emitted", NEVER)

    def remember(self) -> dict[str, int]:
        return {"observed": self.observed, "emitted": self.emitted}

    def process(self, record: Record) -> None:
        key, timestamp = record.key, record.timestamp
        if key is None:
            self.task.dropped[NULL_KEY] += 1
            return
        if timestamp > self.observed:
            self.observed = timestamp
        close_time = self.observed - self.grace - self.gap
        if self.on_close:
            self.emit_closed(record, close_time)  # before a put of the new time lets the store forget the closed ones
        found = list(self.store.find_sessions(key, timestamp - self.gap, timestamp + self.gap))
        start = min([timestamp, *(session.start for session, _ in found)])
        end = max([timestamp, *(session.end for session, _ in found)])
        if end < close_time:
            self.task.dropped[LATE] += 1
        else:
            self.merge(record, Windowed(key, start, end), found)

    def merge(self, record: Record, merged: Windowed, found: list[tuple[Windowed, Any]]) -> None:
        key, timestamp = record.key, record.timestamp
        old = None
        if merged.start == merged.end == timestamp:
            # Nothing around the record, or a session of just this time: that one is replaced, not deleted.
            if found and self.sends_old:
                old = self.store.fetch_session(key, timestamp, timestamp)
        else:
            for session, aggregate in found:
                self.store.remove(session)
                self.update(session, None, self.before_merge(aggregate))
        aggregate = None if self.initializer is None else self.initializer()
        for _, other in found:
            # reduce has no initializer: the first session is taken as it is
            aggregate = other if aggregate is None and self.initializer is None else self.merger(key, aggregate, other)
        if aggregate is None and self.initializer is None:
            aggregate = record.value
        else:
            aggregate = self.aggregator(key, record.value, aggregate)
        self.store.put(merged, aggregate)
        self.update(merged, aggregate, old)

    def before_merge(self, aggregate: Any) -> Any:
        """What was deleted goes downstream before the merger may change it in place."""
        return aggregate if self.sends_old else None

    def update(self, session: Windowed, new: Any, old: Any) -> None:
        if not self.on_close:
            self.forward(Record(session, Change(new, old), session.end))

    def emit_closed(self, record: Record, close_time: int) -> None:
        first_end, last_end = max(0, self.emitted), close_time - 1
        if last_end < first_end:
            return
        for session, aggregate in list(self.store.find_sessions_ending(first_end, last_end)):
            self.forward(Record(session, Change(aggregate, None), session.end, record.headers))
        self.emitted = close_time

    def values(self) -> Values:
        fetch = self.store.fetch_session

        def read(key: Windowed) -> tuple[Any, int] | None:
            aggregate = fetch(key.key, key.start, key.end)
            return None if aggregate is None else (aggregate, key.end)

        return read
