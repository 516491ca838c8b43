"""Aggregates over tumbling and hopping windows [start, end), and the door to sliding ones: one step has both.

A record belongs to every window that contains its timestamp; those already closed are left out, each with a count.
Only null keys are dropped: a null value reaches the aggregator, as in Kafka Streams.
"""

from __future__ import annotations

from typing import Any

from caudal.plan import steps
from caudal.runtime.operators.operator import NULL_KEY, Operator, runs
from caudal.runtime.operators.sliding_windows import SlidingWindowAggregate
from caudal.runtime.operators.windowed import NEVER, WindowedAggregate
from caudal.runtime.record import Record


class TimeWindowAggregate(WindowedAggregate):
    def prepare(self, step: steps.WindowAggregate) -> None:
        super().prepare(step)
        windows = step.windows
        assert isinstance(windows, steps.TimeWindows)
        self.size, self.advance = windows.size, windows.advance
        self.fetch = self.store.fetch_with_timestamp

    def process(self, record: Record) -> None:
        key, timestamp = record.key, record.timestamp
        if key is None:
            self.task.dropped[NULL_KEY] += 1
            return
        if timestamp > self.observed:
            self.observed = timestamp
        close_time = self.observed - self.grace
        if self.on_close:
            self.emit_closed(record, close_time)
        size, advance = self.size, self.advance
        start = timestamp - size + advance
        start = start - start % advance if start > 0 else 0
        while start <= timestamp:
            if start + size > close_time:
                stored = self.fetch(key, start)
                old, time = None, timestamp
                if stored is None:
                    aggregate = self.initial()
                else:
                    aggregate, before = stored
                    old = self.before_change(key, start, aggregate)
                    if before > timestamp:
                        time = before
                new = self.aggregated(key, record.value, aggregate)
                self.put_and_forward(record, start, start + size, new, old, time)
            else:
                self.drop_late()
            start += advance

    def emit_closed(self, record: Record, close_time: int) -> None:
        last_start = close_time - self.size
        if last_start < 0 or close_time <= self.emitted:
            return
        if self.emitted == NEVER:
            self.emit_between(record, 0, last_start, self.size, close_time)
            return
        emitted_start = max(0, self.emitted - self.size)
        if self.window_starts(last_start) != self.window_starts(emitted_start):
            self.emit_between(record, emitted_start + 1, last_start, self.size, close_time)

    def window_starts(self, timestamp: int) -> tuple[int, int]:
        """First and last window that contain this time: where two times have the same, no window starts between."""
        first = max(0, timestamp - self.size + self.advance)
        return first // self.advance, timestamp // self.advance


@runs(steps.WindowAggregate)
def window_aggregate(name: str, step: steps.WindowAggregate, *rest: Any) -> Operator:
    """One step for both: the kind of window decides."""
    kind = TimeWindowAggregate if isinstance(step.windows, steps.TimeWindows) else SlidingWindowAggregate
    return kind(name, step, *rest)
