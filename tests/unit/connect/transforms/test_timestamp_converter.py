"""TimestampConverter: from each form to each other."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any

import pytest
from tests.unit.connect.transforms.cases import BadConfig, Case, by_default, check, check_bad_config, optional

from caudal.connect.data import (
    DATE_SCHEMA,
    INT32,
    INT64,
    STRING,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    Schema,
    map_of,
    struct,
)
from caudal.connect.transforms.timestamp_converter import TimestampConverterKey, TimestampConverterValue

MOMENT = datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC)
UNIX = 1_700_000_000_123
PATTERN = "yyyy-MM-dd HH:mm:ss.SSS"
TEXT = "2023-11-14 22:13:20.123"
MIDNIGHT = datetime(2023, 11, 14, tzinfo=UTC)
OF_DAY = datetime(1970, 1, 1, 22, 13, 20, 123_000, tzinfo=UTC)

FORMS: dict[str, tuple[Schema, Any, datetime]] = {
    "unix": (INT64, UNIX, MOMENT),
    "string": (STRING, TEXT, MOMENT),
    "Date": (DATE_SCHEMA, date(2023, 11, 14), MIDNIGHT),
    "Time": (TIME_SCHEMA, time(22, 13, 20, 123_000), OF_DAY),
    "Timestamp": (TIMESTAMP_SCHEMA, MOMENT, MOMENT),
}


def written(moment: datetime, form: str) -> Any:
    return {
        "unix": (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1),
        "string": moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond // 1000:03d}",
        "Date": moment.date(),
        "Time": moment.time(),
        "Timestamp": moment,
    }[form]


def pairs() -> list[Case]:
    """From each form to each, with a schema, for the whole value."""
    return [
        Case(
            f"{source} to {target}",
            {"target.type": target, "format": PATTERN},
            value,
            schema,
            written(moment, target),
            FORMS[target][0],
        )
        for source, (schema, value, moment) in FORMS.items()
        for target in FORMS
        if source != target
    ]


def parsed(pattern: str, text: str, becomes: datetime, java: str = "") -> Case:
    config = {"target.type": "Timestamp", "format": pattern}
    return Case(f"{text!r} by {pattern}", config, text, STRING, becomes, TIMESTAMP_SCHEMA, java=java)


def misfit(pattern: str, text: str, error: str, java: str = "") -> Case:
    config = {"target.type": "Timestamp", "format": pattern}
    return Case(f"{text!r} not by {pattern}", config, text, STRING, error=error, java=java)


def formatted(pattern: str, text: str) -> Case:
    return Case(f"as {pattern}", {"target.type": "string", "format": pattern}, MOMENT, TIMESTAMP_SCHEMA, text, STRING)


def unix(precision: str, number: int, becomes: datetime) -> list[Case]:
    config = {"unix.precision": precision}
    return [
        Case(
            f"{number} {precision} read",
            {**config, "target.type": "Timestamp"},
            number,
            INT64,
            becomes,
            TIMESTAMP_SCHEMA,
        ),
        Case(
            f"{number} {precision} written", {**config, "target.type": "unix"}, becomes, TIMESTAMP_SCHEMA, number, INT64
        ),
    ]


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]


ROW = struct("row", a=INT32, t=optional(INT64))
TO_TIMESTAMP = {"field": "t", "target.type": "Timestamp"}
NEW_ROW = struct("row", a=INT32, t=optional(TIMESTAMP_SCHEMA))
DEFAULT = by_default(optional(INT64), UNIX)

CASES = [
    *pairs(),
    *unix("seconds", 1_700_000_000, utc(2023, 11, 14, 22, 13, 20)),
    *unix("microseconds", 1_700_000_000_123_000, MOMENT),
    *unix("nanoseconds", 1_700_000_000_123_000_000, MOMENT),
    *unix("seconds", -1, utc(1969, 12, 31, 23, 59, 59)),
    Case(
        "microseconds are cut",
        {"target.type": "Timestamp", "unix.precision": "microseconds"},
        1_700_000_000_123_999,
        INT64,
        MOMENT,
        TIMESTAMP_SCHEMA,
    ),
    Case(
        "negative ones are cut to zero",
        {"target.type": "unix", "unix.precision": "seconds"},
        utc(1969, 12, 31, 23, 59, 59, 500_000),
        TIMESTAMP_SCHEMA,
        0,
        INT64,
    ),
    formatted("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2023-11-14T22:13:20.123Z"),
    formatted("EEE, dd MMM yyyy HH:mm:ss z", "Tue, 14 Nov 2023 22:13:20 UTC"),
    formatted("yy/M/d h:mm a", "23/11/14 10:13 PM"),
    formatted("'it''s' yyyy", "it's 2023"),
    formatted("yyyyy MMMM SSSSS", "02023 November 00123"),
    formatted("100% yyyy", "100% 2023"),
    parsed("yyyy-MM-dd", "2024-02-29", utc(2024, 2, 29)),
    parsed("yyyy-MM-dd", "2024-2-9", utc(2024, 2, 9)),
    parsed("yyyy-MM-dd", "2024-02-30", utc(2024, 3, 1)),
    parsed("yyyy-MM-dd", "2024-13-01", utc(2025, 1, 1)),
    parsed("yyyy-MM-dd", "2024-00-10", utc(2023, 12, 10)),
    parsed("yyyy-MM-dd", "2024-02-29 and more", utc(2024, 2, 29)),
    parsed("yyyyMMdd", "20240229", utc(2024, 2, 29)),
    parsed("yyyyMMddHHmmss", "20240229131415", utc(2024, 2, 29, 13, 14, 15)),
    parsed("yyyy-MM-dd'T'HH:mm:ss", "2024-02-29T13:14:15", utc(2024, 2, 29, 13, 14, 15)),
    parsed("yyyy-MM-dd'T'HH:mm:ss.SSSX", "2024-02-29T13:14:15.016+02", utc(2024, 2, 29, 11, 14, 15, 16_000)),
    parsed("yyyy-MM-dd HH:mm:ss XXX", "2024-02-29 13:14:15 -05:30", utc(2024, 2, 29, 18, 44, 15)),
    parsed("yyyy-MM-dd HH:mm:ssXX", "2024-02-29 13:14:15+0100", utc(2024, 2, 29, 12, 14, 15)),
    parsed("yyyy-MM-dd HH:mm:ssX", "2024-02-29 13:14:15Z", utc(2024, 2, 29, 13, 14, 15)),
    parsed("EEE, dd MMM yyyy HH:mm:ss Z", "Thu, 29 Feb 2024 13:14:15 +0100", utc(2024, 2, 29, 12, 14, 15)),
    parsed("dd MMMM yyyy HH:mm z", "29 february 2024 13:14 GMT", utc(2024, 2, 29, 13, 14)),
    parsed("dd MMM yyyy HH:mm z", "29 FEB 2024 13:14 PST", utc(2024, 2, 29, 21, 14)),
    parsed("yyyy-MM-dd hh:mm a", "2024-02-29 12:05 AM", utc(2024, 2, 29, 0, 5)),
    parsed("yyyy-MM-dd hh:mm a", "2024-02-29 01:05 pm", utc(2024, 2, 29, 13, 5)),
    parsed("yyyy-MM-dd KK:mm a", "2024-02-29 00:05 PM", utc(2024, 2, 29, 12, 5)),
    parsed("yyyy-MM-dd kk:mm", "2024-02-29 24:05", utc(2024, 2, 29, 0, 5)),
    parsed("yyyy-MM-dd HH:mm", "2024-02-29 25:05", utc(2024, 3, 1, 1, 5)),
    parsed("ss.SSS", "01.123456", utc(1970, 1, 1, 0, 2, 4, 456_000)),
    parsed("yy-MM-dd", "24-02-29", utc(2024, 2, 29)),
    parsed("yy-MM-dd", "99-02-28", utc(1999, 2, 28)),
    parsed("yy-MM-dd", "2024-02-29", utc(2024, 2, 29)),
    parsed("yyyy DDD", "2024 060", utc(2024, 2, 29)),
    parsed("HH:mm", "13:14", utc(1970, 1, 1, 13, 14)),
    parsed("yyyy", "2024", utc(2024, 1, 1)),
    parsed("G yyyy", "AD 2024", utc(2024, 1, 1)),
    misfit("yyyy-MM-dd", "today", "'today' does not fit the pattern yyyy-MM-dd: a number is expected at position 0"),
    misfit("yyyy-MM-dd", "2024/02/29", "'-' is missing at position 4"),
    misfit("yyyy-MM-dd", "2024-02", "'-' is missing at position 7"),
    misfit("yyyy-MM-dd", "", "a number is expected at position 0"),
    misfit("yyyyMMdd", "2024ab29", "2 digits are expected at position 4"),
    misfit("dd MMM yyyy", "29 Fev 2024", "one of January, February … is expected"),
    misfit("EEE d", " Thu 5", "one of Monday, Tuesday … is expected at position 0"),
    misfit("HH:mm XXX", "13:14 +01", "a time zone is expected at position 6"),
    misfit("HH:mm z", "13:14 nowhere", "a time zone is expected at position 6"),
    misfit("YYYY-ww", "2024-09", "the pattern has Y, which can be written and not read", java="Kafka reads weeks"),
    misfit("yyyy-MM-dd", "99999-01-01", "is not between the years 1 and 9999", java="Java's years go further"),
    Case("a field", TO_TIMESTAMP, {"a": 1, "t": UNIX}, ROW, {"a": 1, "t": MOMENT}, NEW_ROW),
    Case("a field that is null", TO_TIMESTAMP, {"a": 1, "t": None}, ROW, {"a": 1, "t": None}, NEW_ROW),
    Case(
        "a required field",
        {**TO_TIMESTAMP, "field": "a"},
        {"a": UNIX},
        struct("row", a=INT64),
        {"a": MOMENT},
        struct("row", a=TIMESTAMP_SCHEMA),
    ),
    Case(
        "a field that is not there", {**TO_TIMESTAMP, "field": "z"}, {"a": 1, "t": UNIX}, ROW, {"a": 1, "t": UNIX}, ROW
    ),
    Case(
        "name, version, words and that it is optional stay",
        TO_TIMESTAMP,
        {"a": 1, "t": UNIX},
        replace(ROW, version=2, doc="words", optional=True),
        {"a": 1, "t": MOMENT},
        replace(NEW_ROW, version=2, doc="words", optional=True),
    ),
    Case(
        "the default for null is converted, and not in the schema any more",
        TO_TIMESTAMP,
        {"t": None},
        struct("row", t=DEFAULT),
        {"t": MOMENT},
        struct("row", t=optional(TIMESTAMP_SCHEMA)),
    ),
    Case(
        "null in spite of the default",
        {**TO_TIMESTAMP, "replace.null.with.default": "false"},
        {"t": None},
        struct("row", t=DEFAULT),
        {"t": None},
        struct("row", t=optional(TIMESTAMP_SCHEMA)),
    ),
    Case("an optional whole", {"target.type": "Timestamp"}, UNIX, optional(INT64), MOMENT, optional(TIMESTAMP_SCHEMA)),
    Case("a whole that is null", {"target.type": "Timestamp"}, None, optional(INT64), None, optional(TIMESTAMP_SCHEMA)),
    Case("a struct that is null", TO_TIMESTAMP, None, optional(ROW), None, optional(NEW_ROW)),
    Case("null without a schema", TO_TIMESTAMP),
    Case("null without a schema, whole", {"target.type": "unix"}),
    Case(
        "a field, without a schema",
        {"field": "t", "target.type": "string", "format": PATTERN},
        {"a": 1, "t": UNIX},
        None,
        {"a": 1, "t": TEXT},
    ),
    Case(
        "a text to a number, without a schema",
        {"field": "t", "target.type": "unix", "format": PATTERN},
        {"t": TEXT},
        None,
        {"t": UNIX},
    ),
    Case("a whole, without a schema", {"target.type": "string", "format": PATTERN}, UNIX, None, TEXT),
    Case(
        "a datetime, without a schema",
        {"target.type": "unix"},
        MOMENT,
        None,
        UNIX,
        java="JSON without a schema has no times",
    ),
    Case(
        "a datetime of another zone",
        {"target.type": "unix"},
        MOMENT.astimezone(timezone(timedelta(hours=2))),
        TIMESTAMP_SCHEMA,
        UNIX,
        INT64,
    ),
    Case(
        "a date, without a schema",
        {"target.type": "unix"},
        date(1970, 1, 2),
        None,
        86_400_000,
        java="JSON without a schema has no times",
    ),
    Case("missing, without a schema", {"field": "z", "target.type": "unix"}, {"a": 1}, None, {"a": 1, "z": None}),
    Case(
        "a type that is no time, with a schema",
        {"target.type": "unix"},
        5,
        INT32,
        error="reads string, int64, Date, .* is int32",
    ),
    Case(
        "a field that is no time, with a schema",
        {"field": "a", "target.type": "unix"},
        {"a": 1, "t": 1},
        ROW,
        error="is int32",
    ),
    Case(
        "a type that is no time, without a schema",
        {"target.type": "unix"},
        True,
        error="reads texts, integers and times, and found bool",
    ),
    Case("a text without a pattern", {"target.type": "unix"}, TEXT, STRING, error="without a pattern: give `format`"),
    Case("a field of a text", TO_TIMESTAMP, "x", STRING, error="found string"),
    Case("a field of a map with a schema", TO_TIMESTAMP, {"t": "x"}, map_of(STRING, STRING), error="found map"),
    Case("a field of a text without a schema", TO_TIMESTAMP, "x", error="found str, without a schema"),
    Case(
        "a number out of range",
        {"target.type": "Timestamp"},
        1 << 62,
        INT64,
        error="is not between the years 1 and 9999",
        java="Java's years go further",
    ),
]
BAD_CONFIGS = [
    BadConfig("no target", {}, "target.type"),
    BadConfig("unknown target", {"target.type": "datetime"}, "target.type"),
    BadConfig("unknown precision", {"target.type": "unix", "unix.precision": "days"}, "unix.precision"),
    BadConfig("a text needs a pattern", {"target.type": "string"}, "needs a pattern: give `format`"),
    BadConfig(
        "no pattern",
        {"target.type": "string", "format": "bad-format"},
        "`format` bad-format is no pattern of SimpleDateFormat",
    ),
    BadConfig("too many X", {"target.type": "string", "format": "XXXX"}, "X may stand there three times at most"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_timestamp_converter(case: Case) -> None:
    check(TimestampConverterKey, case, "key")
    check(TimestampConverterValue, case, "value")


@pytest.mark.parametrize("case", BAD_CONFIGS, ids=lambda case: case.name)
def test_bad_configuration(case: BadConfig) -> None:
    check_bad_config(TimestampConverterValue, case)
