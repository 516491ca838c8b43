"""Points in time as people type them: epoch milliseconds, ISO 8601, `now`, or so long ago (`-10m`).

Pure; the clock is passed in.
"""

from __future__ import annotations

import re
import time
from datetime import datetime

from caudal.cli.errors import UsageError

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_AGO = re.compile(r"(?:now)?-(\d+)(ms|s|m|h|d)")


def parse_time(text: str, now_ms: int | None = None) -> int:
    """Epoch milliseconds of `text`. A time without a zone is local time, as a person at this machine means it.

    >>> parse_time("1700000000000")
    1700000000000
    >>> parse_time("2023-11-14T22:13:20Z")
    1700000000000
    >>> parse_time("-10m", now_ms=1_700_000_600_000)
    1700000000000
    """
    now = int(time.time() * 1000) if now_ms is None else now_ms
    text = text.strip()
    if text == "now":
        return now
    if text.isascii() and text.isdigit():
        return int(text)
    if ago := _AGO.fullmatch(text):
        return now - int(ago[1]) * _UNITS[ago[2]]
    try:
        moment = datetime.fromisoformat(text)
        return round((moment if moment.tzinfo else moment.astimezone()).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"'{text}' is not a time: give epoch milliseconds, ISO 8601 (2026-01-31T12:00:00Z), 'now', "
            "or so long ago (-10m, -2h, -1d)"
        ) from None


def time_text(timestamp_ms: int) -> str:
    """Epoch milliseconds as ISO 8601 in local time, or '-' when there is none."""
    if timestamp_ms < 0:
        return "-"
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000).astimezone().isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return str(timestamp_ms)
