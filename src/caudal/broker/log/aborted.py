"""The transaction index of a segment (`.txnindex`): which transactions were aborted by a marker in this segment.

34 bytes an entry, big-endian: int16 version 0, producer id, first offset, last offset (the marker's), last stable
offset at that moment (int64 each). `read_committed` consumers get these with a fetch and drop the records themselves.
Segments without aborted transactions have no file.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from typing import NamedTuple

from caudal.broker.log.checkpoints import replace_file

_ENTRY = struct.Struct(">hqqqq")
ENTRY_SIZE = _ENTRY.size  # 34
_VERSION = 0


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class CorruptTransactionIndex(Exception):
    """The file is not a whole number of version 0 entries."""


def encode(entries: Iterable[AbortedTransaction]) -> bytes:
    return b"".join(_ENTRY.pack(_VERSION, *entry) for entry in entries)


def decode(data: bytes) -> list[AbortedTransaction]:
    if len(data) % ENTRY_SIZE:
        raise CorruptTransactionIndex(f"its size, {len(data)}, is not a multiple of {ENTRY_SIZE}")
    entries = []
    for version, *fields in _ENTRY.iter_unpack(data):
        if version != _VERSION:
            raise CorruptTransactionIndex(f"it has an entry of version {version}")
        entries.append(AbortedTransaction(*fields))
    return entries


def read(path: str) -> list[AbortedTransaction]:
    try:
        with open(path, "rb") as file:
            return decode(file.read())
    except FileNotFoundError:
        return []


def write(path: str, entries: list[AbortedTransaction]) -> None:
    """Replaces the file; without entries there is none."""
    if not entries:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        return
    replace_file(path, encode(entries), sync_name=False)
