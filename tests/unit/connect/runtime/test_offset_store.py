"""The bytes of the offset topic, and the file of a standalone worker."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from caudal.connect import ConnectError
from caudal.connect.runtime.offset_file import OffsetFile
from caudal.connect.runtime.offset_store import KafkaOffsetStore, identity, open_offset_store, to_json
from caudal.connect.runtime.settings import WorkerSettings

SETTINGS = WorkerSettings(bootstrap="127.0.0.1:1", url="http://127.0.0.1:1")


def test_bytes_are_those_of_javas_json() -> None:
    store = KafkaOffsetStore(SETTINGS, "connect-offsets")
    key, value = store.encode("orders", {"file": "ä/b.txt", "n": 1}, {"position": 42})
    assert key == '["orders",{"file":"ä/b.txt","n":1}]'.encode()
    assert value == b'{"position":42}'
    assert store.encode("orders", {"file": "x"}, None) == (b'["orders",{"file":"x"}]', None)


def test_a_key_that_somebody_else_has_written_is_used_again() -> None:
    store = KafkaOffsetStore(SETTINGS, "connect-offsets")
    theirs = b'["orders",{"b":2,"a":1}]'
    store._take(message(theirs, b'{"n":1}'), {})
    assert store.encode("orders", {"a": 1, "b": 2}, {"n": 2})[0] == theirs


def test_a_record_behind_the_end_ends_the_reading_also_while_others_write() -> None:
    """The event of the log's end comes only when nobody writes: tasks of a busy connector would start late or never."""
    store = KafkaOffsetStore(SETTINGS, "connect-offsets")
    record = message(b'["orders",{"a":1}]', b'{"n":1}')
    behind = {0: record.offset() + 1, 1: 5}
    store._take(record, behind)
    assert behind == {1: 5}
    behind = {0: record.offset() + 2}
    store._take(record, behind)
    assert behind == {0: record.offset() + 2}


def test_what_is_not_an_offset_is_passed_over() -> None:
    store = KafkaOffsetStore(SETTINGS, "connect-offsets")
    for key, value in [(None, b"x"), (b"no json", b"{}"), (b'["a"]', b"{}"), (b'[1,{"p":1}]', b"{}"), (b"3", b"{}")]:
        store._take(message(key, value), {})
    assert store._table == {}


def message(key: bytes | None, value: bytes | None) -> Any:
    return SimpleNamespace(
        partition=lambda: 0, error=lambda: None, offset=lambda: 0, key=lambda: key, value=lambda: value
    )


def test_identity_does_not_depend_on_order() -> None:
    assert identity({"a": 1, "b": [1]}) == identity({"b": [1], "a": 1})
    assert to_json({"b": 1, "a": 2}) == b'{"b":1,"a":2}', "the order given is kept in the topic"


def test_a_file_keeps_offsets_of_several_connectors(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "offsets.json"
    store = OffsetFile(path)
    assert store.read_all("a") == []
    store.write("a", [({"p": 1}, {"n": 1}), ({"p": 2}, {"n": 2})])
    store.write("b", [({"p": 1}, {"n": 9})])
    store.write("a", [({"p": 1}, {"n": 3}), ({"p": 2}, None)])
    again = OffsetFile(path)
    assert again.read_all("a") == [({"p": 1}, {"n": 3})]
    assert again.read_all("b") == [({"p": 1}, {"n": 9})]
    store.write("a", [({"p": 1}, None)])
    assert "a" not in path.read_text().replace("partition", "")
    assert list(path.parent.iterdir()) == [path], "nothing is left beside it"


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "offsets.json"
    for content in ("{", "[]"):
        path.write_text(content)
        with pytest.raises(ConnectError, match=r"offsets\.json"):
            OffsetFile(path).read_all("a")


def test_which_store_a_worker_has(tmp_path: Path) -> None:
    alone = WorkerSettings(bootstrap="x", url="y", mode="standalone", offsets_file=tmp_path / "o")
    assert isinstance(open_offset_store(alone), OffsetFile)
    own = open_offset_store(SETTINGS, {"offsets.storage.topic": "mine"})
    assert isinstance(own, KafkaOffsetStore) and own.topic == "mine"
    common = open_offset_store(SETTINGS, {})
    assert isinstance(common, KafkaOffsetStore) and common.topic == "connect-offsets"


def test_offsets_that_wait_for_the_broker_are_given_up_with_their_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else they would come when the broker does, after what somebody else has written meanwhile."""
    store = KafkaOffsetStore(SETTINGS, "offsets")
    monkeypatch.setattr(store, "ensure_topic", lambda: None)
    asked = itertools.count()
    with pytest.raises(ConnectError, match="its task was abandoned"):
        store.write("orders", [({"p": 1}, {"n": 1})], lambda: next(asked) < 2)
    assert store._producer is None, "what it held is not sent by the next one"
    monkeypatch.setattr(store, "_open_producer", object)  # which cannot produce
    with pytest.raises(ConnectError, match="its task was abandoned"):
        store.write("orders", [({"p": 1}, {"n": 2})], lambda: False)


def test_a_file_is_not_written_for_a_task_that_was_abandoned(tmp_path: Path) -> None:
    store = OffsetFile(tmp_path / "offsets")
    store.write("orders", [({"p": 1}, {"n": 1})], lambda: True)
    with pytest.raises(ConnectError, match="its task was abandoned"):
        store.write("orders", [({"p": 1}, {"n": 2})], lambda: False)
    assert store.read_all("orders") == [({"p": 1}, {"n": 1})]
