"""How far something long is: a bar on a terminal, a line now and then where stderr is a file or a pipe.

It goes to stderr, so that stdout stays what was asked for. What is done within a moment shows nothing at all, and rich
is loaded only when there is a bar to draw.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from caudal.cli.output import bytes_text

if TYPE_CHECKING:
    from rich.progress import Progress

SHOW_AFTER_SECONDS = 0.5
DRAW_SECONDS = 0.1
LINE_SECONDS = 10.0


class Tracker:
    """`with Tracker("orders", total) as tracker: tracker.update(done)`. Any thread may write."""

    def __init__(self, what: str, total: float | None = None, *, unit: str = "records", quiet: bool = False) -> None:
        self._what = what
        self._total = total
        self._unit = unit
        self._done = 0.0
        self._quiet = quiet
        self._on_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._began = self._since = self._shown = time.monotonic()
        self._bar: Progress | None = None
        self._task: Any = None
        self._closed = False
        self._lock = threading.RLock()

    def update(self, done: float | None = None, *, total: float | None = None, what: str | None = None) -> None:
        """How far it is now; what is left out stays as it was."""
        with self._lock:
            self._what = self._what if what is None else what
            self._total = self._total if total is None else total
            if done is not None:
                self._done = done
            if not self._quiet and not self._closed:
                self._draw()

    def step(self, what: str, total: float | None = None, unit: str = "") -> None:
        """The next thing: counted from nothing, with a total of its own or none."""
        with self._lock:
            self._what, self._total, self._done, self._unit = what, total, 0.0, unit or self._unit
            self._since = time.monotonic()
            if self._bar is not None:
                self._bar.reset(self._task, total=total, description=what, amount=self._amount())
            if not self._quiet and not self._closed:
                self._draw()

    def say(self, text: str) -> None:
        """A line above the bar."""
        with self._lock:
            if self._bar is not None and not self._closed:
                self._bar.console.print(text, highlight=False, markup=False, soft_wrap=True)
            else:
                print(text, file=sys.stderr)

    def close(self) -> None:
        """Takes the bar off the screen."""
        with self._lock:
            self._closed = True
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def __enter__(self) -> Tracker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _draw(self) -> None:
        now = time.monotonic()
        if not self._on_terminal:
            if now - self._shown >= LINE_SECONDS:
                self._shown = now
                print(f"{self._what}: {self._amount()}{self._rate(now)}", file=sys.stderr, flush=True)
            return
        if now - self._began < SHOW_AFTER_SECONDS or (self._bar is not None and now - self._shown < DRAW_SECONDS):
            return
        self._shown = now
        bar = self._bar or self._new_bar()
        bar.update(
            self._task,
            completed=self._done,
            total=self._total,
            description=self._what,
            amount=f"{self._amount()}{self._rate(now)}",
        )

    def _new_bar(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        console = Console(stderr=True, highlight=False)
        left = TimeElapsedColumn() if self._total is None else TimeRemainingColumn()
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[amount]}", markup=False),
            left,
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task(self._what, total=self._total, amount="")
        self._bar.start()
        return self._bar

    def _amount(self) -> str:
        """'1,200 of 5,000 records (24 %)', or what is known of it; nothing for what is not counted."""
        if not self._unit or (not self._done and self._total is None):
            return "" if not self._on_terminal or not self._unit else f"0 {self._unit}"
        as_text = bytes_text if self._unit == "bytes" else _thousands
        unit = "" if self._unit == "bytes" else f" {self._unit}"
        if not self._total:
            return f"{as_text(self._done)}{unit}"
        share = min(100, 100 * self._done / self._total)
        return f"{as_text(self._done)} of {as_text(self._total)}{unit} ({share:.0f} %)"

    def _rate(self, now: float) -> str:
        seconds = now - self._since
        if not self._unit or not self._done or seconds < 1:
            return ""
        rate = self._done / seconds
        return f", {bytes_text(rate) if self._unit == 'bytes' else _thousands(rate)}/s"


class TrackerHandler(logging.Handler):
    """Log lines that do not tear the bar apart."""

    def __init__(self, tracker: Tracker) -> None:
        super().__init__()
        self._tracker = tracker

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._tracker.say(self.format(record))
        except Exception:
            self.handleError(record)


def _thousands(number: float) -> str:
    return f"{number:,.0f}"
