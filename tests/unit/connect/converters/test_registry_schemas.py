"""The schemas that Avro, JSON Schema and Protobuf converters register and read are Confluent's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from caudal.connect import DataError, RetriableError
from caudal.connect.converters.avro import AvroConverter
from caudal.connect.converters.json_schema import JsonSchemaConverter
from caudal.connect.converters.protobuf import ProtobufConverter
from caudal.connect.converters.registry import RegistryConverter
from caudal.connect.data import (
    BYTES,
    DATE_SCHEMA,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    STRING,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    Kind,
    Schema,
    array,
    decimal,
    map_of,
    struct,
)
from caudal.registry.client import RegistryClient
from caudal.registry.mock import forget_registry
from caudal.serde.wire_format import head

URL = "mock://connect-schemas"
CONNECT = "org.apache.kafka.connect.data"


@pytest.fixture(autouse=True)
def client() -> Iterator[RegistryClient]:
    yield RegistryClient(URL)
    forget_registry(URL)


def made(cls: type[RegistryConverter], is_key: bool = False, **more: str) -> RegistryConverter:
    converter = cls()
    given = {"schema.registry.url": URL, **{name.replace("_", "."): value for name, value in more.items()}}
    converter.configure(cls.config().parse(given), is_key)
    return converter


def avro(schema: Schema, **more: str) -> Any:
    return json.loads(made(AvroConverter, **more).format_of(schema).text)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (INT32, "int"),
        (INT8, {"type": "int", "connect.type": "int8"}),
        (STRING.as_optional(), ["null", "string"]),
        (
            replace(STRING, optional=True, default="a", has_default=True),
            [{"type": "string", "connect.default": "a"}, "null"],
        ),
        (
            DATE_SCHEMA,
            {"type": "int", "connect.version": 1, "connect.name": f"{CONNECT}.Date", "logicalType": "date"},
        ),
        (
            TIME_SCHEMA,
            {"type": "int", "connect.version": 1, "connect.name": f"{CONNECT}.Time", "logicalType": "time-millis"},
        ),
        (
            TIMESTAMP_SCHEMA,
            {
                "type": "long",
                "connect.version": 1,
                "connect.name": f"{CONNECT}.Timestamp",
                "logicalType": "timestamp-millis",
            },
        ),
        (
            decimal(2),
            {
                "type": "bytes",
                "scale": 2,
                "precision": 64,
                "connect.version": 1,
                "connect.parameters": {"scale": "2"},
                "connect.name": f"{CONNECT}.Decimal",
                "logicalType": "decimal",
            },
        ),
        (map_of(STRING, INT64), {"type": "map", "values": "long"}),
        (
            map_of(INT32, STRING),
            {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "MapEntry",
                    "namespace": "io.confluent.connect.avro",
                    "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "string"}],
                },
            },
        ),
        (
            struct("shop.Order", id=replace(INT64, doc="the id"), note=STRING.as_optional()),
            {
                "type": "record",
                "name": "Order",
                "namespace": "shop",
                "fields": [
                    {"name": "id", "type": {"type": "long", "connect.doc": "the id"}},
                    {"name": "note", "type": ["null", "string"], "default": None},
                ],
                "connect.name": "shop.Order",
            },
        ),
        (
            struct(None, raw=BYTES),
            {
                "type": "record",
                "name": "ConnectDefault",
                "namespace": "io.confluent.connect.avro",
                "fields": [{"name": "raw", "type": "bytes"}],
            },
        ),
    ],
    ids=lambda each: "",
)
def test_avro_schemas_are_those_of_avro_data(schema: Schema, expected: Any) -> None:
    assert avro(schema) == expected


def test_avro_without_connects_properties() -> None:
    assert avro(struct("a.B", x=INT8), connect_meta_data="false") == {
        "type": "record", "name": "B", "namespace": "a", "fields": [{"name": "x", "type": "int"}],
    }  # fmt: skip


def test_names_that_avro_does_not_have() -> None:
    schema = struct("shop.my-table", **{"first name": STRING})
    with pytest.raises(DataError, match=r"scrub\.invalid\.names"):
        avro(schema)
    converter = made(AvroConverter, scrub_invalid_names="true")
    read = converter.decode("t", converter.encode("t", schema, {"first name": "ana"}))
    assert read.value == {"first_name": "ana"} and read.schema is not None and read.schema.name == "shop.my-table"


def test_two_structs_of_one_name_must_be_equal() -> None:
    inner = struct("a.X", n=INT32)
    assert avro(struct("a.Y", one=inner, two=inner.as_optional()))["fields"][1]["type"] == ["null", "a.X"]
    with pytest.raises(DataError, match=r"named a\.X, and they are not the same"):
        avro(struct("a.Y", one=inner, two=struct("a.X", n=STRING)))


def test_avro_schemas_of_others_are_read(client: RegistryClient) -> None:
    theirs = {
        "type": "record",
        "name": "R",
        "namespace": "them",
        "doc": "theirs",
        "fields": [
            {"name": "color", "type": {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}},
            {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
            {"name": "micros", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 2}},
            {"name": "again", "type": ["null", "Color"], "default": None},
            {"name": "n", "type": "int", "default": 3, "doc": "a number"},
        ],
    }
    id = client.register("t-value", json.dumps(theirs)).id
    data = head(id) + b"\x02" + b"\x04ab" + b"\x04" + b"\x01\x02" + b"\x00" + b"\x06"
    schema, value = made(AvroConverter).decode("t", data)
    assert value == {"color": "BLUE", "id": "ab", "micros": 2, "hash": b"\x01\x02", "again": None, "n": 3}
    assert schema is not None and (schema.name, schema.doc) == ("them.R", "theirs")
    kinds = {field.name: field.schema for field in schema.fields}
    symbols = {"io.confluent.connect.avro.Enum": "them.Color", "io.confluent.connect.avro.Enum.RED": "RED"}
    assert kinds["color"].kind is Kind.STRING and symbols.items() <= kinds["color"].parameters.items()
    assert kinds["micros"] == INT64 and kinds["id"] == STRING and kinds["again"].optional
    assert kinds["hash"].parameters == {"connect.fixed.size": "2"}
    assert (kinds["n"].default, kinds["n"].doc) == (3, "a number")
    # What was read can be written, enums as enums where that is asked for.
    text = made(AvroConverter, enhanced_avro_schema_support="true").format_of(schema).text
    assert '"type":"enum"' in text and text.count('"symbols"') == 1


def test_an_avro_schema_within_itself_is_refused(client: RegistryClient) -> None:
    node = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"], "default": None}]}
    id = client.register("t-value", json.dumps(node)).id
    with pytest.raises(DataError, match="contains itself"):
        made(AvroConverter).decode("t", head(id) + b"\x00")


def test_json_schemas_are_those_of_json_schema_data() -> None:
    schema = struct(
        "shop.Order", id=INT64, tags=array(STRING), note=STRING.as_optional(), sizes=map_of(STRING, FLOAT64)
    )
    assert json.loads(made(JsonSchemaConverter).format_of(schema).text) == {
        "type": "object",
        "title": "shop.Order",
        "properties": {
            "id": {"type": "integer", "connect.type": "int64", "connect.index": 0},
            "tags": {"type": "array", "items": {"type": "string"}, "connect.index": 1},
            "note": {"oneOf": [{"type": "null"}, {"type": "string"}], "connect.index": 2},
            "sizes": {
                "type": "object",
                "connect.type": "map",
                "additionalProperties": {"type": "number", "connect.type": "float64"},
                "connect.index": 3,
            },
        },
    }


def test_json_schemas_of_others_are_read(client: RegistryClient) -> None:
    theirs = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Order",
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "price": {"type": ["number", "null"]},
            "color": {"enum": ["RED", "BLUE"]},
            "address": {"$ref": "#/definitions/address"},
        },
        "required": ["id"],
        "definitions": {"address": {"type": "object", "properties": {"city": {"type": "string"}}}},
    }
    id = client.register("t-value", json.dumps(theirs), "JSON").id
    data = head(id) + b'{"id":1,"price":2,"color":"RED","address":{"city":"Ulm"},"more":1}'
    schema, value = made(JsonSchemaConverter).decode("t", data)
    assert value == {"id": 1, "price": 2.0, "color": "RED", "address": {"city": "Ulm"}}
    assert schema is not None
    kinds = {field.name: field.schema for field in schema.fields}
    assert kinds["id"] == INT64 and kinds["price"] == FLOAT64.as_optional()
    assert kinds["address"] == struct(None, city=STRING)
    loose = made(JsonSchemaConverter, use_optional_for_nonrequired="true")
    schema, value = loose.decode("t", head(id) + b'{"id":1}')
    assert value == {"id": 1, "price": None, "color": None, "address": None}
    with pytest.raises(DataError, match=r"Field color: .*required"):
        made(JsonSchemaConverter).decode("t", head(id) + b'{"id":1}')


def test_protobuf_schemas_of_others_are_read(client: RegistryClient) -> None:
    theirs = """
        syntax = "proto3";
        package them;
        import "google/protobuf/wrappers.proto";
        message Order {
          uint32 id = 3;
          optional string note = 4;
          google.protobuf.Int64Value size = 5;
          Color color = 6;
          repeated Line lines = 7;
          oneof pay { string card = 8; int32 cash = 9; }
          message Line { sint64 amount = 1; }
          enum Color { RED = 0; BLUE = 1; }
        }
    """
    id = client.register("t-value", theirs, "PROTOBUF").id
    data = head(id) + b"\x00" + b"\x18\x07" + b"\x2a\x02\x08\x05" + b"\x30\x01" + b"\x3a\x02\x08\x03" + b"\x48\x02"
    schema, value = made(ProtobufConverter).decode("t", data)
    assert value == {
        "id": 7, "note": None, "size": 5, "color": "BLUE", "lines": [{"amount": -2}],
        "pay_0": {"card": None, "cash": 2},
    }  # fmt: skip
    assert schema is not None and schema.name == "them.Order"
    kinds = {field.name: field.schema for field in schema.fields}
    assert kinds["id"].parameters == {"io.confluent.connect.protobuf.Tag": "3"} and kinds["id"].kind is Kind.INT64
    assert kinds["note"].optional and kinds["size"].optional and not kinds["color"].optional
    assert kinds["pay_0"].name == "io.confluent.connect.protobuf.Union.pay"
    # Written again it has the same numbers, and so the same bytes.
    again = made(ProtobufConverter)
    written = again.encode("other", schema, value)
    assert written is not None and again.decode("other", written) == (schema, value)
    assert again.decode("other", None).value is None


@pytest.mark.parametrize("schema", [struct("a.B", x=array(array(INT32))), struct("a.B", x=map_of(FLOAT64, STRING))])
def test_what_protobuf_does_not_have_is_said(schema: Schema) -> None:
    with pytest.raises(DataError, match="Field x: "):
        made(ProtobufConverter).encode("t", schema, {"x": []})


ROW = struct("shop.Row", id=INT64)
EACH = pytest.mark.parametrize("cls", [AvroConverter, JsonSchemaConverter, ProtobufConverter])


@EACH
@pytest.mark.parametrize(
    ("strategy", "is_key", "subject"),
    [
        ("io.confluent.kafka.serializers.subject.TopicNameStrategy", True, "orders-key"),
        ("TopicNameStrategy", False, "orders-value"),
        ("io.confluent.kafka.serializers.subject.RecordNameStrategy", False, "shop.Row"),
        ("topic-record", False, "orders-shop.Row"),
    ],
)
def test_subjects_are_named_by_strategy(
    cls: type[RegistryConverter], strategy: str, is_key: bool, subject: str, client: RegistryClient
) -> None:
    part = "key" if is_key else "value"
    converter = made(cls, is_key, **{f"{part}.subject.name.strategy": strategy})
    assert converter.decode("orders", converter.encode("orders", ROW, {"id": 1})).value == {"id": 1}
    assert client.subjects() == [subject]


@EACH
def test_schemas_are_not_registered_against_the_will(cls: type[RegistryConverter]) -> None:
    with pytest.raises(DataError, match="auto_register=False"):
        made(cls, auto_register_schemas="false").encode("orders", ROW, {"id": 1})
    data = made(cls).encode("orders", ROW, {"id": 1})
    assert made(cls, auto_register_schemas="false").encode("orders", ROW, {"id": 1}) == data


@EACH
def test_the_latest_version_can_be_written_and_read(cls: type[RegistryConverter], client: RegistryClient) -> None:
    wider = struct("shop.Row", id=INT64, note=replace(STRING, optional=True))
    old = made(cls).encode("orders", ROW, {"id": 1})
    assert client.set_config("orders-value", compatibility="NONE")
    new = made(cls).encode("orders", wider, {"id": 2, "note": "n"})
    latest = made(cls, use_latest_version="true")
    assert latest.decode("orders", old).value == {"id": 1, "note": None}
    assert latest.decode("orders", new).value == {"id": 2, "note": "n"}
    written = latest.encode("orders", ROW, {"id": 3})
    assert written is not None and new is not None and written[:5] == new[:5]


@EACH
def test_an_incompatible_schema_is_an_error_of_the_record(cls: type[RegistryConverter]) -> None:
    converter = made(cls)
    converter.encode("orders", ROW, {"id": 1})
    with pytest.raises(DataError, match="incompatible"):
        converter.encode("orders", struct("shop.Row", id=array(STRING)), {"id": ["a"]})
    assert converter.encode("orders", ROW, {"id": 1}) is not None


@EACH
def test_a_registry_that_is_away_may_come_back(cls: type[RegistryConverter], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caudal.serde.registry_serde.WAIT_SECONDS", 0.01)
    converter = made(cls, schema_registry_url="http://127.0.0.1:9")
    converter._settings["wait_seconds"] = 0.01
    with pytest.raises(RetriableError, match=r"127\.0\.0\.1:9"):
        converter.encode("orders", ROW, {"id": 1})
    with pytest.raises(RetriableError):
        converter.decode("orders", b"\x00\x00\x00\x00\x01\x00")


@EACH
def test_records_without_a_schema(cls: type[RegistryConverter]) -> None:
    with pytest.raises(DataError, match="needs a schema"):
        made(cls).encode("orders", None, {"id": 1})
    if cls is not ProtobufConverter:
        converter = made(cls)
        assert converter.decode("k", converter.encode("k", None, "key")).value == "key"


def test_credentials_of_the_registry_are_put_into_its_address() -> None:
    converter = made(
        AvroConverter,
        schema_registry_url="https://one:8081,two:8081",
        basic_auth_credentials_source="USER_INFO",
        basic_auth_user_info="ana:p@ss",
    )
    assert converter._settings["registry"] == "https://ana:p%40ss@one:8081,http://ana:p%40ss@two:8081"
