"""Real-time mode, in the Python worker: one Spark task that lasts for minutes, rows one by one, many commits.

The main thread takes rows as Spark hands them over; they are processed at once. The pulse, a thread beside it, ends
what was begun: a commit at most every `commit_interval`, at once where the last one is longer ago; wall-clock
punctuators; the driver's orders. One lock keeps the two apart.

A pulse that fails ends the worker: the main thread waits inside Spark's reader, and nothing else gets it out. Spark
then fails the query, and the host starts it again from the committed offsets.
"""

from __future__ import annotations

import gc
import logging
import os
import threading
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from caudal.runtime.spark.lane import Lane
from caudal.runtime.spark.link import LinkLost

log = logging.getLogger("caudal.streams")

ORDERS_SECONDS = 0.25  # how soon a stop, a pause or a new generation of the group is heard of
TELL_SECONDS = 1.0
IDLE_SECONDS = 0.25  # without rows for so long, positions move past transaction markers


def run_batch(lane: Lane, batches: Iterable[Any]) -> None:
    """One long batch of Spark."""
    if not lane.begin():
        return
    gc.freeze()  # what is loaded lives for minutes: collections need not look at it
    with Pulse(lane) as pulse:
        for batch in batches:
            pulse.take(batch)


class Pulse:
    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._interval = lane.commit_interval / 1000
        self._lock = threading.Lock()
        self._came = threading.Event()  # there is something to commit
        self._ended = False
        self._drained = False
        self._thread = threading.Thread(target=self._run, name="caudal-pulse", daemon=True)

    def __enter__(self) -> Pulse:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._ended = True
            if error is None and not self._drained:
                self._lane.finish()

    def take(self, batch: Any) -> None:
        with self._lock:
            if self._drained:
                return
            self._lane.take(batch)
            if self._lane.has_work:
                self._came.set()

    # -- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._beat()
        except LinkLost:
            os._exit(1)  # the driver is gone
        except BaseException:
            log.warning("the pulse of a real-time worker failed; Spark starts another worker", exc_info=True)
            os._exit(1)

    def _beat(self) -> None:
        committed = asked = told = time.monotonic()
        while True:
            if self._came.wait(self._rest(asked)):
                time.sleep(max(0.0, committed + self._interval - time.monotonic()))
            with self._lock:
                if self._ended:
                    return
                self._came.clear()
                now = time.monotonic()
                if self._lane.has_work or self._punctuation_due() == 0:
                    self._lane.commit_work()
                    committed = time.monotonic()
                elif now - committed > IDLE_SECONDS:
                    self._lane.pass_markers()
                if now - asked >= ORDERS_SECONDS:
                    asked = now
                    if not self._lane.go_on():
                        self._drained = True
                        return
                if now - told >= TELL_SECONDS:
                    told = now
                    self._lane.tell()

    def _rest(self, asked: float) -> float:
        """How long nothing has to be done unless rows come."""
        return min(max(0.0, asked + ORDERS_SECONDS - time.monotonic()), self._punctuation_due())

    def _punctuation_due(self) -> float:
        """In how many seconds."""
        due = self._lane.next_punctuation()
        return ORDERS_SECONDS if due is None else max(0.0, due / 1000 - time.time())
