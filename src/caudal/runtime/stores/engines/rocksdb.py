"""The RocksDB engine: a log-structured merge tree, for state much larger than memory.

Only one process can have it open (its LOCK file): that keeps a zombie out, and a new owner waits until the former lets
go. With the write-ahead log, not synced: what a killed process had committed is there when it is opened again.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rocksdict import BlockBasedOptions, Cache, Options, Rdict, WriteBatch

from caudal.runtime.stores.engines.engine import Fenced, StateError

_META = b"\0\0meta"  # stores have numbers from 1, so nothing of theirs begins like this
_CHUNK = 256
_BLOCK_CACHE = 32 << 20  # bytes, per task
_LOCK_WAIT = 10.0  # seconds; the former owner may still be closing


class RocksDbEngine:
    def __init__(self, folder: Path) -> None:
        self._path = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._db: Any = self._open()

    def _open(self) -> Any:
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_write_buffer_size(16 << 20)
        table = BlockBasedOptions()
        table.set_bloom_filter(10, False)
        table.set_block_cache(Cache(_BLOCK_CACHE))
        options.set_block_based_table_factory(table)
        options.set_max_log_file_size(1 << 20)
        options.set_keep_log_file_num(2)
        deadline = time.monotonic() + _LOCK_WAIT
        while True:
            try:
                return Rdict(str(self._path), options)
            except Exception as error:
                if "lock" not in str(error).lower():
                    raise
                if time.monotonic() > deadline:
                    raise StateError(
                        f"The state in {self._path} is locked by another process; stop that one, or give this "
                        "application a state folder of its own."
                    ) from error
                time.sleep(0.05)

    def get(self, key: bytes) -> bytes | None:
        if self._db is None:
            raise self._shut()
        return self._db.get(key)  # type: ignore[no-any-return]

    def scan(self, first: bytes, end: bytes | None, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """In chunks: an open iterator would pin files, and a scan may be left half way."""
        first = first or b"\0\1"
        while True:
            if self._db is None:
                raise self._shut()
            chunk: list[tuple[bytes, bytes]] = []
            # The bounds are checked here: of rocksdict's read options only the upper one is heeded.
            for item in self._db.items(backwards=reverse, from_key=end if reverse else first):
                if item[0] < first if reverse else (end is not None and item[0] >= end):
                    break
                if reverse and item[0] == end:
                    continue
                chunk.append(item)
                if len(chunk) == _CHUNK:
                    break
            yield from chunk
            if len(chunk) < _CHUNK:
                return
            if reverse:
                end = chunk[-1][0]
            else:
                first = chunk[-1][0] + b"\0"

    def write(
        self,
        items: Iterable[tuple[bytes, bytes | None]],
        meta: bytes | None = None,
        drops: Iterable[tuple[bytes, bytes]] = (),
    ) -> None:
        if self._db is None:
            raise self._shut()
        batch = WriteBatch(raw_mode=True)
        for first, end in drops:
            batch.delete_range(first, end)
        put, delete = batch.put, batch.delete
        for key, value in items:
            if value is None:
                delete(key)
            else:
                put(key, value)
        if meta is not None:
            put(_META, meta)
        try:
            self._db.write(batch)
        except Exception as error:  # rocksdict raises nothing more special
            raise StateError(f"The state in {self._path} cannot be written: {error}.") from error

    def meta(self) -> bytes | None:
        return self.get(_META)

    def wipe(self) -> None:
        if self._db is None:
            raise self._shut()
        self._db.close()
        self._db = None
        shutil.rmtree(self._path)
        self._path.mkdir(parents=True)
        self._db = self._open()

    def is_owner(self) -> bool:
        return self._db is not None

    def sync(self) -> None:
        if self._db is not None:
            self._db.flush()

    def size_bytes(self) -> int:
        return sum(file.stat().st_size for file in self._path.iterdir() if file.is_file())

    def approximate_count(self) -> int:
        if self._db is None:
            return 0
        return int(self._db.property_int_value("rocksdb.estimate-num-keys") or 0)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _shut(self) -> Fenced:
        return Fenced(f"The state in {self._path} was closed by this process; open it again to use it.")
