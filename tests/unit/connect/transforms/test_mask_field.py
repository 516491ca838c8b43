"""MaskField: what each type is masked with."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from tests.unit.connect.transforms.cases import BadConfig, Case, by_default, check, check_bad_config, optional

from caudal.connect.data import (
    BOOLEAN,
    BYTES,
    DATE_SCHEMA,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    Schema,
    array,
    decimal,
    map_of,
    struct,
)
from caudal.connect.transforms.mask_field import MaskFieldKey, MaskFieldValue

DEFAULT = by_default(optional(INT32), 7)
SCALE = "Kafka's zero has no digits behind the point, which its converter refuses"


def masked(schema: Schema, value: Any, becomes: Any, replacement: str | None = None, java: str = "") -> Case:
    name = f"{schema.name or schema.kind}, {value!r}" + (f" by {replacement}" if replacement else "")
    config = {"fields": "m"} | ({"replacement": replacement} if replacement else {})
    row = struct("row", m=schema, n=STRING)
    return Case(name, config, {"m": value, "n": "x"}, row, {"m": becomes, "n": "x"}, row, java=java)


def refused(schema: Schema, value: Any, error: str, replacement: str | None = None) -> Case:
    config = {"fields": "m"} | ({"replacement": replacement} if replacement else {})
    name = f"{schema.name or schema.kind} is refused" + (f" by {replacement}" if replacement else "")
    return Case(name, config, {"m": value}, struct("row", m=schema), error=error)


CASES = [
    masked(INT8, 5, 0),
    masked(INT16, 5, 0),
    masked(INT32, 5, 0),
    masked(INT64, 5, 0),
    masked(FLOAT32, 1.5, 0.0),
    masked(FLOAT64, 1.5, 0.0),
    masked(BOOLEAN, True, False),
    masked(STRING, "secret", ""),
    masked(DATE_SCHEMA, date(2024, 5, 1), date(1970, 1, 1)),
    masked(TIME_SCHEMA, time(12), time()),
    masked(TIMESTAMP_SCHEMA, datetime(2024, 5, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)),
    masked(decimal(2), Decimal("1.25"), Decimal("0.00"), java=SCALE),
    masked(decimal(0), Decimal("125"), Decimal("0")),
    masked(array(INT32), [1], []),
    masked(map_of(STRING, INT32), {"a": 1}, {}),
    masked(optional(STRING), None, None),
    masked(INT8, 5, 42, "42"),
    masked(INT64, 5, 42, "42"),
    masked(INT8, 5, 44, "300"),
    masked(FLOAT64, 5.5, 42.25, "42.25"),
    masked(STRING, "secret", "***", "***"),
    masked(decimal(1), Decimal("1.5"), Decimal("4.2"), "4.2"),
    masked(optional(STRING), None, None, "***"),
    refused(BYTES, b"x", "no mask for the field m, which is bytes"),
    refused(struct("in", a=INT32), {"a": 1}, "no mask for the field m, which is struct"),
    refused(BOOLEAN, True, "`replacement` is for numbers and texts, and the field m is boolean", "x"),
    refused(DATE_SCHEMA, date(2024, 5, 1), "is for numbers and texts", "x"),
    refused(array(INT32), [1], "is for numbers and texts, and the field m is array", "x"),
    refused(INT32, 1, "`replacement` 'x' is no number, and the field m is one", "x"),
    refused(FLOAT64, 1.5, "`replacement` 'x' is no number", "x"),
    Case(
        "several fields",
        {"fields": "a,b"},
        {"a": 1, "b": "x", "c": 3},
        struct("row", a=INT32, b=STRING, c=INT32),
        {"a": 0, "b": "", "c": 3},
        struct("row", a=INT32, b=STRING, c=INT32),
    ),
    Case(
        "a field that is not there, with a schema",
        {"fields": "z"},
        {"a": 1},
        struct("row", a=INT32),
        {"a": 1},
        struct("row", a=INT32),
    ),
    Case("a field that is not there, without a schema", {"fields": "z"}, {"a": 1}, None, {"a": 1, "z": None}),
    Case(
        "without a schema",
        {"fields": "a,b,c,d,e"},
        {"a": 1, "b": "x", "c": True, "d": [1], "e": {"f": 1}},
        None,
        {"a": 0, "b": "", "c": False, "d": [], "e": {}},
    ),
    Case(
        "replacement, without a schema",
        {"fields": "a,b,c", "replacement": "42"},
        {"a": 1, "b": "x", "c": 2.5},
        None,
        {"a": 42, "b": "42", "c": 42.0},
    ),
    Case("null, without a schema", {"fields": "a"}, {"a": None}, None, {"a": None}),
    Case(
        "the default for null is masked",
        {"fields": "a"},
        {"a": None, "b": None},
        struct("row", a=DEFAULT, b=DEFAULT),
        {"a": 0, "b": 7},
        struct("row", a=DEFAULT, b=DEFAULT),
    ),
    Case(
        "null in spite of the default",
        {"fields": "a", "replace.null.with.default": "false"},
        {"a": None, "b": None},
        struct("row", a=DEFAULT, b=DEFAULT),
        {"a": None, "b": None},
        struct("row", a=DEFAULT, b=DEFAULT),
    ),
    Case(
        "null with a schema is refused",
        {"fields": "a"},
        None,
        optional(struct("row", a=INT32)),
        error="is null: let it pass",
    ),
    Case("null without a schema is refused", {"fields": "a"}, error="is null: let it pass"),
    Case("a text", {"fields": "a"}, "x", STRING, error="found string"),
    Case("a map with a schema", {"fields": "a"}, {"a": "b"}, map_of(STRING, STRING), error="found map"),
    Case("a text without a schema", {"fields": "a"}, "x", error="found str, without a schema"),
]
BAD_CONFIGS = [
    BadConfig("no fields", {}, "fields"),
    BadConfig("empty fields", {"fields": ""}, "At least one name is needed"),
    BadConfig("empty replacement", {"fields": "a", "replacement": ""}, "An empty text is not a value"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_mask_field(case: Case) -> None:
    check(MaskFieldKey, case, "key")
    check(MaskFieldValue, case, "value")


@pytest.mark.parametrize("case", BAD_CONFIGS, ids=lambda case: case.name)
def test_bad_configuration(case: BadConfig) -> None:
    check_bad_config(MaskFieldValue, case)
