"""DELIMITED: the rules of CSV, and of KAFKA's primitives, in bytes."""

from __future__ import annotations

from typing import Any

import pytest

from caudal.ksql import types
from caudal.ksql.formats.delimited import DelimitedRow
from caudal.ksql.formats.kafka import KafkaRow
from caudal.ksql.schema import Column
from caudal.serde.serde import SerdeError

THREE = [Column("ID", types.BIGINT), Column("NAME", types.STRING), Column("AGE", types.INTEGER)]

READ: list[tuple[str, str, Any]] = [
    (",", "120,bob,49", (120, "bob", 49)),
    (",", "120,,49", (120, None, 49)),
    (",", ",,", (None, None, None)),
    (",", '120,"a,b",49', (120, "a,b", 49)),
    (",", '120,"say ""hi""",49', (120, 'say "hi"', 49)),
    (",", '120,"two\nlines",49', (120, "two\nlines", 49)),
    (",", '120,"",49', (120, None, 49)),
    (",", "120,bob,49\n", (120, "bob", 49)),
    (",", "120,bob,49\r\n", (120, "bob", 49)),
    (",", '"120","bob","49"', (120, "bob", 49)),
    (",", "\n120,bob,49\n121,eva,50", (120, "bob", 49)),
    (",", '120,a"b,49', (120, 'a"b', 49)),
    (",", f'120,"{"x" * 200_000}",49', (120, "x" * 200_000, 49)),
    ("]", '120]"a]b"]49', (120, "a]b", 49)),
    ("^", '120^"a^b"^49', (120, "a^b", 49)),
    (",", "120, bob ,49", (120, " bob ", 49)),
    (",", "+120,año,-49", (120, "año", -49)),
    ("\t", "120\ta,b\t49", (120, "a,b", 49)),
    (" ", "120 bob 49", (120, "bob", 49)),
    ("|", '120|"a|b"|49', (120, "a|b", 49)),
    ("$", "120$bob$49", (120, "bob", 49)),
]


@pytest.mark.parametrize(("delimiter", "text", "row"), READ, ids=lambda value: str(value)[:30])
def test_lines_are_read(delimiter: str, text: str, row: Any) -> None:
    assert DelimitedRow(THREE, delimiter).deserialize(text.encode()) == row


REFUSED = [
    ("", "No fields in record"),
    ("120,bob", "Unexpected field count, csvFields:2 schemaFields:3"),
    ("120,bob,49,x", "Unexpected field count, csvFields:4 schemaFields:3"),
    ("x,bob,49", "Can't coerce string to type. targetType: BIGINT, path: $.ID"),
    ("120,bob, 49", "Can't coerce string to type. targetType: INTEGER, path: $.AGE"),
    ("120,bob,4.5", "Can't coerce string to type. targetType: INTEGER, path: $.AGE"),
    ("120,bob,3000000000", "3000000000 is out of the range of INTEGER, path: $.AGE"),
    ('120,"bob,49', "A field in quotes has no end"),
    ('120,"bob"x,49', "A delimiter is needed behind a field in quotes, not 'x'"),
]


@pytest.mark.parametrize(("text", "cause"), REFUSED)
def test_lines_are_refused(text: str, cause: str) -> None:
    with pytest.raises(SerdeError) as caught:
        DelimitedRow(THREE).deserialize(text.encode())
    assert str(caught.value).endswith(f": {cause}.")


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(SerdeError, match="codec can't decode"):
        DelimitedRow(THREE).deserialize(b"1,\xff,2")


WRITTEN: list[tuple[str, Any, str]] = [
    (",", (120, "bob", 49), "120,bob,49"),
    (",", (None, None, None), ",,"),
    (",", (1, "a,b", 2), '1,"a,b",2'),
    (",", (1, 'a"b', 2), '1,"a""b",2'),
    (",", (1, "a\nb", 2), '1,"a\nb",2'),
    (",", (1, " a", 2), '1," a",2'),
    (",", (1, "a ", 2), '1,"a ",2'),
    (",", (1, "#a", 2), '1,"#a",2'),
    (",", (1, "", 2), "1,,2"),
    ("|", (1, "a,b", 2), "1|a,b|2"),
    ("\t", (1, "a b", 2), "1\ta b\t2"),
    (" ", (1, "a b", 2), '1 "a b" 2'),
]


@pytest.mark.parametrize(("delimiter", "row", "text"), WRITTEN)
def test_rows_are_written(delimiter: str, row: Any, text: str) -> None:
    assert DelimitedRow(THREE, delimiter).serialize(row) == text.encode()


@pytest.mark.parametrize(("value", "text"), [("", '""'), ("año", "año"), ("ñ", '"ñ"'), (None, "")])
def test_the_first_field_is_quoted_as_apache_does(value: Any, text: str) -> None:
    row = DelimitedRow([Column("A", types.STRING), Column("B", types.INTEGER)])
    assert row.serialize((value, 1)) == f"{text},1".encode()


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.0"), (1e7, "1.0E7"), (0.00012, "1.2E-4"), (123456.789, "123456.789"), (-1e100, "-1.0E100")],
)
def test_doubles_are_written_as_java_does(value: float, text: str) -> None:
    serde = DelimitedRow([Column("A", types.DOUBLE)])
    assert serde.serialize((value,)) == text.encode()
    assert serde.deserialize(text.encode()) == (value,)


@pytest.mark.parametrize(("text", "value"), [("true", True), ("TRUE", True), ("false", False), ("yes", False)])
def test_booleans_are_read_as_java_does(text: str, value: bool) -> None:
    assert DelimitedRow([Column("A", types.BOOLEAN)]).deserialize(text.encode()) == (value,)


@pytest.mark.parametrize(
    ("type", "value", "data"),
    [
        (types.INTEGER, 258, b"\x00\x00\x01\x02"),
        (types.BIGINT, -1, b"\xff" * 8),
        (types.DOUBLE, 1.5, b"\x3f\xf8\x00\x00\x00\x00\x00\x00"),
        (types.STRING, "año", "año".encode()),
        (types.BYTES, b"\x00", b"\x00"),
    ],
    ids=str,
)
def test_kafkas_primitives(type: Any, value: Any, data: bytes) -> None:
    serde = KafkaRow([Column("A", type)])
    assert serde.serialize((value,)) == data
    assert serde.deserialize(data) == (value,)


@pytest.mark.parametrize("type", [types.INTEGER, types.BIGINT, types.DOUBLE], ids=str)
def test_kafkas_numbers_have_their_width(type: Any) -> None:
    with pytest.raises(SerdeError, match="bytes are needed, not 3"):
        KafkaRow([Column("A", type)]).deserialize(b"abc")


@pytest.mark.parametrize("columns", [THREE, [Column("A", types.DATE)]])
def test_kafka_has_one_primitive(columns: Any) -> None:
    with pytest.raises(SerdeError, match="The KAFKA format has one column of a primitive type"):
        KafkaRow(columns)
