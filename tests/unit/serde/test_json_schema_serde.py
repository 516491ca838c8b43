"""JsonSchema: documents that must fit, on both sides."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from caudal.registry.client import RegistryClient
from caudal.registry.mock import forget_registry
from caudal.serde import JsonSchema, SerdeError, describe_serde, serde_from

MOCK = "mock://json-schema"
ORDER = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "type": "object",
    "properties": {"user": {"type": "string"}, "amount": {"type": "number", "minimum": 0}},
    "required": ["user"],
    "additionalProperties": False,
}


@pytest.fixture(autouse=True)
def registry() -> Iterator[RegistryClient]:
    forget_registry(MOCK)
    yield RegistryClient(MOCK)
    forget_registry(MOCK)


def order(schema: Any = ORDER, **settings: Any) -> JsonSchema:
    return JsonSchema(schema, **{"registry": MOCK, "topic": "orders", **settings})


def test_there_and_back() -> None:
    data = order().serialize({"user": "ana", "amount": 2.5})
    assert data == b'\x00\x00\x00\x00\x01{"user":"ana","amount":2.5}'
    assert order().deserialize(data) == order(None).deserialize(data) == {"user": "ana", "amount": 2.5}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"user": 5}, "it does not fit schema 1: the field 'user': 5 is not of type 'string'"),
        ({"user": "a", "amount": -1}, "the field 'amount': -1 is less than the minimum of 0"),
        ({}, "'user' is a required property"),
        ({"user": "a", "x": 1}, r"Additional properties are not allowed \('x' was unexpected\)"),
        ({"user": {1}}, "set"),
    ],
)
def test_a_value_that_does_not_fit_names_the_field(value: Any, said: str) -> None:
    with pytest.raises(SerdeError, match=said):
        order().serialize(value)


def test_reading_checks_too() -> None:
    order().serialize({"user": "ana"})
    with pytest.raises(SerdeError, match="it does not fit schema 1: 'user' is a required property"):
        order(None).deserialize(b"\x00\x00\x00\x00\x01{}")
    assert order(None, validate=False).deserialize(b"\x00\x00\x00\x00\x01{}") == {}
    with pytest.raises(SerdeError, match="cannot read"):
        order(None).deserialize(b"\x00\x00\x00\x00\x01{")
    narrower = {**ORDER, "required": ["user", "amount"]}
    data = order().serialize({"user": "ana"})
    with pytest.raises(SerdeError, match="it does not fit the reader's schema: 'amount' is a required property"):
        order(None, reader_schema=narrower).deserialize(data)


def test_dates_are_text_when_they_are_written() -> None:
    schema = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}
    serde = order(schema)
    assert serde.deserialize(serde.serialize({"day": datetime.date(2026, 1, 31)})) == {"day": "2026-01-31"}


def test_references() -> None:
    address = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    order(address, subject="address").serialize({"city": "Lugo"})
    customer = {"type": "object", "properties": {"home": {"$ref": "address.json"}}}
    serde = order(customer, topic="customers", references=[("address.json", "address", 1)])
    data = serde.serialize({"home": {"city": "Vigo"}})
    assert JsonSchema(registry=MOCK).deserialize(data) == {"home": {"city": "Vigo"}}
    with pytest.raises(SerdeError, match="the field 'home': 'city' is a required property"):
        serde.serialize({"home": {}})
    assert serde_from(describe_serde(serde)) == serde


def test_subjects_by_title(registry: RegistryClient) -> None:
    order(naming="topic-record").serialize({"user": "ana"})
    assert registry.subjects() == ["orders-Order"]


def test_another_language_is_refused(registry: RegistryClient) -> None:
    from caudal.serde import Avro

    data = Avro('"string"', registry=MOCK, topic="texts").serialize("x")
    with pytest.raises(SerdeError, match=r"The schema with id 1 is AVRO, and JsonSchema.* is for JSON"):
        order(None).deserialize(data)


def test_rules_by_tag(registry: RegistryClient) -> None:
    schema = '{"type": "object", "properties": {"card": {"type": "string", "confluent:tags": ["PII"]}}}'
    hide = {"name": "hide", "kind": "TRANSFORM", "mode": "READ", "type": "MASK", "tags": ["PII"]}
    registry.register("cards-value", schema, "JSON", rule_set={"domainRules": [{**hide, "params": {"keep_last": "4"}}]})
    serde = order(None, use_latest_version=True, topic="cards")
    assert serde.deserialize(serde.serialize({"card": "12345678", "other": 1})) == {"card": "****5678", "other": 1}
