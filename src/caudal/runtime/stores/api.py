"""What operators and processors see of a store: typed Python keys and values, serdes inside.

Values that come out of a store are the caller's own: changing a dict that `get` returned changes nothing until `put`.
Scans are in the order of the serialised key, as in Kafka Streams, and show what was put before they began.
Deliberately without: caching, changelog and commit, which belong to `TaskState`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

from caudal.runtime.record import Change, Headers, RecordContext, Windowed


class StreamContext:
    """The time of the record being processed: what a changelog record is stamped with where the value has no time."""

    __slots__ = ("timestamp",)

    def __init__(self, timestamp: int = 0) -> None:
        self.timestamp = timestamp


class Buffered(NamedTuple):
    """One held-back change of a suppress buffer."""

    time: int  # what the buffer is ordered by; that of the first change of the key
    key: Any
    change: Change  # the last change
    prior: Any  # the value before the first change that is buffered: what was last seen downstream
    context: RecordContext  # of the last change


class Unjoined(NamedTuple):
    """A record of a stream-stream join that has no partner yet."""

    time: int
    left: bool
    key: Any
    value: Any


@runtime_checkable
class StateStore(Protocol):
    name: str
    context: StreamContext  # shared by all stores of a task


class KeyValueStore(StateStore, Protocol):
    def get(self, key: Any) -> Any: ...
    def put(self, key: Any, value: Any) -> None: ...
    def put_if_absent(self, key: Any, value: Any) -> Any: ...
    def delete(self, key: Any) -> Any: ...
    def range(self, first: Any = None, last: Any = None) -> Iterator[tuple[Any, Any]]: ...
    def reverse_range(self, first: Any = None, last: Any = None) -> Iterator[tuple[Any, Any]]: ...
    def prefix_scan(self, prefix: Any, serializer: Any = None) -> Iterator[tuple[Any, Any]]: ...
    def all(self) -> Iterator[tuple[Any, Any]]: ...
    def reverse_all(self) -> Iterator[tuple[Any, Any]]: ...
    def count(self) -> int: ...


class TimestampedStore(StateStore, Protocol):
    """As KeyValueStore; a value is a pair (value, timestamp)."""

    def get(self, key: Any) -> tuple[Any, int] | None: ...
    def put(self, key: Any, value: Any, timestamp: int) -> None: ...
    def put_if_absent(self, key: Any, value: Any, timestamp: int) -> tuple[Any, int] | None: ...
    def delete(self, key: Any) -> tuple[Any, int] | None: ...
    def range(self, first: Any = None, last: Any = None) -> Iterator[tuple[Any, tuple[Any, int]]]: ...
    def reverse_range(self, first: Any = None, last: Any = None) -> Iterator[tuple[Any, tuple[Any, int]]]: ...
    def prefix_scan(self, prefix: Any, serializer: Any = None) -> Iterator[tuple[Any, tuple[Any, int]]]: ...
    def all(self) -> Iterator[tuple[Any, tuple[Any, int]]]: ...
    def reverse_all(self) -> Iterator[tuple[Any, tuple[Any, int]]]: ...
    def count(self) -> int: ...


class WindowStore(StateStore, Protocol):
    """A value per key and window start. All bounds are inclusive and about window *starts*; None is open.

    A window whose start is not after `stream time - retention` is expired: invisible, and a put of it is counted in
    `expired` and otherwise ignored. Stream time is the largest start this store has seen, as in Kafka Streams.
    """

    expired: int

    def put(self, key: Any, value: Any, start: int, timestamp: int | None = None) -> None: ...
    def fetch(self, key: Any, start: int) -> Any: ...
    def fetch_with_timestamp(self, key: Any, start: int) -> tuple[Any, int] | None: ...
    def fetch_range(
        self, key: Any, first_start: int | None = None, last_start: int | None = None
    ) -> Iterator[tuple[int, Any]]: ...
    def fetch_range_with_timestamp(
        self, key: Any, first_start: int | None = None, last_start: int | None = None
    ) -> Iterator[tuple[int, Any, int]]: ...
    def backward_fetch_range(
        self, key: Any, first_start: int | None = None, last_start: int | None = None
    ) -> Iterator[tuple[int, Any]]: ...
    def fetch_all(
        self, first_start: int | None = None, last_start: int | None = None
    ) -> Iterator[tuple[Windowed, Any]]: ...
    def fetch_all_with_timestamp(
        self, first_start: int | None = None, last_start: int | None = None
    ) -> Iterator[tuple[Windowed, Any, int]]: ...
    def backward_fetch_all(
        self, first_start: int | None = None, last_start: int | None = None
    ) -> Iterator[tuple[Windowed, Any]]: ...
    def all(self) -> Iterator[tuple[Windowed, Any]]: ...
    def backward_all(self) -> Iterator[tuple[Windowed, Any]]: ...


class SessionStore(StateStore, Protocol):
    """An aggregate per key, session start and session end (inclusive). Expiry is by session end, as for windows."""

    expired: int

    def put(self, session: Windowed, aggregate: Any) -> None: ...
    def remove(self, session: Windowed) -> None: ...
    def find_sessions(self, key: Any, earliest_end: int, latest_start: int) -> Iterator[tuple[Windowed, Any]]: ...
    def backward_find_sessions(
        self, key: Any, earliest_end: int, latest_start: int
    ) -> Iterator[tuple[Windowed, Any]]: ...
    def find_sessions_ending(self, first_end: int, last_end: int) -> Iterator[tuple[Windowed, Any]]: ...
    def fetch_session(self, key: Any, start: int, end: int) -> Any: ...
    def fetch(self, key: Any) -> Iterator[tuple[Windowed, Any]]: ...
    def backward_fetch(self, key: Any) -> Iterator[tuple[Windowed, Any]]: ...
    def all(self) -> Iterator[tuple[Windowed, Any]]: ...


class BufferStore(StateStore, Protocol):
    """The buffer of suppress: one change per key, ordered by (time, serialised key).

    A later change of a buffered key replaces the value and keeps the place.
    """

    def put(self, key: Any, change: Change, time: int, context: RecordContext) -> None: ...
    def get(self, key: Any) -> Buffered | None: ...
    def pop(self) -> Buffered: ...  # the first; IndexError where empty
    def __len__(self) -> int: ...
    @property
    def min_time(self) -> int | None: ...  # of the first; None where empty
    @property
    def size_bytes(self) -> int: ...  # serialised size of what is buffered


class JoinBufferStore(StateStore, Protocol):
    """The buffer of left and outer stream-stream joins: records without a partner, shared by both sides.

    A BUFFER store with `retain_duplicates`. Ordered by (time, right before left, serialised key, order of arrival).
    """

    def add(self, key: Any, value: Any, time: int, left: bool) -> None: ...
    def remove(
        self, key: Any, time: int, left: bool
    ) -> bool: ...  # all of that key, time and side: they found a partner
    def pop_before(self, time: int) -> Iterator[Unjoined]: ...  # removes and yields what is older than `time`
    def all(self) -> Iterator[Unjoined]: ...
    @property
    def min_time(self) -> int | None: ...


__all__ = [
    "BufferStore",
    "Buffered",
    "Change",
    "Headers",
    "JoinBufferStore",
    "KeyValueStore",
    "SessionStore",
    "StateStore",
    "StreamContext",
    "TimestampedStore",
    "Unjoined",
    "WindowStore",
    "Windowed",
]
