"""The client against a small HTTP server that notes what it is asked and answers what the test says."""

from __future__ import annotations

import json
import pickle
import socket
import threading
from base64 import b64encode
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from caudal.registry.client import (
    ENVIRONMENT,
    RegistryClient,
    RegistryError,
    RegistryUnreachable,
    configured_registry,
    shared_client,
    without_credentials,
)
from caudal.registry.schemas.schema import Reference


class Fake(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[tuple[str, str], Any] = {}  # (method, path): JSON, or a deque of (status, JSON) in turn
        self.asked: list[tuple[str, str, dict[str, str], Any, str | None]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Fake

    def _handle(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else None
        parts = urlsplit(self.path)
        self.server.asked.append(
            (self.command, parts.path, dict(parse_qsl(parts.query)), body, self.headers.get("Authorization"))
        )
        missing = (404, {"error_code": 404, "message": "HTTP 404 Not Found"})
        answer = self.server.answers.get((self.command, parts.path), deque([missing]))
        status, content = 200, answer
        if isinstance(answer, deque):
            status, content = answer.popleft() if len(answer) > 1 else answer[0]
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = _handle

    def log_message(self, *arguments: object) -> None: ...


@pytest.fixture
def fake() -> Iterator[Fake]:
    server = Fake()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def nobody() -> str:
    """An address where nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def refused(status: int, code: int, message: str) -> deque[tuple[int, Any]]:
    return deque([(status, {"error_code": code, "message": message})])


def test_schema_by_id_is_asked_for_once(fake: Fake) -> None:
    reference = {"name": "a.proto", "subject": "a", "version": 2}
    fake.answers["GET", "/schemas/ids/7"] = {
        "schema": "text",
        "schemaType": "PROTOBUF",
        "references": [reference],
        "metadata": {"tags": {}},
        "ruleSet": {"domainRules": []},
    }
    client = RegistryClient(fake.url)
    found = client.schema(7, format="serialized")
    assert client.schema(7, format="serialized") is found
    assert (found.id, found.type, found.text) == (7, "PROTOBUF", "text")
    assert found.references == (Reference("a.proto", "a", 2),)
    assert found.metadata == {"tags": {}} and found.rule_set == {"domainRules": []}
    assert [(each[1], each[2]) for each in fake.asked] == [("/schemas/ids/7", {"format": "serialized"})]


def test_a_fixed_version_is_kept_and_latest_is_not(fake: Fake) -> None:
    body = {"subject": "s", "version": 3, "id": 9, "schema": '"string"'}
    fake.answers["GET", "/subjects/s/versions/3"] = fake.answers["GET", "/subjects/s/versions/latest"] = body
    client = RegistryClient(fake.url)
    for _ in range(2):
        assert client.version("s", 3).id == client.latest("s").id == 9
    assert [each[1].rsplit("/", 1)[1] for each in fake.asked] == ["3", "latest", "latest"]
    fake.answers["DELETE", "/subjects/s/versions/3"] = 3
    assert client.delete_version("s", 3) == 3
    client.version("s", 3)
    assert fake.asked[-1][1] == "/subjects/s/versions/3"


def test_register_sends_what_it_is_given(fake: Fake) -> None:
    fake.answers["POST", "/subjects/%3A.eu%3Aorders%2Fx/versions"] = {"id": 4}
    answer = RegistryClient(fake.url).register(
        ":.eu:orders/x",
        '{"type": "string"}',
        "JSON",
        [Reference("a.json", "a", 1)],
        normalize=True,
        metadata={"properties": {"owner": "ana"}},
        rule_set={"domainRules": []},
    )
    assert answer.id == 4 and answer.subject == ":.eu:orders/x" and answer.type == "JSON"
    _, _, query, body, _ = fake.asked[0]
    assert query == {"normalize": "true"}
    assert body == {
        "schema": '{"type": "string"}',
        "schemaType": "JSON",
        "references": [{"name": "a.json", "subject": "a", "version": 1}],
        "metadata": {"properties": {"owner": "ana"}},
        "ruleSet": {"domainRules": []},
    }


def test_every_question_goes_to_its_path(fake: Fake) -> None:
    client = RegistryClient(fake.url)
    asked: list[tuple[Any, tuple[str, str], dict[str, str], Any]] = [
        (lambda: client.subjects("a", deleted=True, limit=5), ("GET", "/subjects"), {}, ["a"]),
        (lambda: client.versions("s", deleted_only=True), ("GET", "/subjects/s/versions"), {}, [1]),
        (lambda: client.types(), ("GET", "/schemas/types"), {}, ["AVRO"]),
        (lambda: client.contexts(), ("GET", "/contexts"), {}, ["."]),
        (lambda: client.subjects_of_id(3), ("GET", "/schemas/ids/3/subjects"), {}, ["s"]),
        (lambda: client.referenced_by("s", 2), ("GET", "/subjects/s/versions/2/referencedby"), {}, [5]),
        (lambda: client.delete_subject("s", permanent=True), ("DELETE", "/subjects/s"), {}, [1, 2]),
        (lambda: client.config(), ("GET", "/config"), {}, {"compatibilityLevel": "FULL"}),
        (lambda: client.set_config("s", compatibility="NONE"), ("PUT", "/config/s"), {}, {"compatibility": "NONE"}),
        (lambda: client.delete_config("s"), ("DELETE", "/config/s"), {}, {"compatibilityLevel": "FULL"}),
        (lambda: client.search("name", tag="PII", limit=3), ("GET", "/search"), {}, []),
    ]
    for ask, place, _, answer in asked:
        fake.answers[place] = answer
        assert ask() == answer
        assert fake.asked[-1][:2] == place
    queries = {path: query for _, path, query, _, _ in fake.asked}
    assert queries["/subjects"] == {"subjectPrefix": "a", "deleted": "true", "limit": "5"}
    assert queries["/subjects/s/versions"] == {"deletedOnly": "true"}
    assert queries["/subjects/s"] == {"permanent": "true"}
    assert queries["/search"] == {"query": "name", "tag": "PII", "limit": "3"}

    fake.answers["GET", "/mode"] = fake.answers["PUT", "/mode/s"] = {"mode": "READONLY"}
    assert client.mode() == client.set_mode("READONLY", "s", force=True) == "READONLY"
    assert fake.asked[-1][2:4] == ({"force": "true"}, {"mode": "READONLY"})
    fake.answers["GET", "/schemas/ids/3/versions"] = [{"subject": "s", "version": 2}]
    assert client.versions_of_id(3) == [("s", 2)]
    fake.answers["GET", "/schemas"] = [{"subject": "s", "version": 2, "id": 3, "schema": "x", "schemaType": "JSON"}]
    assert [each.version for each in client.schemas("s", latest_only=True)] == [2]
    fake.answers["POST", "/subjects/s"] = {"subject": "s", "version": 2, "id": 3, "schema": "x"}
    assert client.lookup("s", "x", deleted=True).version == 2
    fake.answers["GET", "/subjects/s/metadata"] = {"subject": "s", "version": 2, "id": 3, "schema": "x"}
    assert client.latest_with_metadata("s", {"major": "1"}).id == 3
    assert fake.asked[-1][2] == {"key": "major", "value": "1"}


def test_check_gives_the_reasons(fake: Fake) -> None:
    fake.answers["POST", "/compatibility/subjects/s/versions/latest"] = {"is_compatible": False, "messages": ["why"]}
    fake.answers["POST", "/compatibility/subjects/s/versions"] = {"is_compatible": True}
    client = RegistryClient(fake.url)
    found = client.check("s", '"int"', version="latest")
    assert not found.compatible and found.messages == ("why",)
    assert fake.asked[-1][2] == {"verbose": "true"}
    assert client.check("s", '"int"').compatible


def test_an_error_has_status_code_and_sentence(fake: Fake) -> None:
    fake.answers["GET", "/subjects/s/versions/latest"] = refused(404, 40401, "Subject 's' not found.")
    with pytest.raises(RegistryError, match=r"Subject 's' not found\.") as caught:
        RegistryClient(fake.url).latest("s")
    assert (caught.value.status, caught.value.code) == (404, 40401)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.status, copy.code, copy.message) == (404, 40401, "Subject 's' not found.")


def test_another_server_is_recognised(fake: Fake) -> None:
    fake.answers["GET", "/subjects"] = deque([(200, b"<html>hello</html>")])
    with pytest.raises(RegistryError, match="did not answer with JSON; is it a registry"):
        RegistryClient(fake.url).subjects()
    fake.answers["GET", "/subjects"] = deque([(403, b"<html>no</html>")])
    with pytest.raises(RegistryError, match="answered with status 403") as caught:
        RegistryClient(fake.url).subjects()
    assert caught.value.status == 403


def test_nobody_there_is_said_with_the_address(nobody: str) -> None:
    client = RegistryClient(nobody.replace("://", "://ana:secret@"))
    with pytest.raises(RegistryUnreachable) as caught:
        client.subjects()
    assert str(caught.value) == f"no registry at {nobody}: the connection is refused"
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message
    assert not client.answers()
    assert "secret" not in repr(client)


def test_addresses_are_tried_in_turn_and_the_one_that_answers_is_kept(fake: Fake, nobody: str) -> None:
    fake.answers["GET", "/subjects"] = ["a"]
    client = RegistryClient([nobody, fake.url])
    assert client.subjects() == ["a"]
    assert client._first == 1
    assert client.subjects() == ["a"]
    fake.answers["GET", "/subjects"] = refused(422, 42201, "no")
    with pytest.raises(RegistryError, match="no"):  # an answer is an answer: the other address is not asked
        client.subjects()


def test_away_for_a_moment(fake: Fake) -> None:
    fake.answers["GET", "/subjects"] = refused(503, 50003, "no writer") * 2 + deque([(200, [])])
    with pytest.raises(RegistryError, match="no writer"):
        RegistryClient(fake.url).subjects()
    assert RegistryClient(fake.url, wait_seconds=20).subjects() == []
    assert len(fake.asked) == 3


def test_credentials_from_url_arguments_and_environment(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.answers["GET", "/subjects"] = []
    in_url = fake.url.replace("://", "://ana:p%40ss@")
    expected = "Basic " + b64encode(b"ana:p@ss").decode()
    RegistryClient(in_url).subjects()
    RegistryClient(fake.url, user="ana", password="p@ss").subjects()
    RegistryClient(fake.url).subjects()
    monkeypatch.setenv(ENVIRONMENT, in_url)
    RegistryClient().subjects()
    RegistryClient(fake.url).subjects()
    assert [each[4] for each in fake.asked] == [expected, expected, None, expected, expected]
    assert RegistryClient("http://elsewhere:1")._addresses[0].credentials is None


def test_pickled_clients_keep_the_address_and_nothing_open(fake: Fake) -> None:
    fake.answers["GET", "/subjects"] = []
    client = RegistryClient(fake.url.replace("://", "://ana:pw@"), timeout=4)
    client.subjects()
    copy = pickle.loads(pickle.dumps(client))
    assert copy._http is None
    copy.subjects()
    assert fake.asked[0][4] == fake.asked[1][4] is not None


def test_the_environment_and_wrong_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert configured_registry() == "http://localhost:8081"
    assert RegistryClient("registry:8081/").address == "http://registry:8081"
    assert without_credentials("http://a:b@h:1/,https://[::1]:2/x") == "http://h:1,https://[::1]:2/x"
    with pytest.raises(ValueError, match="is not a registry's address") as caught:
        RegistryClient("ftp://ana:secret@host")
    assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match="address is needed"):
        RegistryClient(" , ")
    with pytest.raises(ValueError, match="is not a registry's address"):
        RegistryClient("http://host:port")
    assert shared_client("http://h:1", 1.0) is shared_client("http://h:1", 1.0)


def test_many_threads_share_a_client(fake: Fake) -> None:
    for number in range(20):
        fake.answers["GET", f"/schemas/ids/{number}"] = {"schema": f'"{number}"'}
    client = RegistryClient(fake.url)
    found: list[str] = []

    def ask() -> None:
        found.extend(client.schema(number).text for number in range(20))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(f'"{number}"' for number in range(20) for _ in range(8))
