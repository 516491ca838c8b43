"""Into which folder a record goes: by its topic's partition, by fields of its value, or by time. Names are Confluent's.

Whatever comes from a record is percent-encoded where it could leave its folder or confuse readers of Hive's layout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from time import time
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from caudal.connect.errors import DataError
from caudal.connect.records import SinkRecord

FolderOf = Callable[[SinkRecord], str]
TimestampOf = Callable[[SinkRecord], int]  # milliseconds

HOURLY = "'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH"
DAILY = "'year'=YYYY/'month'=MM/'day'=dd"
NULL = "__HIVE_DEFAULT_PARTITION__"


@lru_cache(10_000)
def safe(text: str) -> str:
    """One step of a path.

    >>> safe("a b/c"), safe(".."), safe("orders-1.x")
    ('a%20b%2Fc', '%2E%2E', 'orders-1.x')
    """
    encoded = quote(text, safe="")
    return encoded if encoded.strip(".") else encoded.replace(".", "%2E") or "%00"


def by_partition(record: SinkRecord) -> str:
    return partition_folder(record.topic, record.partition)


def partition_folder(topic: str, partition: int) -> str:
    return f"{safe(topic)}/partition={partition}"


def by_fields(names: list[str]) -> FolderOf:
    """`a=1/b=x`; a name with dots reaches into structs."""
    paths = [(name, name.split(".")) for name in names]

    def folder(record: SinkRecord) -> str:
        steps = [safe(record.topic)]
        for name, path in paths:
            value = field_of(record, path, name)
            if isinstance(value, (dict, list)):
                raise DataError(f"partition.field.name: the field {name} is no plain value, no folder can be named so.")
            steps.append(f"{safe(name)}={NULL if value is None else safe(_text(value))}")
        return "/".join(steps)

    return folder


def by_time(path_format: str, duration_ms: int, zone: tzinfo, timestamp_of: TimestampOf) -> FolderOf:
    """Records of the same stretch of `duration_ms` share a folder, named by its beginning."""
    pieces = compile_path_format(path_format)
    known: dict[int, str] = {}

    def folder(record: SinkRecord) -> str:
        stretch = timestamp_of(record) // duration_ms
        path = known.get(stretch)
        if path is None:
            try:
                begin = datetime.fromtimestamp(stretch * duration_ms / 1000, zone)
            except (OverflowError, ValueError, OSError):
                raise DataError(f"The timestamp {stretch * duration_ms} is no time of this calendar.") from None
            if len(known) > 10_000:
                known.clear()
            path = known[stretch] = "".join(piece if isinstance(piece, str) else piece(begin) for piece in pieces)
        return f"{safe(record.topic)}/{path}"

    return folder


_LETTERS: Mapping[str, Callable[[datetime, int], str]] = {
    "y": lambda at, width: f"{at.year % 100:02}" if width == 2 else f"{at.year:0{width}}",
    "M": lambda at, width: at.strftime("%b" if width == 3 else "%B") if width > 2 else f"{at.month:0{width}}",
    "d": lambda at, width: f"{at.day:0{width}}",
    "D": lambda at, width: f"{at.timetuple().tm_yday:0{width}}",
    "H": lambda at, width: f"{at.hour:0{width}}",
    "h": lambda at, width: f"{(at.hour + 11) % 12 + 1:0{width}}",
    "a": lambda at, width: "AM" if at.hour < 12 else "PM",
    "m": lambda at, width: f"{at.minute:0{width}}",
    "s": lambda at, width: f"{at.second:0{width}}",
    "S": lambda at, width: f"{at.microsecond:06}"[:width].ljust(width, "0"),
    "w": lambda at, width: f"{at.isocalendar().week:0{width}}",
    "x": lambda at, width: f"{at.isocalendar().year:0{width}}",
    "E": lambda at, width: at.strftime("%A" if width > 3 else "%a"),
    "e": lambda at, width: f"{at.isoweekday():0{width}}",
}


def compile_path_format(pattern: str) -> list[str | Callable[[datetime], str]]:
    """Joda's patterns, as `path.format` has them. Raises ValueError.

    >>> at = datetime(2026, 3, 4, 5, tzinfo=UTC)
    >>> "".join(each if isinstance(each, str) else each(at) for each in compile_path_format("'dt'=YYYY-MM-dd/HH"))
    'dt=2026-03-04/05'
    """
    pieces: list[str | Callable[[datetime], str]] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "'":
            end = pattern.find("'", at + 1)
            if end < 0:
                raise ValueError("A quote is not closed")
            pieces.append(pattern[at + 1 : end] or "'")
            at = end + 1
        elif letter.isalpha():
            end = at
            while end < len(pattern) and pattern[end] == letter:
                end += 1
            pieces.append(_piece(letter, end - at))
            at = end
        else:
            pieces.append(letter)
            at += 1
    if any(step in ("", ".", "..") for step in "".join(p if isinstance(p, str) else "0" for p in pieces).split("/")):
        raise ValueError("A step of the path is empty or made of dots")
    return pieces


def _piece(letter: str, width: int) -> Callable[[datetime], str]:
    value = _LETTERS.get("y" if letter in "YyuC" else letter)
    if value is None:
        raise ValueError(f"The letter {letter} means nothing here; put words in quotes, as in 'year'=YYYY")
    return lambda at: value(at, width)


def timestamps(extractor: str, field: str) -> TimestampOf:
    """`timestamp.extractor`: Record (its timestamp), RecordField (of its value) or Wallclock (no exactly once)."""
    match extractor:
        case "Wallclock":
            return lambda record: int(time() * 1000)
        case "RecordField":
            path = field.split(".")
            return lambda record: _milliseconds(field_of(record, path, field), field)
        case _:
            return _record_time


def zone_named(name: str) -> tzinfo:
    return UTC if name in ("UTC", "Z", "") else ZoneInfo(name)


def field_of(record: SinkRecord, path: list[str], name: str) -> Any:
    value = record.value
    for step in path:
        if not isinstance(value, dict) or step not in value:
            raise DataError(f"The record has no field {name}, which its folder is named by.")
        value = value[step]
    return value


def _record_time(record: SinkRecord) -> int:
    if record.timestamp is None:
        raise DataError("The record has no timestamp, which its folder is named by; see timestamp.extractor.")
    return record.timestamp


def _milliseconds(value: Any, field: str) -> int:
    match value:
        case bool():
            pass
        case int():
            return value
        case datetime():
            return int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() * 1000)
        case str():
            try:
                parsed = datetime.fromisoformat(value)
                return int((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp() * 1000)
            except ValueError:
                pass
    raise DataError(f"timestamp.field: {field} is neither milliseconds, a timestamp nor an ISO 8601 text.")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if isinstance(value, datetime) else str(value)
