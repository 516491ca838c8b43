"""What a date pattern is made of: numbers, fractions, words, offsets and zones, each to be written and to be read.

An element writes a moment (`date`, `time` or an aware `datetime`; which of them it needs is `needs`) and reads a text
from a place: it returns where it goes on, or the complement of where it failed (`~index`). The reading follows
java.time's strict parsing sign by sign (widths, signs, numbers side by side), because that decides what is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from caudal.ksql.functions.time_zones import (
    Zone,
    full_name,
    offset_id,
    offset_zone,
    short_name,
    zone,
    zone_ids_by_length,
    zones_by_name,
)

_DIGITS = frozenset("0123456789")


class Reading:
    """The text being read, and what has been read of it."""

    __slots__ = ("fields", "ignores_case", "text", "zone")

    def __init__(self, text: str, ignores_case: bool) -> None:
        self.text = text
        self.ignores_case = ignores_case
        self.fields: dict[str, int] = {}
        self.zone: Zone | None = None

    def set(self, name: str, value: int, start: int, end: int) -> int:
        """A field that has been read twice must have been the same."""
        return end if self.fields.setdefault(name, value) == value else ~start

    def begins_with(self, wanted: str, at: int) -> bool:
        found = self.text[at : at + len(wanted)]
        return found == wanted or (self.ignores_case and found.casefold() == wanted.casefold())


class Element:
    needs: str  # of the moment: "date", "time", "zone" or nothing

    def write(self, moment: Any, zone: Zone | None) -> str:
        raise NotImplementedError

    def read(self, reading: Reading, at: int) -> int:
        raise NotImplementedError


@dataclass
class Literal(Element):
    text: str
    needs = ""

    def write(self, moment: Any, zone: Zone | None) -> str:
        return self.text

    def read(self, reading: Reading, at: int) -> int:
        return at + len(self.text) if reading.begins_with(self.text, at) else ~at


@dataclass
class Number(Element):
    """`sign`: "never", "normal" (only a minus), or "beyond" (a plus exactly where there are more digits than `low`).

    `following` is the number of digits that fixed-width numbers right after it take; -1 that it is one of those.
    """

    name: str
    needs: str
    value: Callable[[Any], int]
    low: int
    high: int
    sign: str = "never"
    following: int = 0

    def write(self, moment: Any, zone: Zone | None) -> str:
        value = self.value(moment)
        digits = str(abs(value))
        if len(digits) > self.high:
            raise ValueError(
                f"Field {self.name} cannot be printed as the value {value} exceeds the maximum width of {self.high}"
            )
        plus = "+" if self.sign == "beyond" and value >= 10**self.low else ""
        return plus + digits.rjust(self.low, "0")

    def read(self, reading: Reading, at: int) -> int:
        text = reading.text
        start = at
        sign = text[at : at + 1]
        if sign in ("+", "-"):
            if self.sign == "never" or (sign == "+" and self.sign == "normal"):
                return ~at
            at += 1
        end = self._end(text, at, self.high + max(self.following, 0))
        if end - at < self.low:
            return ~at
        if self.following > 0:
            end = at + max(self.low, end - at - self.following)
        value = int(text[at:end])
        if sign == "-":
            if value == 0:
                return ~start
            value = -value
        elif self.sign == "beyond" and (end - at > self.low) != (sign == "+"):
            return ~start
        return self.keep(reading, value, start, end)

    def _end(self, text: str, at: int, most: int) -> int:
        end = at
        last = min(at + most, len(text))
        while end < last and text[end] in _DIGITS:
            end += 1
        return end

    def keep(self, reading: Reading, value: int, start: int, end: int) -> int:
        return reading.set(self.name, value, start, end)


class TwoDigitYear(Number):
    """2000 to 2099."""

    def write(self, moment: Any, zone: Zone | None) -> str:
        return f"{self.value(moment) % 100:02}"

    def keep(self, reading: Reading, value: int, start: int, end: int) -> int:
        return reading.set(self.name, 2000 + value, start, end)


class Fraction(Number):
    """Of a second: S to SSSSSSSSS."""

    def write(self, moment: Any, zone: Zone | None) -> str:
        return f"{self.value(moment):09}"[: self.low]

    def read(self, reading: Reading, at: int) -> int:
        end = self._end(reading.text, at, self.high)
        if end - at < self.low:
            return ~at
        return self.keep(reading, int(reading.text[at:end].ljust(9, "0")), at, end)


@dataclass
class Word(Element):
    """One of several words; `first` is the number of the first. What has no words to be read is only written."""

    name: str
    needs: str
    value: Callable[[Any], int]
    words: Sequence[str]
    first: int = 1
    is_readable: bool = True

    def write(self, moment: Any, zone: Zone | None) -> str:
        return self.words[self.value(moment) - self.first]

    def read(self, reading: Reading, at: int) -> int:
        if not self.is_readable:
            raise ValueError(f"a narrow {self.name} cannot be read, as several begin with the same letter")
        found = [(len(word), index) for index, word in enumerate(self.words) if reading.begins_with(word, at)]
        if not found:
            return ~at
        length, index = max(found)
        return reading.set(self.name, index + self.first, at, at + length)


@dataclass
class Written(Element):
    """Only written: fields of weeks, which do not make a date."""

    letter: str
    needs: str
    text: Callable[[Any], str]

    def write(self, moment: Any, zone: Zone | None) -> str:
        return self.text(moment)

    def read(self, reading: Reading, at: int) -> int:
        raise ValueError(f"the pattern letter '{self.letter}' is for writing only")


@dataclass
class Offset(Element):
    """`minutes` and `seconds`: "always", "some" (where they are not zero) or "never"."""

    zero: str
    colon: str = ""
    minutes: str = "always"
    seconds: str = "never"
    needs = "zone"

    def write(self, moment: datetime, zone: Zone | None) -> str:
        total = _offset(moment)
        if total == 0:
            return self.zero
        size = abs(total)
        shown = f"{'-' if total < 0 else '+'}{size // 3600:02}"
        if self.minutes == "always" or size // 60 % 60:
            shown += f"{self.colon}{size // 60 % 60:02}"
        if self.seconds == "some" and size % 60:
            shown += f"{self.colon}{size % 60:02}"
        return shown

    def read(self, reading: Reading, at: int) -> int:
        text = reading.text
        if text[at : at + 1] not in ("+", "-"):
            return _kept_offset(reading, 0, at, at + len(self.zero)) if reading.begins_with(self.zero, at) else ~at
        end = at + 1
        hours = text[end : end + 2]
        if not _are_digits(hours):
            return ~at
        end += 2
        size = int(hours) * 3600
        for unit, kind in ((60, self.minutes), (1, self.seconds)):
            if kind == "never":
                break
            start = end + len(self.colon)
            digits = text[start : start + 2]
            if text[end:start] != self.colon or not _are_digits(digits) or int(digits) > 59:
                if kind == "always":
                    return ~at
                break
            size += int(digits) * unit
            end = start + 2
        if size > 18 * 3600:
            return ~at
        return _kept_offset(reading, -size if text[at] == "-" else size, at, end)


@dataclass
class GmtOffset(Element):
    """GMT, GMT+8, GMT+05:30; `is_full`: GMT+08:00."""

    is_full: bool
    needs = "zone"

    def write(self, moment: datetime, zone: Zone | None) -> str:
        total = _offset(moment)
        if total == 0:
            return "GMT"
        if self.is_full:
            return "GMT" + offset_id(total, "")
        size = abs(total)
        shown = f"GMT{'-' if total < 0 else '+'}{size // 3600}"
        if size % 3600:
            shown += f":{size // 60 % 60:02}" + (f":{size % 60:02}" if size % 60 else "")
        return shown

    def read(self, reading: Reading, at: int) -> int:
        if not reading.begins_with("GMT", at):
            return ~at
        end = at + 3
        sign = reading.text[end : end + 1]
        if sign not in ("+", "-"):
            return _kept_offset(reading, 0, at, end)
        end += 1
        width = 2 if self.is_full or _are_digits(reading.text[end : end + 2]) else 1
        hours = reading.text[end : end + width]
        if not _are_digits(hours, width):
            return ~at
        end += width
        size = int(hours) * 3600
        for unit in (60, 1):
            digits = reading.text[end + 1 : end + 3]
            if reading.text[end : end + 1] != ":" or not _are_digits(digits):
                if self.is_full and unit == 60:
                    return ~at
                break
            size += int(digits) * unit
            end += 3
        return _kept_offset(reading, -size if sign == "-" else size, at, end)


@dataclass
class ZoneId(Element):
    """Europe/Zurich, UTC, +05:30, GMT+02:00."""

    needs = "zone"

    def write(self, moment: datetime, zone: Zone | None) -> str:
        return "" if zone is None else zone.id

    def read(self, reading: Reading, at: int) -> int:
        return _read_zone(reading, at)


@dataclass
class ZoneName(Element):
    """PST, or Pacific Standard Time. Ids are read as well."""

    is_full: bool
    needs = "zone"

    def write(self, moment: datetime, zone: Zone | None) -> str:
        if zone is None:
            return ""
        return full_name(zone, moment) if self.is_full else short_name(zone, moment)

    def read(self, reading: Reading, at: int) -> int:
        # The longer of a name and an id: "GMT+02:00" is no "GMT", "America/Denver" no name at all.
        before = reading.zone
        end = _read_zone(reading, at)
        named = [name for name in zones_by_name() if reading.begins_with(name, at)]
        longest = max(named, key=len, default="")
        if longest and at + len(longest) >= end:
            reading.zone = before
            return _kept_zone(reading, zone(zones_by_name()[longest]), at, at + len(longest))
        return end


@dataclass
class Section(Element):
    """In square brackets: written where the moment has all that it needs, read where it is there."""

    elements: list[Element]
    needs = ""

    def write(self, moment: Any, zone: Zone | None) -> str:
        return "".join([one.write(moment, zone) for one in self.elements])

    def read(self, reading: Reading, at: int) -> int:
        fields, zone = dict(reading.fields), reading.zone
        end = at
        for one in self.elements:
            end = one.read(reading, end)
            if end < 0:
                reading.fields, reading.zone = fields, zone
                return at
        return end


def _offset(moment: datetime) -> int:
    return int((moment.utcoffset() or timedelta()).total_seconds())


def _are_digits(text: str, width: int = 2) -> bool:
    return len(text) == width and _DIGITS.issuperset(text)


def _kept_offset(reading: Reading, seconds: int, start: int, end: int) -> int:
    """A zone that has been read as well decides; the offset is then not looked at."""
    return (
        end
        if reading.zone is not None and not reading.zone.is_fixed
        else _kept_zone(reading, offset_zone(seconds), start, end)
    )


def _kept_zone(reading: Reading, found: Zone, start: int, end: int) -> int:
    if reading.zone is not None and reading.zone.is_fixed == found.is_fixed and reading.zone != found:
        return ~start
    reading.zone = found
    return end


def _read_zone(reading: Reading, at: int) -> int:
    text = reading.text
    for prefix in ("UTC", "GMT", "UT", ""):
        if reading.begins_with(prefix, at) and text[at + len(prefix) : at + len(prefix) + 1] in ("+", "-"):
            start = at + len(prefix)
            for length in (9, 6, 3):  # +hh:mm:ss, +hh:mm, +hh
                try:
                    found = zone(prefix + text[start : start + length])
                except ValueError:
                    continue
                if len(text) >= start + length:
                    return _kept_zone(reading, found, at, start + length)
            if not prefix:
                return ~at
    for name in zone_ids_by_length():
        if reading.begins_with(name, at):
            return _kept_zone(reading, zone(name), at, at + len(name))
    return _kept_zone(reading, zone("Z"), at, at + 1) if reading.begins_with("Z", at) else ~at
