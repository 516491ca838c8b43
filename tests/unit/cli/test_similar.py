"""Names that were mistyped."""

from __future__ import annotations

import pytest

from caudal.cli.errors import NOT_FOUND
from caudal.cli.similar import did_you_mean, no_such

KNOWN = ["orders", "orders-2", "payments", "Users"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("order", "did you mean orders or orders-2?"),
        ("PAYMENTS", "did you mean payments?"),
        ("users", "did you mean Users?"),
        ("zebra", ""),
    ],
)
def test_what_may_have_been_meant(name: str, said: str) -> None:
    assert did_you_mean(name, KNOWN) == said


def test_a_favourite_where_nothing_else_is_near() -> None:
    assert did_you_mean("x", ["x-value", "payments"], "x-value") == "did you mean x-value?"


def test_the_sentence_and_its_exit_code() -> None:
    error = no_such("topic", "zebra", KNOWN, "`caudal topic list` shows what exists")
    assert error.message == "there is no topic 'zebra'; `caudal topic list` shows what exists"
    assert error.exit_code == NOT_FOUND
