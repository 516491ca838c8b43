"""Cast: types, texts and wrapping as in Java; schemas, defaults and optional fields."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

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
from caudal.connect.transforms.cast import CastKey, CastValue

NOON = datetime(2024, 5, 1, 12, 30, 15, 250_000, tzinfo=UTC)


def whole(
    name: str, schema: Schema, value: object, target: str, becomes: object, target_schema: Schema, java: str = ""
) -> Case:
    return Case(name, {"spec": target}, value, schema, becomes, target_schema, java=java)


def fails(name: str, schema: Schema, value: object, target: str, error: str, java: str = "") -> Case:
    return Case(name, {"spec": target}, value, schema, error=error, java=java)


NARROWING = "Kafka keeps the name of a logical type on a number that is none"
CASES = [
    whole("int to int8 wraps", INT32, 300, "int8", 44, INT8),
    whole("int to int8, negative", INT32, -129, "int8", 127, INT8),
    whole("int to int16 wraps", INT64, 40_000, "int16", -25_536, INT16),
    whole("int to int32 wraps", INT64, 1 << 31, "int32", -(1 << 31), INT32),
    whole("int to int64", INT8, -5, "int64", -5, INT64),
    whole("int to float32", INT64, 16_777_217, "float32", 16_777_216.0, FLOAT32),
    whole("int to float64", INT64, 16_777_217, "float64", 16_777_217.0, FLOAT64),
    whole("int to boolean", INT32, 2, "boolean", True, BOOLEAN),
    whole("zero to boolean", INT32, 0, "boolean", False, BOOLEAN),
    whole("int to string", INT32, -7, "string", "-7", STRING),
    whole("double is cut", FLOAT64, -2.9, "int32", -2, INT32),
    whole("double stops at the ends of int32", FLOAT64, 1e12, "int32", (1 << 31) - 1, INT32),
    whole("double stops at the ends of int64", FLOAT64, -1e30, "int64", -(1 << 63), INT64),
    whole("double to int8 by way of int32", FLOAT64, 1e12, "int8", -1, INT8),
    whole("double to int16 wraps", FLOAT64, 70_000.5, "int16", 4464, INT16),
    whole("double to float32", FLOAT64, 0.1, "float32", 0.10000000149011612, FLOAT32),
    whole("double out of float32", FLOAT64, 1e300, "float32", float("inf"), FLOAT32),
    whole("half is false", FLOAT64, 0.5, "boolean", False, BOOLEAN),
    whole("one and a half is true", FLOAT64, 1.5, "boolean", True, BOOLEAN),
    whole("double to string", FLOAT64, 12345678.5, "string", "1.23456785E7", STRING),
    whole("small double to string", FLOAT64, 0.0001, "string", "1.0E-4", STRING),
    whole("float to string has a float's digits", FLOAT32, 0.10000000149011612, "string", "0.1", STRING),
    whole("true to int8", BOOLEAN, True, "int8", 1, INT8),
    whole("false to int64", BOOLEAN, False, "int64", 0, INT64),
    whole("true to float32", BOOLEAN, True, "float32", 1.0, FLOAT32),
    whole("true to float64", BOOLEAN, True, "float64", 1.0, FLOAT64),
    whole("true to string", BOOLEAN, True, "string", "true", STRING),
    whole("text to int8", STRING, "-128", "int8", -128, INT8),
    whole("text with a plus to int16", STRING, "+12", "int16", 12, INT16),
    whole("text to int32", STRING, "007", "int32", 7, INT32),
    whole("text to int64", STRING, str((1 << 63) - 1), "int64", (1 << 63) - 1, INT64),
    whole("text to float32", STRING, "1.5e3", "float32", 1500.0, FLOAT32),
    whole("text to float64", STRING, " 2.50d ", "float64", 2.5, FLOAT64),
    whole("hexadecimal text to float64", STRING, "0x1.8p1", "float64", 3.0, FLOAT64),
    whole("text to boolean", STRING, "TRUE", "boolean", True, BOOLEAN),
    whole("any other text is false", STRING, "yes", "boolean", False, BOOLEAN),
    whole("text to string", STRING, "a", "string", "a", STRING),
    whole("bytes to string", BYTES, b"abc", "string", "YWJj", STRING),
    fails("bytes to int32", BYTES, b"abc", "int32", "bytes can only become a string"),
    fails("text too large for int8", STRING, "128", "int8", "'128' is no integer of 8 bits"),
    fails("text with a point to int32", STRING, "1.0", "int32", "'1.0' is no integer of 32 bits"),
    fails("text with blanks to int32", STRING, " 1", "int32", "' 1' is no integer of 32 bits"),
    fails("empty text to int64", STRING, "", "int64", "'' is no integer of 64 bits"),
    fails("a word to float64", STRING, "one", "float64", "'one' is no number"),
    fails("an array", array(INT32), [1], "string", "the (key|value) is array, which cannot be cast"),
    fails("a map", map_of(STRING, INT32), {"a": 1}, "string", "the (key|value) is map, which cannot be cast"),
    fails("a struct", struct(None, a=INT32), {"a": 1}, "string", "the (key|value) is struct, which cannot be cast"),
    whole("Date to days", DATE_SCHEMA, date(1970, 1, 11), "int32", 10, INT32, java=NARROWING),
    whole("Time to milliseconds", TIME_SCHEMA, time(0, 0, 1, 5000), "int64", 1005, INT64, java=NARROWING),
    whole("Timestamp to milliseconds", TIMESTAMP_SCHEMA, NOON, "int64", 1_714_566_615_250, INT64, java=NARROWING),
    whole("Decimal to double", decimal(2), Decimal("12.50"), "float64", 12.5, FLOAT64, java=NARROWING),
    whole("Decimal to int8 wraps", decimal(2), Decimal("300.99"), "int8", 44, INT8, java=NARROWING),
    whole("Timestamp to string", TIMESTAMP_SCHEMA, NOON, "string", "2024-05-01T12:30:15.250Z", STRING, java=NARROWING),
    Case("null passes", {"spec": "int32"}, None, optional(STRING)),
    Case(
        "the schema of a whole value keeps name, words and parameters",
        {"spec": "int64"},
        "5",
        Schema(STRING.kind, True, "id", 3, "an id", parameters={"a": "b"}),
        5,
        Schema(INT64.kind, True, "id", 3, "an id", parameters={"a": "b"}),
    ),
    Case(
        "the default of a whole value is cast",
        {"spec": "int64"},
        "5",
        by_default(STRING, "7"),
        5,
        by_default(INT64, 7),
    ),
    Case("whole value without a schema", {"spec": "string"}, 12, None, "12", None),
    Case("whole value without a schema, wrong", {"spec": "int8"}, [1], error="list can only become a string"),
    Case("null without a schema passes", {"spec": "int8"}),
    Case(
        "fields of a struct",
        {"spec": "a:int32,b:string"},
        {"a": "1", "b": 2.0, "c": True},
        struct("row", a=STRING, b=FLOAT64, c=BOOLEAN),
        {"a": 1, "b": "2.0", "c": True},
        struct("row", a=INT32, b=STRING, c=BOOLEAN),
    ),
    Case(
        "blanks and capitals in the spec",
        {"spec": " a : INT32 , b:String"},
        {"a": "1", "b": 2},
        struct("row", a=STRING, b=INT8),
        {"a": 1, "b": "2"},
        struct("row", a=INT32, b=STRING),
    ),
    Case(
        "optional stays optional, null stays null",
        {"spec": "a:int32"},
        {"a": None},
        struct("row", a=optional(STRING)),
        {"a": None},
        struct("row", a=optional(INT32)),
    ),
    Case(
        "the default of a field is cast, and replaces null",
        {"spec": "a:int32"},
        {"a": None, "b": None},
        struct("row", a=by_default(optional(STRING), "5"), b=by_default(optional(INT32), 6)),
        {"a": 5, "b": 6},
        struct("row", a=by_default(optional(INT32), 5), b=by_default(optional(INT32), 6)),
    ),
    Case(
        "null is kept where it is asked for",
        {"spec": "a:int32", "replace.null.with.default": "false"},
        {"a": None, "b": None},
        struct("row", a=by_default(optional(STRING), "5"), b=by_default(optional(INT32), 6)),
        {"a": None, "b": None},
        struct("row", a=by_default(optional(INT32), 5), b=by_default(optional(INT32), 6)),
    ),
    Case(
        "logical fields become plain",
        {"spec": "d:int32,t:string,n:float64"},
        {"d": date(2024, 1, 1), "t": time(8, 5), "n": Decimal("1.25")},
        struct("row", d=DATE_SCHEMA, t=TIME_SCHEMA, n=decimal(2)),
        {"d": 19_723, "t": "08:05:00.000Z", "n": 1.25},
        struct("row", d=INT32, t=STRING, n=FLOAT64),
    ),
    Case(
        "Decimal to string",
        {"spec": "n:string"},
        {"n": Decimal("1.250")},
        struct("row", n=decimal(3)),
        {"n": "1.250"},
        struct("row", n=STRING),
    ),
    Case(
        "a Timestamp at midnight is written as a date",
        {"spec": "t:string"},
        {"t": datetime(2024, 5, 1, tzinfo=UTC)},
        struct("row", t=TIMESTAMP_SCHEMA),
        {"t": "2024-05-01"},
        struct("row", t=STRING),
    ),
    Case(
        "a Date is written as a date",
        {"spec": "d:string"},
        {"d": date(2024, 5, 1)},
        struct("row", d=DATE_SCHEMA),
        {"d": "2024-05-01"},
        struct("row", d=STRING),
    ),
    Case(
        "a Date before 1970 keeps its day",
        {"spec": "d:string"},
        {"d": date(1969, 5, 1)},
        struct("row", d=DATE_SCHEMA),
        {"d": "1969-05-01"},
        struct("row", d=STRING),
        java="Kafka takes all before 1970-01-02 for times of day",
    ),
    Case(
        "a Timestamp before 1970 keeps its day",
        {"spec": "t:string"},
        {"t": datetime(1969, 5, 1, tzinfo=UTC)},
        struct("row", t=TIMESTAMP_SCHEMA),
        {"t": "1969-05-01T00:00:00.000Z"},
        struct("row", t=STRING),
        java="Kafka takes all before 1970-01-02 for times of day",
    ),
    Case(
        "a field that is not there, with a schema",
        {"spec": "x:int32"},
        {"a": "1"},
        struct("row", a=STRING),
        {"a": "1"},
        struct("row", a=STRING),
    ),
    Case(
        "a field that is not there, without a schema",
        {"spec": "x:int32"},
        {"a": "1"},
        None,
        {"a": "1", "x": None},
        None,
    ),
    Case(
        "fields without a schema",
        {"spec": "a:int32,b:boolean"},
        {"a": "1", "b": "true"},
        None,
        {"a": 1, "b": True},
        None,
    ),
    Case(
        "a field that cannot be cast is named",
        {"spec": "a:int8"},
        {"a": "x"},
        struct("row", a=STRING),
        error="the field a cannot be cast: 'x' is no integer of 8 bits",
    ),
    Case(
        "a field that is an array",
        {"spec": "a:string"},
        {"a": [1]},
        struct("row", a=array(INT32)),
        error="the field a is array, which cannot be cast",
    ),
    Case("fields of a text", {"spec": "a:int8"}, "x", STRING, error="needs a struct or a map .* found string"),
    Case("fields of a text without a schema", {"spec": "a:int8"}, "x", error="found str, without a schema"),
    Case("null passes, fields", {"spec": "a:int8"}, None, optional(struct("row", a=STRING))),
    Case(
        "an optional struct stays optional",
        {"spec": "a:int8"},
        {"a": "1"},
        optional(struct("row", a=STRING)),
        {"a": 1},
        optional(struct("row", a=INT8)),
    ),
]
BAD_CONFIGS = [
    BadConfig("no spec", {}, "spec"),
    BadConfig("empty spec", {"spec": ""}, "Nothing is to be cast"),
    BadConfig("unknown type", {"spec": "a:number"}, "'number' is no type to cast to: they are int8, int16"),
    BadConfig("unknown type of all", {"spec": "number"}, "'number' is no type to cast to"),
    BadConfig("a type that is not cast to", {"spec": "a:bytes"}, "'bytes' is no type to cast to"),
    BadConfig("two colons", {"spec": "a:b:int8"}, "'a:b:int8' has more than one colon"),
    BadConfig("all and a field", {"spec": "int8,a:int8"}, "there can be nothing else"),
    BadConfig("no boolean", {"spec": "int8", "replace.null.with.default": "maybe"}, "replace.null.with.default"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cast(case: Case) -> None:
    check(CastKey, case, "key")
    check(CastValue, case, "value")


@pytest.mark.parametrize("case", BAD_CONFIGS, ids=lambda case: case.name)
def test_bad_configuration(case: BadConfig) -> None:
    check_bad_config(CastValue, case)
