"""InsertHeader: what a literal is taken for."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from tests.unit.connect.transforms.cases import BadConfig, Case, check, check_bad_config

from caudal.connect.data import (
    BOOLEAN,
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
)
from caudal.connect.records import Header
from caudal.connect.transforms.insert_header import InsertHeader

OLD = Header("h", "old", STRING)


def literal(text: str, value: Any, schema: Schema | None, java: str = "") -> Case:
    config = {"header": "h", "value.literal": text}
    return Case(f"literal {text}", config, "v", STRING, changes={"headers": (Header("h", value, schema),)}, java=java)


CASES = [
    literal("hello", "hello", STRING),
    literal("hello world", "hello world", STRING),
    literal("5", 5, INT8),
    literal("-128", -128, INT8),
    literal("+7", 7, INT8),
    literal("300", 300, INT16),
    literal("70000", 70_000, INT32),
    literal("5000000000", 5_000_000_000, INT64),
    literal("1.5", 1.5, FLOAT32),
    literal("1.0", 1, INT8),
    literal("1e3", 1000, INT16),
    literal("1.5e300", 1.5e300, FLOAT64),
    literal("12345678901234567890", Decimal("12345678901234567890"), decimal(0)),
    literal("-.5", -0.5, FLOAT32),
    literal(".5", ".5", STRING),
    literal("1_000", "1_000", STRING),
    literal("NaN", "NaN", STRING),
    literal('"quoted"', '"quoted"', STRING),
    literal("[1, null]", "[1, null]", STRING),
    literal('["a\\"b"]', ['a\\"b'], array(STRING)),
    literal('{1: "x"}', {1: "x"}, map_of(INT8, STRING)),
    literal("[]", [], array(STRING.as_optional()), java="Kafka's array has no type of its elements"),
    literal("12:30", "12:30", STRING, java="Kafka takes what is before the colon"),
    literal("true", True, BOOLEAN),
    literal("false", False, BOOLEAN),
    literal("True", "True", STRING),
    literal("truely", "truely", STRING),
    literal("null", None, None),
    literal("2024-05-01", date(2024, 5, 1), DATE_SCHEMA),
    literal("12:30:15.250Z", time(12, 30, 15, 250_000), TIME_SCHEMA),
    literal("2024-05-01T12:30:15.250Z", datetime(2024, 5, 1, 12, 30, 15, 250_000, tzinfo=UTC), TIMESTAMP_SCHEMA),
    literal("2024-0x-01", "2024-0x-01", STRING),
    literal("2024-05-0x", date(2024, 4, 30), DATE_SCHEMA),  # lenient: the day is 0, and what follows is not looked at
    literal("1.2.3", "1.2.3", STRING),
    literal("[1, 2, 3]", [1, 2, 3], array(INT8)),
    literal("[1, 300]", [1, 300], array(INT16)),
    literal("[1, 2.5]", [1.0, 2.5], array(FLOAT32)),
    literal('["a", "b"]', ["a", "b"], array(STRING)),
    literal('["a", 1]', '["a", 1]', STRING, java="Kafka makes an array without a type of its elements"),
    literal("[1, 2", "[1, 2", STRING),
    literal("[,]", "[,]", STRING),
    literal("[a]", "[a]", STRING),
    literal('{"a": 1, "b": 2}', {"a": 1, "b": 2}, map_of(STRING, INT8)),
    literal('{"a": "x"}', {"a": "x"}, map_of(STRING, STRING)),
    literal('{"a": [1]}', {"a": [1]}, map_of(STRING, array(INT8))),
    literal('{"a" 1}', '{"a" 1}', STRING),
    literal("{a: 1}", "{a: 1}", STRING),
    Case(
        "behind the headers that are there",
        {"header": "h", "value.literal": "5"},
        "v",
        STRING,
        record={"headers": (OLD,)},
        changes={"headers": (OLD, Header("h", 5, INT8))},
    ),
    Case("a tombstone", {"header": "h", "value.literal": "x"}, changes={"headers": (Header("h", "x", STRING),)}),
    Case(
        "a source's record",
        {"header": "h", "value.literal": "x"},
        "v",
        STRING,
        is_source=True,
        changes={"headers": (Header("h", "x", STRING),)},
    ),
]
BAD_CONFIGS = [
    BadConfig("no header", {"value.literal": "x"}, "header"),
    BadConfig("no value", {"header": "h"}, "value.literal"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_insert_header(case: Case) -> None:
    check(InsertHeader, case)


@pytest.mark.parametrize("case", BAD_CONFIGS, ids=lambda case: case.name)
def test_bad_configuration(case: BadConfig) -> None:
    check_bad_config(InsertHeader, case)
