"""The queue of punctuators."""

from __future__ import annotations

import pytest

from caudal.runtime.punctuation import PunctuationQueue, Schedule


def test_schedules_run_in_the_order_in_which_they_are_due() -> None:
    ran: list[tuple[str, int]] = []
    queue = PunctuationQueue()
    for name, due in (("late", 20), ("early", 10), ("early too", 10)):
        queue.add(Schedule(name, due, 100, lambda now: None))
    assert queue.next_due == 10
    assert not queue.run(9, lambda schedule, now: ran.append((schedule.owner, now)))
    assert queue.run(25, lambda schedule, now: ran.append((schedule.owner, now)))
    assert ran == [("early", 25), ("early too", 25), ("late", 25)]
    assert queue.next_due == 110


@pytest.mark.parametrize(("now", "next_due"), [(10, 20), (19, 20), (20, 30), (57, 60)])
def test_missed_turns_run_once_and_the_grid_stays(now: int, next_due: int) -> None:
    ran = []
    queue = PunctuationQueue()
    queue.add(Schedule("x", 10, 10, lambda at: None))
    queue.run(now, lambda schedule, at: ran.append(at))
    assert ran == [now]
    assert queue.next_due == next_due


def test_a_schedule_that_raises_keeps_its_next_turn() -> None:
    queue = PunctuationQueue()
    queue.add(Schedule("x", 10, 10, lambda at: None))
    with pytest.raises(ZeroDivisionError):
        queue.run(10, lambda schedule, at: 1 / 0)  # type: ignore[arg-type]
    assert queue.next_due == 20


def test_a_cancelled_schedule_is_forgotten() -> None:
    queue = PunctuationQueue()
    schedule = Schedule("x", 10, 10, lambda at: None)
    queue.add(schedule)
    schedule.cancel()
    assert not queue.run(10, lambda found, at: None)
    assert queue.next_due == queue.NEVER
