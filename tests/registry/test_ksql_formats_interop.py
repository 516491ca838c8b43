"""KSQL's registry formats and confluent-kafka's serialisers, in both directions, over one registry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message_factory import GetMessageClass

from caudal.ksql import types
from caudal.ksql.formats.serdes import key_serde, value_serde
from caudal.ksql.schema import Column, Place
from caudal.ksql.sources import Format
from caudal.serde.serde import Serde, bound, with_registry
from tests.registry.http_registry import http_registry

COLUMNS = [
    Column("ID", types.BIGINT),
    Column("NAME", types.STRING),
    Column("PRICE", types.decimal(6, 2)),
    Column("DAY", types.DATE),
    Column("MOMENT", types.TIME),
    Column("TS", types.TIMESTAMP),
    Column("TAGS", types.array(types.STRING)),
    Column("HOME", types.struct(("CITY", types.STRING), ("ZIP", types.INTEGER))),
]
ROW = (
    7,
    "ana",
    Decimal("12.50"),
    date(2026, 1, 31),
    time(10, 20, 30),
    datetime(2026, 1, 31, 10, 20, 30, tzinfo=UTC),
    ["a", "b"],
    {"CITY": "Murcia", "ZIP": 30001},
)
NAMES = [column.name for column in COLUMNS]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_registry() as address:
        yield address


@pytest.fixture
def theirs(url: str) -> Any:
    return SchemaRegistryClient({"url": url})


def ours(format: str, url: str, topic: str) -> Serde:
    return bound(with_registry(value_serde(Format(format), COLUMNS), url), topic, False)


def context(topic: str, field: str = MessageField.VALUE) -> Any:
    return SerializationContext(topic, field)


def test_avro_is_read_by_their_deserialiser(url: str, theirs: Any) -> None:
    data = ours("AVRO", url, "avro-out").serialize(ROW)
    assert AvroDeserializer(theirs)(data, context("avro-out")) == dict(zip(NAMES, ROW, strict=True))


def test_avro_of_their_serialiser_is_read(url: str, theirs: Any) -> None:
    schema = json.dumps(
        {
            "type": "record",
            "name": "Order",
            "fields": [
                {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}},
                {"name": "id", "type": "int"},
                {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1}},
                {"name": "extra", "type": "string"},
            ],
        }
    )
    value = {"ts": ROW[5], "id": 7, "price": Decimal("12.5"), "extra": "x"}
    data = AvroSerializer(theirs, schema)(value, context("avro-in"))
    row = ours("AVRO", url, "avro-in").deserialize(data)
    assert row == (7, None, Decimal("12.50"), None, None, ROW[5], None, None)


def test_json_sr_is_read_by_their_deserialiser(url: str, theirs: Any) -> None:
    data = ours("JSON_SR", url, "json-out").serialize(ROW)
    schema = theirs.get_latest_version("json-out-value").schema.schema_str
    found = JSONDeserializer(schema, schema_registry_client=theirs)(data, context("json-out"))
    assert found["ID"] == 7 and found["HOME"] == ROW[7] and found["DAY"] == 20484


def test_json_of_their_serialiser_is_read(url: str, theirs: Any) -> None:
    schema = json.dumps({"title": "Order", "type": "object", "properties": {"id": {"type": "integer"}}})
    data = JSONSerializer(schema, theirs)({"id": 7}, context("json-in"))
    assert ours("JSON_SR", url, "json-in").deserialize(data)[0] == 7


def message_class() -> Any:
    """message Order { int64 id = 1; string name = 2; }"""
    file = descriptor_pb2.FileDescriptorProto(name="order.proto", syntax="proto3")
    message = file.message_type.add(name="Order")
    for number, (name, kind) in enumerate([("id", 3), ("name", 9)], 1):
        message.field.add(name=name, number=number, type=kind, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName("Order"))


def test_protobuf_both_ways(url: str, theirs: Any) -> None:
    serde = ours("PROTOBUF", url, "proto-out")
    assert serde.deserialize(serde.serialize(ROW)) == ROW
    order, settings = message_class(), {"use.deprecated.format": False}
    data = ProtobufSerializer(order, theirs, settings)(order(id=7, name="ana"), context("proto-in"))
    named = value_serde(Format("PROTOBUF"), COLUMNS[:2])
    assert bound(with_registry(named, url), "proto-in", False).deserialize(data) == (7, "ana")
    written = bound(with_registry(named, url), "proto-back", False).serialize((7, "ana"))
    found = ProtobufDeserializer(order, settings)(written, context("proto-back"))
    assert (found.id, found.name) == (7, "ana")


def test_single_keys_are_plain_avro(url: str, theirs: Any) -> None:
    serde = bound(with_registry(key_serde(Format("AVRO"), [Column("K", types.STRING, Place.KEY)]), url), "keys", True)
    assert AvroDeserializer(theirs)(serde.serialize(("ana",)), context("keys", MessageField.KEY)) == "ana"
    data = AvroSerializer(theirs, '"string"')("eva", context("keys", MessageField.KEY))
    assert serde.deserialize(data) == ("eva",)
