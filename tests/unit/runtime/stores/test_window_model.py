"""Window stores agree with a list of what was put, with retention, on memory and LMDB; the same with duplicates."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule
from tests.unit.runtime.stores.machine import SETTINGS, StoreMachine
from tests.unit.runtime.stores.store_specs import spec

from caudal.plan.topology import StoreKind
from caudal.runtime.record import Windowed

SIZE, RETENTION = 10, 45
KEYS = st.sampled_from(["a", "ab", "b", "k" * 600])
STARTS = st.integers(0, 200)


class WindowModel:
    def __init__(self) -> None:
        self.windows: dict[tuple[str, int], list[tuple[Any, int]]] = {}
        self.stream_time = -1

    def live(self) -> list[tuple[int, str, Any, int]]:
        return sorted(
            (
                (start, key, value, timestamp)
                for (key, start), values in self.windows.items()
                for value, timestamp in values
                if start > self.stream_time - RETENTION
            ),
            key=lambda found: (found[0], found[1].encode()),
        )


class WindowMachine(StoreMachine):
    spec = spec(StoreKind.WINDOW, window_size=SIZE, retention=RETENTION)

    def empty_model(self) -> WindowModel:
        return WindowModel()

    @rule(key=KEYS, value=st.none() | st.lists(st.integers(0, 3), max_size=2), start=STARTS)
    def put(self, key: str, value: Any, start: int) -> None:
        timestamp = self.tick()
        before = self.store.expired
        self.store.put(key, value, start, timestamp)
        model = self.model
        if value is None and self.spec.retain_duplicates:
            return
        model.stream_time = max(model.stream_time, start)
        late = start <= model.stream_time - RETENTION
        assert self.store.expired - before == late
        if late:
            return
        if self.spec.retain_duplicates:
            model.windows.setdefault((key, start), []).append((value, timestamp))
        elif value is None:
            model.windows.pop((key, start), None)
        else:
            model.windows[key, start] = [(value, timestamp)]

    def some_put(self) -> None:
        self.put("ab", [1], max(self.model.stream_time, 0))

    @rule(key=KEYS, start=STARTS)
    def fetch(self, key: str, start: int) -> None:
        found = [(v, t) for s, k, v, t in self.model.live() if (s, k) == (start, key)]
        assert self.store.fetch_with_timestamp(key, start) == (found[0] if found else None)
        assert self.store.fetch(key, start) == (found[0][0] if found else None)

    @rule(key=KEYS, first=st.none() | STARTS, last=st.none() | STARTS)
    def fetch_range(self, key: str, first: int | None, last: int | None) -> None:
        wanted = [
            (s, v)
            for s, k, v, _ in self.model.live()
            if k == key and (first is None or s >= first) and (last is None or s <= last)
        ]
        assert list(self.store.fetch_range(key, first, last)) == wanted
        assert list(self.store.backward_fetch_range(key, first, last)) == wanted[::-1]

    @rule(first=STARTS, last=STARTS)
    def fetch_all(self, first: int, last: int) -> None:
        wanted = [(Windowed(k, s, s + SIZE), v, t) for s, k, v, t in self.model.live() if first <= s <= last]
        assert list(self.store.fetch_all_with_timestamp(first, last)) == wanted

    def compare(self) -> None:
        wanted = [(Windowed(k, s, s + SIZE), v) for s, k, v, _ in self.model.live()]
        assert list(self.store.all()) == wanted
        assert list(self.store.backward_all()) == wanted[::-1]
        assert self.store.stream_time == self.model.stream_time or not wanted


class DuplicatesMachine(WindowMachine):
    spec = spec(StoreKind.WINDOW, window_size=SIZE, retention=RETENTION, retain_duplicates=True)


class WindowOnLmdb(WindowMachine):
    engine = "lmdb"


class DuplicatesOnLmdb(DuplicatesMachine):
    engine = "lmdb"


class WindowOnRocksDb(WindowMachine):
    engine = "rocksdb"


TestWindow = WindowMachine.TestCase
TestWindowOnLmdb = WindowOnLmdb.TestCase
TestWindowOnRocksDb = WindowOnRocksDb.TestCase
TestDuplicates = DuplicatesMachine.TestCase
TestDuplicatesOnLmdb = DuplicatesOnLmdb.TestCase
for case in (TestWindow, TestWindowOnLmdb, TestDuplicates, TestDuplicatesOnLmdb):
    case.settings = SETTINGS
del case  # pytest would collect it once more
TestWindowOnRocksDb.settings = type(SETTINGS)(SETTINGS, max_examples=5, stateful_step_count=20)
