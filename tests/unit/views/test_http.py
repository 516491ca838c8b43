"""Queries over HTTP: what the pages say, how long answers go on, and who is refused."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from confluent_kafka import Producer
from tests.unit.views.changelogs import tasks

from caudal.runtime.spark.settings import Settings
from caudal.serde import Bytes, Json, Long, Serde, String, Uuid
from caudal.streams import StreamsBuilder, persistent, session, tumbling
from caudal.testing import EmbeddedBroker, embedded_broker
from caudal.views import ApplicationViews
from caudal.views.http_server import MOST_HEAD, ViewServer
from caudal.views.json_text import encoded, key_reader, to_json

KEYS = [f"k{number:03d}" for number in range(250)]


def topology() -> StreamsBuilder:
    builder = StreamsBuilder("shop")
    group = builder.stream("words", key=String(), value=String()).group_by_key()
    group.count(store="n")
    group.windowed_by(tumbling("10 seconds")).count(store=persistent("per-window", retention="1 hour"))
    group.windowed_by(session("5 seconds")).count(store=persistent("per-session", retention="1 hour"))
    builder.global_table("prices", key=Long(), value=Json(), store="prices")
    return builder


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ViewServer]:
    with embedded_broker() as broker, tasks(broker, topology(), 2) as made:
        for number, key in enumerate([*KEYS, "a/b ñ"]):
            made.drivers[number % 2].pipe_input("words", key, "", number * 100)
        for start in (100_000, 120_000, 140_000):
            made.drivers[0].pipe_input("words", "late", "", start)
        made.commit()
        broker.create_topic("prices", 1)
        fill(broker)
        folder = tmp_path_factory.mktemp("state")
        views = ApplicationViews(made.topology, Settings(bootstrap=broker.bootstrap, state_dir=str(folder)))
        started = ViewServer(views).start()
        yield started
        started.stop()
        views.close()


def fill(broker: EmbeddedBroker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("prices", b'{"price": 2.5, "by": ["x"]}', Long().serialize(-7), timestamp=123)
    assert producer.flush(10) == 0


@pytest.fixture
def connection(server: ViewServer) -> Iterator[http.client.HTTPConnection]:
    with closing(http.client.HTTPConnection(server.host, server.port, timeout=20)) as made:
        yield made


def ask(
    connection: http.client.HTTPConnection, path: str, status: int = 200, method: str = "GET", **headers: str
) -> Any:
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    body = response.read()
    assert response.status == status, body
    assert response.headers["Content-Type"] == "application/json"
    return json.loads(body) if body else None


def test_a_key_is_answered_with_its_lag(connection: http.client.HTTPConnection) -> None:
    assert ask(connection, "/stores/n/key/k007") == {
        "store": "n", "key": "k007", "value": 1, "timestamp": 700, "lag": 0,
    }  # fmt: skip
    assert ask(connection, f"/stores/n/key/{quote('a/b ñ', safe='')}")["key"] == "a/b ñ"
    assert ask(connection, "/stores/n/key/k007?wait=5&max_lag=0")["value"] == 1
    assert ask(connection, "/stores/prices/key/-7")["value"] == {"price": 2.5, "by": ["x"]}
    missing = ask(connection, "/stores/n/key/nobody", 404)
    assert missing == {"error_code": 40402, "message": "Store 'n' has no such key; its view is 0 records behind."}


def test_the_stores_are_listed(connection: http.client.HTTPConnection) -> None:
    ask(connection, "/stores/n/key/k007")
    listed = ask(connection, "/stores")
    assert listed["application"] == "shop"
    assert [store["name"] for store in listed["stores"]] == ["n", "per-session", "per-window", "prices"]
    about = ask(connection, "/stores/n")
    assert about["topic"] == "shop-n-changelog" and about["ready"] and about["lag"] == 0
    assert about["lag_by_partition"] == {"0": 0, "1": 0} and about["approximate_count"] == 252


@pytest.mark.parametrize("reverse", [False, True])
def test_long_answers_go_on_where_they_stopped(connection: http.client.HTTPConnection, reverse: bool) -> None:
    found: list[str] = []
    path = after = ""
    for _ in range(10):
        path = f"/stores/n/range?from=k&to=kz&limit=100&reverse={str(reverse).lower()}{after}"
        page = ask(connection, path)
        assert len(page["rows"]) <= 100
        found += [row["key"] for row in page["rows"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert found == (KEYS[::-1] if reverse else KEYS), "each once, in order, over both partitions"
    assert [row["key"] for row in ask(connection, "/stores/n/range?from=k010&to=k012")["rows"]] == KEYS[10:13]


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/stores/per-window/all?", 252 + 2),
        ("/stores/per-window/windows?from=100000&to=120000&", 2),
        ("/stores/per-window/windows?reverse=true&", 254),
        ("/stores/per-window/window/late?", 3),
        ("/stores/per-window/window/late?reverse=true&", 3),
        ("/stores/per-session/all?", 254),
        ("/stores/per-session/session/late?", 3),
    ],
)
def test_windows_and_sessions_in_pages(connection: http.client.HTTPConnection, path: str, wanted: int) -> None:
    whole = ask(connection, f"{path}limit=10000")
    assert whole["next"] is None and len(whole["rows"]) == wanted
    found: list[Any] = []
    after = ""
    while True:
        page = ask(connection, f"{path}limit={max(2, wanted // 3)}{after}" if wanted > 3 else f"{path}limit=2{after}")
        found += page["rows"]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert found == whole["rows"]
    assert {"start", "end", "value"} <= found[0].keys()


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("/", 40403, "begin with /stores"),
        ("/stores/nope/key/a", 40401, "has no store 'nope' that can be asked; it has: 'n'"),
        ("/stores/nope", 40401, "has no store 'nope'"),
        ("/stores/n/window/a", 40002, "is a timestamped key-value store: ask it for key, range or all, not window"),
        ("/stores/n/windows", 40002, "not windows"),
        ("/stores/per-window/key/a", 40002, "ask it for window, windows or all"),
        ("/stores/per-session/range", 40002, "ask it for session or all"),
        ("/stores/prices/key/seven", 40001, "'seven' is no key of this store: a whole number is expected"),
        ("/stores/prices/key/99999999999999999999", 40001, "does not fit into 8 bytes"),
        ("/stores/n/all?limit=0", 40001, "limit takes a number from 1 to 10000"),
        ("/stores/n/all?after=%21", 40001, "after takes what next said"),
        ("/stores/per-window/all?after=x.eA", 40001, "after takes what next said"),
        ("/stores/n/all?reverse=yes", 40001, "reverse takes true or false"),
        ("/stores/n/key/a?wait=soon", 40001, "wait takes seconds"),
        ("/stores/n/nonsense/a", 40403, "There is no such page"),
    ],
)
def test_mistakes_are_told(connection: http.client.HTTPConnection, path: str, code: int, words: str) -> None:
    said = ask(connection, path, code // 100)
    assert said["error_code"] == code and words in said["message"]
    assert ask(connection, "/stores/n/key/k001")["value"] == 1, "the connection goes on"


def test_other_hosts_and_origins_are_refused(server: ViewServer, connection: http.client.HTTPConnection) -> None:
    assert ask(connection, "/stores/n", 400, Host="evil.example")["error_code"] == 40005
    assert ask(connection, "/stores/n", 403, Origin="http://evil.example")["error_code"] == 40301
    own = f"127.0.0.1:{server.port}"
    assert ask(connection, "/stores/n", Host=own, Origin=f"http://{own}")["name"] == "n"
    assert ask(connection, "/stores/n", Host=f"localhost:{server.port}")["name"] == "n"
    assert ask(connection, "/stores/n", 405, "DELETE")["error_code"] == 40501
    assert ask(connection, "/stores/n", method="HEAD") is None


def raw(server: ViewServer, data: bytes) -> bytes:
    with socket.create_connection((server.host, server.port), 20) as client:
        client.sendall(data)
        answer = b""
        while part := client.recv(1 << 16):
            answer += part
        return answer


def test_questions_in_a_row_are_answered_in_order(server: ViewServer) -> None:
    paths = ["/stores/n/all?limit=1", "/stores/n/key/k001", "/stores/n/range?from=k002&limit=1", "/stores/n/key/k003"]
    asked = "".join(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n" for path in paths)
    answer = raw(server, asked.encode() + b"GET /stores/n HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert answer.count(b"HTTP/1.1 200 OK") == 5
    places = [answer.index(key) for key in (b'"a/b ', b'"k001"', b'"k002"', b'"k003"', b'"followed"')]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET /stores HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /stores HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", b"400"),
        (b"GET /stores HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", b"400"),
        (b"POST /stores HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"400"),
        (b"GET /stores HTTP/1.1\r\nHost : localhost\r\n\r\n", b"400"),
        (b"GET /" + b"x" * MOST_HEAD + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"431"),
    ],
)
def test_what_is_not_understood_ends_the_connection(server: ViewServer, data: bytes, status: bytes) -> None:
    answer = raw(server, data)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert answer.count(b"HTTP/1.1 ") == 1, "what follows may be a body, and is not taken for a question"


@pytest.mark.parametrize(
    ("serde", "text", "key"),
    [
        (String(), "007", "007"),
        (Long(), "-7", -7),
        (Json(), '{"a":1}', {"a": 1}),
        (Bytes(), encoded(b"\xff\xfe"), b"\xff\xfe"),
        (Uuid(), "00000000-0000-0000-0000-000000000001", __import__("uuid").UUID(int=1)),
    ],
)
def test_keys_are_read_as_their_serde_means(serde: Serde, text: str, key: Any) -> None:
    assert key_reader(serde)(text) == key


def test_answers_are_json_whatever_the_values_are() -> None:
    from decimal import Decimal

    document = {"bytes": b"\xff", "set": {1}, "decimal": Decimal("1.10"), 3: (1, 2)}
    assert json.loads(to_json(document)) == {"bytes": "/w==", "set": [1], "decimal": "1.10", "3": [1, 2]}
    assert json.loads(to_json({"large": 1 << 70})) == {"large": 1 << 70}


def test_a_taken_port_is_said(server: ViewServer, tmp_path: Path) -> None:
    from caudal.cli.commands.run import _address, _serve_queries
    from caudal.cli.errors import CliError, UsageError

    class Stub:
        views = server.pages._views

    with pytest.raises(CliError, match=f"--http cannot listen on 127.0.0.1:{server.port}: .*listens there"):
        _serve_queries(Stub(), "127.0.0.1", server.port)  # type: ignore[arg-type]
    assert _address("7080") == ("127.0.0.1", 7080) and _address("0.0.0.0:1") == ("0.0.0.0", 1)
    assert _address("[::1]:7080") == ("::1", 7080)
    with pytest.raises(UsageError, match="not 'here'"):
        _address("here")
