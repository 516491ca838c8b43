"""Which topic names are allowed, and which two names are too alike (Kafka's rules)."""

from __future__ import annotations

import re
from typing import Final

MAX_LENGTH: Final = 249
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


def name_fault(name: str | None) -> str | None:
    """One sentence on what is wrong with a topic name, or None when it is fine."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed."
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed."
    if len(name) > MAX_LENGTH:
        return f"Topic name is invalid: it has {len(name)} characters, and at most {MAX_LENGTH} are allowed."
    if _LEGAL.fullmatch(name) is None:
        return f"Topic name is invalid: '{name}' contains other characters than letters, digits, '.', '_' and '-'."
    return None


def collision_key(name: str) -> str:
    """Two names with the same key collide: metric names cannot tell '.' from '_'."""
    return name.replace(".", "_")


def has_collision_chars(name: str) -> bool:
    return "." in name or "_" in name
