"""Every endpoint of /connectors: what the worker is asked, and the code and body that go back."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.unit.connect.server.fake_herder import FakeHerder

from caudal.connect.runtime.model import Rebalancing, RestError, TargetState, TaskId

CONFIG = {"connector.class": "FileStreamSource", "file": "f"}


def error(status: int, message: str) -> dict[str, Any]:
    return {"error_code": status, "message": message}


async def test_connectors_are_created_and_listed(rest: httpx.AsyncClient, herder: FakeHerder) -> None:
    made = await rest.post("/connectors", json={"name": " lines ", "config": {**CONFIG, "tasks.max": 2, "flag": True}})
    assert made.status_code == 201
    assert made.headers["location"] == "/connectors/lines"
    config = {**CONFIG, "tasks.max": "2", "flag": "true", "name": "lines"}
    assert made.json() == {
        "name": "lines", "config": config, "tasks": [{"connector": "lines", "task": 0}], "type": "source",
    }  # fmt: skip
    assert herder.calls[0] == ("create", "lines", config, None)
    assert (await rest.get("/connectors")).json() == ["lines"]
    assert (await rest.get("/connectors/")).json() == ["lines"]
    expanded = (await rest.get("/connectors?expand=status&expand=info&expand=other")).json()
    assert expanded["lines"].keys() == {"status", "info"}
    assert expanded["lines"]["status"]["connector"]["state"] == "RUNNING"
    assert (await rest.get("/connectors?expand=info")).json()["lines"].keys() == {"info"}


@pytest.mark.parametrize(
    ("given", "target"),
    [("RUNNING", TargetState.STARTED), ("paused", TargetState.PAUSED), ("Stopped", TargetState.STOPPED)],
)
async def test_a_connector_may_begin_paused(
    rest: httpx.AsyncClient, herder: FakeHerder, given: str, target: TargetState
) -> None:
    made = await rest.post("/connectors", json={"name": "lines", "config": CONFIG, "initial_state": given})
    assert made.status_code == 201
    assert herder.targets["lines"] is target


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "The body must be a JSON object."),
        ({"name": "x"}, "The body has no 'config'."),
        ({"name": 3, "config": {}}, "'name' must be text."),
        ({"name": "x", "config": []}, "The configuration must be a JSON object of properties and their values."),
        (
            {"name": "x", "config": {"topics": ["a"]}},
            "The property 'topics' must be a text (lists are written with commas).",
        ),
        (
            {"name": "x", "config": {"file": None}},
            "The property 'file' has the value null; leave it out, or give it a text.",
        ),
        (
            {"name": "x", "config": {"name": "y"}},
            "Connector name configuration (y) doesn't match connector name in the URL (x)",
        ),
        (
            {"name": "x", "config": {}, "initial_state": "UP"},
            "'initial_state' is one of RUNNING, PAUSED, STOPPED, not 'UP'.",
        ),
        (
            {"name": "x", "configs": {}},
            "The body has an unknown field 'configs'; it takes name, config, initial_state.",
        ),
    ],
)
async def test_a_wrong_body_is_said(rest: httpx.AsyncClient, herder: FakeHerder, body: Any, message: str) -> None:
    answer = await rest.post("/connectors", json=body)
    assert (answer.status_code, answer.json()) == (400, error(400, message))
    assert herder.calls == []


@pytest.mark.usefixtures("lines")
async def test_what_a_connector_is(rest: httpx.AsyncClient) -> None:
    config = {**CONFIG, "name": "lines"}
    assert (await rest.get("/connectors/lines")).json()["config"] == config
    assert (await rest.get("/connectors/lines/config")).json() == config
    status = (await rest.get("/connectors/lines/status")).json()
    assert status["connector"] == {"state": "RUNNING", "worker_id": "w:1"}
    assert (await rest.get("/connectors/lines/tasks")).json() == [
        {"id": {"connector": "lines", "task": 0}, "config": config}
    ]
    assert (await rest.get("/connectors/lines/tasks/0/status")).json()["state"] == "RUNNING"
    assert (await rest.get("/connectors/lines/topics")).json() == {"lines": {"topics": ["a", "b"]}}
    assert (await rest.get("/connectors/lines/offsets")).json()["offsets"][0]["offset"] == {"position": 3}


@pytest.mark.usefixtures("lines")
async def test_its_configuration_is_changed(rest: httpx.AsyncClient, herder: FakeHerder) -> None:
    changed = await rest.put("/connectors/lines/config", json={**CONFIG, "file": "g"})
    assert (changed.status_code, changed.json()["config"]) == (200, {**CONFIG, "file": "g", "name": "lines"})
    made = await rest.put("/connectors/more%20lines/config", json=CONFIG)
    assert (made.status_code, made.headers["location"]) == (201, "/connectors/more%20lines")
    patched = await rest.patch("/connectors/lines/config", json={"file": None, "tasks.max": 3})
    assert patched.json()["config"] == {"connector.class": "FileStreamSource", "name": "lines", "tasks.max": "3"}
    wrong = await rest.patch("/connectors/lines/config", json={"name": "other"})
    assert wrong.status_code == 400
    assert (await rest.put("/connectors/lines/config", json={"name": "other"})).status_code == 400
    assert (await rest.patch("/connectors/lines/config", json={"name": None})).status_code == 400


@pytest.mark.usefixtures("lines")
@pytest.mark.parametrize(
    ("method", "path", "status", "call"),
    [
        ("PUT", "/pause", 202, ("set_target", "lines", TargetState.PAUSED)),
        ("PUT", "/resume", 202, ("set_target", "lines", TargetState.STARTED)),
        ("PUT", "/stop", 204, ("set_target", "lines", TargetState.STOPPED)),
        ("POST", "/restart", 204, ("restart", "lines", False, False)),
        ("POST", "/tasks/0/restart", 204, ("restart_task", TaskId("lines", 0))),
        ("PUT", "/topics/reset", 202, ("reset_topics", "lines")),
        ("DELETE", "", 204, ("delete", "lines")),
        ("PUT", "/fence", 204, ("fence", "lines", None)),
    ],
)
async def test_what_is_done_to_it_has_no_body(
    rest: httpx.AsyncClient, herder: FakeHerder, method: str, path: str, status: int, call: tuple[Any, ...]
) -> None:
    answer = await rest.request(method, f"/connectors/lines{path}")
    assert (answer.status_code, answer.content) == (status, b"")
    assert herder.calls == [call]


@pytest.mark.usefixtures("lines")
@pytest.mark.parametrize(
    ("query", "flags"),
    [
        ("includeTasks=true", (True, False)),
        ("onlyFailed=TRUE", (False, True)),
        ("includeTasks=true&onlyFailed=true", (True, True)),
    ],
)
async def test_a_restart_with_tasks_tells_the_plan(
    rest: httpx.AsyncClient, herder: FakeHerder, query: str, flags: tuple[bool, bool]
) -> None:
    answer = await rest.post(f"/connectors/lines/restart?{query}")
    assert (answer.status_code, answer.json()["name"]) == (202, "lines")
    assert herder.calls[0] == ("restart", "lines", *flags)


@pytest.mark.usefixtures("lines")
async def test_offsets_are_altered_and_reset(rest: httpx.AsyncClient, herder: FakeHerder) -> None:
    offsets = [{"partition": {"file": "f"}, "offset": {"position": 9}}, {"partition": {"file": "g"}, "offset": None}]
    answer = await rest.patch("/connectors/lines/offsets", json={"offsets": offsets})
    assert (answer.status_code, answer.json()) == (200, {"message": "altered"})
    assert herder.calls == [("alter_offsets", "lines", {"offsets": offsets})]
    assert (await rest.delete("/connectors/lines/offsets")).json() == {"message": "reset"}
    one: dict[str, Any] = {"partition": {}, "offset": {}}
    wrong: Any
    for wrong in (
        [],
        {},
        [1],
        [{"partition": {}}],
        [{**one, "offset": 3}],
        [{**one, "partition": []}],
        [{**one, "x": 1}],
    ):
        answer = await rest.patch("/connectors/lines/offsets", json={"offsets": wrong})
        assert answer.status_code == 400, wrong


async def test_workers_talk_to_each_other_signed(rest: httpx.AsyncClient, herder: FakeHerder) -> None:
    signed = {"X-Connect-Authorization": "c2ln", "X-Connect-Request-Signature-Algorithm": "HmacSHA256"}
    sent = await rest.post("/connectors/lines/tasks", json=[{"file": "f"}, {"file": "g"}], headers=signed)
    assert sent.status_code == 204
    assert (await rest.put("/connectors/lines/fence", headers=signed)).status_code == 204
    assert herder.calls == [
        ("put_task_configs", "lines", [{"file": "f"}, {"file": "g"}], "c2ln"),
        ("fence", "lines", "c2ln"),
    ]
    weak = {**signed, "X-Connect-Request-Signature-Algorithm": "none"}
    assert (await rest.put("/connectors/lines/fence", headers=weak)).status_code == 400
    assert (await rest.post("/connectors/lines/tasks", json={"file": "f"}, headers=signed)).status_code == 400


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""), ("GET", "/config"), ("GET", "/status"), ("GET", "/tasks"), ("GET", "/tasks/0/status"),
        ("GET", "/topics"), ("GET", "/offsets"), ("DELETE", ""), ("DELETE", "/offsets"), ("PUT", "/pause"),
        ("PUT", "/resume"), ("PUT", "/stop"), ("PUT", "/topics/reset"), ("POST", "/restart"),
        ("POST", "/restart?includeTasks=true"), ("POST", "/tasks/0/restart"),
    ],
)  # fmt: skip
async def test_what_is_not_there_is_404(rest: httpx.AsyncClient, method: str, path: str) -> None:
    answer = await rest.request(method, f"/connectors/nobody{path}")
    assert (answer.status_code, answer.json()) == (404, error(404, "Connector nobody not found"))


@pytest.mark.usefixtures("lines")
async def test_refusals_of_the_worker_go_through(rest: httpx.AsyncClient, herder: FakeHerder) -> None:
    again = await rest.post("/connectors", json={"name": "lines", "config": CONFIG})
    assert (again.status_code, again.json()) == (409, error(409, "Connector lines already exists"))
    herder.error = RestError(400, "Connector configuration is invalid and contains the following 1 error(s): …")
    assert (await rest.put("/connectors/lines/config", json=CONFIG)).status_code == 400
    herder.error = Rebalancing()
    during = await rest.delete("/connectors/lines")
    assert during.status_code == 409 and "rebalance" in during.json()["message"]


@pytest.mark.usefixtures("lines")
async def test_a_connector_that_goes_while_all_are_listed_is_left_out(
    rest: httpx.AsyncClient, herder: FakeHerder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(herder, "connectors", lambda: ["gone", "lines"])
    assert (await rest.get("/connectors?expand=status")).json().keys() == {"lines"}


@pytest.mark.usefixtures("lines")
async def test_a_task_is_a_number(rest: httpx.AsyncClient) -> None:
    for task in ("x", "-1", "%C2%B2"):
        assert (await rest.get(f"/connectors/lines/tasks/{task}/status")).status_code == 404
    assert (await rest.post("/connectors/lines/restart?includeTasks=yes")).status_code == 400


async def test_a_name_may_have_any_letter(rest: httpx.AsyncClient, herder: FakeHerder) -> None:
    for name, path in (("a/b", "a%2Fb"), ("ñ ?", "%C3%B1%20%3F"), ("100%", "100%25")):
        made = await rest.post("/connectors", json={"name": name, "config": CONFIG})
        assert made.headers["location"] == f"/connectors/{path}"
        assert (await rest.get(f"/connectors/{path}/status")).json()["name"] == name
    assert (await rest.get("/connectors/%FF")).status_code == 400
