"""Properties that several transforms share, and the checks of their values."""

from __future__ import annotations

from typing import Any

from caudal.connect.configuration import Importance, Key, Type

REPLACE_NULL = "replace.null.with.default"

REPLACE_NULL_KEY = Key(
    name=REPLACE_NULL,
    type=Type.BOOLEAN,
    default=True,
    importance=Importance.MEDIUM,
    doc="Whether a field that is null and has a default gets the default (true) or stays null (false).",
)


def non_empty_list(name: str, value: Any) -> None:
    """At least one entry, none of them blank."""
    if not value:
        raise ValueError("At least one name is needed.")
    if not all(value):
        raise ValueError("An empty name is in the list.")


def non_empty(name: str, value: Any) -> None:
    if value is not None and not value:
        raise ValueError("An empty text is not a value: leave the property out, or give it one.")
