"""What flows between nodes: records, a table's changes, windowed keys, and where the current record came from.

A `Record` is treated as immutable: a node that changes one makes a new one, because siblings share it. It is a class
with slots and not a dataclass or tuple: it is made once per record and node, and nothing else is as quick to make and
read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Headers = tuple[tuple[str, bytes | None], ...]


class Record:
    """A key, a value, an event time in milliseconds, and headers."""

    __slots__ = ("headers", "key", "timestamp", "value")

    def __init__(self, key: Any, value: Any, timestamp: int, headers: Headers = ()) -> None:
        self.key = key
        self.value = value
        self.timestamp = timestamp
        self.headers = headers

    def with_key(self, key: Any) -> Record:
        return Record(key, self.value, self.timestamp, self.headers)

    def with_value(self, value: Any) -> Record:
        return Record(self.key, value, self.timestamp, self.headers)

    def with_timestamp(self, timestamp: int) -> Record:
        return Record(self.key, self.value, timestamp, self.headers)

    def with_headers(self, headers: Headers) -> Record:
        return Record(self.key, self.value, self.timestamp, headers)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return (self.key, self.value, self.timestamp, self.headers) == (
            other.key,
            other.value,
            other.timestamp,
            other.headers,
        )

    __hash__ = None  # type: ignore[assignment]  # values are often dicts

    def __repr__(self) -> str:
        headers = f", headers={self.headers!r}" if self.headers else ""
        return f"Record({self.key!r}, {self.value!r}, timestamp={self.timestamp}{headers})"


class Change(NamedTuple):
    """The value between table nodes. `old` is None as well when nobody downstream needs it (see Operator.sends_old)."""

    new: Any
    old: Any


class Windowed(NamedTuple):
    """A key in a window. `end` is exclusive for tumbling and hopping windows, inclusive for the others."""

    key: Any
    start: int
    end: int


class RecordContext(NamedTuple):
    """Where the record being processed came from. Topic is None, offset and partition -1 inside a punctuator."""

    topic: str | None
    partition: int
    offset: int
    timestamp: int
    headers: Headers
