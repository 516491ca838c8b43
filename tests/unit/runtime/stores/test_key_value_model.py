"""Key-value stores agree with a dict, whatever is committed, rolled back, reopened or restored, on every engine."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule
from tests.unit.runtime.stores.machine import SETTINGS, StoreMachine
from tests.unit.runtime.stores.store_specs import spec

from caudal.plan.topology import StoreKind

# Few keys, so that they meet; some begin alike, one is beyond ASCII, some are longer than LMDB takes.
LONG = "l" * 505
KEYS = st.sampled_from(["", "a", "ab", "abc", "b", "ñ", LONG, LONG + "a", LONG + "ab", LONG + "b" * 300, "z"])
VALUES = st.one_of(st.integers(-5, 5), st.lists(st.integers(0, 3), max_size=2), st.dictionaries(st.just("k"), KEYS))


class KeyValueMachine(StoreMachine):
    spec = spec(StoreKind.KEY_VALUE)

    @rule(key=KEYS, value=VALUES)
    def put(self, key: str, value: Any) -> None:
        self.tick()
        self.store.put(key, value)
        self.model[key] = value

    def some_put(self) -> None:
        self.put("ab", [self.clock])

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        self.tick()
        assert self.store.delete(key) == self.model.pop(key, None)

    @rule(key=KEYS, value=VALUES)
    def put_if_absent(self, key: str, value: Any) -> None:
        assert self.store.put_if_absent(key, value) == self.model.get(key)
        self.model.setdefault(key, value)

    @rule(key=KEYS)
    def get(self, key: str) -> None:
        assert self.store.get(key) == self.model.get(key)

    @rule(key=KEYS)
    def change_what_was_got(self, key: str) -> None:
        """A value that came out is the caller's own."""
        value = self.store.get(key)
        if isinstance(value, list):
            value.append("changed")

    @rule(first=st.none() | KEYS, last=st.none() | KEYS)
    def range(self, first: str | None, last: str | None) -> None:
        wanted = [
            item
            for item in sorted(self.model.items(), key=lambda item: item[0].encode())
            if (first is None or item[0].encode() >= first.encode())
            and (last is None or item[0].encode() <= last.encode())
        ]
        assert list(self.store.range(first, last)) == wanted
        assert list(self.store.reverse_range(first, last)) == wanted[::-1]

    @rule(prefix=KEYS)
    def prefix_scan(self, prefix: str) -> None:
        wanted = sorted(item for item in self.model if item.startswith(prefix))
        assert [key for key, _ in self.store.prefix_scan(prefix)] == wanted

    @rule()
    def delete_while_scanning(self) -> None:
        for key, _ in self.store.all():
            self.store.delete(key)
        self.model.clear()

    def compare(self) -> None:
        wanted = sorted(self.model.items(), key=lambda item: item[0].encode())
        assert list(self.store.all()) == wanted
        assert list(self.store.reverse_all()) == wanted[::-1]
        assert self.store.count() == len(wanted)


class TimestampedMachine(StoreMachine):
    spec = spec(StoreKind.TIMESTAMPED)

    @rule(key=KEYS, value=VALUES, timestamp=st.integers(0, 1 << 50))
    def put(self, key: str, value: Any, timestamp: int) -> None:
        self.store.put(key, value, timestamp)
        self.model[key] = (value, timestamp)

    def some_put(self) -> None:
        self.put("ab", 1, 7)

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        assert self.store.delete(key) == self.model.pop(key, None)

    @rule(key=KEYS)
    def get(self, key: str) -> None:
        assert self.store.get(key) == self.model.get(key)

    def compare(self) -> None:
        assert list(self.store.all()) == sorted(self.model.items(), key=lambda item: item[0].encode())


class KeyValueOnLmdb(KeyValueMachine):
    engine = "lmdb"


class KeyValueOnRocksDb(KeyValueMachine):
    engine = "rocksdb"


class TimestampedOnLmdb(TimestampedMachine):
    engine = "lmdb"


TestKeyValue = KeyValueMachine.TestCase
TestKeyValueOnLmdb = KeyValueOnLmdb.TestCase
TestKeyValueOnRocksDb = KeyValueOnRocksDb.TestCase
TestTimestamped = TimestampedMachine.TestCase
TestTimestampedOnLmdb = TimestampedOnLmdb.TestCase
for case in (TestKeyValue, TestKeyValueOnLmdb, TestTimestamped, TestTimestampedOnLmdb):
    case.settings = SETTINGS
del case  # pytest would collect it once more
TestKeyValueOnRocksDb.settings = type(SETTINGS)(SETTINGS, max_examples=5, stateful_step_count=20)
