"""The LMDB engine: a copy-on-write B+ tree in a memory map.

Why it fits: a read is a walk through mapped memory; a commit is one transaction, which a killed process either made or
did not; several processes may have it open, so a new owner need not wait for a zombie: whose token is not in the
database any more, writes nothing (`Fenced`). Nothing is synced: the changelog is what lasts (see identity.py for what
that means after a crash of the machine).

LMDB takes keys up to 511 bytes. A longer one is kept under its first bytes and a digest, with the whole key in front of
the value; scans put such keys in order again.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import lmdb

from caudal.runtime.stores.engines.engine import Fenced, StateError

_META = b"\0\0meta"  # stores have numbers from 1, so nothing of theirs begins like this
_OWNER = b"\0\0owner"
_FIRST_MAP = 1 << 30  # address space, not disk: the file grows with the data
_CHUNK = 256
_KEY = itemgetter(0)
_INT32 = struct.Struct(">I")

_LIMIT = 510  # longest key that is kept as it is; 511 bytes mark a shortened one
_HEAD = 511 - 16


class LmdbEngine:
    def __init__(self, folder: Path, token: str) -> None:
        self._path = folder
        self._token = token.encode()
        self._read: Any = None
        self._closed = False
        folder.mkdir(parents=True, exist_ok=True)
        self._env = lmdb.open(
            str(folder), map_size=_FIRST_MAP, sync=False, metasync=False, max_readers=64, max_dbs=0, readahead=False
        )
        self._env.reader_check()  # readers that were killed would keep old pages from being used again
        with self._env.begin(write=True) as txn:
            txn.put(_OWNER, self._token)

    # -- reading: one snapshot from the first read after a write to the next write -----------------------------------

    def _snapshot(self) -> Any:
        if self._closed:
            raise self._fenced()
        try:
            self._read = self._env.begin()
        except lmdb.MapResizedError:  # another process let the file grow
            self._env.set_mapsize(0)
            self._read = self._env.begin()
        return self._read

    def _end_snapshot(self) -> None:
        if self._read is not None:
            self._read.abort()
            self._read = None

    def get(self, key: bytes) -> bytes | None:
        txn = self._read or self._snapshot()
        if len(key) > _LIMIT:
            data = txn.get(_shortened(key))
            return None if data is None else _whole(data)[1]
        return txn.get(key)  # type: ignore[no-any-return]

    def scan(self, first: bytes, end: bytes | None, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        low = first if len(first) < _HEAD else first[:_HEAD]
        high = end if end is None or len(end) < _HEAD else end[:_HEAD] + b"\xff" * 17
        for long, run in groupby(self._raw_scan(low, high, reverse), _long_head):
            if long is None:
                # Short keys are all in place, but the bounds may have been widened to the head of a long key.
                for key, value in run:
                    if key >= first and (end is None or key < end):
                        yield key, value
                continue
            entries = [_whole(value) if len(key) > _LIMIT else (key, value) for key, value in run]
            for key, value in sorted(entries, reverse=reverse):
                if key >= first and (end is None or key < end):
                    yield key, value

    def _raw_scan(self, low: bytes, high: bytes | None, reverse: bool) -> Iterator[tuple[bytes, bytes]]:
        """In chunks, none of which outlives the snapshot: a scan may be left open over a write."""
        low = low or b"\0\1"
        after = False  # `low` (or `high`, backwards) was given already
        while True:
            chunk: list[tuple[bytes, bytes]] = []
            cursor = (self._read or self._snapshot()).cursor()
            if reverse:
                there = cursor.set_range(high) if high is not None else False
                there = cursor.prev() if there else cursor.last()
                items = cursor.iterprev() if there else iter(())
                for item in items:
                    if item[0] < low:
                        break
                    chunk.append(item)
                    if len(chunk) == _CHUNK:
                        break
            elif cursor.set_range(low):
                if after and cursor.key() == low:
                    cursor.next()
                for item in cursor.iternext():
                    if high is not None and item[0] >= high:
                        break
                    chunk.append(item)
                    if len(chunk) == _CHUNK:
                        break
            cursor.close()
            yield from chunk
            if len(chunk) < _CHUNK:
                return
            if reverse:
                high = chunk[-1][0]
            else:
                low, after = chunk[-1][0], True

    # -- writing -----------------------------------------------------------------------------------------------------

    def write(
        self,
        items: Iterable[tuple[bytes, bytes | None]],
        meta: bytes | None = None,
        drops: Iterable[tuple[bytes, bytes]] = (),
    ) -> None:
        # The last one of each key, and in order: neighbours share pages, which a random order would touch many times.
        ordered = sorted(dict(items).items(), key=_KEY)
        if all(len(key) <= _LIMIT and value is not None for key, value in ordered):
            puts, deletes = ordered, list[bytes]()
        else:
            puts, deletes = _split(ordered)
        ranges = list(drops)
        while True:
            try:
                with self._owned() as txn:
                    for first, end in ranges:
                        _drop(txn, first, end)
                    for key in deletes:
                        txn.delete(key)
                    if puts:
                        with txn.cursor() as cursor:
                            cursor.putmulti(puts)
                    if meta is not None:
                        txn.put(_META, meta)
                return
            except lmdb.MapFullError:
                self._env.set_mapsize(self._env.info()["map_size"] * 2)
            except lmdb.Error as error:
                raise StateError(f"The state in {self._path} cannot be written: {error}.") from error

    def _owned(self) -> Any:
        """A write transaction, if this engine is still the owner. Ends the snapshot."""
        self._end_snapshot()
        if self._closed:
            raise self._fenced()
        try:
            txn = self._env.begin(write=True)
        except lmdb.MapResizedError:
            self._env.set_mapsize(0)
            txn = self._env.begin(write=True)
        if txn.get(_OWNER) != self._token:
            txn.abort()
            raise self._fenced()
        return txn

    def _fenced(self) -> Fenced:
        return Fenced(f"The state in {self._path} has a new owner; this task must not write it any more.")

    def meta(self) -> bytes | None:
        return (self._read or self._snapshot()).get(_META)  # type: ignore[no-any-return]

    def wipe(self) -> None:
        with self._owned() as txn:
            txn.drop(self._env.open_db(None, txn=txn), delete=False)
            txn.put(_OWNER, self._token)

    # -- the rest ----------------------------------------------------------------------------------------------------

    def is_owner(self) -> bool:
        if self._closed:
            return False
        self._end_snapshot()
        return bool((self._snapshot()).get(_OWNER) == self._token)

    def sync(self) -> None:
        self._env.sync(True)

    def size_bytes(self) -> int:
        if self._closed:
            return 0
        return int((self._env.info()["last_pgno"] + 1) * self._env.stat()["psize"])

    def approximate_count(self) -> int:
        if self._closed:
            return 0
        return max(0, int(self._env.stat()["entries"]) - 2)  # without owner and meta

    def close(self) -> None:
        if not self._closed:
            self._end_snapshot()
            self._closed = True
            self._env.close()


def _shortened(key: bytes) -> bytes:
    return key[:_HEAD] + blake2b(key, digest_size=16).digest()


def _whole(data: bytes) -> tuple[bytes, bytes]:
    size = 4 + _INT32.unpack_from(data)[0]
    return data[4:size], data[size:]


def _long_head(item: tuple[bytes, bytes]) -> bytes | None:
    """What groups keys that may be out of order among themselves: those that share a shortened key's head."""
    return item[0][:_HEAD] if len(item[0]) >= _HEAD else None


def _split(items: list[tuple[bytes, bytes | None]]) -> tuple[list[tuple[bytes, bytes | None]], list[bytes]]:
    """What is to be put and what deleted, with long keys shortened."""
    puts: list[tuple[bytes, bytes | None]] = []
    deletes: list[bytes] = []
    for key, value in items:
        if value is None:
            deletes.append(key if len(key) <= _LIMIT else _shortened(key))
        elif len(key) <= _LIMIT:
            puts.append((key, value))
        else:
            puts.append((_shortened(key), _INT32.pack(len(key)) + key + value))
    return puts, deletes


def _drop(txn: Any, first: bytes, end: bytes) -> None:
    """All keys in the range. Bounds are segment numbers, far shorter than a shortened key's head."""
    with txn.cursor() as cursor:
        there = cursor.set_range(first)
        while there and cursor.key() < end:
            there = cursor.delete()  # moves on to the next
