"""Totals, rates of the last half minute, averages and ratios."""

from __future__ import annotations

from pathlib import Path

import pytest

from caudal.connect.runtime.tasks.task_metrics import ERRORS, SINK, SOURCE, TaskMetrics


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_totals_stay_and_rates_fade() -> None:
    clock = Clock()
    metrics = TaskMetrics(clock)
    for _ in range(10):
        metrics.count_with_rate("source-record-poll", 100)
        clock.now += 1
    values = metrics.values()
    assert values["source-record-poll-total"] == 1000
    assert values["source-record-poll-rate"] == pytest.approx(100)
    clock.now += 60
    values = metrics.values()
    assert values["source-record-poll-total"] == 1000
    assert values["source-record-poll-rate"] == 0


def test_averages_and_maxima() -> None:
    clock = Clock()
    metrics = TaskMetrics(clock)
    for value in (10, 20, 60):
        metrics.sample("put-batch-{}-time-ms", value)
        clock.now += 1
    values = metrics.values()
    assert values["put-batch-avg-time-ms"] == 30
    assert values["put-batch-max-time-ms"] == 60


def test_the_size_of_transactions_has_a_minimum() -> None:
    metrics = TaskMetrics()
    for size in (7, 3, 5):
        metrics.sample("transaction-size-{}", size)
    values = metrics.values()
    assert [values[f"transaction-size-{how}"] for how in ("min", "avg", "max")] == [3, 5, 7]


def test_commits_in_a_hundred() -> None:
    metrics = TaskMetrics()
    metrics.begin(SOURCE)
    assert metrics.values()["source-record-poll-total"] == 0, "there from the beginning"
    assert "offset-commit-success-percentage" not in metrics.values(), "there was none"
    for name in ("success", "success", "success", "failure"):
        metrics.count(f"offset-commit-{name}-total")
    values = metrics.values()
    assert (values["offset-commit-success-percentage"], values["offset-commit-failure-percentage"]) == (75, 25)


def test_what_tasks_count_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[5] / "docs" / "connect.md").read_text()
    names = [name for kind in (SOURCE, SINK, ERRORS) for names in kind.values() for name in names]
    assert len(names) > 20
    assert [name for name in names if f"`{name}`" not in page] == []


def test_ratios() -> None:
    clock = Clock()
    metrics = TaskMetrics(clock)
    metrics.now_is("running")
    clock.now += 30
    metrics.now_is("paused")
    clock.now += 10
    values = metrics.values()
    assert values["running-ratio"] == pytest.approx(0.75)
    assert values["pause-ratio"] == pytest.approx(0.25)
