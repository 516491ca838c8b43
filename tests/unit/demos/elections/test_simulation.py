"""Elections from a seed: the same again and again, complete, and misleading in the right way."""

from __future__ import annotations

from caudal.demos.elections.country import COMMUNITIES, PARTIES, SEATS
from caudal.demos.elections.simulation import Country, Election, counts, turnout

COUNTRY = Country.of(seed=7, votes=200_000)
ELECTION = Election.of(COUNTRY, 1)


def test_there_are_seventeen_communities_and_two_cities_with_350_seats() -> None:
    assert [one.code for one in COMMUNITIES] == [f"{number:02d}" for number in range(1, 20)]
    assert SEATS == 350
    assert all(abs(sum(one.shares) - 1) < 1e-9 for one in COMMUNITIES)


def test_the_same_seed_gives_the_same_night_and_another_seed_another() -> None:
    again = Country.of(seed=7, votes=200_000)
    assert Election.of(again, 1) == ELECTION
    assert counts(Election.of(again, 1)) == counts(ELECTION)
    assert Election.of(again, 2).results != ELECTION.results
    assert Election.of(Country.of(8, 200_000), 1).totals() != ELECTION.totals()


def test_about_as_many_votes_are_cast_as_was_asked_for() -> None:
    cast = sum(map(sum, ELECTION.results.values()))
    assert abs(cast - 200_000) < 20_000


def test_the_last_version_of_each_station_is_what_was_voted_there() -> None:
    newest: dict[str, tuple[int, tuple[int, ...]]] = {}
    for report in counts(ELECTION):
        known = newest.get(report.station.id, (0, ()))
        newest[report.station.id] = max(known, (report.version, report.votes))
    assert {station: votes for station, (_, votes) in newest.items()} == ELECTION.results


def test_some_reports_are_repeated_some_corrected_and_some_stale() -> None:
    reports = counts(ELECTION)
    by_station: dict[str, list[int]] = {}
    for report in reports:
        by_station.setdefault(report.station.id, []).append(report.version)
    assert [1, 1] in by_station.values()
    assert [1, 2] in by_station.values()
    assert [1, 2, 1] in by_station.values()


def test_small_places_report_first_and_large_ones_later() -> None:
    first = {report.station.id: report.minute for report in reversed(counts(ELECTION))}
    minutes = {city: sorted(first[one.id] for one in COUNTRY.stations if one.in_city is city) for city in (True, False)}
    middle = {city: found[len(found) // 2] for city, found in minutes.items()}
    assert middle[False] + 30 < middle[True]


def test_the_early_count_misleads() -> None:
    """Otherwise there would be nothing to project."""
    early = counts(ELECTION)[: len(COUNTRY.stations) // 5]
    total = sum(sum(one.votes) for one in early)
    partial = [sum(one.votes[index] for one in early) / total for index in range(len(PARTIES))]
    everything = sum(map(sum, ELECTION.results.values()))
    final = [sum(votes[index] for votes in ELECTION.results.values()) / everything for index in range(len(PARTIES))]
    assert max(abs(a - b) for a, b in zip(partial, final, strict=True)) > 0.02


def test_all_hours_of_all_districts_are_all_voters() -> None:
    assert sum(one.voters for one in turnout(ELECTION)) == sum(map(sum, ELECTION.results.values()))
