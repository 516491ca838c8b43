"""Deadlines: how they are written, and how a task judges its commits."""

from __future__ import annotations

import time

import pytest

from caudal.runtime.errors import StreamsError
from caudal.runtime.spark.deadline import Deadline, Punctuality, Strictness
from caudal.runtime.spark.metrics import ApplicationMetrics


def test_a_deadline_is_a_class_and_a_duration() -> None:
    assert Deadline.parse("soft 200 ms") == Deadline(Strictness.SOFT, 200)
    assert Deadline.parse("near 2 seconds") == Deadline(Strictness.NEAR, 2000)
    assert Deadline.parse("HARD 50ms", "late") == Deadline(Strictness.HARD, 50, "late")
    assert str(Deadline.parse("hard 50 ms")) == "hard deadline of 50 ms"


@pytest.mark.parametrize("text", ["", "soft", "200 ms", "mild 200 ms", "soft 200 parsecs", "soft -1 s"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(StreamsError, match="deadline takes a class and a duration, such as 'near 2 seconds'"):
        Deadline.parse(text)


def test_no_time_at_all_and_a_late_topic_of_a_soft_one_are_refused() -> None:
    with pytest.raises(StreamsError, match="at least 1 ms"):
        Deadline.parse("soft 0 ms")
    with pytest.raises(StreamsError, match="late_topic is for hard deadlines"):
        Deadline.parse("soft 1 s", "late")


def test_a_commit_is_judged_by_the_age_of_its_records() -> None:
    task = Punctuality(Deadline(Strictness.SOFT, 1000))
    now = int(time.time() * 1000)
    task.timestamps = [now - 10, now - 5000, now - 3000]
    task.diverted = 1
    assert 4000 <= task.committed() < 5000, "the worst of them is told"
    assert (task.met, task.missed) == (1, 3)
    assert task.committed() == 0, "nothing is judged twice"
    task.timestamps = [now - 5000]
    task.forget()
    assert task.committed() == 0 and task.missed == 3, "what was rolled back does not count"


def test_the_metric_has_the_class() -> None:
    metrics = ApplicationMetrics("app", Deadline(Strictness.HARD, 50))
    metrics.place({"0_0": (0, ("in-0",))})
    figures = {"records": 5, "commits": 1, "in_time": 4, "late": 1}
    metrics.report({0: 1}, {"0_0": figures})
    assert metrics.snapshot()["deadline"] == {"class": "hard", "limit_ms": 50, "in_time": 4, "late": 1}
    text = metrics.prometheus("RUNNING")
    assert 'caudal_streams_deadline_records_total{application="app",class="hard",result="late"} 1' in text
    assert 'caudal_streams_deadline_seconds{application="app",class="hard"} 0.05' in text
    assert ApplicationMetrics("other").snapshot()["deadline"] is None
