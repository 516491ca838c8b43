"""Functions of TIME: arithmetic around the clock, formatting and parsing."""

from __future__ import annotations

from datetime import date, datetime, time

from caudal.ksql.functions.date_patterns import check_pattern, compiled
from caudal.ksql.functions.intervals import UNITS, later, microseconds
from caudal.ksql.functions.registry import scalar

_SOME_DAY = date(2000, 1, 1)


@scalar(
    "TIMEADD",
    "(unit INTERVALUNIT, interval INTEGER, time TIME) -> TIME",
    category="DATE / TIME",
    description="A time and an interval later, past midnight where it must be.",
)
def timeadd(unit: str, count: int, at: time) -> time:
    return later(datetime.combine(_SOME_DAY, at), microseconds(unit, count) % UNITS["DAYS"]).time()


@scalar(
    "TIMESUB",
    "(unit INTERVALUNIT, interval INTEGER, time TIME) -> TIME",
    category="DATE / TIME",
    description="A time and an interval earlier, past midnight where it must be.",
)
def timesub(unit: str, count: int, at: time) -> time:
    return timeadd(unit, -count, at)


@scalar(
    "FORMAT_TIME",
    "(time TIME, pattern STRING) -> STRING",
    category="DATE / TIME",
    description="A time in a format of Java's DateTimeFormatter, such as 'HH:mm:ss.SSS'.",
    check=check_pattern,
)
def format_time(at: time, pattern: str) -> str:
    try:
        return compiled(pattern).format_time(at)
    except ValueError as error:
        raise ValueError(f"Failed to format time {at} with formatter '{pattern}': {error}") from error


@scalar(
    "PARSE_TIME",
    "(text STRING, pattern STRING) -> TIME",
    category="DATE / TIME",
    description="The time that a text in a format of Java's DateTimeFormatter stands for.",
    check=check_pattern,
)
def parse_time(text: str, pattern: str) -> time:
    try:
        return compiled(pattern).time(text)
    except ValueError as error:
        raise ValueError(f"Failed to parse time '{text}' with formatter '{pattern}': {error}") from error
