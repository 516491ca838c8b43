"""What happens to a record that fails: tried again, reported and passed over, or the end of the task.

`errors.retry.timeout` and `errors.retry.delay.max.ms` say how long an operation that raised RetriableError is tried
again; what fails then, or raised anything else, is one failed record, and `errors.tolerance` decides about it. The
stages, the delays and the names of the properties are Kafka Connect's.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from caudal.connect.errors import ConnectError, RetriableError
from caudal.connect.runtime.tasks.task_metrics import ERRORS, TaskMetrics

log = logging.getLogger("caudal.connect")

FIRST_DELAY = 0.3  # doubled with each attempt


class Stage(StrEnum):
    TASK_POLL = "TASK_POLL"
    TASK_PUT = "TASK_PUT"
    TRANSFORMATION = "TRANSFORMATION"
    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"
    KAFKA_CONSUME = "KAFKA_CONSUME"


class Failure(NamedTuple):
    """One record that failed. `message` is what was read from the topic (sinks), `record` what the task had."""

    stage: Stage
    executing: str  # the class that was at work
    error: BaseException
    message: Any = None
    record: Any = None


class RunStopped(Exception):
    """The task is to stop while a record was being retried: it is neither done nor failed, and will be read again."""


class _Skipped:
    def __repr__(self) -> str:
        return "SKIPPED"


SKIPPED: Any = _Skipped()


@dataclass(frozen=True, slots=True)
class ErrorSettings:
    tolerate_all: bool = False
    retry_seconds: float | None = 0.0  # None: for ever
    delay_max_seconds: float = 60.0
    log: bool = False
    log_messages: bool = False
    puts_are_limited: bool = False  # errors.retry.timeout was given: it holds for `put` too

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> ErrorSettings:
        """`config` has the framework's keys, typed."""
        timeout = int(config.get("errors.retry.timeout", 0))
        return cls(
            tolerate_all=str(config.get("errors.tolerance", "none")).lower() == "all",
            retry_seconds=None if timeout < 0 else timeout / 1000,
            delay_max_seconds=int(config.get("errors.retry.delay.max.ms", 60_000)) / 1000,
            log=_flag(config.get("errors.log.enable", False)),
            log_messages=_flag(config.get("errors.log.include.messages", False)),
            puts_are_limited=timeout > 0,
        )


def _flag(value: Any) -> bool:
    return value if isinstance(value, bool) else str(value).lower() == "true"


class ErrorPolicy:
    """`report` (the dead-letter topic) is told of each failed record before it is passed over."""

    def __init__(
        self,
        settings: ErrorSettings,
        metrics: TaskMetrics,
        stopping: threading.Event,
        task: str,
        report: Callable[[Failure], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.report = report
        self._metrics = metrics
        self._stopping = stopping
        self._task = task
        self._clock = clock
        metrics.begin(ERRORS)

    def delay(self, attempt: int) -> float:
        """Seconds before try number `attempt` (1 is the first that is repeated)."""
        wait = FIRST_DELAY * 2.0 ** min(attempt - 1, 40)
        # At the limit by chance, so that many tasks do not come at once.
        return wait if wait <= self.settings.delay_max_seconds else random.uniform(0, self.settings.delay_max_seconds)

    def recover(self, failure: Failure, operation: Callable[[], Any]) -> Any:
        """`operation` has failed as `failure` says. Its result, when it succeeds in time; SKIPPED, when the record is
        to be passed over. Raises what ends the task, or RunStopped."""
        attempt, error = 0, failure.error
        deadline = None if self.settings.retry_seconds is None else self._clock() + self.settings.retry_seconds
        while isinstance(error, RetriableError):
            attempt += 1
            wait = self.delay(attempt)
            if deadline is not None:
                left = deadline - self._clock()
                if left <= 0:
                    break
                wait = min(wait, left)
            self._metrics.count("total-record-failures")
            if self._stopping.wait(wait):
                raise RunStopped
            self._metrics.count("total-retries")
            try:
                return operation()
            except Exception as again:
                error = again
        self.fail(failure._replace(error=error))
        return SKIPPED

    def fail(self, failure: Failure) -> None:
        """One record has failed for good. Raises when that is not tolerated."""
        metrics, error = self._metrics, failure.error
        metrics.count("total-record-failures")
        metrics.count("total-record-errors")
        metrics.gauge("last-error-timestamp", int(time.time() * 1000))
        if self.settings.log:
            metrics.count("total-errors-logged")
            log.error("%s", self._words(failure), exc_info=error)
        if not self.settings.tolerate_all:
            if isinstance(error, ConnectError) and failure.stage is Stage.TASK_PUT:
                raise error
            raise ConnectError(
                f"Tolerance exceeded in error handler: {failure.stage} failed in {failure.executing}: {error}"
            ) from error
        if self.report is not None:
            self.report(failure)
        metrics.count("total-records-skipped")

    def _words(self, failure: Failure) -> str:
        words = f"Error encountered in task {self._task}. Executing stage '{failure.stage}' with {failure.executing}"
        message, record = failure.message, failure.record
        if message is not None:
            words += f", where consumed record is topic='{message.topic()}', partition={message.partition()}, "
            words += f"offset={message.offset()}"
            if self.settings.log_messages:
                words += f", key={message.key()!r}, value={message.value()!r}"
        elif record is not None and self.settings.log_messages:
            words += f", where source record is {record!r}"
        return words + "."
