"""The seven levels: with which versions a new schema is compared, in which direction, and how reasons are worded."""

from __future__ import annotations

import pytest

from caudal.registry.schemas.compatibility import LEVELS, differences, first_conflict
from caudal.registry.schemas.parse import parse
from caudal.registry.schemas.schema import ParsedSchema


def record(*fields: str) -> ParsedSchema:
    """Each field is `name`, `name?` (with a default) or `name:type`."""
    made = []
    for field in fields:
        name, _, kind = field.rstrip("?").partition(":")
        default = ',"default":0' if field.endswith("?") else ""
        made.append(f'{{"name":"{name}","type":"{kind or "int"}"{default}}}')
    return parse("AVRO", f'{{"type":"record","name":"R","fields":[{",".join(made)}]}}')


ONE, TWO = record("a"), record("a", "b?")


@pytest.mark.parametrize(
    ("new", "allowed"),
    [
        # b loses its default: old data without b cannot be read, but the last version had it
        (record("a", "b"), {"NONE", "BACKWARD", "FORWARD", "FORWARD_TRANSITIVE", "FULL"}),
        # a goes: readers of all versions want it
        (record("b?"), {"NONE", "BACKWARD", "BACKWARD_TRANSITIVE"}),
        # a new field without a default
        (record("a", "c"), {"NONE", "FORWARD", "FORWARD_TRANSITIVE"}),
        # a new field with a default
        (record("a", "b?", "c?"), set(LEVELS)),
        # another type altogether
        (record("a:string"), {"NONE"}),
    ],
)
def test_levels(new: ParsedSchema, allowed: set[str]) -> None:
    assert {level for level in LEVELS if not differences(level, new, [ONE, TWO])} == allowed


@pytest.mark.parametrize("level", LEVELS)
def test_the_first_version_is_always_allowed(level: str) -> None:
    assert differences(level, ONE, []) == []


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="'SIDEWARD' is not known"):
        differences("SIDEWARD", ONE, [])


def test_reasons_name_the_rule_the_field_and_both_sides() -> None:
    assert differences("BACKWARD", TWO_WITHOUT_DEFAULT, [ONE]) == [
        "{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'At path '/fields/1' the field 'b' has no default"
        " value in the new schema and is missing in the old schema', additionalInfo:'b'}"
    ]
    assert differences("FORWARD", ONE, [TWO_WITHOUT_DEFAULT]) == [
        "{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'At path '/fields/1' the field 'b' has no default"
        " value in the old schema and is missing in the new schema', additionalInfo:'b'}"
    ]


TWO_WITHOUT_DEFAULT = record("a", "b")


def test_the_newest_version_that_forbids_is_named() -> None:
    conflict = first_conflict("BACKWARD_TRANSITIVE", record("a", "b"), [ONE, ONE, TWO])
    assert conflict is not None and conflict[0] == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("AVRO", '"string"'),
        ("JSON", '{"type":"string"}'),
        ("PROTOBUF", 'syntax = "proto3"; message A { }'),
    ],
)
def test_another_language_is_no_evolution(one: str, other: str) -> None:
    schema = parse(one, other)
    foreign = parse("JSON", "{}") if one != "JSON" else ONE
    assert [problem.rule for problem in schema.reads(foreign)] == ["SCHEMA_TYPE_CHANGED"]
    assert f"of type {foreign.type}" in differences("BACKWARD", schema, [foreign])[0]


def test_long_cycles_are_told_not_crashed_on() -> None:
    def cycle(length: int, kind: str) -> ParsedSchema:
        """T0 holds T1, and so on round to T0; the types stand in one union, so the text does not nest."""
        types = [
            f'{{"type":"record","name":"T{number}","fields":[{{"name":"next","type":["null","T{number - 1}"]}}]}}'
            for number in range(1, length)
        ]
        first = f'{{"type":"record","name":"T0","fields":[{{"name":"v","type":"{kind}"}}]}}'
        return parse("AVRO", f"[{','.join([first, *types])}]")

    assert differences("FULL", cycle(2500, "string"), [cycle(2500, "int")])
