"""Series of figures over time, bounded in memory: an hour as sampled, a day by the minute.

Pages read them for their plots; the sampler writes them and keeps them in a topic. A value that stays the same costs
one point that moves; where nothing was sampled for a while stands a NaN, so that a plot shows the gap. Series of one
name with labels (a topic's, a group's) are limited in number: the one that was quiet the longest makes room.
"""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Iterator, Mapping
from typing import NamedTuple

RECENT_SECONDS = 3600.0
KEPT_SECONDS = 24 * 3600.0
GAP_SECONDS = 90.0
MINUTE = 60.0
SERIES_PER_NAME = 200

Labels = tuple[tuple[str, str], ...]


class Point(NamedTuple):
    at: float  # seconds since 1970
    value: float  # NaN where there is a gap


class History:
    def __init__(self) -> None:
        self._series: dict[str, dict[Labels, Series]] = {}

    def series(self, name: str, labels: Mapping[str, str] | None = None, since: float | None = None) -> list[Point]:
        """The points of one series in order of time, from `since` (seconds since 1970) on."""
        found = self._find(name, labels)
        return [] if found is None else [point for point in found.points() if since is None or point.at >= since]

    def latest(self, name: str, labels: Mapping[str, str] | None = None) -> float | None:
        """The newest value; None before the first."""
        found = self._find(name, labels)
        return None if found is None else found.last

    def labels(self, name: str) -> list[dict[str, str]]:
        """Of which things there are series of this name."""
        return [dict(labels) for labels in self._series.get(name, ()) if labels]

    def add(self, name: str, value: float, labels: Mapping[str, str] | None = None, at: float | None = None) -> None:
        """A new point. Points come in the order of time."""
        family = self._series.setdefault(name, {})
        key = _key(labels)
        if key not in family:
            if len(family) >= SERIES_PER_NAME:
                del family[min(family, key=lambda known: family[known].busy_at)]
            family[key] = Series()
        family[key].add(time.time() if at is None else at, value)

    def forget(self, name: str, labels: Mapping[str, str]) -> None:
        """What it was about is gone."""
        self._series.get(name, {}).pop(_key(labels), None)

    def _find(self, name: str, labels: Mapping[str, str] | None) -> Series | None:
        return self._series.get(name, {}).get(_key(labels))


class Series:
    """Two pairs of flat arrays: sixteen bytes a point."""

    __slots__ = ("_old_at", "_old_values", "_recent_at", "_recent_values", "busy_at")

    def __init__(self) -> None:
        self._recent_at, self._recent_values = array("d"), array("d")
        self._old_at, self._old_values = array("d"), array("d")
        self.busy_at = 0.0  # when it was last something other than zero

    @property
    def last(self) -> float | None:
        return self._recent_values[-1] if self._recent_values else None

    def add(self, at: float, value: float) -> None:
        if value:
            self.busy_at = at
        times, values = self._recent_at, self._recent_values
        if times and at - times[-1] > GAP_SECONDS:
            times.append(math.nextafter(times[-1], math.inf))
            values.append(math.nan)
        if len(values) > 1 and values[-1] == value == values[-2]:
            times[-1] = at
        else:
            times.append(at)
            values.append(value)
        # A slack, so that moving points to the minutes is rare.
        if at - times[0] > RECENT_SECONDS * 1.25:
            self._age(at)

    def points(self) -> Iterator[Point]:
        yield from map(Point, self._old_at, self._old_values)
        yield from map(Point, self._recent_at, self._recent_values)

    def _age(self, now: float) -> None:
        """Average what is older than an hour by the minute, and drop what is older than a day."""
        times, values = self._recent_at, self._recent_values
        # The last point stays: an unchanged value is extended from there.
        until = (now - RECENT_SECONDS) // MINUTE * MINUTE
        count = next((index for index, at in enumerate(times) if at >= until), len(times) - 1)
        minutes: dict[float, list[float]] = {}
        for at, value in zip(times[:count], values[:count], strict=True):
            minutes.setdefault(at // MINUTE * MINUTE, []).append(value)
        for minute, in_it in minutes.items():
            known = [value for value in in_it if not math.isnan(value)]
            self._old_at.append(minute)
            self._old_values.append(sum(known) / len(known) if known else math.nan)
        del times[:count], values[:count]
        gone = next((index for index, at in enumerate(self._old_at) if now - at <= KEPT_SECONDS), len(self._old_at))
        del self._old_at[:gone], self._old_values[:gone]


def _key(labels: Mapping[str, str] | None) -> Labels:
    return tuple(sorted(labels.items())) if labels else ()
