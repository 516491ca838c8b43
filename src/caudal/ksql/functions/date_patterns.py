"""Patterns of dates and times, as java.time's DateTimeFormatter has them: `yyyy-MM-dd'T'HH:mm:ss.SSSX`.

Letters: y u (year), Y (of weeks; writing only), G, M L, Q q, d, D, E, e c, w W (writing only), a, h H K k, m, s, S,
A n N, z, Z, X x, O, VV. A run of a letter gives width or style; text in quotes, and what is no letter, stands for
itself; what is in [brackets] is optional. Words are English; weeks begin on Sunday (as in the United States).
Not here: B, F, g, p, v.

A pattern is compiled once (`compiled` keeps them). `date_pattern_shortcut.py` has a quicker way for the usual ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any

from caudal.ksql.functions.date_fields import date_of, in_zone, time_of, timestamp_of
from caudal.ksql.functions.date_pattern_elements import (
    Element,
    Fraction,
    GmtOffset,
    Literal,
    Number,
    Offset,
    Reading,
    Section,
    TwoDigitYear,
    Word,
    Written,
    ZoneId,
    ZoneName,
)
from caudal.ksql.functions.date_pattern_shortcut import fixed_widths
from caudal.ksql.functions.time_zones import UTC_ZONE, Zone

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_QUARTERS = ("1st quarter", "2nd quarter", "3rd quarter", "4th quarter")

_Value = Callable[[Any], int]
_SIMPLE: dict[str, tuple[str, str, _Value]] = {  # name, what it needs, its value
    "d": ("DayOfMonth", "date", lambda moment: int(moment.day)),
    "h": ("ClockHourOfAmPm", "time", lambda moment: moment.hour % 12 or 12),
    "H": ("HourOfDay", "time", lambda moment: int(moment.hour)),
    "k": ("ClockHourOfDay", "time", lambda moment: moment.hour or 24),
    "K": ("HourOfAmPm", "time", lambda moment: int(moment.hour % 12)),
    "m": ("MinuteOfHour", "time", lambda moment: int(moment.minute)),
    "s": ("SecondOfMinute", "time", lambda moment: int(moment.second)),
}
_LONG: dict[str, tuple[str, _Value]] = {
    "A": ("MilliOfDay", lambda moment: _nano_of_day(moment) // 1_000_000),
    "n": ("NanoOfSecond", lambda moment: moment.microsecond * 1000),
    "N": ("NanoOfDay", lambda moment: _nano_of_day(moment)),
}
_OFFSETS = {  # X to XXXXX
    1: {"minutes": "some"},
    2: {},
    3: {"colon": ":"},
    4: {"seconds": "some"},
    5: {"colon": ":", "seconds": "some"},
}


@lru_cache(maxsize=1000)
def compiled(pattern: str, ignores_case: bool = False) -> Pattern:
    """ValueError where the pattern is not one.

    >>> compiled("EEE, d MMM yyyy").date("Fri, 5 Feb 2021")
    datetime.date(2021, 2, 5)
    """
    return Pattern(pattern, ignores_case)


def check_pattern(arguments: Sequence[Any]) -> None:
    """Of a call with the pattern as its second argument, where that is a literal."""
    if arguments[1] is not None:
        compiled(arguments[1])


class Pattern:
    def __init__(self, pattern: str, ignores_case: bool) -> None:
        self.pattern = pattern
        self.ignores_case = ignores_case
        self.elements = _elements(pattern)
        self._by_kind: dict[str, list[Element]] = {}
        self._fast = fixed_widths(pattern)

    def format_timestamp(self, moment: datetime, zone: Zone = UTC_ZONE) -> str:
        local = moment if zone.info is moment.tzinfo else moment.astimezone(zone.info)
        if self._fast is not None and not self._fast.has_offset:
            return self._fast.write(local)
        return "".join([one.write(local, zone) for one in self._writers("date time zone")])

    def format_date(self, moment: date) -> str:
        return "".join([one.write(moment, None) for one in self._writers("date")])

    def format_time(self, moment: time) -> str:
        return "".join([one.write(moment, None) for one in self._writers("time")])

    def timestamp(self, text: str, zone: Zone = UTC_ZONE) -> datetime:
        """In UTC; `zone` holds where the text has none."""
        if self._fast is not None:
            found = self._fast.read(text)
            if found is not None:
                return found if found.tzinfo is UTC else in_zone(found, zone)
        fields, read_zone = self.read(text)
        return timestamp_of(fields, read_zone, zone)

    def date(self, text: str) -> date:
        return date_of(self.read(text)[0])

    def time(self, text: str) -> time:
        return time_of(self.read(text)[0])

    def read(self, text: str) -> tuple[dict[str, int], Zone | None]:
        """The fields by java.time's names, and the zone or offset."""
        reading = Reading(text, self.ignores_case)
        at = 0
        for one in self.elements:
            at = one.read(reading, at)
            if at < 0:
                raise ValueError(f"Text '{text}' could not be parsed at index {~at}")
        if at < len(text):
            raise ValueError(f"Text '{text}' could not be parsed, unparsed text found at index {at}")
        return reading.fields, reading.zone

    def _writers(self, kind: str) -> list[Element]:
        """The elements for a kind of moment: optional sections that need what it has not are left out."""
        found = self._by_kind.get(kind)
        if found is None:
            found = self._by_kind[kind] = _writers(self.elements, kind.split())
        return found


def _writers(elements: list[Element], has: list[str]) -> list[Element]:
    made: list[Element] = []
    for one in elements:
        if isinstance(one, Section):
            try:
                made.extend(_writers(one.elements, has))
            except ValueError:
                continue
        elif one.needs and one.needs not in has:
            what = getattr(one, "name", None)
            raise ValueError(f"Unsupported field: {what}" if what else "there is no time zone to be formatted")
        else:
            made.append(one)
    return made


def _elements(pattern: str) -> list[Element]:
    open_sections: list[list[Element]] = [[]]
    last_number: list[Number | None] = [None]  # of each open section: what numbers right after it take digits from
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign.isascii() and sign.isalpha():
            end = at
            while end < len(pattern) and pattern[end] == sign:
                end += 1
            made = _letter(sign, end - at)
            open_sections[-1].append(made)
            last_number[-1] = _side_by_side(last_number[-1], made)
            at = end
            continue
        at += 1
        if sign == "[":
            last_number[-1] = None
            open_sections.append([])
            last_number.append(None)
            continue
        if sign == "]":
            if len(open_sections) == 1:
                raise ValueError("Pattern invalid as it contains ] without previous [")
            section = Section(open_sections.pop())
            last_number.pop()
            open_sections[-1].append(section)
        elif sign in "{}#":
            raise ValueError(f"Pattern includes reserved character: '{sign}'")
        elif sign == "'":
            text, at = _quoted(pattern, at)
            open_sections[-1].append(Literal(text))
        else:
            open_sections[-1].append(Literal(sign))
        last_number[-1] = None
    while len(open_sections) > 1:
        section = Section(open_sections.pop())
        open_sections[-1].append(section)
    return open_sections[0]


def _quoted(pattern: str, at: int) -> tuple[str, int]:
    """After an opening quote: the text, and where the pattern goes on. Two quotes are one."""
    text = ""
    start = at
    while at < len(pattern):
        if pattern[at] != "'":
            text += pattern[at]
            at += 1
        elif pattern[at + 1 : at + 2] == "'":
            text += "'"
            at += 2
        else:
            return text or "'", at + 1
    raise ValueError(f"Pattern ends with an incomplete string literal: {pattern[start - 1 :]}")


def _side_by_side(before: Number | None, made: Element) -> Number | None:
    """Numbers with nothing between them: the first, if it has no fixed width, leaves the others their digits."""
    if not isinstance(made, Number):
        return None
    if before is None:
        return made
    if made.low == made.high and made.sign == "never":
        before.following += made.high
        made.following = -1
        return before
    if before.following == 0:
        before.following = -1
    return made


def _letter(letter: str, count: int) -> Element:
    if letter in "yu":
        return _year(letter, count)
    if letter in "MLQqEecG":
        return _word(letter, count)
    if letter in _SIMPLE:
        _at_most(letter, count, 2)
        name, needs, value = _SIMPLE[letter]
        return Number(name, needs, value, 1, 19, "normal") if count == 1 else Number(name, needs, value, 2, 2)
    if letter == "D":
        _at_most(letter, count, 3)
        if count == 1:
            return Number("DayOfYear", "date", _day_of_year, 1, 19, "normal")
        return Number("DayOfYear", "date", _day_of_year, count, 3)
    if letter == "S":
        if count > 9:
            raise ValueError(f"Maximum width must be from 1 to 9 inclusive but was {count}")
        return Fraction("NanoOfSecond", "time", _LONG["n"][1], count, count)
    if letter in _LONG:
        return Number(_LONG[letter][0], "time", _LONG[letter][1], count, 19)
    if letter == "a":
        _at_most(letter, count, 1)
        return Word("AmPmOfDay", "time", lambda moment: moment.hour // 12, ("AM", "PM"), first=0)
    if letter in "YwW":
        return Written(letter, "date", lambda moment: _of_week(letter, count, moment))
    return _zone(letter, count)


def _year(letter: str, count: int) -> Element:
    name = "YearOfEra" if letter == "y" else "Year"
    if count == 2:
        return TwoDigitYear(name, "date", _year_of, 2, 2)
    if count > 19:
        raise ValueError(f"Too many pattern letters: {letter}")
    return Number(name, "date", _year_of, count, 19, "normal" if count < 4 else "beyond")


def _word(letter: str, count: int) -> Element:
    _at_most(letter, count, 5)
    if letter == "G":
        texts = {4: ("Before Christ", "Anno Domini"), 5: ("B", "A")}.get(count, ("BC", "AD"))
        return Word("Era", "date", lambda moment: 1, texts, first=0)
    if letter in "ec" and count <= 2:
        if letter == "c" and count == 2:
            raise ValueError('Invalid pattern "cc"')
        return _LocalDay("DayOfWeek", "date", _day_from_sunday, count, 2)
    if letter in "MLQq" and count <= 2:
        name, value = ("MonthOfYear", _month_of) if letter in "ML" else ("QuarterOfYear", _quarter_of)
        return Number(name, "date", value, 1, 19, "normal") if count == 1 else Number(name, "date", value, 2, 2)
    if letter in "ML":
        return Word("MonthOfYear", "date", _month_of, _styled(_MONTHS, count), is_readable=count != 5)
    if letter in "Qq":
        quarters = {3: ("Q1", "Q2", "Q3", "Q4"), 4: _QUARTERS, 5: ("1", "2", "3", "4")}[count]
        return Word("QuarterOfYear", "date", _quarter_of, quarters)
    return Word(
        "DayOfWeek", "date", lambda moment: int(moment.isoweekday()), _styled(_DAYS, count), is_readable=count != 5
    )


def _styled(words: list[str], count: int) -> list[str]:
    """In full for four letters, one letter for five, else three."""
    return words if count == 4 else [word[:1] if count == 5 else word[:3] for word in words]


class _LocalDay(Number):
    """The day of the week from 1 for Sunday."""

    def keep(self, reading: Reading, value: int, start: int, end: int) -> int:
        return reading.set("DayOfWeek", 7 if value == 1 else value - 1, start, end) if 1 <= value <= 7 else ~start


def _zone(letter: str, count: int) -> Element:
    if letter == "V":
        if count != 2:
            raise ValueError(f"Pattern letter count must be 2: {letter}")
        return ZoneId()
    if letter == "z":
        _at_most(letter, count, 4)
        return ZoneName(is_full=count == 4)
    if letter == "O":
        if count not in (1, 4):
            raise ValueError(f"Pattern letter count must be 1 or 4: {letter}")
        return GmtOffset(is_full=count == 4)
    if letter == "Z":
        _at_most(letter, count, 5)
        if count == 4:
            return GmtOffset(is_full=True)
        return Offset("Z", colon=":", seconds="some") if count == 5 else Offset("+0000")
    if letter in "Xx":
        _at_most(letter, count, 5)
        zero = "Z" if letter == "X" else {1: "+00", 2: "+0000", 4: "+0000"}.get(count, "+00:00")
        return Offset(zero, **_OFFSETS[count])
    raise ValueError(f"Unknown pattern letter: {letter}")


def _at_most(letter: str, count: int, most: int) -> None:
    if count > most:
        raise ValueError(f"Too many pattern letters: {letter}")


def _year_of(moment: Any) -> int:
    return int(moment.year)


def _month_of(moment: Any) -> int:
    return int(moment.month)


def _quarter_of(moment: Any) -> int:
    return (int(moment.month) + 2) // 3


def _day_of_year(moment: Any) -> int:
    return int(moment.timetuple().tm_yday)


def _day_from_sunday(moment: Any) -> int:
    return int(moment.isoweekday()) % 7 + 1


def _nano_of_day(moment: Any) -> int:
    return int((moment.hour * 3600 + moment.minute * 60 + moment.second) * 1_000_000 + moment.microsecond) * 1000


def _of_week(letter: str, count: int, moment: Any) -> str:
    """Weeks begin on Sunday; the first of a year or month is the one with its first day."""
    day = date(moment.year, moment.month, moment.day)
    if letter == "W":
        first = day.replace(day=1)
        return str((day.day + first.isoweekday() % 7 - 1) // 7 + 1)
    saturday = day + timedelta(days=6 - day.isoweekday() % 7)
    year = saturday.year
    if letter == "Y":
        return f"{year % 100:02}" if count == 2 else f"{year:0{count}}"
    first = date(year, 1, 1)
    first -= timedelta(days=first.isoweekday() % 7)
    return f"{(day - first).days // 7 + 1:0{min(count, 2)}}"
