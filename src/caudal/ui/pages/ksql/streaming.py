"""The rows of a running query on their way to the browser: gathered for a moment, counted, and only the newest sent.

A fast query makes more rows than anybody reads; what is not shown is counted, and nothing is kept.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from nicegui import ui

from caudal.ksql.shell.rows import shown
from caudal.ui.pages.ksql.rows_table import MOST_ROWS, RowsTable
from caudal.ui.services.ksql import Rows
from caudal.ui.words import t

FLUSH_SECONDS = 0.3
RATE_SECONDS = 3.0  # the rate is that of the last seconds


class Pace:
    """Rows per second, from when how many came."""

    def __init__(self, seconds: float = RATE_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._began = clock()
        self._came: deque[tuple[float, int]] = deque()

    def add(self, rows: int) -> None:
        self._came.append((self._clock(), rows))

    @property
    def rate(self) -> float:
        now = self._clock()
        while self._came and self._came[0][0] < now - self._seconds:
            self._came.popleft()
        passed = min(self._seconds, now - self._began)
        return sum(rows for _, rows in self._came) / passed if passed > 0 else 0.0


class Stream:
    def __init__(self, place: ui.element, is_push: bool) -> None:
        self._place = place
        self._is_push = is_push
        self._pace = Pace()
        # Of a stream the newest are shown, of an answer the first.
        self._waiting: deque[list[str | None]] = deque(maxlen=MOST_ROWS if is_push else None)
        self._table: RowsTable | None = None
        self.count = 0

    @property
    def rate(self) -> float:
        return self._pace.rate

    async def follow(self, found: Rows, show: Callable[[], None]) -> None:
        """Until the query ends. `show` is called whenever rows or rates are others."""
        with self._place:
            empty = t("Waiting for rows…") if self._is_push else t("No rows.")
            label = t("Rows of the query")
            self._table = RowsTable(found.names, found.types, label=label, empty=empty, newest=self._is_push)
        flushing = asyncio.create_task(self._flush_often(show))
        try:
            async for row in found.rows:
                self._take(row)
        finally:
            flushing.cancel()

    def _take(self, row: list[Any]) -> None:
        self.count += 1
        self._pace.add(1)
        if self._is_push or self.count <= MOST_ROWS:
            self._waiting.append([None if value is None else shown(value) for value in row])

    async def _flush_often(self, show: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            self.flush()
            show()

    def flush(self) -> None:
        if self._table is not None and self._waiting:
            self._table.append(list(self._waiting))
            self._waiting.clear()
