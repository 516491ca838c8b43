"""A run of a JobTask: the task works by itself, and is stopped, paused and started again from here.

While a job is paused it does not run; when it goes on, it is a new object.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from caudal.connect.connector import JobTask
from caudal.connect.connector_config import connector_plugin
from caudal.connect.errors import ConnectError
from caudal.connect.plugins import PluginKind
from caudal.connect.runtime.tasks.run import Run

LOOK_SECONDS = 0.5


class JobRun(Run):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._job = threading.Event()  # the present object is to stop, for good or for a pause

    def pause(self) -> None:
        super().pause()
        self._job.set()

    def stop(self) -> None:
        super().stop()
        self._job.set()

    def prepare(self) -> None:
        if not isinstance(self.parts.task, JobTask):
            raise ConnectError(f"{type(self.parts.task).__name__} is no JobTask.")
        self.parts.task.context = _Context(self, self._job)

    def work(self) -> None:
        task = self.parts.task
        while True:
            self.call(task.run)
            # A bounded input is at its end: there is nothing to do until somebody stops or pauses it.
            while not self._job.wait(LOOK_SECONDS):
                pass
            if self.stopping.is_set() or not self.stand_still():
                return
            self.call(task.stop)
            self._job = threading.Event()
            if self.stopping.is_set() or self.is_paused:  # said while the event was exchanged
                self._job.set()
            task = self.parts.task = type(task)()
            task.context = _Context(self, self._job)
            self.call(task.start, self.parts.task_config)

    def release(self) -> None:
        self.parts.task.__dict__.pop("context", None)


class _Context:
    """JobContext."""

    def __init__(self, run: JobRun, stopping: threading.Event) -> None:
        self.config: Mapping[str, str] = run.spec.task_config
        self.stopping: Any = stopping
        self._run = run
        is_source = connector_plugin(run.spec.connector_config).kind is PluginKind.SOURCE
        self._metric = "source-record-write" if is_source else "sink-record-send"

    def report_progress(self, records: int) -> None:
        self._run.metric.count_with_rate(self._metric, records)

    def report_topic(self, topic: str) -> None:
        self._run.used_topic(topic)
