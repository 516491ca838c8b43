"""SQL expressions: what they compute, SQL's nulls, and errors that say where and what."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from caudal.plan.errors import PlanError
from caudal.plan.expressions import expression

ROW: dict[str, Any] = {
    "amount": 3,
    "user": "ana",
    "address": {"city": {"name": "Soria"}, "lines": ["a", "b"]},
    "nothing": None,
    "paid": True,
    "key": "a field",
    "odd name": 1,
}


def evaluate(text: str) -> Any:
    return expression(text, ("key", "value"))("k", ROW)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("amount > 0", True),
        ("amount <> 3", False),
        ("amount >= 3 AND user = 'ana'", True),
        ("amount BETWEEN 1 AND 2", False),
        ("user IN ('eva', 'ana')", True),
        ("amount NOT IN (1, 2)", True),
        ("user LIKE 'a_a'", True),
        ("user LIKE 'A%'", False),
        ("user ILIKE 'A%'", True),
        ("user RLIKE '^an'", True),
        ("amount * 2 + 1", 7),
        ("2 + amount * 2", 8),
        ("(2 + amount) * 2", 10),
        ("amount / 2", 1.5),
        ("7 DIV 2", 3),
        ("-7 DIV 2", -3),
        ("-7 % 3", -1),
        ("7 % -3", 1),
        ("-amount", -3),
        ("user || '!'", "ana!"),
        ("key", "k"),
        ("KEY", "k"),
        ("value.key", "a field"),
        ("`odd name`", 1),
        ('"odd name"', 1),
        ("address.city.name", "Soria"),
        ("address->city->name", "Soria"),
        ("address.lines[1]", "b"),
        ("address.lines[5]", None),
        ("value['user']", "ana"),
        ("CASE WHEN amount > 2 THEN 'much' ELSE 'little' END", "much"),
        ("CASE user WHEN 'eva' THEN 1 WHEN 'ana' THEN 2 END", 2),
        ("CASE WHEN amount > 5 THEN 1 END", None),
        ("IF(paid, 'yes', 'no')", "yes"),
        ("CAST('12' AS INT)", 12),
        ("CAST('12.7' AS BIGINT)", 12),
        ("CAST(amount AS STRING)", "3"),
        ("CAST('true' AS BOOLEAN)", True),
        ("CAST(paid AS STRING)", "true"),
        ("TRY_CAST('x' AS INT)", None),
        ("upper(user)", "ANA"),
        ("substring(user, 2)", "na"),
        ("substring(user, -2, 1)", "n"),
        ("left(user, 2) || right(user, 1)", "ana"),
        ("concat(user, 1, 'x')", "ana1x"),
        ("split('a b', ' ')", ["a", "b"]),
        ("instr(user, 'n')", 2),
        ("trim('  a ')", "a"),
        ("ltrim('  a ') || '|'", "a |"),
        ("rtrim('  a ') || '|'", "  a|"),
        ("rpad('7', 3, 'xy')", "7xy"),
        ("initcap('ana SORIA')", "Ana Soria"),
        ("9223372036854775806 + 1", 9223372036854775807),
        ("9007199254740993 / 1", 9007199254740992.0),
        ("lpad('7', 3, '0')", "007"),
        ("round(2.5)", 3),
        ("round(-2.5)", -3),
        ("round(2.345, 2)", 2.35),
        ("mod(7, 3)", 1),
        ("power(2, 3)", 8),
        ("size(address.lines)", 2),
        ("(user, amount)", ("ana", 3)),
        ("STRUCT(user AS who, amount)", {"who": "ana", "amount": 3}),
        ("ARRAY[amount, 4]", [3, 4]),
        ("TRUE", True),
        ("1.5e2", 150.0),
        ("'it''s'", "it's"),
    ],
)
def test_result(text: str, result: Any) -> None:
    assert evaluate(text) == result
    assert type(evaluate(text)) is type(result)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("nothing > 1", None),
        ("nothing = nothing", None),
        ("missing + 1", None),
        ("missing.deeper.still", None),
        ("NOT nothing", None),
        ("nothing AND FALSE", False),
        ("nothing AND TRUE", None),
        ("nothing OR TRUE", True),
        ("FALSE OR nothing", None),
        ("nothing IS NULL", True),
        ("amount IS NOT NULL", True),
        ("nothing IS TRUE", False),
        ("paid IS TRUE", True),
        ("amount IN (1, NULL)", None),
        ("amount IN (3, NULL)", True),
        ("amount BETWEEN NULL AND 2", False),
        ("amount BETWEEN NULL AND 5", None),
        ("coalesce(nothing, missing, 7)", 7),
        ("nvl(nothing, 7)", 7),
        ("nullif(amount, 3)", None),
        ("upper(nothing)", None),
        ("user || nothing", None),
        ("greatest(1, NULL, 3)", 3),
        ("CASE nothing WHEN NULL THEN 1 ELSE 2 END", 2),
        ("CASE WHEN nothing THEN 1 ELSE 2 END", 2),
        ("IF(nothing, 1, 2)", 2),
        ("CAST(nothing AS INT)", None),
        ("nothing LIKE 'a'", None),
        ("-nothing", None),
    ],
)
def test_nulls_are_sqls(text: str, result: Any) -> None:
    assert evaluate(text) is result if result is None or isinstance(result, bool) else evaluate(text) == result


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("amount >", "at line 1, column 8: an operand is missing"),
        ("(amount", "column 7: expecting )"),
        ("a b c", "column 5"),
        ("amount +\n* 2", "line 2"),
        ("'abc", "is wrong"),
        ("", "is empty"),
        ("a; b", "without semicolons"),
        ("SELECT 1", "not a statement"),
        ("amount IN (SELECT 1)", "not a statement"),
        ("frobnicate(1)", "FROBNICATE is not known"),
        ("count(*)", "aggregate"),
        ("sum(amount)", "SUM is an aggregate"),
        ("concat()", "an operand is missing"),
        ("power(1)", "power(1)"),
        ("amount AS x", "alias"),
        ("CAST(amount AS BLOB)", "cannot cast"),
        ("amount IS 3", "IS takes NULL, TRUE or FALSE"),
        ("STRUCT(amount + 1)", "needs a name"),
        ("*", "cannot be used"),
        ("amount >> 2", "cannot be used"),
    ],
)
def test_mistakes_are_said_with_place_and_cause(text: str, said: str) -> None:
    with pytest.raises(PlanError) as raised:
        expression(text, ("key", "value"))
    assert said in str(raised.value)


def test_unlike_types_are_an_error_and_not_quietly_false() -> None:
    with pytest.raises(TypeError, match="cannot compare int 3 with str '3'"):
        evaluate("amount = '3'")
    with pytest.raises(TypeError):
        evaluate("amount > '2'")
    with pytest.raises(TypeError, match="no fields"):
        evaluate("user.name")


def test_names_are_arguments_or_fields_of_the_value() -> None:
    assert expression("left.a + right.a", ("key", "left", "right"))("k", {"a": 1}, {"a": 2}) == 3
    assert expression("aggregate + amount", ("key", "value", "aggregate"))("k", ROW, 4) == 7
    assert expression("0", ())() == 0
    with pytest.raises(PlanError, match="does not know 'amount' here: there is key, left, right"):
        expression("amount", ("key", "left", "right"))


def test_values_may_be_objects_with_attributes() -> None:
    class Order:
        amount = 5

    assert expression("amount + 1", ("key", "value"))("k", Order()) == 6


def test_an_expression_travels_as_its_text() -> None:
    again = pickle.loads(pickle.dumps(expression("amount > 2", ("key", "value"))))
    assert again == expression("amount > 2", ("key", "value"))
    assert again("k", ROW) is True
