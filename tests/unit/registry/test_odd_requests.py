"""Whatever is sent to whatever path: an answer with a code, and never a 500."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.registry.memory import HEADERS, Rest, body, record

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = (
    "schema",
    "schemaType",
    "references",
    "metadata",
    "ruleSet",
    "id",
    "version",
    "mode",
    "compatibility",
    "alias",
    "normalize",
    "defaultMetadata",
    "overrideRuleSet",
)
PARAMETERS = (
    "normalize",
    "deleted",
    "permanent",
    "format",
    "offset",
    "limit",
    "subject",
    "subjectPrefix",
    "query",
    "tag",
)
BODY = st.dictionaries(
    st.sampled_from(FIELDS), JSON | st.sampled_from(['"int"', "AVRO", "JSON", "PROTOBUF"]), max_size=5
)


def rest_with_content() -> Rest:
    rest = Rest()
    rest.id_of("a", record("A", x="int"))
    rest.id_of(":.ctx:a", record("A", x="int"))
    rest.id_of("b", 'syntax = "proto3"; message B { int32 x = 1; }', schemaType="PROTOBUF")
    rest.id_of("c", {"type": "object"}, schemaType="JSON")
    return rest


REST = rest_with_content()
ROUTES = sorted({(route.method, route.pattern) for group in REST.app._routes.values() for route in group})


@pytest.mark.parametrize(("method", "pattern"), ROUTES)
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_request_is_answered_with_a_500(method: str, pattern: str, data: st.DataObject) -> None:
    path = pattern
    for name in ("subject", "version", "id", "guid", "context"):
        value = data.draw(st.sampled_from(["a", "b", "1", "latest", ":.ctx:a", "2147483648"]) | st.text(min_size=1))
        path = path.replace("{" + name + "}", quote(value.encode("utf-8", "surrogatepass"), safe=""))
    query = data.draw(st.dictionaries(st.sampled_from(PARAMETERS), st.sampled_from(["true", "x", "-1", ":.ctx:", ""])))
    if query:
        path += "?" + "&".join(f"{name}={quote(value)}" for name, value in query.items())
    content: bytes | None = None
    if method in ("POST", "PUT"):
        content = data.draw(st.binary(max_size=20) | BODY.map(lambda fields: json.dumps(fields).encode()))
    answer = REST.send(method, path, content, **(HEADERS if content is not None else {}))
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert set(answer.json()) == {"error_code", "message"}


@pytest.mark.parametrize("language", ["AVRO", "JSON", "PROTOBUF"])
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text(max_size=40) | JSON.map(json.dumps))
def test_no_text_is_answered_with_a_500(language: str, text: Any) -> None:
    for path in ("/subjects/new/versions", "/subjects/a", "/compatibility/subjects/a/versions/latest?verbose=true"):
        reply = REST.send("POST", path, json.dumps(body(text, schemaType=language)).encode(), **HEADERS)
        assert reply.status_code < 500, reply.text
