"""The arithmetic of the projection, with a model that is learnt by least squares here: MLlib learns the same one."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from caudal.demos.elections.country import COMMUNITIES, PARTY_IDS
from caudal.demos.elections.learning import _training_rows, past_samples
from caudal.demos.elections.projection import nationwide, projected, projected_seats, share


@pytest.fixture(scope="module")
def model() -> dict[str, Any]:
    rows = numpy.array(_training_rows(list(past_samples(seed=7, elections=5, votes=150_000))))
    weights, *_ = numpy.linalg.lstsq(rows[:, :3], rows[:, 5], rcond=None)
    left = (rows[:, 5] - rows[:, :3] @ weights) ** 2
    spread, *_ = numpy.linalg.lstsq(rows[:, 3:5], left, rcond=None)
    return {"weights": list(weights), "spread": list(spread)}


@pytest.fixture(scope="module")
def unseen() -> list[tuple[str, Any]]:
    """Nights of another country."""
    return list(past_samples(seed=99, elections=3, votes=250_000))


def test_the_projection_is_nearer_to_the_end_than_the_count(
    model: dict[str, Any], unseen: list[tuple[str, Any]]
) -> None:
    finals = {(row["night"], code): row for code, row in unseen if row["counted"] == 1}
    counted = guessed = 0.0
    hits = cases = 0
    for code, row in unseen:
        if row["counted"] == 1:
            continue
        for party, (middle, low, high) in projected(row, model).items():
            true = share(finals[row["night"], code]["votes"], party)
            counted += (share(row["votes"], party) - true) ** 2
            guessed += (middle - true) ** 2
            hits += low <= true <= high
            cases += 1
    assert guessed < counted / 3
    assert 0.8 < hits / cases < 0.98  # of an interval of 90 %


def test_with_everything_counted_the_projection_is_the_result(
    model: dict[str, Any], unseen: list[tuple[str, Any]]
) -> None:
    row = next(row for _, row in unseen if row["counted"] == 1)
    for party, (middle, low, high) in projected(row, model).items():
        assert middle == low == high == round(share(row["votes"], party), 5)


def test_the_country_is_projected_from_its_communities(model: dict[str, Any], unseen: list[tuple[str, Any]]) -> None:
    rows = {code: {**row, "projection": projected(row, model)} for code, row in unseen if row["counted"] == 1}
    places = {code: {"electors": row["electors_counted"], "previous": row["previous"]} for code, row in rows.items()}
    total = {party: sum(row["votes"][party] for row in rows.values()) for party in PARTY_IDS}
    found = nationwide(rows, places)
    assert all(abs(found[party].share - share(total, party)) < 1e-4 for party in PARTY_IDS)
    assert sum(projected_seats(rows).values()) == sum(one.seats for one in COMMUNITIES)


def test_what_has_not_begun_is_taken_as_last_time_with_the_swing_of_the_others(
    model: dict[str, Any], unseen: list[tuple[str, Any]]
) -> None:
    rows = {code: {**row, "projection": projected(row, model)} for code, row in unseen if row["counted"] == 1}
    places = {code: {"electors": row["electors_counted"], "previous": row["previous"]} for code, row in rows.items()}
    whole, part = nationwide(rows, places), nationwide({"13": rows["13"]}, places)
    assert nationwide({}, places) == {}
    assert all(part[party].high - part[party].low > whole[party].high - whole[party].low for party in PARTY_IDS)
