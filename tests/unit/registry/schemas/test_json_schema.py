"""JSON schemas: what is refused, what counts as the same, references, fields for search."""

from __future__ import annotations

import pytest

from caudal.registry.schemas.json_schema.patterns import matches
from caudal.registry.schemas.parse import parse
from caudal.registry.schemas.schema import Field, InvalidSchema, Reference, Resolved

DRAFTS = (
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1, column 1"),
        ('{"type": "object",}', "line 1, column 19"),
        ("5", "an object, true or false"),
        ("[]", "an object, true or false"),
        ('{"type":"strin"}', "At #/type"),
        ('{"properties":{"a":{"minLength":-1}}}', "At #/properties/a/minLength"),
        ('{"required":"a"}', "At #/required"),
        ('{"properties":{"a/b":{"type":7}}}', "At #/properties/a~1b/type"),
        ('{"$ref":"#/definitions/x"}', 'The $ref "#/definitions/x" at # leads nowhere'),
        ('{"properties":{"a":{"$ref":"other.json"}}}', "at #/properties/a leads nowhere"),
        ('{"$ref":"http://elsewhere.test/a.json"}', "leads nowhere"),
        ('{"$ref":"#"}', "leads back to itself"),
        ('{"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}}', "leads back to itself"),
        ('{"$ref":"#/title","title":"x"}', "not to a schema"),
        ('{"$ref":"http://[x"}', "leads nowhere"),
        ('{"$schema":"http://json-schema.org/draft-03/schema#"}', "not supported"),
        ('{"not":' * 300 + "{}" + "}" * 300, "levels deep"),
        ("[" * 100_000, "levels deep"),
    ],
)
def test_invalid_schemas_are_refused_with_place_and_reason(text: str, words: str) -> None:
    with pytest.raises(InvalidSchema) as refused:
        parse("JSON", text)
    assert words in str(refused.value)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("draft", DRAFTS)
def test_each_draft_checks_by_its_own_rules(draft: str) -> None:
    good = parse("JSON", f'{{"$schema":"{draft}","type":"object","properties":{{"a":{{"type":"integer"}}}}}}')
    assert not good.reads(good)
    with pytest.raises(InvalidSchema, match="At #/properties/a/type"):
        parse("JSON", f'{{"$schema":"{draft}","properties":{{"a":{{"type":"int"}}}}}}')
    exclusive = f'{{"$schema":"{draft}","minimum":1,"exclusiveMinimum":true}}'
    if "draft-04" in draft:
        assert parse("JSON", exclusive).text == exclusive
    else:
        with pytest.raises(InvalidSchema, match="exclusiveMinimum"):
            parse("JSON", exclusive)


def test_the_text_keeps_its_order_and_loses_its_spaces() -> None:
    schema = parse("JSON", '{ "title": "T",\n "type" : "object", "description": "né" }')
    assert schema.text == schema.identity == '{"title":"T","type":"object","description":"né"}'
    assert schema.name == "T"
    other = parse("JSON", '{"type":"object","title":"T","description":"né"}')
    assert other.identity != schema.identity
    assert other.normalized().identity == schema.normalized().identity
    assert other.normalized().text == '{"description":"né","title":"T","type":"object"}'
    assert schema.formatted("resolved") == schema.text


def test_references_of_references_are_known() -> None:
    city = parse("JSON", '{"type":"string","description":"a city","confluent:tags":["PLACE"]}')
    to_city = Resolved(Reference("city.json", "city", 1), city)
    address = parse("JSON", '{"properties":{"city":{"$ref":"city.json"}}}', [to_city])
    to_address = Resolved(Reference("address.json", "address", 2), address)
    person = parse("JSON", '{"properties":{"home":{"$ref":"address.json#/properties/city"}}}', [to_address])
    assert person.references == (to_address.reference,)
    assert list(person.fields()) == [Field("home", "string", "a city", ("PLACE",))]
    avro = Resolved(Reference("a", "a", 1), parse("AVRO", '"int"'))
    with pytest.raises(InvalidSchema, match="of type AVRO"):
        parse("JSON", "{}", [avro])


def test_fields_for_search() -> None:
    schema = parse(
        "JSON",
        """{"type":"object","definitions":{"line":{"properties":{"sku":{"type":"string","confluent:tags":["KEY"]}}}},
            "properties":{
              "id":{"type":["string","null"],"description":"the id"},
              "lines":{"type":"array","items":{"$ref":"#/definitions/line"}},
              "pay":{"oneOf":[{"properties":{"card":{"enum":["a"]}}},{"properties":{"cash":{"type":"number"}}}]},
              "next":{"$ref":"#"}}}""",
    )
    assert [(field.path, field.type, field.doc, field.tags) for field in schema.fields()] == [
        ("id", "string or null", "the id", ()),
        ("lines", "array", "", ()),
        ("lines.sku", "string", "", ("KEY",)),
        ("pay", "oneOf", "", ()),
        ("pay.card", "enum", "", ()),
        ("pay.cash", "number", "", ()),
        ("next", "object", "", ()),
    ]


@pytest.mark.parametrize(
    ("pattern", "name", "answer"),
    [
        ("^a", "abc", True),
        ("^a", "xyz", False),
        ("^[a-z]+_[0-9]+$", "ab_12", True),
        ("^(a+)+$", "a" * 40 + "!", None),
        ("^(a|aa)*$", "a" * 40 + "!", None),
        ("a*a*a*a*b", "a" * 90, None),
        (r"(.+)\1", "abab", None),
        ("(", "a", None),
        (r"\p{L}", "a", None),
        ("^x", "x" * 200, None),
        ("^(?:a{2}){3}$", "aaaaaa", True),
    ],
)
def test_patterns_are_run_only_when_that_is_quick(pattern: str, name: str, answer: bool | None) -> None:
    assert matches(pattern, name) is answer


def test_many_alternatives_end_in_an_answer() -> None:
    branch = ",".join(f'{{"required":["k{number}"]}}' for number in range(12))
    old = parse("JSON", f'{{"allOf":[{",".join([f"""{{"anyOf":[{branch}]}}"""] * 8)}]}}')
    new = parse("JSON", '{"required":["z"]}')
    assert [problem.rule for problem in new.reads(old)] in (["TOO_COMPLEX"], ["REQUIRED_ATTRIBUTE_ADDED"])
