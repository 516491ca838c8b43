"""Numbers, sizes, rates and times as people read them. Pure; English and Spanish differ by their separators."""

from __future__ import annotations

import time
from datetime import datetime

from caudal.ui.words import language, t

NOTHING = "–"


def number(value: float | None, digits: int = 0) -> str:
    """1234567 → '1,234,567' ('1.234.567' in Spanish)."""
    if value is None:
        return NOTHING
    return _local(f"{value:,.{digits}f}")


def size(value: float | None) -> str:
    """1536 → '1.5 KiB'."""
    if value is None:
        return NOTHING
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024 or unit == "TiB":
            return _local(f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}")
        value /= 1024
    raise AssertionError("TiB is the last unit")


def rate(value: float | None, unit: str = "") -> str:
    """12345.6 → '12.3k/s'; small rates keep a decimal."""
    if value is None:
        return NOTHING
    return f"{_short(value)}{f' {unit}' if unit else ''}/s"


def duration(milliseconds: float | None) -> str:
    """0.42 → '0.42 ms', 61000 → '1 min 1 s'."""
    if milliseconds is None:
        return NOTHING
    if milliseconds < 10:
        return _local(f"{milliseconds:.2f} ms")
    if milliseconds < 1000:
        return _local(f"{milliseconds:.0f} ms")
    seconds = milliseconds / 1000
    if seconds < 60:
        return _local(f"{seconds:.1f} s")
    whole = int(seconds)
    for unit, length, rest, rest_length in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= length:
            left = whole % length // rest_length
            return f"{number(whole // length)} {unit}" + (f" {left} {rest}" if left else "")
    raise AssertionError("a minute has been reached")


def percent(part: float) -> str:
    """0.1234 → '12.3 %'."""
    return _local(f"{part * 100:.1f} %")


def ago(at: float | None, now: float | None = None) -> str:
    """Seconds since 1970 → '3 min ago'."""
    if at is None:
        return NOTHING
    passed = max(0.0, (time.time() if now is None else now) - at)
    if passed < 2:
        return t("just now")
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        if passed >= length:
            return t("{time} ago", time=f"{int(passed // length)} {unit}")
    raise AssertionError("at least two seconds have passed")


def clock(at: float | None) -> str:
    """Seconds since 1970 → '2026-05-04 17:03:21.250' in the server's time zone."""
    if at is None:
        return NOTHING
    moment = datetime.fromtimestamp(at)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d}"


def _short(value: float) -> str:
    for unit, length in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= length:
            return _local(f"{value / length:.1f}{unit}")
    return _local(f"{value:.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.1f}")


def _local(text: str) -> str:
    return text.translate(str.maketrans(",.", ".,")) if language() == "es" else text
