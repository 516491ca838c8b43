"""How far a view has read, how far the log goes, and who waits for that.

Positions and ends are offsets; the end is that of what is committed (the last stable offset). A commit marker takes an
offset too, so a lag in offsets is an upper bound of the records that are missing. The follower writes here, queries
read; any thread may.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

STALE_SECONDS = 10.0  # the follower asks for ends every second


@dataclass(frozen=True, slots=True)
class Lag:
    """How many records a view is behind. `age` is how many seconds ago the log was asked for its end."""

    partitions: dict[int, int]
    age: float

    @property
    def total(self) -> int:
        return sum(self.partitions.values())


class Progress:
    def __init__(self) -> None:
        self.ready = False  # it has been where the log ended when it began: queries are answered from then on
        self.trouble: str | None = None  # why it does not get on, where something is wrong that may pass
        self.failed: str | None = None  # why it never will
        self.positions: dict[int, int] = {}
        self._goal: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._measured = 0.0
        self._changed = threading.Condition()

    # -- the follower ------------------------------------------------------------------------------------------------

    def begin(self, positions: Mapping[int, int], ends: Mapping[int, int]) -> None:
        """From now on it reads from `positions`, and is ready when it has been at `ends`."""
        with self._changed:
            self.positions, self._goal, self._ends = dict(positions), dict(ends), dict(ends)
            self._measured = time.monotonic()
            self.trouble = None
            self._settle()

    def moved(self, positions: Mapping[int, int]) -> None:
        with self._changed:
            self.positions.update(positions)
            self.trouble = None
            self._settle()

    def measured(self, ends: Mapping[int, int]) -> None:
        with self._changed:
            self._ends = dict(ends)
            self._measured = time.monotonic()
            self.trouble = None

    def interrupted(self, trouble: str) -> None:
        """Not ready any more, until `begin`."""
        with self._changed:
            self.ready = False
            self.positions, self._goal, self._ends = {}, {}, {}
            self.trouble = trouble
            self._changed.notify_all()

    def fail(self, why: str) -> None:
        with self._changed:
            self.ready = False
            self.failed = self.failed or why
            self._changed.notify_all()

    def _settle(self) -> None:
        self.ready = all(self.positions[number] >= goal for number, goal in self._goal.items())
        if self.ready:
            self._goal = {}
        self._changed.notify_all()

    # -- queries -----------------------------------------------------------------------------------------------------

    def lag(self) -> Lag:
        with self._changed:
            return Lag(self._behind(self._ends), time.monotonic() - self._measured if self._measured else float("inf"))

    def behind(self) -> int | None:
        """In all; None where the log has not been asked yet."""
        with self._changed:
            return sum(self._behind(self._ends).values()) if self.positions else None

    def is_within(self, max_lag: int) -> bool:
        """Whether it is known to be at most so many records behind: not where the log has been silent for long."""
        with self._changed:
            fresh = time.monotonic() - self._measured < STALE_SECONDS
            return fresh and sum(self._behind(self._ends).values()) <= max_lag

    def _behind(self, ends: Mapping[int, int]) -> dict[int, int]:
        return {number: max(0, ends.get(number, 0) - at) for number, at in self.positions.items()}

    def wait_ready(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self.ready or self.failed is not None, seconds) and self.ready

    def wait_for(self, ends: Mapping[int, int], max_lag: int, seconds: float) -> bool:
        """Whether it comes to within `max_lag` records of `ends` in time."""

        def is_there() -> bool:
            return self.failed is not None or (self.ready and sum(self._behind(ends).values()) <= max_lag)

        with self._changed:
            return self._changed.wait_for(is_there, seconds) and self.failed is None
