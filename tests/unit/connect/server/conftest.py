"""The REST API over a worker in memory, asked without a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpx
import pytest
from tests.unit.connect.server.fake_herder import FakeHerder

from caudal.connect.server.app import build_app
from caudal.connect.server.asking import Asking

URL = "http://127.0.0.1:8083"
Client = Callable[..., httpx.AsyncClient]


@pytest.fixture
def herder() -> FakeHerder:
    return FakeHerder()


@pytest.fixture
async def asking(herder: FakeHerder) -> AsyncIterator[Asking]:
    asking = Asking(herder, 120)  # importing all plugins takes its time on a busy machine
    asking.started.set()
    yield asking
    herder.hold.set()
    await asking.close()


@pytest.fixture
async def rest(asking: Asking) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(build_app(asking, "127.0.0.1"))
    async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
        yield client


@pytest.fixture
async def lines(rest: httpx.AsyncClient, herder: FakeHerder) -> None:
    """A connector."""
    herder.create("lines", {"name": "lines", "connector.class": "FileStreamSource", "file": "f"}, None)
    herder.calls.clear()
