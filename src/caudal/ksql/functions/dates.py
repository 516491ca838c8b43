"""Functions of DATE: arithmetic, formatting, parsing, and days since 1970-01-01."""

from __future__ import annotations

from datetime import UTC, date, datetime

from caudal.ksql.functions.date_patterns import check_pattern, compiled
from caudal.ksql.functions.intervals import UNITS, later, microseconds
from caudal.ksql.functions.registry import scalar

_EPOCH = date(1970, 1, 1)
_EPOCH_ORDINAL = _EPOCH.toordinal()


@scalar(
    "DATEADD",
    "(unit INTERVALUNIT, interval INTEGER, date DATE) -> DATE",
    category="DATE / TIME",
    description="A date and an interval later, such as DATEADD(DAYS, 3, d). Parts of a day are cut off.",
)
def dateadd(unit: str, count: int, day: date) -> date:
    return later(day, microseconds(unit, count))


@scalar(
    "DATESUB",
    "(unit INTERVALUNIT, interval INTEGER, date DATE) -> DATE",
    category="DATE / TIME",
    description="A date and an interval earlier, such as DATESUB(DAYS, 3, d). Parts of a day are cut off.",
)
def datesub(unit: str, count: int, day: date) -> date:
    return later(day, microseconds(unit, -count))


@scalar(
    "FORMAT_DATE",
    "(date DATE, pattern STRING) -> STRING",
    category="DATE / TIME",
    description="A date in a format of Java's DateTimeFormatter, such as 'yyyy-MM-dd'.",
    check=check_pattern,
)
def format_date(day: date, pattern: str) -> str:
    try:
        return compiled(pattern).format_date(day)
    except ValueError as error:
        raise ValueError(f"Failed to format date {day} with formatter '{pattern}': {error}") from error


@scalar(
    "PARSE_DATE",
    "(text STRING, pattern STRING) -> DATE",
    category="DATE / TIME",
    description="The date that a text in a format of Java's DateTimeFormatter stands for.",
    check=check_pattern,
)
def parse_date(text: str, pattern: str) -> date:
    try:
        return compiled(pattern, True).date(text)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"Failed to parse date '{text}' with formatter '{pattern}': {error}") from error


@scalar(
    "FROM_DAYS",
    "(days INTEGER) -> DATE",
    category="DATE / TIME",
    description="The date a number of days after 1970-01-01.",
)
def from_days(days: int) -> date:
    return later(_EPOCH, days * UNITS["DAYS"])


@scalar(
    "UNIX_DATE",
    "() -> INTEGER",
    category="DATE / TIME",
    description="Today, in UTC, as the number of days since 1970-01-01.",
)
def unix_date_now() -> int:
    return datetime.now(UTC).toordinal() - _EPOCH_ORDINAL


@scalar(
    "UNIX_DATE",
    "(date DATE) -> INTEGER",
    category="DATE / TIME",
    description="A date as the number of days since 1970-01-01.",
    spark="unix_date({0})",
)
def unix_date(day: date) -> int:
    return day.toordinal() - _EPOCH_ORDINAL


@scalar(
    "DATETOSTRING",
    "(days INTEGER, pattern STRING) -> STRING",
    category="DATE / TIME",
    description="A number of days since 1970-01-01 as a text. Superseded by FORMAT_DATE.",
    check=check_pattern,
)
def datetostring(days: int, pattern: str) -> str:
    return format_date(from_days(days), pattern)


@scalar(
    "STRINGTODATE",
    "(text STRING, pattern STRING) -> INTEGER",
    category="DATE / TIME",
    description="The number of days since 1970-01-01 that a text stands for. Superseded by PARSE_DATE.",
    check=check_pattern,
)
def stringtodate(text: str, pattern: str) -> int:
    return unix_date(parse_date(text, pattern))
