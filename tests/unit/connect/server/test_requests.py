"""What every request must be, whatever it asks for: who may ask, in what form, and for how long it waits."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from tests.unit.connect.server.conftest import URL
from tests.unit.connect.server.fake_herder import FakeHerder

from caudal.connect.server import answers
from caudal.connect.server.app import build_app
from caudal.connect.server.asking import Asking

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({"host": "evil.example"}, "The Host header does not name this server."),
        ({"host": ""}, "The Host header does not name this server."),
        ({"origin": "http://evil.example"}, "Pages of other origins may not ask here."),
        ({"origin": "null"}, "Pages of other origins may not ask here."),
    ],
)
async def test_pages_of_others_are_kept_out(
    rest: httpx.AsyncClient, herder: FakeHerder, headers: dict[str, str], message: str
) -> None:
    answer = await rest.get("/connectors", headers=headers)
    assert (answer.status_code, answer.json()) == (403, {"error_code": 403, "message": message})
    assert herder.calls == []


async def test_its_own_page_may_ask(rest: httpx.AsyncClient) -> None:
    assert (await rest.get("/connectors", headers={"origin": URL})).status_code == 200


async def test_two_hosts_are_none(rest: httpx.AsyncClient) -> None:
    request = rest.build_request("GET", "/connectors", headers=[("host", "127.0.0.1"), ("host", "evil.example")])
    assert (await rest.send(request)).status_code == 403


async def test_a_body_is_json_and_says_so(rest: httpx.AsyncClient, herder: FakeHerder) -> None:
    for kind in ({"content-type": "text/plain"}, {"content-type": "application/x-www-form-urlencoded"}, {}):
        answer = await rest.post("/connectors", content=b'{"name": "x", "config": {}}', headers=kind)
        assert (answer.status_code, answer.json()["error_code"]) == (415, 415)
    charset = {"content-type": "Application/JSON; charset=utf-8"}
    assert (await rest.post("/connectors", content=b'{"name":"x","config":{}}', headers=charset)).status_code == 201
    assert (
        await rest.put("/connectors/x/pause", content=b"a=b", headers={"content-type": "text/plain"})
    ).status_code == 415


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b'{"name": "x",}', "line 1 column 13"),
        (b"", "line 1 column 1"),
        (b'{\n "a": tru}', "line 2"),
        (b'{"name": "\xff"}', "line 1"),
        (b'{"name": "\\ud800"}', "line 1"),
        (b"[" * 5000, "line 1"),
        (b'{"a": NaN}', "line 1 column 7"),
    ],
)
async def test_what_is_not_json_is_said_with_its_place(rest: httpx.AsyncClient, body: bytes, where: str) -> None:
    answer = await rest.post("/connectors", content=body, headers=JSON)
    assert answer.status_code == 400
    assert "not JSON" in answer.json()["message"] and where in answer.json()["message"]


async def test_a_body_has_a_limit(rest: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_BODY", 100)

    async def parts() -> object:
        for _ in range(20):
            yield b" " * 10

    for content in (b" " * 101, parts()):
        answer = await rest.post("/connectors", content=content, headers=JSON)  # type: ignore[arg-type]
        assert (answer.status_code, answer.json()["error_code"]) == (413, 413)


async def test_unknown_paths_and_methods(rest: httpx.AsyncClient) -> None:
    for path in (
        "/nothing",
        "/connectors/x/nothing",
        "/connectors/x/tasks/0",
        "/connectors/x/tasks-config",
    ):
        answer = await rest.get(path)
        assert (answer.status_code, answer.json()["error_code"]) == (404, 404)
    answer = await rest.put("/connectors")
    assert (answer.status_code, answer.json()["error_code"]) == (405, 405)
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}
    assert (await rest.request("OPTIONS", "/connectors")).status_code == 405
    assert (await rest.head("/connectors")).status_code == 200


async def test_an_unexpected_failure_is_logged_and_tells_nothing(
    rest: httpx.AsyncClient, herder: FakeHerder, caplog: pytest.LogCaptureFixture
) -> None:
    herder.error = RuntimeError("password=geheim")
    answer = await rest.get("/connectors")
    assert answer.status_code == 500
    assert "geheim" not in answer.text and "geheim" in caplog.text


async def test_a_worker_that_hangs_is_given_up(herder: FakeHerder) -> None:
    asking = Asking(herder, 0.1)
    transport = httpx.ASGITransport(build_app(asking, "127.0.0.1"))
    async with httpx.AsyncClient(transport=transport, base_url=URL) as rest:
        early = await rest.get("/connectors")
        assert (early.status_code, early.json()["message"]) == (
            500, "Request timed out. The worker is still starting up.",
        )  # fmt: skip
        asking.started.set()
        herder.hold.clear()
        late = await rest.get("/connectors")
        assert late.status_code == 500 and late.json()["message"].startswith("Request timed out. ")
        assert (await rest.get("/health")).status_code == 500
        herder.hold.set()
    await asking.close()


async def test_requests_wait_for_the_start(rest: httpx.AsyncClient, asking: Asking) -> None:
    asking.started.clear()
    asked = asyncio.ensure_future(rest.get("/connectors"))
    assert (await rest.get("/health")).json() == {"status": "starting", "message": "Worker is still starting up."}
    asking.started.set()
    assert (await asked).json() == []
