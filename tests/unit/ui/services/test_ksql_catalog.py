"""What the server has, read in one request; a server that knows less gives less."""

from __future__ import annotations

import asyncio
from typing import Any

from caudal.ui.services.ksql import Refused
from caudal.ui.services.ksql_catalog import read_catalog, read_functions
from caudal.ui.services.ksql_completion import Function
from caudal.ui.services.ksql_problem import Problem

STREAMS = {
    "@type": "source_descriptions",
    "sourceDescriptions": [{"name": "S", "type": "STREAM", "topic": "s", "fields": []}],
}


class Server:
    """Answers by the beginning of the text; an exception is raised."""

    def __init__(self, url: str, **answers: Any) -> None:
        self.url = url
        self.asked: list[str] = []
        self._answers = answers

    async def execute(self, text: str, **more: Any) -> Any:
        self.asked.append(text)
        answer = self._answers[text.split()[0].rstrip(";")]
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_names_and_labels_come_of_one_request() -> None:
    topics = {"@type": "kafka_topics", "topics": [{"name": "s"}]}
    server: Any = Server("a", DESCRIBE=[STREAMS, topics])
    found = asyncio.run(read_catalog(server))
    assert found.names.topics == ("s",)
    assert [one.name for one in found.names.sources] == ["S"]
    assert found.labels == {"s": "S"}
    assert len(server.asked) == 1


def test_a_statement_that_the_server_does_not_know_leaves_the_others() -> None:
    server: Any = Server("b", DESCRIBE=Refused(Problem("unknown"), [STREAMS]))
    assert [one.name for one in asyncio.run(read_catalog(server)).sources] == ["S"]


def test_functions_are_described_once_for_all_visitors_and_otherwise_named() -> None:
    listed = {"@type": "function_names", "functions": [{"name": "LEN"}, {"name": "OWN"}]}
    variation = {"arguments": [{"name": "x", "type": "STRING"}], "returnType": "INTEGER"}
    described = {"@type": "describe_function", "name": "LEN", "functions": [variation], "description": "How long."}
    server: Any = Server("c", SHOW=[listed], DESCRIBE=Refused(Problem("no OWN"), [described]))
    wanted = (Function("LEN", ("(x STRING) → INTEGER",), "How long."), Function("OWN"))
    assert asyncio.run(read_functions(server)) == wanted
    assert asyncio.run(read_functions(server)) == wanted
    assert len(server.asked) == 2
