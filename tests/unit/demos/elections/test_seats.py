"""D'Hondt's method, against examples that are worked out in many places."""

from __future__ import annotations

import pytest

from caudal.demos.elections.seats import seats_by_dhondt


@pytest.mark.parametrize(
    ("votes", "seats", "expected"),
    [
        ({"a": 340_000, "b": 280_000, "c": 160_000, "d": 60_000, "e": 15_000}, 7, [3, 3, 1, 0, 0]),
        ({"a": 100_000, "b": 80_000, "c": 30_000, "d": 20_000}, 8, [4, 3, 1, 0]),
        ({"a": 10, "b": 10}, 1, [1, 0]),
        ({"a": 0, "b": 0}, 3, [0, 0]),
    ],
)
def test_seats_go_to_the_highest_quotients(votes: dict[str, float], seats: int, expected: list[int]) -> None:
    assert list(seats_by_dhondt(votes, seats).values()) == expected


def test_a_party_below_three_percent_gets_nothing() -> None:
    votes = {"large": 9_720, "small": 280}
    assert seats_by_dhondt(votes, 100)["small"] == 0
    assert seats_by_dhondt(votes, 100, threshold=0)["small"] == 2
