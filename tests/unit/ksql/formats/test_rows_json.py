"""Rows in REST answers and requests."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.ksql.formats.rows_of_types import NESTED, SIMPLE, values

from caudal.ksql import types
from caudal.ksql.formats.rows_json import loads, row_from_json, row_to_json, value_from_json, value_to_json
from caudal.ksql.formats.values import Misfit
from caudal.ksql.schema import Column
from caudal.ksql.types import SqlType

SHOWN: list[tuple[SqlType, Any, str]] = [
    (types.INTEGER, 5, "5"),
    (types.STRING, None, "null"),
    (types.DOUBLE, 1.5, "1.5"),
    (types.DOUBLE, math.nan, '"NaN"'),
    (types.decimal(6, 2), Decimal("1.50"), "1.50"),
    (types.BYTES, b"\x00\xff", '"AP8="'),
    (types.DATE, date(2026, 1, 31), '"2026-01-31"'),
    (types.TIME, time(10, 20), '"10:20"'),
    (types.TIME, time(10, 20, 30), '"10:20:30"'),
    (types.TIME, time(10, 20, 30, 4000), '"10:20:30.004"'),
    (types.TIMESTAMP, datetime(2026, 1, 31, 10, 20, 30, tzinfo=UTC), '"2026-01-31T10:20:30.000"'),
    (types.TIMESTAMP, datetime(2026, 1, 31, 10, 20, 30, 4000, tzinfo=UTC), '"2026-01-31T10:20:30.004"'),
    (types.array(types.DATE), [date(2026, 1, 31), None], '["2026-01-31",null]'),
    (types.mapping(types.INTEGER, types.STRING), {1: "a"}, '{"1":"a"}'),
    (types.mapping(types.BOOLEAN, types.DATE), {True: None}, '{"true":null}'),
    (
        types.struct(("A", types.decimal(4, 1)), ("b", types.STRING)),
        {"A": Decimal("1.0"), "b": "x"},
        '{"A":1.0,"b":"x"}',
    ),
]


@pytest.mark.parametrize(("type", "value", "text"), SHOWN, ids=lambda value: str(value)[:40])
def test_values_are_shown(type: SqlType, value: Any, text: str) -> None:
    assert orjson.dumps(value_to_json(type)(value)).decode() == text
    assert orjson.dumps(row_to_json([type, types.STRING])((value, "x"))).decode() == f'[{text},"x"]'


EVERY = [type for type, _ in [*SIMPLE.values(), *NESTED.values()]]


@settings(max_examples=30, deadline=None)
@given(st.tuples(*(values(type) for type in EVERY)))
def test_what_is_shown_can_be_inserted(row: tuple[Any, ...]) -> None:
    found = loads(orjson.dumps(row_to_json(EVERY)(row)))
    assert tuple(value_from_json(type)(value) for type, value in zip(EVERY, found, strict=True)) == row


TAKEN: list[tuple[SqlType, Any, Any]] = [
    (types.DATE, 10, date(1970, 1, 11)),
    (types.TIMESTAMP, "2026-01-31T10:20:30Z", datetime(2026, 1, 31, 10, 20, 30, tzinfo=UTC)),
    (types.TIMESTAMP, "2026-01-31T10:20:30+02:00", datetime(2026, 1, 31, 8, 20, 30, tzinfo=UTC)),
    (types.TIMESTAMP, 1000, datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),
    (types.decimal(4, 2), "1.5", Decimal("1.50")),
    (types.decimal(20, 16), 0.1234567890123456, Decimal("0.1234567890123456")),
    (types.INTEGER, "5", 5),
    (types.STRING, 1.5, "1.5"),
    (types.STRING, [1.5], "[1.5]"),
    (types.struct(("A", types.INTEGER), ("B", types.INTEGER)), {"a": 1}, {"A": 1, "B": None}),
]


@pytest.mark.parametrize(("type", "value", "expected"), TAKEN, ids=lambda value: str(value)[:40])
def test_values_are_taken(type: SqlType, value: Any, expected: Any) -> None:
    assert value_from_json(type)(value) == expected


MISFITS: list[tuple[SqlType, Any, str]] = [
    (types.DATE, "31.1.2026", "Can't coerce string to type. targetType: DATE, path: $.C"),
    (types.TIMESTAMP, "soon", "Can't coerce string to type. targetType: TIMESTAMP, path: $.C"),
    (types.array(types.INTEGER), [1, "x"], "Can't coerce string to type. targetType: INTEGER, path: $.C[1]"),
    (
        types.mapping(types.STRING, types.INTEGER),
        {"k": []},
        "Can't convert type. sourceType: array, requiredType: INTEGER, path: $.C.k",
    ),
    (types.struct(("A", types.INTEGER)), {"z": 1}, "STRUCT<A INTEGER> has no field 'z', path: $.C"),
    (
        types.struct(("A", types.INTEGER)),
        {"a": True},
        "Can't convert type. sourceType: boolean, requiredType: INTEGER, path: $.C.A",
    ),
    (
        types.struct(("A", types.INTEGER)),
        5,
        "Can't convert type. sourceType: int, requiredType: STRUCT<A INTEGER>, path: $.C",
    ),
]


@pytest.mark.parametrize(("type", "value", "message"), MISFITS, ids=lambda value: str(value)[:40])
def test_misfits_say_where(type: SqlType, value: Any, message: str) -> None:
    with pytest.raises(Misfit) as caught:
        row_from_json([Column("C", type)], {"c": value})
    assert str(caught.value) == message


def test_names_of_an_insert() -> None:
    columns = [Column("ID", types.INTEGER), Column("name", types.STRING)]
    assert row_from_json(columns, {"id": 1, "`name`": "x", "other": 2}) == ({"ID": 1, "name": "x"}, ["other"])
