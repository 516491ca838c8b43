"""The schedule of a night, where it is taken up again, and what is folded from its topics."""

from __future__ import annotations

from caudal.demos.elections import topics
from caudal.demos.elections.feeding import COUNTING_SECONDS, VOTING_SECONDS, Position, _due, read_position, schedule
from caudal.demos.elections.running import differences
from caudal.demos.elections.simulation import Count, Country, Election, Turnout
from caudal.demos.elections.standings import Standings

COUNTRY = Country.of(seed=3, votes=20_000)
EVENTS = schedule(Election.of(COUNTRY, 1))


def test_people_vote_before_their_votes_are_counted_and_each_phase_has_its_length() -> None:
    first_count = next(index for index, one in enumerate(EVENTS) if isinstance(one.event, Count))
    assert all(isinstance(one.event, Turnout) for one in EVENTS[:first_count])
    assert all(isinstance(one.event, Count) for one in EVENTS[first_count:])
    for phase, seconds in ((EVENTS[:first_count], VOTING_SECONDS), (EVENTS[first_count:], COUNTING_SECONDS)):
        dues = [one.due for one in phase]
        assert dues == sorted(dues)
        assert 0 <= dues[0] <= dues[-1] <= seconds * 1.05


def test_what_is_due_goes_out_and_no_phase_runs_into_the_next() -> None:
    first_count = next(index for index, one in enumerate(EVENTS) if isinstance(one.event, Count))
    assert _due(EVENTS, 0, "voting", elapsed=-1) == 0
    assert _due(EVENTS, 0, "voting", elapsed=None) == first_count
    assert _due(EVENTS, first_count, "counting", elapsed=1e9) == len(EVENTS)


def test_a_night_is_taken_up_by_the_same_country_only() -> None:
    told = {"night": 4, "sent": 10, "total": 90, "day": 5, "seed": 3, "votes": 20_000, "clock": "20:10", "phase": "x"}
    position = read_position({"night": told})
    assert position == Position(4, 10, 90, 5, 3, 20_000)
    assert position.is_of(COUNTRY)
    assert not position.is_of(Country.of(4, 20_000))
    assert not position.is_over
    assert read_position({}).is_over


def test_a_new_night_clears_the_map_and_an_old_record_does_not_come_back() -> None:
    standings = Standings()
    standings.take(topics.RESULTS, "01", {"night": 1})
    standings.take(topics.RESULTS, "02", {"night": 2})
    standings.take(topics.RESULTS, "01", {"night": 1})
    assert list(standings.results) == ["02"]


def test_the_turnout_grows_by_the_hour_up_to_the_last_that_was_heard_of() -> None:
    standings = Standings()
    standings.take(topics.PLACES, "01", {"night": 1, "electors": 100})
    standings.take(topics.PLACES, "02", {"night": 1, "electors": 300})
    for community, hour, voters in (("01", 9, 10), ("02", 9, 10), ("01", 10, 20), ("02", 12, 1)):
        value = {"night": 1, "community": community, "hour": hour, "voters": voters}
        standings.take(topics.TURNOUT_BY_HOUR, f"1/{community}/{hour}", value)
    assert standings.turnout() == [(10, 0.05), (11, 0.1)]
    assert standings.turnout("01") == [(10, 0.1), (11, 0.3)]


def test_the_verdict_says_which_figure_is_wrong() -> None:
    assert len(differences(Standings(), Election.of(COUNTRY, 1))) == 19
