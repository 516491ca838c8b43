"""Our serdes and confluent-kafka's, in both directions, over one registry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message_factory import GetMessageClass

from caudal.registry.client import RegistryClient
from caudal.serde import Avro, JsonSchema, Protobuf, SerdeError
from tests.registry.http_registry import http_registry


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_registry() as address:
        yield address


@pytest.fixture
def theirs(url: str) -> Any:
    return SchemaRegistryClient({"url": url})


def context(topic: str, key: bool = False) -> Any:
    return SerializationContext(topic, MessageField.KEY if key else MessageField.VALUE)


AVRO = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "user", "type": "string"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
    ],
}
AVRO_VALUE = {
    "user": "ana",
    "note": None,
    "price": Decimal("1.25"),
    "day": date(2026, 1, 31),
    "at": datetime(2026, 1, 31, 12, tzinfo=UTC),
    "counts": {"a": 1, "b": -2},
}


def test_avro_both_ways(url: str, theirs: Any) -> None:
    ours = Avro(AVRO, registry=url, topic="avro")
    write, read = AvroSerializer(theirs, json.dumps(AVRO)), AvroDeserializer(theirs)
    assert write(AVRO_VALUE, context("avro")) == ours.serialize(AVRO_VALUE)
    assert read(ours.serialize(AVRO_VALUE), context("avro")) == AVRO_VALUE
    assert ours.deserialize(write(AVRO_VALUE, context("avro"))) == AVRO_VALUE


def test_avro_keys_have_their_own_subject(url: str, theirs: Any) -> None:
    ours = Avro('{"type": "string"}', registry=url).for_topic("keyed", is_key=True)
    write = AvroSerializer(theirs, '{"type": "string"}')
    assert write("ana", context("keyed", key=True)) == ours.serialize("ana")
    assert theirs.get_latest_version("keyed-key").version == 1


def test_avro_evolution_both_ways(url: str, theirs: Any) -> None:
    old = {"type": "record", "name": "E", "fields": [{"name": "a", "type": "int"}]}
    new = {**old, "fields": [*old["fields"], {"name": "b", "type": "string", "default": "none"}]}
    by_them = AvroSerializer(theirs, json.dumps(old))({"a": 1}, context("evolved"))
    by_us = Avro(new, registry=url, topic="evolved").serialize({"a": 2, "b": "x"})
    assert Avro(new, registry=url, topic="evolved").deserialize(by_them) == {"a": 1, "b": "none"}
    assert AvroDeserializer(theirs, json.dumps(old))(by_us, context("evolved")) == {"a": 2}


def test_avro_references(url: str, theirs: Any) -> None:
    city = {"type": "record", "name": "City", "namespace": "geo", "fields": [{"name": "name", "type": "string"}]}
    home = {"type": "record", "name": "Home", "fields": [{"name": "city", "type": "geo.City"}]}
    theirs.register_schema("avro-city", Schema(json.dumps(city), "AVRO"))
    reference = ("geo.City", "avro-city", 1)
    ours = Avro(home, references=[reference], registry=url, topic="avro-home")
    value = {"city": {"name": "Lugo"}}
    schema = Schema(json.dumps(home), "AVRO", [SchemaReference(*reference)])
    assert AvroSerializer(theirs, schema)(value, context("avro-home")) == ours.serialize(value)
    assert AvroDeserializer(theirs)(ours.serialize(value), context("avro-home")) == value
    assert Avro(registry=url).deserialize(AvroSerializer(theirs, schema)(value, context("avro-home"))) == value


JSON = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "type": "object",
    "properties": {"user": {"type": "string"}, "amount": {"type": "number"}},
    "required": ["user"],
}


def test_json_both_ways(url: str, theirs: Any) -> None:
    value = {"user": "ana", "amount": 2.5}
    ours = JsonSchema(JSON, registry=url, topic="json")
    by_them = JSONSerializer(json.dumps(JSON), theirs)(value, context("json"))
    assert by_them[:5] == ours.serialize(value)[:5]
    assert ours.deserialize(by_them) == value
    assert JSONDeserializer(json.dumps(JSON))(ours.serialize(value), context("json")) == value
    assert JSONDeserializer(None, schema_registry_client=theirs)(ours.serialize(value), context("json")) == value


def test_json_references(url: str, theirs: Any) -> None:
    city = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    home = {"title": "Home", "type": "object", "properties": {"city": {"$ref": "city.json"}}}
    theirs.register_schema("json-city", Schema(json.dumps(city), "JSON"))
    reference = ("city.json", "json-city", 1)
    ours = JsonSchema(home, references=[reference], registry=url, topic="json-home")
    value = {"city": {"name": "Lugo"}}
    schema = Schema(json.dumps(home), "JSON", [SchemaReference(*reference)])
    by_them = JSONSerializer(schema, theirs)(value, context("json-home"))
    assert ours.deserialize(by_them) == value and by_them[:5] == ours.serialize(value)[:5]
    read = JSONDeserializer(schema, schema_registry_client=theirs)
    assert read(ours.serialize(value), context("json-home")) == value


def generated() -> Any:
    """The class of shop.Order, which imports geo.City, as protoc would generate it."""
    pool = descriptor_pool.DescriptorPool()
    city = descriptor_pb2.FileDescriptorProto(name="geo/city.proto", package="geo", syntax="proto3")
    message = city.message_type.add(name="City")
    message.field.add(name="name", number=1, type=9, label=1)
    order = descriptor_pb2.FileDescriptorProto(name="shop/order.proto", package="shop", syntax="proto3")
    order.dependency.append("geo/city.proto")
    order.message_type.add(name="Other")
    message = order.message_type.add(name="Order")
    message.field.add(name="user", number=1, type=9, label=1)
    message.field.add(name="amount", number=2, type=3, label=1)
    message.field.add(name="raw", number=3, type=12, label=1)
    message.field.add(name="city", number=4, type=11, label=1, type_name=".geo.City")
    pool.Add(city)
    pool.Add(order)
    return GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


def test_protobuf_both_ways_with_references(url: str, theirs: Any) -> None:
    kind = generated()
    message = kind(user="ana", amount=1 << 40, raw=b"\xff")
    message.city.name = "Lugo"
    value = {"user": "ana", "amount": 1 << 40, "raw": b"\xff", "city": {"name": "Lugo"}}
    write = ProtobufSerializer(kind, theirs, {"use.deprecated.format": False})
    read = ProtobufDeserializer(kind, {"use.deprecated.format": False}, theirs)
    by_them = write(message, context("proto"))
    assert by_them[5:7] == b"\x02\x02"  # the second message of the file
    assert Protobuf(registry=url).deserialize(by_them) == value

    dicts = Protobuf(use_latest_version=True, message="shop.Order", registry=url, topic="proto")
    assert dicts.serialize(value) == by_them
    assert read(dicts.serialize(value), context("proto")) == message

    classes = Protobuf(message=kind, registry=url, topic="proto-class")
    assert classes.deserialize(by_them) == message
    assert read(classes.serialize(message), context("proto-class")) == message


def test_the_same_rules_do_the_same_with_them(url: str, theirs: Any) -> None:
    from confluent_kafka.schema_registry.rules.cel.cel_executor import CelExecutor
    from confluent_kafka.schema_registry.rules.cel.cel_field_executor import CelFieldExecutor
    from confluent_kafka.serialization import SerializationError

    CelExecutor.register()
    CelFieldExecutor.register()
    fields = [{"name": "age", "type": "int"}, {"name": "name", "type": "string"}]
    adult = {"name": "adult", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "message.age >= 18"}
    louder = {"name": "louder", "kind": "TRANSFORM", "mode": "WRITE", "type": "CEL_FIELD"}
    rules = [adult, {**louder, "expr": "typeName == 'STRING' ; value + '!'"}]
    schema = json.dumps({"type": "record", "name": "Person", "fields": fields})
    RegistryClient(url).register("ruled-value", schema, rule_set={"domainRules": rules})
    ours = Avro(use_latest_version=True, registry=url, topic="ruled")
    write = AvroSerializer(theirs, None, conf={"auto.register.schemas": False, "use.latest.version": True})
    value = {"age": 20, "name": "ana"}
    assert write(dict(value), context("ruled")) == ours.serialize(value)
    assert ours.deserialize(ours.serialize(value)) == {"age": 20, "name": "ana!"}
    with pytest.raises(SerializationError):
        write({"age": 3, "name": "x"}, context("ruled"))
    with pytest.raises(SerdeError, match="adult"):
        ours.serialize({"age": 3, "name": "x"})
