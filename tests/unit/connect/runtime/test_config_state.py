"""The fold over the config topic: records of Kafka Connect's format, complete and not."""

from __future__ import annotations

import json
from typing import Any

from caudal.connect.runtime.config_state import (
    Configs,
    ConfigState,
    Record,
    RestartRequest,
    SessionKey,
    connector_record,
    fencing_record,
    removal_records,
    restart_record,
    session_key_record,
    target_record,
    task_records,
)
from caudal.connect.runtime.group_protocol import load
from caudal.connect.runtime.model import TargetState, TaskId


class Topic:
    def __init__(self) -> None:
        self.state = ConfigState()
        self.offset = 0
        self.asked: list[Any] = []

    def write(self, *records: Record) -> Configs:
        for key, value in records:
            data = None if value is None else json.dumps(value).encode()
            asked = self.state.apply(self.offset, key.encode(), data)
            self.asked += [asked] if asked is not None else []
            self.offset += 1
        return self.state.snapshot()


def test_the_records_are_kafka_connects() -> None:
    assert connector_record("a", {"k": "v"}) == ("connector-a", {"properties": {"k": "v"}})
    assert target_record("a", TargetState.PAUSED) == ("target-state-a", {"state": "PAUSED", "state.v2": "PAUSED"})
    assert target_record("a", TargetState.STOPPED)[1] == {"state": "PAUSED", "state.v2": "STOPPED"}
    assert task_records("a", [{"n": "0"}, {"n": "1"}]) == [
        ("task-a-0", {"properties": {"n": "0"}}),
        ("task-a-1", {"properties": {"n": "1"}}),
        ("commit-a", {"tasks": 2}),
    ]
    assert fencing_record("a", 2) == ("tasks-fencing-a", {"tasks": 2})
    assert session_key_record(SessionKey("k", "HmacSHA256", 5)) == (
        "session-key",
        {"key": "k", "algorithm": "HmacSHA256", "creation-timestamp": 5},
    )
    assert restart_record(RestartRequest("a", True, False)) == (
        "restart-connector-a",
        {"include-tasks": True, "only-failed": False},
    )


def test_a_connector_and_its_tasks() -> None:
    topic = Topic()
    configs = topic.write(connector_record("a-1", {"k": "v"}), *task_records("a-1", [{"n": "0"}, {"n": "1"}]))
    assert configs.connectors == {"a-1": {"k": "v"}}
    assert configs.target("a-1") is TargetState.STARTED
    assert configs.task_ids("a-1") == [TaskId("a-1", 0), TaskId("a-1", 1)]
    assert configs.load() == load(["a-1"], [TaskId("a-1", 0), TaskId("a-1", 1)])
    assert (configs.offset, configs.written["a-1"], configs.generation("a-1")) == (4, 0, 3)


def test_tasks_count_from_their_commit_on() -> None:
    topic = Topic()
    topic.write(connector_record("a", {}), *task_records("a", [{"n": "0"}]))
    configs = topic.write(task_records("a", [{"n": "new"}])[0])
    assert configs.tasks("a") == ({"n": "0"},)
    assert topic.write(("commit-a", {"tasks": 1})).tasks("a") == ({"n": "new"},)


def test_a_commit_without_its_tasks_leaves_none_until_it_is_repaired() -> None:
    topic = Topic()
    configs = topic.write(connector_record("a", {}), task_records("a", [{}, {}])[1], ("commit-a", {"tasks": 2}))
    assert configs.inconsistent == {"a"}
    assert configs.tasks("a") == ()
    configs = topic.write(*task_records("a", [{}, {}]))
    assert configs.inconsistent == frozenset()
    assert len(configs.tasks("a")) == 2


def test_fewer_tasks() -> None:
    topic = Topic()
    topic.write(connector_record("a", {}), *task_records("a", [{}, {}, {}]))
    assert topic.write(*task_records("a", [{}])).task_ids("a") == [TaskId("a", 0)]


def test_nothing_is_left_of_a_removed_connector() -> None:
    topic = Topic()
    topic.write(connector_record("a", {}), target_record("a", TargetState.PAUSED), *task_records("a", [{}]))
    configs = topic.write(*removal_records("a"))
    assert "a" not in configs
    assert configs.load() == load()
    configs = topic.write(connector_record("a", {}))
    assert configs.target("a") is TargetState.STARTED
    assert configs.tasks("a") == ()


def test_after_compaction_a_new_connector_has_no_tasks_of_the_old() -> None:
    # The tombstones are gone; the records of tasks and the commit are the last of their keys.
    configs = Topic().write(*task_records("a", [{}])[:1], removal_records("a")[0], connector_record("a", {}))
    assert configs.tasks("a") == ()


def test_the_state_that_older_workers_write() -> None:
    configs = Topic().write(connector_record("a", {}), ("target-state-a", {"state": "PAUSED"}))
    assert configs.target("a") is TargetState.PAUSED


def test_fencing_is_due_after_each_commit() -> None:
    topic = Topic()
    configs = topic.write(connector_record("a", {}), *task_records("a", [{}]))
    assert configs.needs_fencing("a")
    configs = topic.write(fencing_record("a", 1))
    assert not configs.needs_fencing("a")
    assert configs.fenced["a"][0] == 1
    assert topic.write(*task_records("a", [{}, {}])).needs_fencing("a")


def test_restarts_are_told_and_keys_kept() -> None:
    topic = Topic()
    configs = topic.write(
        session_key_record(SessionKey("k", "HmacSHA256", 5)), restart_record(RestartRequest("a", True, True))
    )
    assert configs.session_key == SessionKey("k", "HmacSHA256", 5)
    assert topic.asked == [RestartRequest("a", True, True)]


def test_what_is_not_understood_changes_nothing() -> None:
    state = ConfigState()
    for offset, (key, value) in enumerate(
        [
            (None, b"{}"),
            (b"connector-a", b"no json"),
            (b"connector-a", b"[]"),
            (b"connector-a", b'{"properties": 3}'),
            (b"task-a-x", b'{"properties": {}}'),
            (b"commit-a", b"{}"),
            (b"target-state-a", b'{"state": "ASLEEP"}'),
            (b"session-key", b"{}"),
            (b"\xff", b"{}"),
            (b"of-another-time", b"{}"),
        ]
    ):
        state.apply(offset, key, value)
    configs = state.snapshot()
    assert (configs.offset, configs.load(), configs.session_key) == (10, load(), None)
