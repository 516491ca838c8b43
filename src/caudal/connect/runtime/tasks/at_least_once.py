"""A source run that loses nothing: an offset is stored when its record, and all before it, are acknowledged.

Offsets are stored every `offset.flush.interval.ms` by one thread for all runs of the process, so that a task which
waits for long in `poll` has its offsets committed too. The task itself is told of it (`commit`) in its own thread.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from functools import partial
from typing import Any

from caudal.connect.records import RecordMetadata, SourceRecord
from caudal.connect.runtime.tasks.acknowledgements import Acknowledgements, Offset, Partition, Span
from caudal.connect.runtime.tasks.client_properties import make_producer
from caudal.connect.runtime.tasks.offset_committer import committer
from caudal.connect.runtime.tasks.source_run import Delivered, SourceRun

FLUSH_SLICE = 0.5
FAILED_FLUSH_SECONDS = 5.0


class AtLeastOnce(SourceRun):
    def prepare(self) -> None:
        self._serving = threading.Lock()  # acknowledgements are told by one thread at a time
        self._committing = threading.Lock()
        self._acks = Acknowledgements(self.refused)
        self._uncommitted: dict[bytes, tuple[Partition, Offset]] = {}
        self._acknowledged: deque[tuple[SourceRecord, RecordMetadata | None]] = deque()  # for commit_record
        self._stored = False  # offsets were, and the task has not been told
        super().prepare()
        committer.add(self, self.settings.offset_flush_seconds)

    def open_producer(self) -> Any:
        return make_producer(self.settings, self.spec.connector_config)

    def delivered(self, record: SourceRecord) -> Delivered:
        span = self._acks.span(record.partition)
        span.sent += 1
        span.offset = record.offset
        return partial(self._tell_record, span, record) if self.tells_records else span

    def _tell_record(self, span: Span, record: SourceRecord, error: Any, message: Any) -> None:
        if error is None:
            self._acknowledged.append((record, RecordMetadata(message.topic(), message.partition(), message.offset())))
        span(error, message)

    def passed_over(self, record: SourceRecord) -> None:
        self._acks.span(record.partition).offset = record.offset
        if self.tells_records:
            self._acknowledged.append((record, None))

    def serve(self, seconds: float) -> None:
        with self._serving:
            self.producer.poll(seconds)

    def between(self) -> None:
        self._acks.seal()
        self.serve(0)
        self._tell_task()

    def _tell_task(self) -> None:
        while self._acknowledged:
            self.call(self.parts.task.commit_record, *self._acknowledged.popleft())
        if self._stored:
            self._stored = False
            self.call(self.parts.task.commit)

    # -- commits -----------------------------------------------------------------------------------------------------

    def commit_offsets(self) -> None:
        """From the committer's thread, and from the run's own at its end."""
        with self._committing:
            if self.abandoned or self.producer is None:
                return
            self.serve(0)
            self._uncommitted.update(self._acks.committable())
            self.count_active(self._acks.pending)
            if not self._uncommitted:
                return
            began = time.monotonic()
            try:
                self.store.write(self.id.connector, list(self._uncommitted.values()), lambda: not self.abandoned)
            except Exception:
                self.metric.count("offset-commit-failure-total")
                raise
            self._uncommitted.clear()
            self._stored = True
            self.metric.count("offset-commit-success-total")
            self.metric.sample("offset-commit-{}-time-ms", (time.monotonic() - began) * 1000)

    def finish(self) -> None:
        self._acks.seal()
        self._flush(None)
        self.still_wanted()
        self.commit_offsets()
        if self.failure is not None:
            raise self.failure
        self._tell_task()

    def interrupted(self) -> None:
        self.finish()

    def give_up(self) -> None:
        if not self.abandoned:
            self._acks.seal()
            self._flush(FAILED_FLUSH_SECONDS)
            self.commit_offsets()

    def _flush(self, seconds: float | None) -> None:
        """Until all is acknowledged. Without a limit it ends with `abandon`: whoever stops a task says how long."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while not self.abandoned and (deadline is None or time.monotonic() < deadline):
            with self._serving:
                if self.producer.flush(FLUSH_SLICE) == 0:
                    return

    def release(self) -> None:
        committer.remove(self)
        with self._committing:
            super().release()
