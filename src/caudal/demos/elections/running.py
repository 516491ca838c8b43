"""One night from the first vote to the verdict: plays it, waits for the application, compares with the truth."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from caudal.demos.elections import topics
from caudal.demos.elections.country import BY_CODE, PARTY_IDS
from caudal.demos.elections.demonstration import Demonstration
from caudal.demos.elections.seats import seats_by_dhondt
from caudal.demos.elections.simulation import Election, by_party, counts
from caudal.demos.elections.standings import Standings

EARLY = 0.25  # the part of the count at which the projection is noted, to be compared with the end
SETTLE_SECONDS = 60.0
QUIET_SECONDS = 5.0  # without a change, when the application has nothing left to do

Said = Callable[[str, float], None]  # the step under way, and how much of it is done (0 to 1)


@dataclass
class Outcome:
    """What the night gave. `differences` is empty where every figure is the generator's own."""

    night: int
    resumed: bool
    stations: int
    reports: int
    seconds: float
    standings: Standings
    differences: list[str]
    early: dict[str, Any] = field(default_factory=dict)
    model: dict[str, Any] | None = None

    @property
    def is_right(self) -> bool:
        return not self.differences


def run_night(demonstration: Demonstration, speed: float, said: Said) -> Outcome:
    """Everything, one after the other; the model is learnt before the count, so that each run shows its projection."""
    began = time.monotonic()
    stop = threading.Event()
    demonstration.start()
    feeder = demonstration.feeder()
    position = demonstration.begin(feeder)
    resumed = position.sent > 0
    demonstration.publish_past(feeder)
    said("spark", 0.0)
    demonstration.wait_running(stop, lambda state: said("spark", 0.5))
    said("spark", 1.0)
    said("model", 0.0)
    model = demonstration.learn()
    said("model", 1.0)
    early = _Early(demonstration.standings)
    demonstration.watchers.append(early.look)
    election = Election.of(demonstration.country, position.night)

    def go_on(phase: str) -> bool:
        demonstration.application.raise_failure()
        return True

    for _ in feeder.play(position, speed, go_on):
        said("count", min(0.999, demonstration.standings.counted))
    _settle(demonstration, election, said)
    said("count", 1.0)
    standings = demonstration.standings
    return Outcome(
        night=position.night,
        resumed=resumed,
        stations=len(demonstration.country.stations),
        reports=len(counts(election)),
        seconds=time.monotonic() - began,
        standings=standings,
        differences=differences(standings, election),
        early=early.noted,
        model=model,
    )


def differences(standings: Standings, election: Election) -> list[str]:
    """What the application found and the generator did not say, as sentences."""
    found = []
    for code, votes in election.totals().items():
        name, true = BY_CODE[code].name, by_party(votes)
        row = standings.results.get(code)
        if standings.night != election.night or row is None:
            found.append(f"{name} has no result")
            continue
        found += [
            f"{name}: {party} has {row['votes'][party]} votes and should have {true[party]}"
            for party in PARTY_IDS
            if row["votes"][party] != true[party]
        ]
        if row["stations"] != row["stations_total"]:
            found.append(f"{name}: {row['stations']} of {row['stations_total']} stations are counted")
        if row["seats"] != seats_by_dhondt(true, BY_CODE[code].seats):
            found.append(f"{name}: the seats are not D'Hondt's")
        came = sum(voters for (community, _), voters in standings.hours.items() if community == code)
        if came != sum(votes):
            found.append(f"{name}: {came} came to vote by the hour, and {sum(votes)} voted")
    return found


def _settle(demonstration: Demonstration, election: Election, said: Said) -> None:
    """Until every figure is right, or nothing moves any more."""
    deadline, standings = time.monotonic() + SETTLE_SECONDS, demonstration.standings
    version, since = -1, time.monotonic()
    while time.monotonic() < deadline and differences(standings, election):
        demonstration.application.raise_failure()
        if standings.version != version:
            version, since = standings.version, time.monotonic()
        elif time.monotonic() - since > QUIET_SECONDS and demonstration.application.behind() == 0:
            return
        said("count", min(0.999, standings.counted))
        time.sleep(0.1)


class _Early:
    """Notes the projection when a quarter is counted."""

    def __init__(self, standings: Standings) -> None:
        self._standings = standings
        self.noted: dict[str, Any] = {}

    def look(self, topic: str, key: str, value: Any, place: tuple[int, int, int]) -> None:
        if topic != topics.RESULTS or self.noted or self._standings.counted < EARLY:
            return
        projection = self._standings.projection()
        if projection:
            self.noted = {"counted": self._standings.counted, "projection": projection}
