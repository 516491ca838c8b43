"""How fast rows come, by a clock of the test's own."""

from __future__ import annotations

import pytest

from caudal.ui.pages.ksql.source import figures_of
from caudal.ui.pages.ksql.streaming import Pace


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_rate_is_that_of_the_last_seconds() -> None:
    clock = Clock()
    pace = Pace(2.0, clock)
    for _ in range(4):
        clock.now += 0.5
        pace.add(10)
    assert pace.rate == pytest.approx(20.0)
    clock.now += 1.0
    assert pace.rate == pytest.approx(15.0)
    clock.now += 10.0
    assert pace.rate == 0.0


def test_a_stream_that_has_just_begun_is_not_slower_than_it_is() -> None:
    clock = Clock()
    pace = Pace(2.0, clock)
    clock.now += 0.5
    pace.add(10)
    assert pace.rate == pytest.approx(20.0)


def test_figures_that_are_not_known_yet_are_left_out() -> None:
    assert figures_of("records: 5  lag: None") == {"records": 5.0}
    assert figures_of("") == {}
