"""What is no statement: where it shows, the sentence, and that hostile input ends quickly and with an error."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import pytest
from tests.unit.ksql.syntax.case_files import in_pairs

from caudal.ksql.errors import SyntaxProblem
from caudal.ksql.syntax.parser import parse_expression, parse_script, parse_statement, parse_type

ERRORS = in_pairs("errors.txt")


@pytest.mark.parametrize(("written", "expected"), ERRORS, ids=[case[0][:60] for case in ERRORS])
def test_the_sentence_and_its_place(written: str, expected: str) -> None:
    text = written.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t")
    with pytest.raises(SyntaxProblem) as caught:
        parse_script(text)
    error = caught.value
    assert error.at is not None
    assert f"{error.at.line}:{error.at.column} {error}" == expected
    assert error.text == text


def test_the_caret_stands_below_the_mistake() -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse_statement("SELECT a\n  FROM s\n\tWHERE a =*\t1")
    assert caught.value.explained() == ("line 3:11: Expected an expression, found '*'.\n\tWHERE a =*\t1\n\t         ^")


DEEP = [
    "(" * 2000,
    "f(" * 2000,
    "a[" * 2000,
    "NOT " * 2000 + "a",
    "- " * 2000 + "a",
    "CASE WHEN " * 2000,
    "ARRAY[" * 2000,
    "CAST(" * 2000,
    "f(x => " * 2000,
    "a" + "->b" * 2000,
    "a" + " + 1" * 2000,
    "CASE " * 2000,
    "a IN (" * 2000,
    "STRUCT(a := " * 2000,
    "a" + " AT TIME ZONE 'x'" * 2000,
]


@pytest.mark.parametrize("text", DEEP, ids=[text[:16] for text in DEEP])
def test_deep_nesting_is_an_error_like_any_other(text: str) -> None:
    with pytest.raises(SyntaxProblem, match=r"nested more than 64 levels|more than 100 operations"):
        parse_expression(text)


@pytest.mark.parametrize("text", ["SELECT * FROM (" * 5000, "EXPLAIN " * 5000 + "x"])
def test_deep_statements_are_an_error_like_any_other(text: str) -> None:
    with pytest.raises(SyntaxProblem, match="nested more than 64 levels"):
        parse_statement(text)


def test_deep_types_are_an_error_like_any_other() -> None:
    with pytest.raises(SyntaxProblem, match="nested more than 64 levels"):
        parse_type("ARRAY<" * 5000)


def test_what_is_nested_as_deep_as_people_do_is_read() -> None:
    parse_expression("(" * 60 + "a" + ")" * 60)
    parse_expression("f(" * 60 + "a" + ")" * 60)
    parse_expression("a" + " + 1" * 90)
    parse_type("ARRAY<" * 60 + "INT" + ">" * 60)


def test_long_chains_stay_low() -> None:
    # Balanced, since AND, OR and || may be regrouped: whoever walks the tree by recursion is safe.
    for operator in (" OR ", " AND ", " || "):
        parsed = parse_expression(operator.join(["a"] * 2000))
        assert parsed == parse_expression(operator.join(["(a)"] * 2000))


def seconds(text: str) -> float:
    begin = time.process_time()
    with contextlib.suppress(SyntaxProblem):
        parse_script(text)
    return time.process_time() - begin


LONG: dict[str, Callable[[int], str]] = {
    "many items": lambda size: "SELECT " + ", ".join(["a + 1"] * (size // 7)) + " FROM s",
    "many options": lambda size: "SELECT * FROM s WHERE a IN (" + "1, " * (size // 3) + "1)",
    "many alternatives": lambda size: "SELECT * FROM s WHERE a" + " OR a" * (size // 5),
    "many lambdas": lambda size: "SELECT f(" + "(x, y) => x, " * (size // 13) + "a) FROM s",
    "an open string": lambda size: "SELECT '" + "''" * (size // 2),
    "a long number": lambda size: "SELECT " + "1" * size,
    "open comments": lambda size: "/* " * (size // 3),
    "open parentheses in GROUP BY": lambda size: "SELECT a FROM s GROUP BY " + "(" * size,
    "many statements": lambda size: "SHOW STREAMS;" * (size // 13),
    "dashes": lambda size: "SELECT " + "- " * (size // 2),
}


@pytest.mark.parametrize("kind", LONG)
def test_time_is_linear_in_the_length_of_the_text(kind: str) -> None:
    make = LONG[kind]
    short, long = min(seconds(make(2_000)) for _ in range(3)), seconds(make(32_000))
    if long > 48 * short:  # others use the machine: once more
        long = seconds(make(32_000))
    assert long < 48 * short + 0.1, f"16 times the text took {long / short:.0f} times as long"
