"""A group's state as a word in the visitor's language and a tone."""

from __future__ import annotations

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
