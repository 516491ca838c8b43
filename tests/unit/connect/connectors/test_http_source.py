"""HttpSource: paging in each of its ways, going on after a restart, patience, credentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.connect.connectors.contexts import Offsets, start_source
from tests.unit.connect.connectors.json_server import Answer, JsonServer, Request, json_server

from caudal.connect.connectors.http.source import HttpSource
from caudal.connect.errors import ConnectError
from caudal.connect.records import SourceRecord

ITEMS = [{"id": n, "name": f"item {n}"} for n in range(1, 8)]


def config(server: JsonServer, path: str = "/items", **more: Any) -> dict[str, str]:
    given = {name.replace("_", "."): str(value) for name, value in more.items()}
    quick = {"poll.interval.ms": "1", "retry.backoff.ms": "1", "retry.backoff.max.ms": "5"}
    return {"topic": "t", "url": server.url + path, **quick, **given}


def polled(task: Any, count: int, offsets: Offsets | None = None) -> list[SourceRecord]:
    """At least so many records, and what the poll after them finds."""
    found: list[SourceRecord] = []
    for _ in range(1000):
        records = task.poll() or []
        found += records
        if offsets is not None:
            offsets.commit(records)
        if len(found) >= count:
            break
    found += task.poll() or []
    return found


def ids(records: list[SourceRecord]) -> list[int]:
    return [record.value["id"] for record in records]


def by_field(request: Request) -> Answer:
    since = int(request.query.get("since") or 0)
    return Answer({"data": {"items": [item for item in ITEMS if int(str(item["id"])) > since][:3]}})


def by_cursor(request: Request) -> Answer:
    at = int(request.query.get("cursor") or 0)
    return Answer({"items": ITEMS[at : at + 3], "next": str(at + 3) if at + 3 < len(ITEMS) else None})


def by_link(request: Request) -> Answer:
    at = int(request.query.get("at") or 0)
    links = {"next": f"/items?at={at + 3}"} if at + 3 < len(ITEMS) else {}
    return Answer({"items": ITEMS[at : at + 3], "links": links})


def by_link_header(request: Request) -> Answer:
    at = int(request.query.get("at") or 0)
    headers = {"Link": f'</items?at={at + 3}>; rel="next"'} if at + 3 < len(ITEMS) else {}
    return Answer({"items": ITEMS[at : at + 3]}, headers=headers)


def by_page(request: Request) -> Answer:
    page = int(request.query["page"])
    return Answer({"items": ITEMS[3 * page - 3 : 3 * page]})


WAYS: dict[str, tuple[Callable[[Request], Answer], dict[str, str]]] = {
    "field": (by_field, {"offset_mode": "FIELD", "offset_pointer": "/id", "request_parameters": "since=${offset}",
                         "items_pointer": "/data/items"}),
    "cursor": (by_cursor, {"offset_mode": "CURSOR", "offset_pointer": "/next", "request_parameters": "cursor=${offset}",
                           "items_pointer": "/items"}),
    "link": (by_link, {"offset_mode": "NEXT_LINK", "offset_pointer": "/links/next", "items_pointer": "/items"}),
    "link header": (by_link_header, {"offset_mode": "NEXT_LINK", "items_pointer": "/items"}),
    "page": (by_page, {"offset_mode": "INCREMENT", "offset_initial": "1", "request_parameters": "page=${offset}",
                       "items_pointer": "/items"}),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_every_page_comes_once(way: str) -> None:
    answer, more = WAYS[way]
    with json_server(answer) as server:
        given = config(server, **more)
        assert HttpSource.check(HttpSource.config().parse(given)) == {}
        task, _ = start_source(HttpSource, given)
        assert ids(polled(task, 7)) == [1, 2, 3, 4, 5, 6, 7]
        assert ids(polled(task, 0)) == []  # and none again
        task.stop()


@pytest.mark.parametrize("stored", [1, 3, 5, 7])
@pytest.mark.parametrize("way", WAYS)
def test_a_restart_goes_on_behind_the_last_stored_record(way: str, stored: int) -> None:
    answer, more = WAYS[way]
    offsets = Offsets()
    with json_server(answer) as server:
        task, _ = start_source(HttpSource, config(server, **more), offsets)
        first = polled(task, 7)[:stored]
        task.stop()
        offsets.commit(first)
        task, _ = start_source(HttpSource, config(server, **more), offsets)
        assert ids(first + polled(task, 7 - stored)) == [1, 2, 3, 4, 5, 6, 7]
        task.stop()


def test_what_is_added_to_the_last_page_comes_later() -> None:
    items = [{"id": 1}]
    with json_server(lambda request: Answer({"items": items, "next": None})) as server:
        more = WAYS["cursor"][1]
        task, _ = start_source(HttpSource, config(server, **more))
        assert ids(polled(task, 1)) == [1]
        items.append({"id": 2})
        assert ids(polled(task, 1)) == [2]
        task.stop()


def test_a_list_that_is_read_again_gives_what_is_new() -> None:
    items: list[dict[str, Any]] = [{"id": 1}, {"id": 2}]
    offsets = Offsets()
    with json_server(lambda request: Answer(items)) as server:
        given = config(server, id_pointer="/id")
        task, side = start_source(HttpSource, given, offsets)
        records = polled(task, 2, offsets)
        assert ids(records) == [1, 2] and records[0].key == "1"
        items[:] = [{"id": 2}, {"id": 3}, {"no": "id"}]
        assert ids(polled(task, 1, offsets)) == [3] and "no id" in str(side.reported[0])
        task.stop()
        task, _ = start_source(HttpSource, given, offsets)  # the ids are stored, too
        items.append({"id": 4})
        assert ids(polled(task, 1, offsets)) == [4]
        task.stop()


def test_patience_with_a_server_in_trouble() -> None:
    answers = [Answer(status=503), Answer(status=429, headers={"Retry-After": "0"}), Answer([{"id": 1}])]
    with json_server(lambda request: answers.pop(0) if len(answers) > 1 else answers[0]) as server:
        task, _ = start_source(HttpSource, config(server, id_pointer="/id"))
        assert ids(polled(task, 1)) == [1]
        answers[0] = Answer(b"overloaded", status=500)
        task.stop()
        task, _ = start_source(HttpSource, config(server, max_retries=2))
        with pytest.raises(ConnectError, match="500 Internal Server Error to GET: overloaded It was tried 3 times"):
            polled(task, 1)
        task.stop()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(status=404, body=b"no such thing"), "answers 404 Not Found to GET: no such thing"),
        (Answer(b"<html>"), "does not answer with JSON"),
        (Answer(status=301, headers={"Location": "http://elsewhere/"}), "has moved to http://elsewhere/"),
        (Answer({"links": {"next": "http://elsewhere/"}, "items": [1]}), "leads to another server, elsewhere"),
    ],
)
def test_what_cannot_go_on_fails(answer: Answer, words: str) -> None:
    with json_server(lambda request: answer) as server:
        more = WAYS["link"][1]
        task, _ = start_source(HttpSource, config(server, "/items?secret=x", **more))
        with pytest.raises(ConnectError) as failed:
            polled(task, 1)
        assert words in str(failed.value) and "secret" not in str(failed.value)
        task.stop()


def test_no_connection_is_tried_again() -> None:
    with json_server(lambda request: Answer()) as server:
        pass
    task, _ = start_source(HttpSource, config(server, max_retries=1))
    with pytest.raises(ConnectError, match=r"does not answer.*tried 2 times"):
        polled(task, 1)
    task.stop()


@pytest.mark.parametrize(
    ("given", "header"),
    [
        ({"auth.type": "BASIC", "connection.user": "u", "connection.password": "p"}, "Basic dTpw"),
        ({"auth.type": "BEARER", "bearer.token": "abc"}, "Bearer abc"),
    ],
)
def test_credentials(given: dict[str, str], header: str) -> None:
    with json_server(lambda request: Answer([{"id": 1}])) as server:
        task, _ = start_source(HttpSource, config(server) | given | {"headers": "X-One: 1|X-Two: a: b"})
        polled(task, 1)
        sent = server.requests[0].headers
        assert sent["authorization"] == header and sent["x-one"] == "1" and sent["x-two"] == "a: b"
        task.stop()


def test_oauth2_tokens_are_fetched_and_renewed() -> None:
    tokens = iter(["first", "second"])

    def answer(request: Request) -> Answer:
        if request.path == "/token":
            assert request.body == b"grant_type=client_credentials&scope=read"
            return Answer({"access_token": next(tokens), "expires_in": 3600})
        good = {"Bearer first"} if len(server.requests) < 4 else {"Bearer second"}
        return Answer([{"id": 1}]) if request.headers.get("authorization") in good else Answer(status=401)

    with json_server(answer) as server:
        given = {
            "auth.type": "OAUTH2", "oauth2.token.url": f"{server.url}/token", "oauth2.client.id": "me",
            "oauth2.client.secret": "geheim", "oauth2.client.scope": "read",
        }  # fmt: skip
        task, _ = start_source(HttpSource, config(server) | given)
        assert ids(polled(task, 4))[:4] == [1, 1, 1, 1]
        assert [request.path for request in server.requests].count("/token") == 2
        task.stop()


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"url": "ftp://x"}, "url"),
        ({"url": "/items"}, "url"),
        ({"offset.mode": "FIELD", "offset.pointer": "/id"}, "url"),
        ({"offset.mode": "CURSOR", "request.parameters": "${offset}"}, "offset.pointer"),
        ({"auth.type": "BEARER"}, "bearer.token"),
        ({"headers": "nonsense"}, "headers"),
        ({"offset.mode": "INCREMENT", "request.parameters": "${offset}", "offset.initial": "x"}, "offset.initial"),
    ],
)
def test_wrong_configurations_are_named(given: dict[str, str], key: str) -> None:
    parsed = HttpSource.config().parse({"topic": "t", "url": "http://127.0.0.1/x", **given})
    assert list(HttpSource.check(parsed)) == [key]
