"""Rows of state and internal topics: every type exactly, and the same bytes for the same row."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.ksql.formats.rows_of_types import NESTED, SIMPLE, values

from caudal.ksql import types
from caudal.ksql.formats.rows import Row
from caudal.ksql.types import SqlType
from caudal.serde.serde import SerdeError

OTHERS: dict[str, tuple[SqlType, list[Any]]] = {
    "map of numbers": (types.mapping(types.INTEGER, types.STRING), [{2: "b", 1: "a", 10: None}]),
    "map of doubles": (types.mapping(types.DOUBLE, types.DOUBLE), [{1.5: math.inf, 0.5: None}]),
    "map of structs": (types.mapping(types.STRING, types.struct(("A", types.TIME))), [{"x": {"A": None}}]),
    "array of arrays": (
        types.array(types.array(types.mapping(types.STRING, types.INTEGER))),
        [[[{"b": 1, "a": 2}], None]],
    ),
    "booleans by key": (types.mapping(types.BOOLEAN, types.BYTES), [{True: b"1", False: None}]),
}
EVERY = {**SIMPLE, **NESTED, **OTHERS}
ALL = [type for type, _ in EVERY.values()]
OF_ALL = Row(ALL)


@pytest.mark.parametrize("name", EVERY)
def test_samples_come_back(name: str) -> None:
    type, samples = EVERY[name]
    serde = Row([type, types.STRING])
    for sample in [*samples, None]:
        row = (sample, "x")
        found = serde.deserialize(serde.serialize(row))
        assert found == row
        assert found[0].__class__ is sample.__class__


@settings(max_examples=25, deadline=None)
@given(st.tuples(*(values(type, finite=False) for type in ALL)))
def test_any_row_comes_back(row: tuple[Any, ...]) -> None:
    assert OF_ALL.deserialize(OF_ALL.serialize(row)) == row


def shuffled(value: Any) -> Any:
    """The same value, its maps in another order."""
    if isinstance(value, dict):
        items = [(key, shuffled(item)) for key, item in value.items()]
        random.shuffle(items)
        return dict(items)
    return [shuffled(item) for item in value] if isinstance(value, list) else value


@settings(max_examples=25, deadline=None)
@given(st.tuples(*(values(type) for type in ALL)))
def test_the_same_row_is_the_same_bytes(row: tuple[Any, ...]) -> None:
    assert OF_ALL.serialize(tuple(shuffled(value) for value in row)) == OF_ALL.serialize(row)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0.0, -0.0])
def test_doubles_keep_what_json_has_no_number_for(value: float) -> None:
    for serde in (Row([types.DOUBLE]), Row([types.DOUBLE, types.DATE])):
        row = (value,) if len(serde.types) == 1 else (value, None)
        found = serde.deserialize(serde.serialize(row))[0]
        assert found.__class__ is float
        assert str(found) == str(value)


def test_a_zero_has_no_sign() -> None:
    serde = Row([types.decimal(4, 2)])
    assert serde.serialize((Decimal("-0.00"),)) == serde.serialize((Decimal("0.00"),))


def test_rows_are_compact() -> None:
    serde = Row([types.STRING, types.BIGINT, types.struct(("LONG_NAME", types.INTEGER))])
    assert serde.serialize(("ana", 1, {"LONG_NAME": 2})) == b'["ana",1,[2]]'
    assert Row([]).deserialize(Row([]).serialize(())) == ()


@pytest.mark.parametrize("row", [(), (1, 2), 5, None, (object(),)])
def test_what_is_no_row_cannot_be_written(row: Any) -> None:
    for type in (types.BIGINT, types.DATE, types.DOUBLE):
        with pytest.raises(SerdeError, match=r"^Row\(.*\) cannot write "):
            Row([type]).serialize(row)


@pytest.mark.parametrize("data", [b"", b"[", b"null", b"5", b"[]", b"[1,2]", b'{"a":1}'])
def test_what_is_no_row_cannot_be_read(data: bytes) -> None:
    for type in (types.BIGINT, types.DATE):
        with pytest.raises(SerdeError, match=r"^Row\(.*\) cannot read "):
            Row([type]).deserialize(data)


@pytest.mark.parametrize("data", [b'["x"]', b"[99999999999]", b"[[]]"])
def test_what_is_no_date_cannot_be_read(data: bytes) -> None:
    with pytest.raises(SerdeError, match=r"^Row\(DATE\) cannot read "):
        Row([types.DATE]).deserialize(data)
