"""Suppress: holds a table's changes back, until their window closes or for a time, within the limits of its buffer.

The buffer is ordered by the end of the window, or by the timestamp of the first change of a key; later changes of the
key replace the value and keep the place. Time is stream time as this node sees it. A change goes on under the origin
(topic, offset, headers) and timestamp of the last record that changed it. Until windows close tombstones are dropped:
a window that ends empty was never seen downstream.
"""

from __future__ import annotations

from typing import Any

from caudal.plan import steps
from caudal.runtime.errors import StreamsError
from caudal.runtime.operators.operator import Operator, Values, runs
from caudal.runtime.record import Change, Record, RecordContext, Windowed


@runs(steps.Suppress)
class Suppress(Operator):
    def prepare(self, step: steps.Suppress) -> None:
        self.buffer = self.task.store(step.store)
        self.final = step.until_window_closes
        self.wait = step.grace if step.until_window_closes else step.time_limit
        self.max_records, self.max_bytes = step.max_records, step.max_bytes
        self.bounded = step.max_records is not None or step.max_bytes is not None
        self.emit_early = step.emit_early_when_full
        self.observed = self.task.remembered.get(f"{self.name}.observed", -1)

    def remember(self) -> dict[str, int]:
        return {"observed": self.observed}

    def process(self, record: Record) -> None:
        timestamp = record.timestamp
        if timestamp > self.observed:
            self.observed = timestamp
        key = record.key
        if self.final:
            if not isinstance(key, Windowed):
                raise StreamsError(f"{self.name} waits for windows to close, but its table is not windowed.")
            time = key.end
        else:
            time = timestamp
        here = self.task.context
        context = RecordContext(here.topic, here.partition, here.offset, timestamp, record.headers)
        self.buffer.put(key, record.value, time, context)
        expired = self.observed - self.wait
        buffer = self.buffer
        while (first := buffer.min_time) is not None and first <= expired:
            self.emit()
        if self.bounded and self.over_capacity():
            if not self.emit_early:
                raise StreamsError(
                    f"The buffer of {self.name} is full: {len(buffer)} records and {buffer.size_bytes} bytes are held, "
                    f"{self.max_records or 'unlimited'} records and {self.max_bytes or 'unlimited'} bytes are allowed; "
                    "allow more, or let it emit early."
                )
            while self.over_capacity() and len(buffer):
                self.emit()

    def over_capacity(self) -> bool:
        return (self.max_records is not None and len(self.buffer) > self.max_records) or (
            self.max_bytes is not None and self.buffer.size_bytes > self.max_bytes
        )

    def emit(self) -> None:
        held = self.buffer.pop()
        if held.change.new is None and self.final:
            return
        here = self.task.context
        origin = here.snapshot()
        here.restore(held.context)
        try:
            # Old is what was last sent on: the changes between were never seen downstream.
            change = Change(held.change.new, held.prior if self.sends_old else None)
            self.forward(Record(held.key, change, held.context.timestamp, held.context.headers))
        finally:
            here.restore(origin)

    def values(self) -> Values:
        """What downstream has seen: the value before the change that is held, or the table's own."""
        parent, buffered = self.parents[0].values(), self.buffer.get

        def read(key: Any) -> tuple[Any, int] | None:
            held = buffered(key)
            if held is not None:
                return None if held.prior is None else (held.prior, -1)
            return parent(key)

        return read
