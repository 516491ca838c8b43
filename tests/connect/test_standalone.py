"""A worker that is alone: connectors from files, tasks that run, offsets that outlive it in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from caudal.connect.errors import ConfigError
from caudal.connect.runtime.model import RestError, TargetState, TaskId
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.standalone import StandaloneHerder, read_connector_file
from caudal.testing import EmbeddedBroker
from tests.connect.herder_harness import PLUGINS, FakeTasks, read_topic, wait_for


def settings(bootstrap: str, folder: Path) -> WorkerSettings:
    return WorkerSettings(
        bootstrap=bootstrap,
        url="http://127.0.0.1:9000",
        mode="standalone",
        offsets_file=folder / "offsets.json",
        offset_flush_seconds=0.2,
        plugin_path=(PLUGINS,),
        converter_properties={"value.converter.schemas.enable": "false"},
    )


def states(herder: StandaloneHerder, name: str) -> list[str]:
    status = herder.status(name)
    return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]


def test_files_are_run_and_go_on_after_a_restart(broker: EmbeddedBroker, tmp_path: Path) -> None:
    file = tmp_path / "numbers.properties"
    text = "# comment\nname=numbers\nconnector.class=Numbers\ntasks.max=2\ntopic=alone\ncount={}\n"
    file.write_text(text.format(100))
    for count in (100, 130):
        file.write_text(text.format(count))
        herder = StandaloneHerder(settings(broker.bootstrap, tmp_path), [file])
        herder.start()
        expected = [{"partition": {"part": part}, "offset": {"next": count}} for part in (0, 1)]
        wait_for(lambda: sorted(herder.offsets("numbers")["offsets"], key=str) == expected)  # noqa: B023
        assert states(herder, "numbers") == ["RUNNING"] * 3
        assert herder.root()["kafka_cluster_id"]
        herder.stop()
    assert len(read_topic(broker.bootstrap, "alone")) == 260, "nothing is missing and nothing was written again"


def test_requests_change_it(broker: EmbeddedBroker, tmp_path: Path) -> None:
    tasks = FakeTasks()
    herder = StandaloneHerder(settings(broker.bootstrap, tmp_path), start_task=tasks)
    herder.start()
    herder.create("a", {"connector.class": "Numbers", "tasks.max": 2}, None)
    wait_for(lambda: states(herder, "a") == ["RUNNING"] * 3)
    herder.set_target("a", TargetState.PAUSED)
    wait_for(lambda: states(herder, "a") == ["PAUSED"] * 3)
    herder.set_target("a", TargetState.STARTED)
    wait_for(lambda: states(herder, "a") == ["RUNNING"] * 3)
    before = tasks.running()
    assert herder.restart("a", include_tasks=True, only_failed=False) is not None
    wait_for(
        lambda: len(tasks.running()) == 2 and not set(map(id, before.values())) & set(map(id, tasks.running().values()))
    )
    herder.restart_task(TaskId("a", 1))
    herder.set_target("a", TargetState.STOPPED)
    wait_for(lambda: states(herder, "a") == ["STOPPED"])
    assert tasks.running() == {}
    herder.delete("a")
    assert herder.connectors() == []
    with pytest.raises(RestError):
        herder.put_task_configs("a", [], None)
    herder.stop()


def test_files_of_both_kinds(tmp_path: Path) -> None:
    given: Any
    for name, given in (
        ("plain.json", {"name": "a", "connector.class": "X"}),
        ("as-posted.json", {"name": "a", "config": {"connector.class": "X"}}),
    ):
        (tmp_path / name).write_text(json.dumps(given))
        assert read_connector_file(tmp_path / name) == ("a", {"name": "a", "connector.class": "X"})
    (tmp_path / "a.properties").write_text("name = a\nconnector.class: X\n")
    assert read_connector_file(tmp_path / "a.properties") == ("a", {"name": "a", "connector.class": "X"})


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("a.json", "{", "is not JSON"),
        ("a.json", "[]", "must hold a JSON object"),
        ("a.properties", "connector.class=X", "has no name"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, file: str, text: str, words: str) -> None:
    (tmp_path / file).write_text(text)
    with pytest.raises(ConfigError, match=words):
        read_connector_file(tmp_path / file)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_connector_file(tmp_path / "missing.json")


def test_a_wrong_connector_in_a_file_starts_nothing(broker: EmbeddedBroker, tmp_path: Path) -> None:
    file = tmp_path / "wrong.properties"
    file.write_text("name=wrong\nconnector.class=Numbers\ncount=many\n")
    herder = StandaloneHerder(settings(broker.bootstrap, tmp_path), [file])
    with pytest.raises(ConfigError, match=r"wrong\.properties: Connector configuration is invalid"):
        herder.start()
