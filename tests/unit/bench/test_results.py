"""Medians, ratios within a round, spreads and verdicts."""

from __future__ import annotations

import pytest

from caudal.bench.case import Case, Figure, ratio_at_least, ratio_at_most, value_at_most
from caudal.bench.results import CAUDAL, KAFKA, Results, Row

PRODUCE = Figure("produce", "msg/s", True, (ratio_at_least(1.0),))
START = Figure("start", "s", False, (ratio_at_most(0.15), value_at_most(0.5, "s")))


def results_of(figure: Figure, rounds: list[tuple[float | None, float | None]]) -> Row:
    case = Case("case", lambda _session: {}, {"figure": figure}, own_server=False, max_rounds=None)
    results = Results([case])
    for number, values in enumerate(rounds):
        for server, value in zip((CAUDAL, KAFKA), values, strict=True):
            if value is not None:
                results.add("case", number, server, {"figure": value})
    return results.rows()[0]


def test_the_ratio_is_the_median_of_the_rounds_own_ratios_and_not_the_ratio_of_the_medians() -> None:
    row = results_of(PRODUCE, [(10, 5), (100, 200), (30, 20)])
    assert row.ratio == 1.5
    assert row.spread == (0.5, 2.0)
    assert row.caudal_median == 30
    assert row.kafka_median == 20
    assert row.verdict == "met"


def test_every_target_of_a_figure_must_be_met() -> None:
    assert results_of(START, [(0.4, 4.0)]).verdict == "met"
    assert results_of(START, [(0.6, 6.0)]).verdict == "not met"  # a good ratio, but too long
    assert results_of(START, [(0.4, 2.0)]).verdict == "not met"  # short, but not by that much


def test_a_missed_target_that_some_round_reached_says_so() -> None:
    assert results_of(PRODUCE, [(90, 100), (99, 100), (110, 100)]).is_within_spread
    assert not results_of(PRODUCE, [(90, 100), (80, 100)]).is_within_spread
    assert not results_of(PRODUCE, [(110, 100)]).is_within_spread


def test_alone_only_the_targets_on_caudals_own_value_are_judged() -> None:
    assert results_of(PRODUCE, [(100, None)]).verdict == ""
    assert results_of(START, [(0.6, None)]).verdict == "not met"
    assert results_of(START, [(0.4, None)]).verdict == ""


def test_a_round_that_only_one_server_finished_gives_no_ratio() -> None:
    row = results_of(PRODUCE, [(100, 50), (100, None), (None, 50)])
    assert row.ratios == [2.0]


def test_a_failed_case_is_neither_met_nor_silent() -> None:
    case = Case("case", lambda _session: {}, {"figure": PRODUCE}, own_server=False, max_rounds=None)
    results = Results([case])
    results.fail("case", CAUDAL, "it fell over")
    row = results.rows()[0]
    assert (row.verdict, row.failure) == ("failed", "it fell over")
    assert results.as_json()["failures"] == [{"case": "case", "server": CAUDAL, "reason": "it fell over"}]


@pytest.mark.parametrize(
    ("target", "text"),
    [(ratio_at_least(1.0), "≥ 1×"), (ratio_at_most(0.15), "≤ 0.15×"), (value_at_most(60, "MB"), "≤ 60 MB")],
)
def test_targets_read_like_in_the_issue(target: object, text: str) -> None:
    assert str(target) == text
