"""`caudal connector …` against the REST API of a worker in memory: what is asked, shown, and refused in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from caudal.connect.runtime.model import Rebalancing, RestError, TargetState, TaskId
from tests.unit.connect.server.fake_herder import FakeHerder
from tests.unit.connect.server.running_worker import running_worker

from .conftest import Caudal

CONFIG = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "file": "f"}


class Herder(FakeHerder):
    """With a task that can fail."""

    trace: str | None = None

    def status(self, name: str) -> dict[str, Any]:
        found = super().status(name)
        if self.trace is not None:
            found["tasks"].append({"id": 1, "state": "FAILED", "worker_id": "w:1", "trace": self.trace})
        return found


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Herder, str]]:
    herder = Herder()
    with running_worker(herder) as url:
        yield herder, url


@pytest.fixture
def herder(served: tuple[Herder, str], monkeypatch: pytest.MonkeyPatch) -> Herder:
    herder, url = served
    monkeypatch.setenv("CAUDAL_CONNECT", url)
    herder.configs = {"lines": {**CONFIG, "name": "lines"}}
    herder.targets = {"lines": TargetState.STARTED}
    herder.trace = herder.error = None
    herder.calls.clear()
    return herder


def test_create_from_a_file(caudal: Caudal, herder: Herder, tmp_path: Path) -> None:
    file = tmp_path / "more.properties"
    file.write_text("name=more\nconnector.class=FileStreamSource\nfile=f\n")
    made = caudal("connector", "create", str(file), "--set", "file=g", "--state", "paused")
    assert (made.code, made.out) == (0, "created connector more\n"), made.err
    config = {"name": "more", "connector.class": "FileStreamSource", "file": "g"}
    assert herder.calls[0] == ("create", "more", config, TargetState.PAUSED)
    again = caudal("connector", "create", str(file))
    assert (again.code, again.err) == (1, "caudal: Connector more already exists\n")
    replaced = caudal("connector", "create", str(file), "--replace", "--json")
    assert (replaced.code, replaced.json["config"]["file"]) == (0, "f")


def test_create_from_stdin_and_from_properties(caudal: Caudal, herder: Herder) -> None:
    body = json.dumps({"name": "a", "config": CONFIG}).encode()
    assert caudal("connector", "create", "-", "--wait", "20", input=body).code == 0
    assert caudal("connector", "create", "-s", "connector.class=X", "--name", "b").code == 0
    assert set(herder.configs) == {"lines", "a", "b"}


def test_a_configuration_that_is_wrong_is_said_line_by_line(caudal: Caudal, herder: Herder) -> None:
    herder.error = RestError(
        400,
        "Connector configuration is invalid and contains the following 2 error(s):\nA is wrong\nB is missing\n"
        "You can also find the above list of errors at the endpoint `/connector-plugins/…`",
    )
    made = caudal("connector", "create", "-s", "connector.class=X", "-s", "name=b")
    assert made.code == 1
    assert made.err.splitlines() == [
        "A is wrong",
        "B is missing",
        "caudal: b was not accepted: 2 things are wrong with its configuration",
    ]


def test_list_status_and_describe(caudal: Caudal, herder: Herder) -> None:
    assert caudal("connector", "list").lines == [
        "NAME   TYPE    CLASS             STATE    RUNNING  FAILED  WORKER",
        "lines  source  FileStreamSource  RUNNING  1/1           0  w:1",
    ]
    (row,) = caudal("connector", "list", "--json").json
    assert (row["name"], row["running"], row["failed"]) == ("lines", 1, 0)
    fine = caudal("connector", "status", "lines", "--wait", "20")
    assert (fine.code, fine.lines[0]) == (0, "lines  source  RUNNING  w:1")
    shown = caudal("connector", "describe", "lines")
    assert "  file=f" in shown.lines and "Topics: a, b" in shown.lines and "file=f     position=3" in shown.lines
    assert caudal("connector", "describe", "lines", "--json").json["topics"] == ["a", "b"]


def test_what_failed_is_shown_with_its_reason(caudal: Caudal, herder: Herder) -> None:
    herder.trace = "Traceback (most recent call last):\n  File …\ncaudal.ConnectError: the table is gone\n"
    failed = caudal("connector", "status", "lines")
    assert failed.code == 1
    assert failed.lines[-1] == "   1  FAILED   w:1     caudal.ConnectError: the table is gone"
    assert "most recent call" in caudal("connector", "status", "lines", "--trace").out
    waited = caudal("connector", "create", "-s", "name=x", "-s", "connector.class=X", "--wait", "20")
    assert waited.code == 1 and "x has failed" in waited.err
    assert caudal("connector", "list", "--json").json[0]["failed"] == 1


def test_a_configuration_is_shown_and_changed(caudal: Caudal, herder: Herder) -> None:
    assert "file=f" in caudal("connector", "config", "lines").lines
    changed = caudal("connector", "config", "lines", "--set", "tasks.max=2", "--unset", "file", "--json")
    assert changed.json == {"connector.class": CONFIG["connector.class"], "name": "lines", "tasks.max": "2"}
    assert ("patch_config", "lines", {"tasks.max": "2", "file": None}) in herder.calls


@pytest.mark.parametrize(
    ("arguments", "call", "said"),
    [
        (("pause", "lines"), ("set_target", "lines", TargetState.PAUSED), "lines pauses"),
        (("resume", "lines"), ("set_target", "lines", TargetState.STARTED), "lines goes on"),
        (("stop", "lines"), ("set_target", "lines", TargetState.STOPPED), "lines stops"),
        (("delete", "lines", "-y"), ("delete", "lines"), "lines is deleted"),
        (("restart", "lines"), ("restart", "lines", False, False), "lines restarts"),
        (("restart", "lines", "--task", "0"), ("restart_task", TaskId("lines", 0)), "lines, task 0, restarts"),
        (
            ("restart", "lines", "--tasks", "--only-failed"),
            ("restart", "lines", True, True),
            "lines: 0 of 2 parts restart",
        ),
        (("offsets", "lines", "--reset"), ("reset_offsets", "lines"), "reset"),
        (("topics", "lines", "--reset"), ("reset_topics", "lines"), "a\nb"),
    ],
)
def test_what_is_done_to_one(
    caudal: Caudal, herder: Herder, arguments: tuple[str, ...], call: tuple[Any, ...], said: str
) -> None:
    done = caudal("connector", *arguments)
    assert (done.code, done.out) == (0, said + "\n"), done.err
    assert herder.calls[0] == call


def test_offsets(caudal: Caudal, herder: Herder) -> None:
    assert caudal("connector", "offsets", "lines").lines == ["PARTITION  OFFSET", "file=f     position=3"]
    one = {"partition": {"file": "f"}, "offset": {"position": 9}}
    assert caudal("connector", "offsets", "lines", "--set", json.dumps(one)).out == "altered\n"
    assert herder.calls[-1] == ("alter_offsets", "lines", {"offsets": [one]})
    assert caudal("connector", "offsets", "lines", "--json").json["offsets"][0]["offset"] == {"position": 3}


def test_plugins_and_validation(caudal: Caudal, herder: Herder, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {line.split()[0] for line in caudal("connector", "plugins", "--all").lines}
    assert "Json" in names
    assert caudal("connector", "plugins", "Json").lines[0].startswith("schemas.enable  (boolean, default true)")
    fine = caudal("connector", "validate", "-s", "name=a", "-s", "connector.class=ObjectSink")
    assert (fine.code, fine.out) == (0, "a is right\n"), fine.err
    wrong = {"configs": [{"value": {"name": "file", "errors": ["It is missing."]}}, {"value": {"name": "x"}}]}
    monkeypatch.setattr(herder, "validate", lambda plugin, config: wrong)
    refused = caudal("connector", "validate", "-s", "name=a", "-s", "connector.class=ObjectSink")
    assert (refused.code, refused.err) == (1, "file: It is missing.\ncaudal: a: 1 thing is wrong\n")
    assert caudal("connector", "validate", "-s", "name=a", "-s", "connector.class=ObjectSink", "--json").code == 1


def test_a_rebalance_is_waited_for(caudal: Caudal, herder: Herder) -> None:
    herder.error = Rebalancing()
    assert caudal("connector", "pause", "lines").code == 0
    assert len(herder.calls) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("status", "line"), 4, "there is no connector 'line'; did you mean lines?"),
        (("status", "zzz"), 4, "there is no connector 'zzz'; `caudal connector list` shows what exists"),
        (("create",), 2, "give a file, - for stdin, or --set KEY=VALUE"),
        (("create", "no.properties"), 1, "cannot read no.properties: No such file or directory"),
        (("create", "-s", "name=a"), 2, "has no connector.class"),
        (("create", "-s", "name"), 2, "--set takes NAME=VALUE"),
        (("create", "-s", "name=a", "-s", "connector.class=x", "--state", "up"), 1, "'initial_state' is one of"),
        (("restart", "lines", "--task", "0", "--tasks"), 2, "--task N restarts one task"),
        (("offsets", "lines", "--reset", "--set", "{}"), 2, "not both"),
        (("offsets", "lines", "--set", "{}"), 1, "Each of the offsets is"),
        (("plugins", "Jsn"), 4, "did you mean Json"),
        (("new", "x"), 2, "give --source or --sink"),
        (("new", "x y", "--sink"), 2, "not a name for a package"),
        (("list", "--connect", "ftp://x"), 2, "is not the address of a worker"),
        (("list", "--connect", "http://127.0.0.1:1"), 1, "no worker of Connect at http://127.0.0.1:1; start one with"),
    ],
)
def test_what_is_wrong_is_one_line(
    caudal: Caudal, herder: Herder, arguments: tuple[str, ...], code: int, said: str
) -> None:
    outcome = caudal("connector", *arguments)
    assert (outcome.code, len(outcome.err.splitlines())) == (code, 1), outcome.err
    assert said in outcome.err
