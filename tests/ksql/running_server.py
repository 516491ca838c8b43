"""A KSQL server of this process, on a port of its own, for tests that talk to it over HTTP."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from caudal.cli.http_process import bind
from caudal.ksql.server.server import KsqlServer

STOP_SECONDS = 60


@contextmanager
def running_server(engine: Any) -> Iterator[str]:
    """Its address. The engine is started with the server, and closed with it."""
    listener = bind("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    ready, stop = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    async def run() -> None:
        server = KsqlServer(engine, listener, "127.0.0.1", url)
        try:
            await server.start()
            ready.set()
            await asyncio.to_thread(stop.wait)
        finally:
            await server.stop()

    def serve() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:
            failures.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=serve, name="ksql-server", daemon=True)
    thread.start()
    assert ready.wait(120)
    if failures:
        raise failures[0]
    try:
        yield url
    finally:
        stop.set()
        thread.join(STOP_SECONDS)
        assert not thread.is_alive(), "the server did not stop"
        if failures:
            raise failures[0]


class Client:
    """What a client of ksqlDB asks."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=url, timeout=120)

    def ksql(self, text: str, **properties: str) -> list[dict[str, Any]]:
        answer = self.http.post("/ksql", json={"ksql": text, "streamsProperties": properties})
        assert answer.status_code == 200, answer.text
        entities: list[dict[str, Any]] = answer.json()
        return entities

    def refused(self, text: str) -> dict[str, Any]:
        answer = self.http.post("/ksql", json={"ksql": text})
        assert answer.status_code == 400, answer.text
        body: dict[str, Any] = answer.json()
        return body

    def rows(self, sql: str, **properties: str) -> list[list[Any]]:
        """Of a query that ends, without the header."""
        answer = self.http.post("/query-stream", json={"sql": sql, "properties": properties})
        assert answer.status_code == 200, answer.text
        _, *rows = [httpx.Response(200, content=line).json() for line in answer.text.splitlines()]
        return rows
