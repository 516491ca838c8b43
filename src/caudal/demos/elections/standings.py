"""Where the night stands, folded from the topics: for the command, the page and the tests. Pure: records come in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caudal.demos.elections import topics
from caudal.demos.elections.country import PARTY_IDS, SEATS
from caudal.demos.elections.projection import Estimate, nationwide, projected_seats
from caudal.demos.elections.simulation import CLOSING, OPENING

FOLLOWED = (topics.STATUS, topics.PLACES, topics.RESULTS, topics.TURNOUT_BY_HOUR)

Row = dict[str, Any]


class Standings:
    """Rows of the newest night only. `version` grows with each change. One thread takes records while others read: a
    mapping is replaced, never changed."""

    def __init__(self) -> None:
        self.version = 0
        self.night = 0
        self.places: dict[str, Row] = {}
        self.results: dict[str, Row] = {}
        self.hours: dict[tuple[str, int], int] = {}  # voters by community and hour
        self.status: dict[str, Row] = {}

    def take(self, topic: str, key: str, value: Any, place: tuple[int, int, int] = (0, 0, 0)) -> None:
        if value is None:
            return
        if topic == topics.STATUS:
            self.status = {**self.status, key: value}
        elif self._is_of_this_night(int(value["night"])):
            if topic == topics.PLACES:
                self.places = {**self.places, key: value}
            elif topic == topics.RESULTS:
                self.results = {**self.results, key: value}
            elif topic == topics.TURNOUT_BY_HOUR:
                self.hours = {**self.hours, (value["community"], value["hour"]): value["voters"]}
        self.version += 1

    def _is_of_this_night(self, night: int) -> bool:
        if night > self.night:
            self.night = night
            self.results, self.hours = {}, {}
        return night == self.night

    # -- the country -------------------------------------------------------------------------------------------------

    @property
    def electors(self) -> int:
        return sum(place["electors"] for place in self.places.values())

    @property
    def counted(self) -> float:
        """The part of the electors whose station has reported."""
        return sum(row["electors_counted"] for row in self.results.values()) / self.electors if self.places else 0.0

    def votes(self) -> dict[str, int]:
        return _summed(dict.fromkeys(PARTY_IDS, 0), (row["votes"] for row in self.results.values()))

    def before(self) -> dict[str, int]:
        """Last time, in the stations that have reported."""
        return _summed(dict.fromkeys(PARTY_IDS, 0), (row["before"] for row in self.results.values()))

    def seats(self) -> dict[str, int]:
        return _summed(dict.fromkeys(PARTY_IDS, 0), (row["seats"] for row in self.results.values()))

    def change(self) -> dict[str, float]:
        """Points of a hundred against last time, in the stations that have reported."""
        votes, before = self.votes(), self.before()
        now, then = sum(votes.values()), sum(before.values())
        if not now or not then:
            return {}
        return {party: 100 * (votes[party] / now - before[party] / then) for party in PARTY_IDS}

    def projection(self) -> dict[str, Estimate]:
        return nationwide(self.results, self.places) if self.places else {}

    def projected_seats(self) -> dict[str, int]:
        seats = projected_seats(self.results)
        return seats if sum(seats.values()) == SEATS else {}

    def turnout(self, code: str | None = None) -> list[tuple[int, float]]:
        """At the end of each hour, the part of the electors that has voted; of one community or of all."""
        electors = self.places[code]["electors"] if code in self.places else self.electors
        heard = {hour for (community, hour) in self.hours if code is None or community == code}
        total, curve = 0, []
        for hour in range(OPENING, CLOSING):
            if hour not in heard:
                break
            total += sum(
                voters for (community, at), voters in self.hours.items() if at == hour and code in (None, community)
            )
            curve.append((hour + 1, total / electors if electors else 0.0))
        return curve


def _summed(total: dict[str, int], parts: Any) -> dict[str, int]:
    part: Mapping[str, int]
    for part in parts:
        for party, count in part.items():
            total[party] += count
    return total
