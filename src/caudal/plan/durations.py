"""Durations as people write them: "1 minute", "90s", "1 hour 30 minutes", a timedelta, or milliseconds as a number."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from caudal.plan.errors import PlanError

Duration = str | int | timedelta

_UNITS = {
    "ms": 1,
    "millisecond": 1,
    "milli": 1,
    "s": 1000,
    "sec": 1000,
    "second": 1000,
    "m": 60_000,
    "min": 60_000,
    "minute": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "d": 86_400_000,
    "day": 86_400_000,
    "w": 604_800_000,
    "week": 604_800_000,
}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*(?:,|and\b)?")


def milliseconds(duration: Any, what: str = "duration") -> int:
    """The duration in milliseconds; `what` names it in the error.

    >>> milliseconds("1 hour 30 minutes")
    5400000
    """
    if isinstance(duration, timedelta):
        length = round(duration.total_seconds() * 1000)
    elif isinstance(duration, str):
        length = _parse(duration, what)
    elif isinstance(duration, int) and not isinstance(duration, bool):
        length = duration
    else:
        raise PlanError(f"The {what} must be text ('10 seconds'), a timedelta or milliseconds, not {duration!r}.")
    if length < 0:
        raise PlanError(f"The {what} must not be negative, but is {duration!r}.")
    return length


def _parse(text: str, what: str) -> int:
    total, position = 0.0, 0
    while match := _PART.match(text, position):
        unit = match[2].lower()
        factor = _UNITS.get(unit) or _UNITS.get(unit.removesuffix("s"))
        if factor is None:
            raise PlanError(
                f"The {what} '{text}' has an unknown unit '{match[2]}'; use ms, s, m, h, d, or their names."
            )
        total += float(match[1]) * factor
        position = match.end()
    if position == 0 or text[position:].strip():
        raise PlanError(f"The {what} '{text}' is not understood; write it as '10 seconds', '1 minute' or '1h 30m'.")
    return round(total)
