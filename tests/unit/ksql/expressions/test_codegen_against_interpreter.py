"""Generated code against the plainest interpreter there can be: the same for random expressions over random rows.

It is for what no list of cases finds: names that clash, laziness that is lost, NULLs that get through where several
forms are nested.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from caudal.ksql import processing_log
from caudal.ksql.expressions.compiled import compile_predicate, compile_row, compile_value
from caudal.ksql.expressions.scope import Binding, Scope, Where
from caudal.ksql.syntax import tree
from caudal.ksql.types import BOOLEAN, INTEGER, STRING

NAMES = ["A", "B", "C", "P", "Q", "S", "T"]
SCOPE = Scope(
    [
        *(Binding(name, INTEGER, Where.VALUE, index) for index, name in enumerate("ABC")),
        *(Binding(name, BOOLEAN, Where.VALUE, index) for index, name in enumerate("PQ", 3)),
        *(Binding(name, STRING, Where.VALUE, index) for index, name in enumerate("ST", 5)),
    ]
)


class Failed(Exception):
    pass


# -- random trees ------------------------------------------------------------------------------------------------------


def number(chance: random.Random, depth: int) -> tree.Expression:
    if depth <= 0 or chance.random() < 0.15:
        return chance.choice([tree.Name(chance.choice("ABC")), tree.Literal(chance.choice([0, 1, 2, 7, 2**31 - 1]))])
    kind = chance.randrange(8)
    if kind < 4:
        operator = chance.choice("+-*/%")
        return tree.Arithmetic(operator, number(chance, depth - 1), number(chance, depth - 1))
    if kind == 4:
        return tree.Negative(number(chance, depth - 1))
    if kind == 5:
        arguments = tuple(number(chance, depth - 1) for _ in range(chance.randint(1, 3)))
        return tree.Call("COALESCE", arguments)
    whens = tuple(tree.When(truth(chance, depth - 1), number(chance, depth - 1)) for _ in range(chance.randint(1, 3)))
    return tree.Case(None, whens, number(chance, depth - 1) if chance.random() < 0.6 else None)


def text(chance: random.Random, depth: int) -> tree.Expression:
    if depth <= 0 or chance.random() < 0.4:
        return chance.choice([tree.Name(chance.choice("ST")), tree.Literal(chance.choice(["", "a", "ab", "%"]))])
    if chance.random() < 0.5:
        return tree.Concatenation(text(chance, depth - 1), text(chance, depth - 1))
    return tree.Case(None, (tree.When(truth(chance, depth - 1), text(chance, depth - 1)),), text(chance, depth - 1))


def truth(chance: random.Random, depth: int) -> tree.Expression:
    if depth <= 0 or chance.random() < 0.1:
        return chance.choice([tree.Name("P"), tree.Name("Q"), tree.Literal(True), tree.Literal(False)])
    kind = chance.randrange(10)
    less = depth - 1
    if kind < 2:
        return tree.And(truth(chance, less), truth(chance, less))
    if kind < 4:
        return tree.Or(truth(chance, less), truth(chance, less))
    if kind == 4:
        return tree.Not(truth(chance, less))
    if kind == 5:
        return tree.IsNull(number(chance, less), chance.random() < 0.5)
    if kind == 6:
        return tree.In(number(chance, less), tuple(number(chance, less - 2) for _ in range(chance.randint(1, 3))))
    if kind == 7:
        return tree.Between(number(chance, less), number(chance, less), number(chance, less), chance.random() < 0.5)
    if kind == 8:
        return tree.Like(text(chance, less), tree.Literal(chance.choice(["a%", "%b", "_", "%a%", "ab"])))
    operator = chance.choice(["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"])
    return tree.Comparison(operator, number(chance, less), number(chance, less))


# -- what they mean ----------------------------------------------------------------------------------------------------


def wrapped(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def meaning(node: Any, row: tuple[Any, ...]) -> Any:
    match node:
        case tree.Literal():
            return node.value
        case tree.Name():
            return row[NAMES.index(node.name)]
        case tree.Negative():
            value = meaning(node.operand, row)
            return None if value is None else wrapped(-value)
        case tree.Arithmetic():
            left, right = meaning(node.left, row), meaning(node.right, row)
            return None if left is None or right is None else computed(node.operator, left, right)
        case tree.Concatenation():
            return (meaning(node.left, row) or "") + (meaning(node.right, row) or "")
        case tree.Call():
            return next((value for one in node.arguments if (value := meaning(one, row)) is not None), None)
        case tree.Case():
            for when in node.whens:
                if meaning(when.condition, row) is True:
                    return meaning(when.result, row)
            return None if node.default is None else meaning(node.default, row)
        case tree.And() | tree.Or():
            decided = isinstance(node, tree.Or)
            left = meaning(node.left, row)
            if left is decided:
                return decided
            right = meaning(node.right, row)
            return decided if right is decided else None if None in (left, right) else not decided
        case tree.Not():
            value = meaning(node.operand, row)
            return None if value is None else not value
        case tree.IsNull():
            return (meaning(node.operand, row) is None) is not node.negated
        case tree.In():
            value = meaning(node.operand, row)
            options = [meaning(one, row) for one in node.options]  # all of them: each may fail
            return value is not None and value in options
        case tree.Between():
            between = compared(">=", node.operand, node.low, row) and compared("<=", node.operand, node.high, row)
            return between is not node.negated
        case tree.Like():
            value = meaning(node.operand, row)
            return None if value is None else likes(value, meaning(node.pattern, row))
        case tree.Comparison():
            return compared(node.operator, node.left, node.right, row)
    raise AssertionError(node)


def computed(operator: str, left: int, right: int) -> int:
    if operator in "/%":
        if right == 0:
            raise Failed
        whole = int(left / right) if abs(left) < 2**50 else left // right
        return wrapped(whole if operator == "/" else left - whole * right)
    return wrapped({"+": left + right, "-": left - right, "*": left * right}[operator])


def compared(operator: str, left: tree.Expression, right: tree.Expression, row: tuple[Any, ...]) -> bool:
    a, b = meaning(left, row), meaning(right, row)
    if operator.startswith("IS"):
        return (a != b) is ("NOT" not in operator)
    if a is None or b is None:
        return False
    return bool({"=": a == b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator])


def likes(value: str, pattern: str) -> bool:
    return {
        "a%": value.startswith("a"),
        "%b": value.endswith("b"),
        "_": len(value) == 1,
        "%a%": "a" in value,
        "ab": value == "ab",
    }[pattern]


def rows(chance: random.Random) -> list[tuple[Any, ...]]:
    numbers = [None, 0, 1, -1, 5, -7, 2**31 - 1, -(2**31)]
    return [
        (
            *(chance.choice(numbers) for _ in range(3)),
            *(chance.choice([None, True, False]) for _ in range(2)),
            *(chance.choice([None, "", "a", "ab"]) for _ in range(2)),
        )
        for _ in range(12)
    ]


@pytest.mark.filterwarnings("error::SyntaxWarning")  # Python's own about the generated text
@pytest.mark.parametrize("seed", range(12))
def test_generated_code_means_the_same(seed: int) -> None:
    chance = random.Random(seed)
    failures = 0
    for _ in range(30):
        make = chance.choice([number, truth, text])
        node = make(chance, chance.randint(1, 5))
        compiled = compile_value(node, SCOPE)
        predicate = compile_predicate(node, SCOPE) if make is truth else None
        in_row = compile_row([(tree.Name("A"), None), (node, None), (node, None)], SCOPE)
        for row in rows(chance):
            with processing_log.collected() as lines:
                found = compiled((), row)
                try:
                    expected = meaning(node, row)
                except Failed:
                    # Where one operand is NULL the other need not be computed, and a nested call fails alone: a
                    # failure here may be none there.
                    failures += bool(lines)
                    continue
                assert (type(found), found) == (type(expected), expected), (compiled.source, row)
                assert in_row((), row) == (row[0], expected, expected)
                if predicate is not None:
                    assert predicate((), row) is (expected is True)
            assert not lines or "COALESCE" in compiled.sql, (compiled.source, row)
    assert failures, "division by zero is part of it"
