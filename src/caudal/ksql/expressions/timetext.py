"""DATE, TIME and TIMESTAMP as text, in the one form that SQL literals, casts and comparisons with strings use.

Partial texts are allowed: '2026', '2026-02', '2026-02-03T10'. Patterns of FORMAT_TIMESTAMP and the like are the
functions' own business.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone

_DATE = r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?"
_TIME = r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?"
_DATES = re.compile(_DATE)
_TIMES = re.compile(r"(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?")
_TIMESTAMPS = re.compile(rf"{_DATE}(?:T(?:{_TIME})?(Z|[+-]\d{{2}}:?\d{{2}})?)?")


def parse_date(text: str) -> date:
    """
    >>> parse_date("2026-02-03"), parse_date("2026-02")
    (datetime.date(2026, 2, 3), datetime.date(2026, 2, 1))
    """
    found = _DATES.fullmatch(text.strip())
    try:
        if found is not None:
            return date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        pass  # said below: a month 13 is no better than letters
    raise ValueError(f"Failed to parse date '{text}': it must be like '2020-05-26' or '2020-05'.")


def parse_time(text: str) -> time:
    """
    >>> parse_time("01:34"), parse_time("01:34:20.123")
    (datetime.time(1, 34), datetime.time(1, 34, 20, 123000))
    """
    found = _TIMES.fullmatch(text.strip())
    try:
        if found is not None:
            return time(int(found[1]), int(found[2]), int(found[3] or 0), _micros(found[4]))
    except ValueError:
        pass
    raise ValueError(f"Failed to parse time '{text}': it must be like '01:34:20.123', '01:34:20' or '01:34'.")


def parse_timestamp(text: str) -> datetime:
    """
    >>> parse_timestamp("2026-02-03T10:00:00.5+0100")
    datetime.datetime(2026, 2, 3, 9, 0, 0, 500000, tzinfo=datetime.timezone.utc)
    """
    found = _TIMESTAMPS.fullmatch(text.strip())
    try:
        if found is not None:
            year, month, day, hour, minute, second, fraction, zone = found.groups()
            at = datetime(
                int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0),
                _micros(fraction), _zone(zone),
            )  # fmt: skip
            return at.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise ValueError(
        f"Failed to parse timestamp '{text}': it must be like '2020-05-26T23:59:58.000', or with a zone "
        "'2020-05-26T23:59:58.000+0200'; a part of it such as '2020-05-26' will do."
    )


def format_date(value: date) -> str:
    return f"{value.year:04d}-{value.month:02d}-{value.day:02d}"


def format_time(value: time) -> str:
    """As short as Java writes it: seconds where there are some.

    >>> format_time(time(10)), format_time(time(10, 0, 1)), format_time(time(10, 0, 0, 5000))
    ('10:00', '10:00:01', '10:00:00.005')
    """
    text = f"{value.hour:02d}:{value.minute:02d}"
    millis = value.microsecond // 1000
    if value.second or millis:
        text += f":{value.second:02d}"
    return f"{text}.{millis:03d}" if millis else text


def format_timestamp(value: datetime) -> str:
    """
    >>> format_timestamp(datetime(2026, 2, 3, tzinfo=UTC))
    '2026-02-03T00:00:00.000'
    """
    value = value.astimezone(UTC)
    return (
        f"{value.year:04d}-{value.month:02d}-{value.day:02d}T{value.hour:02d}:{value.minute:02d}:{value.second:02d}"
        f".{value.microsecond // 1000:03d}"
    )


def _micros(fraction: str | None) -> int:
    """Milliseconds are all that is kept."""
    return int(fraction[:3].ljust(3, "0")) * 1000 if fraction else 0


def _zone(text: str | None) -> timezone:
    if text is None or text == "Z":
        return UTC
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)
