"""JSON pointers (RFC 6901)."""

from __future__ import annotations

from typing import Any

MISSING: Any = object()


def at_pointer(value: Any, pointer: str) -> Any:
    """What is there, or MISSING.

    >>> at_pointer({"a/b": [1, {"c": 2}]}, "/a~1b/1/c")
    2
    """
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(name, MISSING)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return MISSING
        if value is MISSING:
            return MISSING
    return value


def valid_pointer(name: str, value: Any) -> None:
    """For configurations."""
    if value and not value.startswith("/"):
        raise ValueError("Expected a JSON pointer, which begins with /")
