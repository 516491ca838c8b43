"""Seats by D'Hondt's method: highest quotients, behind a threshold of 3 %."""

from __future__ import annotations

from collections.abc import Mapping

THRESHOLD = 0.03


def seats_by_dhondt(votes: Mapping[str, float], seats: int, threshold: float = THRESHOLD) -> dict[str, int]:
    """How many of the seats each party gets. Equal quotients: more votes first, then the order given.

    >>> seats_by_dhondt({"a": 340_000, "b": 280_000, "c": 160_000, "d": 60_000}, 7)
    {'a': 3, 'b': 3, 'c': 1, 'd': 0}
    """
    won = dict.fromkeys(votes, 0)
    total = sum(votes.values())
    able = [party for party, count in votes.items() if count > 0 and count >= threshold * total]
    for _ in range(seats if able else 0):
        best = max(able, key=lambda party: (votes[party] / (won[party] + 1), votes[party]))
        won[best] += 1
    return won
