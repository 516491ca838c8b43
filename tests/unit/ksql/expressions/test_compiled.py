"""Compiled expressions as the plan uses them: rows, predicates, failures item by item, and that they are data."""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import pytest

from caudal.ksql import processing_log
from caudal.ksql.errors import KsqlError
from caudal.ksql.expressions.compiled import Compiled, compile_predicate, compile_row, compile_value, constant
from caudal.ksql.expressions.scope import Binding, Scope, Where
from caudal.ksql.expressions.typing import type_of
from caudal.ksql.syntax import tree
from caudal.ksql.syntax.parser import parse_expression
from caudal.ksql.types import BIGINT, BOOLEAN, DATE, DOUBLE, INTEGER, STRING, SqlType, array, decimal, struct
from caudal.runtime.record import Windowed

SCOPE = Scope(
    [
        Binding("K", STRING, Where.KEY, 0, "S"),
        Binding("K2", INTEGER, Where.KEY, 1, "S"),
        Binding("A", INTEGER, Where.VALUE, 0, "S"),
        Binding("B", STRING, Where.VALUE, 1, "S"),
        Binding("C", DOUBLE, Where.VALUE, 2, "S"),
        Binding("L", array(INTEGER), Where.VALUE, 3, "S"),
    ]
)
KEY = ("k", 5)


def row(*texts: str, scope: Scope = SCOPE, what: str = "") -> Compiled:
    return compile_row([(parse_expression(text), None) for text in texts], scope, what)


def value(text: str, scope: Scope = SCOPE, target: SqlType | None = None) -> Compiled:
    return compile_value(parse_expression(text), scope, target)


def predicate(text: str) -> Compiled:
    return compile_predicate(parse_expression(text), SCOPE, "WHERE of Q1")


def test_row_of_key_and_value_columns() -> None:
    compiled = row("k", "s.k2", "b", "a + k2", "c * a")
    assert compiled(KEY, (3, "x", 1.5, [])) == ("k", 5, "x", 8, 4.5)
    assert compiled.types == (STRING, INTEGER, STRING, INTEGER, DOUBLE)
    assert row()(KEY, ()) == ()
    assert row("a")(KEY, (3,)) == (3,)


def test_windowed_key() -> None:
    bindings = [*SCOPE.bindings]
    bindings += [Binding("WINDOWSTART", BIGINT, Where.WINDOW_START), Binding("WINDOWEND", BIGINT, Where.WINDOW_END)]
    compiled = row("k", "k2 + 1", "windowend - windowstart", scope=Scope(bindings, is_windowed=True))
    assert compiled(Windowed(KEY, 1000, 3000), ()) == ("k", 6, 2000)


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("a", BIGINT, 3),
        ("a", DOUBLE, 3.0),
        ("a", decimal(12, 2), Decimal("3.00")),
        ("1", BIGINT, 1),
        ("'12'", INTEGER, 12),
        ("1.5", DOUBLE, 1.5),
        ("NULL", STRING, None),
        ("1", STRING, "1"),
        ("5", decimal(3, 1), Decimal("5.0")),
        ("ARRAY[1, 2]", array(BIGINT), [1, 2]),
        ("ARRAY[1, 2]", array(DOUBLE), [1.0, 2.0]),
        ("STRUCT(x := 1)", struct(("X", BIGINT), ("Y", STRING)), {"X": 1, "Y": None}),
        ("'2026-01-01' = '2026-01-01'", BOOLEAN, True),
    ],
)
def test_value_of_a_wanted_type(text: str, target: SqlType, expected: Any) -> None:
    compiled = value(text, target=target)
    found = compiled(KEY, (3, "x", 1.5, []))
    assert (compiled.type, type(found), found) == (target, type(expected), expected)


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        ("c", INTEGER, "Expected type INTEGER, but got DOUBLE."),
        ("b", INTEGER, "Expected type INTEGER, but got STRING."),
        ("a", STRING, "Expected type STRING, but got INTEGER."),
        ("'x'", INTEGER, "Invalid input syntax for type INTEGER"),
        ("3000000000", INTEGER, "Expected type INTEGER, but got BIGINT."),
        ("123.45", decimal(3, 2), "Numeric field overflow"),
        ("'tomorrow'", DATE, "Failed to parse date"),
        ("STRUCT(x := 1)", struct(("Y", INTEGER)), "Expected type STRUCT<Y INTEGER>, but got STRUCT<X INTEGER>."),
        ("1", array(INTEGER), "Expected type ARRAY<INTEGER>, but got INTEGER."),
    ],
)
def test_value_that_is_not_of_the_wanted_type(text: str, target: SqlType, message: str) -> None:
    with pytest.raises(KsqlError) as caught:
        value(text, target=target)
    assert message in caught.value.message
    assert caught.value.at == (1, 1, 0)


def test_predicate_is_true_or_false_and_never_null() -> None:
    compiled = predicate("a > 2 AND b = 'x'")
    assert compiled(KEY, (3, "x", None, [])) is True
    assert compiled(KEY, (3, None, None, [])) is False
    assert compiled(KEY, (None, "x", None, [])) is False
    unknown = predicate("b LIKE 'x%'")
    assert unknown(KEY, (3, None, None, [])) is False
    assert predicate("NOT b LIKE 'x%'")(KEY, (3, None, None, [])) is False
    assert predicate("b LIKE 'x%' OR a = 3")(KEY, (3, None, None, [])) is True
    assert predicate("NULL")(KEY, (3, None, None, [])) is False
    with pytest.raises(KsqlError, match="Expected type BOOLEAN, but got INTEGER"):
        predicate("a")


def test_items_fail_alone() -> None:
    compiled = row("a / (a - 1)", "b", "CAST(b AS INTEGER)", what="Q1")
    with processing_log.collected() as lines:
        assert compiled(KEY, (3, "7", 1.5, [])) == (1, "7", 7)
        assert not lines
        assert compiled(KEY, (1, "7", 1.5, [])) == (None, "7", 7)
        assert compiled(KEY, (3, "x", 1.5, [])) == (1, "x", None)
        assert compiled(KEY, (1, "x", 1.5, [])) == (None, "x", None)
    assert [line["logger"] for line in lines] == [
        "Error computing expression A / (A - 1) in Q1",
        "Error computing expression CAST(B AS INTEGER) in Q1",
        "Error computing expression A / (A - 1) in Q1",
        "Error computing expression CAST(B AS INTEGER) in Q1",
    ]


def test_predicate_that_fails_is_false_with_a_line() -> None:
    compiled = predicate("10 / a > 1")
    with processing_log.collected() as lines:
        assert compiled(KEY, (0, "x", 1.5, [])) is False
    assert lines[0]["logger"] == "Error evaluating predicate 10 / A > 1 in WHERE of Q1"
    assert processing_log.message_of(lines[0]) == "Division by zero."


def test_tombstones_pass_without_a_line() -> None:
    with processing_log.collected() as lines:
        assert predicate("a > 2")(KEY, None) is False
        assert row("a", "k")(KEY, None) is None
        assert value("a")(KEY, None) is None
        assert row("k", "k2")(KEY, None) == ("k", 5)
    assert not lines


def test_row_that_is_too_short_is_an_error_of_each_column() -> None:
    with processing_log.collected() as lines:
        assert row("a", "b")(KEY, (1,)) == (1, None)
    assert len(lines) == 1


@pytest.mark.parametrize(
    "compiled",
    [
        row("k", "a + 1", "CASE WHEN c > 1 THEN 'x' ELSE b END", "L[1]", "TRANSFORM(l, x => x * a)"),
        predicate("a IN (1, 2, 3) AND b LIKE 'x%' AND c BETWEEN 1 AND 2"),
        value("CAST(a AS DECIMAL(5, 2)) / 3", target=None),
    ],
    ids=["row", "predicate", "value"],
)
def test_pickled_as_data(compiled: Compiled) -> None:
    data = pickle.dumps(compiled)
    assert b"def " not in data and b"marshal" not in data
    again = pickle.loads(data)
    assert again == compiled and hash(again) == hash(compiled)
    assert again.source == compiled.source and again.sql == compiled.sql and again.types == compiled.types
    for given in ((3, "xy", 1.5, [1, 2]), (0, None, None, None), None):
        assert again(KEY, given) == compiled(KEY, given)


def test_equality_looks_at_expression_scope_and_target() -> None:
    assert value("a + 1") == value("a  +  1")
    assert value("a + 1") != value("a + 2")
    assert value("a") != value("a", target=BIGINT)
    assert value("a") != value("a", scope=Scope([Binding("A", INTEGER, Where.VALUE, 1)]))
    assert value("a") != row("a")


def test_sql_is_for_the_plan() -> None:
    assert row("a+1", "k").sql == "A + 1, K"
    assert repr(value("a")) == "Compiled('A')"


def test_text_of_users_never_gets_into_the_source() -> None:
    evil = "'''); import os; os.abort() #"
    text = "b = '" + evil.replace("'", "''") + "'"
    compiled = predicate(text)
    assert "abort" not in compiled.source
    assert compiled(KEY, (1, evil, None, [])) is True
    quoted = value("STRUCT(`'); import os; os.abort()` := 1)->`'); import os; os.abort()`")
    assert "abort" not in quoted.source
    assert quoted(KEY, (1, "", None, [])) == 1


@pytest.mark.parametrize("operator", ["+", "-", "*", "||"])
def test_deep_expressions(operator: str) -> None:
    """Python's own limit of nested parentheses is none of ours."""
    column = tree.Name("B" if operator == "||" else "A")
    node: tree.Expression = column
    for _ in range(150):
        node = tree.Concatenation(node, column) if operator == "||" else tree.Arithmetic(operator, node, column)
    expected = {"+": 151, "-": -149, "*": 1, "||": "x" * 151}[operator]
    assert compile_value(node, SCOPE)(KEY, (1, "x", 1.0, [])) == expected


def test_deep_expressions_in_lambdas_and_long_conditions() -> None:
    sums = " + ".join(["x"] * 90)
    assert value(f"TRANSFORM(l, x => {sums})")(KEY, (1, "x", 1.0, [1, 2])) == [90, 180]
    node: tree.Expression = tree.Comparison("=", tree.Name("A"), tree.Literal(0))
    for number in range(1, 300):
        node = tree.Or(node, tree.Comparison("=", tree.Name("A"), tree.Literal(number)))
    compiled = compile_predicate(node, SCOPE)
    assert compiled(KEY, (299, "", 0.0, [])) is True
    assert compiled(KEY, (300, "", 0.0, [])) is False
    whens = " ".join(f"WHEN a = {number} THEN {number}" for number in range(150))
    assert value(f"CASE {whens} END")(KEY, (149, "", 0.0, [])) == 149


def test_too_deep_is_an_error_and_no_crash() -> None:
    node: tree.Expression = tree.Name("A")
    for _ in range(20_000):
        node = tree.Negative(node)
    with pytest.raises(KsqlError, match="nested too deeply"):
        compile_value(node, SCOPE)


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("1 + 2", None, 3),
        ("'a' || 'b'", STRING, "ab"),
        ("1", BIGINT, 1),
        ("NULL", INTEGER, None),
        ("ARRAY[1, 2]", array(BIGINT), [1, 2]),
        ("-5", decimal(3, 1), Decimal("-5.0")),
    ],
)
def test_constant(text: str, target: SqlType | None, expected: Any) -> None:
    assert constant(parse_expression(text), target) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [("a", "Column 'A' cannot be resolved"), ("1 / 0", "1 / 0 cannot be computed: Division by zero")],
)
def test_constant_that_is_none(text: str, message: str) -> None:
    with pytest.raises(KsqlError, match=message) as caught:
        constant(parse_expression(text))
    assert caught.value.at == (1, 1, 0)


def test_names() -> None:
    scope = Scope([Binding("ID", INTEGER, Where.VALUE, 0, "L"), Binding("ID", STRING, Where.VALUE, 1, "R")])
    assert type_of(parse_expression("r.id"), scope) == STRING
    with pytest.raises(KsqlError, match=r"Column 'ID' is ambiguous\. Could be L\.ID, R\.ID\."):
        type_of(parse_expression("id"), scope)
    with pytest.raises(KsqlError, match=r"Column 'X\.ID' cannot be resolved"):
        type_of(parse_expression("x.id"), scope)


def test_custom_types_are_settled_before_pickling() -> None:
    scope = Scope(SCOPE.bindings, types={"POINT": struct(("X", DOUBLE), ("Y", DOUBLE))})
    compiled = value("CAST(STRUCT(x := a, y := 2) AS point)", scope)
    assert compiled(KEY, (1, "", None, [])) == {"X": 1.0, "Y": 2.0}
    assert pickle.loads(pickle.dumps(compiled))(KEY, (1, "", None, [])) == {"X": 1.0, "Y": 2.0}
    nested = value("CAST(ARRAY[STRUCT(x := a)] AS ARRAY<point>)", scope)
    assert nested(KEY, (1, "", None, [])) == [{"X": 1.0, "Y": None}]
    assert pickle.loads(pickle.dumps(nested)) == nested
    with pytest.raises(KsqlError, match="Cannot resolve unknown type: ARRAY<POIN>"):
        value("CAST(l AS ARRAY<poin>)", scope)


def test_the_fast_path_is_one_function_without_inner_calls() -> None:
    assert predicate("a > 2 AND b = 'x'").source == (
        "def predicate(key, value):\n"
        "    try:\n"
        "        c0 = value[0]\n"
        "        c1 = value[1]\n"
        "        return ((c0 is not None and c0 > 2) and (c1 is not None and c1 == k0))\n"
        "    except Exception:\n"
        "        return failed(key, value)\n"
    )
    assert "        return (value[1], value[0], )\n" in row("b", "a").source
