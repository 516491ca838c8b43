"""Our converters and confluent-kafka's serialisers over one registry, by HTTP: each reads what the other wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.message_factory import GetMessageClass

from caudal.connect.converters.avro import AvroConverter
from caudal.connect.converters.json_schema import JsonSchemaConverter
from caudal.connect.converters.protobuf import ProtobufConverter
from caudal.connect.converters.registry import RegistryConverter
from caudal.connect.data import DATE_SCHEMA, INT32, INT64, STRING, TIMESTAMP_SCHEMA, decimal, map_of, struct
from caudal.serde import Protobuf
from tests.registry.http_registry import http_registry

SCHEMA = struct(
    "shop.Order",
    id=INT64,
    count=INT32,
    user=STRING,
    note=STRING.as_optional(),
    price=decimal(2, 9),
    day=DATE_SCHEMA,
    at=TIMESTAMP_SCHEMA,
    sizes=map_of(STRING, INT64),
)
VALUE: dict[str, Any] = {
    "id": 2**40,
    "count": -1,
    "user": "año",
    "note": None,
    "price": Decimal("1.25"),
    "day": date(2026, 11, 16),
    "at": datetime(2026, 11, 16, 12, 0, 0, 5000, tzinfo=UTC),
    "sizes": {"a": 1},
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_registry() as address:
        yield address


@pytest.fixture
def theirs(url: str) -> Any:
    return SchemaRegistryClient({"url": url})


def ours(cls: type[RegistryConverter], url: str, **more: str) -> RegistryConverter:
    converter = cls()
    converter.configure(cls.config().parse({"schema.registry.url": url, **more}), False)
    return converter


def context(topic: str) -> Any:
    return SerializationContext(topic, MessageField.VALUE)


def test_avro(url: str, theirs: Any) -> None:
    converter = ours(AvroConverter, url)
    data = converter.encode("avro-orders", SCHEMA, VALUE)
    assert AvroDeserializer(theirs)(data, context("avro-orders")) == VALUE
    text = theirs.get_latest_version("avro-orders-value").schema.schema_str
    their_data = AvroSerializer(theirs, text)(VALUE, context("avro-orders"))
    assert their_data == data
    assert converter.decode("avro-orders", their_data) == (SCHEMA, VALUE)


def test_json_schema(url: str, theirs: Any) -> None:
    converter = ours(JsonSchemaConverter, url, **{"decimal.format": "NUMERIC"})
    data = converter.encode("json-orders", SCHEMA, VALUE)
    text = theirs.get_latest_version("json-orders-value").schema.schema_str
    read = JSONDeserializer(text)(data, context("json-orders"))
    assert read == {**VALUE, "price": 1.25, "day": 20773, "at": 1794830400005}
    their_data = JSONSerializer(text, theirs)(read, context("json-orders"))
    assert json.loads(their_data[5:]) == read
    assert converter.decode("json-orders", their_data) == (SCHEMA, VALUE)


def test_protobuf(url: str, theirs: Any) -> None:
    converter = ours(ProtobufConverter, url)
    data = converter.encode("proto-orders", SCHEMA, VALUE)
    assert data is not None
    registered = Protobuf(registry=url)
    file = registered._file(registered._schema(int.from_bytes(data[1:5], "big")))
    kind = GetMessageClass(file.message_types_by_name["Order"])
    message = ProtobufDeserializer(kind, {"use.deprecated.format": False})(data, context("proto-orders"))
    assert (message.id, message.count, message.user, message.HasField("note")) == (2**40, -1, "año", False)
    assert (message.price.value, message.price.scale) == (b"\x7d", 2)
    assert (message.day.year, message.at.nanos, dict(message.sizes)) == (2026, 5_000_000, {"a": 1})
    serializer = ProtobufSerializer(
        kind, theirs, {"use.deprecated.format": False, "auto.register.schemas": False, "use.latest.version": True}
    )
    their_data = serializer(message, context("proto-orders"))
    assert converter.decode("proto-orders", their_data) == (SCHEMA, VALUE)
