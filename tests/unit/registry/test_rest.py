"""The REST API over a log in memory: what each endpoint answers, and each error with its code."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from tests.unit.registry.memory import HEADERS, Rest, body, record

from caudal.registry.http import MOST_BODY
from caudal.registry.index import Entry
from caudal.registry.openapi import MEANINGS

V1 = record("Order", id="int")
V2 = record("Order", id="int", note=("string", ""))
BAD = record("Order", id="int", total="double")  # a new field without a default


@pytest.fixture
def rest() -> Rest:
    return Rest()


def code(reply: Any) -> tuple[int, int]:
    assert set(reply.body) == {"error_code", "message"}
    assert reply.body["message"]
    return reply.status, reply.code


# ---------------------------------------------------------------------- registering


def test_ids_and_versions_count_from_one(rest: Rest) -> None:
    assert rest.id_of("a", V1) == 1
    assert rest.id_of("a", V2) == 2
    assert rest.id_of("b", record("Other")) == 3
    assert rest.get("/subjects/a/versions") == [1, 2]
    assert rest.get("/subjects") == ["a", "b"]


def test_the_same_schema_has_the_same_id_in_every_subject(rest: Rest) -> None:
    assert rest.id_of("a", V1) == rest.id_of("b", V1) == rest.id_of("b", json.dumps(V1, indent=4)) == 1
    assert rest.get("/schemas/ids/1/subjects") == ["a", "b"]
    assert rest.get("/schemas/ids/1/versions") == [{"subject": "a", "version": 1}, {"subject": "b", "version": 1}]


def test_registering_again_writes_nothing(rest: Rest) -> None:
    first = rest.register("a", V1)
    written = len(rest.instance.log)
    for text in (json.dumps(V1), json.dumps(V1, indent=1), json.dumps(V1, indent=1)):
        assert rest.register("a", text) == first
    assert len(rest.instance.log) == written


def test_a_schema_that_is_known_is_not_parsed_again(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(V1, indent=2)
    rest.id_of("a", text)
    monkeypatch.setattr(rest.instance.catalog, "_parse", None)
    rest.app._hot.clear()
    assert rest.id_of("a", text) == 1
    assert rest.ask("POST", "/subjects/a", body(text)).body["id"] == 1


def test_the_answer_of_a_schema_by_id(rest: Rest) -> None:
    rest.id_of("a", V1)
    answer = rest.get("/schemas/ids/1")
    assert json.loads(answer["schema"]) == V1
    assert "schemaType" not in answer
    assert rest.get(f"/schemas/guids/{answer['guid']}")["schema"] == answer["schema"]
    assert rest.get(f"/schemas/guids/{answer['guid']}/ids") == [{"context": ".", "id": 1}]
    assert rest.get("/schemas/ids/1?fetchMaxId=true")["maxId"] == 1
    assert json.loads(rest.send("GET", "/schemas/ids/1/schema").text) == V1


def test_a_version_and_the_latest(rest: Rest) -> None:
    rest.id_of("a", V1)
    rest.id_of("a", V2)
    one = rest.get("/subjects/a/versions/1")
    assert (one["subject"], one["version"], one["id"]) == ("a", 1, 1)
    assert rest.get("/subjects/a/versions/latest")["version"] == 2
    assert rest.get("/subjects/a/versions/-1")["version"] == 2
    assert json.loads(rest.send("GET", "/subjects/a/versions/2/schema").text) == V2


def test_look_up_under_a_subject(rest: Rest) -> None:
    rest.id_of("a", V1)
    rest.id_of("a", V2)
    found = rest.ask("POST", "/subjects/a", body(json.dumps(V1, indent=3)))
    assert (found.status, found.body["version"], found.body["id"]) == (200, 1, 1)
    assert code(rest.ask("POST", "/subjects/a", body(BAD))) == (404, 40403)
    assert code(rest.ask("POST", "/subjects/nobody", body(V1))) == (404, 40401)
    assert code(rest.ask("POST", "/subjects/a", body("{"))) == (422, 42201)


def test_an_answer_that_is_kept_is_forgotten_when_something_changes(rest: Rest) -> None:
    rest.id_of("a", V1)
    path = "/schemas/ids/1/subjects"
    assert rest.get(path) == rest.get(path) == ["a"]
    assert rest.register("a", V1) == rest.register("a", V1)
    rest.id_of("b", V1)
    assert rest.get(path) == ["a", "b"]
    rest.ask("DELETE", "/subjects/a")
    assert rest.register("a", V1).body["version"] == 2


@pytest.mark.parametrize("subject", ["a/b", "a b", "año", "a:b", "a%b", "a?b", ":.ctx:a/b", "日本"])
def test_any_subject_can_be_written_in_a_path(rest: Rest, subject: str) -> None:
    name = quote(subject, safe="")
    assert rest.id_of(name, V1) == 1
    assert rest.get("/subjects") == [subject]
    assert rest.get(f"/subjects/{name}/versions") == [1]
    assert rest.ask("DELETE", f"/subjects/{name}").body == [1]


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("schema", ["", "   ", "{", "{}", '{"type":"nothing"}', '"Unknown"'])
def test_an_invalid_schema(rest: Rest, schema: str) -> None:
    assert code(rest.register("a", schema)) == (422, 42201)
    assert rest.get("/subjects") == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"schema": 5}, (422, 422)),
        ({"schema": '"int"', "schemaType": "XML"}, (422, 42201)),
        ({"schema": '"int"', "schemaType": 5}, (422, 42201)),
        ({"schema": '"int"', "references": "x"}, (422, 422)),
        ({"schema": '"int"', "references": [{"name": "a"}]}, (422, 422)),
        ({"schema": '"int"', "references": [{"name": "a", "subject": "no", "version": 1}]}, (422, 42201)),
        ({"schema": '"int"', "metadata": []}, (422, 422)),
        ({"schema": '"int"', "metadata": {"properties": {"a": 1}}}, (422, 422)),
        ({"schema": '"int"', "metadata": {"tags": {"a": "x"}}}, (422, 422)),
        ({"schema": '"int"', "ruleSet": []}, (422, 42210)),
        ({"schema": '"int"', "ruleSet": {"domainRules": [{"name": "r"}]}}, (422, 42210)),
        (
            {"schema": '"int"', "ruleSet": {"domainRules": [{"name": "r", "type": "CEL", "mode": "UPGRADE"}]}},
            (422, 42210),
        ),
        ({"schema": '"int"', "ruleSet": {"domainRules": 2 * [{"name": "r", "type": "CEL"}]}}, (422, 42210)),
        ({"schema": '"int"', "id": "x"}, (422, 422)),
        ({"schema": '"int"', "schemaTagsToAdd": [{"tags": ["PII"]}]}, (422, 422)),
        ({"schema": '"int"', "id": 7}, (422, 42205)),
        ({"schema": '"int"', "version": 7}, (422, 42201)),
        ({"schema": '"int"', "version": True}, (422, 422)),
    ],
)
def test_fields_that_are_wrong(rest: Rest, given: dict[str, Any], expected: tuple[int, int]) -> None:
    assert code(rest.ask("POST", "/subjects/a/versions", given)) == expected
    assert rest.instance.log == []


def test_an_incompatible_schema_is_answered_with_the_reasons(rest: Rest) -> None:
    rest.id_of("a", V1)
    reply = rest.register("a", record("Order", id="int", total="double", day="string"))
    assert code(reply) == (409, 409)
    assert "'total'" in reply.body["message"]
    assert "'day'" in reply.body["message"]
    assert "BACKWARD" in reply.body["message"]


@pytest.mark.parametrize("subject", ["%0A", "a%00b", ":.ctx:", "__EMPTY"])
def test_an_invalid_subject(rest: Rest, subject: str) -> None:
    assert code(rest.register(subject, V1)) == (422, 42208)


@pytest.mark.parametrize("version", ["0", "x", "-2", "1.5", "99999999999", "%C2%B2"])
def test_an_invalid_version(rest: Rest, version: str) -> None:
    rest.id_of("a", V1)
    assert code(rest.ask("GET", f"/subjects/a/versions/{version}")) == (422, 42202)
    assert code(rest.ask("DELETE", f"/subjects/a/versions/{version}")) == (422, 42202)
    assert code(rest.ask("POST", f"/compatibility/subjects/a/versions/{version}", body(V1))) == (422, 42202)


def test_what_is_not_there(rest: Rest) -> None:
    rest.id_of("a", V1)
    assert code(rest.ask("GET", "/subjects/b/versions")) == (404, 40401)
    assert code(rest.ask("GET", "/subjects/b/versions/1")) == (404, 40401)
    assert code(rest.ask("GET", "/subjects/b/versions/latest")) == (404, 40401)
    assert code(rest.ask("GET", "/subjects/a/versions/9")) == (404, 40402)
    assert code(rest.ask("GET", "/subjects/a/versions/9/schema")) == (404, 40402)
    assert code(rest.ask("GET", "/subjects/a/versions/9/referencedby")) == (404, 40402)
    assert code(rest.ask("DELETE", "/subjects/b")) == (404, 40401)
    assert code(rest.ask("DELETE", "/subjects/a/versions/9")) == (404, 40402)
    for path in ("", "/schema", "/subjects", "/versions"):
        assert code(rest.ask("GET", f"/schemas/ids/77{path}")) == (404, 40403)
    assert code(rest.ask("GET", "/schemas/ids/x")) == (404, 40403)
    assert code(rest.ask("GET", "/schemas/guids/x")) == (404, 40403)
    assert code(rest.ask("GET", "/nothing")) == (404, 404)
    assert code(rest.ask("PATCH", "/subjects")) == (405, 405)
    assert code(rest.ask("POST", "/compatibility/subjects/a/versions/9", body(V1))) == (404, 40402)


# ---------------------------------------------------------------------- requests as such


def test_a_body_must_be_json_and_said_to_be(rest: Rest) -> None:
    path = "/subjects/a/versions"
    for headers in ({}, {"content-type": "text/plain"}, {"content-type": "application/x-www-form-urlencoded"}):
        assert rest.send("POST", path, b"{}", **headers).status_code == 415
    for kind in ("application/json", "application/json; charset=utf-8", "application/vnd.schemaregistry+json"):
        assert rest.send("POST", path, b'{"schema":"\\"int\\""}', content_type=kind).status_code == 200
    assert rest.send("POST", path, b"{", **HEADERS).status_code == 400
    assert rest.send("POST", path, b"", **HEADERS).status_code == 400
    assert rest.send("POST", path, b"[]", **HEADERS).status_code == 422
    assert rest.send("POST", path, b'{"schema":"\\ud800"}', **HEADERS).status_code == 400


def test_a_body_has_a_limit(rest: Rest) -> None:
    answer = rest.send("POST", "/subjects/a/versions", b" " * (MOST_BODY + 1), **HEADERS)
    assert (answer.status_code, answer.json()["error_code"]) == (413, 413)


def test_another_host_or_origin_is_refused(rest: Rest) -> None:
    assert rest.send("GET", "/subjects", host="evil.example").status_code == 403
    assert rest.send("GET", "/subjects", host="localhost:8081", origin="http://evil.example").status_code == 403
    assert rest.send("GET", "/subjects", host="localhost:8081", origin="http://localhost:8081").status_code == 200


def test_answers_have_the_registrys_content_type(rest: Rest) -> None:
    for path in ("/subjects", "/nothing"):
        assert rest.send("GET", path).headers["content-type"] == "application/vnd.schemaregistry.v1+json"


def test_a_path_that_is_not_utf8_is_refused(rest: Rest) -> None:
    assert rest.ask("GET", "/subjects/%ff/versions").status == 400
    assert rest.ask("GET", "/subjects?subjectPrefix=%ff").status == 400


@pytest.mark.parametrize("query", ["offset=x", "limit=x", "offset=-1"])
def test_parameters_that_are_no_numbers(rest: Rest, query: str) -> None:
    assert code(rest.ask("GET", f"/subjects?{query}")) == (400, 400)


def test_something_unexpected_is_told_as_50001(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest.instance.catalog, "subjects", None)
    assert code(rest.ask("GET", "/subjects")) == (500, 50001)


def test_pages_for_people_and_programs(rest: Rest) -> None:
    description = rest.send("GET", "/openapi.json").json()
    assert "/subjects/{subject}/versions" in description["paths"]
    page = rest.send("GET", "/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "//" not in page.text.replace("http://localhost:8081", ""), "nothing is loaded from elsewhere"
    assert all(str(number) in page.text for number in MEANINGS)
    rest.id_of("a", V1)
    text = rest.send("GET", "/metrics").text
    assert "caudal_registry_subjects 1.0" in text
    assert 'caudal_registry_requests_total{method="GET",status="200"} 2.0' in text


def test_head_is_a_get_without_its_body(rest: Rest) -> None:
    answer = rest.send("HEAD", "/schemas/types")
    assert (answer.status_code, answer.content) == (200, b"")


def test_what_clients_ask_to_see_who_is_there(rest: Rest) -> None:
    assert rest.get("/") == {}
    assert rest.get("/schemas/types") == ["AVRO", "JSON", "PROTOBUF"]
    assert rest.get("/v1/metadata/id")["scope"]["clusters"] == {"schema-registry-cluster": "schema-registry"}
    assert "version" in rest.get("/v1/metadata/version")


# ---------------------------------------------------------------------- deleting


def test_a_version_is_deleted_softly_and_then_for_good(rest: Rest) -> None:
    rest.id_of("a", V1)
    rest.id_of("a", V2)
    path = "/subjects/a/versions/1"
    assert code(rest.ask("DELETE", f"{path}?permanent=true")) == (404, 40407)
    assert rest.ask("DELETE", path) == (200, 1)
    assert code(rest.ask("DELETE", path)) == (404, 40406)
    assert code(rest.ask("GET", path)) == (404, 40402)
    assert rest.get("/subjects/a/versions") == [2]
    assert rest.get("/subjects/a/versions?deleted=true") == [1, 2]
    assert rest.get("/subjects/a/versions?deletedOnly=true") == [1]
    assert rest.get(f"{path}?deleted=true")["deleted"] is True
    assert rest.get("/schemas/ids/1")["schema"], "what was written with it can still be read"
    assert rest.ask("DELETE", f"{path}?permanent=true") == (200, 1)
    assert code(rest.ask("GET", f"{path}?deleted=true")) == (404, 40402)
    assert code(rest.ask("GET", "/schemas/ids/1")) == (404, 40403)


def test_a_subject_is_deleted_softly_and_then_for_good(rest: Rest) -> None:
    rest.id_of("a", V1)
    rest.id_of("a", V2)
    assert code(rest.ask("DELETE", "/subjects/a?permanent=true")) == (404, 40405)
    assert rest.ask("DELETE", "/subjects/a") == (200, [1, 2])
    assert code(rest.ask("DELETE", "/subjects/a")) == (404, 40404)
    assert rest.get("/subjects") == []
    assert rest.get("/subjects?deleted=true") == rest.get("/subjects?deletedOnly=true") == ["a"]
    assert code(rest.ask("GET", "/subjects/a/versions/latest")) == (404, 40401)
    assert rest.restarted().get("/subjects?deleted=true") == ["a"]
    assert rest.ask("DELETE", "/subjects/a?permanent=true") == (200, [1, 2])
    assert rest.get("/subjects?deleted=true") == []


def test_what_is_registered_again_after_a_soft_delete_keeps_its_id(rest: Rest) -> None:
    rest.id_of("a", V1)
    rest.ask("DELETE", "/subjects/a")
    again = rest.register("a", V1).body
    assert (again["id"], again["version"]) == (1, 2)
    assert rest.restarted().get("/subjects/a/versions?deleted=true") == [2]


def test_an_id_is_not_given_again_after_it_is_gone(rest: Rest) -> None:
    rest.id_of("a", V1)
    rest.ask("DELETE", "/subjects/a")
    rest.ask("DELETE", "/subjects/a?permanent=true")
    assert rest.id_of("b", V2) == 2


def test_look_up_of_a_deleted_schema(rest: Rest) -> None:
    rest.id_of("a", V1)
    rest.ask("DELETE", "/subjects/a")
    assert code(rest.ask("POST", "/subjects/a", body(V1))) == (404, 40401)
    assert rest.ask("POST", "/subjects/a?deleted=true", body(V1)).body["id"] == 1


# ---------------------------------------------------------------------- references

INNER = record("Address", city="string")
OUTER = record("Person", home="Address")
REFERENCE = [{"name": "Address", "subject": "address", "version": 1}]


def test_a_schema_with_a_reference(rest: Rest) -> None:
    rest.id_of("address", INNER)
    assert rest.id_of("person", OUTER, references=REFERENCE) == 2
    assert rest.get("/schemas/ids/2")["references"] == REFERENCE
    assert rest.get("/subjects/address/versions/1/referencedby") == [2]
    assert rest.id_of("person", OUTER, references=REFERENCE) == 2
    assert json.loads(rest.get("/schemas/ids/2?format=resolved")["schema"])["fields"][0]["type"]["name"] == "Address"
    assert rest.restarted().id_of("person", json.dumps(OUTER, indent=2), references=REFERENCE) == 2


def test_the_latest_version_may_be_referred_to(rest: Rest) -> None:
    rest.id_of("address", INNER)
    rest.id_of("person", OUTER, references=[{**REFERENCE[0], "version": -1}])
    assert rest.get("/subjects/person/versions/1")["references"] == REFERENCE


def test_what_is_referred_to_cannot_be_deleted(rest: Rest) -> None:
    rest.id_of("address", INNER)
    rest.id_of("person", OUTER, references=REFERENCE)
    assert code(rest.ask("DELETE", "/subjects/address/versions/1")) == (422, 42206)
    assert code(rest.ask("DELETE", "/subjects/address")) == (422, 42206)
    rest.ask("DELETE", "/subjects/person")
    assert rest.ask("DELETE", "/subjects/address").body == [1]
    refused = rest.ask("DELETE", "/subjects/address?permanent=true")
    assert code(refused) == (422, 42206), "the deleted schema can still be asked for by id"
    rest.ask("DELETE", "/subjects/person?permanent=true")
    assert rest.ask("DELETE", "/subjects/address?permanent=true").body == [1]


def test_a_deleted_schema_cannot_be_referred_to_anew(rest: Rest) -> None:
    rest.id_of("address", INNER)
    rest.ask("DELETE", "/subjects/address")
    assert code(rest.register("person", OUTER, references=REFERENCE)) == (422, 42201)


def test_references_in_a_circle_are_refused(rest: Rest) -> None:
    rest.ask("PUT", "/mode", {"mode": "IMPORT"})
    first = [{"name": "B", "subject": "b", "version": 1}]
    second = [{"name": "A", "subject": "a", "version": 1}]
    rest.id_of("b", record("B", x="int"), id=1, version=1)
    rest.id_of("a", record("A", b="B"), id=2, version=1, references=first)
    for reply in (
        rest.register("b", record("Z", a="A"), id=3, version=1, references=second),
        rest.register(
            "c", record("C", c="C"), id=3, version=4, references=[{"name": "C", "subject": "c", "version": 4}]
        ),
    ):
        assert code(reply) == (422, 42201)
        assert "circle" in reply.body["message"]


def test_a_circle_in_the_topic_is_told_and_not_followed() -> None:
    def entry(offset: int, subject: str, other: str) -> Entry:
        references = [{"name": other.upper(), "subject": other, "version": 1}]
        value = {
            "id": offset + 1,
            "schema": json.dumps(record(subject.upper(), x=other.upper())),
            "references": references,
        }
        key = {"keytype": "SCHEMA", "subject": subject, "version": 1, "magic": 1}
        return Entry(offset, json.dumps(key).encode(), json.dumps(value).encode())

    rest = Rest([entry(0, "a", "b"), entry(1, "b", "a")])
    assert rest.get("/subjects") == ["a", "b"]
    reply = rest.register("c", record("C", a="A"), references=[{"name": "A", "subject": "a", "version": 1}])
    assert code(reply) == (422, 42201)
    assert "circle" in reply.body["message"]
    assert rest.register("a", record("A", y=("int", 0))).status == 409
    assert rest.get("/search?query=a")


# ---------------------------------------------------------------------- compatibility, config, mode


def test_the_check_says_what_registering_would(rest: Rest) -> None:
    rest.id_of("a", V1)
    path = "/compatibility/subjects/a/versions"
    assert rest.ask("POST", f"{path}/latest", body(V2)).body == {"is_compatible": True}
    assert rest.ask("POST", f"{path}/latest", body(BAD)).body == {"is_compatible": False}
    verbose = rest.ask("POST", f"{path}/latest?verbose=true", body(BAD)).body
    assert "'total'" in verbose["messages"][0]
    assert rest.ask("POST", f"{path}/1?verbose=true", body(V2)).body == {"is_compatible": True, "messages": []}
    assert rest.ask("POST", path, body(BAD)).body == {"is_compatible": False}
    assert rest.ask("POST", "/compatibility/subjects/new/versions/latest", body(V1)).body == {"is_compatible": True}
    assert code(rest.ask("POST", path, body("{"))) == (422, 42201)


def test_the_level_decides(rest: Rest) -> None:
    rest.id_of("a", V1)
    assert rest.register("a", BAD).status == 409
    assert rest.ask("PUT", "/config/a", {"compatibility": "none"}).body == {"compatibility": "none"}
    assert rest.id_of("a", BAD) == 2
    assert rest.get("/config/a") == {"compatibilityLevel": "NONE"}
    assert rest.ask("DELETE", "/config/a").body == {"compatibilityLevel": "NONE"}
    assert code(rest.ask("GET", "/config/a")) == (404, 40408)
    assert code(rest.ask("DELETE", "/config/a")) == (404, 40401)
    assert rest.get("/config/a?defaultToGlobal=true") == rest.get("/config") == {"compatibilityLevel": "BACKWARD"}
    rest.ask("PUT", "/config", {"compatibility": "FULL"})
    assert rest.restarted().get("/config") == {"compatibilityLevel": "FULL"}
    rest.ask("DELETE", "/config")
    assert rest.get("/config") == {"compatibilityLevel": "BACKWARD"}


def test_a_transitive_level_looks_at_every_version(rest: Rest) -> None:
    rest.ask("PUT", "/config/a", {"compatibility": "NONE"})
    rest.id_of("a", record("Order", old="int"))
    rest.id_of("a", record("Order"))
    rest.ask("PUT", "/config/a", {"compatibility": "BACKWARD"})
    new = record("Order", old=("string", ""))
    assert rest.ask("POST", "/compatibility/subjects/a/versions", body(new)).body["is_compatible"]
    rest.ask("PUT", "/config/a", {"compatibility": "BACKWARD_TRANSITIVE"})
    assert not rest.ask("POST", "/compatibility/subjects/a/versions", body(new)).body["is_compatible"]


@pytest.mark.parametrize("given", [{}, {"compatibility": "SOMETIMES"}, {"compatibility": 5}])
def test_an_invalid_level(rest: Rest, given: dict[str, Any]) -> None:
    assert code(rest.ask("PUT", "/config", given)) == (422, 42203)


@pytest.mark.parametrize("given", [{"normalize": "yes"}, {"alias": 5}, {"defaultMetadata": 1}])
def test_an_invalid_config(rest: Rest, given: dict[str, Any]) -> None:
    assert code(rest.ask("PUT", "/config/a", given)) == (422, 422)


def test_a_config_keeps_what_is_not_said(rest: Rest) -> None:
    rest.ask("PUT", "/config/a", {"compatibility": "FULL", "normalize": True})
    rest.ask("PUT", "/config/a", {"compatibilityGroup": "major"})
    kept = {"compatibilityLevel": "FULL", "normalize": True, "compatibilityGroup": "major"}
    assert rest.get("/config/a") == kept
    rest.ask("PUT", "/config/a", {"compatibilityGroup": None})
    assert "compatibilityGroup" not in rest.get("/config/a")


def test_a_compatibility_group_is_compared_within_itself(rest: Rest) -> None:
    rest.ask("PUT", "/config/a", {"compatibility": "BACKWARD", "compatibilityGroup": "major"})
    one, two = ({"properties": {"major": number}} for number in "12")
    rest.id_of("a", V1, metadata=one)
    assert rest.register("a", BAD, metadata=one).status == 409
    assert rest.register("a", BAD, metadata=two).status == 200


def test_normalize_makes_equal_what_means_the_same(rest: Rest) -> None:
    plain = {"type": "record", "name": "N", "namespace": "x", "fields": [{"name": "a", "type": {"type": "int"}}]}
    full = {"type": "record", "name": "x.N", "fields": [{"name": "a", "type": "int"}]}
    first = rest.ask("POST", "/subjects/a/versions?normalize=true", body(plain)).body
    assert rest.ask("POST", "/subjects/a/versions?normalize=true", body(full)).body == first
    assert rest.ask("POST", "/subjects/a?normalize=true", body(full)).body["id"] == first["id"]
    rest.ask("PUT", "/config/a", {"normalize": True})
    assert rest.register("a", full).body == first


def test_read_only_means_no_writes(rest: Rest) -> None:
    rest.id_of("a", V1)
    rest.ask("PUT", "/mode/a", {"mode": "READONLY"})
    assert rest.id_of("a", V1) == 1, "what is there is told all the same"
    for method, path, given in (
        ("POST", "/subjects/a/versions", body(V2)),
        ("DELETE", "/subjects/a", None),
        ("DELETE", "/subjects/a/versions/1", None),
        ("PUT", "/config/a", {"compatibility": "NONE"}),
    ):
        assert code(rest.ask(method, path, given)) == (422, 42205)
    assert rest.id_of("b", V2) == 2
    assert rest.get("/mode/a") == {"mode": "READONLY"}
    assert rest.ask("DELETE", "/mode/a").body == {"mode": "READONLY"}
    assert code(rest.ask("GET", "/mode/a")) == (404, 40409)
    assert code(rest.ask("DELETE", "/mode/a")) == (404, 40401)
    assert rest.get("/mode/a?defaultToGlobal=true") == rest.get("/mode") == {"mode": "READWRITE"}
    assert rest.id_of("a", V2) == 2


def test_the_global_override_wins_over_a_subjects_mode(rest: Rest) -> None:
    rest.ask("PUT", "/mode/a", {"mode": "READWRITE"})
    rest.ask("PUT", "/mode", {"mode": "READONLY"})
    assert rest.id_of("a", V1) == 1
    rest.ask("PUT", "/mode", {"mode": "READONLY_OVERRIDE"})
    assert code(rest.register("a", V2)) == (422, 42205)


@pytest.mark.parametrize("mode", ["SOMETIMES", 5, None])
def test_an_invalid_mode(rest: Rest, mode: object) -> None:
    assert code(rest.ask("PUT", "/mode", {"mode": mode})) == (422, 42204)


def test_import_takes_ids_and_versions_as_given(rest: Rest) -> None:
    rest.ask("PUT", "/mode/a", {"mode": "IMPORT"})
    assert code(rest.register("a", V1)) == (422, 42205)
    assert rest.id_of("a", V1, id=100, version=7) == 100
    assert rest.id_of("a", BAD, id=101, version=9) == 101, "nothing is compared while importing"
    assert rest.get("/subjects/a/versions") == [7, 9]
    assert code(rest.register("a", V2, id=100, version=10)) == (422, 42205)
    assert code(rest.register("a", V1, id=102)) == (422, 42207)
    rest.ask("DELETE", "/mode/a")
    assert rest.id_of("b", V2) == 102
    assert code(rest.ask("PUT", "/mode/a", {"mode": "IMPORT"})) == (422, 42205)
    assert rest.ask("PUT", "/mode/a?force=true", {"mode": "IMPORT"}).body == {"mode": "IMPORT"}


def test_a_deleted_subject_loses_its_config_and_mode(rest: Rest) -> None:
    for delete in ("/subjects/a", "/subjects/a/versions/1"):
        rest = Rest()
        rest.id_of("a", V1)
        rest.ask("PUT", "/config/a", {"compatibility": "FULL"})
        rest.ask("PUT", "/mode/a", {"mode": "READWRITE"})
        rest.ask("DELETE", delete)
        assert code(rest.ask("GET", "/config/a")) == (404, 40408)
        assert code(rest.ask("GET", "/mode/a")) == (404, 40409)


def test_an_alias_is_its_subject(rest: Rest) -> None:
    rest.id_of("real", V1)
    rest.ask("PUT", "/config/other", {"alias": "real"})
    assert rest.get("/subjects/other/versions/latest")["subject"] == "real"
    assert rest.id_of("other", V2) == 2
    assert rest.get("/subjects/real/versions") == [1, 2]
    assert rest.get("/config/other") == {"alias": "real"}


# ---------------------------------------------------------------------- metadata and rules

OWNED = {"properties": {"owner": "ana"}}
RULES = {"domainRules": [{"name": "positive", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "id > 0"}]}


def test_metadata_and_rules_are_part_of_the_schema(rest: Rest) -> None:
    assert rest.id_of("a", V1) == 1
    assert rest.id_of("a", V1, metadata=OWNED) == 2
    assert rest.id_of("a", V1, metadata=OWNED, ruleSet=RULES) == 3
    assert rest.id_of("a", V1, metadata=OWNED, ruleSet=RULES) == 3
    answer = rest.get("/schemas/ids/3")
    assert answer["metadata"] == OWNED
    assert answer["ruleSet"]["domainRules"][0]["expr"] == "id > 0"
    assert rest.restarted().get("/schemas/ids/3") == answer
    assert rest.restarted().id_of("a", V1, metadata=OWNED, ruleSet=RULES) == 3
    assert rest.get("/subjects/a/metadata?key=owner&value=ana")["version"] == 3
    assert code(rest.ask("GET", "/subjects/a/metadata?key=owner&value=eva")) == (404, 40403)
    assert rest.ask("GET", "/subjects/a/metadata").status == 400


def test_a_new_version_inherits_metadata_and_rules(rest: Rest) -> None:
    rest.id_of("a", V1, metadata=OWNED, ruleSet=RULES)
    answer = rest.register("a", V2).body
    assert (answer["metadata"], answer["version"]) == (OWNED, 2)
    assert rest.register("a", V2).body["id"] == 2


def test_a_version_without_metadata_is_still_found(rest: Rest) -> None:
    rest.id_of("a", V1)
    rest.id_of("a", V1, metadata=OWNED)
    assert rest.id_of("a", V1) == 1
    assert rest.ask("POST", "/subjects/a", body(V1)).body["id"] == 1


def test_a_config_adds_metadata(rest: Rest) -> None:
    rest.ask(
        "PUT",
        "/config/a",
        {
            "defaultMetadata": {"properties": {"owner": "nobody", "team": "x"}},
            "overrideMetadata": {"properties": {"checked": "yes"}},
        },
    )
    answer = rest.register("a", V1, metadata=OWNED).body
    assert answer["metadata"] == {"properties": {"checked": "yes", "owner": "ana", "team": "x"}}
    assert rest.register("a", V1, metadata=OWNED).body["id"] == 1
    assert rest.ask("POST", "/subjects/a", body(V1, metadata=OWNED)).body["id"] == 1


def test_an_empty_schema_is_the_previous_one_with_new_rules(rest: Rest) -> None:
    rest.id_of("a", V1)
    assert rest.ask("POST", "/subjects/a/versions", {"ruleSet": RULES}).body["version"] == 2
    assert json.loads(rest.get("/subjects/a/versions/2")["schema"]) == V1


# ---------------------------------------------------------------------- contexts, lists, search


def test_each_context_has_its_own_ids(rest: Rest) -> None:
    assert rest.id_of("a", V1) == 1
    assert rest.id_of(":.x:a", record("X")) == 1
    assert rest.get("/contexts") == [".", ".x"]
    assert rest.get("/subjects") == [":.x:a", "a"]
    assert json.loads(rest.get("/schemas/ids/1")["schema"])["name"] == "Order"
    assert json.loads(rest.get("/schemas/ids/1?subject=:.x:")["schema"])["name"] == "X"
    assert rest.get("/subjects?subjectPrefix=:.x:") == [":.x:a"]
    assert rest.get("/subjects?subjectPrefix=:*:a") == [":.x:a", "a"]
    assert rest.restarted().get("/contexts") == [".", ".x"]


def test_a_path_may_begin_with_its_context(rest: Rest) -> None:
    assert rest.ask("POST", "/contexts/.x/subjects/a/versions", body(V1)).body["id"] == 1
    assert rest.get("/contexts/x/subjects") == [":.x:a"]
    assert rest.get("/contexts/.x/subjects/a/versions/1")["subject"] == ":.x:a"
    assert json.loads(rest.get("/contexts/.x/schemas/ids/1")["schema"]) == V1
    assert rest.ask("PUT", "/contexts/.x/config", {"compatibility": "NONE"}).status == 200
    assert rest.get("/config/:.x:") == {"compatibilityLevel": "NONE"}
    assert rest.get("/config/:.x:a?defaultToGlobal=true") == {"compatibilityLevel": "NONE"}
    assert rest.ask("PUT", "/contexts/.x/mode/a", {"mode": "READONLY"}).status == 200
    assert rest.get("/mode/:.x:a") == {"mode": "READONLY"}
    assert rest.ask("POST", "/contexts/.x/compatibility/subjects/a/versions/latest", body(BAD)).body["is_compatible"]
    assert rest.get("/contexts/:.:/subjects") == []


def test_a_subject_of_a_context_is_found_without_it(rest: Rest) -> None:
    rest.id_of(":.x:only", V1)
    assert rest.get("/subjects/only/versions/latest")["subject"] == ":.x:only"
    assert json.loads(rest.get("/schemas/ids/1?subject=only")["schema"]) == V1


def test_a_context_goes_when_it_is_empty(rest: Rest) -> None:
    rest.id_of(":.x:a", V1)
    assert code(rest.ask("DELETE", "/contexts/.x")) == (422, 42211)
    rest.ask("DELETE", "/subjects/:.x:a")
    rest.ask("DELETE", "/subjects/:.x:a?permanent=true")
    assert rest.ask("DELETE", "/contexts/.x").status == 204
    assert rest.get("/contexts") == ["."]
    assert code(rest.ask("DELETE", "/contexts/.x")) == (404, 40401)


def test_lists_have_pages(rest: Rest) -> None:
    for name in "abcde":
        rest.id_of(name, record(name.upper()))
    rest.id_of("a", record("A", x=("int", 0)))
    assert rest.get("/subjects?offset=1&limit=2") == ["b", "c"]
    assert len(rest.get("/schemas")) == 6
    assert [row["version"] for row in rest.get("/schemas?subjectPrefix=a")] == [1, 2]
    assert [row["version"] for row in rest.get("/schemas?subjectPrefix=a&latestOnly=true")] == [2]
    assert [row["subject"] for row in rest.get("/schemas?offset=2&limit=1")] == ["b"]
    rest.ask("DELETE", "/subjects/b")
    assert len(rest.get("/schemas?deleted=true")) == 6
    assert len(rest.get("/schemas")) == 5


def test_search_says_where_it_was_found(rest: Rest) -> None:
    documented = {
        "type": "record",
        "name": "Payment",
        "doc": "money",
        "fields": [{"name": "iban", "type": "string", "doc": "where it goes", "confluent:tags": ["PII"]}],
    }
    rest.id_of("payments-value", documented)
    rest.id_of("orders-value", V1, metadata={"properties": {"owner": "iban-team"}})
    found = rest.get("/search?query=iban")
    assert [row["subject"] for row in found] == ["orders-value", "payments-value"]
    assert {"where": "field", "path": "iban", "text": "string"} in found[1]["found"]
    assert [row["subject"] for row in rest.get("/search?query=goes")] == ["payments-value"]
    assert [row["subject"] for row in rest.get("/search?tag=pii")] == ["payments-value"]
    assert [row["subject"] for row in rest.get("/search?query=orders&type=avro")] == ["orders-value"]
    assert [row["subject"] for row in rest.get("/search?query=Payment")] == ["payments-value"]
    assert rest.get("/search?query=record") == [], "a word of the language is no find"
    assert len(rest.get("/search?query=value&limit=1")) == 1
    for query in ("", "query=a&type=xml", "query=a&limit=0", "query=a&limit=x"):
        assert rest.ask("GET", f"/search?{query}").status == 400
