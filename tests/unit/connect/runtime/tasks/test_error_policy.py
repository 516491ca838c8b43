"""Retries with back-off, and what happens when they do not help."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from caudal.connect import ConnectError, DataError, RetriableError
from caudal.connect.runtime.tasks.error_policy import (
    SKIPPED,
    ErrorPolicy,
    ErrorSettings,
    Failure,
    RunStopped,
    Stage,
)
from caudal.connect.runtime.tasks.task_metrics import TaskMetrics


class Time(threading.Event):
    """`stopping` and the clock in one: waiting takes no time and moves the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.waits: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.waits.append(timeout)
        self.now += timeout
        return self.is_set()


def policy(time: Time, report: Callable[[Failure], None] | None = None, **settings: Any) -> ErrorPolicy:
    made = ErrorSettings(**settings)
    return ErrorPolicy(made, TaskMetrics(), time, "orders-0", report, clock=lambda: time.now)


def failing(times: int, error: Exception) -> Callable[[], str]:
    left = [times]

    def operation() -> str:
        if left[0] > 0:
            left[0] -= 1
            raise error
        return "done"

    return operation


LATER = RetriableError("later")
BAD = DataError("bad")


def failure(error: Exception) -> Failure:
    return Failure(Stage.VALUE_CONVERTER, "Json", error)


def test_delays_are_doubled_up_to_the_limit() -> None:
    time = Time()
    assert policy(time, retry_seconds=None).recover(failure(LATER), failing(5, LATER)) == "done"
    assert time.waits == [0.3, 0.6, 1.2, 2.4, 4.8, 9.6]
    limited = policy(Time(), delay_max_seconds=1.0)
    assert all(limited.delay(attempt) <= 1.0 for attempt in range(1, 100))


def test_by_default_nothing_is_tried_again() -> None:
    time = Time()
    with pytest.raises(ConnectError, match=r"Tolerance exceeded in error handler.*VALUE_CONVERTER.*later"):
        policy(time).recover(failure(LATER), failing(1, LATER))
    assert time.waits == []


def test_the_timeout_ends_the_tries() -> None:
    time = Time()
    with pytest.raises(ConnectError, match="later"):
        policy(time, retry_seconds=2.0).recover(failure(LATER), failing(100, LATER))
    assert sum(time.waits) == pytest.approx(2.0)


def test_an_error_of_the_data_is_not_tried_again() -> None:
    time = Time()
    with pytest.raises(ConnectError) as caught:
        policy(time, retry_seconds=None).recover(failure(BAD), failing(1, BAD))
    assert caught.value.__cause__ is BAD
    assert time.waits == []


def test_a_tolerated_record_is_reported_and_passed_over() -> None:
    time = Time()
    told: list[Failure] = []
    tolerant = policy(time, told.append, tolerate_all=True, retry_seconds=1.0)
    assert tolerant.recover(failure(LATER), failing(1, BAD)) is SKIPPED
    assert [one.error for one in told] == [BAD], "the last error counts"


def test_a_report_that_fails_is_not_tolerated() -> None:
    def broken(failure: Failure) -> None:
        raise ConnectError("no dead-letter topic")

    with pytest.raises(ConnectError, match="no dead-letter topic"):
        policy(Time(), broken, tolerate_all=True).recover(failure(BAD), failing(1, BAD))


def test_stopping_ends_the_tries_and_the_record_is_neither_done_nor_failed() -> None:
    time = Time()
    told: list[Failure] = []
    time.set()
    with pytest.raises(RunStopped):
        policy(time, told.append, tolerate_all=True, retry_seconds=None).recover(failure(LATER), failing(1, LATER))
    assert told == []


def test_counts_are_kafkas() -> None:
    time, metrics = Time(), TaskMetrics()
    made = ErrorPolicy(ErrorSettings(tolerate_all=True, retry_seconds=None), metrics, time, "t", clock=lambda: time.now)
    made.recover(failure(LATER), failing(2, LATER))
    made.recover(failure(BAD), failing(1, BAD))
    values = metrics.values()
    assert values["total-retries"] == 3
    assert values["total-record-failures"] == 4
    assert values["total-record-errors"] == values["total-records-skipped"] == 1
    assert values["last-error-timestamp"] > 0


def test_messages_are_logged_only_where_that_is_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    class Message:
        def topic(self) -> str:
            return "orders"

        def partition(self) -> int:
            return 3

        def offset(self) -> int:
            return 42

        def key(self) -> bytes:
            return b"key"

        def value(self) -> bytes:
            return b"confidential"

    for with_messages in (False, True):
        caplog.clear()
        with caplog.at_level(logging.ERROR, "caudal.connect"):
            made = policy(Time(), tolerate_all=True, log=True, log_messages=with_messages)
            made.fail(Failure(Stage.VALUE_CONVERTER, "Json", BAD, Message()))
        assert "topic='orders', partition=3, offset=42" in caplog.text
        assert ("confidential" in caplog.text) is with_messages


def test_settings_are_read_from_the_frameworks_keys() -> None:
    given = {
        "errors.tolerance": "ALL", "errors.retry.timeout": -1, "errors.retry.delay.max.ms": 500,
        "errors.log.enable": True, "errors.log.include.messages": "true",
    }  # fmt: skip
    settings = ErrorSettings.of(given)
    assert settings == ErrorSettings(True, None, 0.5, True, True, False)
    assert ErrorSettings.of({}) == ErrorSettings()
    assert ErrorSettings.of({"errors.retry.timeout": 2000}).puts_are_limited
