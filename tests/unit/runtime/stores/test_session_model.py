"""Session stores agree with a dict of sessions, with retention by session end, on memory and LMDB."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule
from tests.unit.runtime.stores.machine import SETTINGS, StoreMachine
from tests.unit.runtime.stores.store_specs import spec

from caudal.plan.topology import StoreKind
from caudal.runtime.record import Windowed

RETENTION = 60
KEYS = st.sampled_from(["a", "ab", "b"])
TIMES = st.integers(0, 200)


class SessionModel:
    def __init__(self) -> None:
        self.sessions: dict[Windowed, Any] = {}
        self.stream_time = -1

    def live(self) -> list[tuple[Windowed, Any]]:
        live = [(s, v) for s, v in self.sessions.items() if s.end > self.stream_time - RETENTION]
        return sorted(live, key=lambda found: (found[0].end, found[0].start, found[0].key.encode()))


class SessionMachine(StoreMachine):
    spec = spec(StoreKind.SESSION, retention=RETENTION)

    def empty_model(self) -> SessionModel:
        return SessionModel()

    @rule(key=KEYS, start=TIMES, length=st.integers(0, 30), aggregate=st.none() | st.integers(0, 9))
    def put(self, key: str, start: int, length: int, aggregate: int | None) -> None:
        self.tick()
        session = Windowed(key, start, start + length)
        self.store.put(session, aggregate)
        model = self.model
        model.stream_time = max(model.stream_time, session.end)
        if session.end > model.stream_time - RETENTION:
            model.sessions[session] = aggregate
            if aggregate is None:
                del model.sessions[session]

    def some_put(self) -> None:
        self.put("ab", max(self.model.stream_time, 0), 1, 3)

    @rule()
    def remove_what_is_there(self) -> None:
        for session, _ in self.model.live()[:2]:
            self.store.remove(session)
            del self.model.sessions[session]

    @rule(key=KEYS, earliest_end=TIMES, latest_start=TIMES)
    def find(self, key: str, earliest_end: int, latest_start: int) -> None:
        wanted = [
            (s, v) for s, v in self.model.live() if s.key == key and s.end >= earliest_end and s.start <= latest_start
        ]
        assert list(self.store.find_sessions(key, earliest_end, latest_start)) == wanted
        assert list(self.store.backward_find_sessions(key, earliest_end, latest_start)) == wanted[::-1]

    @rule(first=TIMES, last=TIMES)
    def find_ending(self, first: int, last: int) -> None:
        wanted = [(s, v) for s, v in self.model.live() if first <= s.end <= last]
        assert list(self.store.find_sessions_ending(first, last)) == wanted

    def compare(self) -> None:
        assert list(self.store.all()) == self.model.live()
        for key in ("a", "ab", "b"):
            of_key = [(s, v) for s, v in self.model.live() if s.key == key]
            assert list(self.store.fetch(key)) == of_key
            for session, aggregate in of_key[:1]:
                assert self.store.fetch_session(key, session.start, session.end) == aggregate


class SessionOnLmdb(SessionMachine):
    engine = "lmdb"


TestSession = SessionMachine.TestCase
TestSessionOnLmdb = SessionOnLmdb.TestCase
for case in (TestSession, TestSessionOnLmdb):
    case.settings = SETTINGS
del case  # pytest would collect it once more
