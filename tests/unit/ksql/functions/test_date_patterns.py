"""Patterns of dates and times: what java.time's DateTimeFormatter writes and reads (which was asked of it)."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caudal.ksql.functions.date_patterns import Pattern, compiled
from caudal.ksql.functions.time_zones import Zone, zone

MOMENT = datetime(2021, 9, 5, 20, 4, 5, 678000, tzinfo=UTC)  # a Sunday; 13:04:05 in Los Angeles

WRITTEN = {
    "y yy yyy yyyy yyyyy u uuuu": "2021 21 2021 2021 02021 2021 2021",
    "G GGGG GGGGG": "AD Anno Domini A",
    "M MM MMM MMMM MMMMM L LLL": "9 09 Sep September S 9 Sep",
    "Q QQ QQQ QQQQ q": "3 03 Q3 3rd quarter 3",
    "d dd D DDD": "5 05 248 248",
    "E EEE EEEE EEEEE e ee c": "Sun Sun Sunday S 1 01 1",
    "Y YYYY w W": "2021 2021 37 2",
    "a h hh H HH K KK k kk": "PM 1 01 13 13 1 01 13 13",
    "m mm s ss": "4 04 5 05",
    "S SS SSS SSSSSS SSSSSSSSS": "6 67 678 678000 678000000",
    "A n N": "47045678 678000000 47045678000000",
    "z zzzz VV": "PDT Pacific Daylight Time America/Los_Angeles",
    "Z ZZZZ ZZZZZ": "-0700 GMT-07:00 -07:00",
    "X XX XXX XXXX XXXXX": "-07 -0700 -07:00 -0700 -07:00",
    "x xx xxx": "-07 -0700 -07:00",
    "O OOOO": "GMT-7 GMT-07:00",
    "yyyy-MM-dd'T'HH:mm:ss.SSSX": "2021-09-05T13:04:05.678-07",
    "h 'o''clock' a": "1 o'clock PM",
    "''yy": "'21",
    "yyyy[-MM[-dd]]": "2021-09-05",
    "yyyy年MM月": "2021年09月",
}


@pytest.mark.parametrize(("pattern", "text"), WRITTEN.items())
def test_writes_a_timestamp(pattern: str, text: str) -> None:
    assert compiled(pattern).format_timestamp(MOMENT, zone("America/Los_Angeles")) == text


@pytest.mark.parametrize(
    ("name", "text"),
    {
        "UTC": "Z +0000 +00:00 GMT UTC Coordinated Universal Time UTC",
        "Z": "Z +0000 +00:00 GMT Z Z Z",
        "+05:30": "+0530 +0530 +05:30 GMT+5:30 +05:30 +05:30 +05:30",
        "Asia/Kolkata": "+0530 +0530 +05:30 GMT+5:30 IST India Standard Time Asia/Kolkata",
        "Europe/Zurich": "+02 +0200 +02:00 GMT+2 CEST Central European Summer Time Europe/Zurich",
        "America/Sao_Paulo": "-03 -0300 -03:00 GMT-3 BRT Brasilia Standard Time America/Sao_Paulo",
    }.items(),
)
def test_writes_zones(name: str, text: str) -> None:
    assert compiled("X xx xxx O z zzzz VV").format_timestamp(MOMENT, zone(name)) == text


READ = [
    ("2021-09-05 13:04:05.678", "yyyy-MM-dd HH:mm:ss.SSS", "2021-09-05T13:04:05.678"),
    ("2021-09-05T13:04:05Z", "yyyy-MM-dd'T'HH:mm:ssX", "2021-09-05T13:04:05.000"),
    ("2021-09-05T13:04:05+0230", "yyyy-MM-dd'T'HH:mm:ssX", "2021-09-05T10:34:05.000"),
    ("2021-09-05T13:04:05-07:00", "yyyy-MM-dd'T'HH:mm:ssXXX", "2021-09-05T20:04:05.000"),
    ("2021-09-05 13:04 PDT", "yyyy-MM-dd HH:mm z", "2021-09-05T20:04:00.000"),
    ("2021-09-05 13:04 Pacific Daylight Time", "yyyy-MM-dd HH:mm zzzz", "2021-09-05T20:04:00.000"),
    ("2021-09-05 13:04 Europe/Zurich", "yyyy-MM-dd HH:mm VV", "2021-09-05T11:04:00.000"),
    ("2021-09-05 13:04 GMT+2", "yyyy-MM-dd HH:mm O", "2021-09-05T11:04:00.000"),
    ("20210905", "yyyyMMdd", "2021-09-05T00:00:00.000"),
    ("210905", "yyMMdd", "2021-09-05T00:00:00.000"),
    ("20210905130405678", "yyyyMMddHHmmssSSS", "2021-09-05T13:04:05.678"),
    ("9/5/21", "M/d/yy", "2021-09-05T00:00:00.000"),
    ("sunday, 5 SEPTEMBER 2021", "EEEE, d MMMM yyyy", "2021-09-05T00:00:00.000"),
    ("2021-248", "yyyy-DDD", "2021-09-05T00:00:00.000"),
    ("+12021-01-01", "yyyy-MM-dd", "out of the range"),
    ("12:30 am", "hh:mm a", "1970-01-01T00:30:00.000"),
    ("11:30", "hh:mm", "1970-01-01T11:30:00.000"),
    ("24:15", "kk:mm", "1970-01-01T00:15:00.000"),
    ("Fri", "EEE", "1970-01-02T00:00:00.000"),
    ("02-31", "MM-dd", "1970-02-28T00:00:00.000"),
    ("2021-09", "yyyy-MM[-dd]", "2021-09-01T00:00:00.000"),
    ("86399999", "A", "1970-01-01T23:59:59.999"),
    ("2021-09-05 13:04:05.6", "yyyy-MM-dd HH:mm:ss.SSS", "could not be parsed at index 20"),
    ("2021-9-05", "yyyy-MM-dd", "could not be parsed at index 5"),
    ("02021-09-05", "yyyy-MM-dd", "could not be parsed at index 0"),
    ("2021-09-05 ", "yyyy-MM-dd", "unparsed text found at index 10"),
    ("202109051", "yyyyMMdd", "could not be parsed at index 0"),
    ("Mon 2021-09-05", "EEE yyyy-MM-dd", "Conflict found: Field DayOfWeek 1"),
    ("2021-02-30 25:00", "yyyy-MM-dd HH:mm", "Invalid value for HourOfDay (valid values 0 - 23): 25"),
    ("2021-00-10", "yyyy-MM-dd", "Invalid value for MonthOfYear (valid values 1 - 12): 0"),
    ("0000-01-10", "yyyy-MM-dd", "Invalid value for YearOfEra"),
    ("2021-09-05T10+19", "yyyy-MM-dd'T'HHX", "could not be parsed at index 13"),
    ("10 11", "HH HH", "could not be parsed at index 3"),
]


@pytest.mark.parametrize(("text", "pattern", "expected"), READ)
def test_reads_a_timestamp(text: str, pattern: str, expected: str) -> None:
    assert expected in _shown(compiled(pattern, True), text, zone("UTC"))


def _shown(pattern: Pattern, text: str, default: Zone) -> str:
    """The timestamp, or what is wrong."""
    try:
        found = pattern.timestamp(text, default)
    except (ValueError, OverflowError) as error:
        return str(error)
    assert found.tzinfo is UTC
    return found.replace(tzinfo=None).isoformat(timespec="milliseconds")


@pytest.mark.parametrize(
    ("pattern", "message"),
    {
        "yyyy-bb": "Unknown pattern letter: b",
        "HHH": "Too many pattern letters: H",
        "SSSSSSSSSS": "Maximum width must be from 1 to 9",
        "VVV": "Pattern letter count must be 2: V",
        "yyyy]": "without previous [",
        "yyyy{": "reserved character: '{'",
        "'open": "incomplete string literal",
    }.items(),
)
def test_refuses_what_is_no_pattern(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        compiled(pattern)


def test_a_moment_without_a_field_leaves_its_optional_section_out() -> None:
    pattern = compiled("[yyyy-MM-dd][ HH:mm][ X]")
    assert pattern.format_date(date(2021, 9, 5)) == "2021-09-05"
    assert pattern.format_time(time(13, 4)) == " 13:04"
    assert pattern.format_timestamp(MOMENT) == "2021-09-05 20:04 Z"


MILLISECONDS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=UTC)
)
WHOLE = [
    "yyyy-MM-dd HH:mm:ss.SSS",
    "yyyyMMddHHmmssSSS",
    "d MMMM uuuu h:m:s.SSS a",
    "SSS ss:mm:kk DDD yyyy",
    "EEE, dd MMM yyyy HH:mm:ss.SSS Z",
    "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
    "yyyy-MM-dd A",
]


@given(MILLISECONDS, st.sampled_from(WHOLE), st.integers(-18 * 60, 18 * 60))
def test_what_is_written_is_read_back(moment: datetime, pattern: str, minutes: int) -> None:
    written_in = zone("UTC") if "Z" not in pattern and "X" not in pattern else zone(f"{_offset(minutes)}")
    text = compiled(pattern).format_timestamp(moment, written_in)
    assert compiled(pattern).timestamp(text) == moment


def _offset(minutes: int) -> str:
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


@given(
    st.sampled_from(["yyyy-MM-dd HH:mm:ss.SSS", "yyyyMMddHHmm", "dd/MM/yyyy", "uuuu-MM-dd'T'HH:mm:ssX", "ddMMyyyyHHZ"]),
    MILLISECONDS,
    st.integers(0, 30),
    st.sampled_from("0123456789-+Z x"),
)
def test_the_shortcut_reads_and_writes_as_the_elements_do(pattern: str, moment: datetime, at: int, sign: str) -> None:
    quick, plain = Pattern(pattern, False), Pattern(pattern, False)
    assert quick._fast is not None
    plain._fast = None
    new_york = zone("America/New_York")
    text = quick.format_timestamp(moment)
    assert text == plain.format_timestamp(moment)
    for one in (text, text[:at] + sign + text[at + 1 :]):
        assert _shown(quick, one, new_york) == _shown(plain, one, new_york)


def test_hours_that_clocks_leave_out_or_show_twice() -> None:
    los_angeles = zone("America/Los_Angeles")
    pattern = compiled("yyyy-MM-dd HH:mm")
    assert pattern.timestamp("2021-03-14 02:30", los_angeles) == datetime(2021, 3, 14, 10, 30, tzinfo=UTC)
    assert pattern.timestamp("2021-11-07 01:30", los_angeles) == datetime(2021, 11, 7, 9, 30, tzinfo=UTC)
    later = compiled("yyyy-MM-dd HH:mm X").format_timestamp(datetime(2021, 11, 7, 8, 30, tzinfo=UTC), los_angeles)
    assert later == "2021-11-07 01:30 -07"
    assert compiled("yyyy-MM-dd HH:mm X").timestamp(later) == datetime(2021, 11, 7, 8, 30, tzinfo=UTC)


@pytest.mark.parametrize("name", ["", "Mars", "../etc/passwd", "+19:00", "+5:30", "utc", "+1234567", "posixrules"])
def test_there_is_no_such_zone(name: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)zone"):
        zone(name)


@pytest.mark.parametrize(
    ("name", "minutes"), {"+5": 300, "-0530": -330, "UTC+01:15": 75, "GMT-3": -180, "UT": 0, "EST5EDT": -300}.items()
)
def test_zones_by_their_java_names(name: str, minutes: int) -> None:
    assert zone(name).info.utcoffset(datetime(2021, 1, 15)) == timedelta(minutes=minutes)
