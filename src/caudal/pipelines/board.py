"""What the reports say, put together: applications, their instances, how they fare and how they fared. Pure.

An instance that says nothing for a while is gone: its process was killed, or has lost the cluster. One that failed says
so last and stays to be seen. Of several instances of an application one runs it, the others stand by.

History is kept as numbers in arrays: the figures of an hour take some 100 kB.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from caudal.pipelines.records import Part, decode, parse_key
from caudal.pipelines.topics import HISTORY_MS

GONE_MS = 30_000  # three missed reports of an idle pipeline
GONE = "GONE"
ENDED = frozenset({"ERROR", "STOPPED"})
# Who speaks for the application: the one that runs it, then those that might.
_RANK = ("RUNNING", "PAUSED", "RESTARTING", "STARTING", "CREATED", "STANDBY", "ERROR", "STOPPED", GONE)

SERIES = ("in", "out", "latency_p50", "latency_p99", "batch", "state_rows", "lag", "commits")
LONGEST = 2 * HISTORY_MS // 2000  # points: an hour of reports every two seconds, and as much again


@dataclass(slots=True)
class History:
    """Series of one instance; a figure that was not there is NaN."""

    times: array[float] = field(default_factory=lambda: array("d"))
    values: dict[str, array[float]] = field(default_factory=lambda: {name: array("d") for name in SERIES})

    def add(self, figures: Mapping[str, Any]) -> None:
        moment = figures.get("time")
        if not isinstance(moment, int) or (self.times and moment <= self.times[-1]):
            return
        self.times.append(moment)
        for name, value in zip(SERIES, _points(figures), strict=True):
            self.values[name].append(value)
        if len(self.times) > LONGEST:
            half = LONGEST // 2
            del self.times[:half]
            for series in self.values.values():
                del series[:half]

    def since(self, moment: float, name: str) -> list[tuple[float, float | None]]:
        """(time in ms, value) from that moment on."""
        first = bisect_left(self.times, moment)
        pairs = zip(self.times[first:], self.values[name][first:], strict=True)
        return [(time, None if value != value else value) for time, value in pairs]

    def means(self, moment: float, name: str, most: int) -> list[tuple[float, float | None]]:
        """The same with at most so many points: each the mean of its neighbours."""
        points = self.since(moment, name)
        size = -(-len(points) // most) or 1
        groups = (points[start : start + size] for start in range(0, len(points), size))
        return [(group[-1][0], _mean([value for _, value in group if value is not None])) for group in groups]


def _points(figures: Mapping[str, Any]) -> Iterable[float]:
    rate, latency, batch = (_mapping(figures, name) for name in ("rate", "latency_ms", "batch_seconds"))
    yield _number(rate.get("in"))
    yield _number(rate.get("out"))
    yield _number(latency.get("p50"))
    yield _number(latency.get("p99"))
    yield _number(batch.get("p50")) * 1000
    yield _number(figures.get("state_rows"))
    yield _number(figures.get("lag"))
    yield _number(rate.get("commits"))


def _mapping(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


@dataclass(slots=True)
class Instance:
    application: str
    id: str
    about: dict[str, Any] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    seen: int = 0  # ms: the last report, by the broker's clock
    history: History = field(default_factory=History)

    def state(self, now: int) -> str:
        """As it says, unless it has fallen silent."""
        state = str(self.figures.get("state", "STARTING"))
        return GONE if state not in ENDED and now - self.seen > GONE_MS else state

    @property
    def topology(self) -> dict[str, Any]:
        return dict(_mapping(self.about, "topology"))

    @property
    def takes_orders(self) -> bool:
        return bool(self.about.get("takes_orders"))

    @property
    def origin(self) -> dict[str, Any]:
        return dict(_mapping(self.about, "origin"))


@dataclass(frozen=True, slots=True)
class Pipeline:
    """An application, with the instance that speaks for it first."""

    application: str
    instances: tuple[Instance, ...]

    @property
    def leader(self) -> Instance:
        return self.instances[0]

    def state(self, now: int) -> str:
        return self.leader.state(now)


class Board:
    """Takes records of the topic in their order. One thread writes; readers get copies of the lists."""

    def __init__(self) -> None:
        self._instances: dict[tuple[str, str], Instance] = {}

    def take(self, key: bytes | None, value: bytes | None, timestamp: int) -> None:
        known = parse_key(key)
        if known is None:
            return
        place = (known.application, known.instance)
        if value is None:
            self._instances.pop(place, None)
            return
        told = decode(value)
        if told is None:
            return
        instance = self._instances.get(place)
        if instance is None:
            instance = self._instances[place] = Instance(*place)
        if known.part is Part.ABOUT:
            instance.about = told
        else:
            instance.figures = told
            instance.history.add(told)
        instance.seen = max(instance.seen, timestamp)

    def pipelines(self, now: int) -> list[Pipeline]:
        """By name."""
        found: dict[str, list[Instance]] = {}
        for instance in list(self._instances.values()):
            if instance.about:  # without it nobody knows what it is
                found.setdefault(instance.application, []).append(instance)
        return [
            Pipeline(name, tuple(sorted(instances, key=lambda one: (_rank(one.state(now)), -one.seen))))
            for name, instances in sorted(found.items())
        ]

    def pipeline(self, application: str, now: int) -> Pipeline | None:
        return next((one for one in self.pipelines(now) if one.application == application), None)


def _rank(state: str) -> int:
    return _RANK.index(state) if state in _RANK else len(_RANK)
