"""Elections from a seed: what every polling station counts, and in which order the reports of a night arrive.

The same seed gives the same country, night after night. Small places count early and large ones late, and the two vote
differently, so a partial count misleads; some reports are sent twice, some are wrong and corrected later, and of some
the wrong first version comes once more after the correction. Pure: no clock and no Kafka.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from caudal.demos.elections.country import CENSUS, COMMUNITIES, PARTIES, Community

ELECTORS_PER_STATION = 600
TURNOUT = 0.70
OPENING, CLOSING = 9, 20  # hours at which the polls open and close
DISTRICT_STATIONS = 25
# How the voters of a day spread over its hours, from 9 to 20.
BY_HOUR = (0.06, 0.08, 0.11, 0.14, 0.12, 0.07, 0.05, 0.07, 0.10, 0.11, 0.09)
REPEATED, CORRECTED, STALE = 0.03, 0.02, 0.5

Votes = tuple[int, ...]  # in the order of the parties


class Station(NamedTuple):
    id: str
    community: str
    electors: int
    in_city: bool
    leaning: tuple[float, ...]
    diligence: float  # of its turnout, around 0


@dataclass(frozen=True)
class Country:
    """The polling stations: a country in small, in which about `votes` votes are cast."""

    seed: int
    votes: int
    stations: tuple[Station, ...]

    @classmethod
    def of(cls, seed: int, votes: int) -> Country:
        chance = random.Random(f"{seed}/country")
        scale = votes / TURNOUT / CENSUS
        found = [station for one in COMMUNITIES for station in _stations(one, one.census * scale, chance)]
        return cls(seed, votes, tuple(found))

    def in_community(self, code: str) -> list[Station]:
        return [station for station in self.stations if station.community == code]


def _stations(community: Community, electors: float, chance: random.Random) -> Iterator[Station]:
    count = max(2, round(electors / ELECTORS_PER_STATION))
    in_city = [chance.random() < community.cities for _ in range(count)]
    sizes = [chance.uniform(0.9, 1.35) if city else chance.uniform(0.5, 1.1) for city in in_city]
    for number, (size, city) in enumerate(zip(sizes, in_city, strict=True), start=1):
        yield Station(
            f"{community.code}-{number:04d}",
            community.code,
            max(20, round(electors * size / sum(sizes))),
            city,
            tuple(chance.gauss(0, 0.22) for _ in PARTIES),
            chance.gauss(0, 0.04),
        )


@dataclass(frozen=True)
class Election:
    """What was really voted on one night: the truth that the application has to find."""

    country: Country
    night: int
    results: dict[str, Votes]  # by station

    @classmethod
    def of(cls, country: Country, night: int) -> Election:
        mood = random.Random(f"{country.seed}/mood/{night}")
        swing = [mood.gauss(0, 0.16) for _ in PARTIES]
        turnout = TURNOUT + mood.gauss(0, 0.025)
        local = {one.code: [mood.gauss(0, 0.10) for _ in PARTIES] for one in COMMUNITIES}
        in_cities = [mood.gauss(0, 0.06) for _ in PARTIES]
        shares = {one.code: one.shares for one in COMMUNITIES}
        chance = random.Random(f"{country.seed}/stations/{night}")
        results = {}
        for station in country.stations:
            weights = []
            for index, party in enumerate(PARTIES):
                place = party.city + in_cities[index] if station.in_city else party.country
                logit = place + swing[index] + local[station.community][index] + station.leaning[index]
                weights.append(shares[station.community][index] * math.exp(logit + chance.gauss(0, 0.08)))
            came = min(0.95, max(0.3, turnout + station.diligence + chance.gauss(0, 0.02)))
            results[station.id] = _parts(round(station.electors * came), weights)
        return cls(country, night, results)

    def totals(self) -> dict[str, Votes]:
        """Votes by community."""
        sums = {one.code: [0] * len(PARTIES) for one in COMMUNITIES}
        for station in self.country.stations:
            into = sums[station.community]
            for index, votes in enumerate(self.results[station.id]):
                into[index] += votes
        return {code: tuple(votes) for code, votes in sums.items()}


def _parts(total: int, weights: list[float]) -> Votes:
    """Whole numbers that add up to `total`: what the fractions leave goes to the largest of them."""
    whole = sum(weights)
    exact = [total * weight / whole for weight in weights]
    votes = [int(part) for part in exact]
    by_rest = sorted(range(len(exact)), key=lambda index: votes[index] - exact[index])
    for index in by_rest[: total - sum(votes)]:
        votes[index] += 1
    return tuple(votes)


class Count(NamedTuple):
    """A report of a polling station. `minute` is of the simulated day; a higher version replaces a lower one."""

    minute: float
    station: Station
    version: int
    votes: Votes


class Turnout(NamedTuple):
    """How many came to vote in a district in the hour before `minute`."""

    minute: float
    community: str
    district: int
    hour: int
    voters: int


def counts(election: Election) -> list[Count]:
    """The reports of the night in the order of their arrival; every station's last version is the truth."""
    chance = random.Random(f"{election.country.seed}/night/{election.night}")
    reports: list[Count] = []
    for station in election.country.stations:
        true = election.results[station.id]
        mean = 95 if station.in_city else 40
        at = CLOSING * 60 + 8 + chance.gammavariate(4, mean / 4)
        if chance.random() < CORRECTED:
            later = at + chance.uniform(5, 40)
            wrong = _wrong(true, chance)
            reports += [Count(at, station, 1, wrong), Count(later, station, 2, true)]
            if chance.random() < STALE:
                reports.append(Count(later + chance.uniform(1, 20), station, 1, wrong))
            continue
        reports.append(Count(at, station, 1, true))
        if chance.random() < REPEATED:
            reports.append(Count(at + chance.uniform(1, 20), station, 1, true))
    return sorted(reports, key=lambda report: (report.minute, report.station.id, report.version))


def _wrong(votes: Votes, chance: random.Random) -> Votes:
    """Two lines of the form mixed up, and a digit too many or too few."""
    one, other = chance.sample(range(len(votes)), 2)
    result = list(votes)
    result[one], result[other] = result[other], result[one]
    result[one] = result[one] * 10 if result[one] < 20 else result[one] // 10
    return tuple(result)


def turnout(election: Election) -> list[Turnout]:
    """What the districts tell at the end of each hour; all hours together are everybody who voted."""
    chance = random.Random(f"{election.country.seed}/turnout/{election.night}")
    found: list[Turnout] = []
    for community in COMMUNITIES:
        stations = election.country.in_community(community.code)
        for district, first in enumerate(range(0, len(stations), DISTRICT_STATIONS)):
            voters = sum(sum(election.results[one.id]) for one in stations[first : first + DISTRICT_STATIONS])
            weights = [weight * chance.uniform(0.8, 1.2) for weight in BY_HOUR]
            for hour, came in enumerate(_parts(voters, weights), start=OPENING):
                at = (hour + 1) * 60 - 15 + chance.uniform(0, 14)
                found.append(Turnout(at, community.code, district, hour, came))
    return sorted(found)


def clock(minute: float) -> str:
    """1290 → '21:30'; midnight is not the end of the night."""
    return f"{int(minute // 60) % 24:02d}:{int(minute % 60):02d}"


def by_party(votes: Votes) -> dict[str, Any]:
    return {party.id: count for party, count in zip(PARTIES, votes, strict=True)}
