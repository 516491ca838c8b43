"""ExtractField: names and paths, with and without a schema."""

from __future__ import annotations

import pytest
from tests.unit.connect.transforms.cases import BadConfig, Case, by_default, check, check_bad_config, optional

from caudal.connect.data import INT32, STRING, array, map_of, struct
from caudal.connect.errors import ConfigError
from caudal.connect.transforms.extract_field import ExtractFieldKey, ExtractFieldValue
from caudal.connect.transforms.field_path import steps_of

INNER = struct("inner", c=INT32, d=by_default(optional(STRING), "x"))
NESTED = struct("row", a=INT32, b=optional(INNER))
V2 = {"field.syntax.version": "V2"}

CASES = [
    Case("with a schema", {"field": "a"}, {"a": 1, "b": "x"}, struct("row", a=INT32, b=STRING), 1, INT32),
    Case("a struct", {"field": "b"}, {"a": 1, "b": {"c": 2, "d": "y"}}, NESTED, {"c": 2, "d": "y"}, optional(INNER)),
    Case("an array", {"field": "a"}, {"a": [1]}, struct("row", a=array(INT32)), [1], array(INT32)),
    Case("without a schema", {"field": "a"}, {"a": 1}, None, 1),
    Case("a field that is null", {"field": "b"}, {"a": 1, "b": None}, NESTED, None, optional(INNER)),
    Case("null, with a schema", {"field": "a"}, None, optional(struct("row", a=INT32)), None, INT32),
    Case("null, with a schema, optional field", {"field": "b"}, None, optional(NESTED), None, optional(INNER)),
    Case("null, without a schema", {"field": "a"}),
    Case(
        "missing, with a schema",
        {"field": "x"},
        {"a": 1},
        struct("row", a=INT32),
        error="has no field x: correct `field`",
    ),
    Case(
        "missing, with a schema, and null",
        {"field": "x"},
        None,
        optional(struct("row", a=INT32)),
        error="has no field x",
    ),
    Case("missing, without a schema", {"field": "x"}, {"a": 1}, None, None),
    Case("a text", {"field": "a"}, "t", STRING, error="needs a struct or a map .* found string"),
    Case("a map with a schema", {"field": "a"}, {"a": "b"}, map_of(STRING, STRING), error="found map"),
    Case("a text without a schema", {"field": "a"}, "t", error="found str, without a schema"),
    Case("a number without a schema", {"field": "a"}, 5, error="found int, without a schema"),
    Case(
        "the default for null",
        {"field": "a"},
        {"a": None},
        struct("row", a=by_default(optional(INT32), 7)),
        7,
        by_default(optional(INT32), 7),
    ),
    Case(
        "null in spite of the default",
        {"field": "a", "replace.null.with.default": False},
        {"a": None},
        struct("row", a=by_default(optional(INT32), 7)),
        None,
        by_default(optional(INT32), 7),
    ),
    Case("V1 takes dots for a name", {"field": "b.c"}, {"b.c": 1, "b": {"c": 2}}, None, 1),
    Case("V1 in small letters", {"field": "b.c", "field.syntax.version": "v1"}, {"b.c": 1}, None, 1),
    Case("a path, with a schema", {"field": "b.c", **V2}, {"a": 1, "b": {"c": 2, "d": "y"}}, NESTED, 2, INT32),
    Case("a path, without a schema", {"field": "b.c", **V2}, {"b": {"c": 2}}, None, 2),
    Case(
        "a path through null, with a schema",
        {"field": "b.d", **V2},
        {"a": 1, "b": None},
        NESTED,
        None,
        by_default(optional(STRING), "x"),
    ),
    Case("a path through null, without a schema", {"field": "b.c", **V2}, {"b": None}, None, None),
    Case("a path through nothing, without a schema", {"field": "x.y.z", **V2}, {"b": 1}, None, None),
    Case("a path through a number, without a schema", {"field": "b.c", **V2}, {"b": 1}, error="b is no map but int"),
    Case(
        "a path through a number, with a schema",
        {"field": "a.c", **V2},
        {"a": 1, "b": None},
        NESTED,
        error="has no field a.c",
    ),
    Case(
        "a path to nothing, with a schema",
        {"field": "b.x", **V2},
        {"a": 1, "b": None},
        NESTED,
        error="has no field b.x",
    ),
    Case(
        "a default at the end of a path",
        {"field": "b.d", **V2},
        {"a": 1, "b": {"c": 2, "d": None}},
        NESTED,
        "x",
        by_default(optional(STRING), "x"),
    ),
    Case(
        "no default at the end of a path",
        {"field": "b.d", "replace.null.with.default": "false", **V2},
        {"a": 1, "b": {"c": 2, "d": None}},
        NESTED,
        None,
        by_default(optional(STRING), "x"),
    ),
    Case(
        "a text where the schema has a struct",
        {"field": "b.c", **V2},
        {"a": 1, "b": "x"},
        NESTED,
        error="A struct with c was expected as the schema says, and 'x' found",
        java="Its JSON cannot be written",
    ),
    Case("a step with dots", {"field": "`b.c`.d", **V2}, {"b.c": {"d": 3}}, None, 3),
    Case("a step with a backtick", {"field": "`b`c`.d", **V2}, {"b`c": {"d": 3}}, None, 3),
    Case("an empty step", {"field": "b.", **V2}, {"b": {"": 3}}, None, 3),
]
BAD_CONFIGS = [
    BadConfig("no field", {}, "field"),
    BadConfig("unknown syntax", {"field": "a", "field.syntax.version": "V3"}, "field.syntax.version"),
    BadConfig("an open backtick", {"field": "a.`b.c", **V2}, "has a backtick at 2 that nothing closes"),
    BadConfig("an escaped backtick at the end", {"field": "`a\\`", **V2}, "has a backtick at 0 that nothing closes"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_extract_field(case: Case) -> None:
    check(ExtractFieldKey, case, "key")
    check(ExtractFieldValue, case, "value")


@pytest.mark.parametrize("case", BAD_CONFIGS, ids=lambda case: case.name)
def test_bad_configuration(case: BadConfig) -> None:
    check_bad_config(ExtractFieldValue, case)


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("", ()),
        ("foo", ("foo",)),
        ("foo.bar.baz", ("foo", "bar", "baz")),
        ("`foo.bar.baz`", ("foo.bar.baz",)),
        ("foo.`bar.baz`", ("foo", "bar.baz")),
        ("`foo.bar`.baz", ("foo.bar", "baz")),
        ("foo.`bar\\`.baz`", ("foo", "bar`.baz")),
        ("`foo``bar`.baz", ("foo``bar", "baz")),
        ("foo`bar.baz", ("foo`bar", "baz")),
        (".foo", ("", "foo")),
        ("foo..bar", ("foo", "", "bar")),
    ],
)
def test_steps_of_a_path(path: str, steps: tuple[str, ...]) -> None:
    assert steps_of(path, "V2") == steps


@pytest.mark.parametrize("path", ["`", "`foo", "foo.`bar.baz", "`foo.bar\\`"])
def test_backticks_that_nothing_closes(path: str) -> None:
    with pytest.raises(ConfigError, match="nothing closes"):
        steps_of(path, "V2")
