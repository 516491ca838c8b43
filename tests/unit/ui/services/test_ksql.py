"""Statements and rows over HTTP, from a KSQL server that is made up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from caudal.ui.services.errors import UiError
from caudal.ui.services.http import Http
from caudal.ui.services.ksql import Ksql, Refused

HEAD = {"queryId": "q1", "columnNames": ["A"], "columnTypes": ["DECIMAL(4, 2)"]}


def asked(answer: Callable[[httpx.Request], httpx.Response], question: Callable[[Ksql], Any]) -> Any:
    async def run() -> Any:
        http = Http("http://ksql", "KSQL")
        http._client = httpx.AsyncClient(base_url="http://ksql", transport=httpx.MockTransport(answer))
        try:
            return await question(Ksql(http))
        finally:
            await http.close()

    return asyncio.run(run())


async def all_rows(ksql: Ksql) -> list[list[Any]]:
    async with ksql.query("SELECT 1;") as found:
        return [row async for row in found.rows]


def test_a_refusal_knows_the_place_and_what_was_done_before() -> None:
    said = "line 1:8: There is no column 'AGO'.\nSELECT ago FROM s;\n       ^"
    body = {"error_code": 40001, "message": said, "entities": [{"@type": "streams"}]}
    with pytest.raises(Refused) as refused:
        asked(lambda request: httpx.Response(400, json=body), lambda ksql: ksql.execute("SELECT ago FROM s;"))
    assert (refused.value.problem.line, refused.value.problem.column) == (1, 8)
    assert refused.value.message == "There is no column 'AGO'."
    assert refused.value.entities == [{"@type": "streams"}]


def test_rows_come_with_their_numbers_as_written_and_the_query_is_closed() -> None:
    closed: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/close-query":
            closed.append(json.loads(request.content))
            return httpx.Response(200, json={})
        lines = [json.dumps(HEAD), "[1.50]", '["x"]', '{"finalMessage": "done"}']
        return httpx.Response(200, text="\n".join(lines))

    assert asked(answer, all_rows) == [["1.50"], ["x"]]
    assert closed == [{"queryId": "q1"}]


def test_an_error_among_the_rows_is_raised() -> None:
    lines = [json.dumps(HEAD), json.dumps({"error_code": 50000, "message": "It failed."})]
    with pytest.raises(Refused, match="It failed"):
        asked(lambda request: httpx.Response(200, text="\n".join(lines)), all_rows)


def test_a_server_that_is_away_or_another_one_is_said_in_a_sentence() -> None:
    def away(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(UiError, match="does not answer"):
        asked(away, lambda ksql: ksql.execute("SHOW STREAMS;"))
    with pytest.raises(UiError, match="is not a KSQL server"):
        asked(lambda request: httpx.Response(200, text="<html>"), lambda ksql: ksql.execute("SHOW STREAMS;"))
