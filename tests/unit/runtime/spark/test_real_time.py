"""The pulse of real-time mode, on a lane that only keeps a diary."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

import pytest

from caudal.runtime.spark import real_time
from caudal.runtime.spark.link import LinkLost

INTERVAL = 60  # ms


class Diary:
    """Stands for a Lane."""

    commit_interval = INTERVAL

    def __init__(self) -> None:
        self.taken: list[Any] = []
        self.commits: list[tuple[float, int]] = []  # when, how many rows
        self.passed = self.told = self.finished = 0
        self.drain = False
        self.due: int | None = None
        self.error: BaseException | None = None
        self._open = 0
        self.changed = threading.Event()

    def begin(self) -> bool:
        return True

    @property
    def has_work(self) -> bool:
        return self._open > 0

    def take(self, batch: Any) -> None:
        self.taken.append(batch)
        self._open += 1

    def commit_work(self) -> None:
        if self.error is not None:
            raise self.error
        self.commits.append((time.monotonic(), self._open))
        self._open = 0
        self.due = None
        self.changed.set()

    def finish(self) -> None:
        self.finished += 1
        self.commit_work()

    def next_punctuation(self) -> int | None:
        return self.due

    def pass_markers(self) -> None:
        self.passed += 1

    def go_on(self) -> bool:
        return not self.drain

    def tell(self) -> None:
        self.told += 1


def pulse_of(diary: Diary) -> real_time.Pulse:
    return real_time.Pulse(diary)  # type: ignore[arg-type]


def wait(question: Any, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not question():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_commits_are_an_interval_apart_and_take_everything() -> None:
    diary = Diary()
    with pulse_of(diary) as pulse:
        begun = time.monotonic()
        while time.monotonic() - begun < 0.5:
            pulse.take("row")
            time.sleep(0.002)
    assert sum(rows for _, rows in diary.commits) == len(diary.taken), "the last rows are committed at the end"
    assert diary.finished == 1
    moments = [moment for moment, _ in diary.commits[:-1]]
    pauses = [later - earlier for earlier, later in itertools.pairwise(moments)]
    assert pauses and min(pauses) >= INTERVAL / 1000 * 0.9


def test_without_rows_nothing_is_committed_and_markers_are_passed() -> None:
    diary = Diary()
    with pulse_of(diary):
        wait(lambda: diary.passed > 0)
        assert diary.commits == []


def test_a_punctuator_that_is_due_needs_no_row() -> None:
    diary = Diary()
    diary.due = int(time.time() * 1000) + 50
    with pulse_of(diary):
        assert diary.changed.wait(60)
        assert diary.commits[0][1] == 0


def test_after_a_drain_rows_are_left_for_the_next_start() -> None:
    diary = Diary()
    with pulse_of(diary) as pulse:
        pulse.take("row")
        diary.drain = True
        wait(lambda: pulse._drained)
        pulse.take("late")
    assert diary.taken == ["row"]
    assert diary.finished == 0, "the drain has committed and closed everything"


def test_an_error_in_the_main_thread_commits_nothing_more() -> None:
    diary = Diary()
    with pytest.raises(ValueError, match="Spark"), pulse_of(diary):
        raise ValueError("Spark ended the task")
    assert diary.finished == 0


@pytest.mark.parametrize("error", [RuntimeError("a bug"), LinkLost("the driver is gone")])
def test_a_pulse_that_fails_ends_the_worker(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    monkeypatch.setattr("os._exit", lambda code: ended.set())
    diary = Diary()
    diary.error = error
    pulse = pulse_of(diary).__enter__()
    pulse.take("row")
    assert ended.wait(60)
