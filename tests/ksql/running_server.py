"""A KSQL server of this process, on a port of its own, for tests that talk to it over HTTP."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import httpx

from caudal.ksql.server.server import KsqlServer
from tests.server_thread import serving


def running_server(engine: Any) -> AbstractContextManager[str]:
    """Its address. The engine is started with the server, and closed with it."""
    return serving(lambda listener, host, url: KsqlServer(engine, listener, host, url))


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
