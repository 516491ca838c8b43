"""What the final count will be, from a partial one: the model's arithmetic, for the application and for those who show
it. How the model is learnt is in `learning.py`.

Who has counted is not like who has not: small places are first. But we know how the same stations voted last time, so
a part of the error is known. Every correction, and the width of the interval, is multiplied by what is still to be
counted: with all votes in, the projection is the result and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from caudal.demos.elections.country import BY_CODE, PARTY_IDS
from caudal.demos.elections.seats import seats_by_dhondt
from caudal.demos.elections.simulation import TURNOUT

FEATURES = ("unlike", "swing", "share")
SPREAD = ("chance", "trend")
Z90 = 1.645  # 90 % of a normal distribution are within so many deviations
UNBEGUN = 0.05  # half the interval of a community that has counted nothing
KEY = "projection"  # the model's key in its topic

Rows = Mapping[str, Mapping[str, Any]]  # by the community's code


class Estimate(NamedTuple):
    """A share of the votes with its interval of 90 %."""

    share: float
    low: float
    high: float


def features(row: Mapping[str, Any], party: str) -> tuple[float, float, float]:
    """`row` is a community's count: votes now and last time in the stations that reported, and last time in all."""
    left = 1 - row["counted"]
    now, before = share(row["votes"], party), share(row["before"], party)
    return left * (share(row["previous"], party) - before), left * (now - before), left * now


def spread(row: Mapping[str, Any], party: str) -> tuple[float, float]:
    """What the variance is made of: the luck of the draw, which shrinks with the stations, and what all share."""
    left, now = 1 - row["counted"], share(row["votes"], party)
    noise = now * (1 - now)
    return left * noise / max(1, row["stations"]), left * noise


def share(votes: Mapping[str, int], party: str) -> float:
    total = sum(votes.values())
    return votes[party] / total if total else 0.0


def projected(row: Mapping[str, Any], model: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Share, low and high of every party, in a community; a plain value for the row of the topic."""
    result = {}
    for party in PARTY_IDS:
        change = sum(weight * x for weight, x in zip(model["weights"], features(row, party), strict=True))
        variance = sum(weight * x for weight, x in zip(model["spread"], spread(row, party), strict=True))
        middle = min(1.0, max(0.0, share(row["votes"], party) + change))
        reach = Z90 * math.sqrt(max(0.0, variance))
        result[party] = [round(middle, 5), round(max(0.0, middle - reach), 5), round(min(1.0, middle + reach), 5)]
    return result


def nationwide(rows: Rows, places: Rows) -> dict[str, Estimate]:
    """The country's shares, from the communities' projections, each by the votes that it will have. A community that
    has not begun is taken as last time (`places`), with the swing of the others. Empty while none has a projection.

    The intervals add up: what the cities have in common is in all communities, so their errors go together.
    """
    begun = {code: row for code, row in rows.items() if row.get("projection")}
    if not begun:
        return {}
    weights = {code: _weight(place, rows.get(code)) for code, place in places.items()}
    total = sum(weights.values())
    result = {}
    for party in PARTY_IDS:
        counted = sum(weights[code] for code in begun)
        swing = sum(
            weights[code] * (row["projection"][party][0] - share(row["previous"], party)) for code, row in begun.items()
        )
        middle = reach = 0.0
        for code, weight in weights.items():
            row = begun.get(code)
            if row is not None:
                value, low, high = row["projection"][party]
                middle += weight / total * value
                reach += weight / total * (high - low) / 2
            else:
                last = share(places[code]["previous"], party)
                middle += weight / total * max(0.0, last + swing / counted)
                reach += weight / total * UNBEGUN
        result[party] = Estimate(middle, max(0.0, middle - reach), min(1.0, middle + reach))
    return result


def projected_seats(rows: Rows) -> dict[str, int]:
    """Seats by the projected shares, where there are any."""
    total = dict.fromkeys(PARTY_IDS, 0)
    for code, row in rows.items():
        if row.get("projection"):
            shares = {party: row["projection"][party][0] for party in PARTY_IDS}
            for party, seats in seats_by_dhondt(shares, BY_CODE[code].seats).items():
                total[party] += seats
    return total


def _weight(place: Mapping[str, Any], row: Mapping[str, Any] | None) -> float:
    """How many votes a community will have: its electors by the turnout so far, or by the usual one."""
    turnout = TURNOUT if row is None else sum(row["votes"].values()) / row["electors_counted"]
    return float(place["electors"] * turnout)
