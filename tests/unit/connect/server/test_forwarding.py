"""Several workers over real sockets: a request reaches the one that can answer it, and never goes in circles."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from tests.unit.connect.server.fake_herder import FakeHerder

from caudal.cli.http_process import bind
from caudal.connect.runtime.model import Forward
from caudal.connect.server.server import ConnectServer

CONFIG = {"connector.class": "FileStreamSource", "file": "f"}


class Referring(FakeHerder):
    """Names another worker for every write."""

    def __init__(self, url: str = "") -> None:
        super().__init__()
        self.url = url

    def put_config(self, *given: object) -> tuple[bool, dict[str, object]]:
        self._called("put_config", *given)
        raise Forward(self.url)

    def restart(self, *given: object) -> dict[str, object] | None:
        self._called("restart", *given)
        raise Forward(self.url)

    def put_task_configs(self, *given: object) -> None:
        self._called("put_task_configs", *given)
        raise Forward(self.url)


@asynccontextmanager
async def worker(herder: FakeHerder) -> AsyncIterator[str]:
    listener = bind("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = ConnectServer(herder, listener, "127.0.0.1", url)
    await server.start()
    try:
        yield url
    finally:
        await server.stop()


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
        yield client


async def test_a_worker_is_asked_for_another_at_most_twice(http: httpx.AsyncClient) -> None:
    leader, second, first = FakeHerder(), Referring(), Referring()
    async with worker(leader) as at_leader, worker(second) as at_second, worker(first) as at_first:
        first.url, second.url = at_second + "/", at_leader
        made = await http.put(f"{at_first}/connectors/a%2Fb/config", json=CONFIG)
        assert (made.status_code, made.headers["location"]) == (201, "/connectors/a%2Fb")
        assert made.json()["config"] == {**CONFIG, "name": "a/b"}
        assert leader.calls[1][0] == "put_config" and leader.calls[1][1] == "a/b"
        # The plan comes back too, and the question went along.
        plan = await http.post(f"{at_first}/connectors/a%2Fb/restart?includeTasks=true&onlyFailed=false")
        assert (plan.status_code, plan.json()["name"]) == (202, "a/b")
        assert ("restart", "a/b", True, False) in leader.calls
        # So does what the leader refuses, and what the request was signed with.
        signed = {"x-connect-authorization": "s", "x-connect-request-signature-algorithm": "HmacSHA256"}
        sent = await http.post(f"{at_first}/connectors/c/tasks", json=[CONFIG], headers=signed)
        assert sent.status_code == 204
        assert leader.calls[-1] == ("put_task_configs", "c", [CONFIG], "s")
        refused = await http.post(f"{at_first}/connectors/nobody/restart?includeTasks=true")
        assert (refused.status_code, refused.json()["message"]) == (404, "Connector nobody not found")
    assert [each.calls[-1] for each in (first, leader)] == [("stop",), ("stop",)]


async def test_a_circle_ends_with_409(http: httpx.AsyncClient) -> None:
    herder = Referring()
    async with worker(herder) as url:
        herder.url = url
        answer = await http.put(f"{url}/connectors/x/config", json=CONFIG)
        assert answer.status_code == 409
        assert [call[0] for call in herder.calls].count("put_config") == 3
        once = await http.put(f"{url}/connectors/x/config?forward=false", json=CONFIG)
        assert once.status_code == 409
        assert [call[0] for call in herder.calls].count("put_config") == 4
        herder.url = ""
        assert "no known leader" in (await http.put(f"{url}/connectors/x/config", json=CONFIG)).json()["message"]


async def test_a_worker_that_is_away_is_said(http: httpx.AsyncClient) -> None:
    herder = Referring("http://127.0.0.1:1")
    async with worker(herder) as url:
        answer = await http.put(f"{url}/connectors/x/config", json=CONFIG)
    assert answer.status_code == 500
    assert answer.json()["message"].startswith("IO Error trying to forward REST request to http://127.0.0.1:1")
