"""What a visitor of the messages asked for, and the same as the parameters of an address. Pure.

A cursor says where a page begins in every partition: the next offset to read, or, newest first, the offset that
reading goes back from. So a page's address shows the same messages as long as the topic keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from caudal.cli.errors import UsageError
from caudal.cli.times import parse_time
from caudal.ui.services.decoding import AUTO, READINGS, Readings
from caudal.ui.services.filters import Filter
from caudal.ui.words import t

NEWEST, OLDEST, OFFSET, TIME, LIVE = "newest", "oldest", "offset", "time", "live"
STARTS = (NEWEST, OLDEST, OFFSET, TIME, LIVE)
PAGE_SIZES = (25, 50, 100, 250)
DEFAULT_SIZE = 50

Cursor = Mapping[int, int]


class QueryError(Exception):
    """Wrong input, to be shown beside its field."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class Query:
    """`partitions` empty: all of them. `offset` and `time` are kept as typed, so that wrong input can be shown."""

    start: str = NEWEST
    offset: str = ""
    time: str = ""
    partitions: tuple[int, ...] = ()
    filter: Filter = field(default_factory=Filter)
    readings: Readings = field(default_factory=Readings)
    size: int = DEFAULT_SIZE
    cursor: Cursor | None = None

    @property
    def is_backward(self) -> bool:
        return self.start == NEWEST

    @property
    def start_offset(self) -> int:
        text = self.offset.strip()
        if not (text.isascii() and text.isdigit()):
            raise QueryError("offset", t("An offset is a whole number, 0 or more."))
        return int(text)

    @property
    def start_ms(self) -> int:
        try:
            return parse_time(self.time)
        except UsageError:
            raise QueryError(
                "time", t("Give a time as 2026-01-31T12:00, epoch milliseconds, or so long ago: -10m, -2h, -1d.")
            ) from None

    def at(self, cursor: Cursor | None) -> Query:
        return replace(self, cursor=cursor)

    def params(self) -> dict[str, str]:
        """The parameters of its address; what is the default is left out."""
        given: dict[str, Any] = {
            "from": "" if self.start == NEWEST else self.start,
            "offset": self.offset if self.start == OFFSET else "",
            "time": self.time if self.start == TIME else "",
            "partition": ",".join(map(str, self.partitions)),
            "q": self.filter.text,
            "key": self.filter.key,
            "header": self.filter.header,
            "where": self.filter.expression,
            "key_as": "" if self.readings.key == AUTO else self.readings.key,
            "value_as": "" if self.readings.value == AUTO else self.readings.value,
            "size": "" if self.size == DEFAULT_SIZE else self.size,
            "at": cursor_text(self.cursor) if self.cursor is not None else "",
        }
        return {name: str(value) for name, value in given.items() if value != ""}

    @classmethod
    def of(cls, params: Mapping[str, str]) -> Query:
        """From an address. What cannot be meant is as if it were not there: the form shows what was understood."""
        start = params.get("from", NEWEST)
        size = params.get("size", "")
        readings = [params.get(name, AUTO) for name in ("key_as", "value_as")]
        return cls(
            start=start if start in STARTS else NEWEST,
            offset=params.get("offset", ""),
            time=params.get("time", ""),
            partitions=tuple(sorted(_numbers(params.get("partition", "")))),
            filter=Filter(
                params.get("q", ""), params.get("key", ""), params.get("header", ""), params.get("where", "")
            ),
            readings=Readings(*(one if one in READINGS else AUTO for one in readings)),
            size=int(size) if size in map(str, PAGE_SIZES) else DEFAULT_SIZE,
            cursor=parse_cursor(params.get("at", "")),
        )


def cursor_text(cursor: Cursor) -> str:
    """
    >>> cursor_text({1: 20, 0: 7})
    '0:7,1:20'
    """
    return ",".join(f"{partition}:{offset}" for partition, offset in sorted(cursor.items()))


def parse_cursor(text: str) -> dict[int, int] | None:
    """
    >>> parse_cursor("0:7,1:20"), parse_cursor(""), parse_cursor("0:x")
    ({0: 7, 1: 20}, None, None)
    """
    cursor = {}
    for part in text.split(",") if text else ():
        partition, colon, offset = part.partition(":")
        if not (colon and _is_number(partition) and _is_number(offset)):
            return None
        cursor[int(partition)] = int(offset)
    return cursor or None


def parse_partitions(text: str, count: int) -> tuple[int, ...]:
    """Partitions as typed: `0, 2-4`. Empty: all.

    >>> parse_partitions("0, 2-4", 6)
    (0, 2, 3, 4)
    """
    chosen: set[int] = set()
    for part in text.replace(" ", "").split(",") if text.strip() else ():
        first, dash, last = part.partition("-")
        if not _is_number(first) or (dash and not _is_number(last)):
            raise QueryError("partition", t("Give partitions as 0 or 0,2-4."))
        chosen.update(range(int(first), min(int(last or first), count) + 1))
    if chosen and max(chosen) >= count:
        raise QueryError("partition", t("The last partition is {last}.", last=count - 1))
    return tuple(sorted(chosen))


def _numbers(text: str) -> set[int]:
    return {int(part) for part in text.split(",") if _is_number(part)}


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19
