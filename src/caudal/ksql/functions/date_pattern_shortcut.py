"""The usual patterns of timestamps, all numbers of fixed width (`yyyy-MM-dd HH:mm:ss.SSS`), in one go: read with one
regular expression, written with one template. An offset at the end (`…ssX`) is only read.

It takes only what is plain: what it does not match, or what makes no date (the 31st of June, 24:00), is read element by
element, which knows the rules and says where a text fails.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from operator import attrgetter, itemgetter

_PART = re.compile("(yyyy|uuuu|MM|dd|HH|mm|ss|S{1,6})|('[^']+'|[^A-Za-z'\\[\\]{}#])")
_NAMES = {
    "yyyy": "year",
    "uuuu": "year",
    "MM": "month",
    "dd": "day",
    "HH": "hour",
    "mm": "minute",
    "ss": "second",
    "S": "microsecond",
}
_OFFSETS = {
    "X": "(Z|[+-][0-9]{2}(?:[0-5][0-9])?)",
    "XX": "(Z|[+-][0-9]{2}[0-5][0-9])",
    "XXX": "(Z|[+-][0-9]{2}:[0-5][0-9])",
    "Z": "([+-][0-9]{2}[0-5][0-9])",
}
_ORDER = ["year", "month", "day", "hour", "minute", "second", "microsecond"]


class FixedWidths:
    def __init__(self, expression: str, template: str, names: list[str], digits: int, has_offset: bool) -> None:
        self.has_offset = has_offset
        self._match = re.compile(expression).fullmatch
        self._template = template
        self._values = attrgetter(*names)
        self._sorted = itemgetter(*[names.index(name) for name in _ORDER[: len(names)]])
        # Where the fraction stands among the numbers, and what a microsecond is divided by; -1 if there is none.
        self._fraction = names.index("microsecond") if "microsecond" in names else -1
        self._divisor = 10 ** (6 - digits)

    def write(self, moment: datetime) -> str:
        values = self._values(moment)
        at = self._fraction
        if at >= 0:
            values = (*values[:at], values[at] // self._divisor, *values[at + 1 :])
        made: str = self._template % values
        return made

    def read(self, text: str) -> datetime | None:
        """Cut to milliseconds; in UTC if there is an offset, else without a zone. None where it is not for this
        shortcut."""
        found = self._match(text)
        if found is None:
            return None
        numbers = [int(digits) for digits in self._sorted(found.groups())]
        if self._fraction >= 0:
            numbers[6] = numbers[6] * self._divisor // 1000 * 1000
        try:
            local = datetime(*numbers)  # type: ignore[arg-type]
        except ValueError:
            return None
        if not self.has_offset:
            return local
        offset: str = found[found.re.groups]
        if offset == "Z":
            return local.replace(tzinfo=UTC)
        minutes = int(offset[1:3]) * 60 + int(offset[-2:] if len(offset) > 3 else 0)
        if minutes > 18 * 60:
            return None
        return (local - timedelta(minutes=-minutes if offset[0] == "-" else minutes)).replace(tzinfo=UTC)


def fixed_widths(pattern: str) -> FixedWidths | None:
    """For a pattern with at least year, month and day, and with hour, minute, second and fraction from the left on.

    >>> shortcut = fixed_widths("dd.MM.yyyy HH:mm")
    >>> shortcut.write(shortcut.read("03.02.2021 10:30"))
    '03.02.2021 10:30'
    >>> fixed_widths("yyyyMMddX").read("20210203+01")
    datetime.datetime(2021, 2, 2, 23, 0, tzinfo=datetime.timezone.utc)
    """
    expression, template, names, digits, at = "", "", list[str](), 6, 0
    offset = ""
    while at < len(pattern):
        if pattern[at:] in _OFFSETS:
            offset = _OFFSETS[pattern[at:]]
            break
        found = _PART.match(pattern, at)
        if found is None:
            return None
        at = found.end()
        letters, literal = found.groups()
        if literal is not None:
            text = literal[1:-1] if len(literal) > 1 else literal
            if any(sign.isdigit() for sign in text):  # which could belong to a number
                return None
            expression += re.escape(text)
            template += text.replace("%", "%%")
            continue
        if pattern[at : at + 1] == letters[0]:  # more of a letter than is usual
            return None
        if letters[0] == "S":
            digits = len(letters)
        names.append(_NAMES[letters if letters[0] != "S" else "S"])
        expression += f"([0-9]{{{len(letters)}}})"
        template += f"%0{len(letters)}d"
    if sorted(names, key=_ORDER.index) != _ORDER[: len(names)] or len(names) < 3:
        return None
    return FixedWidths(expression + offset, template, names, digits, bool(offset))
