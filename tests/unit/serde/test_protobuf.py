"""Protobuf without generated classes, and with: dicts in and out, message indexes, evolution, references."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from caudal.registry.client import RegistryClient
from caudal.registry.mock import forget_registry
from caudal.serde import Protobuf, SerdeError, describe_serde, serde_from
from caudal.serde.wire_format import message_indexes, read_message_indexes

MOCK = "mock://protobuf"
EVERYTHING = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";

enum Kind { UNKNOWN = 0; BIG = 1; }

message Order {
  string user = 1;
  int64 amount = 2;
  uint64 large = 3;
  double rate = 4;
  float half = 5;
  bool paid = 6;
  bytes raw = 7;
  Kind kind = 8;
  optional string note = 9;
  repeated string tags = 10;
  repeated Kind kinds = 11;
  map<string, int32> counts = 12;
  map<int32, Line> lines = 13;
  repeated Line more = 14;
  Line first = 15;
  oneof pay { string card = 16; int32 cash = 17; }
  google.protobuf.Timestamp at = 18;
  google.protobuf.Duration took = 19;
  google.protobuf.StringValue wrapped = 20;
  google.protobuf.Struct free = 21;
  Order next = 22;
  message Line { string sku = 1; sint32 n = 2; message Deep { fixed32 x = 1; } }
}
message Second { string name = 1; }
"""
FULL: dict[str, Any] = {
    "user": "ana",
    "amount": -5_000_000_000,
    "large": (1 << 64) - 1,
    "rate": 2.5,
    "half": 0.5,
    "paid": True,
    "raw": b"\xff\x00",
    "kind": "BIG",
    "note": "",
    "tags": ["a", "b"],
    "kinds": ["BIG", "UNKNOWN"],
    "counts": {"x": 1},
    "lines": {7: {"sku": "s", "n": -1}},
    "more": [{"sku": "t", "n": 2}],
    "first": {"sku": "u", "n": 0},
    "card": None,
    "cash": 0,
    "at": datetime(2026, 1, 31, 12, 0, 0, 250, tzinfo=UTC),
    "took": timedelta(seconds=-1, microseconds=-500_000),
    "wrapped": "w",
    "free": {"a": [1.0, None, "x", True, {"b": 2.0}]},
    "next": None,
}
EMPTY: dict[str, Any] = {
    **dict.fromkeys(FULL),
    "user": "",
    "amount": 0,
    "large": 0,
    "rate": 0.0,
    "half": 0.0,
    "paid": False,
    "raw": b"",
    "kind": "UNKNOWN",
    "tags": [],
    "kinds": [],
    "counts": {},
    "lines": {},
    "more": [],
}


@pytest.fixture(autouse=True)
def registry() -> Iterator[RegistryClient]:
    forget_registry(MOCK)
    yield RegistryClient(MOCK)
    forget_registry(MOCK)


def order(schema: Any = EVERYTHING, **settings: Any) -> Protobuf:
    return Protobuf(schema, **{"registry": MOCK, "topic": "orders", **settings})


def test_every_kind_of_field_there_and_back() -> None:
    serde = order()
    assert serde.deserialize(serde.serialize(FULL)) == FULL
    assert serde.deserialize(serde.serialize({})) == EMPTY
    nested = {**FULL, "next": {**EMPTY, "user": "eva", "next": {**EMPTY, "user": "leo"}}}
    assert Protobuf(registry=MOCK).deserialize(serde.serialize(nested)) == nested
    assert list(serde.deserialize(serde.serialize(FULL))) == list(FULL)  # the order of the schema


def test_message_indexes_on_the_wire() -> None:
    assert order().serialize({"user": "a"}) == b"\x00\x00\x00\x00\x01" + b"\x00" + b"\x0a\x01a"
    assert order(message="shop.Second").serialize({"name": "a"})[5:] == b"\x02\x02" + b"\x0a\x01a"
    assert order(message="Order.Line.Deep").serialize({"x": 1})[5:9] == b"\x06\x00\x04\x00"  # after two map entries
    reader = Protobuf(registry=MOCK)
    assert reader.deserialize(order(message="Second").serialize({"name": "a"})) == {"name": "a"}
    assert reader.deserialize(order(message="Order.Line.Deep").serialize({"x": 1})) == {"x": 1}
    for path in ([0], [1], [0, 3], [300, 0, 70000]):
        assert read_message_indexes(message_indexes(path) + b"rest", 0) == (tuple(path), len(message_indexes(path)))
    with pytest.raises(SerdeError, match="The schema has no message 'Third'"):
        order(message="Third").serialize({})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"user": 5}, "the field 'user': "),
        ({"amount": "x"}, "the field 'amount': "),
        ({"amount": 1 << 70}, "the field 'amount': "),
        ({"nobody": 1}, r"the field 'nobody': shop\.Order has no such field"),
        ({"kind": "SMALL"}, "the field 'kind': 'SMALL' is not one of UNKNOWN, BIG"),
        ({"first": {"sku": 1}}, r"the field 'first\.sku': "),
        ({"first": {"nobody": 1}}, r"the field 'first\.nobody': shop\.Order\.Line has no such field"),
        ({"first": "x"}, "the field 'first': a dict is needed, not str 'x'"),
        ({"more": {"sku": "x"}}, "the field 'more': a list is needed, not dict"),
        ({"tags": "x"}, "the field 'tags': a list is needed, not str 'x'"),
        ({"at": "now"}, "the field 'at': a datetime is needed, not str 'now'"),
        ("text", "a dict is needed, not str 'text'"),
    ],
)
def test_a_value_that_does_not_fit_names_the_field(value: Any, said: str) -> None:
    with pytest.raises(SerdeError, match=said):
        order().serialize(value)


def test_evolution_by_number() -> None:
    old = 'syntax = "proto3"; message Order { string user = 1; }'
    new = 'syntax = "proto3"; message Order { string user = 1; int64 amount = 2; }'
    written_old = order(old).serialize({"user": "ana"})
    written_new = order(new).serialize({"user": "eva", "amount": 3})
    assert written_old[:5] != written_new[:5]
    assert order(new).deserialize(written_old) == {"user": "ana", "amount": 0}
    assert order(old).deserialize(written_new) == {"user": "eva"}
    assert order(None).deserialize(written_new) == {"user": "eva", "amount": 3}
    assert order(None, use_latest_version=True).deserialize(written_old) == {"user": "ana", "amount": 0}


def test_reading_registers_nothing(registry: RegistryClient) -> None:
    data = order('syntax = "proto3"; message Order { string user = 1; }').serialize({"user": "ana"})
    wider = 'syntax = "proto3"; message Order { string user = 1; bool paid = 3; }'
    reader = Protobuf(reader_schema=wider, registry=MOCK)
    assert (
        reader.deserialize(data) == Protobuf(wider, registry=MOCK).deserialize(data) == {"user": "ana", "paid": False}
    )
    assert registry.versions("orders-value") == [1]
    with pytest.raises(SerdeError, match="the schema is not Protobuf"):
        Protobuf("message {", registry=MOCK).deserialize(data)


def test_references(registry: RegistryClient) -> None:
    inner = 'syntax = "proto3"; package geo; message City { string name = 1; }'
    middle = 'syntax = "proto3"; package geo; import "city.proto"; message Address { City city = 1; }'
    outer = 'syntax = "proto3"; package shop; import "address.proto"; message Customer { geo.Address home = 1; }'
    order(inner, subject="city").serialize({})
    order(middle, subject="address", references=[("city.proto", "city", 1)]).serialize({})
    serde = order(outer, topic="customers", references=[("address.proto", "address", 1)])
    value = {"home": {"city": {"name": "Lugo"}}}
    assert Protobuf(registry=MOCK).deserialize(serde.serialize(value)) == value
    assert serde_from(describe_serde(serde)) == serde == pickle.loads(pickle.dumps(serde))


@pytest.mark.parametrize(
    ("naming", "subject"), [("record", "shop.Order"), ("topic-record", "orders-shop.Order"), ("topic", "orders-value")]
)
def test_subjects(registry: RegistryClient, naming: str, subject: str) -> None:
    order(naming=naming).serialize({})
    assert registry.subjects() == [subject]


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        (b"\x00\x0a\x05a", "it does not fit schema 1"),
        (b"\x02\x0a\x00", r"there is no message \[5\] in it"),
        (b"\xff", "its message indexes have no end"),
        (b"\x01", "is no number of message indexes"),
    ],
)
def test_bytes_that_cannot_be_read(rest: bytes, said: str) -> None:
    order().serialize({})
    with pytest.raises(SerdeError, match=said):
        Protobuf(registry=MOCK).deserialize(b"\x00\x00\x00\x00\x01" + rest)


def test_a_generated_class(registry: RegistryClient) -> None:
    from google.protobuf import struct_pb2, timestamp_pb2

    serde = Protobuf(message=timestamp_pb2.Timestamp, registry=MOCK, topic="times")
    moment = timestamp_pb2.Timestamp(seconds=5)
    data = serde.serialize(moment)
    assert serde.deserialize(data) == moment
    assert registry.subjects() == ["times-value"]
    with pytest.raises(SerdeError, match=r"a message google\.protobuf\.Timestamp is needed"):
        serde.serialize({"seconds": 5})
    with pytest.raises(SerdeError, match=r"it is a google\.protobuf\.Timestamp, not a google\.protobuf\.Struct"):
        Protobuf(message=struct_pb2.Struct, registry=MOCK).deserialize(data)
    description = describe_serde(serde)
    assert description["custom"] and description["message"] == "google.protobuf.Timestamp"
    with pytest.raises(SerdeError, match="a class of the user cannot be made"):
        serde_from(description)


def test_typed_json() -> None:
    text = b'{"user": "ana", "raw": "/wA=", "at": "2026-01-31T12:00:00Z", "kind": "BIG", "lines": {"7": {"n": 1}}}'
    value = order().value_of_json(text)
    assert value["raw"] == b"\xff\x00" and value["at"] == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert value["lines"] == {7: {"sku": "", "n": 1}}
    assert order().deserialize(order().serialize(value)) == value
    with pytest.raises(SerdeError, match='has no field named "nobody"'):
        order().value_of_json(b'{"nobody": 1}')


def test_rules_by_tag(registry: RegistryClient) -> None:
    schema = """
    syntax = "proto3";
    import "confluent/meta.proto";
    message Customer {
      string name = 1;
      string card = 2 [(confluent.field_meta).tags = "PII"];
      repeated string mails = 3 [(confluent.field_meta).tags = "PII"];
      Customer parent = 4;
    }
    """
    hide = {"name": "hide", "kind": "TRANSFORM", "mode": "WRITE", "type": "MASK", "tags": ["PII"]}
    registry.register(
        "customers-value", schema, "PROTOBUF", rule_set={"domainRules": [{**hide, "params": {"keep_last": "2"}}]}
    )
    serde = order(None, use_latest_version=True, topic="customers")
    value = {"name": "ana", "card": "1234", "mails": ["a@x"], "parent": {"name": "eva", "card": "5678"}}
    masked = serde.deserialize(serde.serialize(value))
    assert (masked["name"], masked["card"], masked["mails"]) == ("ana", "**34", ["*@x"])
    assert masked["parent"]["card"] == "**78"


def test_confluents_files_need_no_package_of_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("caudal.serde.protobuf.import_module", missing)
    text = """
        syntax = "proto3";
        import "confluent/meta.proto";
        import "confluent/type/decimal.proto";
        message Priced {
          confluent.type.Decimal price = 1 [(confluent.field_meta) = {params: {key: "scale", value: "2"}}];
        }
    """
    serde = Protobuf(text, registry="mock://confluent-files", subject="priced-value")
    value = {"price": {"value": b"\x7d", "precision": 3, "scale": 2}}
    assert serde.deserialize(serde.serialize(value)) == value
    unknown = Protobuf('syntax = "proto3"; import "nobody.proto"; message A {}', registry="mock://confluent-files")
    with pytest.raises(SerdeError, match="nobody"):
        unknown.for_topic("a", is_key=False).serialize({})
