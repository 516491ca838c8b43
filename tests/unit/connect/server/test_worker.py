"""/, /health, /metrics, /admin/loggers, the plugins and the description."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import httpx
import pytest
from tests.unit.connect.server.fake_herder import FakeHerder

from caudal.cli.connector_text import without_framework_keys


async def test_the_worker_says_who_it_is(rest: httpx.AsyncClient) -> None:
    assert (await rest.get("/")).json() == {"version": "1", "commit": "c", "kafka_cluster_id": "k"}


async def test_health(rest: httpx.AsyncClient, herder: FakeHerder) -> None:
    fine = await rest.get("/health")
    message = "Worker has completed startup and is ready to handle requests."
    assert (fine.status_code, fine.json()) == (200, {"status": "healthy", "message": message})
    herder.healthy = (False, "The coordinator is away.")
    ill = await rest.get("/health")
    assert (ill.status_code, ill.json()["status"]) == (500, "unhealthy")
    assert ill.json()["message"].endswith("The coordinator is away.")


@pytest.mark.usefixtures("lines")
async def test_metrics(rest: httpx.AsyncClient) -> None:
    await rest.get("/connectors/nobody")
    answer = await rest.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    for line in (
        'caudal_connect_connectors{state="RUNNING"} 1.0',
        'caudal_connect_tasks{state="RUNNING"} 1.0',
        'caudal_connect_connector_info{class="FileStreamSource",connector="lines",type="source",version=""} 1.0',
        'caudal_connect_connector_status{connector="lines",state="RUNNING",worker="w:1"} 1.0',
        'caudal_connect_task_status{connector="lines",state="RUNNING",task="0",worker="w:1"} 1.0',
        'caudal_connect_requests_total{method="GET",status="404"} 1.0',
        "caudal_connect_worker_task_count 2.0",
        'caudal_connect_connector_task_count{connector="lines"} 1.0',
        'caudal_connect_task_source_record_poll_total{connector="lines",task="0"} 7.0',
    ):
        assert line in answer.text.splitlines()


@pytest.fixture
def quiet() -> Iterator[None]:
    names = ("test.loud", "test.loud.inner", "test.loudly")
    for name in names:
        logging.getLogger(name).setLevel(logging.NOTSET)
    root = logging.getLogger().level
    yield
    logging.getLogger().setLevel(root)
    for name in names:
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.mark.usefixtures("quiet")
async def test_log_levels_are_changed_while_it_runs(rest: httpx.AsyncClient, herder: FakeHerder) -> None:
    assert "test.loud" not in (await rest.get("/admin/loggers")).json()
    logging.getLogger("test.loud.inner").setLevel(logging.ERROR)
    changed = await rest.put("/admin/loggers/test.loud", json={"level": "warn"})
    assert (changed.status_code, changed.json()) == (200, ["test.loud", "test.loud.inner"])
    shown = (await rest.get("/admin/loggers")).json()
    assert shown["test.loud"]["level"] == shown["test.loud.inner"]["level"] == "WARN"
    assert isinstance(shown["test.loud"]["last_modified"], int)
    assert "root" in shown
    assert logging.getLogger("test.loud.inner").getEffectiveLevel() == logging.WARNING
    assert (await rest.get("/admin/loggers/test.loud")).json()["level"] == "WARN"
    inherited = (await rest.get("/admin/loggers/test.loudly")).json()
    assert inherited["level"] == (await rest.get("/admin/loggers/root")).json()["level"]
    assert (await rest.get("/admin/loggers/no.such.logger")).status_code == 404
    cluster = await rest.put("/admin/loggers/test.loud?scope=cluster", json={"level": "debug"})
    assert (cluster.status_code, cluster.content) == (204, b"")
    assert herder.calls == [("set_cluster_log_level", "test.loud", "DEBUG")]


async def test_wrong_log_levels_are_said(rest: httpx.AsyncClient) -> None:
    async def status(body: object, query: str = "") -> int:
        return (await rest.put(f"/admin/loggers/test.loud{query}", json=body)).status_code

    assert await status({}) == 400
    assert await status({"level": None}) == 400
    assert await status({"level": "LOUD"}) == 404
    assert await status({"level": 3}) == 404
    assert await status({"level": "INFO"}, "?scope=world") == 400


async def test_plugins(rest: httpx.AsyncClient) -> None:
    every = (await rest.get("/connector-plugins?connectorsOnly=false")).json()
    assert all(one.keys() == {"class", "type", "version"} for one in every)
    kinds = [one["type"] for one in every if one["class"] == "org.apache.kafka.connect.json.JsonConverter"]
    assert kinds == ["converter", "header_converter"]
    classes = {one["class"] for one in every}
    assert "org.apache.kafka.connect.transforms.Cast$Key" in classes
    assert not any("Registry" in one for one in classes), "what others build on"
    assert "caudal.connect.connectors.object_sink.connector.ObjectSink" in classes
    connectors = (await rest.get("/connector-plugins")).json()
    assert {one["type"] for one in connectors} <= {"source", "sink"}
    assert (await rest.get("/connector-plugins?connectorsOnly=maybe")).status_code == 400
    detailed = (await rest.get("/connector-plugins?connectorsOnly=false&detail=true")).json()
    named = {one.get("name"): one for one in detailed}
    assert named["Json"]["delivery"] is None
    assert named["FileStreamSink"]["delivery"] == "at least once"
    assert named["FileStreamSource"]["delivery"].startswith("exactly once")
    assert named["FileStreamSource"]["documentation"]


async def test_what_a_plugin_can_be_told(rest: httpx.AsyncClient) -> None:
    keys = {key["name"]: key for key in (await rest.get("/connector-plugins/JsonConverter/config")).json()}
    key = keys["schemas.enable"]
    assert key.keys() == {
        "name", "type", "required", "default_value", "importance", "documentation", "group", "width", "display_name",
        "dependents", "order",
    }  # fmt: skip
    assert (key["type"], key["required"], key["default_value"]) == ("BOOLEAN", False, "true")
    file = [each["name"] for each in (await rest.get("/connector-plugins/FileStreamSource/config")).json()]
    assert file[:3] == ["file", "topic", "batch.size"]
    assert {"tasks.max", "transforms", "exactly.once.support", "caudal.task.isolation"} <= set(file)
    assert len(file) == len(set(file)) and "topics" not in file
    assert not {"caudal.allowed.folders", "caudal.worker"} & set(file), "not what the worker fills in"
    sink = [each["name"] for each in (await rest.get("/connector-plugins/FileStreamSink/config")).json()]
    assert "topics" in sink and "exactly.once.support" not in sink
    assert [each["name"] for each in without_framework_keys([{"name": name} for name in file])] == file[:3]


async def test_keys_of_a_version(rest: httpx.AsyncClient) -> None:
    listed = (await rest.get("/connector-plugins")).json()
    version = next(one["version"] for one in listed if one["class"].endswith("FileStreamSourceConnector"))
    path = "/connector-plugins/FileStreamSource/config"
    for given, status in (("latest", 200), (version, 200), (f"[{version},)", 200), ("99.1", 404), ("[1", 400)):
        assert (await rest.get(path, params={"version": given})).status_code == status, given


async def test_a_plugin_that_is_not_there(rest: httpx.AsyncClient) -> None:
    unknown = await rest.get("/connector-plugins/JsonConvert/config")
    assert unknown.status_code == 404 and "did you mean Json" in unknown.json()["message"]


async def test_the_description_has_every_route(rest: httpx.AsyncClient) -> None:
    description = (await rest.get("/openapi.json")).json()
    listed = {(method.upper(), path) for path, methods in description["paths"].items() for method in methods}
    assert ("PATCH", "/connectors/{connector}/offsets") in listed
    identities = [one["operationId"] for methods in description["paths"].values() for one in methods.values()]
    assert len(identities) == len(set(identities))
    page = await rest.get("/docs")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    for _, path in listed:
        assert f"<code>{path}</code>" in page.text
