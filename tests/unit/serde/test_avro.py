"""Avro with a registry inside the process: wire format, evolution by id, subjects, types, and every sentence."""

from __future__ import annotations

import datetime
import json
import pickle
import sys
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from caudal.registry.client import RegistryClient, shared_client
from caudal.registry.mock import forget_registry
from caudal.serde import Avro, SchemasUnavailable, SerdeError, TimeWindowed, describe_serde, serde_from
from caudal.serde.description import registry_serde
from caudal.serde.serde import bound, with_registry

MOCK = "mock://avro"
ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [{"name": "user", "type": "string"}, {"name": "amount", "type": "double"}],
}
WITH_NOTE = {**ORDER, "fields": [*ORDER["fields"], {"name": "note", "type": ["null", "string"], "default": None}]}


@pytest.fixture(autouse=True)
def registry() -> Iterator[RegistryClient]:
    forget_registry(MOCK)
    shared_client.__globals__["_clients"].clear()
    yield RegistryClient(MOCK)
    forget_registry(MOCK)


def order(**settings: Any) -> Avro:
    return Avro(**{"schema": ORDER, "registry": MOCK, "topic": "orders", **settings})


def test_bytes_are_zero_id_and_avro(registry: RegistryClient) -> None:
    registry.register("other", '"string"')  # takes the first id
    data = order().serialize({"user": "ana", "amount": 2.5})
    assert data == b"\x00\x00\x00\x00\x02" + b"\x06ana" + b"\x00\x00\x00\x00\x00\x00\x04\x40"
    assert order().deserialize(data) == {"user": "ana", "amount": 2.5}
    assert registry.subjects() == ["orders-value", "other"]


def test_the_functions_for_many_records_are_to_be_had(registry: RegistryClient) -> None:
    serde = order()
    write = serde.writer()
    assert registry.subjects() == ["orders-value"]  # registered by then
    data = write({"user": "ana", "amount": 2.5})
    reading = order(schema=None).reading(data)
    assert reading.read(data) == {"user": "ana", "amount": 2.5}
    assert reading.written == reading.seen and reading.written.id == 1
    with pytest.raises(SerdeError, match="wire format"):
        serde.reading(b"x")
    later = registry.register("orders-value", json.dumps(WITH_NOTE)).id
    latest = order(schema=None, use_latest_version=True).reading(data)
    assert (latest.written.id, latest.seen.id) == (1, later)
    assert latest.read(data) == {"user": "ana", "amount": 2.5, "note": None}


def test_logical_types_are_pythons() -> None:
    fields = {
        "day": ({"type": "int", "logicalType": "date"}, datetime.date(2026, 1, 31)),
        "time": ({"type": "int", "logicalType": "time-millis"}, datetime.time(12, 30, 1)),
        "at": (
            {"type": "long", "logicalType": "timestamp-micros"},
            datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC),
        ),
        "price": ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal("12.50")),
        "id": ({"type": "string", "logicalType": "uuid"}, uuid.UUID(int=7)),
        "kind": ({"type": "enum", "name": "Kind", "symbols": ["A", "B"]}, "B"),
        "raw": ({"type": "fixed", "name": "Raw", "size": 2}, b"ab"),
        "many": ({"type": "map", "values": {"type": "array", "items": ["null", "long"]}}, {"x": [1, None]}),
    }
    schema = {"type": "record", "name": "All", "fields": [{"name": n, "type": t} for n, (t, _) in fields.items()]}
    value = {name: value for name, (_, value) in fields.items()}
    serde = order(schema=schema)
    assert serde.deserialize(serde.serialize(value)) == value


def test_each_record_is_read_with_its_writers_schema() -> None:
    old = order().serialize({"user": "ana", "amount": 1.0})
    new = order(schema=WITH_NOTE).serialize({"user": "eva", "amount": 2.0, "note": "x"})
    assert old[:5] != new[:5]
    reader = order(schema=WITH_NOTE)
    assert reader.deserialize(old) == {"user": "ana", "amount": 1.0, "note": None}
    assert reader.deserialize(new) == {"user": "eva", "amount": 2.0, "note": "x"}
    assert order().deserialize(new) == {"user": "eva", "amount": 2.0}  # an older reader
    own = order(schema=None)
    assert own.deserialize(old) == {"user": "ana", "amount": 1.0}  # as it was written
    assert own.deserialize(new) == {"user": "eva", "amount": 2.0, "note": "x"}
    assert order(use_latest_version=True).deserialize(old)["note"] is None  # as the subject's latest
    assert order(schema=None, reader_schema=WITH_NOTE).deserialize(old)["note"] is None


def test_which_schema_is_written() -> None:
    first = order().serialize({"user": "ana", "amount": 1.0})
    latest = order(schema=WITH_NOTE).serialize({"user": "ana", "amount": 1.0})
    by_id = order(schema=None, schema_id=1, topic=None).serialize({"user": "ana", "amount": 1.0})
    assert by_id == first
    assert order(schema=None, use_latest_version=True).serialize({"user": "ana", "amount": 1.0}) == latest
    assert order(auto_register=False).serialize({"user": "ana", "amount": 1.0}) == first
    with pytest.raises(SerdeError, match=r"needs the schema in 'elsewhere' \(auto_register=False\), and the registry"):
        order(auto_register=False, subject="elsewhere").serialize({"user": "ana", "amount": 1.0})
    with pytest.raises(SerdeError, match="has no schema to write with: give schema=, schema_id= or use_latest_version"):
        order(schema=None).serialize({})
    with pytest.raises(SerdeError, match=r"the latest schema of 'new-value'.*Subject 'new-value' not found"):
        order(schema=None, use_latest_version=True, topic="new").serialize({})


@pytest.mark.parametrize(
    ("naming", "is_key", "subject"),
    [
        ("topic", False, "orders-value"),
        ("topic", True, "orders-key"),
        ("record", False, "shop.Order"),
        ("topic-record", False, "orders-shop.Order"),
    ],
)
def test_subjects_are_named(registry: RegistryClient, naming: str, is_key: bool, subject: str) -> None:
    order(naming=naming, is_key=is_key).serialize({"user": "ana", "amount": 1.0})
    assert registry.subjects() == [subject]


def test_a_type_by_its_bare_name(registry: RegistryClient) -> None:
    serde = order(schema="string")
    assert serde.serialize("ana")[5:] == b"\x06ana"
    assert registry.latest("orders-value").text == '"string"'


def test_a_subject_needs_a_topic_or_a_name() -> None:
    with pytest.raises(SerdeError, match="named by topic, and the serde was not told its topic: give subject="):
        order(topic=None).serialize({"user": "ana", "amount": 1.0})
    with pytest.raises(SerdeError, match="named by record, and the schema has no name"):
        order(schema={"type": "array", "items": "long"}, naming="record").serialize([1])
    with pytest.raises(SerdeError, match="naming= takes topic, record, topic-record, not 'x'"):
        Avro(naming="x")


def test_references_are_found(registry: RegistryClient) -> None:
    address = {"type": "record", "name": "Address", "namespace": "shop", "fields": [{"name": "city", "type": "string"}]}
    order(schema=address, subject="address").serialize({"city": "Lugo"})
    customer = {"type": "record", "name": "Customer", "fields": [{"name": "home", "type": "shop.Address"}]}
    serde = order(schema=customer, references=[("shop.Address", "address", 1)], topic="customers")
    data = serde.serialize({"home": {"city": "Vigo"}})
    assert Avro(registry=MOCK).deserialize(data) == {"home": {"city": "Vigo"}}
    assert serde_from(describe_serde(serde)) == serde
    assert registry.latest("customers-value").references == serde.references


def test_defaults_are_pythons_values() -> None:
    day = {"type": "int", "logicalType": "date"}
    price = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 1}
    fields: list[dict[str, Any]] = [
        {"name": "raw", "type": "bytes", "default": "\u00ff"},
        {"name": "day", "type": day, "default": 1},
        {"name": "price", "type": [price, "null"], "default": "\u000f"},
        {"name": "days", "type": {"type": "array", "items": day}, "default": [2]},
        {"name": "inner", "type": {"type": "record", "name": "I", "fields": [{"name": "b", "type": "bytes"}]}},
    ]
    fields[-1]["default"] = {"b": "x"}
    empty = order(schema={"type": "record", "name": "R", "fields": []}).serialize({})
    serde = order(schema={"type": "record", "name": "R", "fields": fields})
    expected = {
        "raw": b"\xff",
        "day": datetime.date(1970, 1, 2),
        "price": Decimal("1.5"),
        "days": [datetime.date(1970, 1, 3)],
        "inner": {"b": b"x"},
    }
    assert serde.deserialize(empty) == expected
    assert serde.deserialize(serde.serialize({})) == expected
    serde.deserialize(empty)["days"].clear()
    assert serde.deserialize(empty) == expected  # nobody shares a default


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"n": 1 << 31}, "the field 'n': 2147483648 does not fit into an int"),
        ({"list": [1, -(1 << 31) - 1]}, r"the field 'list\[1\]': -2147483649 does not"),
        ({"map": {"k": 1 << 40}}, r"the field 'map\['k'\]': "),
        ({"next": {"n": 1 << 31}}, r"the field 'next\.n': 2147483648 does not"),
        ({"maybe": 1 << 31}, "maybe"),
        ({"long": 1 << 63}, "long"),
    ],
)
def test_numbers_that_are_too_large(value: Any, said: str) -> None:
    nothing: dict[str, Any] = {"n": 1, "list": [], "map": {}, "next": None, "maybe": None, "long": 1}
    fields = [
        {"name": "n", "type": "int"},
        {"name": "list", "type": {"type": "array", "items": "int"}},
        {"name": "map", "type": {"type": "map", "values": "int"}},
        {"name": "next", "type": ["null", "Sizes"]},
        {"name": "maybe", "type": ["null", "int"]},
        {"name": "long", "type": "long"},
    ]
    serde = order(schema={"type": "record", "name": "Sizes", "fields": fields})
    assert serde.deserialize(serde.serialize(nothing)) == nothing
    value = {key: {**nothing, **item} if key == "next" else item for key, item in value.items()}
    with pytest.raises(SerdeError, match=said):
        serde.serialize({**nothing, **value})
    assert serde.serialize({**nothing, "n": (1 << 31) - 1, "list": [-(1 << 31)]})


def test_inferred_schemas(registry: RegistryClient) -> None:
    serde = Avro(infer="Event", registry=MOCK, topic="events")
    value = {"user": "ana", "n": 3, "tags": ["a"], "at": datetime.date(2026, 1, 1), "in": {"ok": True}}
    assert serde.deserialize(serde.serialize(value)) == value
    assert registry.versions("events-value") == [1]
    serde.serialize({**value, "user": "eva"})
    assert registry.versions("events-value") == [1]
    with pytest.raises(SerdeError, match=r"Event\.x is set, for which no Avro type is known"):
        serde.serialize({"x": {1}})
    with pytest.raises(SerdeError, match="'a b' in Event cannot be the name of a field"):
        serde.serialize({"a b": 1})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"user": 5, "amount": 1.0}, r"shop\.Order\.user is <5> of type <class 'int'> expected string"),
        ({"user": "ana"}, r"Field\(shop\.Order\.amount\) is None expected double"),
        ("text", "text.* expected"),
    ],
)
def test_a_value_that_does_not_fit_names_the_field(value: Any, said: str) -> None:
    with pytest.raises(SerdeError, match=said):
        order().serialize(value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"a": 1}', "it is not in the registry's wire format: its first byte is 123, not 0"),
        (b"\x00\x00", "it is not in the registry's wire format: it is too short"),
        (b"", "too short"),
        (b"\x00\x00\x00\x01\x00abc", "needs the schema with id 256, and the registry at mock://avro says"),
        (b"\x00\x00\x00\x00\x01\x06a", "it does not fit schema 1"),
        (b"\x00\x00\x00\x00\x01\x02a\x00\x00\x00\x00\x00\x00\x00\x00more", "longer than a value of schema 1"),
    ],
)
def test_bytes_that_cannot_be_read(data: bytes, said: str) -> None:
    order().serialize({"user": "ana", "amount": 1.0})
    with pytest.raises(SerdeError, match=said):
        order(schema=None).deserialize(data)


def test_a_reader_that_does_not_fit() -> None:
    data = order().serialize({"user": "ana", "amount": 1.0})
    other = {**ORDER, "fields": [{"name": "user", "type": "long"}, {"name": "amount", "type": "double"}]}
    with pytest.raises(SerdeError, match="schema 1, which it was written with, cannot be read as this one"):
        order(schema=other).deserialize(data)


def test_schemas_that_are_none_are_refused_at_once() -> None:
    with pytest.raises(SerdeError, match="the schema is not JSON"):
        Avro("{")
    with pytest.raises(SerdeError, match="is not a registry's address"):
        Avro(registry="ftp://x")
    with pytest.raises(SerdeError, match=r"unknown type|says"):
        order(schema={"type": "record", "name": "R", "fields": [{"name": "a", "type": "nothing"}]}).serialize({"a": 1})


def test_an_incompatible_schema_is_not_registered() -> None:
    order().serialize({"user": "ana", "amount": 1.0})
    other = {**ORDER, "fields": [*ORDER["fields"], {"name": "must", "type": "string"}]}
    with pytest.raises(SerdeError, match=r"a place for the schema in 'orders-value'.*incompatible.*must"):
        order(schema=other).serialize({"user": "ana", "amount": 1.0, "must": "x"})


def test_no_registry_says_its_address_and_is_no_fault_of_the_record() -> None:
    serde = order(registry="http://ana:secret@127.0.0.1:9", wait_seconds=0.0)
    with pytest.raises(SchemasUnavailable, match="the connection is refused") as caught:
        serde.deserialize(b"\x00\x00\x00\x00\x01abc")
    assert "no registry at http://127.0.0.1:9:" in str(caught.value)
    assert "secret" not in str(caught.value) + repr(serde) + str(describe_serde(serde))


def test_an_unknown_id_is_not_asked_for_with_every_record(monkeypatch: pytest.MonkeyPatch) -> None:
    serde = order(schema=None)
    asked: list[int] = []
    real = RegistryClient.schema

    def schema(client: RegistryClient, id: int, **settings: Any) -> Any:
        asked.append(id)
        return real(client, id, **settings)

    monkeypatch.setattr(RegistryClient, "schema", schema)
    for _ in range(3):
        with pytest.raises(SerdeError, match="id 9"):
            serde.deserialize(b"\x00\x00\x00\x00\x09abc")
    assert asked == [9]


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(SerdeError, match=r"Avro needs the package 'fastavro': pip install 'caudal\[registry\]'"):
        registry_serde("Avro")
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(SchemasUnavailable, match="the package httpx is missing: pip install"):
        order(registry="http://127.0.0.1:9", wait_seconds=0.0).deserialize(b"\x00\x00\x00\x00\x01abc")


def test_described_pickled_and_bound() -> None:
    serde = order(topic=None, registry=None, naming="topic-record", infer="X", wait_seconds=1.5)
    assert serde_from(describe_serde(serde)) == serde == pickle.loads(pickle.dumps(serde))
    assert hash(serde) == hash(order(topic=None, registry=None, naming="topic-record", infer="X", wait_seconds=1.5))
    windowed = with_registry(bound(TimeWindowed(serde, 5), "orders", True), MOCK)
    assert isinstance(windowed, TimeWindowed) and isinstance(windowed.key, Avro)
    assert (windowed.key.topic, windowed.key.is_key, windowed.key.registry) == ("orders", True, MOCK)
    own = order(registry="mock://own")
    assert with_registry(own, MOCK) is own
    used = order()
    used.serialize({"user": "ana", "amount": 1.0})
    assert pickle.loads(pickle.dumps(used))._write is None


def test_typed_json_becomes_values() -> None:
    schema = {
        "type": "record",
        "name": "T",
        "fields": [
            {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
            {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
            {"name": "raw", "type": "bytes"},
            {"name": "either", "type": ["null", "string", "long"]},
            {"name": "next", "type": ["null", "T"], "default": None},
        ],
    }
    serde = order(schema=schema)
    text = b'{"day": "2026-01-31", "price": 1.5, "raw": "AAE=", "either": 3, "next": null}'
    expected = {"day": datetime.date(2026, 1, 31), "price": Decimal("1.5"), "raw": b"\0\1", "either": 3, "next": None}
    assert serde.value_of_json(text) == expected
    nested = serde.value_of_json(b'{"price": "2", "raw": "", "next": ' + text + b"}")
    assert nested["next"] == expected
    for wrong, said in [
        (b'{"day": "tomorrow"}', r"the field 'day': 'tomorrow' is not a date such as 2026-01-31"),
        (b'{"price": "x"}', "the field 'price': 'x' is not a decimal number"),
        (b'{"raw": "?"}', "the field 'raw': '\\?' is not base64"),
        (b'{"rew": 1}', "T has no field 'rew'"),
        (b"{", "cannot write {:"),
    ]:
        with pytest.raises(SerdeError, match=said):
            serde.value_of_json(wrong)
