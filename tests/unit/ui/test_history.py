"""The series of the history: bounded, averaged with age, and honest about gaps."""

from __future__ import annotations

import itertools
import math

from caudal.ui.history import KEPT_SECONDS, RECENT_SECONDS, SERIES_PER_NAME, History


def test_points_come_back_in_order_and_from_a_moment_on() -> None:
    history = History()
    for at in range(5):
        history.add("rate", at * at, at=at)
    assert history.series("rate") == [(0, 0), (1, 1), (2, 4), (3, 9), (4, 16)]
    assert history.series("rate", since=3) == [(3, 9), (4, 16)]
    assert history.latest("rate") == 16
    assert history.series("other") == [] and history.latest("other") is None


def test_labels_keep_series_apart_whatever_their_order() -> None:
    history = History()
    history.add("lag", 1, {"group": "a", "topic": "t"}, at=1)
    history.add("lag", 2, {"group": "b", "topic": "t"}, at=1)
    assert history.latest("lag", {"topic": "t", "group": "a"}) == 1
    assert history.labels("lag") == [{"group": "a", "topic": "t"}, {"group": "b", "topic": "t"}]
    history.forget("lag", {"group": "a", "topic": "t"})
    assert history.latest("lag", {"group": "a", "topic": "t"}) is None


def test_a_value_that_stays_is_two_points_however_long() -> None:
    history = History()
    for at in range(0, 1000, 5):
        history.add("rate", 7.0, at=at)
    assert history.series("rate") == [(0, 7.0), (995, 7.0)]


def test_a_pause_is_a_gap_and_not_a_line() -> None:
    history = History()
    for at in (0, 5, 1000):
        history.add("rate", at + 1.0, at=at)
    values = [point.value for point in history.series("rate")]
    assert values[:2] == [1.0, 6.0] and math.isnan(values[2]) and values[3] == 1001.0
    assert history.latest("rate") == 1001.0


def test_an_hour_is_kept_as_sampled_and_a_day_by_the_minute() -> None:
    history = History()
    step, until = 5, int(1.5 * KEPT_SECONDS)
    for at in range(0, until, step):
        history.add("rate", at % 60, at=at)  # each minute averages to 27.5
    points = history.series("rate")
    assert until - points[0].at <= KEPT_SECONDS + RECENT_SECONDS
    recent = [point for point in points if until - point.at <= RECENT_SECONDS]
    assert len(recent) == RECENT_SECONDS / step
    old = [point for point in points if until - point.at > 1.5 * RECENT_SECONDS]
    assert {point.value for point in old} == {27.5}
    assert {later.at - earlier.at for earlier, later in itertools.pairwise(old)} == {60}
    assert [point.at for point in points] == sorted(point.at for point in points)


def test_the_series_that_was_quiet_the_longest_makes_room() -> None:
    history = History()
    for number in range(SERIES_PER_NAME):
        history.add("rate", 1.0, {"topic": str(number)}, at=number)
    history.add("rate", 1.0, {"topic": "0"}, at=1000)
    history.add("rate", 1.0, {"topic": "new"}, at=1001)
    known = {labels["topic"] for labels in history.labels("rate")}
    assert len(known) == SERIES_PER_NAME
    assert {"0", "new"} <= known and "1" not in known
