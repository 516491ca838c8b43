"""Where a view's data lies: for each partition the kind of store that a task has, filled the way a task restores it.

So keys, order, windows and their retention are the store's own, and there is one place that knows the changelog's
formats (`runtime/stores`). All partitions share an engine; each write is atomic with the offsets it stands for, so that
a restart reads only what came after. Engines are for one thread at a time: readers and the writer take the lock, and
hold it for small portions.

A second process (or application) that follows the same store finds the folder taken and uses the next one.
"""

from __future__ import annotations

import fcntl
import itertools
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from caudal.plan.topology import StoreKind, StoreSpec
from caudal.runtime.stores import TaskState
from caudal.runtime.stores.base import LogRecord
from caudal.serde import Serde
from caudal.views.errors import ViewError

_NO_CACHE = 2  # entries; every write would empty it, and a read of the engine costs little


class ViewIndex:
    """The index of one view. `offsets` is what the data stands for: the next offset to read, by partition."""

    def __init__(self, folder: Path, spec: StoreSpec, partitions: int, engine: str) -> None:
        self.name = spec.name
        self.partitions = partitions
        self.unreadable = 0  # records of a source topic that its serdes could not read
        is_table = spec.kind in (StoreKind.KEY_VALUE, StoreKind.TIMESTAMPED)
        self._checked = (spec.key, spec.value) if is_table and spec.changelog is not None else None
        self._lock = threading.Lock()
        self._closed = False
        place, self._claim = _claimed(folder)
        parts = [replace(spec, name=str(number), persistent=True) for number in range(partitions)]
        try:
            self._state = TaskState(place, parts, engine=engine, cache_entries=_NO_CACHE)
        except BaseException:
            self._claim.close()
            raise
        self._stores = [self._state.stores[part.name] for part in parts]
        self.meta: dict[str, Any] = self._state.meta() or {}

    # -- what it stands for ------------------------------------------------------------------------------------------

    @property
    def topic_id(self) -> str | None:
        return self.meta.get("topic_id")

    @property
    def offsets(self) -> dict[int, int]:
        return {int(number): offset for number, offset in self.meta.get("offsets", {}).items()}

    @property
    def age(self) -> float:
        """Seconds since it was known to be as the log was."""
        return max(0.0, time.time() - float(self.meta.get("written", 0.0)))

    # -- writing: only the follower ----------------------------------------------------------------------------------

    def begin(self, topic_id: str, offsets: Mapping[int, int], anew: bool) -> None:
        """It follows this topic from these offsets on; `anew` empties it first. It becomes no younger by that."""
        with self._lock:
            if anew:
                self._state.wipe()
                self.meta = {}
            self._commit({"written": time.time(), **self.meta, "topic_id": topic_id, "offsets": _by_text(offsets)})

    def apply(self, records: Mapping[int, list[LogRecord]], offsets: Mapping[int, int]) -> None:
        """Takes changelog records over, and where they end. Without records: it is still as the log is."""
        if self._checked is not None:
            records = {number: self._readable(batch, *self._checked) for number, batch in records.items()}
        with self._lock:
            for number, batch in records.items():
                self._state.restore_batch(str(number), batch)
            known = {**self.meta["offsets"], **_by_text(offsets)}
            self._commit({**self.meta, "offsets": known, "written": time.time()})

    def _commit(self, meta: dict[str, Any]) -> None:
        self._state.commit(meta)
        self.meta = meta

    def _readable(self, records: list[LogRecord], key: Serde, value: Serde) -> list[LogRecord]:
        """Anybody may write a source topic. What does not parse never reached the store, so it does not reach us."""
        readable = []
        for record in records:
            try:
                key.deserialize(record[0])
                if record[1] is not None:
                    value.deserialize(record[1])
            except Exception:
                self.unreadable += 1
            else:
                readable.append(record)
        return readable

    # -- reading -----------------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[list[Any]]:
        """The stores, one per partition, for as long as the block takes: keep it short."""
        with self._lock:
            if self._closed:
                raise ViewError(f"The view of store '{self.name}' was closed or made anew; ask for the store again.")
            yield self._stores

    def approximate_count(self) -> int:
        with self.reading():
            return self._state.approximate_count()

    def size_bytes(self) -> int:
        with self.reading():
            return self._state.size_bytes()

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self._state.close()
                self._claim.close()


def _claimed(folder: Path) -> tuple[Path, IO[str]]:
    """The first place under `folder` that nobody holds, and the open file that holds it. A killed holder frees it."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in itertools.count():
        claim = open(folder / f"{number}.lock", "a")  # noqa: SIM115 - it is held as long as the index lives
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            claim.close()
        else:
            return folder / str(number), claim
    raise AssertionError("numbers do not end")


def _by_text(offsets: Mapping[int, int]) -> dict[str, int]:
    return {str(number): offset for number, offset in offsets.items()}
