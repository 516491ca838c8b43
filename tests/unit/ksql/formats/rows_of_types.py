"""Columns and rows for the tests of every format: a sample of each type, and strategies that make any row of a type."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from caudal.ksql import types
from caudal.ksql.types import Base, SqlType

MOMENT = datetime(2026, 1, 31, 10, 20, 30, 456000, tzinfo=UTC)
SIMPLE: dict[str, tuple[SqlType, list[Any]]] = {
    "boolean": (types.BOOLEAN, [True, False]),
    "integer": (types.INTEGER, [0, -1, 2**31 - 1, -(2**31)]),
    "bigint": (types.BIGINT, [0, 7, 2**63 - 1, -(2**63)]),
    "double": (types.DOUBLE, [0.0, -1.5, 1e300, 5e-324, 1e7]),
    "decimal": (types.decimal(6, 2), [Decimal("0.00"), Decimal("-12.30"), Decimal("9999.99")]),
    "wide decimal": (types.decimal(38, 10), [Decimal("1234567890123456789012345678.0123456789")]),
    "string": (types.STRING, ["ana", "", "añ 'o\"\\ ,\n\t|", "日本", "null", " x ", "#1"]),
    "bytes": (types.BYTES, [b"\x00\xff", b"abc"]),
    "date": (types.DATE, [date(1970, 1, 1), date(1969, 12, 31), date(2026, 2, 28), date(9999, 12, 31)]),
    "time": (types.TIME, [time(0), time(23, 59, 59, 999000), time(1, 2, 3)]),
    "timestamp": (types.TIMESTAMP, [MOMENT, datetime(1970, 1, 1, tzinfo=UTC), datetime(1955, 11, 5, tzinfo=UTC)]),
}
NESTED: dict[str, tuple[SqlType, list[Any]]] = {
    "array": (types.array(types.INTEGER), [[], [1, 2]]),
    "array of decimals": (types.array(types.decimal(4, 1)), [[Decimal("1.5")]]),
    "map": (types.mapping(types.STRING, types.BIGINT), [{"b": 1, "a": 2}, {}]),
    "map of dates": (types.mapping(types.STRING, types.DATE), [{"x": date(2026, 1, 1)}]),
    "struct": (types.struct(("A", types.INTEGER), ("b", types.STRING)), [{"A": 1, "b": "x"}]),
    "deep": (
        types.struct(
            ("L", types.array(types.struct(("T", types.TIMESTAMP)))), ("M", types.mapping(types.STRING, types.BYTES))
        ),
        [{"L": [{"T": MOMENT}], "M": {"k": b"\x01"}}],
    ),
}


def values(type: SqlType, *, nulls: bool = True, finite: bool = True) -> st.SearchStrategy[Any]:
    """Any value of a type."""
    made = _values(type, nulls, finite)
    return st.none() | made if nulls else made


def _values(type: SqlType, nulls: bool, finite: bool) -> st.SearchStrategy[Any]:
    if isinstance(type, types.Decimal):
        top = 10**type.precision - 1
        return st.integers(-top, top).map(
            lambda unscaled: Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -type.scale))
        )
    if isinstance(type, types.Array):
        return st.lists(values(type.element, nulls=nulls, finite=finite), max_size=3)
    if isinstance(type, types.Map):
        keys = values(type.key, nulls=False)
        return st.dictionaries(keys, values(type.value, nulls=nulls, finite=finite), max_size=3)
    if isinstance(type, types.Struct):
        return st.fixed_dictionaries(
            {field.name: values(field.type, nulls=nulls, finite=finite) for field in type.fields}
        )
    return {
        Base.BOOLEAN: st.booleans(),
        Base.INTEGER: st.integers(-(2**31), 2**31 - 1),
        Base.BIGINT: st.integers(-(2**63), 2**63 - 1),
        Base.DOUBLE: st.floats(allow_nan=False, allow_infinity=not finite),
        Base.STRING: st.text(max_size=8),
        Base.BYTES: st.binary(max_size=8),
        Base.DATE: st.dates(),
        Base.TIME: st.integers(0, 86_399_999).map(lambda ms: (datetime.min + timedelta(milliseconds=ms)).time()),
        Base.TIMESTAMP: st.integers(-(10**13), 10**14).map(
            lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
        ),
    }[type.base]
