"""What aggregates over tumbling, hopping and sliding windows share: stream time, the results, emitting when windows
close.

Stream time is the largest timestamp this node has seen, as in Kafka Streams; a window closes `grace` after its end has
passed. Emitted on close, results go out with the first record that closes their window, before that record is put: a
put moves the store's time, and with a jump of time the store would forget windows that were not emitted yet (Kafka
Streams without its cache loses those). Kafka Streams does that at most once a second of wall-clock time, to save store
reads; here they are saved by looking first whether a window can have closed at all.

As for aggregates without windows `Change.old` is None for the first result of a window.
"""

from __future__ import annotations

from typing import Any

from caudal.plan import steps
from caudal.runtime.operators.operator import LATE, Operator, Values
from caudal.runtime.record import Change, Record, Windowed
from caudal.runtime.stores.isolation import ATOMS

NEVER = -1


class WindowedAggregate(Operator):
    """The base of both kinds of time window. `length` is what a window's end is after its start."""

    def prepare(self, step: steps.WindowAggregate) -> None:
        self.store = self.task.store(step.store)
        self.grace = step.windows.grace
        self.initializer = step.initializer.direct if step.initializer is not None else None
        self.aggregator = step.aggregator.direct
        self.on_close = step.emit is steps.Emit.ON_CLOSE
        remembered = self.task.remembered
        self.observed = remembered.get(f"{self.name}.observed", NEVER)
        self.emitted = remembered.get(f"{self.name}.emitted", NEVER)  # the close time up to which results went out

    def remember(self) -> dict[str, int]:
        return {"observed": self.observed, "emitted": self.emitted}

    def initial(self) -> Any:
        return None if self.initializer is None else self.initializer()

    def aggregated(self, key: Any, value: Any, aggregate: Any) -> Any:
        if aggregate is None and self.initializer is None:  # reduce: the first value begins the window
            return value
        return self.aggregator(key, value, aggregate)

    def before_change(self, key: Any, start: int, aggregate: Any) -> Any:
        """The window's aggregate as downstream needs it, apart from the object that the aggregator may change."""
        if not self.sends_old or aggregate is None or aggregate.__class__ in ATOMS:
            return aggregate if self.sends_old else None
        return self.store.fetch(key, start)

    def put_and_forward(self, record: Record, start: int, end: int, new: Any, old: Any, timestamp: int) -> None:
        key = record.key
        self.store.put(key, new, start, timestamp)
        if not self.on_close:
            self.forward(Record(Windowed(key, start, end), Change(new, old), timestamp, record.headers))

    def drop_late(self) -> None:
        self.task.dropped[LATE] += 1

    def emit_between(self, record: Record, first_start: int, last_start: int, length: int, close_time: int) -> None:
        """Sends the results of the windows that start between the two, both included, in the order of time and key."""
        for window, value, timestamp in self.store.fetch_all_with_timestamp(first_start, last_start):
            key = Windowed(window.key, window.start, window.start + length)
            self.forward(Record(key, Change(value, None), timestamp, record.headers))
        self.emitted = close_time

    def values(self) -> Values:
        fetch = self.store.fetch_with_timestamp

        def read(key: Windowed) -> tuple[Any, int] | None:
            return fetch(key.key, key.start)  # type: ignore[no-any-return]

        return read
