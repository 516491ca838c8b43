"""The application's group as seen by Apache Kafka's `kafka-consumer-groups`: active, with its member and its lag."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance import jvm

from .conftest import Kafka
from .test_exactly_once import assert_each_count_once, lines, word_count, words

pytestmark = pytest.mark.java

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.mark.timeout(480)
def test_the_group_is_active_while_the_application_runs_or_pauses(
    kafka: Kafka, start: Callable[..., Any], unique: Callable[[str], str]
) -> None:
    source, target, application_id = unique("lines"), unique("counts"), unique("wc")
    kafka.create(source, target)
    kafka.send(source, *lines(0, 50))
    app = start(word_count(application_id, source, target))
    kafka.until(lambda: kafka.table(target), words(lines(0, 50)))

    def tool(*arguments: str) -> str:
        command = jvm.command(GROUPS, "--bootstrap-server", kafka.bootstrap, "--group", application_id, *arguments)
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        return result.stdout + result.stderr

    def lags() -> dict[int, tuple[int, str]]:
        """Lag and client of every partition of the source."""
        rows = [line.split() for line in tool("--describe").splitlines()]
        return {int(row[2]): (int(row[5]), row[-1]) for row in rows if len(row) == 9 and row[1] == source}

    def state() -> tuple[str, str]:
        """State and number of members."""
        row = next(line.split() for line in tool("--describe", "--state").splitlines() if application_id in line)
        return row[-2], row[-1]

    keeper = f"{application_id}-keeper"
    assert lags() == {0: (0, keeper), 1: (0, keeper)}
    assert state() == ("Stable", "1")
    reset = ("--reset-offsets", "--to-earliest", "--execute", "--all-topics")
    assert "can only be reset if the group" in tool(*reset)

    app.pause()
    kafka.send(source, *lines(50, 80))
    paused = lags()
    assert sum(lag for lag, _ in paused.values()) == 30
    assert {client for _, client in paused.values()} == {keeper}
    assert state() == ("Stable", "1")
    assert "can only be reset if the group" in tool(*reset)

    app.resume()
    kafka.until(lambda: kafka.table(target), words(lines(0, 80)))
    assert_each_count_once(kafka, target, words(lines(0, 80)))
    assert lags() == {0: (0, keeper), 1: (0, keeper)}

    app.stop()
    assert state() == ("Empty", "0")
    assert "can only be reset if the group" not in tool(*reset)
    assert sum(lag for lag, _ in lags().values()) == 80, "the reset of a stopped application works"
