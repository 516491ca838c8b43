"""What a task counts, by the names of Kafka Connect's task metrics.

Counters are added to once per batch, not per record, by the task's own thread. Rates and averages are those of the last
half minute, as Kafka's are; ratios are of the whole run.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

WINDOW_SECONDS = 30.0
WITH_MINIMUM = ("transaction-size-{}",)
COMMITS = ("offset-commit-success-total", "offset-commit-failure-total")


class _Window:
    """Sums of the last half minute, in slices of a second."""

    __slots__ = ("_slices",)

    def __init__(self) -> None:
        self._slices: deque[list[float]] = deque()  # second, sum, count, maximum, minimum

    def add(self, now: float, value: float) -> None:
        second = int(now)
        slices = self._slices
        if slices and slices[-1][0] == second:
            last = slices[-1]
            last[1] += value
            last[2] += 1
            last[3] = max(last[3], value)
            last[4] = min(last[4], value)
        else:
            slices.append([second, value, 1, value, value])
            while slices[0][0] < second - WINDOW_SECONDS:
                slices.popleft()

    def totals(self, now: float) -> tuple[float, float, float, float]:
        """Sum, count, maximum and minimum."""
        first = int(now) - WINDOW_SECONDS
        kept = [one for one in list(self._slices) if one[0] >= first]
        return (
            sum(one[1] for one in kept),
            sum(one[2] for one in kept),
            max((one[3] for one in kept), default=0.0),
            min((one[4] for one in kept), default=0.0),
        )


SOURCE = {
    "counters": ("source-record-poll-total", "source-record-write-total", *COMMITS),
    "gauges": ("source-record-active-count",),
}
SINK = {
    "counters": ("sink-record-read-total", "sink-record-send-total", "offset-commit-completion-total", *COMMITS),
    "gauges": ("sink-record-active-count", "sink-record-lag-max", "partition-count", "offset-commit-seq-no"),
}
ERRORS = {
    "counters": (
        "total-record-failures", "total-record-errors", "total-records-skipped", "total-retries",
        "total-errors-logged", "deadletterqueue-produce-requests", "deadletterqueue-produce-failures",
    ),
    "gauges": ("last-error-timestamp",),
}  # fmt: skip


class TaskMetrics:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._counters: dict[str, float] = {}
        self._gauges: dict[str, float] = {}
        self._rates: dict[str, _Window] = {}
        self._samples: dict[str, _Window] = {}
        self._running: float = 0.0
        self._paused: float = 0.0
        self._state: tuple[str, float] = ("", self._began)

    def begin(self, kind: Mapping[str, Sequence[str]]) -> None:
        """What a task of this kind counts is there from the beginning, as nought."""
        for name in kind["counters"]:
            self._counters.setdefault(name, 0.0)
        for name in kind["gauges"]:
            self._gauges.setdefault(name, 0.0)

    def count(self, name: str, amount: float = 1) -> None:
        """`NAME-total`, and `NAME-rate` for those that Kafka has a rate of."""
        self._counters[name] = self._counters.get(name, 0) + amount

    def count_with_rate(self, name: str, amount: float) -> None:
        self.count(f"{name}-total", amount)
        self._rates.setdefault(name, _Window()).add(self._clock(), amount)

    def sample(self, name: str, value: float) -> None:
        """NAME with -avg and -max; Kafka puts the unit last: `put-batch-{}-time-ms`."""
        self._samples.setdefault(name, _Window()).add(self._clock(), value)

    def gauge(self, name: str, value: float) -> None:
        self._gauges[name] = value

    def now_is(self, state: str) -> None:
        """running or paused, for the ratios."""
        now = self._clock()
        before, since = self._state
        if before == "running":
            self._running += now - since
        elif before == "paused":
            self._paused += now - since
        self._state = (state, now)

    def values(self) -> dict[str, float]:
        now = self._clock()
        found: dict[str, float] = {**self._counters, **self._gauges}
        elapsed = max(now - self._began, 1e-9)
        for name, window in list(self._rates.items()):
            found[f"{name}-rate"] = window.totals(now)[0] / min(max(elapsed, 1.0), WINDOW_SECONDS)
        for name, window in list(self._samples.items()):
            total, count, most, least = window.totals(now)
            found[name.format("avg")] = total / count if count else 0.0
            found[name.format("max")] = most
            if name in WITH_MINIMUM:
                found[name.format("min")] = least
        success, failure = (found.get(name, 0.0) for name in COMMITS)
        if commits := success + failure:
            found["offset-commit-success-percentage"] = 100.0 * success / commits
            found["offset-commit-failure-percentage"] = 100.0 * failure / commits
        state, since = self._state
        found["running-ratio"] = (self._running + (now - since if state == "running" else 0.0)) / elapsed
        found["pause-ratio"] = (self._paused + (now - since if state == "paused" else 0.0)) / elapsed
        return found
