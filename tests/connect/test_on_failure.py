"""`on_failure`: a connector hears of its failures, whatever of it has failed, and how."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Producer

from caudal.connect.plugins import find
from caudal.connect.runtime import connector_run
from caudal.connect.runtime.model import TargetState
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.standalone import StandaloneHerder
from caudal.testing import EmbeddedBroker
from tests.connect.herder_harness import PLUGINS, wait_for


class Case(NamedTuple):
    name: str
    config: dict[str, str]
    task: int | None
    words: str


SOURCE, SINK = {"connector.class": "FailingSource"}, {"connector.class": "FailingSink", "topics": "failing-in"}
PROCESS = {**SOURCE, "caudal.task.isolation": "process"}
CASES = [
    Case("start", SOURCE, None, "start is broken"),
    Case("exit in start", SOURCE, None, "start wants to go"),
    Case("task_configs", SOURCE, None, "task_configs is broken"),
    Case("too many", SOURCE, None, "has made 2 task configurations"),
    Case("raise_error", SOURCE, None, "something outside is broken"),
    Case("task start", SOURCE, 0, "task start is broken"),
    Case("poll", SOURCE, 0, "RuntimeError: poll is broken"),
    Case("transform", {**SOURCE, "transforms": "t", "transforms.t.type": "RefuseAll"}, 0, "the transform is broken"),
    Case("convert", {**SOURCE, "value.converter": "ByteArray"}, 0, "VALUE_CONVERTER failed"),
    Case("produce", {**SOURCE, "producer.override.max.request.size": "1000"}, 0, "does not take a record"),
    Case("create topic", {**SOURCE, "topic": "no such / topic"}, 0, "cannot be made"),
    Case("commit", SOURCE, 0, "commit is broken"),
    Case("commit_record", SOURCE, 0, "commit_record is broken"),
    Case("killed", PROCESS, 0, "was ended by SIGKILL"),
    Case("exit", PROCESS, 0, "ended with exit code 3"),
    Case("poll in a process", {**PROCESS, "how": "poll"}, 0, "RuntimeError: poll is broken"),
    Case("open", SINK, 0, "open is broken"),
    Case("put", SINK, 0, "put is broken"),
    Case("flush", SINK, 0, "flush is broken"),
    Case("sink transform", {**SINK, "transforms": "t", "transforms.t.type": "RefuseAll"}, 0, "transform is broken"),
    Case("sink convert", {**SINK, "value.converter": "Json"}, 0, "VALUE_CONVERTER failed"),
]


@pytest.fixture(scope="module")
def herder(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneHerder]:
    settings = WorkerSettings(
        bootstrap=broker.bootstrap,
        url="http://127.0.0.1:1",
        mode="standalone",
        offsets_file=tmp_path_factory.mktemp("offsets") / "offsets",
        plugin_path=(PLUGINS,),
        value_converter="String",
        offset_flush_seconds=0.2,
        task_shutdown_seconds=0.3,
        restart_attempts=0,
    )
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("failing-in", b"{no json")
    assert producer.flush(60) == 0
    herder = StandaloneHerder(settings)
    herder.start()
    for case in CASES:  # all at once, so that they do not wait for each other
        herder.create(case.name, {"how": case.name, **case.config}, None)
    yield herder
    herder.stop()


def heard(name: str) -> list[tuple[int | None, str]]:
    found: list[tuple[str, int | None, str]] = find("FailingSource").cls.heard
    return [(task, words) for connector, task, words in list(found) if connector == name]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_connector_hears_of_it(herder: StandaloneHerder, case: Case) -> None:
    told = wait_for(lambda: heard(case.name), f"{case.name} is heard of")
    assert [task for task, _ in told] == [case.task]
    assert case.words in told[0][1]
    status = herder.status(case.name)
    failed = status["connector"] if case.task is None else status["tasks"][0]
    wait_for(lambda: failed["state"] == "FAILED")
    assert case.words in failed["trace"].splitlines()[0], "the first line says it"


def test_more_tasks_than_allowed_where_that_is_no_failure(herder: StandaloneHerder) -> None:
    config = {**SOURCE, "how": "too many", "tasks.max": "1", "tasks.max.enforce": "false", "topic": "failing-many"}
    herder.create("many", config, None)
    wait_for(lambda: [one["state"] for one in herder.status("many")["tasks"]] == ["RUNNING"] * 2)
    assert heard("many") == []


def test_a_task_that_is_stuck_and_abandoned_is_heard_of(herder: StandaloneHerder, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    for name in ("stuck and stopped", "stuck and restarted"):
        herder.create(name, {**SOURCE, "how": "stuck", "gate": str(gate)}, None)
        wait_for(lambda name=name: [one["state"] for one in herder.status(name)["tasks"]] == ["RUNNING"])  # type: ignore[misc]
    herder.restart("stuck and restarted", include_tasks=True, only_failed=False)
    herder.set_target("stuck and stopped", TargetState.STOPPED)
    for name in ("stuck and stopped", "stuck and restarted"):
        told = wait_for(lambda name=name: heard(name), name)  # type: ignore[misc]
        assert [task for task, _ in told] == [0]
        assert "has not stopped within 0.3 s and was abandoned" in told[0][1]
    gate.touch()


def test_a_connector_whose_start_hangs_is_told_when_it_comes_back(
    herder: StandaloneHerder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connector_run, "START_SECONDS", 0.3)
    gate = tmp_path / "gate"
    herder.create("stuck start", {**SOURCE, "how": "stuck start", "gate": str(gate)}, None)
    wait_for(lambda: herder.status("stuck start")["connector"]["state"] == "FAILED")
    assert "has not started within" in herder.status("stuck start")["connector"]["trace"]
    assert heard("stuck start") == [], "its own thread is the only one that may call it"
    gate.touch()
    told = wait_for(lambda: heard("stuck start"))
    assert told == [(None, "The connector stuck start has not started in time and was abandoned.")]
    assert herder.status("stuck start")["tasks"] == [], "it makes no tasks any more"
