"""What the cluster did: samples of it over time, in memory and in a topic, for the plots of the pages."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from caudal.ui.services.kafka import Kafka

POINTS = 1440  # of one series, kept in memory


class Point(NamedTuple):
    at: float  # seconds since 1970
    value: float


class History:
    def __init__(self, kafka: Kafka, metrics: tuple[str, ...] = (), keep: bool = True) -> None:
        self._kafka = kafka
        self._metrics = metrics
        self._keep = keep
        self._series: dict[tuple[str, tuple[tuple[str, str], ...]], deque[Point]] = {}
        self._running: asyncio.Task[None] | None = None

    def series(self, name: str, labels: Mapping[str, str] | None = None, since: float | None = None) -> list[Point]:
        """The points of one series in order of time, from `since` (seconds since 1970) on."""
        points = self._series.get((name, tuple(sorted((labels or {}).items()))), ())
        return [point for point in points if since is None or point.at >= since]

    def latest(self, name: str, labels: Mapping[str, str] | None = None) -> float | None:
        """The newest value; None before the first."""
        points = self._series.get((name, tuple(sorted((labels or {}).items()))))
        return points[-1].value if points else None

    def add(self, name: str, value: float, labels: Mapping[str, str] | None = None, at: float | None = None) -> None:
        key = (name, tuple(sorted((labels or {}).items())))
        self._series.setdefault(key, deque(maxlen=POINTS)).append(Point(time.time() if at is None else at, value))

    def start(self) -> None:
        """Begin to sample."""

    async def stop(self) -> None:
        """Safe when it was never started."""
