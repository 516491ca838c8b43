"""Patterns of java.text.SimpleDateFormat (`yyyy-MM-dd'T'HH:mm:ss.SSSXXX`), in UTC and in English, to milliseconds.

Reading is lenient, as Java's is by default: the 32nd of January is the 1st of February, what stands behind the last
element is not looked at, and `SSS` takes all digits there are. What the pattern does not say is 1970-01-01T00:00:00Z.
Letters: G y Y M L w W D d F E u a H k K h m s S z Z X; those of weeks (Y w W F) are for writing only.
A pattern is not one of java.time's (`caudal.ksql.functions.date_patterns`): u, S, z and the leniency differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LETTERS = "GyYMLwWDdFEuaHkKhmsSzZX"
_NUMBERS = "yDdHkKhmsSu"  # and M, L of one or two letters
_ZONES = {
    "UTC": 0, "GMT": 0, "UT": 0, "Z": 0, "EST": -300, "EDT": -240, "CST": -360, "CDT": -300, "MST": -420, "MDT": -360,
    "PST": -480, "PDT": -420, "CET": 60, "CEST": 120,
}  # fmt: skip
_OFFSET = re.compile(r"(?:GMT|UTC)?([+-])(\d\d?):?(\d\d)?")
_ISO_OFFSETS = {
    1: re.compile(r"([+-])(\d\d)"),
    2: re.compile(r"([+-])(\d\d)(\d\d)"),
    3: re.compile(r"([+-])(\d\d):(\d\d)"),
}
_DIGITS = re.compile(r"[ \t]*(-?[0-9]+)")

# What each letter writes: a format of `%`, and Python's expression for it over `d`, a datetime in UTC.
_WRITTEN = {
    "D": "d.timetuple().tm_yday",
    "d": "d.day",
    "F": "(d.day + 6) // 7",
    "u": "d.isoweekday()",
    "H": "d.hour",
    "k": "(d.hour or 24)",
    "K": "d.hour % 12",
    "h": "(d.hour % 12 or 12)",
    "m": "d.minute",
    "s": "d.second",
    "S": "d.microsecond // 1000",
    "w": "week_of_year(d)[1]",
    "W": "week_of_month(d)",
}


class _Element(NamedTuple):
    letter: str  # "" for a text
    width: int
    text: str = ""


class SimpleDateFormat:
    """Raises ValueError for a pattern that is none.

    >>> SimpleDateFormat("EEE, d MMM yyyy HH:mm:ss Z").write(datetime(2024, 2, 29, 23, 5, 7, tzinfo=UTC))
    'Thu, 29 Feb 2024 23:05:07 +0000'
    >>> SimpleDateFormat("yyyy-MM-dd").read("2024-02-30")
    datetime.datetime(2024, 3, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._elements = _elements(pattern)
        self.has_milliseconds = any(each.letter == "S" for each in self._elements)
        self.write: Callable[[datetime], str] = _writer(self._elements)
        self._quick = _quick_reader(self._elements)

    def read(self, text: str) -> datetime:
        """Raises ValueError when the text does not fit, or is no time between the years 1 and 9999."""
        if self._quick is not None and (found := self._quick(text)) is not None:
            return found
        try:
            return _Reading(text).read(self._elements)
        except OverflowError:
            raise ValueError(f"{text!r} is not between the years 1 and 9999") from None


def _elements(pattern: str) -> list[_Element]:
    elements: list[_Element] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "'":
            end = at + 1
            text = ""
            while True:
                close = pattern.find("'", end)
                if close < 0:
                    raise ValueError("a quote is not closed")
                text += pattern[end:close]
                if pattern[close + 1 : close + 2] != "'" or close == at + 1:
                    break
                text += "'"
                end = close + 2
            elements.append(_Element("", 0, text or "'"))
            at = close + 1
        elif letter.isascii() and letter.isalpha():
            if letter not in _LETTERS:
                raise ValueError(f"the letter {letter} has no meaning: put texts in quotes")
            end = at
            while end < len(pattern) and pattern[end] == letter:
                end += 1
            if letter == "X" and end - at > 3:
                raise ValueError("X may stand there three times at most")
            elements.append(_Element(letter, end - at))
            at = end
        else:
            elements.append(_Element("", 0, letter))
            at += 1
    return elements


def _writer(elements: list[_Element]) -> Callable[[datetime], str]:
    """One `%` for all. The source has only expressions of this file: texts of the pattern are in the template."""
    template = ""
    expressions = []
    for letter, count, text in elements:
        if not letter:
            template += text.replace("%", "%%")
            continue
        form, expression = _written(letter, count)
        template += form
        if expression:
            expressions.append(expression)
    source = f"lambda d: template % ({', '.join(expressions)}{',' if expressions else ''})"
    names = {
        "template": template,
        "months": _MONTHS,
        "days": _DAYS,
        "week_of_year": _week_of_year,
        "week_of_month": _week_of_month,
    }
    return eval(source, names)  # type: ignore[no-any-return]


def _written(letter: str, count: int) -> tuple[str, str]:
    match letter:
        case "y" | "Y":
            year = "d.year" if letter == "y" else "week_of_year(d)[0]"
            return ("%02d", f"{year} % 100") if count == 2 else (f"%0{count}d", year)
        case "M" | "L":
            if count >= 3:
                return "%s", "months[d.month - 1]" + ("" if count > 3 else "[:3]")
            return f"%0{count}d", "d.month"
        case "E":
            return "%s", "days[d.weekday()]" + ("" if count > 3 else "[:3]")
        case "a":
            return "%s", "'PM' if d.hour >= 12 else 'AM'"
        case "G":
            return "AD", ""
        case "z":
            return ("Coordinated Universal Time" if count > 3 else "UTC"), ""
        case "Z":
            return "+0000", ""
        case "X":
            return "Z", ""
    return f"%0{count}d", _WRITTEN[letter]


def _week_of_year(day: datetime) -> tuple[int, int]:
    """Year and week as in the United States: weeks begin on Sunday, the first has the first of January."""
    saturday = day + timedelta(days=6 - day.isoweekday() % 7)
    first = date(saturday.year, 1, 1)
    sunday = first - timedelta(days=first.isoweekday() % 7)
    return saturday.year, (day.date() - sunday).days // 7 + 1


def _week_of_month(day: datetime) -> int:
    return (day.day + day.replace(day=1).isoweekday() % 7 - 1) // 7 + 1


_FIXED = {
    "yyyy": "year",
    "MM": "month",
    "dd": "day",
    "HH": "hour",
    "mm": "minute",
    "ss": "second",
    "SSS": "millisecond",
}


def _quick_reader(elements: list[_Element]) -> Callable[[str], datetime | None] | None:
    """One regular expression for the usual patterns; what it does not match is read element by element."""
    expression = ""
    names = []
    for letter, count, text in elements:
        if not letter:
            expression += re.escape(text)
            continue
        name = _FIXED.get(letter * count)
        if name is None or name in names:
            return None
        names.append(name)
        expression += f"([0-9]{{{count}}})"
    # With a full date or not at all: numbers that run together, or are longer, need the rules of `_Reading`.
    if not {"year", "month", "day"} <= set(names):
        return None
    match = re.compile(expression).fullmatch
    places = [names.index(name) if name in names else -1 for name in _FIXED.values()]
    year, month, day, hour, minute, second, milli = places

    def read(text: str) -> datetime | None:
        found = match(text)
        if found is None:
            return None
        numbers = [*map(int, found.groups()), 0]
        try:
            return datetime(
                numbers[year], numbers[month], numbers[day], numbers[hour], numbers[minute], numbers[second],
                numbers[milli] * 1000, UTC,
            )  # fmt: skip
        except ValueError:  # the 30th of February, which leniency has a day for
            return None

    return read


class _Reading:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[str, int] = {}
        self.offset = 0  # minutes

    def read(self, elements: list[_Element]) -> datetime:
        for number, element in enumerate(elements):
            if not element.letter:
                self._literal(element.text)
            else:
                following = elements[number + 1] if number + 1 < len(elements) else None
                # Numbers that run together have as many digits as letters; the last of them has all that are left.
                self._element(element, following is not None and _is_number(following))
        return self._moment()

    def _literal(self, text: str) -> None:
        if not self.text.startswith(text, self.at):
            raise self._misfit(f"{text!r} is missing")
        self.at += len(text)

    def _element(self, element: _Element, abuts: bool) -> None:
        letter, count, _ = element
        if letter in "YwWF":
            raise ValueError(f"the pattern has {letter}, which can be written and not read")
        if _is_number(element):
            start = self.at
            value = self._number(count if abuts else None)
            digits = len(self.text[start : self.at].strip(" \t"))
            if letter == "y" and count <= 2 and digits == 2 and value >= 0:
                value = _century(value)
            self.found["M" if letter == "L" else letter] = value
        elif letter in "ML":
            self.found["M"] = self._word(_MONTHS) + 1
        elif letter == "E":
            self._word(_DAYS)  # the date says which day it is
        elif letter == "a":
            self.found["a"] = self._word(("AM", "PM"))
        elif letter == "G":
            if self._word(("AD", "BC")):
                raise ValueError("years before Christ are not between the years 1 and 9999")
        else:
            self._zone(letter, count)

    def _number(self, width: int | None) -> int:
        if width is not None:
            while self.text[self.at : self.at + 1] in (" ", "\t") and self.at < len(self.text):
                self.at += 1
            digits = self.text[self.at : self.at + width]
            if len(digits) < width or not (digits.isascii() and digits.isdigit()):
                raise self._misfit(f"{width} digits are expected")
            self.at += width
            return int(digits)
        match = _DIGITS.match(self.text, self.at)
        if match is None:
            raise self._misfit("a number is expected")
        self.at = match.end()
        if len(match[1]) > 18:
            raise self._misfit("the number is too long")
        return int(match[1])

    def _word(self, words: tuple[str, ...]) -> int:
        rest = self.text[self.at :].lower()
        for index, word in enumerate(words):
            for form in (word, word[:3]):
                if rest.startswith(form.lower()):
                    self.at += len(form)
                    return index
        raise self._misfit(f"one of {', '.join(words[:2])} … is expected")

    def _zone(self, letter: str, count: int) -> None:
        self._skip_blanks()
        if letter == "X":
            if self.text.startswith("Z", self.at):
                self.at += 1
                return
            match = _ISO_OFFSETS[count].match(self.text, self.at)
        else:
            match = _OFFSET.match(self.text, self.at)
            if match is None:
                name = re.compile("[A-Z]+").match(self.text, self.at)
                if name is not None and name[0] in _ZONES:
                    self.offset = _ZONES[name[0]]
                    self.at = name.end()
                    return
        if match is None:
            raise self._misfit("a time zone is expected")
        minutes = int(match[2]) * 60 + int((match[3] if match.lastindex and match.lastindex > 2 else 0) or 0)
        self.offset = minutes if match[1] == "+" else -minutes
        self.at = match.end()

    def _skip_blanks(self) -> None:
        while self.text[self.at : self.at + 1] in (" ", "\t") and self.at < len(self.text):
            self.at += 1

    def _moment(self) -> datetime:
        found = self.found
        year = found.get("y", 1970)
        if "D" in found and "M" not in found and "d" not in found:
            month, days = 0, found["D"] - 1
        else:
            month, days = found.get("M", 1) - 1, found.get("d", 1) - 1
        year += month // 12
        if not 1 <= year <= 9999:
            raise ValueError(f"{self.text!r} is not between the years 1 and 9999")
        hours = found.get("H")
        if hours is None:
            hours = found["k"] % 24 if found.get("k") == 24 else found.get("k")
        if hours is None:
            half = found.get("K", found["h"] % 12 if found.get("h") == 12 else found.get("h", 0))
            hours = half + 12 * found.get("a", 0)
        return datetime(year, month % 12 + 1, 1, tzinfo=UTC) + timedelta(
            days=days,
            hours=hours,
            minutes=found.get("m", 0) - self.offset,
            seconds=found.get("s", 0),
            milliseconds=found.get("S", 0),
        )

    def _misfit(self, why: str) -> ValueError:
        return ValueError(f"{why} at position {self.at} of {self.text!r}")


def _is_number(element: _Element) -> bool:
    return element.letter != "" and (element.letter in _NUMBERS or (element.letter in "ML" and element.width <= 2))


def _century(two_digits: int) -> int:
    """The year with these digits that is at most 80 years ago and 20 ahead, as SimpleDateFormat has it."""
    start = datetime.now(UTC).year - 80
    year = start - start % 100 + two_digits
    return year if year >= start else year + 100
