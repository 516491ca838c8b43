"""The generated reader and writer of Avro against fastavro: the same bytes, the same values; bad bytes are refused."""

from __future__ import annotations

import io
import random
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caudal.connect.converters.avro_codec import Unsupported, reader, writer

SCHEMA: Any = fastavro.parse_schema(
    {
        "type": "record",
        "name": "All",
        "fields": [
            {"name": "int", "type": "int"},
            {"name": "long", "type": "long"},
            {"name": "float", "type": "float"},
            {"name": "double", "type": "double"},
            {"name": "flag", "type": "boolean"},
            {"name": "text", "type": "string"},
            {"name": "raw", "type": "bytes"},
            {"name": "maybe", "type": ["null", "string"]},
            {"name": "maybe_last", "type": ["long", "null"]},
            {"name": "color", "type": {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}},
            {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 2}},
            {"name": "list", "type": {"type": "array", "items": ["null", "int"]}},
            {"name": "map", "type": {"type": "map", "values": {"type": "array", "items": "string"}}},
            {"name": "inner", "type": {"type": "record", "name": "Inner", "fields": [{"name": "n", "type": "long"}]}},
            {"name": "more", "type": {"type": "array", "items": "Inner"}},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {"name": "clock", "type": {"type": "int", "logicalType": "time-millis"}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 2}},
        ],
    }
)
HEAD = b"\x00\x00\x00\x00\x07"
LONGS = st.integers(-(2**63), 2**63 - 1)
VALUES = st.fixed_dictionaries(
    {
        "int": st.integers(-(2**31), 2**31 - 1),
        "long": LONGS,
        "float": st.floats(width=32, allow_nan=False),
        "double": st.floats(allow_nan=False),
        "flag": st.booleans(),
        "text": st.text(max_size=100),
        "raw": st.binary(max_size=70),
        "maybe": st.none() | st.text(max_size=3),
        "maybe_last": st.none() | LONGS,
        "color": st.sampled_from(["RED", "BLUE"]),
        "hash": st.binary(min_size=2, max_size=2),
        "list": st.lists(st.none() | st.integers(-5, 5), max_size=3),
        "map": st.dictionaries(st.text(max_size=3), st.lists(st.text(max_size=2), max_size=2), max_size=2),
        "inner": st.fixed_dictionaries({"n": LONGS}),
        "more": st.lists(st.fixed_dictionaries({"n": st.integers(-100, 100)}), max_size=2),
        "day": st.dates(),
        "clock": st.times().map(lambda each: each.replace(microsecond=each.microsecond // 1000 * 1000)),
        "at": st.datetimes(timezones=st.just(UTC)).map(lambda each: each.replace(microsecond=0)),
        "price": st.integers(-(10**25), 10**25).map(lambda each: Decimal(each).scaleb(-2)),
    }
)
VALUE = {
    "int": -1, "long": 2**40, "float": 1.5, "double": 1e300, "flag": True, "text": "año", "raw": b"\x00", "maybe": None,
    "maybe_last": 5, "color": "BLUE", "hash": b"ab", "list": [1, None], "map": {"a": ["x"]}, "inner": {"n": -7},
    "more": [{"n": 1}], "day": date(2026, 1, 1), "clock": time(1, 2, 3), "at": datetime(2026, 1, 1, tzinfo=UTC),
    "price": Decimal("-1.28"),
}  # fmt: skip


def failed(given: Any, error: Exception) -> Exception:
    return ValueError(f"{type(error).__name__}: {error}")


write = writer(SCHEMA, HEAD, failed)
read = reader(SCHEMA, failed)


def by_fastavro(value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, SCHEMA, value)
    return out.getvalue()


@settings(max_examples=30, deadline=None, database=None)
@given(VALUES)
def test_bytes_and_values_are_fastavros(value: dict[str, Any]) -> None:
    data = write(value)
    assert data == HEAD + by_fastavro(value)
    assert read(data) == value
    assert fastavro.schemaless_reader(io.BytesIO(data[5:]), SCHEMA, None) == value


def test_every_shorter_and_longer_record_is_refused() -> None:
    data = write(VALUE)
    for end in range(5, len(data)):
        with pytest.raises(ValueError, match=":"):
            read(data[:end])
    with pytest.raises(ValueError, match="longer or shorter"):
        read(data + b"\x00")


def test_damaged_records_are_read_or_refused_and_nothing_else() -> None:
    data, chance = write(VALUE), random.Random(7)
    for _ in range(1000):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(5, len(data))] = chance.randrange(256)
        try:
            read(bytes(damaged))
        except ValueError:
            continue


def test_a_block_may_tell_its_size_and_not_claim_more_than_there_is() -> None:
    schema: Any = fastavro.parse_schema({"type": "array", "items": "int"})
    ints = reader(schema, failed)
    assert ints(HEAD + b"\x03\x04\x02\x04\x00") == [1, 2]  # minus two elements in two bytes
    assert ints(HEAD + b"\x02\x02\x02\x04\x00") == [1, 2]  # two blocks
    with pytest.raises(ValueError, match="length of a block"):
        ints(HEAD + b"\xfe\xff\xff\xff\x0f\x00")
    nothing: Any = fastavro.parse_schema({"type": "array", "items": "null"})
    with pytest.raises(ValueError, match="length of a block"):
        reader(nothing, failed)(HEAD + b"\xfe\xff\xff\xff\xff\xff\x0f\x00")


@pytest.mark.parametrize("value", [{**VALUE, "color": "GREEN"}, {**VALUE, "hash": b"abc"}, {**VALUE, "float": 1e300}])
def test_values_that_have_no_bytes(value: Any) -> None:
    with pytest.raises(ValueError, match=":"):
        write(value)


def test_other_unions_are_fastavros() -> None:
    for union in (["int", "string"], ["null", "int", "string"]):
        schema: Any = fastavro.parse_schema({"type": "record", "name": "R", "fields": [{"name": "u", "type": union}]})
        with pytest.raises(Unsupported):
            writer(schema, HEAD, failed)
        with pytest.raises(Unsupported):
            reader(schema, failed)
