"""A KSQL server as pages ask it: statements in, entities or rows out, over its REST API (ours or ksqlDB's own).

What it refuses comes out as Refused, with the place in the statement; a server that is away as UiError. Which statement
goes to which endpoint is `ksql_script.py`'s, what an answer looks like `ksql_entities.py`'s.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx

from caudal.ksql.shell.client import DELIMITED, MEDIA_TYPE, Number
from caudal.ui.services.errors import UiError
from caudal.ui.services.http import CONNECT_SECONDS, Http
from caudal.ui.services.ksql_problem import Problem, problem_of
from caudal.ui.words import t

Entity = dict[str, Any]

STATEMENT_SECONDS = 120.0
ASIDE_SECONDS = 10.0  # for what a person does not wait for


class Refused(UiError):
    """The server refused a statement; `entities` are what the statements before it in the same request answered."""

    def __init__(self, problem: Problem, entities: list[Entity] | None = None) -> None:
        super().__init__(problem.sentence)
        self.problem = problem
        self.entities = entities or []


@dataclass(frozen=True, slots=True)
class Rows:
    """What a query answers: its head, then rows as they come."""

    query_id: str | None
    names: list[str]
    types: list[str]
    rows: AsyncIterator[list[Any]]


class Ksql:
    def __init__(self, http: Http) -> None:
        self._server = http
        self.url = http.url

    async def execute(
        self,
        text: str,
        properties: Mapping[str, Any] | None = None,
        variables: Mapping[str, str] | None = None,
        seconds: float = STATEMENT_SECONDS,
    ) -> list[Entity]:
        """Any statement but SELECT and PRINT, or several of them."""
        body = {"ksql": text, "streamsProperties": dict(properties or {}), "sessionVariables": dict(variables or {})}
        timeout = httpx.Timeout(seconds, connect=CONNECT_SECONDS)
        async with self._explained():
            answer = await self._server.client.post("/ksql", json=body, headers={"Accept": MEDIA_TYPE}, timeout=timeout)
        found = self._checked(answer)
        if not isinstance(found, list):
            raise self._foreign()
        return found

    @asynccontextmanager
    async def query(self, text: str, properties: Mapping[str, Any] | None = None) -> AsyncIterator[Rows]:
        """A SELECT. Leaving the block ends the query, also on the server."""
        async with self._streamed(
            "/query-stream", {"sql": text, "properties": dict(properties or {})}, DELIMITED
        ) as got:
            lines = (self._read(line) async for line in got.aiter_lines() if line.strip())
            head = await anext(lines, None)
            if not isinstance(head, dict) or "columnNames" not in head:
                raise _refusal(head)
            query_id = head.get("queryId")
            try:
                yield Rows(query_id, head["columnNames"], head["columnTypes"], _rows(lines))
            finally:
                await self._close_query(query_id)

    @asynccontextmanager
    async def lines(self, text: str, properties: Mapping[str, Any] | None = None) -> AsyncIterator[AsyncIterator[str]]:
        """A PRINT: lines as they come."""
        body = {"ksql": text, "streamsProperties": dict(properties or {})}
        async with self._streamed("/query", body, MEDIA_TYPE) as got:
            yield (line async for line in got.aiter_lines() if line.strip())

    async def _close_query(self, query_id: str | None) -> None:
        # The connection ends too; but a proxy in between may keep it open, and then the query would go on.
        if query_id is not None:
            with suppress(httpx.HTTPError):
                await self._server.client.post("/close-query", json={"queryId": query_id}, timeout=ASIDE_SECONDS)

    @asynccontextmanager
    async def _streamed(self, path: str, body: Entity, accept: str) -> AsyncIterator[httpx.Response]:
        endless = httpx.Timeout(None, connect=CONNECT_SECONDS)
        async with (
            self._explained(),
            self._server.client.stream("POST", path, json=body, headers={"Accept": accept}, timeout=endless) as answer,
        ):
            if answer.status_code != 200:
                await answer.aread()
                self._checked(answer)
            yield answer

    def _read(self, line: str) -> Any:
        try:
            return json.loads(line, parse_float=Number)
        except ValueError:
            raise self._foreign() from None

    @asynccontextmanager
    async def _explained(self) -> AsyncIterator[None]:
        try:
            yield
        except httpx.TimeoutException:
            name, url = self._server.name, self._server.url
            raise UiError(t("{server} at {url} did not answer in time.", server=name, url=url)) from None
        except httpx.HTTPError:
            raise self._server.unreachable() from None

    def _foreign(self) -> UiError:
        return UiError(t("What answers at {url} is not a KSQL server.", url=self._server.url))

    def _checked(self, answer: httpx.Response) -> Any:
        try:
            found = answer.json()
        except ValueError:
            raise self._foreign() from None
        if answer.status_code >= 400:
            raise _refusal(found)
        return found


async def _rows(lines: AsyncIterator[Any]) -> AsyncIterator[list[Any]]:
    async for line in lines:
        if isinstance(line, list):
            yield line
        elif isinstance(line, dict) and ("error_code" in line or "message" in line):
            raise _refusal(line)
        # Other objects are notes for programs: continuation tokens, the final message.


def _refusal(found: Any) -> Refused:
    if not isinstance(found, dict):
        return Refused(Problem(t("The server gave no reason.")))
    message = found.get("message") or found.get("errorMessage") or t("The server gave no reason.")
    entities = found.get("entities")
    return Refused(problem_of(str(message)), entities if isinstance(entities, list) else [])
