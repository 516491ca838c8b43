"""Store specs and a re-openable state for the tests of the stores."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from caudal.plan.topology import StoreKind, StoreSpec
from caudal.runtime.stores import TaskState
from caudal.serde import Json, String

KEYS = String()
VALUES = Json()


def spec(kind: StoreKind, name: str = "store", **fields: Any) -> StoreSpec:
    return StoreSpec(**{"name": name, "kind": kind, "key": KEYS, "value": VALUES, **fields})


class Reopenable:
    """A task's state that can be closed and opened again; with engine "memory" reopening is a restore of the changelog.

    Keeps the changelog like Kafka would, so that a state can be made from it alone.
    """

    def __init__(self, engine: str, specs: list[StoreSpec], cache_entries: int = 8) -> None:
        self.engine = engine
        self.specs = specs
        self.cache_entries = cache_entries
        self.folder = None if engine == "memory" else Path(tempfile.mkdtemp(prefix="stores-"))
        self.log: list[tuple[str, bytes, bytes | None, int]] = []
        self.state = self.open()
        self.commits = 0

    def open(self) -> TaskState:
        engine = "lmdb" if self.engine == "memory" else self.engine
        return TaskState(self.folder, self.specs, engine=engine, cache_entries=self.cache_entries)

    def commit(self) -> None:
        self.log += self.state.changes()
        self.commits += 1
        self.state.commit({"commit": self.commits})

    def reopen(self, clean: bool) -> None:
        if clean:
            self.state.close()
        self.state = self.open()
        assert self.state.void is None
        if self.folder is None:
            self.restore()
        elif self.commits:
            assert self.state.meta() == {"commit": self.commits}

    def restore(self) -> None:
        """From the changelog alone."""
        self.state.wipe()
        for store, key, value, timestamp in self.log:
            self.state.restore(store, key, value, timestamp)
        self.state.commit({"commit": self.commits})

    def close(self) -> None:
        self.state.close()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
