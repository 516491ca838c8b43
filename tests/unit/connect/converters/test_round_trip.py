"""What a converter with schemas has written it reads again: the same values, the same schema, the same object."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.connect.converters.rows import FLAT, FLAT_VALUE, FULL, FULL_VALUE, INNER, assert_same_schema, union

from caudal.connect import DataError
from caudal.connect.converter import Converter
from caudal.connect.converters.avro import AvroConverter
from caudal.connect.converters.json import JsonConverter
from caudal.connect.converters.json_schema import JsonSchemaConverter
from caudal.connect.converters.protobuf import ProtobufConverter
from caudal.connect.data import DATE_SCHEMA, INT8, INT32, INT64, STRING, TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal, struct
from caudal.registry.mock import forget_registry

KINDS: dict[str, tuple[type[Converter], dict[str, Any]]] = {
    "json": (JsonConverter, {}),
    "json-numeric": (JsonConverter, {"decimal.format": "NUMERIC"}),
    "avro": (AvroConverter, {}),
    "json-schema": (JsonSchemaConverter, {}),
    "json-schema-numeric": (JsonSchemaConverter, {"decimal.format": "NUMERIC"}),
    "protobuf": (ProtobufConverter, {}),
    "protobuf-wrappers": (ProtobufConverter, {"wrapper.for.nullables": "true"}),
}


def made(kind: str, registry: str = "mock://connect-round-trip", **more: str) -> Converter:
    cls, options = KINDS[kind]
    converter = cls()
    converter.configure(cls.config().parse({"schema.registry.url": registry, **options, **more}), False)
    return converter


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["json", "avro", "json-schema", "protobuf"])
def main_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def empty_registry() -> Iterator[None]:
    yield
    forget_registry("mock://connect-round-trip")


@pytest.mark.parametrize(("schema", "value"), [(FLAT, FLAT_VALUE), (FULL, FULL_VALUE)], ids=["flat", "full"])
def test_values_and_schemas_come_back(kind: str, schema: Any, value: Any) -> None:
    converter = made(kind)
    data = converter.encode("orders", schema, value)
    first, again = converter.decode("orders", data), converter.decode("orders", data)
    assert first.value == value and again.value == value
    assert list(first.value) == list(value)
    assert first.value["price"].__class__ is value["price"].__class__
    assert_same_schema(first.schema, schema)
    assert again.schema is first.schema
    # Another process, which has only the bytes.
    assert_same_schema(made(kind).decode("orders", data).schema, schema)


def test_what_was_read_can_be_written_again(kind: str) -> None:
    converter = made(kind)
    data = converter.encode("orders", FULL, FULL_VALUE)
    schema, value = converter.decode("orders", data)
    assert converter.encode("orders", schema, value) == data


def test_missing_and_null_fields(kind: str) -> None:
    converter = made(kind)
    value = {**FLAT_VALUE}
    del value["note"]
    assert converter.decode("t", converter.encode("t", FLAT, value)).value == {**value, "note": None}
    with pytest.raises(DataError, match=r"Field user: .*required"):
        converter.encode("t", FLAT, {**FLAT_VALUE, "user": None})


def test_null_in_a_field_with_a_default_is_the_default(kind: str) -> None:
    converter = made(kind)
    value = {**FULL_VALUE, "defaulted": None, "default_price": None}
    read = converter.decode("t", converter.encode("t", FULL, value)).value
    assert read["defaulted"] == 5 and read["default_price"] == Decimal("1.25")


@pytest.mark.parametrize(
    ("field", "wrong", "why"),
    [
        ("count", "three", "Field count: 'three' .* is not int32"),
        ("count", 2**31, "Field count: 2147483648 is outside the range of int32"),
        ("count", True, "Field count: True .* is not int32"),
        ("id", 1.5, "Field id: 1.5 .* is not int64"),
        ("price", "1", "Field price: .*floating-point"),
        ("paid", 1, "Field paid: .* is not boolean"),
        ("user", 5, "Field user: .* is not a string"),
        ("unknown", 5, "has no field named 'unknown'"),
    ],
)
def test_a_value_that_does_not_fit_names_its_field(main_kind: str, field: str, wrong: Any, why: str) -> None:
    with pytest.raises(DataError, match=why):
        made(main_kind).encode("t", FLAT, {**FLAT_VALUE, field: wrong})


@pytest.mark.parametrize(
    ("field", "wrong", "why"),
    [
        ("inner", {"tiny": 300, "ratio": None}, "Field inner.tiny: 300 is outside"),
        ("inners", "text", "Field inners: .* is not a list"),
        ("inners", [{"tiny": None}], "Field inners: Field tiny|Field inners.tiny"),
        ("numbers", [1], "Field numbers: .* is not a dict"),
        ("price", Decimal("1.234"), "Field price: .*fractional digits"),
        ("price", Decimal("NaN"), "Field price: "),
        ("price", 1.5, "Field price: A Decimal is needed, not float"),
        ("day", datetime(2026, 1, 1), "Field day: A date is needed, not datetime"),
        ("clock", 5, "Field clock: A time is needed"),
        ("at", 5, "Field at: A datetime is needed"),
        ("raw", "text", "Field raw: .* is not bytes"),
    ],
)
def test_deep_and_logical_values_that_do_not_fit(main_kind: str, field: str, wrong: Any, why: str) -> None:
    with pytest.raises(DataError, match=why):
        made(main_kind).encode("t", FULL, {**FULL_VALUE, field: wrong})


def test_a_struct_is_a_dict(main_kind: str) -> None:
    with pytest.raises(DataError, match="is not a dict, which a struct is"):
        made(main_kind).encode("t", FLAT, [1, 2])


def test_times_in_other_zones_and_without_one(main_kind: str) -> None:
    schema = struct("shop.At", at=TIMESTAMP_SCHEMA)
    converter = made(main_kind)
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    for value in (noon, noon.replace(tzinfo=None), noon.astimezone(timezone(timedelta(hours=5)))):
        assert converter.decode("t", converter.encode("t", schema, {"at": value})).value["at"] == noon


def test_bytes_of_another_are_refused(main_kind: str) -> None:
    converter = made(main_kind)
    for data in (b"", b"\x00", b"not this", b"\x00\x00\x00\x00\xffxxxx", b"{}", b"null[", b"\x00\x00\x7f\xff\xff\x00"):
        with pytest.raises(DataError):
            converter.decode("t", data)


def test_tombstones(main_kind: str) -> None:
    converter = made(main_kind)
    assert converter.encode("t", None, None) is None
    assert converter.decode("t", None) == (None, None)


def test_floats_that_are_not_numbers(main_kind: str) -> None:
    converter = made(main_kind)
    for value in (math.inf, -math.inf, math.nan):
        read = converter.decode("t", converter.encode("t", FLAT, {**FLAT_VALUE, "price": value})).value["price"]
        assert read == value or (math.isnan(read) and math.isnan(value))


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        ("avro", union("io.confluent.connect.avro.Union", ("int", INT32), ("string", STRING), ("Inner", INNER))),
        (
            "json-schema",
            union(
                "io.confluent.connect.json.OneOf",
                *(
                    (f"io.confluent.connect.json.OneOf.field.{index}", each)
                    for index, each in enumerate((INT32, STRING, INNER))
                ),
            ),
        ),
        (
            "protobuf",
            union(
                "io.confluent.connect.protobuf.Union.which_0"[:-2],
                ("number", INT32),
                ("text", STRING),
                ("inner", INNER),
            ),
        ),
    ],
)
def test_unions(kind: str, schema: Any) -> None:
    row = struct("shop.WithUnion", before=INT64, which_0=schema, after=STRING)
    converter = made(kind)
    names = [field.name for field in schema.fields]
    for index, item in enumerate((5, "five", {"tiny": 5, "ratio": None})):
        value = {"before": 1, "which_0": {**dict.fromkeys(names), names[index]: item}, "after": "x"}
        read = converter.decode("t", converter.encode("t", row, value))
        assert read.value == value
        assert_same_schema(read.schema, row)
    none = {"before": 1, "which_0": None, "after": "x"}
    assert converter.decode("t", converter.encode("t", row, none)).value == none
    with pytest.raises(DataError, match="one field that is not null"):
        both = {**dict.fromkeys(names), names[0]: 1, names[1]: "a"}
        converter.encode("t", row, {"before": 1, "which_0": both, "after": "x"})


@pytest.mark.parametrize("kind", [name for name in KINDS if not name.startswith("protobuf")])
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (INT8, 5),
        (STRING.as_optional(), "a"),
        (TIMESTAMP_SCHEMA, datetime(2026, 1, 1, tzinfo=UTC)),
        (decimal(2), Decimal("1.50")),
        (replace(INT64, default=7, has_default=True), 8),
    ],
    ids=lambda each: str(each)[:12],
)
def test_records_need_not_be_structs(kind: str, schema: Any, value: Any) -> None:
    converter = made(kind)
    assert converter.decode("t", converter.encode("t", schema, value)) == (schema, value)


def test_protobuf_has_structs_only() -> None:
    with pytest.raises(DataError, match="Protobuf has messages only"):
        made("protobuf").encode("t", STRING, "text")


LOGICAL = struct("shop.Logical", at=TIMESTAMP_SCHEMA, day=DATE_SCHEMA, clock=TIME_SCHEMA, price=decimal(4), n=INT64)


INSTANTS = st.datetimes(timezones=st.just(UTC))
ROWS = st.fixed_dictionaries(
    {
        "at": INSTANTS.map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)),
        "day": st.dates(),
        "clock": st.times().map(lambda clock: clock.replace(microsecond=clock.microsecond // 1000 * 1000)),
        "price": st.integers(-(10**20), 10**20).map(lambda whole: Decimal(whole).scaleb(-4)),
        "n": st.integers(-(2**63), 2**63 - 1),
    }
)


def test_any_logical_value(kind: str) -> None:
    converter = made(kind)

    @settings(max_examples=15, deadline=None, database=None)
    @given(ROWS)
    def check(value: dict[str, Any]) -> None:
        assert converter.decode("t", converter.encode("t", LOGICAL, value)).value == value

    check()
