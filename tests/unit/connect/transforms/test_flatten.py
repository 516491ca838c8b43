"""Flatten: structs within structs, maps within maps; what becomes of optional ones and of defaults."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.connect.transforms.cases import BadConfig, Case, by_default, check, check_bad_config, optional

from caudal.connect.data import DATE_SCHEMA, INT8, INT32, STRING, array, map_of, struct
from caudal.connect.transforms.flatten import FlattenKey, FlattenValue

INNER = struct("inner", c=INT32, d=optional(STRING))
NESTED = struct("row", a=INT32, b=INNER)
DEEP = struct("row", a=struct("x", b=struct("y", c=struct("z", d=INT32))))


CASES = [
    Case(
        "with a schema",
        {},
        {"a": 1, "b": {"c": 2, "d": "x"}},
        NESTED,
        {"a": 1, "b.c": 2, "b.d": "x"},
        struct("row", **{"a": INT32, "b.c": INT32, "b.d": optional(STRING)}),
    ),
    Case(
        "another delimiter",
        {"delimiter": "_"},
        {"a": 1, "b": {"c": 2, "d": None}},
        NESTED,
        {"a": 1, "b_c": 2, "b_d": None},
        struct("row", a=INT32, b_c=INT32, b_d=optional(STRING)),
    ),
    Case(
        "no delimiter",
        {"delimiter": ""},
        {"a": 1, "b": {"c": 2, "d": None}},
        NESTED,
        {"a": 1, "bc": 2, "bd": None},
        struct("row", a=INT32, bc=INT32, bd=optional(STRING)),
    ),
    Case("deep", {}, {"a": {"b": {"c": {"d": 1}}}}, DEEP, {"a.b.c.d": 1}, struct("row", **{"a.b.c.d": INT32})),
    Case("flat already", {}, {"a": 1}, struct("row", a=INT32), {"a": 1}, struct("row", a=INT32)),
    Case(
        "an optional struct makes its fields optional",
        {},
        {"a": {"c": 1, "d": "x"}},
        struct("row", a=optional(INNER)),
        {"a.c": 1, "a.d": "x"},
        struct("row", **{"a.c": optional(INT32), "a.d": optional(STRING)}),
    ),
    Case(
        "an optional struct that is null",
        {},
        {"a": None},
        struct("row", a=optional(INNER)),
        {"a.c": None, "a.d": None},
        struct("row", **{"a.c": optional(INT32), "a.d": optional(STRING)}),
    ),
    Case(
        "an optional struct at the top",
        {},
        {"a": 1, "b": {"c": 2, "d": "x"}},
        optional(NESTED),
        {"a": 1, "b.c": 2, "b.d": "x"},
        struct("row", **{"a": optional(INT32), "b.c": optional(INT32), "b.d": optional(STRING)}),
    ),
    Case(
        "the default of a struct goes to its fields",
        {},
        {"a": {"c": 1, "d": "x"}},
        struct("row", a=by_default(optional(INNER), {"c": 5, "d": "y"})),
        {"a.c": 1, "a.d": "x"},
        struct("row", **{"a.c": by_default(optional(INT32), 5), "a.d": by_default(optional(STRING), "y")}),
        java="Kafka's JSON converter cannot read the default of a struct",
    ),
    Case(
        "the default of a field",
        {},
        {"a": {"c": None}},
        struct("row", a=struct("in", c=by_default(optional(INT32), 5))),
        {"a.c": 5},
        struct("row", **{"a.c": by_default(optional(INT32), 5)}),
    ),
    Case(
        "arrays stay",
        {},
        {"a": {"b": [1, 2]}},
        struct("row", a=struct("in", b=array(INT32))),
        {"a.b": [1, 2]},
        struct("row", **{"a.b": array(INT32)}),
    ),
    Case(
        "logical types stay",
        {},
        {"a": {"b": None}},
        struct("row", a=struct("in", b=optional(DATE_SCHEMA))),
        {"a.b": None},
        struct("row", **{"a.b": optional(DATE_SCHEMA)}),
    ),
    Case(
        "name, version and words stay",
        {},
        {"a": 1},
        replace(struct("row", a=INT32), version=2, doc="words", parameters={"p": "q"}),
        {"a": 1},
        replace(struct("row", a=INT32), version=2, doc="words", parameters={"p": "q"}),
    ),
    Case(
        "maps with a schema", {}, {"a": {"x": 1}}, struct("row", a=map_of(STRING, INT32)), error="the field a is a map"
    ),
    Case(
        "two fields of one name",
        {"delimiter": "_"},
        {"a_b": 1, "a": {"b": 2}},
        struct("row", a_b=INT8, a=struct("in", b=INT8)),
        error="would have the field 'a_b' twice",
    ),
    Case("without a schema", {}, {"a": 1, "b": {"c": 2, "d": {"e": "x"}}}, None, {"a": 1, "b.c": 2, "b.d.e": "x"}),
    Case("another delimiter, without a schema", {"delimiter": "->"}, {"b": {"c": 2}}, None, {"b->c": 2}),
    Case(
        "nulls, without a schema", {}, {"a": None, "b": {"c": None, "d": 1}}, None, {"a": None, "b.c": None, "b.d": 1}
    ),
    Case("arrays stay, without a schema", {}, {"b": {"c": [{"d": 1}]}}, None, {"b.c": [{"d": 1}]}),
    Case("an empty map vanishes, without a schema", {}, {"a": 1, "b": {}}, None, {"a": 1}),
    Case("null passes", {}, None, optional(NESTED)),
    Case("null without a schema passes", {}),
    Case(
        "a text where the schema has a struct",
        {},
        {"a": 1, "b": "x"},
        NESTED,
        error="a struct was expected as the schema says, and 'x' found",
        java="Its JSON cannot be written",
    ),
    Case(
        "a field is missing in the value",
        {},
        {"b": {"c": 2}},
        NESTED,
        {"a": None, "b.c": 2, "b.d": None},
        struct("row", **{"a": INT32, "b.c": INT32, "b.d": optional(STRING)}),
        java="Its JSON cannot be written",
    ),
    Case("a text", {}, "x", STRING, error="found string"),
    Case("an array at the top", {}, [1], array(INT32), error="found array"),
    Case("a text without a schema", {}, "x", error="found str, without a schema"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_flatten(case: Case) -> None:
    check(FlattenKey, case, "key")
    check(FlattenValue, case, "value")


def test_the_delimiter_must_be_a_text() -> None:
    check_bad_config(FlattenValue, BadConfig("a list", {"delimiter": ["."]}, "delimiter"))
