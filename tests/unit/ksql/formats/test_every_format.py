"""Every format with every type: what is written is read back; nulls; serdes are data; headers are neither read nor
written."""

from __future__ import annotations

import json
import pickle
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.ksql.formats.rows_of_types import NESTED, SIMPLE, values

from caudal.ksql import types
from caudal.ksql.formats.serdes import FORMATS, key_serde, row_serde, value_serde
from caudal.ksql.schema import Column, Place
from caudal.ksql.sources import Format, Window, WindowKind
from caudal.ksql.types import Base, SqlType
from caudal.runtime.record import Windowed
from caudal.serde import describe_serde, serde_from
from caudal.serde.serde import Serde, SerdeError, bound, with_registry

REGISTRY = "mock://every-format"
KAFKA = ("integer", "bigint", "double", "string", "bytes")
NO_NULLS = {"PROTOBUF", "PROTOBUF_NOSR"}


def ready(serde: Serde, topic: str, is_key: bool = False) -> Serde:
    return bound(with_registry(serde, REGISTRY), topic, is_key)


def cases() -> list[Any]:
    made = []
    for format in FORMATS:
        for name, (type, samples) in {**SIMPLE, **NESTED}.items():
            if format == "NONE" or (format == "KAFKA" and name not in KAFKA):
                continue
            if format == "DELIMITED" and name in NESTED:
                continue
            made.append(pytest.param(format, name, type, samples, id=f"{format}-{name}"))
    return made


@pytest.mark.parametrize(("format", "name", "type", "samples"), cases())
def test_samples_come_back(format: str, name: str, type: SqlType, samples: list[Any]) -> None:
    columns = [Column("A", type)] if format == "KAFKA" else [Column("A", type), Column("B", types.STRING)]
    serde = ready(value_serde(Format(format), columns), f"{format}-{name.replace(' ', '-')}")
    for sample in samples:
        row = (sample,) if format == "KAFKA" else (sample, "b")
        expected = row
        if format == "DELIMITED" and sample == "":
            expected = (None, "b")  # an empty field is NULL, with or without quotes
        assert serde.deserialize(serde.serialize(row)) == expected


@pytest.mark.parametrize(("format", "name", "type", "samples"), cases())
def test_null_comes_back(format: str, name: str, type: SqlType, samples: list[Any]) -> None:
    if format == "KAFKA":
        assert value_serde(Format(format), [Column("A", type)]).serialize((None,)) is None
        return
    columns = [Column("A", type), Column("B", types.STRING)]
    serde = ready(value_serde(Format(format), columns), f"{format}-{name.replace(' ', '-')}")
    found = serde.deserialize(serde.serialize((None, "b")))
    if format not in NO_NULLS:
        assert found == (None, "b")
        return
    # Protobuf knows no NULL: what is unset has the default of its type; only messages are there or not.
    defaults = {
        Base.BOOLEAN: False,
        Base.INTEGER: 0,
        Base.BIGINT: 0,
        Base.DOUBLE: 0.0,
        Base.STRING: "",
        Base.BYTES: b"",
        Base.ARRAY: [],
        Base.MAP: {},
    }
    assert found == (defaults.get(type.base), "b")


@pytest.mark.parametrize("nullable", ["optional", "wrapper"])
@pytest.mark.parametrize("format", ["PROTOBUF", "PROTOBUF_NOSR"])
@pytest.mark.parametrize("name", SIMPLE)
def test_protobuf_keeps_null_where_it_is_asked_to(format: str, nullable: str, name: str) -> None:
    type, samples = SIMPLE[name]
    made = Format(format, (("nullable", nullable),))
    serde = ready(value_serde(made, [Column("A", type)]), f"{format}-{nullable}-{name.replace(' ', '-')}")
    for row in [(None,), *((sample,) for sample in samples)]:
        assert serde.deserialize(serde.serialize(row)) == row


ALL = [Column(f"C{place}", type) for place, (type, _) in enumerate([*SIMPLE.values(), *NESTED.values()])]
ROWS = st.tuples(*(values(column.type) for column in ALL))
WITHOUT_NULLS = st.tuples(*(values(column.type, nulls=False) for column in ALL))
FLAT = [Column(f"C{place}", type) for place, (type, _) in enumerate(SIMPLE.values())]
FLAT_ROWS = st.tuples(*(values(column.type) for column in FLAT))
quick = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@cache
def of_all(format: str) -> Serde:
    return ready(value_serde(Format(format), ALL), f"any-{format}")


@pytest.mark.parametrize("format", ["JSON", "JSON_SR", "AVRO"])
@quick
@given(row=ROWS)
def test_any_row_comes_back(format: str, row: tuple[Any, ...]) -> None:
    serde = of_all(format)
    assert serde.deserialize(serde.serialize(row)) == row


@pytest.mark.parametrize("format", ["PROTOBUF", "PROTOBUF_NOSR"])
@quick
@given(row=WITHOUT_NULLS)
def test_any_row_without_nulls_comes_back_as_message(format: str, row: tuple[Any, ...]) -> None:
    serde = of_all(format)
    assert serde.deserialize(serde.serialize(row)) == row


@pytest.mark.parametrize("delimiter", [",", "\t", " ", "|", "\\"])
@quick
@given(row=FLAT_ROWS)
def test_any_flat_row_comes_back_delimited(delimiter: str, row: tuple[Any, ...]) -> None:
    serde = value_serde(Format("DELIMITED", (("delimiter", delimiter),)), FLAT)
    expected = tuple(None if value in ("", b"") else value for value in row)
    assert serde.deserialize(serde.serialize(row)) == expected


@pytest.mark.parametrize("format", ["JSON", "JSON_SR", "AVRO"])
@pytest.mark.parametrize("name", [*SIMPLE, *NESTED])
def test_single_values_without_a_record(format: str, name: str) -> None:
    type, samples = {**SIMPLE, **NESTED}[name]
    made = Format(format, wrapped=False)
    serde = ready(value_serde(made, [Column("A", type)]), f"single-{format}-{name.replace(' ', '-')}")
    for sample in samples:
        assert serde.deserialize(serde.serialize((sample,))) == (sample,)
    assert serde.serialize((None,)) is None


@pytest.mark.parametrize("format", FORMATS)
def test_serdes_are_data(format: str) -> None:
    columns = [Column("K", types.BIGINT, Place.KEY)]
    properties = {"DELIMITED": (("delimiter", "|"),), "PROTOBUF": (("nullable", "optional"),)}.get(format, ())
    if format in ("AVRO", "JSON_SR", "PROTOBUF"):
        properties = (*properties, ("full_schema_name", "a.B"))
    made = Format(format, properties)
    window = Window(WindowKind.TUMBLING, 1000)
    for serde in (key_serde(made, () if format == "NONE" else columns, window), row_serde([types.BIGINT])):
        serde = ready(serde, "t", True)
        described = json.loads(json.dumps(describe_serde(serde)))
        assert "custom" not in str(described)
        assert serde_from(described) == serde
        assert pickle.loads(pickle.dumps(serde)) == serde
        assert hash(serde_from(described)) == hash(serde)
        assert serde != ready(key_serde(made, columns[:0] if columns else [], None), "t", True)


@pytest.mark.parametrize("format", ["JSON", "JSON_SR", "AVRO", "PROTOBUF", "PROTOBUF_NOSR", "DELIMITED", "KAFKA"])
def test_header_columns_are_none_and_not_written(format: str) -> None:
    headers = Column("H", types.BYTES, Place.HEADERS, "h")
    plain = value_serde(Format(format), [Column("A", types.BIGINT)])
    serde = value_serde(Format(format), [headers, Column("A", types.BIGINT), headers])
    plain, serde = ready(plain, f"headers-{format}"), ready(serde, f"headers-{format}")
    data = serde.serialize((b"ignored", 5, b"ignored"))
    assert data == plain.serialize((5,))
    assert serde.deserialize(data) == (None, 5, None)


@pytest.mark.parametrize("format", ["KAFKA", "JSON", "JSON_SR", "AVRO", "PROTOBUF", "DELIMITED"])
@pytest.mark.parametrize("kind", WindowKind)
def test_windowed_keys(format: str, kind: WindowKind) -> None:
    window = Window(kind, None if kind is WindowKind.SESSION else 60_000)
    serde = ready(key_serde(Format(format), [Column("K", types.STRING, Place.KEY)], window), f"windowed-{format}", True)
    key = Windowed(("ana",), 120_000, 180_000)
    data = serde.serialize(key)
    assert serde.deserialize(data) == key
    assert data[-8:] == (120_000).to_bytes(8, "big")


@pytest.mark.parametrize("format", ["JSON", "JSON_SR", "AVRO", "PROTOBUF", "PROTOBUF_NOSR", "DELIMITED"])
def test_keys_of_two_columns(format: str) -> None:
    columns = [Column("A", types.STRING, Place.KEY), Column("B", types.INTEGER, Place.KEY)]
    serde = ready(key_serde(Format(format), columns), f"two-{format}", True)
    assert serde.deserialize(serde.serialize(("x", 1))) == ("x", 1)


def test_keyless_streams_have_no_bytes() -> None:
    for format in ("NONE", "KAFKA", "JSON", "AVRO"):
        serde = key_serde(Format(format), [])
        assert serde.serialize(()) is None
        assert serde.deserialize(b"whatever") == ()


@pytest.mark.parametrize("format", ["JSON", "JSON_SR", "AVRO", "PROTOBUF", "DELIMITED", "KAFKA"])
def test_what_is_of_another_type_cannot_be_written(format: str) -> None:
    serde = ready(value_serde(Format(format), [Column("A", types.BIGINT)]), f"wrong-{format}")
    if format in ("JSON", "JSON_SR", "DELIMITED"):  # they write text as it is; objects they cannot
        wrong: Any = object() if format != "DELIMITED" else None
        rows = [(wrong,), (1, 2), 5] if wrong is not None else [(1, 2), 5]
    else:
        rows = [("x",), (1, 2), 5]
    for row in rows:
        with pytest.raises((SerdeError, ValueError, TypeError)) as caught:
            serde.serialize(row)
        assert isinstance(caught.value, SerdeError), row


@pytest.mark.parametrize("format", ["JSON_SR", "AVRO", "PROTOBUF"])
@quick
@given(data=st.binary(max_size=24))
def test_any_bytes_behind_an_id_are_read_or_refused(format: str, data: bytes) -> None:
    serde = of_all(format)
    head = serde.serialize(tuple([None] * len(ALL)))[:5]
    with suppress(SerdeError):
        row = serde.deserialize(head + data)
        assert row is None or len(row) == len(ALL)


@cache
def of_few(format: str) -> Serde:
    columns = [Column("A", types.BIGINT)]
    if format != "KAFKA":
        columns += [Column("B", types.decimal(4, 2)), Column("C", types.TIMESTAMP)]
    return ready(value_serde(Format(format), columns), f"bytes-{format}")


@pytest.mark.parametrize("format", ["JSON", "JSON_SR", "AVRO", "PROTOBUF", "PROTOBUF_NOSR", "DELIMITED", "KAFKA"])
@quick
@given(data=st.binary(min_size=1, max_size=24))
def test_any_bytes_are_read_or_refused_with_a_sentence(format: str, data: bytes) -> None:
    with suppress(SerdeError):  # anything else would stop the query
        row = of_few(format).deserialize(data)
        assert row is None or len(row) == (1 if format == "KAFKA" else 3)
