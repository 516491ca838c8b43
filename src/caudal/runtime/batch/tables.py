"""Tables as rows: a store's entries as bytes, in the format of its changelog, and from there as typed columns.

A batch puts its stores out in this form and `table_df` reads changelogs, so both give the same frames:

| store | columns |
| --- | --- |
| key-value | key, value |
| timestamped | key, value, timestamp |
| window | key, window_start, window_end, value, timestamp |
| session | key, window_start, window_end, value |

Keys that are windowed themselves (a windowed table that went through another operator) have the window's columns too.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

from caudal.plan.topology import StoreKind, StoreSpec
from caudal.serde import SessionWindowed, TimeWindowed
from caudal.serde.foreign_key import SubscriptionSerde

_START = struct.Struct(">q")
_START_SEQUENCE = struct.Struct(">qi")
_END_START = struct.Struct(">qq")
NO_TIME = -1


def is_table(spec: StoreSpec) -> bool:
    """No tables: buffers and the windows of a stream-stream join (records that wait), the notes of a foreign-key join,
    and files."""
    if spec.kind is StoreKind.BUFFER or spec.retain_duplicates or spec.static is not None:
        return False
    return not isinstance(spec.value, SubscriptionSerde)


def entries(spec: StoreSpec, store: Any) -> Iterator[tuple[bytes, bytes, int]]:
    """What is in a store: key and value as its changelog has them, and the value's timestamp where it has one."""
    key_bytes, value_bytes = spec.key.serialize, spec.value.serialize
    if spec.kind is StoreKind.TIMESTAMPED:
        for key, (value, timestamp) in store.all():
            yield key_bytes(key), value_bytes(value), timestamp
    elif spec.kind is StoreKind.WINDOW:
        for (key, start, _), value, timestamp in store.fetch_all_with_timestamp():
            yield key_bytes(key) + _START_SEQUENCE.pack(start, 0), value_bytes(value), timestamp
    elif spec.kind is StoreKind.SESSION:
        for (key, start, end), value in store.all():
            yield key_bytes(key) + _END_START.pack(end, start), value_bytes(value), NO_TIME
    else:
        for key, value in store.all():
            yield key_bytes(key), value_bytes(value), NO_TIME


# The key's bytes, window start and end.
Split = Callable[[bytes], tuple[bytes, int, int]]


def window_of(spec: StoreSpec) -> Split | None:
    """How to take a changelog key apart; None where it has no window."""
    if spec.kind is StoreKind.WINDOW:
        size = spec.window_size
        return lambda raw: _of_window(raw, size)
    return _of_session if spec.kind is StoreKind.SESSION else None


def window_of_key(serde: TimeWindowed | SessionWindowed) -> Split:
    """The same for keys that are windowed by their serde."""
    if isinstance(serde, SessionWindowed):
        return _of_session
    size = serde.window_size
    return lambda raw: _of_start(raw, size)


def _of_start(raw: bytes, size: int) -> tuple[bytes, int, int]:
    (start,) = _START.unpack_from(raw, len(raw) - _START.size)
    return raw[: -_START.size], start, start + size


def _of_window(raw: bytes, size: int) -> tuple[bytes, int, int]:
    start, _ = _START_SEQUENCE.unpack_from(raw, len(raw) - _START_SEQUENCE.size)
    return raw[: -_START_SEQUENCE.size], start, start + size


def _of_session(raw: bytes) -> tuple[bytes, int, int]:
    end, start = _END_START.unpack_from(raw, len(raw) - _END_START.size)
    return raw[: -_END_START.size], start, end


def has_timestamp(spec: StoreSpec) -> bool:
    return spec.kind in (StoreKind.TIMESTAMPED, StoreKind.WINDOW)
