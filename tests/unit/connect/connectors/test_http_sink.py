"""HttpSink: requests, batches, refusals, and a server that comes back."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.connect.connectors.contexts import SinkSide, start_sink
from tests.unit.connect.connectors.json_server import Answer, JsonServer, Request, json_server

from caudal.connect.connectors.http.sink import HttpSink
from caudal.connect.errors import ConnectError, RetriableError
from caudal.connect.records import SinkRecord, TopicPartition

PLACE = TopicPartition("t", 0)


def sink(server: JsonServer, path: str = "/", tolerates: bool = True, **more: Any) -> tuple[Any, SinkSide]:
    given = {name.replace("_", "."): str(value) for name, value in more.items()}
    config = {"http.api.url": server.url + path, "retry.backoff.ms": "1", **given}
    assert HttpSink.check(HttpSink.config().parse(config)) == {}
    return start_sink(HttpSink, config, [PLACE], tolerates)


def record(offset: int, value: Any, key: Any = None) -> SinkRecord:
    return SinkRecord("t", 0, offset, value, key=key)


def test_a_request_per_record_with_a_filled_url() -> None:
    with json_server(lambda request: Answer()) as server:
        task, side = sink(server, "/${topic}/${partition}/${key}?o=${offset}&c=${value.a.b}", request_method="PUT")
        task.put([record(0, {"a": {"b": "x&y"}}, key="k/1"), record(1, {"a": 1}, key="k")])
        (request,) = server.requests
        assert (request.method, request.path) == ("PUT", "/t/0/k%2F1")
        assert request.query == {"o": "0", "c": "x&y"} and request.json == {"a": {"b": "x&y"}}
        assert request.headers["content-type"] == "application/json"
        assert "no plain value for ${value.a.b}" in str(side.reported[0][1])
        task.stop()


def test_batches_share_a_url_and_keep_the_order() -> None:
    with json_server(lambda request: Answer()) as server:
        task, _ = sink(server, "/${key}", batch_max_size=3)
        task.put([record(n, n, key="ab"[n // 4 % 2]) for n in range(10)])
        assert [(request.path, request.json) for request in server.requests] == [
            ("/a", [0, 1, 2]), ("/a", [3]), ("/b", [4, 5, 6]), ("/b", [7]), ("/a", [8, 9]),
        ]  # fmt: skip
        task.stop()


def test_bodies_that_are_texts_already() -> None:
    with json_server(lambda request: Answer()) as server:
        more: dict[str, Any] = {
            "batch_prefix": "",
            "batch_suffix": "",
            "batch_separator": ";",
            "content_type": "text/plain",
        }
        task, _ = sink(server, request_body_format="string", batch_max_size=9, **more)
        task.put([record(0, "a"), record(1, b"b"), record(2, {"c": 1})])
        assert server.requests[0].body == b'a;b;{"c":1}' and server.requests[0].headers["content-type"] == "text/plain"
        task.stop()


def test_a_server_in_trouble_gets_every_record_once() -> None:
    got: list[int] = []
    troubles = [503, 429, 500]

    def answer(request: Request) -> Answer:
        if len(got) % 2 == 1 and troubles:
            return Answer(status=troubles.pop(), headers={"Retry-After": "7"})
        got.append(request.json)
        return Answer()

    with json_server(answer) as server:
        task, side = sink(server)
        records = [record(n, n) for n in range(6)]
        tries = 0
        while True:
            tries += 1
            try:
                task.put(records)
                break
            except RetriableError:
                pass
        assert got == list(range(6)) and tries == 4 and side.waits == [7.0, 7.0, 7.0]
        task.stop()


def test_it_gives_up_in_the_end() -> None:
    with json_server(lambda request: Answer(status=503)) as server:
        task, _ = sink(server, max_retries=1)
        with pytest.raises(RetriableError):
            task.put([record(0, 0)])
        with pytest.raises(ConnectError, match="tried 2 times"):
            task.put([record(0, 0)])
        task.stop()


def test_refused_records_are_reported_each_by_itself() -> None:
    def answer(request: Request) -> Answer:
        return Answer(b"odd", status=422) if any(n % 2 for n in request.json) else Answer()

    with json_server(answer) as server:
        task, side = sink(server, batch_max_size=4)
        task.put([record(n, n) for n in range(4)])
        assert [each.value for each, _ in side.reported] == [1, 3]
        assert "answers 422" in str(side.reported[0][1]) and str(side.reported[0][1]).endswith("to POST: odd")
        task.stop()


@pytest.mark.parametrize(("behaviour", "sent", "reported"), [("ignore", 0, 0), ("delete", 1, 0), ("fail", 0, 1)])
def test_tombstones(behaviour: str, sent: int, reported: int) -> None:
    with json_server(lambda request: Answer()) as server:
        task, side = sink(server, "/${key}", behavior_on_null_values=behaviour)
        task.put([record(0, None, key="k")])
        assert [request.method for request in server.requests] == ["DELETE"] * sent
        assert len(side.reported) == reported
        task.stop()


def test_unknown_names_in_the_url_are_refused() -> None:
    parsed = HttpSink.config().parse({"http.api.url": "http://127.0.0.1/${nonsense}"})
    assert "means nothing" in HttpSink.check(parsed)["http.api.url"][0]
