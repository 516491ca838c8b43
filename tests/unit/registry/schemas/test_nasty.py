"""Whatever a stranger sends: a schema or InvalidSchema, and nothing that follows from a schema may fail either."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caudal.registry.schemas.compatibility import differences
from caudal.registry.schemas.parse import TYPES, parse
from caudal.registry.schemas.schema import InvalidSchema

MANY = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))

GOOD = {
    "AVRO": '{"type":"record","name":"a.R","doc":"d","aliases":["S"],"fields":[{"name":"a","type":["null","int"],'
    '"default":null},{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"],"default":"A"}},{"name":"m",'
    '"type":{"type":"map","values":{"type":"array","items":"R"}},"default":{}},{"name":"f","type":{"type":"fixed",'
    '"name":"F","size":2,"logicalType":"decimal","precision":3,"scale":1},"default":"ab","order":"ignore"}]}',
    "JSON": '{"$schema":"http://json-schema.org/draft-07/schema#","$id":"http://x.test/a","title":"T","type":"object",'
    '"definitions":{"d":{"type":["string","null"],"pattern":"^a+$"}},"properties":{"a":{"$ref":"#/definitions/d"},'
    '"b":{"enum":[1,true,null]},"c":{"type":"array","items":[{"$ref":"#"}],"additionalItems":false}},"required":["a"],'
    '"patternProperties":{"^x":{"not":{"const":1}}},"additionalProperties":{"anyOf":[{"minimum":1},{"maxLength":2}]},'
    '"dependencies":{"a":["b"]},"if":{"required":["b"]},"then":{"minProperties":1}}',
    "PROTOBUF": 'syntax = "proto3"; package p; import "google/protobuf/any.proto"; option java_package = "x";\n'
    "message A { reserved 9; map<string, B> m = 1; oneof o { string s = 2; A a = 3; } optional int32 q = 4;\n"
    "repeated B.C c = 5 [packed = false]; google.protobuf.Any any = 6; }\n"
    "message B { enum C { X = 0; Y = 1; } } service S { rpc R (A) returns (stream B); }",
}
WORDS = [
    *"{}[]\"',:;=<>()\\/.-#$\0\n",
    "null",
    "true",
    "-1",
    "1e999",
    "99999999999999999999",
    '"type"',
    '"$ref"',
    '"#"',
    '"items"',
    '"record"',
    '"fields"',
    "\ud800",
    "é",
    "message",
    "group G = 3 {",
    "extend A {",
    "import",
    "option",
    "oneof",
    "map<",
    "max",
    "/*",
    "A",
    'edition = "2023";',
]


def used(schema_type: str, text: str) -> None:
    """What the server does with a schema."""
    try:
        schema = parse(schema_type, text)
    except InvalidSchema:
        return
    good = parse(schema_type, GOOD[schema_type])
    assert parse(schema_type, schema.text).identity == schema.identity
    normal = schema.normalized()
    assert normal.normalized().identity == normal.identity
    assert differences("FULL", schema, [schema]) == []
    differences("FULL", good, [schema])
    assert len(list(schema.fields())) <= 5000
    schema.text.encode()
    assert schema.name is None or schema.name
    for form in ("resolved", "serialized", ""):
        assert schema.formatted(form)


@pytest.mark.parametrize("schema_type", TYPES)
@MANY
@given(data=st.data())
def test_broken_texts(schema_type: str, data: st.DataObject) -> None:
    text = GOOD[schema_type]
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.sampled_from([0, 0, 1, 2, 7, 30]))
        word = data.draw(st.sampled_from(WORDS) | st.text(max_size=5))
        text = text[:start] + word + text[start + length :]
    used(schema_type, text)


@pytest.mark.parametrize("schema_type", TYPES)
@MANY
@given(text=st.text(max_size=50))
def test_any_text(schema_type: str, text: str) -> None:
    used(schema_type, text)


KEYS = [
    "type",
    "name",
    "fields",
    "items",
    "values",
    "symbols",
    "size",
    "default",
    "aliases",
    "namespace",
    "$ref",
    "$id",
]
KEYS += ["properties", "required", "enum", "const", "anyOf", "allOf", "not", "minimum", "exclusiveMinimum", "$schema"]
KEYS += ["patternProperties", "additionalProperties", "dependencies", "if", "then", "$defs", "$anchor", "$dynamicRef"]
KEYS += ["contains", "minContains", "prefixItems", "unevaluatedProperties", "unevaluatedItems", "propertyNames", "id"]
LEAVES = st.sampled_from(
    ["record", "enum", "fixed", "array", "map", "int", "string", "A", "a.B", "object", "#", "#/$defs/A"]
)
LEAVES |= st.sampled_from(
    ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-04/schema#", "(", ""]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES | st.none() | st.booleans() | st.integers(-1, 3) | st.floats(-2, 2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.just("A"), inner, max_size=5)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("schema_type", ["AVRO", "JSON"])
@MANY
@given(value=VALUES)
def test_json_of_the_right_words_in_the_wrong_places(schema_type: str, value: Any) -> None:
    used(schema_type, json.dumps(value))


@MANY
@given(data=st.data())
def test_broken_descriptors(data: st.DataObject) -> None:
    content = bytearray(base64.b64decode(parse("PROTOBUF", GOOD["PROTOBUF"]).formatted("serialized")))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    used("PROTOBUF", base64.b64encode(bytes(content)).decode())
