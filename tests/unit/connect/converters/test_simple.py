"""Headers as text, and the converters of single values."""

from __future__ import annotations

import struct as layout
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from caudal.connect import DataError
from caudal.connect.converters.byte_array import ByteArrayConverter
from caudal.connect.converters.numbers import (
    BooleanConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from caudal.connect.converters.simple import SimpleHeaderConverter
from caudal.connect.converters.string import StringConverter
from caudal.connect.data import BYTES, INT32, STRING, Kind


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("1", Kind.INT8, 1),
        ("-129", Kind.INT16, -129),
        ("32768", Kind.INT32, 32768),
        ("2147483648", Kind.INT64, 2147483648),
        ("9223372036854775808", Kind.BYTES, Decimal(9223372036854775808)),
        ("1e3", Kind.INT16, 1000),
        ("1.5", Kind.FLOAT32, 1.5),
        ("1.5e-300", Kind.FLOAT32, 0.0),
        ("1.5e300", Kind.FLOAT64, 1.5e300),
        ("true", Kind.BOOLEAN, True),
        ("True", Kind.STRING, "True"),
        ("hello", Kind.STRING, "hello"),
        (" hello ", Kind.STRING, " hello "),
        ("", Kind.STRING, ""),
        ('"1"', Kind.STRING, '"1"'),
        (".5", Kind.STRING, ".5"),
        ('[1,"a"]', Kind.STRING, '[1,"a"]'),
        ("NaN", Kind.STRING, "NaN"),
        ("2026-11-16", Kind.INT32, date(2026, 11, 16)),
        ("2026-13-16", Kind.INT32, date(2027, 1, 16)),  # as lenient as Java's
        ("10:20:30.500Z", Kind.INT32, time(10, 20, 30, 500000)),
        ("2026-11-16T10:20:30.000Z", Kind.INT64, datetime(2026, 11, 16, 10, 20, 30, tzinfo=UTC)),
        ("[1,200]", Kind.ARRAY, [1, 200]),
        ('{"a":1}', Kind.MAP, {"a": 1}),
        ("[1,", Kind.STRING, "[1,"),
        ("{not json}", Kind.STRING, "{not json}"),
    ],
)
def test_the_type_of_a_header_is_guessed(text: str, kind: Kind, value: Any) -> None:
    schema, found = SimpleHeaderConverter().decode("t", text.encode())
    assert schema is not None and schema.kind is kind and found == value


def test_headers_that_have_no_type() -> None:
    made = SimpleHeaderConverter()
    assert made.decode("t", None) == (None, None)
    assert made.decode("t", b"null") == (None, None)
    assert made.decode("t", b"\xff\xfe") == (BYTES, b"\xff\xfe")


@pytest.mark.parametrize(
    "value",
    [
        1,
        -5,
        2**40,
        1.5,
        True,
        "text",
        date(2026, 1, 1),
        time(1, 2, 3),
        datetime(2026, 1, 1, tzinfo=UTC),
        [1, 2],
        {"a": "b"},
    ],
)
def test_what_is_written_is_read(value: Any) -> None:
    made = SimpleHeaderConverter()
    assert made.decode("t", made.encode("t", None, value)).value == value


@pytest.mark.parametrize("text", ["0.1", "-3.25", "1e-05"])
def test_a_float_of_32_bits_keeps_its_digits(text: str) -> None:
    made = SimpleHeaderConverter()
    schema, value = made.decode("t", text.encode())
    assert schema is not None and schema.kind is Kind.FLOAT32
    assert made.encode("t", schema, value) == text.encode()


def test_text() -> None:
    made = StringConverter()
    assert made.encode("t", STRING, "año") == "año".encode()
    assert made.encode("t", None, {"a": True}) == b'{"a":true}'
    assert made.encode("t", None, None) is None
    assert made.decode("t", b"a") == (STRING.as_optional(), "a")
    assert made.decode("t", None) == (STRING.as_optional(), None)
    with pytest.raises(DataError, match="are not utf-8"):
        made.decode("t", b"\xff")
    made.configure(StringConverter.config().parse({"converter.encoding": "latin-1"}), True)
    assert made.encode("t", None, "ñ") == b"\xf1"
    with pytest.raises(DataError, match="cannot be written as latin-1"):
        made.encode("t", None, "ł")


def test_bytes() -> None:
    made = ByteArrayConverter()
    assert made.encode("t", BYTES, bytearray(b"a")) == b"a"
    assert made.decode("t", b"a") == (BYTES.as_optional(), b"a")
    with pytest.raises(DataError, match="the schema is int32"):
        made.encode("t", INT32, 1)
    with pytest.raises(DataError, match="the value is str"):
        made.encode("t", None, "a")


@pytest.mark.parametrize(
    ("converter", "value", "data"),
    [
        (BooleanConverter(), True, b"\x01"),
        (ShortConverter(), -2, layout.pack(">h", -2)),
        (IntegerConverter(), 2**31 - 1, layout.pack(">i", 2**31 - 1)),
        (LongConverter(), -(2**63), layout.pack(">q", -(2**63))),
        (FloatConverter(), 1.5, layout.pack(">f", 1.5)),
        (DoubleConverter(), 1e300, layout.pack(">d", 1e300)),
    ],
)
def test_numbers_have_kafkas_bytes(converter: Any, value: Any, data: bytes) -> None:
    assert converter.encode("t", None, value) == data
    assert converter.encode("t", converter.schema, value) == data
    assert converter.decode("t", data) == (converter.schema, value)
    assert converter.encode("t", None, None) is None
    assert converter.decode("t", None).value is None
    with pytest.raises(DataError):
        converter.decode("t", data + b"\x00")
    with pytest.raises(DataError):
        converter.encode("t", None, "text")
    with pytest.raises(DataError, match="the schema is string"):
        converter.encode("t", STRING, value)


def test_numbers_out_of_range() -> None:
    with pytest.raises(DataError, match="is not int16"):
        ShortConverter().encode("t", None, 2**15)
    with pytest.raises(DataError, match="is not int32"):
        IntegerConverter().encode("t", None, True)
    with pytest.raises(DataError, match="is not boolean"):
        BooleanConverter().encode("t", None, 1)
