"""A group's state and lag as cells show them: a word in the visitor's language, a figure, a tone."""

from __future__ import annotations

from typing import Any

from caudal.ui.components import number
from caudal.ui.words import t


def state_word(state: str) -> str:
    words = {
        "stable": t("Stable"),
        "empty": t("Empty"),
        "preparing rebalancing": t("Preparing rebalance"),
        "completing rebalancing": t("Completing rebalance"),
        "assigning": t("Assigning"),
        "reconciling": t("Reconciling"),
        "dead": t("Dead"),
        "unknown": t("Unknown"),
    }
    return words.get(state, state.capitalize())


def state_tone(state: str) -> str:
    return {"stable": "good", "empty": "", "dead": "bad", "unknown": "warn"}.get(state, "warn")


def lag_tone(lag: int | None) -> str:
    return "warn" if lag else ""


def figure(value: int | None) -> dict[str, Any]:
    """A cell that is sorted by its number; nothing comes first."""
    return {"text": number(value), "sort": -1 if value is None else value}
