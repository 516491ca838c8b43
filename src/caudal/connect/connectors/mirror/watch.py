"""A connector's thread that looks again every so often: for topics, settings, groups. Errors are logged, no more."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

LEAVE_SECONDS = 1.0
log = logging.getLogger("caudal.connect.mirror")


class Watch:
    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: list[tuple[float, Callable[[], None]]] = []
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def every(self, seconds: float, job: Callable[[], None]) -> None:
        self._jobs.append((seconds, job))

    def start(self) -> None:
        if self._jobs:
            self._thread = threading.Thread(target=self._run, name=f"mirror-{self._name}", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(LEAVE_SECONDS)  # it may be asking a cluster that is away

    def _run(self) -> None:
        due = [time.monotonic() + seconds for seconds, _ in self._jobs]
        while not self._stopping.wait(max(min(due) - time.monotonic(), 0.0)):
            for at, (seconds, job) in enumerate(self._jobs):
                if due[at] <= time.monotonic():
                    try:
                        job()
                    except Exception as error:
                        log.warning("%s: %s", self._name, error)
                    due[at] = time.monotonic() + seconds
