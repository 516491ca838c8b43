"""ValueToKey: fields of the value as the key."""

from __future__ import annotations

import pytest
from tests.unit.connect.transforms.cases import BadConfig, Case, by_default, check, check_bad_config, optional

from caudal.connect.data import INT32, STRING, map_of, struct
from caudal.connect.transforms.value_to_key import ValueToKey

ROW = struct("row", a=INT32, b=STRING, c=optional(STRING))
VALUE = {"a": 1, "b": "x", "c": None}
DEFAULT = by_default(optional(INT32), 7)

CASES = [
    Case("one field", {"fields": "a"}, VALUE, ROW, changes={"key": {"a": 1}, "key_schema": struct(None, a=INT32)}),
    Case(
        "fields in the order asked for",
        {"fields": "b,a"},
        VALUE,
        ROW,
        changes={"key": {"b": "x", "a": 1}, "key_schema": struct(None, b=STRING, a=INT32)},
    ),
    Case(
        "a field that is null",
        {"fields": "c"},
        VALUE,
        ROW,
        changes={"key": {"c": None}, "key_schema": struct(None, c=optional(STRING))},
    ),
    Case("without a schema", {"fields": "a, c"}, VALUE, changes={"key": {"a": 1, "c": None}, "key_schema": None}),
    Case("missing, without a schema", {"fields": "z"}, VALUE, changes={"key": {"z": None}, "key_schema": None}),
    Case("missing, with a schema", {"fields": "z"}, VALUE, ROW, error="the value has no field z: correct `fields`"),
    Case(
        "the default for null",
        {"fields": "a"},
        {"a": None},
        struct("row", a=DEFAULT),
        changes={"key": {"a": 7}, "key_schema": struct(None, a=DEFAULT)},
    ),
    Case(
        "null in spite of the default",
        {"fields": "a", "replace.null.with.default": "false"},
        {"a": None},
        struct("row", a=DEFAULT),
        changes={"key": {"a": None}, "key_schema": struct(None, a=DEFAULT)},
    ),
    Case(
        "a name twice",
        {"fields": "a,b,a"},
        VALUE,
        ROW,
        changes={"key": {"a": 1, "b": "x"}, "key_schema": struct(None, a=INT32, b=STRING)},
    ),
    Case(
        "a source's record",
        {"fields": "a"},
        VALUE,
        ROW,
        is_source=True,
        changes={"key": {"a": 1}, "key_schema": struct(None, a=INT32)},
    ),
    Case("null with a schema", {"fields": "a"}, None, optional(ROW), error="the value of the record is null"),
    Case("null without a schema", {"fields": "a"}, error="the value of the record is null: let it pass by a predicate"),
    Case("a text", {"fields": "a"}, "t", STRING, error="found string"),
    Case("a map with a schema", {"fields": "a"}, {"a": "b"}, map_of(STRING, STRING), error="found map"),
    Case("a text without a schema", {"fields": "a"}, "t", error="found str, without a schema"),
]
BAD_CONFIGS = [
    BadConfig("no fields", {}, "fields"),
    BadConfig("empty list", {"fields": ""}, "At least one name is needed"),
    BadConfig("an empty name", {"fields": "a,,b"}, "An empty name is in the list"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_value_to_key(case: Case) -> None:
    check(ValueToKey, case)


@pytest.mark.parametrize("case", BAD_CONFIGS, ids=lambda case: case.name)
def test_bad_configuration(case: BadConfig) -> None:
    check_bad_config(ValueToKey, case)
