"""Figures as people read them."""

from __future__ import annotations

import pytest

from caudal.ui import words
from caudal.ui.components import formats


@pytest.fixture
def spanish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "language", lambda: "es")
    monkeypatch.setattr(words, "language", lambda: "es")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1536, "1.5 KiB"),
        (5 * 1024**3, "5.0 GiB"),
        (3 * 1024**5, "3,072.0 TiB"),
        (None, "–"),
    ],
)
def test_sizes(value: float | None, said: str) -> None:
    assert formats.size(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0/s"), (0.25, "0.2/s"), (12.34, "12.3/s"), (999, "999/s"), (12345, "12.3k/s"), (2e6, "2.0M/s")],
)
def test_rates(value: float, said: str) -> None:
    assert formats.rate(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.5, "0.50 ms"),
        (42, "42 ms"),
        (1500, "1.5 s"),
        (61_000, "1 min 1 s"),
        (3_600_000, "1 h"),
        (90_000_000, "1 d 1 h"),
    ],
)
def test_durations(value: float, said: str) -> None:
    assert formats.duration(value) == said


def test_how_long_ago() -> None:
    assert formats.ago(100, now=101) == "just now"
    assert formats.ago(100, now=100 + 200) == "3 min ago"
    assert formats.ago(200, now=100) == "just now"
    assert formats.ago(None) == "–"


@pytest.mark.usefixtures("spanish")
def test_spanish_has_its_own_separators() -> None:
    assert formats.number(1234567.5, 1) == "1.234.567,5"
    assert formats.ago(0, now=7200) == "hace 2 h"
