"""Expressions: precedence, every form's tree, and the text that a tree is written as."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tests.unit.ksql.syntax.case_files import in_columns

from caudal.ksql.errors import Position
from caudal.ksql.syntax import tree
from caudal.ksql.syntax.format import format_expression
from caudal.ksql.syntax.parser import parse_expression
from caudal.ksql.types import DATE, INTEGER, STRING, array, decimal, struct

A, B, X = tree.Name("A"), tree.Name("B"), tree.Name("X")
ONE = tree.Literal(1)


@pytest.mark.parametrize(("written", "grouped"), in_columns("expressions.txt", "=="))
def test_operators_bind_as_in_ksqldb(written: str, grouped: str) -> None:
    assert parse_expression(written) == parse_expression(grouped)


@pytest.mark.parametrize("written", [case[0] for case in in_columns("expressions.txt", "==")])
def test_an_expression_is_written_as_text_of_the_same_tree(written: str) -> None:
    parsed = parse_expression(written)
    assert parse_expression(format_expression(parsed)) == parsed


@pytest.mark.parametrize(("written", "canonical"), in_columns("canonical.txt", "==>"))
def test_an_expression_has_one_text(written: str, canonical: str) -> None:
    parsed = parse_expression(written)
    assert format_expression(parsed) == canonical
    assert parse_expression(canonical) == parsed


TREES: list[tuple[str, tree.Expression]] = [
    ("a + 1", tree.Arithmetic("+", A, ONE)),
    ("-a", tree.Negative(A)),
    ("-1", tree.Literal(-1)),
    ("1.50", tree.Literal(Decimal("1.50"))),
    ("1.5E0", tree.Literal(1.5)),
    ("'it''s'", tree.Literal("it's")),
    ("TRUE", tree.Literal(True)),
    ("NULL", tree.Null()),
    ("DATE '2026-01-31'", tree.TypedLiteral(DATE, "2026-01-31")),
    ("t.`a b`", tree.Name("a b", "T")),
    ("a || b", tree.Concatenation(A, B)),
    ("a <> b", tree.Comparison("<>", A, B)),
    ("a IS NOT DISTINCT FROM b", tree.Comparison("IS NOT DISTINCT FROM", A, B)),
    ("a AND b", tree.And(A, B)),
    ("a OR b", tree.Or(A, B)),
    ("NOT a", tree.Not(A)),
    ("a IS NULL", tree.IsNull(A)),
    ("a IS NOT NULL", tree.IsNull(A, negated=True)),
    ("a BETWEEN 1 AND b", tree.Between(A, ONE, B)),
    ("a NOT IN (1, b)", tree.In(A, (ONE, B), negated=True)),
    ("a LIKE 'x' ESCAPE '!'", tree.Like(A, tree.Literal("x"), "!")),
    ("CASE WHEN a THEN 1 END", tree.Case(None, (tree.When(A, ONE),))),
    ("CASE a WHEN 1 THEN b ELSE 1 END", tree.Case(A, (tree.When(ONE, B),), ONE)),
    ("CAST(a AS DECIMAL(4, 2))", tree.Cast(A, decimal(4, 2))),
    ("CAST(a AS Foo)", tree.Cast(A, tree.TypeName("FOO"))),
    ("CAST(a AS ARRAY<foo>)", tree.Cast(A, tree.TypeName("ARRAY<FOO>"))),
    ("CAST(a AS STRUCT<x INT, y STRING>)", tree.Cast(A, struct(("X", INTEGER), ("Y", STRING)))),
    ("CAST(a AS ARRAY<INT>)", tree.Cast(A, array(INTEGER))),
    ("count(*)", tree.Call("COUNT", (tree.Star(),))),
    ("f(a, 1)", tree.Call("F", (A, ONE))),
    ("timestampadd(hour, 1, a)", tree.Call("TIMESTAMPADD", (tree.Literal("HOUR"), ONE, A))),
    ("a[1]", tree.Subscript(A, ONE)),
    ("a->b", tree.Dereference(A, "B")),
    ("ARRAY[a]", tree.ArrayOf((A,))),
    ("MAP('k' := 1)", tree.MapOf(((tree.Literal("k"), ONE),))),
    ("STRUCT(a := 1)", tree.StructOf((("A", ONE),))),
    ("f(x => x)", tree.Call("F", (tree.Lambda(("X",), X),))),
    ("f((x, a) => x)", tree.Call("F", (tree.Lambda(("X", "A"), X),))),
    ("a AT TIME ZONE 'UTC'", tree.AtTimeZone(A, tree.Literal("UTC"))),
]


@pytest.mark.parametrize(("written", "expected"), TREES, ids=[case[0] for case in TREES])
def test_every_form_has_its_node(written: str, expected: tree.Expression) -> None:
    assert parse_expression(written) == expected


def test_literals_keep_their_python_type() -> None:
    # 1 == 1.0 == Decimal(1) == True in Python: comparing trees does not tell them apart.
    values: list[Any] = [parse_expression(text).value for text in ("1", "1.", "1E0", "TRUE", "'1'")]  # type: ignore[attr-defined]
    assert [type(value) for value in values] == [int, Decimal, float, bool, str]


def test_every_node_knows_where_it_begins() -> None:
    parsed = parse_expression("a +\n  f(b->c, -1)")
    assert isinstance(parsed, tree.Arithmetic)
    assert isinstance(parsed.right, tree.Call)
    field, number = parsed.right.arguments
    assert parsed.at == Position(1, 1, 0)
    assert parsed.right.at == Position(2, 3, 6)
    assert field.at == Position(2, 5, 8)
    assert number.at == Position(2, 11, 14)
