"""Functions of TIMESTAMP: arithmetic, time zones, formatting, parsing, and milliseconds since 1970.

Where no time zone is given, it is UTC (ksqlDB takes that of its server).
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from caudal.ksql.functions.date_patterns import check_pattern, compiled
from caudal.ksql.functions.intervals import later, microseconds
from caudal.ksql.functions.registry import scalar
from caudal.ksql.functions.time_zones import zone

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


@scalar(
    "CONVERT_TZ",
    "(timestamp TIMESTAMP, from_zone STRING, to_zone STRING) -> TIMESTAMP",
    category="DATE / TIME",
    description="A timestamp moved from the clock of one time zone to that of another.",
)
def convert_tz(moment: datetime, from_zone: str, to_zone: str) -> datetime:
    try:
        source, target = zone(from_zone), zone(to_zone)
    except ValueError as error:
        raise ValueError(f"Invalid time zone: {error}") from error
    # Both offsets are those at the moment itself, as in ksqlDB.
    gained = moment.astimezone(target.info).utcoffset() or timedelta()
    lost = moment.astimezone(source.info).utcoffset() or timedelta()
    return moment + gained - lost


@scalar(
    "TIMESTAMPADD",
    "(unit INTERVALUNIT, interval INTEGER, timestamp TIMESTAMP) -> TIMESTAMP",
    category="DATE / TIME",
    description="A timestamp and an interval later.",
)
def timestampadd(unit: str, count: int, moment: datetime) -> datetime:
    return later(moment, microseconds(unit, count))


@scalar(
    "TIMESTAMPSUB",
    "(unit INTERVALUNIT, interval INTEGER, timestamp TIMESTAMP) -> TIMESTAMP",
    category="DATE / TIME",
    description="A timestamp and an interval earlier.",
)
def timestampsub(unit: str, count: int, moment: datetime) -> datetime:
    return later(moment, microseconds(unit, -count))


@scalar(
    "FORMAT_TIMESTAMP",
    "(timestamp TIMESTAMP, pattern STRING) -> STRING",
    "(timestamp TIMESTAMP, pattern STRING, zone STRING) -> STRING",
    category="DATE / TIME",
    description="A timestamp in a format of Java's DateTimeFormatter, in a time zone.",
    check=check_pattern,
)
def format_timestamp(moment: datetime, pattern: str, zone_id: str = "UTC") -> str:
    try:
        return compiled(pattern).format_timestamp(moment, zone(zone_id))
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"Failed to format timestamp {moment} at timeZone '{zone_id}' with formatter '{pattern}': {error}"
        ) from error


@scalar(
    "PARSE_TIMESTAMP",
    "(text STRING, pattern STRING) -> TIMESTAMP",
    "(text STRING, pattern STRING, zone STRING) -> TIMESTAMP",
    category="DATE / TIME",
    description="The timestamp that a text in a format of Java's DateTimeFormatter stands for, in a time zone.",
    check=check_pattern,
)
def parse_timestamp(text: str, pattern: str, zone_id: str = "UTC") -> datetime:
    try:
        return compiled(pattern, True).timestamp(text, zone(zone_id))
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"Failed to parse timestamp '{text}' at timezone '{zone_id}' with formatter '{pattern}': {error}"
        ) from error


@scalar(
    "FROM_UNIXTIME",
    "(milliseconds BIGINT) -> TIMESTAMP",
    category="DATE / TIME",
    description="The timestamp a number of milliseconds after 1970-01-01T00:00 UTC.",
)
def from_unixtime(milliseconds: int) -> datetime:
    return later(_EPOCH, milliseconds * 1000)


@scalar(
    "UNIX_TIMESTAMP",
    "() -> BIGINT",
    category="DATE / TIME",
    description="Now, as the number of milliseconds since 1970-01-01T00:00 UTC.",
)
def unix_timestamp_now() -> int:
    return time.time_ns() // 1_000_000


@scalar(
    "UNIX_TIMESTAMP",
    "(timestamp TIMESTAMP) -> BIGINT",
    category="DATE / TIME",
    description="A timestamp as the number of milliseconds since 1970-01-01T00:00 UTC.",
    spark="unix_millis({0})",
)
def unix_timestamp(moment: datetime) -> int:
    return (moment - _EPOCH) // _MILLISECOND


@scalar(
    "TIMESTAMPTOSTRING",
    "(milliseconds BIGINT, pattern STRING) -> STRING",
    "(milliseconds BIGINT, pattern STRING, zone STRING) -> STRING",
    category="DATE / TIME",
    description="Milliseconds since 1970 as a text. Superseded by FORMAT_TIMESTAMP.",
    check=check_pattern,
)
def timestamptostring(milliseconds: int, pattern: str, zone_id: str = "UTC") -> str:
    return format_timestamp(from_unixtime(milliseconds), pattern, zone_id)


@scalar(
    "STRINGTOTIMESTAMP",
    "(text STRING, pattern STRING) -> BIGINT",
    "(text STRING, pattern STRING, zone STRING) -> BIGINT",
    category="DATE / TIME",
    description="The milliseconds since 1970 that a text stands for. Superseded by PARSE_TIMESTAMP.",
    check=check_pattern,
)
def stringtotimestamp(text: str, pattern: str, zone_id: str = "UTC") -> int:
    return unix_timestamp(parse_timestamp(text, pattern, zone_id))
