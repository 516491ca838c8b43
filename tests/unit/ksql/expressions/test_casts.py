"""CAST: the whole matrix of types, the forms of texts, and the values that do not fit."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from caudal.ksql import processing_log
from caudal.ksql.errors import KsqlError
from caudal.ksql.expressions.casts import can_cast
from caudal.ksql.expressions.evaluate import evaluate
from caudal.ksql.syntax.parser import parse_type
from caudal.ksql.types import SqlType

DATE, TIME = date(2026, 2, 3), time(10, 30, 5, 7000)
TIMESTAMP = datetime(2026, 2, 3, 10, 30, 5, 7000, tzinfo=UTC)

VALUES: list[tuple[str, Any, str, Any]] = [
    # -- booleans --
    ("BOOLEAN", True, "STRING", "true"),
    ("BOOLEAN", False, "STRING", "false"),
    ("BOOLEAN", True, "BOOLEAN", True),
    # -- INTEGER --
    ("INTEGER", 5, "INTEGER", 5),
    ("INTEGER", -5, "BIGINT", -5),
    ("INTEGER", 5, "DOUBLE", 5.0),
    ("INTEGER", 5, "DECIMAL(4, 2)", Decimal("5.00")),
    ("INTEGER", 99, "DECIMAL(2, 0)", Decimal("99")),
    ("INTEGER", -12, "STRING", "-12"),
    ("INTEGER", 0, "STRING", "0"),
    # -- BIGINT --
    ("BIGINT", 5, "INTEGER", 5),
    ("BIGINT", 2**31, "INTEGER", -(2**31)),
    ("BIGINT", 2**32 + 5, "INTEGER", 5),
    ("BIGINT", 2**53, "DOUBLE", 9007199254740992.0),
    ("BIGINT", 10**18, "DECIMAL(19, 0)", Decimal(10**18)),
    ("BIGINT", 10**18, "STRING", "1000000000000000000"),
    # -- DECIMAL --
    ("DECIMAL(5, 2)", Decimal("123.99"), "INTEGER", 123),
    ("DECIMAL(5, 2)", Decimal("-123.99"), "INTEGER", -123),
    ("DECIMAL(12, 0)", Decimal(2**31), "INTEGER", -(2**31)),
    ("DECIMAL(5, 2)", Decimal("123.99"), "BIGINT", 123),
    ("DECIMAL(20, 0)", Decimal(2**63), "BIGINT", -(2**63)),
    ("DECIMAL(5, 2)", Decimal("1.50"), "DOUBLE", 1.5),
    ("DECIMAL(5, 2)", Decimal("1.50"), "STRING", "1.50"),
    ("DECIMAL(10, 8)", Decimal("0.00000001"), "STRING", "0.00000001"),
    ("DECIMAL(5, 2)", Decimal("-1.00"), "STRING", "-1.00"),
    ("DECIMAL(5, 2)", Decimal("1.55"), "DECIMAL(5, 1)", Decimal("1.6")),
    ("DECIMAL(5, 2)", Decimal("1.54"), "DECIMAL(5, 1)", Decimal("1.5")),
    ("DECIMAL(5, 2)", Decimal("-1.55"), "DECIMAL(5, 1)", Decimal("-1.6")),
    ("DECIMAL(5, 2)", Decimal("1.50"), "DECIMAL(6, 3)", Decimal("1.500")),
    ("DECIMAL(5, 2)", Decimal("99.49"), "DECIMAL(2, 0)", Decimal("99")),
    # -- DOUBLE --
    ("DOUBLE", 5.9, "INTEGER", 5),
    ("DOUBLE", -5.9, "INTEGER", -5),
    ("DOUBLE", 1e20, "INTEGER", 2**31 - 1),
    ("DOUBLE", -1e20, "INTEGER", -(2**31)),
    ("DOUBLE", 1e30, "BIGINT", 2**63 - 1),
    ("DOUBLE", float("nan"), "INTEGER", 0),
    ("DOUBLE", float("nan"), "BIGINT", 0),
    ("DOUBLE", float("inf"), "INTEGER", 2**31 - 1),
    ("DOUBLE", float("-inf"), "BIGINT", -(2**63)),
    ("DOUBLE", 5.9, "BIGINT", 5),
    ("DOUBLE", 1.5, "DECIMAL(3, 1)", Decimal("1.5")),
    ("DOUBLE", 1.25, "DECIMAL(4, 1)", Decimal("1.3")),
    ("DOUBLE", 0.1, "DECIMAL(10, 8)", Decimal("0.10000000")),
    ("DOUBLE", 1.0, "STRING", "1.0"),
    ("DOUBLE", -0.0, "STRING", "-0.0"),
    ("DOUBLE", 0.1, "STRING", "0.1"),
    ("DOUBLE", 100.0, "STRING", "100.0"),
    ("DOUBLE", 9999999.0, "STRING", "9999999.0"),
    ("DOUBLE", 1e7, "STRING", "1.0E7"),
    ("DOUBLE", 12345678.9, "STRING", "1.23456789E7"),
    ("DOUBLE", 1e100, "STRING", "1.0E100"),
    ("DOUBLE", 0.001, "STRING", "0.001"),
    ("DOUBLE", 0.0001, "STRING", "1.0E-4"),
    ("DOUBLE", -1.5e-10, "STRING", "-1.5E-10"),
    ("DOUBLE", float("nan"), "STRING", "NaN"),
    ("DOUBLE", float("inf"), "STRING", "Infinity"),
    ("DOUBLE", float("-inf"), "STRING", "-Infinity"),
    # -- STRING --
    ("STRING", "true", "BOOLEAN", True),
    ("STRING", "TRUE", "BOOLEAN", True),
    ("STRING", "t", "BOOLEAN", True),
    ("STRING", "yes", "BOOLEAN", True),
    ("STRING", " Ye ", "BOOLEAN", True),
    ("STRING", "false", "BOOLEAN", False),
    ("STRING", "n", "BOOLEAN", False),
    ("STRING", "whatever", "BOOLEAN", False),
    ("STRING", "", "BOOLEAN", False),
    ("STRING", "1", "BOOLEAN", False),
    ("STRING", "12", "INTEGER", 12),
    ("STRING", " -12 ", "INTEGER", -12),
    ("STRING", "+7", "INTEGER", 7),
    ("STRING", "2147483647", "INTEGER", 2**31 - 1),
    ("STRING", "9223372036854775807", "BIGINT", 2**63 - 1),
    ("STRING", "-9223372036854775808", "BIGINT", -(2**63)),
    ("STRING", "1.5", "DOUBLE", 1.5),
    ("STRING", "1e3", "DOUBLE", 1000.0),
    ("STRING", ".5", "DOUBLE", 0.5),
    ("STRING", "5.", "DOUBLE", 5.0),
    ("STRING", "-1.5E-3", "DOUBLE", -0.0015),
    ("STRING", " 10 ", "DOUBLE", 10.0),
    ("STRING", "1.55", "DECIMAL(3, 1)", Decimal("1.6")),
    ("STRING", " 1 ", "DECIMAL(3, 1)", Decimal("1.0")),
    ("STRING", "1E2", "DECIMAL(5, 2)", Decimal("100.00")),
    ("STRING", "YWI=", "BYTES", b"ab"),
    ("STRING", "", "BYTES", b""),
    ("STRING", "2026-02-03", "DATE", DATE),
    ("STRING", "2026-02", "DATE", date(2026, 2, 1)),
    ("STRING", "2026", "DATE", date(2026, 1, 1)),
    ("STRING", "10:30:05.007", "TIME", TIME),
    ("STRING", "10:30:05", "TIME", time(10, 30, 5)),
    ("STRING", "10:30", "TIME", time(10, 30)),
    ("STRING", "2026-02-03T10:30:05.007", "TIMESTAMP", TIMESTAMP),
    ("STRING", "2026-02-03T10:30:05.007Z", "TIMESTAMP", TIMESTAMP),
    ("STRING", "2026-02-03T12:30:05.007+0200", "TIMESTAMP", TIMESTAMP),
    ("STRING", "2026-02-03T05:30:05.007-05:00", "TIMESTAMP", TIMESTAMP),
    ("STRING", "2026-02-03T10:30", "TIMESTAMP", datetime(2026, 2, 3, 10, 30, tzinfo=UTC)),
    ("STRING", "2026-02-03T10", "TIMESTAMP", datetime(2026, 2, 3, 10, tzinfo=UTC)),
    ("STRING", " 2026-02-03 ", "TIMESTAMP", datetime(2026, 2, 3, tzinfo=UTC)),
    ("STRING", "2026", "TIMESTAMP", datetime(2026, 1, 1, tzinfo=UTC)),
    # -- times --
    ("DATE", DATE, "STRING", "2026-02-03"),
    ("DATE", date(33, 1, 2), "STRING", "0033-01-02"),
    ("DATE", DATE, "TIMESTAMP", datetime(2026, 2, 3, tzinfo=UTC)),
    ("TIME", TIME, "STRING", "10:30:05.007"),
    ("TIME", time(10, 30, 5), "STRING", "10:30:05"),
    ("TIME", time(10, 30), "STRING", "10:30"),
    ("TIMESTAMP", TIMESTAMP, "STRING", "2026-02-03T10:30:05.007"),
    ("TIMESTAMP", datetime(2020, 1, 1, tzinfo=UTC), "STRING", "2020-01-01T00:00:00.000"),
    ("TIMESTAMP", TIMESTAMP, "DATE", DATE),
    ("TIMESTAMP", TIMESTAMP, "TIME", TIME),
    # -- collections --
    ("ARRAY<INTEGER>", [1, None, 3], "ARRAY<STRING>", ["1", None, "3"]),
    ("ARRAY<STRING>", ["1", " 2"], "ARRAY<BIGINT>", [1, 2]),
    ("ARRAY<INTEGER>", [], "ARRAY<DOUBLE>", []),
    ("ARRAY<ARRAY<INTEGER>>", [[1], None], "ARRAY<ARRAY<DOUBLE>>", [[1.0], None]),
    ("ARRAY<INTEGER>", [1, 2], "STRING", "[1, 2]"),
    ("ARRAY<STRING>", ["a", None], "STRING", "[a, null]"),
    ("ARRAY<DOUBLE>", [1.0, 1e10], "STRING", "[1.0, 1.0E10]"),
    ("ARRAY<BOOLEAN>", [True], "STRING", "[true]"),
    ("ARRAY<INTEGER>", [], "STRING", "[]"),
    ("MAP<STRING, INTEGER>", {"a": 1, "b": None}, "MAP<STRING, DOUBLE>", {"a": 1.0, "b": None}),
    ("MAP<INTEGER, STRING>", {1: "2"}, "MAP<STRING, INTEGER>", {"1": 2}),
    ("MAP<STRING, INTEGER>", {"a": 1, "b": None}, "STRING", "{a=1, b=null}"),
    ("MAP<STRING, ARRAY<INTEGER>>", {"a": [1, 2]}, "STRING", "{a=[1, 2]}"),
    ("STRUCT<A INTEGER, B STRING>", {"A": 1, "B": "2"}, "STRUCT<A STRING, B INTEGER>", {"A": "1", "B": 2}),
    ("STRUCT<A INTEGER, B STRING>", {"A": 1, "B": "2"}, "STRUCT<B STRING, C DOUBLE>", {"B": "2", "C": None}),
    ("STRUCT<A INTEGER>", {"A": None}, "STRUCT<A BIGINT>", {"A": None}),
    ("STRUCT<A INTEGER, B STRING>", {"A": 1, "B": "x"}, "STRING", "Struct{A=1,B=x}"),
    ("STRUCT<A INTEGER, B STRING>", {"A": None, "B": "x"}, "STRING", "Struct{B=x}"),
    ("STRUCT<A STRUCT<B DECIMAL(3, 1)>>", {"A": {"B": Decimal("1.5")}}, "STRING", "Struct{A=Struct{B=1.5}}"),
]


@pytest.mark.parametrize(("source", "value", "target", "expected"), VALUES)
def test_cast(source: str, value: Any, target: str, expected: Any) -> None:
    with processing_log.collected() as lines:
        kind, found = evaluate(f"CAST(v AS {target})", {"V": (source, value)})
    assert str(kind) == target
    assert (type(found), repr(found)) == (type(expected), repr(expected))
    assert not lines


def test_cast_of_null_is_null() -> None:
    for source, _, target, _ in VALUES:
        assert evaluate(f"CAST(v AS {target})", {"V": (source, None)})[1] is None, (source, target)


FAILING = [
    ("INTEGER", 100, "DECIMAL(4, 2)", "must round to an absolute value less than 10^2. Got 100"),
    ("BIGINT", 10**10, "DECIMAL(5, 0)", "less than 10^5"),
    ("DECIMAL(5, 2)", Decimal("100.00"), "DECIMAL(3, 1)", "less than 10^2"),
    ("DECIMAL(5, 2)", Decimal("99.99"), "DECIMAL(2, 0)", "less than 10^2"),
    ("DOUBLE", 1e10, "DECIMAL(5, 2)", "less than 10^3"),
    ("DOUBLE", float("nan"), "DECIMAL(5, 2)", "NaN is no DECIMAL(5, 2)"),
    ("DOUBLE", float("inf"), "DECIMAL(5, 2)", "Infinity is no DECIMAL(5, 2)"),
    ("STRING", "x", "INTEGER", "'x' is not a whole number"),
    ("STRING", "1.5", "INTEGER", "'1.5' is not a whole number"),
    ("STRING", "", "INTEGER", "'' is not a whole number"),
    ("STRING", "1_000", "INTEGER", "'1_000' is not a whole number"),
    ("STRING", "2147483648", "INTEGER", "out of the range of INTEGER"),
    ("STRING", "9223372036854775808", "BIGINT", "out of the range of BIGINT"),
    ("STRING", "x", "DOUBLE", "'x' is not a number"),
    ("STRING", "NaN", "DOUBLE", "'NaN' is not a number"),
    ("STRING", "Infinity", "DOUBLE", "is not a number"),
    ("STRING", "1e999", "DOUBLE", "out of the range of DOUBLE"),
    ("STRING", "x", "DECIMAL(5, 2)", "'x' is not a number"),
    ("STRING", "NaN", "DECIMAL(5, 2)", "'NaN' is not a number"),
    ("STRING", "1000", "DECIMAL(5, 2)", "less than 10^3"),
    ("STRING", "*", "BYTES", "is not Base64"),
    ("STRING", "2026-02-30", "DATE", "Failed to parse date '2026-02-30'"),
    ("STRING", "03.02.2026", "DATE", "Failed to parse date"),
    ("STRING", "25:00", "TIME", "Failed to parse time '25:00'"),
    ("STRING", "10", "TIME", "Failed to parse time"),
    ("STRING", "2026-02-03 10:00:00", "TIMESTAMP", "Failed to parse timestamp"),
    ("STRING", "2026-02-03T24:00:00", "TIMESTAMP", "Failed to parse timestamp"),
    ("ARRAY<STRING>", ["1", "x"], "ARRAY<INTEGER>", "'x' is not a whole number"),
    ("MAP<STRING, STRING>", {"a": "x"}, "MAP<STRING, INTEGER>", "'x' is not a whole number"),
    ("STRUCT<A STRING>", {"A": "x"}, "STRUCT<A INTEGER>", "'x' is not a whole number"),
]


@pytest.mark.parametrize(("source", "value", "target", "message"), FAILING)
def test_cast_that_fails_is_null_with_a_line(source: str, value: Any, target: str, message: str) -> None:
    with processing_log.collected() as lines:
        _, found = evaluate(f"CAST(v AS {target})", {"V": (source, value)})
    assert found is None
    assert [message in processing_log.message_of(line) for line in lines] == [True]


def test_cast_that_fails_is_null_by_itself() -> None:
    with processing_log.collected() as lines:
        assert evaluate("COALESCE(CAST(v AS INTEGER), 0) + 1", {"V": ("STRING", "x")})[1] == 1
        assert evaluate("CAST(v AS INTEGER) IS NULL", {"V": ("STRING", "x")})[1] is True
        assert evaluate("CAST('x' AS INTEGER) < 5", {"V": ("STRING", "x")})[1] is False
    assert len(lines) == 3


SIMPLE = ("BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "DECIMAL(4, 2)", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP")
NUMBERS = ("INTEGER", "BIGINT", "DOUBLE", "DECIMAL(4, 2)")
NESTED = ("ARRAY<INTEGER>", "MAP<STRING, INTEGER>", "STRUCT<A INTEGER>")
ALLOWED = {
    *((one, one) for one in (*SIMPLE, *NESTED)),
    *((a, b) for a in NUMBERS for b in NUMBERS),
    *((one, "STRING") for one in (*SIMPLE, *NESTED) if one != "BYTES"),
    *(("STRING", one) for one in SIMPLE),
    ("DATE", "TIMESTAMP"),
    ("TIMESTAMP", "DATE"),
    ("TIMESTAMP", "TIME"),
}


@pytest.mark.parametrize("source", [*SIMPLE, *NESTED])
def test_pairs(source: str) -> None:
    for target in (*SIMPLE, *NESTED):
        of, to = parse_type(source), parse_type(target)
        assert isinstance(of, SqlType) and isinstance(to, SqlType)
        assert can_cast(of, to) is ((source, target) in ALLOWED), target
        if (source, target) not in ALLOWED:
            with pytest.raises(KsqlError, match="is not supported") as caught:
                evaluate(f"CAST(v AS {target})", {"V": (source, None)})
            assert caught.value.at is not None


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("ARRAY<BOOLEAN>", "ARRAY<INTEGER>"),
        ("MAP<STRING, DATE>", "MAP<STRING, INTEGER>"),
        ("STRUCT<A BYTES>", "STRUCT<A INTEGER>"),
    ],
)
def test_nested_pair_names_the_whole(source: str, target: str) -> None:
    with pytest.raises(KsqlError) as caught:
        evaluate(f"CAST(v AS {target})", {"V": (source, None)})
    assert caught.value.message == f"Cast of {source} to {target} is not supported."


def test_cast_of_the_null_literal() -> None:
    kind, value = evaluate("CAST(NULL AS ARRAY<INTEGER>)")
    assert (str(kind), value) == ("ARRAY<INTEGER>", None)
