"""Which messages match a text, a key, a header or an expression, and what is said about wrong expressions."""

from __future__ import annotations

from typing import Any

import pytest

from caudal.ui.services.decoding import Message, NoSchemas, Record
from caudal.ui.services.filters import LONGEST_EXPRESSION, Filter, FilterError

VALUE = b'{"amount": 11, "tags": ["a", "b"], "who": {"x-y": 1}, "from": "Madrid"}'


def message(key: bytes | None = b"ana", value: bytes | None = VALUE, **more: Any) -> Message:
    return Message(Record("t", 1, 5, 1000, 1, key, value, more.get("headers", (("kind", b"abc"),))), NoSchemas())


def matches(filter: Filter, one: Message | None = None) -> bool:
    return filter.compiled()(one or message())


@pytest.mark.parametrize("text", ["MADRID", "ana", "KIND", "abc", '"amount": 11'])
def test_text_is_found_in_key_value_and_headers_without_regard_to_case(text: str) -> None:
    assert matches(Filter(text=text))


def test_text_that_is_nowhere_is_not_found() -> None:
    assert not matches(Filter(text="Sevilla"))


@pytest.mark.parametrize(
    ("key", "found"), [("ana", True), ("an", False), ("an%", True), ("%na", True), ("%n%", True), ("%x%", False)]
)
def test_a_key_is_whole_unless_a_percent_sign_opens_it(key: str, found: bool) -> None:
    assert matches(Filter(key=key)) is found


@pytest.mark.parametrize(
    ("header", "found"), [("kind", True), ("other", False), ("kind=abc", True), ("kind = abc", True), ("kind=x", False)]
)
def test_a_header_is_asked_for_by_name_or_with_its_value(header: str, found: bool) -> None:
    assert matches(Filter(header=header)) is found


def test_all_parts_of_a_filter_must_hold() -> None:
    assert matches(Filter(text="Madrid", key="ana", header="kind", expression="amount > 10"))
    assert not matches(Filter(text="Madrid", key="eva", header="kind", expression="amount > 10"))


@pytest.mark.parametrize(
    "expression",
    [
        'value.amount > 10 and key == "ana" or headers.kind like "a%"',
        "amount > 10",
        "value.amount between 1 and 20",
        "value.tags[0] = 'a'",
        "contains(value.tags, 'b')",
        "value.who.`x-y` is not null",
        "value.`from` = 'Madrid'",
        "headers['kind'] = 'abc'",
        "not key in ('x', 'y')",
        "upper(key) = 'ANA'",
        "key ilike 'AN_'",
        "partition = 1 and offset = 5 and timestamp >= 1000 and size > 3",
        "case when amount > 1 then true else false end",
        "coalesce(value.missing, 3) = 3",
        "cast(amount as string) = '11'",
    ],
)
def test_expressions_that_hold(expression: str) -> None:
    assert matches(Filter(expression=expression))


@pytest.mark.parametrize("expression", ["amount > 11", "value.missing > 1", "key = null", "key", "headers.none = 'a'"])
def test_expressions_that_do_not_hold(expression: str) -> None:
    assert not matches(Filter(expression=expression))


@pytest.mark.parametrize("expression", ["key > 5", "amount = '11'", "value.amount.deep = 1", "amount / 0 = 1"])
def test_a_message_that_cannot_be_compared_does_not_match_and_is_counted(expression: str) -> None:
    matching = Filter(expression=expression).compiled()
    assert not matching(message())
    assert matching.failed == 1
    assert matching.reason


@pytest.mark.parametrize(
    ("expression", "position"),
    [
        ("value.amount >", 14),
        ("amount > 10 10", 13),
        ("key = 'ana')", 12),
        ("(key = 'ana'", 13),
        ('key = "ana', 7),
        ("amount > 1 and\nkey >", 20),
        ("foo(key) = 1", 1),
        ("amount = 1 and power(2, 3) = 8", 16),
        ("amount = 1; drop", 11),
    ],
)
def test_a_wrong_expression_says_where(expression: str, position: int) -> None:
    with pytest.raises(FilterError) as error:
        Filter(expression=expression).compiled()
    assert error.value.position == position


@pytest.mark.parametrize(
    "expression",
    [
        "select 1",
        "amount in (select 1)",
        "key rlike '(a+)+$'",
        "regexp_like(key, 'a')",
        "regexp_replace(key, 'a', 'b') = 'b'",
        "lpad(key, 999999999, 'x') = key",
        "power(9, 999999999) > 1",
        "__import__('os')",
        "count(*) > 1",
        "key as name",
        "x" * (LONGEST_EXPRESSION + 1),
        "(" * 900 + "1" + ")" * 900,
    ],
)
def test_what_is_no_test_or_costs_without_bounds_is_refused(expression: str) -> None:
    with pytest.raises(FilterError):
        Filter(expression=expression).compiled()


def test_an_empty_filter_is_empty() -> None:
    assert Filter().is_empty
    assert not Filter(expression="true").is_empty
