"""The buffers of suppress and of outer joins agree with plain lists, on memory and LMDB."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule
from tests.unit.runtime.stores.machine import SETTINGS, StoreMachine
from tests.unit.runtime.stores.store_specs import spec

from caudal.plan.topology import StoreKind
from caudal.runtime.record import Change, RecordContext
from caudal.runtime.stores import Buffered, Unjoined
from caudal.serde import Json, Long
from caudal.serde.either import LeftOrRight

KEYS = st.sampled_from(["a", "ab", "b", "c"])
TIMES = st.integers(0, 20)
VALUES = st.none() | st.lists(st.integers(0, 3), max_size=2)


class SuppressMachine(StoreMachine):
    spec = spec(StoreKind.BUFFER)

    @rule(key=KEYS, new=VALUES, old=VALUES, time=TIMES, headers=st.sampled_from([(), (("h", b"1"), ("n", None))]))
    def put(self, key: str, new: Any, old: Any, time: int, headers: Any) -> None:
        context = RecordContext("topic", 3, self.clock, self.tick(), headers)
        self.store.put(key, Change(new, old), time, context)
        before = self.model.get(key)
        if before is not None:
            self.model[key] = before._replace(change=Change(new, old), context=context)
        else:
            self.model[key] = Buffered(time, key, Change(new, old), old, context)

    def some_put(self) -> None:
        self.put("ab", [1], None, 5, ())

    def ordered(self) -> list[Buffered]:
        return sorted(self.model.values(), key=lambda held: (held.time, held.key.encode()))

    @rule()
    def pop(self) -> None:
        self.tick()
        if not self.model:
            with pytest.raises(IndexError):
                self.store.pop()
            return
        first = self.ordered()[0]
        assert self.store.pop() == first
        del self.model[first.key]

    @rule(key=KEYS)
    def get(self, key: str) -> None:
        assert self.store.get(key) == self.model.get(key)

    @rule()
    def size(self) -> None:
        held = self.store._held.values()
        assert self.store.size_bytes == sum(len(one.raw) + len(self.store._data(one)) for one in held)

    def compare(self) -> None:
        ordered = self.ordered()
        assert len(self.store) == len(ordered)
        assert self.store.min_time == (ordered[0].time if ordered else None)
        for key in ("a", "ab", "b", "c"):
            assert self.store.get(key) == self.model.get(key)


class JoinBufferMachine(StoreMachine):
    spec = spec(StoreKind.BUFFER, retain_duplicates=True, value=LeftOrRight(Long(), Json()))

    def empty_model(self) -> list[Unjoined]:
        return []

    @rule(key=KEYS, value=st.integers(0, 9), time=TIMES, left=st.booleans())
    def add(self, key: str, value: int, time: int, left: bool) -> None:
        self.tick()
        content: Any = value if left else {"value": value}
        self.store.add(key, content, time, left)
        self.model.append(Unjoined(time, left, key, content))

    def some_put(self) -> None:
        self.add("ab", 1, 5, True)

    def ordered(self) -> list[Unjoined]:
        return sorted(self.model, key=lambda held: (held.time, held.left, held.key.encode()))

    @rule(key=KEYS, time=TIMES, left=st.booleans())
    def remove(self, key: str, time: int, left: bool) -> None:
        self.tick()
        kept = [held for held in self.model if held[:3] != (time, left, key)]
        assert self.store.remove(key, time, left) == (len(kept) < len(self.model))
        self.model = kept

    @rule(time=TIMES)
    def pop_before(self, time: int) -> None:
        self.tick()
        wanted = [held for held in self.ordered() if held.time < time]
        assert list(self.store.pop_before(time)) == wanted
        self.model = [held for held in self.model if held.time >= time]

    def compare(self) -> None:
        assert list(self.store.all()) == self.ordered()
        assert self.store.min_time == min((held.time for held in self.model), default=None)


class SuppressOnLmdb(SuppressMachine):
    engine = "lmdb"


class JoinBufferOnLmdb(JoinBufferMachine):
    engine = "lmdb"


TestSuppress = SuppressMachine.TestCase
TestSuppressOnLmdb = SuppressOnLmdb.TestCase
TestJoinBuffer = JoinBufferMachine.TestCase
TestJoinBufferOnLmdb = JoinBufferOnLmdb.TestCase
for case in (TestSuppress, TestSuppressOnLmdb, TestJoinBuffer, TestJoinBufferOnLmdb):
    case.settings = SETTINGS
del case  # pytest would collect it once more
