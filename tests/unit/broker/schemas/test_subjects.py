"""Under which subject a schema has to be registered, and the record names that two of the strategies need."""

from __future__ import annotations

import json

import pytest

from caudal.broker.schemas.subjects import RECORD_NAME, TOPIC_NAME, TOPIC_RECORD_NAME, SubjectRule, record_names

NAMES = frozenset({"shop.Order"})


@pytest.mark.parametrize(
    ("strategy", "subjects"),
    [(TOPIC_NAME, ["orders-value"]), (RECORD_NAME, ["shop.Order"]), (TOPIC_RECORD_NAME, ["orders-shop.Order"])],
)
def test_the_three_strategies(strategy: str, subjects: list[str]) -> None:
    rule = SubjectRule(strategy, "orders", "value")
    assert rule.subjects(NAMES) == subjects
    assert rule.needs_names == (strategy != TOPIC_NAME)


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"type": "record", "name": "Order", "namespace": "shop", "fields": []}, "shop.Order"),
        ({"type": "record", "name": "shop.Order", "namespace": "other", "fields": []}, "shop.Order"),
        ({"type": "record", "name": "Order", "fields": []}, "Order"),
        ("string", "string"),
    ],
)
def test_names_of_avro(schema: object, name: str) -> None:
    assert record_names("AVRO", json.dumps(schema)) == {name}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"name": 3}', "[" * 100_000])
@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_what_names_nothing_has_no_names(kind: str, text: str) -> None:
    assert record_names(kind, text) == frozenset()


def test_the_name_of_a_json_schema_is_its_title() -> None:
    assert record_names("JSON", '{"title": "Order", "type": "object"}') == {"Order"}


def test_names_of_protobuf_are_those_of_every_message() -> None:
    text = """
    syntax = "proto3"; // message NotThis {
    package shop.v1;
    option java_package = "message Wrong {";
    /* message Neither { } */
    message Order {
      oneof pay { string card = 1; int64 cash = 2; }
      message Line { string sku = 1; }
      map<string, Line> lines = 3;
      enum State { NEW = 0; }
    }
    message Customer { string name = 1; }
    service Shop { rpc Buy (Order) returns (Customer) {} }
    """
    assert record_names("PROTOBUF", text) == {"shop.v1.Order", "shop.v1.Order.Line", "shop.v1.Customer"}
    assert record_names("PROTOBUF", "message M {}") == {"M"}
