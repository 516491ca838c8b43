"""A task's state: what a commit writes, what a restore rebuilds, whom it belongs to, and when it is void."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.runtime.stores.store_specs import spec

from caudal.plan.topology import StoreKind
from caudal.runtime.record import Windowed
from caudal.runtime.stores import Fenced, StateError, TaskState, task_folder
from caudal.runtime.stores.engines import ENGINES, identity
from caudal.serde import Bytes, Double, Json, Long, String

KV = spec(StoreKind.KEY_VALUE, "kv")
META = {"sources": {"orders": 7}, "changelogs": {"kv": 3}}


class CountingSerde:
    """Json that counts how often it serialises."""

    def __init__(self) -> None:
        self.calls = 0

    def serialize(self, value: Any) -> bytes:
        self.calls += 1
        return Json().serialize(value)

    def deserialize(self, data: bytes) -> Any:
        return Json().deserialize(data)


# -- changelog -------------------------------------------------------------------------------------------------------


def test_changelog_formats_are_those_of_kafka_streams() -> None:
    state = TaskState(
        None,
        [
            KV,
            spec(StoreKind.TIMESTAMPED, "ts"),
            spec(StoreKind.WINDOW, "window", window_size=10, retention=100),
            spec(StoreKind.WINDOW, "joins", window_size=10, retention=100, retain_duplicates=True),
            spec(StoreKind.SESSION, "session", retention=100),
        ],
    )
    state.set_stream_context(99)
    state.stores["kv"].put("k", 1)
    state.stores["ts"].put("k", 2, 50)
    state.stores["window"].put("k", 3, 20, 55)
    state.stores["joins"].put("k", 4, 20)
    state.stores["joins"].put("k", 5, 20)
    state.stores["session"].put(Windowed("k", 30, 40), 6)
    assert list(state.changes()) == [
        ("kv", b"k", b"1", 99),
        ("ts", b"k", b"2", 50),
        ("window", b"k" + struct.pack(">qi", 20, 0), b"3", 55),
        ("joins", b"k" + struct.pack(">qi", 20, 1), b"4", 99),
        ("joins", b"k" + struct.pack(">qi", 20, 2), b"5", 99),
        ("session", b"k" + struct.pack(">qq", 40, 30), b"6", 99),
    ]


def test_a_hot_key_is_serialised_once_per_commit() -> None:
    counting = CountingSerde()
    state = TaskState(None, [replace(KV, value=counting)])
    store = state.stores["kv"]
    for number in range(1000):
        store.put("hot", {"n": (store.get("hot") or {"n": 0})["n"] + 1, "last": number})
    assert counting.calls == 0
    assert list(state.changes()) == [("kv", b"hot", b'{"n":1000,"last":999}', 0)]
    state.commit(META)
    assert counting.calls == 1


def test_what_has_no_changelog_of_its_own_reports_no_changes() -> None:
    specs = [replace(KV, name="a", logged=False), replace(KV, name="b", changelog="orders"), replace(KV, name="c")]
    state = TaskState(None, specs)
    for store in state.stores.values():
        store.put("k", 1)
    assert [change[0] for change in state.changes()] == ["c"]
    state.commit(META)
    assert [store.get("k") for store in state.stores.values()] == [1, 1, 1]


def test_equal_python_keys_with_other_bytes_are_other_keys() -> None:
    state = TaskState(None, [replace(KV, key=Json()), replace(KV, name="long", key=Long())])
    store = state.stores["kv"]
    for key in ("1", 1, 1.0, True, [1], {"a": 1}):
        store.put(key, repr(key))
    for _ in range(2):
        assert [store.get(key) for key in ("1", 1, 1.0, True, [1], {"a": 1})] == [
            repr(key) for key in ("1", 1, 1.0, True, [1], {"a": 1})
        ]
        state.commit(META)
    longs = state.stores["long"]  # and other Python keys with equal bytes are one key
    longs.put(1, "int")
    longs.put(True, "bool")
    assert longs.get(1) == "bool"
    assert longs.count() == 1


@pytest.mark.parametrize("kind", [StoreKind.KEY_VALUE, StoreKind.WINDOW], ids=lambda kind: kind.value)
def test_a_value_that_does_not_serialise_is_said_with_its_store_and_nothing_is_written(kind: StoreKind) -> None:
    state = TaskState(None, [spec(kind, "s", window_size=10, retention=100, value=Long())])
    put = state.stores["s"].put
    put("a", 1, *([5] if kind is StoreKind.WINDOW else []))
    put("b", "not a number", *([5] if kind is StoreKind.WINDOW else []))
    for _ in range(2):  # the second time as well: no half of it is left
        with pytest.raises(StateError, match="Store 's' cannot serialise"):
            state.changes()
        with pytest.raises(StateError, match="Store 's' cannot serialise"):
            state.commit(META)
    state.rollback()
    assert list(state.stores["s"].all()) == []


def test_floats_as_keys() -> None:
    state = TaskState(None, [replace(KV, key=Double())])
    store = state.stores["kv"]
    store.put(0.0, "plus")
    store.put(-0.0, "minus")
    assert (store.get(0.0), store.get(-0.0)) == ("plus", "minus")


def test_values_are_the_callers_own() -> None:
    state = TaskState(None, [KV])
    store = state.stores["kv"]
    mine = {"list": [1]}
    store.put("k", mine)
    mine["list"].append(2)
    assert store.get("k") == {"list": [1]}
    store.get("k")["list"].append(3)
    for _, value in store.all():
        value["list"].append(4)
    assert store.get("k") == {"list": [1]}
    state.commit(META)
    store.get("k")["list"].append(5)
    assert store.get("k") == {"list": [1]}


# -- commit, restore, memory -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_data_and_meta_come_back_together(engine: str, tmp_path: Path) -> None:
    state = TaskState(tmp_path / "0_0", [KV], engine=engine)
    assert state.meta() is None
    state.stores["kv"].put("k", 1)
    state.commit(META)
    state.stores["kv"].put("k", 2)
    state.close()
    again = TaskState(tmp_path / "0_0", [KV], engine=engine)
    assert (again.meta(), again.stores["kv"].get("k"), again.void) == (META, 1, None)
    again.close()


def test_stores_that_are_not_persistent_begin_empty_and_their_position_is_forgotten(tmp_path: Path) -> None:
    specs = [KV, replace(KV, name="fleeting", persistent=False)]
    state = TaskState(tmp_path / "0_0", specs)
    for store in state.stores.values():
        store.put("k", 1)
    state.commit({"changelogs": {"kv": 1, "fleeting": 1}})
    assert state.meta() == {"changelogs": {"kv": 1, "fleeting": 1}}
    state.close()
    again = TaskState(tmp_path / "0_0", specs)
    assert again.volatile == {"fleeting"}
    assert again.meta() == {"changelogs": {"kv": 1}}
    assert again.stores["fleeting"].get("k") is None
    again.close()


def test_a_restore_that_breaks_off_leaves_meta_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caudal.runtime.stores.state._RESTORE_CHUNK", 10)
    state = TaskState(tmp_path / "0_0", [KV])
    state.stores["kv"].put("k", 1)
    state.commit(META)
    tail = [(b"k", b"2", 0), *((b"k%d" % number, b"3", 0) for number in range(25))]
    for key, value, timestamp in tail[:15]:
        state.restore("kv", key, value, timestamp)
    again = TaskState(tmp_path / "0_0", [KV])  # as after a kill
    assert again.meta() == META
    assert again.restore_batch("kv", tail) == 26
    again.commit({"changelogs": {"kv": 29}})
    assert again.stores["kv"].count() == 26
    assert again.stores["kv"].get("k") == 2
    assert again.meta() == {"changelogs": {"kv": 29}}
    again.close()


def test_a_restore_that_is_given_up_leaves_a_store_that_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caudal.runtime.stores.state._RESTORE_CHUNK", 10)
    window = spec(StoreKind.WINDOW, "w", window_size=10, retention=100)
    state = TaskState(None, [window])
    store = state.stores["w"]
    store.put("k", 1, 5)
    state.commit(META)
    for start in range(10, 35):
        state.restore("w", b"k" + struct.pack(">qi", start, 0), b"2", start)
    state.rollback()
    assert store.fetch("k", 5) == 1
    state.restore("w", b"k" + struct.pack(">qi", 40, 0), b"3", 40)
    state.commit(META)
    assert dict(store.fetch_range("k"))[40] == 3


def test_restore_of_an_unknown_store_and_over_changes_is_refused() -> None:
    state = TaskState(None, [KV])
    with pytest.raises(StateError, match="no store 'nope'"):
        state.restore("nope", b"k", b"1", 0)
    state.stores["kv"].put("k", 1)
    with pytest.raises(StateError, match="uncommitted"):
        state.restore("kv", b"k", b"1", 0)


def test_the_clean_cache_is_bounded(tmp_path: Path) -> None:
    state = TaskState(tmp_path / "0_0", [KV], cache_entries=100)
    store = state.stores["kv"]
    for number in range(5000):
        store.put(f"k{number}", number)
    assert state.pending == 5000
    state.commit(META)
    assert state.pending == 0
    for number in range(5000):
        assert store.get(f"k{number}") == number
    assert len(store._clean) <= 100
    state.close()


def test_expired_segments_leave_the_engine() -> None:
    window = spec(StoreKind.WINDOW, "w", window_size=10, retention=50)
    state = TaskState(None, [window])
    store = state.stores["w"]
    for start in range(0, 1000, 10):
        store.put("k", start, start)
        state.commit(META)
    assert [start for start, _ in store.fetch_range("k")] == list(range(950, 1000, 10))
    assert len(list(state._sides[0].engine.scan(b"", None))) <= 6
    assert len(store._segments) <= 6


# -- ownership -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_the_former_owner_in_the_same_process_is_fenced(engine: str, tmp_path: Path) -> None:
    former = TaskState(tmp_path / "0_0", [KV], engine=engine)
    former.stores["kv"].put("k", "former")
    former.commit(META)
    owner = TaskState(tmp_path / "0_0", [KV], engine=engine)
    former.stores["kv"].put("k", "zombie")
    with pytest.raises(Fenced):
        former.commit({"zombie": 1})
    with pytest.raises(Fenced):
        former.wipe()
    former.close()
    assert owner.stores["kv"].get("k") == "former"
    owner.stores["kv"].put("k", "owner")
    owner.commit(META)
    assert owner.stores["kv"].get("k") == "owner"
    owner.close()


# -- void ------------------------------------------------------------------------------------------------------------


def _some_state(folder: Path, close: bool, engine: str = "lmdb") -> None:
    state = TaskState(folder, [KV], engine=engine)
    state.stores["kv"].put("k", 1)
    state.commit(META)
    if close:
        state.close()


def _reboot(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("identity", "folder"):
        monkeypatch.setattr(f"caudal.runtime.stores.engines.{module}.boot_id", lambda: "another boot")


def test_unsynced_before_a_reboot_is_void(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _some_state(tmp_path / "0_0", close=False)
    _reboot(monkeypatch)
    state = TaskState(tmp_path / "0_0", [KV])
    assert state.void is not None and "not synced" in state.void
    assert state.meta() is None
    assert state.stores["kv"].get("k") is None
    state.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_closed_before_a_reboot_is_good(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _some_state(tmp_path / "0_0", close=True, engine=engine)
    _reboot(monkeypatch)
    state = TaskState(tmp_path / "0_0", [KV], engine=engine)
    assert (state.void, state.meta(), state.stores["kv"].get("k")) == (None, META, 1)
    found = identity.read(tmp_path / "0_0")
    assert found is not None and not found.clean  # from now on it has to be closed again
    state.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_damaged_files_are_void(engine: str, tmp_path: Path) -> None:
    _some_state(tmp_path / "0_0", close=True, engine=engine)
    for file in (tmp_path / "0_0" / "data").iterdir():
        if file.name not in ("lock.mdb", "LOCK"):
            file.write_bytes(b"not a database" * 1000)
    state = TaskState(tmp_path / "0_0", [KV], engine=engine)
    assert state.void is not None and "cannot be read" in state.void
    state.stores["kv"].put("k", 2)
    state.commit(META)
    assert state.meta() == META
    state.close()


def test_data_without_identity_and_of_another_engine_is_void(tmp_path: Path) -> None:
    _some_state(tmp_path / "a", close=True)
    (tmp_path / "a" / "identity.json").unlink()
    state = TaskState(tmp_path / "a", [KV])
    assert state.void is not None and "who wrote it" in state.void
    state.close()
    state = TaskState(tmp_path / "a", [KV], engine="rocksdb")
    assert state.void is not None and "written by lmdb" in state.void
    state.close()


def test_a_store_of_another_layout_is_void(tmp_path: Path) -> None:
    window = spec(StoreKind.WINDOW, "kv", window_size=10, retention=100)
    _some_state(tmp_path / "0_0", close=True)
    state = TaskState(tmp_path / "0_0", [window])
    assert state.void is not None and "'kv'" in state.void
    assert state.meta() is None
    state.close()


def test_a_changed_topology_finds_its_stores_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "0_0"
    state = TaskState(folder, [KV, replace(KV, name="other")])
    state.stores["other"].put("k", "other")
    state.commit(META)
    state.close()
    state = TaskState(folder, [replace(KV, name="new"), replace(KV, name="other")])
    assert state.stores["other"].get("k") == "other"
    assert state.stores["new"].get("k") is None
    state.close()


def test_a_store_that_was_away_for_a_while_does_not_come_back_old(tmp_path: Path) -> None:
    """Its changelog went on without this state, or a new store took its number: its data must go with it."""
    folder = tmp_path / "0_0"
    other = replace(KV, name="other")
    _some_state(folder, close=True)
    state = TaskState(folder, [other])
    state.commit(META)
    state.close()
    state = TaskState(folder, [KV, other, replace(KV, name="third")])
    assert [list(store.all()) for store in state.stores.values()] == [[], [], []]
    state.close()


def test_folder_layout_and_names() -> None:
    assert task_folder("/state", "app", 1, 3) == Path("/state/app/1_3")


def test_an_unknown_engine_and_a_folder_that_is_a_file_are_said(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="no store engine"):
        TaskState(tmp_path / "0_0", [KV], engine="paper")
    (tmp_path / "file").write_text("x")
    with pytest.raises(StateError, match="cannot be used"):
        TaskState(tmp_path / "file", [KV])


def test_prefix_scan_on_bytes_keys() -> None:
    state = TaskState(None, [replace(KV, key=Bytes())])
    store = state.stores["kv"]
    for key in (b"\xff\xff", b"\xff\xff\x01", b"\xff", b"a\0b", b"a\0", b"a"):
        store.put(key, 1)
    assert [key for key, _ in store.prefix_scan(b"\xff\xff")] == [b"\xff\xff", b"\xff\xff\x01"]
    assert [key for key, _ in store.prefix_scan("a", String())] == [b"a", b"a\0", b"a\0b"]
