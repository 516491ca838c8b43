"""Signatures: how they are read, and which arguments fit."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from caudal.ksql.functions.signatures import Argument, LambdaArgument, LambdaType, match, parse, widest
from caudal.ksql.syntax.parser import parse_type
from caudal.ksql.types import BIGINT, INTEGER, STRING, SqlType


def kind(text: str) -> Argument:
    if text == "NULL":
        return None
    found = parse_type(text)
    assert isinstance(found, SqlType)
    return found


READ = [
    ("() -> STRING", "F()", "STRING"),
    ("(a INT, b VARCHAR) -> DOUBLE", "F(INTEGER a, STRING b)", "DOUBLE"),
    ("(a T, b ARRAY<T>) -> MAP<STRING, T>", "F(T a, ARRAY<T> b)", "MAP<STRING, T>"),
    ("(a DECIMAL, b DECIMAL(4, 2)) -> DECIMAL", "F(DECIMAL a, DECIMAL(4, 2) b)", "DECIMAL"),
    ("(a STRING...) -> STRING", "F(STRING... a)", "STRING"),
    ("(a T..., _k INTEGER) -> ARRAY<T>", "F(T... a, INTEGER _k)", "ARRAY<T>"),
    ("(f () => T) -> T", "F(LAMBDA () => T f)", "T"),
    ("(m MAP<K, V>, f (K, V) => BOOLEAN) -> MAP<K, V>", "F(MAP<K, V> m, LAMBDA (K, V) => BOOLEAN f)", "MAP<K, V>"),
    ("(a STRUCT<x INTEGER, `y` T>) -> T", "F(STRUCT<X INTEGER, `y` T> a)", "T"),
    ("(a MAP<STRING, T>) -> ARRAY<STRUCT<K STRING, V T>>", "F(MAP<STRING, T> a)", "ARRAY<STRUCT<K STRING, V T>>"),
]


@pytest.mark.parametrize(("text", "shown", "result"), READ)
def test_read(text: str, shown: str, result: str) -> None:
    signature = parse(text)
    assert signature.shown("F") == shown
    assert str(signature.result) == result


@pytest.mark.parametrize(
    "text",
    ["", "(a INTEGER)", "(a NOPE) -> STRING", "(a) -> STRING", "(a INTEGER -> STRING", "(a ARRAY) -> STRING",
     "(a INTEGER) -> STRING x", "(a T..., b T...) -> T", "(a DECIMAL(x, y)) -> STRING", "(a INTEGER) -> ;"],
)  # fmt: skip
def test_bad_signature_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="Bad signature"):
        parse(text)


FITTING = [
    # signature, arguments, parameters, result, cost
    ("(a INTEGER) -> STRING", ["INTEGER"], ["INTEGER"], "STRING", 0),
    ("(a BIGINT) -> STRING", ["INTEGER"], ["BIGINT"], "STRING", 1),
    ("(a DOUBLE) -> STRING", ["INTEGER"], ["DOUBLE"], "STRING", 3),
    ("(a DOUBLE) -> STRING", ["DECIMAL(4, 2)"], ["DOUBLE"], "STRING", 1),
    ("(a DECIMAL) -> DECIMAL", ["DECIMAL(4, 2)"], ["DECIMAL(4, 2)"], "DECIMAL(4, 2)", 0),
    ("(a DECIMAL) -> DECIMAL", ["INTEGER"], ["DECIMAL(10, 0)"], "DECIMAL(10, 0)", 2),
    ("(a DECIMAL) -> DECIMAL", ["BIGINT"], ["DECIMAL(19, 0)"], "DECIMAL(19, 0)", 1),
    ("(a DECIMAL(6, 3)) -> STRING", ["DECIMAL(4, 2)"], ["DECIMAL(6, 3)"], "STRING", 1),
    ("(a T) -> T", ["ARRAY<STRING>"], ["ARRAY<STRING>"], "ARRAY<STRING>", 0),
    ("(a T, b T) -> T", ["INTEGER", "INTEGER"], ["INTEGER", "INTEGER"], "INTEGER", 0),
    ("(a T, b T) -> T", ["INTEGER", "BIGINT"], ["BIGINT", "BIGINT"], "BIGINT", 1),
    ("(a T, b T) -> T", ["DOUBLE", "INTEGER"], ["DOUBLE", "DOUBLE"], "DOUBLE", 1),
    ("(a T, b T) -> T", ["NULL", "STRING"], ["STRING", "STRING"], "STRING", 0),
    ("(a ARRAY<T>, b T) -> BOOLEAN", ["ARRAY<BIGINT>", "INTEGER"], ["ARRAY<BIGINT>", "BIGINT"], "BOOLEAN", 1),
    ("(a ARRAY<T>, b T) -> T", ["ARRAY<INTEGER>", "BIGINT"], ["ARRAY<BIGINT>", "BIGINT"], "BIGINT", 1),
    ("(a MAP<K, V>) -> ARRAY<K>", ["MAP<STRING, INTEGER>"], ["MAP<STRING, INTEGER>"], "ARRAY<STRING>", 0),
    ("(a ARRAY<DOUBLE>) -> DOUBLE", ["ARRAY<INTEGER>"], ["ARRAY<DOUBLE>"], "DOUBLE", 3),
    ("(a MAP<STRING, BIGINT>) -> BIGINT", ["MAP<STRING, INTEGER>"], ["MAP<STRING, BIGINT>"], "BIGINT", 1),
    ("(a STRING...) -> STRING", [], [], "STRING", 0),
    ("(a STRING...) -> STRING", ["STRING", "NULL", "STRING"], ["STRING"] * 3, "STRING", 0),
    ("(a STRING, b T...) -> T", ["STRING", "INTEGER", "BIGINT"], ["STRING", "BIGINT", "BIGINT"], "BIGINT", 1),
    ("(a T..., b STRING) -> T", ["INTEGER", "INTEGER", "STRING"], ["INTEGER", "INTEGER", "STRING"], "INTEGER", 0),
    ("(a STRUCT<X T>) -> T", ["STRUCT<X DATE>"], ["STRUCT<X DATE>"], "DATE", 0),
    ("(a T) -> T", ["NULL"], ["None"], "None", 0),
]


@pytest.mark.parametrize(("text", "given", "parameters", "result", "cost"), FITTING)
def test_fits(text: str, given: Sequence[str], parameters: Sequence[str], result: str, cost: int) -> None:
    found = match(parse(text), [kind(one) for one in given])
    assert found is not None
    assert [str(one) for one in found.parameters] == list(parameters)
    assert (str(found.result), found.cost) == (result, cost)


NOT_FITTING = [
    ("(a INTEGER) -> STRING", []),
    ("(a INTEGER) -> STRING", ["INTEGER", "INTEGER"]),
    ("(a INTEGER) -> STRING", ["BIGINT"]),
    ("(a INTEGER) -> STRING", ["STRING"]),
    ("(a STRING) -> STRING", ["INTEGER"]),
    ("(a DECIMAL) -> STRING", ["DOUBLE"]),
    ("(a DECIMAL(4, 2)) -> STRING", ["DECIMAL(6, 3)"]),
    ("(a DECIMAL(4, 2)) -> STRING", ["INTEGER"]),
    ("(a T, b T) -> T", ["INTEGER", "STRING"]),
    ("(a ARRAY<T>) -> T", ["INTEGER"]),
    ("(a ARRAY<T>) -> T", ["MAP<STRING, INTEGER>"]),
    ("(a MAP<STRING, T>) -> T", ["MAP<INTEGER, INTEGER>"]),
    ("(a STRING, b BIGINT...) -> T", []),
    ("(a STRUCT<X T>) -> T", ["STRUCT<Y DATE>"]),
    ("(a STRUCT<X T>) -> T", ["STRUCT<X DATE, Y DATE>"]),
    ("(a TIMESTAMP) -> STRING", ["DATE"]),
    ("(a (T) => U) -> U", ["INTEGER"]),
]


@pytest.mark.parametrize(("text", "given"), NOT_FITTING)
def test_does_not_fit(text: str, given: Sequence[str]) -> None:
    assert match(parse(text), [kind(one) for one in given]) is None


def test_lambdas_get_their_types_from_the_other_arguments() -> None:
    asked: list[Sequence[SqlType]] = []

    def body(parameters: Sequence[SqlType]) -> SqlType:
        asked.append(parameters)
        return STRING

    signature = parse("(f (T) => U, items ARRAY<T>) -> ARRAY<U>")
    found = match(signature, [LambdaArgument(1, body), kind("ARRAY<INTEGER>")])
    assert found is not None
    assert asked == [[INTEGER]]
    assert found.parameters[0] == LambdaType((INTEGER,), STRING)
    assert str(found.result) == "ARRAY<STRING>"
    assert match(signature, [LambdaArgument(2, body), kind("ARRAY<INTEGER>")]) is None
    assert match(signature, [LambdaArgument(1, body), None]) is None


def test_a_lambda_may_widen_what_it_returns() -> None:
    signature = parse("(items ARRAY<T>, state S, f (S, T) => S) -> S")
    found = match(signature, [kind("ARRAY<INTEGER>"), INTEGER, LambdaArgument(2, lambda parameters: BIGINT)])
    assert found is not None and found.result == BIGINT


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("INTEGER", "BIGINT", "BIGINT"),
        ("INTEGER", "DECIMAL(3, 1)", "DECIMAL(11, 1)"),
        ("BIGINT", "DECIMAL(3, 1)", "DECIMAL(20, 1)"),
        ("DECIMAL(5, 1)", "DECIMAL(4, 3)", "DECIMAL(7, 3)"),
        ("DECIMAL(5, 1)", "DOUBLE", "DOUBLE"),
        ("ARRAY<INTEGER>", "ARRAY<DOUBLE>", "ARRAY<DOUBLE>"),
        ("STRUCT<A INTEGER>", "STRUCT<B STRING, A BIGINT>", "STRUCT<A BIGINT, B STRING>"),
        ("STRING", "INTEGER", "None"),
        ("DATE", "TIMESTAMP", "None"),
        ("ARRAY<STRING>", "ARRAY<INTEGER>", "None"),
    ],
)
def test_widest(left: str, right: str, expected: str) -> None:
    a, b = kind(left), kind(right)
    assert isinstance(a, SqlType) and isinstance(b, SqlType)
    assert str(widest(a, b)) == expected
