"""The application of the elections in process: sums, corrections, copies, nights, turnout; and the same in KSQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from caudal.demos.elections import topics
from caudal.demos.elections.application import elections
from caudal.demos.elections.simulation import Country, Election, by_party, counts, turnout
from caudal.testing import TopologyTestDriver

DAY = 1_700_006_400_000  # a midnight
COUNTRY = Country.of(seed=3, votes=30_000)


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    with TopologyTestDriver(elections()) as driver:
        yield driver


def hold(driver: TopologyTestDriver, night: int) -> Election:
    """A whole night: what stood before, turnout, and all reports in the order of their arrival."""
    election, before = Election.of(COUNTRY, night), Election.of(COUNTRY, night - 1)
    for code, place in topics.places(election, before):
        driver.pipe_input(topics.PLACES, code, place, timestamp=DAY)
    for station, votes in before.results.items():
        driver.pipe_input(topics.PREVIOUS, station, {"votes": by_party(votes)}, timestamp=DAY)
    for came in turnout(election):
        driver.pipe_input(topics.TURNOUT, f"{night}/{came.community}", topics.turnout_value(night, DAY, came))
    for count in counts(election):
        driver.pipe_input(topics.COUNTS, count.station.id, topics.count_value(night, DAY, count))
    return election


def last(driver: TopologyTestDriver, topic: str) -> dict[str, Any]:
    return {record.key: record.value for record in driver.read_outputs(topic)}


def test_a_night_ends_with_exactly_what_was_voted(driver: TopologyTestDriver) -> None:
    election = hold(driver, 1)
    results = last(driver, topics.RESULTS)
    assert {code: row["votes"] for code, row in results.items()} == {
        code: by_party(votes) for code, votes in election.totals().items()
    }
    assert all(row["counted"] == 1 and row["stations"] == row["stations_total"] for row in results.values())
    assert {code: row["before"] for code, row in results.items()} == {
        code: row["previous"] for code, row in results.items()
    }


def test_a_second_night_begins_anew_and_compares_with_the_first(driver: TopologyTestDriver) -> None:
    first = hold(driver, 1)
    driver.read_outputs(topics.RESULTS)
    second = hold(driver, 2)
    results = last(driver, topics.RESULTS)
    truth, before = second.totals(), first.totals()
    assert {code: row["votes"] for code, row in results.items()} == {c: by_party(v) for c, v in truth.items()}
    assert {code: row["before"] for code, row in results.items()} == {c: by_party(v) for c, v in before.items()}


def test_a_correction_replaces_the_first_count_also_when_that_comes_again(driver: TopologyTestDriver) -> None:
    election = Election.of(COUNTRY, 1)
    for code, place in topics.places(election, Election.of(COUNTRY, 0)):
        driver.pipe_input(topics.PLACES, code, place)
    report = topics.count_value(1, DAY, counts(election)[0])
    wrong = {**report, "votes": dict.fromkeys(report["votes"], 1)}
    right = {**report, "version": 2, "votes": dict.fromkeys(report["votes"], 5)}
    for value in (wrong, wrong, right, wrong, right):
        driver.pipe_input(topics.COUNTS, report["station"], value)
    rows = [record.value for record in driver.read_outputs(topics.RESULTS)]
    assert [row["votes"]["encina"] for row in rows] == [1, 1, 5, 5, 5]
    assert {row["stations"] for row in rows} == {1}


def test_turnout_is_summed_by_hour_and_all_hours_are_all_voters(driver: TopologyTestDriver) -> None:
    election = hold(driver, 1)
    hours = last(driver, topics.TURNOUT_BY_HOUR).values()
    assert sorted({row["hour"] for row in hours}) == list(range(9, 20))
    assert sum(row["voters"] for row in hours) == sum(sum(votes) for votes in election.results.values())


def test_each_community_gives_partial_counts_to_learn_from_and_its_final_one(driver: TopologyTestDriver) -> None:
    hold(driver, 1)
    samples = [(record.key, record.value) for record in driver.read_outputs(topics.SAMPLES)]
    finals = {code for code, row in samples if row["stations"] == row["stations_total"]}
    assert len(finals) == 19
    assert len(samples) > 3 * 19


def test_the_projection_comes_with_the_model(driver: TopologyTestDriver) -> None:
    election = Election.of(COUNTRY, 1)
    for code, place in topics.places(election, Election.of(COUNTRY, 0)):
        driver.pipe_input(topics.PLACES, code, place)
    one, other, *_ = counts(election)
    driver.pipe_input(topics.COUNTS, one.station.id, topics.count_value(1, DAY, one))
    driver.pipe_input(topics.MODEL, "projection", {"version": 4, "weights": [1.0, 0.0, 0.0], "spread": [0.1, 0.0]})
    driver.pipe_input(topics.COUNTS, other.station.id, topics.count_value(1, DAY, other))
    before, after = [record.value for record in driver.read_outputs(topics.RESULTS)]
    assert before["projection"] is None
    assert after["model"] == 4
    assert all(low <= share <= high for share, low, high in after["projection"].values())
