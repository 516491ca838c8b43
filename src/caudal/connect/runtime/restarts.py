"""When a failed task or connector is tried again: exponential back-off, so many times in a row, anew after progress."""

from __future__ import annotations

from collections.abc import Hashable


class Restarts:
    def __init__(self, first: float, longest: float, attempts: int) -> None:
        self._first = first
        self._longest = longest
        self._attempts = attempts
        self._failures: dict[Hashable, int] = {}

    def failed(self, id: Hashable, progress: bool) -> float | None:
        """Seconds until the next attempt; None when it stays as it is until somebody asks for it. `progress` says
        that the run that has failed did some work before."""
        failures = 0 if progress else self._failures.get(id, 0)
        if failures >= self._attempts:
            return None
        self._failures[id] = failures + 1
        return min(self._longest, self._first * 2.0**failures)

    def forget(self, id: Hashable) -> None:
        """It was restarted by hand, configured anew, or moved: the count begins at none."""
        self._failures.pop(id, None)
