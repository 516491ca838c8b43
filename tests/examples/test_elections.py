"""examples/elections.py: results beside those of last time, standings per community, and turnout that is said once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from caudal.runtime.operators.operator import LATE
from caudal.testing import TopologyTestDriver
from tests.examples.example_files import load


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    with TopologyTestDriver(load("elections")) as driver:
        yield driver


def outputs(driver: TopologyTestDriver, topic: str) -> list[tuple[Any, Any]]:
    return [(record.key, record.value) for record in driver.read_outputs(topic)]


def vote(driver: TopologyTestDriver, community: str, party: str, votes: int) -> None:
    driver.pipe_input("votes", "a-station", {"community": community, "party": party, "votes": votes})


def turn_out(driver: TopologyTestDriver, community: str, voters: int, at: str) -> None:
    report = {"community": community, "voters": voters, "at": f"2023-05-28T{at}:00+02:00"}
    driver.pipe_input("turnout", "a-station", report)


def test_votes_add_up_per_community_and_party_and_are_compared_with_last_time(driver: TopologyTestDriver) -> None:
    driver.pipe_input("previous-results", "Aragón/Tejo", {"votes": 900})
    vote(driver, "Aragón", "Tejo", 700)
    vote(driver, "Aragón", "Tejo", 300)
    vote(driver, "Galicia", "Tejo", 5)
    assert outputs(driver, "results") == [
        ("Aragón/Tejo", {"votes": 700, "before": 900, "change": -200}),
        ("Aragón/Tejo", {"votes": 1000, "before": 900, "change": 100}),
        ("Galicia/Tejo", {"votes": 5, "before": None, "change": None}),
    ]


def test_a_corrected_result_of_last_time_corrects_the_comparison(driver: TopologyTestDriver) -> None:
    vote(driver, "Aragón", "Tejo", 700)
    driver.pipe_input("previous-results", "Aragón/Tejo", {"votes": 600})
    driver.pipe_input("previous-results", "Aragón/Tejo", None)
    assert [value["change"] for _, value in outputs(driver, "results")] == [None, 100, None]


def test_the_standings_of_a_community_rank_its_parties(driver: TopologyTestDriver) -> None:
    vote(driver, "Aragón", "Tejo", 700)
    vote(driver, "Aragón", "Encina", 650)
    vote(driver, "Aragón", "Encina", 100)
    community, parties = outputs(driver, "standings")[-1]
    assert (community, list(parties.items())) == ("Aragón", [("Encina", 750), ("Tejo", 700)])


def test_the_turnout_of_an_hour_is_written_once_when_it_is_final(driver: TopologyTestDriver) -> None:
    turn_out(driver, "Aragón", 120, "09:30")
    turn_out(driver, "Galicia", 10, "09:40")
    turn_out(driver, "Aragón", 60, "10:10")
    turn_out(driver, "Aragón", 80, "09:50")  # late, but within the 15 minutes
    assert outputs(driver, "turnout-by-hour") == []
    turn_out(driver, "Aragón", 1, "10:15")
    turn_out(driver, "Aragón", 1000, "09:59")  # too late: the hour was written
    hour = "2023-05-28T07:00:00+00:00"
    assert outputs(driver, "turnout-by-hour") == [
        ("Aragón", {"from": hour, "voters": 200}),
        ("Galicia", {"from": hour, "voters": 10}),
    ]
    assert driver.dropped == {LATE: 1}
