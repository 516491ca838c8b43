"""The REST API as ksqlDB's clients use it: HTTP/1.1, HTTP/2, websocket, bodies, errors. Without persistent queries, so
without Spark; those are in test_engine.py and test_golden_server.py."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from caudal.ksql.engine.engine import Engine
from caudal.ksql.engine.settings import EngineSettings
from caudal.testing import EmbeddedBroker
from tests.ksql.running_server import Client, running_server

EARLIEST = {"auto.offset.reset": "earliest"}


@pytest.fixture(scope="module")
def url(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = EngineSettings(
        bootstrap=broker.bootstrap,
        service_id=f"rest{os.getpid():x}_",
        state_dir=str(tmp_path_factory.mktemp("rest")),
        registry="http://127.0.0.1:1",
    )
    with running_server(Engine(settings)) as address:
        client = Client(address)
        given = "PARTITIONS=2, VALUE_FORMAT='JSON'"
        client.ksql(f"CREATE STREAM seen (k STRING KEY, n INT) WITH (KAFKA_TOPIC='seen', {given});")
        for number in range(4):
            client.ksql(f"INSERT INTO seen (ROWTIME, k, n) VALUES ({1000 + number}, 'k{number % 2}', {number});")
        client.ksql(f"CREATE TABLE held (k STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='held', {given});")
        client.ksql("INSERT INTO held (k, n) VALUES ('a', 1); INSERT INTO held (k, n) VALUES ('b', 2);")
        yield address


@pytest.fixture
def client(url: str) -> Client:
    return Client(url)


# -- statements --------------------------------------------------------------------------------------------------------


def test_a_statement_answers_with_its_entity(client: Client) -> None:
    (made,) = client.ksql("CREATE STREAM made (a INT) WITH (KAFKA_TOPIC='made', PARTITIONS=1, VALUE_FORMAT='JSON');")
    assert made["@type"] == "currentStatus"
    assert made["commandId"] == "stream/`MADE`/create"
    assert made["commandStatus"]["status"] == "SUCCESS"
    status = client.http.get("/status/stream/`MADE`/create").json()
    assert status["status"] == "SUCCESS"
    assert "stream/`MADE`/create" in client.http.get("/status").json()["commandStatuses"]
    (listed,) = client.ksql("SHOW STREAMS;")
    assert {"SEEN", "MADE"} <= {stream["name"] for stream in listed["streams"]}
    client.ksql("DROP STREAM made DELETE TOPIC;")


def test_an_unknown_command_has_no_status(client: Client) -> None:
    answer = client.http.get("/status/stream/NOPE/create")
    assert answer.status_code == 404
    assert answer.json()["error_code"] == 40400


def test_a_syntax_error_says_where(client: Client) -> None:
    body = client.refused("SELCT 1;")
    assert body["@type"] == "statement_error"
    assert body["error_code"] == 40001
    assert "line 1:1" in body["message"] and "SELECT" in body["message"] and "^" in body["message"]
    assert body["statementText"] == "SELCT 1"


def test_what_was_done_before_an_error_is_told(client: Client) -> None:
    body = client.refused(
        "CREATE STREAM before_it (a INT) WITH (KAFKA_TOPIC='before_it', PARTITIONS=1, VALUE_FORMAT='JSON');"
        "DROP STREAM no_such_stream;"
    )
    assert [entity["commandId"] for entity in body["entities"]] == ["stream/`BEFORE_IT`/create"]
    assert "NO_SUCH_STREAM" in body["message"]
    client.ksql("DROP STREAM before_it DELETE TOPIC;")


def test_a_select_belongs_elsewhere(client: Client) -> None:
    assert "/query-stream" in client.refused("SELECT * FROM seen;")["message"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not json", "not JSON"),
        (b"[]", "must be a JSON object"),
        (b"{}", "no 'ksql'"),
        (b'{"ksql": 1}', "'ksql' must be text"),
        (b'{"ksql": "SHOW STREAMS;", "streamsProperties": []}', "must be a JSON object"),
    ],
)
def test_a_wrong_body_is_refused(client: Client, content: bytes, words: str) -> None:
    answer = client.http.post("/ksql", content=content)
    assert answer.status_code == 400
    assert words in answer.json()["message"]


def test_an_unknown_property_is_refused(client: Client) -> None:
    answer = client.http.post("/ksql", json={"ksql": "SHOW STREAMS;", "streamsProperties": {"auto.ofset.reset": "x"}})
    assert answer.status_code == 400
    assert "auto.offset.reset" in answer.json()["message"]


def test_session_variables_are_filled_in(client: Client) -> None:
    body = {"ksql": "DESCRIBE ${name};", "sessionVariables": {"name": "seen"}}
    (described,) = client.http.post("/ksql", json=body).json()
    assert described["sourceDescription"]["name"] == "SEEN"


# -- pull queries ------------------------------------------------------------------------------------------------------


def test_a_pull_query_over_query_stream(client: Client) -> None:
    answer = client.http.post("/query-stream", json={"sql": "SELECT k, n FROM held WHERE k = 'b';"})
    assert answer.headers["content-type"].startswith("application/vnd.ksqlapi.delimited.v1")
    header, row = [json.loads(line) for line in answer.text.splitlines()]
    assert header == {"columnNames": ["K", "N"], "columnTypes": ["STRING", "INTEGER"]}
    assert row == ["b", 2]


def test_as_one_json_array(client: Client) -> None:
    answer = client.http.post(
        "/query-stream", json={"sql": "SELECT k, n FROM held WHERE k = 'b';"}, headers={"Accept": "application/json"}
    )
    header, row = answer.json()
    assert header["columnNames"] == ["K", "N"]
    assert row == ["b", 2]


def test_as_protobuf(client: Client) -> None:
    answer = client.http.post(
        "/query-stream",
        json={"sql": "SELECT k, n FROM held WHERE k = 'b';"},
        headers={"Accept": "application/vnd.ksqlapi.protobuf"},
    )
    header, row, final = answer.json()
    assert "message" in header["header"]["protoSchema"] and "string K = 1" in header["header"]["protoSchema"]
    assert base64.b64decode(row["row"]["protobufBytes"]) == b"\n\x01b\x10\x02"
    assert "finalMessage" in final


def test_the_older_way(client: Client) -> None:
    answer = client.http.post("/query", json={"ksql": "SELECT k, n FROM held WHERE k = 'a';"})
    header, row, final = answer.json()
    assert header["header"]["schema"] == "`K` STRING, `N` INTEGER"
    assert row == {"row": {"columns": ["a", 1]}}
    assert final == {"finalMessage": "Query Completed"}


def test_a_media_type_that_is_not_there(client: Client) -> None:
    answer = client.http.post("/query-stream", json={"sql": "SELECT 1;"}, headers={"Accept": "image/png"})
    assert answer.status_code == 406


def test_an_error_in_a_query(client: Client) -> None:
    answer = client.http.post("/query-stream", json={"sql": "SELECT nn FROM held;"})
    assert answer.status_code == 400
    body = answer.json()
    assert body["@type"] == "statement_error" and "line 1:8" in body["message"]


# -- push queries ------------------------------------------------------------------------------------------------------


def test_a_push_query_ends_with_its_limit(client: Client) -> None:
    rows = client.rows("SELECT k, n FROM seen EMIT CHANGES LIMIT 4;", **EARLIEST)
    assert sorted(rows, key=lambda row: row[1]) == [["k0", 0], ["k1", 1], ["k0", 2], ["k1", 3]]


def test_a_push_query_over_http_2(url: str) -> None:
    with httpx.Client(http1=False, http2=True, base_url=url, timeout=60) as http:
        body = {"sql": "SELECT n FROM seen EMIT CHANGES LIMIT 2;", "properties": EARLIEST}
        answer = http.post("/query-stream", json=body)
    assert answer.http_version == "HTTP/2"
    header, *rows = [json.loads(line) for line in answer.text.splitlines()]
    assert header["queryId"] and len(rows) == 2


def test_a_push_query_is_closed_by_its_id(client: Client, url: str) -> None:
    with client.http.stream("POST", "/query-stream", json={"sql": "SELECT n FROM seen EMIT CHANGES;"}) as answer:
        lines = answer.iter_lines()
        query_id = json.loads(next(lines))["queryId"]
        assert any(query["id"] == query_id for query in Client(url).ksql("SHOW QUERIES;")[0]["queries"])
        assert Client(url).http.post("/close-query", json={"queryId": query_id}).status_code == 200
        assert list(lines) == []
    refused = Client(url).http.post("/close-query", json={"queryId": query_id})
    assert refused.status_code == 400 and query_id in refused.json()["message"]


def test_a_client_that_leaves_ends_its_query(client: Client, url: str) -> None:
    with client.http.stream("POST", "/query-stream", json={"sql": "SELECT n FROM seen EMIT CHANGES;"}) as answer:
        query_id = json.loads(next(answer.iter_lines()))["queryId"]
    client.http.close()
    for _ in range(300):
        if all(query["id"] != query_id for query in Client(url).ksql("SHOW QUERIES;")[0]["queries"]):
            break
        asyncio.run(asyncio.sleep(0.1))
    else:
        pytest.fail("the query still runs")


def test_a_websocket(url: str) -> None:
    import websockets.sync.client

    request = quote(json.dumps({"ksql": "SELECT k, n FROM seen EMIT CHANGES LIMIT 1;", "streamsProperties": EARLIEST}))
    with websockets.sync.client.connect(f"ws{url.removeprefix('http')}/ws/query?request={request}") as socket:
        schema, row, final = (json.loads(socket.recv(60)) for _ in range(3))
    assert [column["name"] for column in schema] == ["K", "N"]
    assert len(row["row"]["columns"]) == 2
    assert "finalMessage" in final


def test_a_websocket_tells_an_error(url: str) -> None:
    import websockets.sync.client

    request = quote(json.dumps({"ksql": "SELECT nope FROM seen EMIT CHANGES;"}))
    with websockets.sync.client.connect(f"ws{url.removeprefix('http')}/ws/query?request={request}") as socket:
        error = json.loads(socket.recv(60))["error"]
    assert "NOPE" in error["errorMessage"]


def test_print(client: Client) -> None:
    answer = client.http.post("/query", json={"ksql": "PRINT seen FROM BEGINNING LIMIT 2;"})
    lines = answer.text.splitlines()
    assert sum(line.startswith("rowtime: ") for line in lines) == 2
    assert any('"N":' in line for line in lines)
    refused = client.http.post("/query", json={"ksql": "PRINT no_such_topic;"})
    assert refused.status_code == 400 and "no_such_topic" in refused.json()["message"]


# -- inserts -----------------------------------------------------------------------------------------------------------


def test_rows_are_inserted_and_acknowledged(client: Client) -> None:
    client.ksql("CREATE STREAM fed (k STRING KEY, n INT) WITH (KAFKA_TOPIC='fed', PARTITIONS=1, VALUE_FORMAT='JSON');")
    lines = [{"target": "fed"}, {"k": "a", "n": 1}, {"K": "b", "N": 2}]
    answer = client.http.post("/inserts-stream", content="\n".join(map(json.dumps, lines)))
    acks = [json.loads(line) for line in answer.text.splitlines()]
    assert acks == [{"status": "ok", "seq": 0}, {"status": "ok", "seq": 1}]
    assert client.rows("SELECT k, n FROM fed;") == [["a", 1], ["b", 2]]
    bad = [{"target": "fed"}, {"k": "a", "n": 3}, {"k": "a", "n": "three"}, {"k": "a", "n": 4}]
    answer = client.http.post("/inserts-stream", content="\n".join(map(json.dumps, bad)))
    first, error = [json.loads(line) for line in answer.text.splitlines()]
    assert first == {"status": "ok", "seq": 0}
    assert error["status"] == "error" and error["seq"] == 1 and "N" in error["message"]
    assert client.rows("SELECT n FROM fed;") == [[1], [2], [3]]
    client.ksql("DROP STREAM fed DELETE TOPIC;")


def test_an_insert_into_nothing(client: Client) -> None:
    answer = client.http.post("/inserts-stream", content=json.dumps({"target": "nowhere"}))
    assert answer.status_code == 400 and "NOWHERE" in answer.json()["message"]


# -- how the server is -------------------------------------------------------------------------------------------------


def test_info_and_health(client: Client) -> None:
    info = client.http.get("/info").json()["KsqlServerInfo"]
    assert info["kafkaClusterId"] and info["ksqlServiceId"].startswith("rest") and info["version"].startswith("0.29")
    assert client.http.get("/", follow_redirects=True).json()["KsqlServerInfo"] == info
    assert client.http.get("/healthcheck").json()["isHealthy"] is True
    assert client.http.get("/v1/metadata").json()["scope"]["clusters"]["kafka-cluster"] == info["kafkaClusterId"]
    for probe in ("/v1/metadata/id", "/chc/live", "/chc/ready"):
        assert client.http.get(probe).status_code == 200


def test_the_cluster_and_its_heartbeats(client: Client) -> None:
    assert client.http.post("/heartbeat", json={"hostInfo": {"host": "other", "port": 8088}}).json() == {"isOk": True}
    assert client.http.post("/lag", json={"ksqlHost": {"host": "third", "port": 1}, "updateTimeMs": 5}).json() == {
        "isOk": True
    }
    status = client.http.get("/clusterStatus").json()["clusterStatus"]
    assert status["other:8088"]["hostAlive"] is True
    assert status["third:1"]["hostAlive"] is False
    assert client.http.post("/heartbeat", json={"hostInfo": 1}).status_code == 400


def test_properties_are_known(client: Client) -> None:
    assert client.http.get("/is_valid_property/ksql.streams.auto.offset.reset").json() is True
    refused = client.http.get("/is_valid_property/ksql.service.id")
    assert refused.status_code == 400


def test_metrics(client: Client) -> None:
    text = client.http.get("/metrics").text
    assert 'caudal_ksql_sources{kind="STREAM"}' in text
    assert "caudal_ksql_push_queries" in text


def test_unknown_paths_and_methods(client: Client) -> None:
    assert client.http.get("/nope").status_code == 404
    refused = client.http.get("/ksql")
    assert refused.status_code == 405 and "POST" in refused.json()["message"]


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example"}, {"Host": "evil.example"}])
def test_other_origins_are_kept_out(client: Client, headers: dict[str, str]) -> None:
    answer = client.http.post("/ksql", json={"ksql": "SHOW STREAMS;"}, headers=headers)
    assert answer.status_code == 403


def test_terminating_the_service(broker: EmbeddedBroker, tmp_path: Path) -> None:
    settings = EngineSettings(bootstrap=broker.bootstrap, service_id="ending_", state_dir=str(tmp_path))
    with running_server(Engine(settings)) as address:
        client = Client(address)
        client.ksql("CREATE STREAM gone (a INT) WITH (KAFKA_TOPIC='gone', PARTITIONS=1, VALUE_FORMAT='JSON');")
        assert client.http.post("/ksql/terminate", json={"deleteTopicList": ["["]}).status_code == 400
        assert client.http.post("/ksql/terminate", json={}).status_code == 200
        assert client.ksql("SHOW STREAMS;")[0]["streams"] == []
        topics: list[dict[str, Any]] = client.ksql("SHOW TOPICS;")[0]["topics"]
        assert "gone" in {topic["name"] for topic in topics}, "a topic that no query made stays"
