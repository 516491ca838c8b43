"""Calls of functions in expressions: NULLs, implicit casts, lambdas, units, laziness and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from caudal.ksql import processing_log
from caudal.ksql.errors import KsqlError
from caudal.ksql.expressions.evaluate import evaluate
from caudal.ksql.functions import registry, resolution

CALLS: list[tuple[Any, ...]] = []


def seen(*arguments: Any) -> Any:
    CALLS.append(arguments)
    return arguments[0]


@pytest.fixture(autouse=True)
def functions() -> Iterator[None]:
    """Functions of the tests' own; they are gone afterwards."""
    resolution.load()
    define: dict[str, tuple[tuple[str, ...], Callable[..., Any], bool]] = {
        "T_SEEN": (("(a T) -> T", "(a T, b T) -> T"), seen, False),
        "T_NULLS": (("(a T, b INTEGER) -> T",), seen, True),
        "T_MANY": (("(first STRING, rest BIGINT...) -> BIGINT",), lambda first, *rest: sum(rest), False),
        "T_UNIT": (("(unit INTERVALUNIT, n INTEGER) -> STRING",), lambda unit, n: f"{n} {unit}", False),
        "T_FAIL": (("(a INTEGER) -> INTEGER",), lambda a: 1 // 0, False),
        "T_APPLY": (("(a T, f (T) => U) -> U",), lambda a, f: f(a), False),
        "T_FOLD": (("(a ARRAY<T>, s S, f (S, T) => S) -> S",), _fold, False),
        "T_MAPPED": (
            ("(a MAP<K, V>, f (K, V) => L, g (K, V) => W) -> MAP<L, W>",),
            lambda a, f, g: {f(k, v): g(k, v) for k, v in a.items()},
            False,
        ),
    }
    for name, (signatures, call, nulls) in define.items():
        registry.scalar(name, *signatures, description="", category="TEST", nulls=nulls)(call)
    CALLS.clear()
    yield
    for name in define:
        del registry.SCALARS[name]


def _fold(items: list[Any], state: Any, step: Any) -> Any:
    for item in items:
        state = step(state, item)
    return state


ROW: dict[str, tuple[str, Any]] = {
    "I": ("INTEGER", 7),
    "L": ("BIGINT", 8),
    "S": ("STRING", "abc"),
    "N": ("INTEGER", None),
    "A": ("ARRAY<INTEGER>", [1, 2, 3]),
    "M": ("MAP<STRING, INTEGER>", {"a": 1, "b": 2}),
    "DAYS2": ("INTEGER", 1),
}

VALUES = [
    ("T_SEEN(i)", "INTEGER", 7),
    ("t_seen(n)", "INTEGER", None),
    ("T_SEEN(i, l)", "BIGINT", 7),
    ("T_SEEN(NULL, i)", "INTEGER", None),
    ("T_NULLS(n, 1)", "INTEGER", None),
    ("T_NULLS('x', NULL)", "STRING", "x"),
    ("T_MANY('x')", "BIGINT", 0),
    ("T_MANY('x', 1, i, l)", "BIGINT", 16),
    ("T_MANY('x', 1, n)", "BIGINT", None),
    ("T_UNIT(DAYS, 3)", "STRING", "3 DAYS"),
    ("T_UNIT('hours', 3)", "STRING", "3 HOURS"),
    ("CAST(DATEADD(DAYS, i, DATE '2026-01-01') AS STRING)", "STRING", "2026-01-08"),
    ("T_UNIT(MILLISECOND, 3)", "STRING", "3 MILLISECOND"),
    # lambdas
    ("T_APPLY(i, x => x + 1)", "INTEGER", 8),
    ("T_APPLY(i, x => x + l)", "BIGINT", 15),
    ("T_APPLY(i, x => s)", "STRING", "abc"),
    ("T_APPLY(i, x => T_APPLY(x, y => x * y))", "INTEGER", 49),
    ("T_APPLY(i, x => T_APPLY(x + 1, x => x))", "INTEGER", 8),
    ("T_APPLY(i, x => CASE WHEN x > 5 THEN 'big' ELSE 'small' END)", "STRING", "big"),
    ("T_APPLY(n, x => 1)", "INTEGER", None),
    ("T_APPLY(i, i => i + 1)", "INTEGER", 8),
    ("T_FOLD(a, 0, (s, x) => s + x)", "INTEGER", 6),
    ("T_FOLD(a, l, (s, x) => s + x)", "BIGINT", 14),
    ("T_FOLD(a, '', (s, x) => s || CAST(x AS STRING))", "STRING", "123"),
    ("T_MAPPED(m, (k, v) => k || '!', (k, v) => v * i)", "MAP<STRING, INTEGER>", {"a!": 7, "b!": 14}),
    ("T_MAPPED(m, (k, v) => v, (k, v) => k)", "MAP<INTEGER, STRING>", {1: "a", 2: "b"}),
    # the first that is not NULL; the others are not computed
    ("COALESCE(n, i, T_FAIL(1))", "INTEGER", 7),
    ("IFNULL(n, i)", "INTEGER", 7),
    ("COALESCE(n, l)", "BIGINT", 8),
    ("COALESCE(n, NULL)", "INTEGER", None),
]


@pytest.mark.parametrize(("text", "kind", "expected"), VALUES)
def test_value(text: str, kind: str, expected: Any) -> None:
    with processing_log.collected() as lines:
        found_type, found = evaluate(text, ROW)
    assert (str(found_type), type(found), found) == (kind, type(expected), expected)
    assert not lines


def test_null_is_not_passed_on_unless_wanted() -> None:
    evaluate("T_SEEN(n)", ROW)
    assert not CALLS
    evaluate("T_NULLS(n, 1)", ROW)
    assert CALLS == [(None, 1)]


def test_arguments_are_cast_to_the_parameters() -> None:
    evaluate("T_SEEN(1, 2.5)", ROW)
    assert [str(one) for one in CALLS[0]] == ["1.0", "2.5"]


def test_column_named_like_a_unit_comes_first() -> None:
    with pytest.raises(KsqlError, match="does not accept parameters \\(INTEGER, INTEGER\\)"):
        evaluate("T_UNIT(DAYS, 3)", {"DAYS": ("INTEGER", 5)})


def test_failure_of_a_nested_call_is_null_by_itself() -> None:
    with processing_log.collected() as lines:
        assert evaluate("COALESCE(T_FAIL(i), 5)", ROW)[1] == 5
        assert evaluate("T_NULLS(T_FAIL(i), 5)", ROW)[1] is None
        assert evaluate("T_FAIL(i)", ROW)[1] is None
    assert len(lines) == 3


REFUSED = [
    ("T_SEEN()", "Function 'T_SEEN' does not accept parameters ()."),
    ("T_SEEN(i, s)", "Function 'T_SEEN' does not accept parameters (INTEGER, STRING)."),
    ("T_MANY(i)", "Valid alternatives are:\nT_MANY(STRING first, BIGINT... rest)"),
    ("T_APPLY(i, 5)", "T_APPLY(T a, LAMBDA (T) => U f)"),
    ("T_APPLY(i, (x, y) => x)", "does not accept parameters (INTEGER, LAMBDA)"),
    ("T_APPLY(x => 1, x => 1)", "does not accept parameters (LAMBDA, LAMBDA)"),
    ("T_FOLD(a, 0, (s, x) => 'x')", "does not accept parameters"),
    ("T_APPLY(i, x => x + s)", "Unsupported arithmetic types. INTEGER STRING"),
    ("T_APPLY(i, x => nix)", "Column 'NIX' cannot be resolved."),
    ("T_FOLD(a, 0, (s, s) => s)", "A lambda's parameters must differ"),
    (
        "T_UNIT('x', 3)",
        "does not accept parameters (STRING, INTEGER).\nValid alternatives are:\nT_UNIT(INTERVALUNIT",
    ),
    ("T_UNIT(FORTNIGHTS, 3)", "Column 'FORTNIGHTS' cannot be resolved."),
    ("T_SEEN(DAYS)", "Column 'DAYS' cannot be resolved."),
    ("T_SEEN(NULL)", "is not known because of NULL"),
    ("T_SEN(i)", "Can't find any functions with the name 'T_SEN'. Did you mean 'T_SEEN'?"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(KsqlError) as caught:
        evaluate(text, ROW)
    assert message in caught.value.message
    assert caught.value.at is not None
