"""Versions of plugins: their order, and which ranges they are in."""

from __future__ import annotations

import itertools

import pytest

from caudal.connect.plugin_versions import Requirement, order

ASCENDING = [
    "0.9",
    "1.0.dev1",
    "1.0a1",
    "1.0-beta2",
    "1.0rc1",
    "1.0-SNAPSHOT",
    "1.0",
    "1.0.post1",
    "1.0.1",
    "1.2",
    "1.10",
]


def test_the_order_of_versions() -> None:
    for earlier, later in itertools.pairwise(ASCENDING):
        assert order(earlier) < order(later), (earlier, later)
    assert order("1") == order("1.0.0") == order("v1.0+local")


@pytest.mark.parametrize(
    ("requirement", "met", "not_met"),
    [
        ("latest", ["0.1", "9"], []),
        ("1.0", ["1.0", "1.0.0"], ["1.0.1", "0.9"]),
        ("[1.0]", ["1.0"], ["1.1"]),
        ("[1.0,2.0]", ["1.0", "2.0"], ["2.0.1", "0.9"]),
        ("(1.0,2.0)", ["1.5"], ["1.0", "2.0"]),
        ("[1.5,)", ["1.5", "7"], ["1.4.9"]),
        ("(,1.0],[1.2,)", ["0.1", "1.0", "1.2"], ["1.1"]),
        (" [ 1.0 , 2.0 ) ", ["1.0"], ["2.0"]),
        ("(,)", ["1"], []),
    ],
)
def test_requirements(requirement: str, met: list[str], not_met: list[str]) -> None:
    wanted = Requirement.of(requirement)
    assert [version for version in met + not_met if wanted.is_met_by(version)] == met


@pytest.mark.parametrize(
    "text", ["", " ", "[", "[1.0", "1.0]", "(1.0)", "[]", "[1,2,3]", "[2,1]", "[1][2]", "[1],", "one two"]
)
def test_what_is_no_requirement(text: str) -> None:
    with pytest.raises(ValueError):
        Requirement.of(text)
