"""Punctuators: callbacks that are due by stream time or by the wall clock, in the order in which they fall due.

A queue holds one kind; the task asks it when its time has moved. As in Kafka Streams a schedule that missed several
turns runs once, and its next turn stays on the grid of its start and interval. Nothing here reads a clock.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from enum import Enum
from typing import Any

Punctuator = Callable[[int], Any]


class PunctuationType(Enum):
    STREAM_TIME = "stream time"
    WALL_CLOCK_TIME = "wall-clock time"


class Schedule:
    """One punctuator and when it is due next. `owner` is the node it belongs to."""

    __slots__ = ("callback", "cancelled", "due", "interval", "owner")

    def __init__(self, owner: Any, due: int, interval: int, callback: Punctuator) -> None:
        self.owner = owner
        self.due = due
        self.interval = interval
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True

    def advance(self, now: int) -> None:
        """Moves `due` past `now`, on the grid; by one interval at least."""
        turns = max(1, (now - self.due) // self.interval + 1)
        self.due += turns * self.interval


class PunctuationQueue:
    __slots__ = ("_heap", "_sequence", "next_due")

    NEVER = 2**63

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Schedule]] = []
        self._sequence = 0  # schedules that are due at the same time run in the order in which they were made
        self.next_due = self.NEVER  # read for every record: cheaper than a call

    def add(self, schedule: Schedule) -> None:
        self._sequence += 1
        heapq.heappush(self._heap, (schedule.due, self._sequence, schedule))
        self.next_due = self._heap[0][0]

    def run(self, now: int, call: Callable[[Schedule, int], None]) -> bool:
        """Calls every schedule that is due at `now`; says whether there was one."""
        ran = False
        while self._heap and self._heap[0][0] <= now:
            schedule = heapq.heappop(self._heap)[2]
            if not schedule.cancelled:
                ran = True
                try:
                    call(schedule, now)
                finally:
                    # It may have cancelled itself, and it keeps its turn when it raised and the handler goes on.
                    if not schedule.cancelled:
                        schedule.advance(now)
                        self.add(schedule)
        self.next_due = self._heap[0][0] if self._heap else self.NEVER
        return ran

    def clear(self) -> None:
        self._heap.clear()
        self.next_due = self.NEVER
