"""From the fields that a pattern has read (year, month, hour, …) to a DATE, a TIME or a TIMESTAMP.

The rules are those of java.time in its SMART style: the 31st of a shorter month is its last day, 24:00 is midnight at
the day's end, a day of the week that is not that of the date is an error. What a TIMESTAMP's pattern leaves out is
that of 1970-01-01T00:00.
"""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, time, timedelta

from caudal.ksql.functions.time_zones import Zone

# Fields by the names of java.time's ChronoField, which its messages give; and what they may be.
RANGES = {
    "YearOfEra": (1, 999999999),
    "Year": (-999999999, 999999999),
    "Era": (0, 1),
    "MonthOfYear": (1, 12),
    "QuarterOfYear": (1, 4),
    "DayOfMonth": (1, 31),
    "DayOfYear": (1, 366),
    "DayOfWeek": (1, 7),
    "AmPmOfDay": (0, 1),
    "HourOfDay": (0, 23),
    "ClockHourOfDay": (1, 24),
    "HourOfAmPm": (0, 11),
    "ClockHourOfAmPm": (1, 12),
    "MinuteOfHour": (0, 59),
    "SecondOfMinute": (0, 59),
    "NanoOfSecond": (0, 999_999_999),
    "MilliOfDay": (0, 86_400_000 - 1),
    "NanoOfDay": (0, 86_400_000_000_000 - 1),
}
DATE_FIELDS = frozenset(list(RANGES)[:8])
TIME_FIELDS = frozenset(list(RANGES)[8:])

Fields = dict[str, int]
_EPOCH_DAY = date(1970, 1, 1)


def date_of(fields: Fields) -> date:
    """What the fields leave out is that of 1970-01-01; a time of day may be there if it is 0:00."""
    checked = _checked(fields)
    if _clock(checked) != (0, 0):
        raise ValueError("Date format contains time field.")
    return _whole_date(checked) or _partial_date(checked)


def time_of(fields: Fields) -> time:
    checked = _checked(fields)
    wrong = next((one for one in checked if one in DATE_FIELDS), None)
    if wrong is not None:
        raise ValueError(f"Unsupported field: {wrong}")
    if not _has_clock(checked):
        raise ValueError("the format does not give a time of day")
    microseconds, _ = _clock(checked)
    return _time(microseconds)


def timestamp_of(fields: Fields, read_zone: Zone | None, zone: Zone) -> datetime:
    """`zone` holds where the text had none. In UTC, cut to milliseconds."""
    checked = _checked(fields)
    microseconds, days = _clock(checked)
    day = _whole_date(checked) or _partial_date(checked)
    local = datetime(day.year, day.month, day.day) + timedelta(days=days, microseconds=microseconds // 1000 * 1000)
    return in_zone(local, zone) if read_zone is None else local.replace(tzinfo=read_zone.info).astimezone(UTC)


def in_zone(local: datetime, zone: Zone) -> datetime:
    """What the clock of a zone shows, in UTC. An hour that clocks leave out counts as the next."""
    if zone.info is UTC:
        return local.replace(tzinfo=UTC)
    placed = local.replace(tzinfo=zone.info)
    return (placed if zone.is_fixed else _later_of_two(placed)).astimezone(UTC)


def _later_of_two(placed: datetime) -> datetime:
    """An hour that comes twice, when clocks go back: ksqlDB takes the one with the offset that the zone had on that day
    of 1970, if one of them has it (mostly winter time), and else the first."""
    second = placed.replace(fold=1)
    first_offset, second_offset = placed.utcoffset(), second.utcoffset()
    if first_offset is None or second_offset is None or first_offset <= second_offset:
        return placed
    in_1970 = datetime(1970, 1, 1, placed.hour, placed.minute, tzinfo=placed.tzinfo) + timedelta(
        days=placed.timetuple().tm_yday - 1
    )
    return second if in_1970.utcoffset() == second_offset else placed


def _checked(fields: Fields) -> Fields:
    """Within their ranges, year of era and the clock's hours turned into year and hour."""
    checked = dict(fields)
    for name, twelve in (("ClockHourOfDay", 24), ("ClockHourOfAmPm", 12)):
        if checked.get(name) == 0:  # which SMART lets pass
            checked[name] = twelve
    for name, value in checked.items():
        low, high = RANGES[name]
        if not low <= value <= high and not (name == "HourOfDay" and value == 24):
            raise ValueError(f"Invalid value for {name} (valid values {low} - {high}): {value}")
    if "YearOfEra" in checked:
        year = checked.pop("YearOfEra")
        year = year if checked.pop("Era", 1) == 1 else 1 - year
        if checked.setdefault("Year", year) != year:
            raise ValueError(f"Conflict found: Year {checked['Year']} differs from Year {year}")
    checked.pop("Era", None)
    if "ClockHourOfDay" in checked:
        checked["HourOfDay"] = checked.pop("ClockHourOfDay") % 24
    if "ClockHourOfAmPm" in checked:
        checked["HourOfAmPm"] = checked.pop("ClockHourOfAmPm") % 12
    if "AmPmOfDay" in checked and "HourOfAmPm" in checked:
        hour = checked.pop("AmPmOfDay") * 12 + checked.pop("HourOfAmPm")
        if checked.setdefault("HourOfDay", hour) != hour:
            raise ValueError(f"Conflict found: HourOfDay {checked['HourOfDay']} differs from HourOfDay {hour}")
    return checked


def _whole_date(fields: Fields) -> date | None:
    """Where the fields give all of it; the fields that it makes superfluous must agree."""
    year = fields.get("Year")
    if year is None:
        return None
    if "MonthOfYear" in fields and "DayOfMonth" in fields:
        month = fields["MonthOfYear"]
        last = calendar.monthrange(_year(year), month)[1]
        found = date(year, month, min(fields["DayOfMonth"], last))
        if fields.get("DayOfYear", found.timetuple().tm_yday) != found.timetuple().tm_yday:
            raise ValueError(f"Conflict found: DayOfYear {fields['DayOfYear']} differs from that of {found}")
    elif "DayOfYear" in fields:
        found = date(_year(year), 1, 1) + timedelta(days=fields["DayOfYear"] - 1)
        if found.year != year:
            raise ValueError(f"Invalid date 'DayOfYear 366' as '{year}' is not a leap year")
        if fields.get("MonthOfYear", found.month) != found.month or fields.get("DayOfMonth", found.day) != found.day:
            raise ValueError(f"Conflict found: the month or day differs from that of {found}")
    else:
        return None
    if fields.get("DayOfWeek", found.isoweekday()) != found.isoweekday():
        raise ValueError(
            f"Conflict found: Field DayOfWeek {fields['DayOfWeek']} differs from DayOfWeek {found.isoweekday()} "
            f"derived from {found}"
        )
    if fields.get("QuarterOfYear", (found.month + 2) // 3) != (found.month + 2) // 3:
        raise ValueError(f"Conflict found: the quarter differs from that of {found}")
    return found


def _partial_date(fields: Fields) -> date:
    """1970-01-01 with the fields that are there set one after the other, in Java's order."""
    found = _EPOCH_DAY
    if "DayOfWeek" in fields:
        found += timedelta(days=fields["DayOfWeek"] - found.isoweekday())
    if "DayOfMonth" in fields:
        found = _on(found.year, found.month, fields["DayOfMonth"])
    if "DayOfYear" in fields:
        if fields["DayOfYear"] == 366:
            raise ValueError("Leap day cannot be parsed without supplying the year field")
        found = date(found.year, 1, 1) + timedelta(days=fields["DayOfYear"] - 1)
    if "MonthOfYear" in fields:
        found = _on(found.year, fields["MonthOfYear"], found.day)
    if "Year" in fields:
        found = _on(_year(fields["Year"]), found.month, found.day)
    return found


def _on(year: int, month: int, day: int) -> date:
    return date(year, month, min(day, calendar.monthrange(year, month)[1]))


def _year(year: int) -> int:
    if not 1 <= year <= 9999:
        raise ValueError(f"year {year} is out of the range 1 - 9999 that dates have here")
    return year


def _has_clock(fields: Fields) -> bool:
    """Whether they give a time of day: an hour, and no gap between it and what follows."""
    if "NanoOfDay" in fields or "MilliOfDay" in fields:
        return True
    minute, second, nano = "MinuteOfHour" in fields, "SecondOfMinute" in fields, "NanoOfSecond" in fields
    return "HourOfDay" in fields and (minute or not (second or nano)) and (second or not nano)


def _clock(fields: Fields) -> tuple[int, int]:
    """Microseconds of the day, and the days that 24:00 adds."""
    if "NanoOfDay" in fields:
        return fields["NanoOfDay"] // 1000, 0
    if "MilliOfDay" in fields:
        return fields["MilliOfDay"] * 1000, 0
    hour = fields.get("HourOfDay", fields.get("HourOfAmPm", 0) + 12 * fields.get("AmPmOfDay", 0))
    rest = (fields.get("MinuteOfHour", 0) * 60 + fields.get("SecondOfMinute", 0)) * 1_000_000
    rest += fields.get("NanoOfSecond", 0) // 1000
    if hour == 24:
        if rest:
            raise ValueError("Invalid value for HourOfDay (valid values 0 - 23): 24")
        return 0, 1
    return hour * 3_600_000_000 + rest, 0


def _time(microseconds: int) -> time:
    milliseconds = microseconds // 1000
    seconds = milliseconds // 1000
    return time(seconds // 3600, seconds // 60 % 60, seconds % 60, milliseconds % 1000 * 1000)
