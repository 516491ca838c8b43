"""HeaderFrom: fields moved and copied to headers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.connect.transforms.cases import BadConfig, Case, by_default, check, check_bad_config, optional

from caudal.connect.data import INT32, STRING, TIMESTAMP_SCHEMA, map_of, struct
from caudal.connect.records import Header
from caudal.connect.transforms.header_from import HeaderFromKey, HeaderFromValue

ROW = struct("row", a=INT32, b=STRING, c=optional(TIMESTAMP_SCHEMA))
VALUE = {"a": 1, "b": "x", "c": None}
MOVE = {"fields": "a", "headers": "ha", "operation": "move"}
COPY = {**MOVE, "operation": "copy"}
DEFAULT = by_default(optional(INT32), 7)
OLD = Header("ha", "old", STRING)

CASES = [
    Case(
        "move",
        MOVE,
        VALUE,
        ROW,
        {"b": "x", "c": None},
        struct("row", b=STRING, c=optional(TIMESTAMP_SCHEMA)),
        changes={"headers": (Header("ha", 1, INT32),)},
    ),
    Case("copy", COPY, VALUE, ROW, VALUE, ROW, changes={"headers": (Header("ha", 1, INT32),)}),
    Case(
        "several",
        {"fields": "b,a", "headers": "h1,h2", "operation": "move"},
        VALUE,
        ROW,
        {"c": None},
        struct("row", c=optional(TIMESTAMP_SCHEMA)),
        changes={"headers": (Header("h1", "x", STRING), Header("h2", 1, INT32))},
    ),
    Case(
        "behind the headers that are there",
        COPY,
        VALUE,
        ROW,
        VALUE,
        ROW,
        record={"headers": (OLD,)},
        changes={"headers": (OLD, Header("ha", 1, INT32))},
    ),
    Case(
        "a field that is null",
        {**COPY, "fields": "c"},
        VALUE,
        ROW,
        VALUE,
        ROW,
        changes={"headers": (Header("ha", None, optional(TIMESTAMP_SCHEMA)),)},
    ),
    Case(
        "one field to two headers",
        {"fields": "a,a", "headers": "h1,h2", "operation": "copy"},
        VALUE,
        ROW,
        VALUE,
        ROW,
        changes={"headers": (Header("h1", 1, INT32), Header("h2", 1, INT32))},
    ),
    Case(
        "name, version and words stay; optional does not",
        MOVE,
        {"a": 1, "b": "x"},
        replace(struct("row", a=INT32, b=STRING), version=2, doc="words", optional=True),
        {"b": "x"},
        replace(struct("row", b=STRING), version=2, doc="words"),
        changes={"headers": (Header("ha", 1, INT32),)},
    ),
    Case("move, without a schema", MOVE, VALUE, None, {"b": "x", "c": None}, changes={"headers": (Header("ha", 1),)}),
    Case("copy, without a schema", COPY, VALUE, None, VALUE, changes={"headers": (Header("ha", 1),)}),
    Case(
        "missing, without a schema",
        {**MOVE, "fields": "z"},
        VALUE,
        None,
        VALUE,
        changes={"headers": (Header("ha", None),)},
    ),
    Case("missing, with a schema", {**MOVE, "fields": "z"}, VALUE, ROW, error="has no field z: correct `fields`"),
    Case("missing, with a schema, copy", {**COPY, "fields": "z"}, VALUE, ROW, error="has no field z: correct `fields`"),
    Case(
        "the default for null, moved",
        MOVE,
        {"a": None, "b": None},
        struct("row", a=DEFAULT, b=DEFAULT),
        {"b": 7},
        struct("row", b=DEFAULT),
        changes={"headers": (Header("ha", 7, DEFAULT),)},
    ),
    Case(
        "the default for null, copied",
        COPY,
        {"a": None, "b": None},
        struct("row", a=DEFAULT, b=DEFAULT),
        {"a": None, "b": None},
        struct("row", a=DEFAULT, b=DEFAULT),
        changes={"headers": (Header("ha", 7, DEFAULT),)},
    ),
    Case(
        "null in spite of the default",
        {**MOVE, "replace.null.with.default": "false"},
        {"a": None, "b": None},
        struct("row", a=DEFAULT, b=DEFAULT),
        {"b": None},
        struct("row", b=DEFAULT),
        changes={"headers": (Header("ha", None, DEFAULT),)},
    ),
    Case("null with a schema", MOVE, None, optional(ROW), error="is null: let it pass by a predicate"),
    Case("null without a schema", MOVE, error="is null: let it pass by a predicate"),
    Case("a text", MOVE, "x", STRING, error="found string"),
    Case("a map with a schema", MOVE, {"a": "b"}, map_of(STRING, STRING), error="found map"),
    Case("a text without a schema", MOVE, "x", error="found str, without a schema"),
]
BAD_CONFIGS = [
    BadConfig("no fields", {"headers": "a", "operation": "move"}, "fields"),
    BadConfig("no headers", {"fields": "a", "operation": "move"}, "headers"),
    BadConfig("no operation", {"fields": "a", "headers": "b"}, "operation"),
    BadConfig("unknown operation", {"fields": "a", "headers": "b", "operation": "swap"}, "operation"),
    BadConfig("empty fields", {**MOVE, "fields": ""}, "At least one name is needed"),
    BadConfig("too few headers", {**MOVE, "fields": "a,b"}, "`fields` has 2 names and `headers` 1"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_header_from(case: Case) -> None:
    check(HeaderFromKey, case, "key")
    check(HeaderFromValue, case, "value")


@pytest.mark.parametrize("case", BAD_CONFIGS, ids=lambda case: case.name)
def test_bad_configuration(case: BadConfig) -> None:
    check_bad_config(HeaderFromValue, case)
