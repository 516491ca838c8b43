"""What `caudal run` shows while an application gets going: jars, Spark, its state, and the records it is behind.

It only looks: at the folder that the jars come into, and at the application's state and figures. When the application
has caught up for the first time the bar goes away.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from caudal import jars
from caudal.cli.progress import Tracker

if TYPE_CHECKING:
    from caudal.streams.application import Application

LOOK_SECONDS = 0.5
JAR_SECONDS = 0.2
FEW_RECORDS = 10_000  # worked off sooner than a bar is read


def fetch_jars(tracker: Tracker) -> None:
    """The jars of Spark's Kafka connector, with how much has come. A failure is left to who needs them."""
    if importlib.util.find_spec("pyspark") is None or jars.find("spark") is not None:
        return
    tracker.step(f"fetching {len(jars.jars_of('spark'))} jars of Spark's Kafka connector", unit="bytes")
    with _repeating(lambda: tracker.update(_arrived()), JAR_SECONDS):
        try:
            jars.fetch("spark")
        except jars.JarError:
            return


def _arrived() -> int:
    """Bytes in Ivy's scratch folders; its cache and what it copies from there are the same files, counted once."""
    sizes = {}
    for scratch in jars.folder().glob(".fetching-*"):
        for path in scratch.rglob("*.jar*"):
            try:
                sizes[path.name.removesuffix(".part")] = path.stat().st_size
            except OSError:
                continue
    return sum(sizes.values())


@contextmanager
def watched(application: Application, tracker: Tracker) -> Iterator[None]:
    """Shows how the application gets going, until the block ends."""
    start = _Start(application, tracker)
    with _repeating(start.look, LOOK_SECONDS):
        yield
    tracker.close()


@contextmanager
def ticking(tracker: Tracker) -> Iterator[None]:
    """Shows that something is under way whose end nobody knows."""
    with _repeating(tracker.update, LOOK_SECONDS):
        yield


class _Start:
    def __init__(self, application: Application, tracker: Tracker) -> None:
        self._application = application
        self._tracker = tracker
        self._phase = ""
        self._behind = 0
        self._finished = False

    def look(self) -> None:
        if self._finished:
            return
        state = self._application.state
        if state in ("CREATED", "STARTING", "RESTARTING"):
            self._starting()
        elif state == "RUNNING" and self._application.lane[0] == "task":
            self._catching_up()
        else:
            self._finish()

    def _starting(self) -> None:
        restoring: dict[str, list[int]] = self._application.metrics()["restoring"]
        if restoring:
            total = sum(at[1] for at in restoring.values())
            self._enter("restoring state", total)
            self._tracker.update(sum(at[0] for at in restoring.values()), total=total)
        else:
            self._enter("starting Spark", None)
            self._tracker.update()

    def _catching_up(self) -> None:
        behind = self._application.behind()
        if self._phase != "catching up":
            self._behind = behind
            if behind < FEW_RECORDS:
                self._finish()
                return
            self._enter("catching up", behind)
        self._behind = max(self._behind, behind)
        self._tracker.update(self._behind - behind, total=self._behind)
        if behind < FEW_RECORDS // 10:
            self._finish()

    def _enter(self, phase: str, total: int | None) -> None:
        if phase != self._phase:
            self._phase = phase
            self._tracker.step(f"'{self._application.application_id}': {phase}", total, "records" if total else "")

    def _finish(self) -> None:
        self._finished = True
        self._tracker.close()


@contextmanager
def _repeating(look: Callable[[], None], seconds: float) -> Iterator[None]:
    """Calls `look` again and again, in a thread, for the length of the block. What it raises ends it, not the block."""
    ended = threading.Event()

    def loop() -> None:
        while not ended.wait(seconds):
            try:
                look()
            except Exception:
                return

    thread = threading.Thread(target=loop, name="caudal-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(2.0)
