"""Several aggregates as one: states, results, taking back, merging, failures, and that it is data."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from caudal.ksql import processing_log
from caudal.ksql.errors import KsqlError
from caudal.ksql.expressions.aggregation import Aggregation
from caudal.ksql.expressions.scope import Binding, Scope, Where
from caudal.ksql.functions import registry, resolution
from caudal.ksql.functions.registry import Udaf
from caudal.ksql.syntax.parser import parse_expression
from caudal.ksql.syntax.tree import Call
from caudal.ksql.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, array

SCOPE = Scope(
    [
        Binding("K", STRING, Where.KEY, 0),
        Binding("A", INTEGER, Where.VALUE, 0),
        Binding("D", DOUBLE, Where.VALUE, 1),
        Binding("B", BOOLEAN, Where.VALUE, 2),
    ]
)
KEY = ("k",)


class Listed(Udaf):
    """The values, but none above 100; made with a first element."""

    def __init__(self, types: Any, literals: Any) -> None:
        self.state_type = self.result_type = array(types[0])
        self.first = literals[-1]

    def initial(self) -> list[Any]:
        return [self.first]

    def add(self, state: list[Any], value: Any) -> list[Any]:
        if value is not None and value > 100:
            raise ValueError("too large")
        return [*state, value]

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        if left == right:
            raise ValueError("the same")
        return left + right

    def result(self, state: list[Any]) -> list[Any]:
        if None in state:
            raise ValueError("NULL in it")
        return state


@pytest.fixture(autouse=True)
def listed() -> Iterator[None]:
    resolution.load()
    registry.aggregate("T_LISTED", "(value T, _first INTEGER) -> ARRAY<T>", description="")(Listed)
    yield
    del registry.AGGREGATES["T_LISTED"]


def call(text: str) -> Call:
    found = parse_expression(text)
    assert isinstance(found, Call)
    return found


def aggregation(*texts: str, what: str = "") -> Aggregation:
    return Aggregation([(call(text), f"KSQL_AGG_VARIABLE_{index}") for index, text in enumerate(texts)], SCOPE, what)


def added(of: Aggregation, *rows: tuple[Any, ...]) -> tuple[Any, ...]:
    state = of.initial()
    for row in rows:
        state = of.add(KEY, row, state)
    return state


def test_states_and_results() -> None:
    both = aggregation("COUNT(*)", "COUNT(a)", "SUM(a * 2)", "MAX(d)", "SUM(d)")
    state = added(both, (1, 1.5, True), (None, 2.5, None), (4, None, False))
    assert state == (3, 2, 10, 2.5, 4.0)
    assert both.results(state) == (3, 2, 10, 2.5, 4.0)
    assert both.result_types == (BIGINT, BIGINT, INTEGER, DOUBLE, DOUBLE)
    assert len(both.state_types) == 5
    assert both.aliases[1] == "KSQL_AGG_VARIABLE_1"
    assert both.sql == "COUNT(*), COUNT(A), SUM(A * 2), MAX(D), SUM(D)"


def test_a_state_that_came_back_from_a_store_may_be_a_list() -> None:
    both = aggregation("COUNT(*)", "SUM(a)")
    assert both.add(KEY, (1, None, None), [5, 5]) == (6, 6)
    assert both.results([5, 5]) == (5, 5)


def test_empty() -> None:
    """GROUP BY with a HAVING alone, say."""
    none = aggregation()
    assert added(none, (1, None, None)) == () and none.results(()) == () and none.merge(KEY, (), ()) == ()


def test_undo() -> None:
    both = aggregation("COUNT(*)", "SUM(a)")
    assert both.can_undo
    state = added(both, (1, None, None), (5, None, None))
    assert both.undo(KEY, (1, None, None), state) == (1, 5)
    without = aggregation("COUNT(*)", "MAX(a)")
    assert not without.can_undo and without.cannot_undo() == ["MAX"]
    with pytest.raises(KsqlError, match="\\(MAX\\) cannot be applied to a table"):
        without.undo(KEY, (1, None, None), (1, 1))


def test_merge() -> None:
    both = aggregation("COUNT(*)", "SUM(a)", "T_LISTED(a, 0)")
    assert both.merge(KEY, (1, 5, [0, 1]), (2, 6, [0, 2])) == (3, 11, [0, 1, 0, 2])


def test_simple_aggregates_are_not_called() -> None:
    source = aggregation("COUNT(*)", "SUM(a)").sources["add"]
    assert source == (
        "def add(key, value, state):\n"
        "    try:\n"
        "        t1 = value[0]\n"
        "        [s0, s1] = state\n"
        "        return ((s0 + 1), (s1 if t1 is None else s1 + t1), )\n"
        "    except Exception:\n"
        "        return failed(key, value, state)\n"
    )


def test_inline_and_called_give_the_same() -> None:
    """What stands in the generated text is what the aggregate's own method does."""
    values: list[Any] = [3, None, 2**31 - 1, -5, 0, 2**31 - 1, None]
    for text in ("COUNT(*)", "COUNT(a)", "SUM(a)", "SUM(CAST(a AS BIGINT))", "MIN(a)", "MAX(a)", "SUM(d)", "MAX(d)"):
        one = aggregation(text)
        udaf = one._members[0].udaf
        state, expected = one.initial(), udaf.initial()
        for value in values:
            row = (value, None if value is None else value / 2, None)
            arguments = [] if "*" in text else [row[1] if "(d)" in text else value]
            state, expected = one.add(KEY, row, state), udaf.add(expected, *arguments)
            assert state == (expected,), text
            assert one.results(state) == (udaf.result(expected),)


def test_initial_arguments_must_be_literals() -> None:
    with pytest.raises(KsqlError) as caught:
        aggregation("T_LISTED(a, a)")
    assert caught.value.message == (
        "Parameter 2 passed to function T_LISTED must be a literal constant, but was expression: 'A'."
    )
    assert caught.value.at is not None and caught.value.at.column == 13
    assert aggregation("T_LISTED(a, 7)").initial() == ([7],)


def test_states_that_can_be_changed_are_not_shared() -> None:
    one = aggregation("T_LISTED(a, 7)")
    assert one.initial()[0] is not one.initial()[0]


def test_argument_that_fails_counts_as_null_and_the_others_go_on() -> None:
    both = aggregation("COUNT(*)", "SUM(10 / a)", "COUNT(10 / a)", what="Q1")
    with processing_log.collected() as lines:
        assert added(both, (5, None, None), (0, None, None)) == (2, 2, 1)
    assert {line["logger"] for line in lines} == {"Error computing expression 10 / A in Q1"}


def test_aggregate_that_fails_keeps_its_state() -> None:
    both = aggregation("T_LISTED(a, 0)", "COUNT(*)", what="Q1")
    with processing_log.collected() as lines:
        assert added(both, (5, None, None), (101, None, None), (6, None, None)) == ([0, 5, 6], 3)
        assert both.merge(KEY, ([1], 1), ([1], 1)) == ([1], 2)
        assert both.results(([None], 1)) == (None, 1)
    assert [processing_log.message_of(line) for line in lines] == ["too large", "the same", "NULL in it"]
    assert lines[0]["logger"] == "Error computing aggregate T_LISTED(A, 0) in Q1"


def test_tombstone_adds_nothing() -> None:
    both = aggregation("SUM(a)", "COUNT(*)")
    assert both.add(KEY, None, (5, 1)) == (5, 1)


def test_pickled_as_data_with_its_parts() -> None:
    both = aggregation("COUNT(*)", "SUM(a + 1)", "TOPK(a, 2)")
    data = pickle.dumps((both, both.add, both.results, both.initial))
    assert b"def " not in data
    again, add, results, initial = pickle.loads(data)
    assert again == both and add == both.add and hash(add) == hash(both.add)
    state = add(KEY, (4, None, None), initial())
    assert results(state) == (1, 5, [4])
    assert aggregation("COUNT(*)") != aggregation("COUNT(a)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SUM(b)", "Function 'SUM' does not accept parameters (BOOLEAN)."),
        ("SUM()", "Function 'SUM' does not accept parameters ()."),
        ("SUMM(a)", "Can't find any functions with the name 'SUMM'. Did you mean 'SUM'?"),
        ("SUM(x)", "Column 'X' cannot be resolved."),
        ("SUM(SUM(a))", "Aggregate function SUM is not allowed here."),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(KsqlError) as caught:
        aggregation(text)
    assert message in caught.value.message
    assert caught.value.at is not None
