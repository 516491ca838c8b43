"""Aggregates over sliding windows [start, start + difference], both ends included.

There is a window for every distinct set of records that lie within the time difference: for each record the one that
ends at it (left window) and, once a later record falls into it, the one that starts right after it (right window). So
a record
- goes into every existing window that contains it,
- makes its own left window, from the aggregate of the records before it that fall into it,
- makes the right window of the record before it, if it is the first one to fall into that,
- makes its own right window, if later records are already there (it came out of order).
Early in time, where a left window would begin before 0, one window [0, difference] stands for all of them.

The timestamp of a stored window is its youngest record's: that is how the record before is found without keeping
records.
"""

from __future__ import annotations

from typing import Any

from caudal.plan import steps
from caudal.runtime.operators.operator import NULL_KEY_OR_VALUE
from caudal.runtime.operators.windowed import NEVER, WindowedAggregate
from caudal.runtime.record import Record
from caudal.runtime.stores.isolation import ATOMS


class SlidingWindowAggregate(WindowedAggregate):
    def prepare(self, step: steps.WindowAggregate) -> None:
        super().prepare(step)
        windows = step.windows
        assert isinstance(windows, steps.SlidingWindows)
        self.difference = windows.difference

    def process(self, record: Record) -> None:
        timestamp = record.timestamp
        if record.key is None or record.value is None:
            self.task.dropped[NULL_KEY_OR_VALUE] += 1
            return
        if timestamp > self.observed:
            self.observed = timestamp
        close_time = self.observed - self.grace
        if timestamp + self.difference < close_time:
            self.drop_late()  # even the last window that could hold it has closed
            return
        if timestamp < self.difference:
            self.process_early(record, close_time)
            return
        if self.on_close:
            self.emit_closed(record, close_time)
        self.process_in_windows(record, close_time)

    def process_in_windows(self, record: Record, close_time: int) -> None:
        key, timestamp, difference = record.key, record.timestamp, self.difference
        # One start more than contains the record: to see whether its right window exists.
        found = list(self.store.fetch_range_with_timestamp(key, max(0, timestamp - 2 * difference), timestamp + 1))
        starts = {start for start, _, _ in found}
        left_exists = right_exists = False
        left: Any = None  # aggregate of the youngest window that ends before the record
        right: tuple[Any, int] | None = None  # of the youngest window that contains it
        previous: int | None = None  # timestamp of the record before this one
        for start, aggregate, youngest in reversed(found):
            end = start + difference
            if start == timestamp + 1:
                right_exists = True
            elif end > timestamp:
                if right is None:
                    right = self.own(key, start, aggregate), youngest
                self.update(record, start, aggregate, youngest, close_time)
            elif end == timestamp:
                left_exists = True
                self.update(record, start, aggregate, youngest, close_time)
                if youngest >= timestamp:
                    return  # a record of this very time was here before: it made all windows there are to make
                previous = youngest
            else:
                left, previous = aggregate, youngest
                break
        if previous is not None and previous + 1 not in starts and previous + 1 + difference >= timestamp:
            self.update(record, previous + 1, None, timestamp, close_time)
        if not left_exists:
            in_window = previous is not None and timestamp - difference <= previous
            self.update(record, timestamp - difference, left if in_window else None, timestamp, close_time, fresh=True)
        if not right_exists and right is not None and right[1] > timestamp:
            self.create_right(record, *right)

    def process_early(self, record: Record, close_time: int) -> None:
        key, timestamp = record.key, record.timestamp
        combined: tuple[Any, int] | None = None
        right: tuple[Any, int] | None = None
        right_exists = False
        previous: int | None = None
        starts = set()
        for start, aggregate, youngest in list(self.store.fetch_range_with_timestamp(key, 0, timestamp + 1)):
            starts.add(start)
            if start == 0:
                combined = aggregate, youngest
                if youngest < timestamp:
                    previous = youngest
            elif start <= timestamp:
                right = self.own(key, start, aggregate), youngest
                self.update(record, start, aggregate, youngest, close_time)
            else:
                right_exists = True
        # No window began between 0 and the record, but there are later records: they all lie after it.
        if right is None and combined is not None and combined[1] > timestamp:
            right = self.own(key, 0, combined[0]), combined[1]
        if not right_exists and right is not None and right[1] > timestamp:
            self.create_right(record, *right)
        if previous is not None and previous + 1 not in starts:
            self.update(record, previous + 1, None, timestamp, close_time)
        if combined is None:
            self.update(record, 0, None, timestamp, close_time)
        else:
            self.update(record, 0, *combined, close_time)

    def own(self, key: Any, start: int, aggregate: Any) -> Any:
        """A copy of a stored aggregate: the object at hand is about to be given to the aggregator."""
        return aggregate if aggregate.__class__ in ATOMS else self.store.fetch(key, start)

    def update(
        self, record: Record, start: int, aggregate: Any, youngest: int, close_time: int, fresh: bool = False
    ) -> None:
        """Adds the record to a window. `aggregate` None or `fresh`: the window is new, and has no old value."""
        end = start + self.difference
        if end < close_time:
            self.drop_late()
            return
        key = record.key
        old = None if fresh or aggregate is None else self.before_change(key, start, aggregate)
        new = self.aggregated(key, record.value, self.initial() if aggregate is None else aggregate)
        self.put_and_forward(record, start, end, new, old, max(record.timestamp, youngest))

    def create_right(self, record: Record, aggregate: Any, youngest: int) -> None:
        """The window right after the record: it has what lies in the window around it, without the record itself."""
        start = record.timestamp + 1
        self.put_and_forward(record, start, start + self.difference, aggregate, None, youngest)

    def emit_closed(self, record: Record, close_time: int) -> None:
        last_start = close_time - self.difference - 1
        if last_start < 0 or (self.emitted != NEVER and close_time <= self.emitted):
            return
        first_start = 0 if self.emitted == NEVER else max(0, self.emitted - self.difference)
        self.emit_between(record, first_start, last_start, self.difference, close_time)
