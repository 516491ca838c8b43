"""JSON as ksqlDB reads it: which values a column takes, how names are matched, what is said where it fails."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from caudal.ksql import types
from caudal.ksql.formats.json import JsonRow
from caudal.ksql.schema import Column
from caudal.ksql.types import SqlType
from caudal.serde.serde import SerdeError

DECIMAL = types.decimal(6, 2)
WIDE = types.decimal(30, 20)

READ: list[tuple[SqlType, str, Any]] = [
    (types.BOOLEAN, "true", True),
    (types.INTEGER, "5", 5),
    (types.INTEGER, '"5"', 5),
    (types.INTEGER, '"-7"', -7),
    (types.INTEGER, "5.9", 5),
    (types.INTEGER, "2147483647", 2147483647),
    (types.BIGINT, "9223372036854775807", 2**63 - 1),
    (types.BIGINT, '"9223372036854775807"', 2**63 - 1),
    (types.BIGINT, "1e3", 1000),
    (types.DOUBLE, "5", 5.0),
    (types.DOUBLE, '"1.5"', 1.5),
    (types.DOUBLE, '"1e-3"', 0.001),
    (types.DOUBLE, '"Infinity"', math.inf),
    (types.DOUBLE, '"-Infinity"', -math.inf),
    (types.STRING, '"x"', "x"),
    (types.STRING, "5", "5"),
    (types.STRING, "1.10", "1.10"),
    (types.STRING, "123456789012345678901234567890", "123456789012345678901234567890"),
    (types.STRING, "true", "true"),
    (types.STRING, '{"a": [1, {"b": null}]}', '{"a":[1,{"b":null}]}'),
    (types.STRING, '{"a": [{"b": 1.50}]}', '{"a":[{"b":1.50}]}'),
    (types.STRING, '[1.50, {"a": 1.0}]', '[1.50, {"a":1.0}]'),
    (types.STRING, '[1, "a", null, true]', "[1, a, null, true]"),
    (DECIMAL, "1.5", Decimal("1.50")),
    (DECIMAL, "7", Decimal("7.00")),
    (DECIMAL, '"1.5"', Decimal("1.50")),
    (DECIMAL, "-0.0", Decimal("0.00")),
    (DECIMAL, "1.500000", Decimal("1.50")),
    (DECIMAL, "1.5000000000000000000000", Decimal("1.50")),
    (WIDE, "1.12345678912345678912", Decimal("1.12345678912345678912")),
    (WIDE, "1E-5", Decimal("0.00001000000000000000")),
    (types.BYTES, '"AP8="', b"\x00\xff"),
    (types.BYTES, '""', b""),
    (types.DATE, "10", date(1970, 1, 11)),
    (types.DATE, '"10"', date(1970, 1, 11)),
    (types.DATE, "-1", date(1969, 12, 31)),
    (types.TIME, "3723004", time(1, 2, 3, 4000)),
    (types.TIMESTAMP, "1000", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),
    (types.TIMESTAMP, '"1000"', datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),
    (types.array(types.INTEGER), '[1, "2", null]', [1, 2, None]),
    (types.array(types.array(types.STRING)), "[[1], []]", [["1"], []]),
    (types.mapping(types.STRING, types.DOUBLE), '{"a": 1, "b": null}', {"a": 1.0, "b": None}),
    (types.struct(("A", types.INTEGER), ("b", types.STRING)), '{"a": 1, "b": 2, "c": 3}', {"A": 1, "b": "2"}),
    (types.struct(("A", types.INTEGER), ("b", types.STRING)), "{}", {"A": None, "b": None}),
    *((type, "null", None) for type in (types.BOOLEAN, types.INTEGER, DECIMAL, types.array(types.DATE))),
]


@pytest.mark.parametrize(("type", "text", "expected"), READ, ids=lambda value: str(value)[:40])
def test_a_value_is_read(type: SqlType, text: str, expected: Any) -> None:
    wrapped = JsonRow([Column("C", type), Column("D", types.STRING)])
    assert wrapped.deserialize(b'{"C": %b, "d": "x"}' % text.encode()) == (expected, "x")
    (found,) = JsonRow([Column("C", type)], wrapped=False).deserialize(text.encode())
    assert found == expected
    assert found.__class__ is expected.__class__
    if isinstance(found, Decimal):
        assert str(found) == str(expected)


def convert(source: str, type: SqlType | str) -> str:
    return f"Can't convert type. sourceType: {source}, requiredType: {type}"


def coerce(type: SqlType) -> str:
    return f"Can't coerce string to type. targetType: {type}"


OVERFLOW = (
    "Numeric field overflow: A field with precision 6 and scale 2 must round to an absolute value less than 10^4. Got "
)
ADDRESS = types.struct(("CITY", types.STRING), ("ZIP", types.array(types.INTEGER)))
REFUSED: list[tuple[SqlType, str, str, str]] = [
    (types.BOOLEAN, '"true"', convert("string", "BOOLEAN"), "$.C"),
    (types.BOOLEAN, "1", convert("number", "BOOLEAN"), "$.C"),
    (types.INTEGER, '"abc"', coerce(types.INTEGER), "$.C"),
    (types.INTEGER, '"1.5"', coerce(types.INTEGER), "$.C"),
    (types.INTEGER, '""', coerce(types.INTEGER), "$.C"),
    (types.INTEGER, '" 5"', coerce(types.INTEGER), "$.C"),
    (types.INTEGER, '"1_000"', coerce(types.INTEGER), "$.C"),
    (types.INTEGER, "true", convert("boolean", "INTEGER"), "$.C"),
    (types.INTEGER, "[1]", convert("array", "INTEGER"), "$.C"),
    (types.INTEGER, "{}", convert("object", "INTEGER"), "$.C"),
    (types.INTEGER, "2147483648", "2147483648 is out of the range of INTEGER", "$.C"),
    (types.INTEGER, '"2147483648"', "2147483648 is out of the range of INTEGER", "$.C"),
    (types.BIGINT, "9223372036854775808", "9223372036854775808 is out of the range of BIGINT", "$.C"),
    (types.BIGINT, "1e30", f"{int(1e30)} is out of the range of BIGINT", "$.C"),
    (types.DOUBLE, '"x"', coerce(types.DOUBLE), "$.C"),
    (types.DOUBLE, '"inf"', coerce(types.DOUBLE), "$.C"),
    (types.DOUBLE, "false", convert("boolean", "DOUBLE"), "$.C"),
    (DECIMAL, "10000", OVERFLOW + "10000", "$.C"),
    (DECIMAL, "1e400000", OVERFLOW + "1E+400000", "$.C"),
    (DECIMAL, "1.234", "Cannot fit decimal '1.234' into DECIMAL(6, 2) without rounding", "$.C"),
    (DECIMAL, '"1,5"', coerce(DECIMAL), "$.C"),
    (DECIMAL, '"NaN"', coerce(DECIMAL), "$.C"),
    (DECIMAL, "true", convert("boolean", DECIMAL), "$.C"),
    (types.BYTES, '"not base64!"', "Value is not a valid Base64 encoded string", "$.C"),
    (types.BYTES, "5", convert("number", "BYTES"), "$.C"),
    (types.DATE, '"2026-01-01"', coerce(types.DATE), "$.C"),
    (types.DATE, "99999999", "99999999 days since 1970 are not a DATE", "$.C"),
    (types.TIME, "86400000", "Time values must be from 0 to 86399999 milliseconds, not 86400000", "$.C"),
    (types.TIME, "-1", "Time values must be from 0 to 86399999 milliseconds, not -1", "$.C"),
    (types.TIMESTAMP, "true", convert("boolean", "TIMESTAMP"), "$.C"),
    (types.TIMESTAMP, "999999999999999999", "999999999999999999 milliseconds since 1970 are not a TIMESTAMP", "$.C"),
    (types.array(types.INTEGER), '[1, "x"]', coerce(types.INTEGER), "$.C[1]"),
    (types.array(types.INTEGER), "5", convert("number", "ARRAY<INTEGER>"), "$.C"),
    (types.array(types.array(types.BOOLEAN)), "[[true], [true, 1]]", convert("number", "BOOLEAN"), "$.C[1][1]"),
    (types.mapping(types.STRING, types.INTEGER), '{"k": "x"}', coerce(types.INTEGER), "$.C.k.value"),
    (types.mapping(types.STRING, types.INTEGER), "[]", convert("array", "MAP<STRING, INTEGER>"), "$.C"),
    (ADDRESS, '{"zip": [1, 2, "x"]}', coerce(types.INTEGER), "$.C.ZIP[2]"),
    (ADDRESS, '"x"', convert("string", "STRUCT<CITY STRING, ZIP ARRAY<INTEGER>>"), "$.C"),
]


@pytest.mark.parametrize(("type", "text", "cause", "path"), REFUSED, ids=lambda value: str(value)[:40])
def test_a_value_is_refused_with_its_place(type: SqlType, text: str, cause: str, path: str) -> None:
    serde = JsonRow([Column("X", types.STRING), Column("C", type)])
    with pytest.raises(SerdeError) as caught:
        serde.deserialize(b'{"x": "y", "c": %b}' % text.encode())
    assert str(caught.value).endswith(f": {cause}, path: {path}.")
    with pytest.raises(SerdeError) as caught:
        JsonRow([Column("C", type)], wrapped=False).deserialize(text.encode())
    assert str(caught.value).endswith(f": {cause}, path: {path.replace('.C', '', 1)}.")


NAMES: list[tuple[str, str, Any]] = [
    ("ID", '{"id": 1}', "1"),
    ("ID", '{"Id": 1}', "1"),
    ("ID", '{"id": 1, "ID": 2}', "2"),
    ("ID", '{"ID": 2, "id": 1}', "2"),
    ("id", '{"id": 1}', "1"),
    ("id", '{"ID": 1}', None),
    ("Id", '{"id": 1}', None),
    ("ID", '{"idx": 1}', None),
    ("ID", "{}", None),
    ("ID", '{"id": null}', None),
    ("a b", '{"a b": 1}', "1"),
    ("AÑO", '{"año": 1}', "1"),
]


@pytest.mark.parametrize(("column", "text", "expected"), NAMES)
def test_names_are_matched(column: str, text: str, expected: Any) -> None:
    assert JsonRow([Column(column, types.STRING)]).deserialize(text.encode()) == (expected,)
    two = JsonRow([Column(column, types.STRING), Column("ZZ", types.STRING)])
    for _ in range(2):  # the second time by what was learnt
        assert two.deserialize(text.encode()) == (expected, None)


def test_objects_with_ever_new_fields_do_not_fill_the_memory() -> None:
    serde = JsonRow([Column("ID", types.BIGINT), Column("B", types.STRING)])
    for number in range(2000):
        assert serde.deserialize(b'{"id": %d, "field%d": 1}' % (number, number)) == (number, None)


@pytest.mark.parametrize("text", ["", "{", "nonsense", "{'a': 1}", '{"a": NaN}', "\xff"])
def test_what_is_not_json_is_refused(text: str) -> None:
    for columns in ([Column("A", types.INTEGER)], [Column("A", WIDE)]):
        with pytest.raises(SerdeError, match="it is not JSON"):
            JsonRow(columns).deserialize(text.encode("latin-1"))


@pytest.mark.parametrize(("text", "kind"), [("5", "number"), ("[]", "array"), ('"x"', "string"), ("true", "boolean")])
def test_a_record_is_an_object(text: str, kind: str) -> None:
    with pytest.raises(SerdeError, match=f"sourceType: {kind}, requiredType: STRUCT, path: \\$"):
        JsonRow([Column("A", types.INTEGER)]).deserialize(text.encode())


def test_null_is_a_null_row() -> None:
    assert JsonRow([Column("A", types.INTEGER)]).deserialize(b"null") is None
    assert JsonRow([Column("A", types.INTEGER)], wrapped=False).deserialize(b"null") == (None,)


def test_records_of_json_sr_are_read_as_json() -> None:
    for type in (types.INTEGER, types.STRING):
        serde = JsonRow([Column("A", type)])
        assert serde.deserialize(b'\x00\x00\x00\x00\x07{"a": 1}') in [(1,), ("1",)]
    assert JsonRow([Column("A", types.STRING)]).deserialize(b'\x00\x00\x00\x00\x07{"a": 1.10}') == ("1.10",)


WRITTEN: list[tuple[SqlType, Any, str]] = [
    (types.DOUBLE, math.nan, '"NaN"'),
    (types.DOUBLE, -math.inf, '"-Infinity"'),
    (types.DOUBLE, 1.0, "1.0"),
    (types.array(types.DOUBLE), [1.5, math.inf, None], '[1.5,"Infinity",null]'),
    (types.decimal(12, 10), Decimal("0.0000000001"), "0.0000000001"),
    (DECIMAL, Decimal("-1.50"), "-1.50"),
    (types.BYTES, b"\x00\xff", '"AP8="'),
    (types.DATE, date(1970, 1, 11), "10"),
    (types.TIME, time(1, 2, 3, 4000), "3723004"),
    (types.TIMESTAMP, datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "1000"),
    (types.mapping(types.STRING, types.DATE), {"k": date(1970, 1, 2), "n": None}, '{"k":1,"n":null}'),
    (types.struct(("A", types.INTEGER), ("b", DECIMAL)), {"A": None, "b": Decimal("1.00")}, '{"A":null,"b":1.00}'),
]


@pytest.mark.parametrize(("type", "value", "text"), WRITTEN, ids=lambda value: str(value)[:40])
def test_values_are_written(type: SqlType, value: Any, text: str) -> None:
    serde = JsonRow([Column("C", type), Column("n", types.DOUBLE)])
    assert serde.serialize((value, None)) == b'{"C":%b,"n":null}' % text.encode()
    assert JsonRow([Column("C", type)], wrapped=False).serialize((value,)) == text.encode()


def test_names_of_columns_are_never_source() -> None:
    name = '"); import os; ("\n\\'
    serde = JsonRow([Column(name, types.STRING), Column("A", types.DOUBLE)])
    assert serde.deserialize(serde.serialize(("x", 1.0))) == ("x", 1.0)
