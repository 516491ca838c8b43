"""Schemas with every kind and logical type, and values of them, for the converters' tests."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from caudal.connect.data import (
    BOOLEAN,
    BYTES,
    DATE_SCHEMA,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    Field,
    Kind,
    Schema,
    array,
    decimal,
    map_of,
    struct,
)

FLAT = struct(
    "shop.Flat",
    id=INT64,
    user=STRING,
    note=STRING.as_optional(),
    count=INT32,
    price=FLOAT64,
    paid=BOOLEAN,
    parent=INT64.as_optional(),
    country=STRING,
)
FLAT_VALUE = {
    "id": 2**40,
    "user": "año",
    "note": None,
    "count": -3,
    "price": 1.5,
    "paid": True,
    "parent": 7,
    "country": "",
}

INNER = struct("shop.Inner", tiny=INT8, ratio=FLOAT32.as_optional())

FULL = struct(
    "shop.Full",
    tiny=INT8,
    small=INT16,
    int=INT32,
    long=INT64,
    float=FLOAT32,
    double=FLOAT64,
    flag=BOOLEAN,
    text=STRING,
    raw=BYTES,
    at=TIMESTAMP_SCHEMA,
    day=DATE_SCHEMA,
    clock=TIME_SCHEMA,
    price=decimal(2),
    wide=decimal(3, 12).as_optional(),
    maybe_at=TIMESTAMP_SCHEMA.as_optional(),
    names=array(STRING),
    numbers=map_of(STRING, INT64),
    by_number=map_of(INT32, STRING),
    inner=INNER,
    maybe_inner=INNER.as_optional(),
    inners=array(INNER),
    inner_by_name=map_of(STRING, INNER),
    unnamed=struct(None, a=INT16),
    other_unnamed=struct(None, b=BYTES.as_optional()),
    defaulted=replace(INT64, default=5, has_default=True),
    default_price=replace(decimal(2), default=Decimal("1.25"), has_default=True),
    default_at=replace(TIMESTAMP_SCHEMA, optional=True, default=datetime(2020, 1, 1, tzinfo=UTC), has_default=True),
    named=Schema(Kind.STRING, name="shop.Code", version=3, doc="of the country", parameters={"length": "2"}),
)
FULL_VALUE: dict[str, Any] = {
    "tiny": -128,
    "small": 32767,
    "int": -(2**31),
    "long": 2**63 - 1,
    "float": 0.5,
    "double": 1e300,
    "flag": False,
    "text": "zażółć",
    "raw": b"\x00\xff",
    "at": datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC),
    "day": date(2026, 11, 16),
    "clock": time(23, 59, 59, 999000),
    "price": Decimal("-1.28"),
    "wide": Decimal("123456789.125"),
    "maybe_at": None,
    "names": ["a", "b"],
    "numbers": {"a": 1},
    "by_number": {1: "one", -2: "two"},
    "inner": {"tiny": 1, "ratio": None},
    "maybe_inner": None,
    "inners": [{"tiny": 2, "ratio": 1.5}],
    "inner_by_name": {"x": {"tiny": 3, "ratio": None}},
    "unnamed": {"a": 1},
    "other_unnamed": {"b": None},
    "defaulted": 6,
    "default_price": Decimal("2.50"),
    "default_at": datetime(2026, 1, 1, 12, tzinfo=UTC),
    "named": "DE",
}


def union(name: str, *members: tuple[str, Schema]) -> Schema:
    """A struct that stands for a union."""
    return Schema(
        Kind.STRUCT, name=name, optional=True, fields=tuple(Field(key, each.as_optional()) for key, each in members)
    )


def assert_same_schema(found: Schema | None, expected: Schema) -> None:
    """Field by field first, for a message that can be read."""
    assert found is not None
    for one, other in zip(found.fields, expected.fields, strict=True):
        assert one == other
    assert found == expected
