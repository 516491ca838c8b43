"""Connect's answers as the pages have them, from a worker that is made up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from caudal.ui.services import connect as module
from caudal.ui.services.connect import Connect, reason_of
from caudal.ui.services.errors import UiError
from caudal.ui.services.http import Http

Answer = Callable[[httpx.Request], httpx.Response]


def asked(answer: Answer, question: Callable[[Connect], Any]) -> Any:
    async def run() -> Any:
        http = Http("http://worker", "Connect")
        http._client = httpx.AsyncClient(base_url="http://worker", transport=httpx.MockTransport(answer))
        try:
            return await question(Connect(http))
        finally:
            await http.close()

    return asyncio.run(run())


def test_a_connector_with_a_failed_task_counts_as_failed_and_says_why() -> None:
    trace = 'Traceback (most recent call last):\n  File "x", line 1\nOSError: disk full\n'
    status = {
        "connector": {"state": "RUNNING", "worker_id": "w:1"},
        "tasks": [
            {"id": 1, "state": "FAILED", "worker_id": "w:2", "trace": trace},
            {"id": 0, "state": "RUNNING", "worker_id": "w:1"},
        ],
        "type": "sink",
    }
    body = {"files": {"status": status, "info": {"type": "sink", "config": {"connector.class": "File"}}}}
    (found,) = asked(lambda request: httpx.Response(200, json=body), lambda connect: connect.connectors())
    assert (found.name, found.worst, found.failed, found.is_sink) == ("files", "FAILED", 1, True)
    assert [task.id for task in found.tasks] == [0, 1]
    assert found.tasks[1].reason == "OSError: disk full"


def test_a_connector_that_nobody_runs_yet_is_unassigned() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/status"):
            return httpx.Response(404, json={"error_code": 404, "message": "No status found"})
        return httpx.Response(200, json={"type": "source", "config": {"connector.class": "D"}, "tasks": []})

    found = asked(answer, lambda connect: connect.connector("a/b"))
    assert (found.state, found.plugin) == ("UNASSIGNED", "D")


def test_names_go_into_the_path_as_one_part() -> None:
    paths: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.raw_path)
        return httpx.Response(202)

    asked(answer, lambda connect: connect.pause("a/b c"))
    assert paths == [b"/connectors/a%2Fb%20c/pause"]


def test_a_rebalance_is_waited_for_and_another_conflict_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.0)
    answers = [
        httpx.Response(409, json={"error_code": 409, "message": "Cannot complete: rebalance in progress"}),
        httpx.Response(204),
    ]
    asked(lambda request: answers.pop(0), lambda connect: connect.delete("a"))
    assert answers == []
    exists = httpx.Response(409, json={"error_code": 409, "message": "Connector a already exists"})
    with pytest.raises(UiError, match="already exists"):
        asked(lambda request: exists, lambda connect: connect.create("a", {}))


def test_the_lag_of_a_sink_is_what_its_partitions_have_more() -> None:
    class Ends:
        async def end_offsets(self, partitions: Any) -> dict[tuple[str, int], int]:
            assert list(partitions) == [("orders", 0)]
            return {("orders", 0): 12}

    offsets = [
        {"partition": {"kafka_topic": "orders", "kafka_partition": 0}, "offset": {"kafka_offset": 5}},
        {"partition": {"filename": "x"}, "offset": {"position": 3}},
    ]
    kafka: Any = Ends()
    found = asked(
        lambda request: httpx.Response(200, json={"offsets": offsets}), lambda connect: connect.offsets("a", kafka)
    )
    assert [one.lag for one in found] == [7, None]


PYTHON = "Traceback (most recent call last):\n  File\n"


@pytest.mark.parametrize(
    ("trace", "reason"),
    [
        ("org.apache.kafka.ConnectException: no file\n\tat x\n", "org.apache.kafka.ConnectException: no file"),
        (f"{PYTHON}ValueError: a\n\nThe above:\n\n{PYTHON}ConnectError: no table", "ConnectError: no table"),
        ("", ""),
    ],
)
def test_the_line_that_says_what_happened(trace: str, reason: str) -> None:
    assert reason_of(trace) == reason
