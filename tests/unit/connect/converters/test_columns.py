"""Whole batches as columns are what record by record gives; where that raises, there are no columns."""

from __future__ import annotations

import itertools
import random
import re
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caudal.connect.arrow_columns import arrow_columns
from caudal.connect.columns import NotThisWay
from caudal.connect.converter import Converter
from caudal.connect.converters.avro import AvroConverter
from caudal.connect.converters.json import JsonConverter
from caudal.connect.data import (
    BOOLEAN,
    BYTES,
    DATE_SCHEMA,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    STRING,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    Schema,
    array,
    decimal,
    struct,
)

AVRO = struct(
    "Order", id=INT64, count=INT32, name=STRING, note=STRING.as_optional(), raw=BYTES, price=decimal(2, 12),
    discount=decimal(3, 9).as_optional(), weight=FLOAT64.as_optional(), ratio=FLOAT32, paid=BOOLEAN,
    sure=BOOLEAN.as_optional(), day=DATE_SCHEMA, clock=TIME_SCHEMA, at=TIMESTAMP_SCHEMA,
    until=TIMESTAMP_SCHEMA.as_optional(),
)  # fmt: skip
JSON = struct(
    "Order", id=INT64, count=INT32, name=STRING, note=STRING.as_optional(), price=decimal(2, 12),
    weight=FLOAT64.as_optional(), paid=BOOLEAN, day=DATE_SCHEMA, at=TIMESTAMP_SCHEMA, until=INT64.as_optional(),
)  # fmt: skip
DECIMALS = st.integers(-(10**11), 10**11).map(lambda whole: Decimal(whole).scaleb(-2))
INSTANTS = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=st.just(UTC)).map(
    lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)
)
LONGS = st.integers(-(2**63), 2**63 - 1)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "id": LONGS,
    "count": st.integers(-(2**31), 2**31 - 1),
    "name": st.text(max_size=80),
    "note": st.none() | st.text(max_size=5),
    "raw": st.binary(max_size=9),
    "price": DECIMALS,
    "discount": st.none() | st.integers(-(10**8), 10**8).map(lambda whole: Decimal(whole).scaleb(-3)),
    "weight": st.none() | st.floats(allow_nan=False, allow_infinity=False),
    "ratio": st.floats(width=32, allow_nan=False),
    "paid": st.booleans(),
    "sure": st.none() | st.booleans(),
    "day": st.dates(date(1, 1, 1), date(9999, 12, 31)),
    "clock": st.integers(0, 86_399_999).map(lambda ms: time(ms // 3_600_000, ms // 60_000 % 60, ms // 1000 % 60)),
    "at": INSTANTS,
    "until": st.none() | INSTANTS,
}
ROW = {
    "id": 7, "count": -1, "name": "Zürich", "note": None, "raw": b"\x00", "price": Decimal("12.30"),
    "discount": Decimal("-0.125"), "weight": None, "ratio": 0.5, "paid": True, "sure": False, "day": date(2024, 2, 29),
    "clock": time(1, 2, 3), "at": datetime(2024, 1, 1, tzinfo=UTC), "until": None,
}  # fmt: skip


NUMBERS = itertools.count()


def made(kind: type[Converter], **options: str) -> Converter:
    converter = kind()
    registry = f"mock://connect-columns-{next(NUMBERS)}"
    given = {"schema.registry.url": registry, **{k.replace("_", "."): v for k, v in options.items()}}
    converter.configure(kind.config().parse(given), False)
    return converter


def encoded(converter: Converter, schema: Schema, rows: list[dict[str, Any]]) -> list[bytes]:
    return [converter.encode("t", schema, row) or b"" for row in rows]


def assert_same(converter: Converter, values: list[bytes]) -> None:
    decoded = [converter.decode("t", value) for value in values]
    found = converter.decode_columns("t", values)
    assert found.schema is decoded[0].schema
    assert found.columns.equals(arrow_columns(found.schema).batch([one.value for one in decoded]))
    found.columns.validate(full=True)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.fixed_dictionaries(FIELDS), min_size=1, max_size=20))
def test_avro_is_read_as_record_by_record(rows: list[dict[str, Any]]) -> None:
    converter = made(AvroConverter)
    assert_same(converter, encoded(converter, AVRO, rows))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {one.name: FIELDS[one.name] for one in JSON.fields}
            | {"until": st.none() | LONGS, "name": st.text("aé\"\\")}
        ),
        min_size=1,
        max_size=20,
    ),
    st.booleans(),
)  # fmt: skip
def test_json_is_read_as_record_by_record(rows: list[dict[str, Any]], enveloped: bool) -> None:
    """Numbers of more than 15 digits are left to the exact parser: with decimals in the schema, any will do."""
    converter = made(JsonConverter, decimal_format="NUMERIC", schemas_enable="true")
    values = encoded(converter, JSON, rows)
    if not enveloped:
        head = len(values[0].partition(b',"payload":')[0]) + len(b',"payload":')
        text = values[0][len(b'{"schema":') : head - len(b',"payload":')].decode()
        values = [value[head:-1] for value in values]
        converter = made(JsonConverter, schema_content=text)
    try:
        assert_same(converter, values)
    except NotThisWay:
        assert _longest_number(values) > 15


def _longest_number(values: list[bytes]) -> int:
    return max(len(one) for value in values for one in [b"", *re.findall(rb"[0-9.]+", value)])


def test_ordinary_json_goes_as_columns() -> None:
    converter = made(JsonConverter, decimal_format="NUMERIC", schemas_enable="true")
    rows = [{**{one.name: ROW[one.name] for one in JSON.fields}, "until": n, "id": n} for n in range(50)]
    assert_same(converter, encoded(converter, JSON, rows))


@pytest.mark.parametrize("seed", range(8))
def test_damaged_avro_is_columns_only_where_each_record_can_be_read(seed: int) -> None:
    chance = random.Random(seed)
    converter = made(AvroConverter)
    good = encoded(converter, AVRO, [ROW] * 4)
    converter.decode_columns("t", good)
    for _ in range(40):
        values = list(good)
        bad = bytearray(values[chance.randrange(4)])
        for _ in range(chance.randint(1, 3)):
            bad[chance.randrange(len(bad))] = chance.choice((0, 1, 2, 127, 128, 255, chance.randrange(256)))
        values[chance.randrange(4)] = bytes(bad[: len(bad) - chance.choice((0, 0, 1, 5))])
        try:
            found = converter.decode_columns("t", values)
        except Exception:
            continue  # one by one
        read = [converter.decode("t", value).value for value in values]
        assert found.columns.equals(arrow_columns(found.schema).batch(read))


@pytest.mark.parametrize(
    "payload",
    [
        b'{"id": 1.0}', b'{"id": true}', b'{"id": "1"}', b'{"id": 9223372036854775808}', b'{"price": "AQ=="}',
        b'{"price": 1.005}', b'{"price": 0.1000000000000000055}', b'{"price": null}', b'{"at": 999999999999999}',
        b'{"paid": 1}', b'{"name": null}', b"null", b"[]",
    ],
)  # fmt: skip
def test_json_that_needs_a_closer_look_is_no_columns(payload: bytes) -> None:
    schema = made(JsonConverter, decimal_format="NUMERIC", schemas_enable="true")
    good = encoded(schema, JSON, [{**{one.name: ROW[one.name] for one in JSON.fields}, "until": None}])[0]
    begin = good.index(b',"payload":') + len(b',"payload":')
    name = payload[2:].partition(b'"')[0]
    if payload.startswith(b"{"):
        value = payload[1:-1].partition(b": ")[2]
        payload = re.sub(rb'"' + name + rb'":[^,}]+', lambda _: b'"' + name + b'":' + value, good[begin:-1])
        assert payload != good[begin:-1]
    with pytest.raises(Exception):  # noqa: B017  (any error means: one by one)
        schema.decode_columns("t", [good, good[:begin] + payload + b"}"])


@pytest.mark.parametrize("schema", [struct("S", list=array(INT64)), struct("S", inner=struct("I", id=INT64)), INT64])
def test_other_schemas_are_no_columns(schema: Schema) -> None:
    value: Any = {"list": [1]} if schema.field("list") else {"inner": {"id": 1}} if schema.fields else 1
    for kind in (AvroConverter, JsonConverter):
        converter = made(kind)
        data = converter.encode("t", schema, value) or b""
        with pytest.raises(NotThisWay):
            converter.decode_columns("t", [data, data])


def test_two_schemas_in_one_batch_are_no_columns() -> None:
    converter = made(AvroConverter)
    first = converter.encode("t", struct("S", id=INT64), {"id": 1}) or b""
    second = converter.encode("t", struct("S", id=INT64, more=INT64.as_optional()), {"id": 1, "more": None}) or b""
    with pytest.raises(NotThisWay):
        converter.decode_columns("t", [first, second])
    assert converter.decode_columns("t", [second, second]).columns.num_rows == 2
