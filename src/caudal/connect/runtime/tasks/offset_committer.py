"""One thread that commits for all source runs of a process, each at its interval.

So a task that waits for long in `poll` has committed what it sent before.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

from caudal.connect.runtime.model import TaskId
from caudal.connect.runtime.tasks.error_policy import log


class Committing(Protocol):
    id: TaskId

    def commit_offsets(self) -> None: ...


class OffsetCommitter:
    """A run that fails to commit is logged, and tried again at its next time."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._due: dict[Committing, tuple[float, float]] = {}  # next time, interval
        self._thread: threading.Thread | None = None

    def add(self, run: Committing, every: float) -> None:
        with self._lock:
            self._due[run] = (time.monotonic() + every, every)
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="connect-offset-committer", daemon=True)
                self._thread.start()
            self._lock.notify()

    def remove(self, run: Committing) -> None:
        with self._lock:
            self._due.pop(run, None)

    def _serve(self) -> None:
        while True:
            with self._lock:
                while not self._due:
                    self._lock.wait()
                run, (due, every) = min(self._due.items(), key=lambda one: one[1])
                if (wait := due - time.monotonic()) > 0:
                    self._lock.wait(wait)
                    continue
                self._due[run] = (time.monotonic() + every, every)
            try:
                run.commit_offsets()
            except Exception as error:
                log.warning("Offsets of task %s could not be committed and are tried again: %s", run.id, error)


committer = OffsetCommitter()
