"""CREATE statements as sources: columns, formats, windows, defaults of the server, and columns of the registry."""

from __future__ import annotations

import json
from typing import Any

import pytest

from caudal.ksql import types
from caudal.ksql.catalog import Catalog
from caudal.ksql.errors import KsqlError
from caudal.ksql.formats.ddl import altered, source_of
from caudal.ksql.formats.properties import Where, duration, formats_of, missing_topic, read_with
from caudal.ksql.formats.schemas import RegistrySchemas
from caudal.ksql.formats.serdes import value_serde
from caudal.ksql.formats.source_json import source_from_json, source_to_json
from caudal.ksql.schema import Column, Place
from caudal.ksql.sources import Format, OnError, Source, SourceKind, Window, WindowKind
from caudal.ksql.syntax.parser import parse_statement
from caudal.ksql.syntax.statements import AlterSource, CreateSource
from caudal.registry.client import RegistryClient
from caudal.registry.mock import forget_registry
from caudal.registry.schemas.schema import Reference
from caudal.serde.serde import bound, with_registry

REGISTRY = "mock://ddl"


def catalog() -> Catalog:
    made = Catalog()
    made.types["ADDRESS"] = types.struct(("CITY", types.STRING))
    return made


def source(text: str, registry: str | None = None, **settings: Any) -> Source:
    statement = parse_statement(text)
    assert isinstance(statement, CreateSource)
    schemas = None if registry is None else RegistrySchemas(registry)
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return source_of(statement, catalog(), registry=schemas, statement_properties=named)


def test_a_stream() -> None:
    found = source(
        "CREATE STREAM Orders (id INT KEY, amount DECIMAL(6,2), `note` STRING, home address, tags ARRAY<address>, "
        "h BYTES HEADER('h')) WITH (kafka_topic='orders', value_format='json', partitions=3, replicas='1') ON ERROR DLQ"
    )
    address = types.struct(("CITY", types.STRING))
    assert found.name == "ORDERS"
    assert found.kind is SourceKind.STREAM
    assert found.schema.columns == (
        Column("ID", types.INTEGER, Place.KEY),
        Column("AMOUNT", types.decimal(6, 2)),
        Column("note", types.STRING),
        Column("HOME", address),
        Column("TAGS", types.array(address)),
        Column("H", types.BYTES, Place.HEADERS, "h"),
    )
    assert (found.topic, found.key_format, found.value_format) == ("orders", Format("KAFKA"), Format("JSON"))
    assert found.on_error is OnError.DLQ
    assert found.properties["PARTITIONS"] == 3
    assert found.window is None and not found.is_source


def test_a_table() -> None:
    found = source(
        "CREATE SOURCE TABLE t (id BIGINT PRIMARY KEY, k2 STRING PRIMARY KEY, v INT) WITH (kafka_topic='t', "
        "format='DELIMITED', key_delimiter='|', value_delimiter='TAB', ttl='7 days')"
    )
    assert found.is_table and found.is_source
    assert [column.name for column in found.schema.key] == ["ID", "K2"]
    assert found.key_format == Format("DELIMITED", (("delimiter", "|"),))
    assert found.value_format == Format("DELIMITED", (("delimiter", "\t"),))
    assert found.ttl == 7 * 86_400_000


WINDOWS = [
    ("window_type='TUMBLING', window_size='30 SECONDS'", Window(WindowKind.TUMBLING, 30_000)),
    ("window_type='hopping', window_size='1 minute'", Window(WindowKind.HOPPING, 60_000)),
    ("window_type='Session'", Window(WindowKind.SESSION)),
]


@pytest.mark.parametrize(("given", "window"), WINDOWS)
def test_windowed_sources(given: str, window: Window) -> None:
    found = source(f"CREATE TABLE t (k STRING PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON', {given})")
    assert found.window == window
    retained = f"{given}, retention_ms=1000"
    assert source(f"CREATE TABLE t (k INT PRIMARY KEY) WITH (kafka_topic='t', value_format='JSON', {retained})").window


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1 MILLISECOND", 1),
        ("5 seconds", 5000),
        ("2 Minutes", 120_000),
        (" 3 HOURS ", 10_800_000),
        ("1 DAY", 86_400_000),
    ],
)
def test_durations(text: str, ms: int) -> None:
    assert duration(text) == ms


@pytest.mark.parametrize("text", ["", "5", "SECONDS", "-5 SECONDS", "5.5 SECONDS", "5SECONDS", "5 WEEKS", None, 5])
def test_what_is_no_duration(text: Any) -> None:
    with pytest.raises(ValueError, match="a duration such as"):
        duration(text)


def test_defaults_of_the_server() -> None:
    text = "CREATE STREAM s (k INT KEY, a INT) WITH (kafka_topic='t')"
    found = source(text, ksql_persistence_default_format_key="JSON", ksql_persistence_default_format_value="avro")
    assert (found.key_format.name, found.value_format.name) == ("JSON", "AVRO")
    keyless = "CREATE STREAM s (a INT) WITH (kafka_topic='t', key_format='NONE', value_format='JSON')"
    assert source(keyless, ksql_persistence_default_format_key="AVRO").key_format == Format("NONE")


WRAPPING = [
    ("JSON", "a INT", "", "true", None),
    ("JSON", "a INT", "", "false", False),
    ("AVRO", "a INT", "", "false", False),
    ("JSON", "a INT", ", wrap_single_value=true", "false", True),
    ("JSON", "a INT", ", wrap_single_value=false", "true", False),
    ("JSON", "a INT, b INT", "", "false", None),
    ("DELIMITED", "a INT", "", "false", None),
    ("PROTOBUF", "a INT", "", "false", None),
    ("PROTOBUF", "a INT", ", wrap_single_value='true'", "false", True),
    ("DELIMITED", "a INT", ", wrap_single_value=false", "true", False),
]


@pytest.mark.parametrize(("format", "columns", "given", "habit", "wrapped"), WRAPPING)
def test_single_values(format: str, columns: str, given: str, habit: str, wrapped: bool | None) -> None:
    text = f"CREATE STREAM s ({columns}) WITH (kafka_topic='t', value_format='{format}'{given})"
    assert source(text, ksql_persistence_wrap_single_values=habit).value_format.wrapped is wrapped


TIMES = [
    ("ts BIGINT", "timestamp='ts'", "TS", None),
    ("ts TIMESTAMP", "timestamp='TS'", "TS", None),
    ("`ts` BIGINT", "timestamp='`ts`'", "ts", None),
    ("ts STRING", "timestamp='ts', timestamp_format='yyyy-MM-dd HH:mm'", "TS", "yyyy-MM-dd HH:mm"),
    ("ts BIGINT KEY, a INT", "timestamp='ts'", "TS", None),
]


@pytest.mark.parametrize(("columns", "given", "name", "pattern"), TIMES)
def test_times_of_rows(columns: str, given: str, name: str, pattern: str | None) -> None:
    found = source(f"CREATE STREAM s ({columns}) WITH (kafka_topic='t', value_format='JSON', {given})")
    assert (found.timestamp_column, found.timestamp_format) == (name, pattern)


# -- columns of the registry -------------------------------------------------------------------------------------------

AVRO = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "big", "type": ["null", "long"]},
        {"name": "f", "type": "float"},
        {"name": "text", "type": {"type": "string", "avro.java.string": "String"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A"]}},
        {"name": "raw", "type": {"type": "fixed", "name": "Raw", "size": 2}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "time", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
        {"name": "home", "type": {"type": "record", "name": "Address", "fields": [{"name": "city", "type": "string"}]}},
        {"name": "work", "type": ["null", "Address"]},
    ],
}
JSON = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "small": {"type": "integer", "connect.type": "int32"},
        "f": {"type": "number"},
        "flag": {"oneOf": [{"type": "null"}, {"type": "boolean"}]},
        "text": {"type": ["null", "string"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "home": {"$ref": "#/definitions/address"},
    },
    "definitions": {"address": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
PROTO = """syntax = "proto3"; package shop;
import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
message Order { int32 id = 1; uint64 big = 2; float f = 3; string text = 4; bytes raw = 5; bool flag = 6;
  google.protobuf.Timestamp at = 7; repeated string tags = 8; map<string, int64> counts = 9; Address home = 10;
  google.protobuf.StringValue note = 11; enum Kind { A = 0; } Kind kind = 12;
  message Address { string city = 1; } }
message Second { int32 x = 1; }"""


@pytest.fixture(scope="module", autouse=True)
def subjects() -> None:
    forget_registry(REGISTRY)
    client = RegistryClient(REGISTRY)
    client.register("avro-value", json.dumps(AVRO))
    client.register("avro-key", '"string"')
    client.register("record-key", json.dumps({**AVRO, "fields": AVRO["fields"][:2]}))
    client.register("record-value", json.dumps(AVRO))
    client.register("json-value", json.dumps(JSON), "JSON")
    client.register("proto-value", PROTO, "PROTOBUF")
    client.register("proto-key", PROTO, "PROTOBUF")
    client.register("single-value", '"long"')
    client.register("part", '{"type":"record","name":"Part","fields":[{"name":"n","type":"int"}]}')
    outer = '{"type":"record","name":"Whole","fields":[{"name":"p","type":"Part"}]}'
    client.register("refers-value", outer, references=[Reference("Part", "part", 1)])


def shown(found: Source) -> str:
    return str(found.schema)


INFERRED = [
    (
        "CREATE STREAM s WITH (kafka_topic='avro', value_format='AVRO')",
        "ID INTEGER, BIG BIGINT, F DOUBLE, TEXT STRING, KIND STRING, RAW BYTES, PRICE DECIMAL(5, 2), DAY DATE, "
        "TIME TIME, AT TIMESTAMP, TAGS ARRAY<STRING>, COUNTS MAP<STRING, BIGINT>, HOME STRUCT<CITY STRING>, "
        "WORK STRUCT<CITY STRING>",
    ),
    (
        "CREATE STREAM s WITH (kafka_topic='json', value_format='JSON_SR')",
        "ID BIGINT, SMALL INTEGER, F DOUBLE, FLAG BOOLEAN, TEXT STRING, TAGS ARRAY<STRING>, COUNTS MAP<STRING, "
        "BIGINT>, "
        "HOME STRUCT<CITY STRING>",
    ),
    (
        "CREATE STREAM s WITH (kafka_topic='proto', value_format='PROTOBUF')",
        "ID INTEGER, BIG BIGINT, F DOUBLE, TEXT STRING, RAW BYTES, FLAG BOOLEAN, AT TIMESTAMP, TAGS ARRAY<STRING>, "
        "COUNTS MAP<STRING, BIGINT>, HOME STRUCT<CITY STRING>, NOTE STRING, KIND STRING",
    ),
    (
        "CREATE STREAM s WITH (kafka_topic='proto', value_format='PROTOBUF', value_schema_full_name='shop.Second')",
        "X INTEGER",
    ),
    (
        "CREATE TABLE s (k BIGINT PRIMARY KEY) WITH (kafka_topic='single', value_format='AVRO', "
        "wrap_single_value=false)",
        "K BIGINT KEY, ROWVAL BIGINT",
    ),
    ("CREATE STREAM s (a INT) WITH (kafka_topic='avro', format='AVRO')", "ROWKEY STRING KEY, A INTEGER"),
    (
        "CREATE STREAM s (a INT) WITH (kafka_topic='record', format='AVRO')",
        "ROWKEY STRUCT<ID INTEGER, BIG BIGINT> KEY, A INTEGER",
    ),
    (
        "CREATE TABLE s (a INT) WITH (kafka_topic='proto', key_format='PROTOBUF', value_format='JSON', "
        "key_schema_full_name='Second')",
        "X INTEGER KEY, A INTEGER",
    ),
    (
        "CREATE STREAM s (h BYTES HEADER('h'), k INT KEY) WITH (kafka_topic='refers', value_format='AVRO')",
        "H BYTES HEADERS, K INTEGER KEY, P STRUCT<N INTEGER>",
    ),
]


@pytest.mark.parametrize(("text", "expected"), INFERRED)
def test_columns_of_the_registry(text: str, expected: str) -> None:
    assert shown(source(text, REGISTRY)) == expected


def test_columns_by_id_keep_their_names() -> None:
    id = RegistryClient(REGISTRY).latest("record-key").id
    found = source(f"CREATE STREAM s WITH (kafka_topic='new', value_format='AVRO', value_schema_id={id})", REGISTRY)
    assert shown(found) == "`id` INTEGER, `big` BIGINT"
    assert dict(found.value_format.properties)["schema_id"] == id
    serde = bound(with_registry(value_serde(found.value_format, found.schema.value), REGISTRY), "new", False)
    data = serde.serialize((1, None))
    assert int.from_bytes(data[1:5], "big") == id
    assert serde.deserialize(data) == (1, None)


@pytest.mark.parametrize("format", ["AVRO", "JSON_SR", "PROTOBUF"])
def test_what_a_sink_registers_is_inferred_again(format: str) -> None:
    columns = (
        "I INTEGER, L BIGINT, D DOUBLE, B BOOLEAN, S STRING, X BYTES, P DECIMAL(6, 2), DT DATE, TM TIME, TS TIMESTAMP, "
        "A ARRAY<STRING>, M MAP<STRING, STRUCT<Z DATE>>, ST STRUCT<Q DECIMAL(10, 1)>"
    )
    made = source(f"CREATE STREAM s ({columns}) WITH (kafka_topic='again-{format}', value_format='{format}')")
    from caudal.ksql.formats.schemas import register_sink

    register_sink(RegistrySchemas(REGISTRY), made.topic, made.key_format, (), made.value_format, made.schema.value)
    again = source(f"CREATE STREAM s WITH (kafka_topic='again-{format}', value_format='{format}')", REGISTRY)
    assert shown(again) == columns


# -- the rest ----------------------------------------------------------------------------------------------------------


def test_alter_adds_columns() -> None:
    made = source(
        "CREATE TABLE t (k INT PRIMARY KEY, a INT) WITH (kafka_topic='t', value_format='JSON', wrap_single_value=true)"
    )
    statement = parse_statement("ALTER TABLE t ADD COLUMN b address, ADD `c` DECIMAL(4,1)")
    assert isinstance(statement, AlterSource)
    found = altered(made, statement, catalog())
    assert shown(found) == "K INTEGER KEY, A INTEGER, B STRUCT<CITY STRING>, `c` DECIMAL(4, 1)"
    assert found.topic == made.topic and found.value_format.wrapped is None


SOURCES = [
    "CREATE STREAM s (k INT KEY, a DECIMAL(4,2), `b` MAP<STRING, ARRAY<STRUCT<x INT, `y` DATE>>>, h BYTES "
    "HEADER('q')) WITH "
    "(kafka_topic='t', value_format='JSON', partitions=1)",
    "CREATE SOURCE TABLE s (k STRING PRIMARY KEY, ts STRING) WITH (kafka_topic='t', key_format='AVRO', "
    "value_format='DELIMITED', value_delimiter='SPACE', timestamp='ts', timestamp_format='yyyy', ttl='1 day') ON "
    "ERROR FAIL",
    "CREATE STREAM s (k STRING KEY, a INT) WITH (kafka_topic='t', value_format='JSON', wrap_single_value=false, "
    "window_type='TUMBLING', window_size='5 SECONDS')",
]


@pytest.mark.parametrize("text", SOURCES)
def test_sources_are_json(text: str) -> None:
    made = source(text)
    data = json.loads(json.dumps(source_to_json(made)))
    again = source_from_json(data)
    assert again == made
    assert again.properties == made.properties
    assert source_to_json(again) == data


def test_a_sinks_formats() -> None:
    inherited = (Format("AVRO", (("full_schema_name", "a.B"),)), Format("DELIMITED", (("delimiter", "|"),), None))
    found = read_with([], Where.CREATE_AS, SourceKind.STREAM)
    key, value = formats_of(found, "MY_SINK", {}, inherited)
    assert key == Format("AVRO", (("full_schema_name", "io.confluent.ksql.avro_schemas.MySinkKey"),))
    assert value == Format("DELIMITED", (("delimiter", "|"),))
    found = read_with([("value_format", "JSON"), ("WRAP_SINGLE_VALUE", False)], Where.CREATE_AS)
    assert formats_of(found, "S", {}, inherited)[1] == Format("JSON", (), False)
    assert formats_of(read_with([("FORMAT", "JSON")], Where.CREATE_AS), "S", {}, inherited)[0] == Format("JSON")


REFUSED_ELSEWHERE = [
    (Where.CREATE_AS, "WINDOW_TYPE", "SESSION", "of CREATE AS SELECT: WINDOW_TYPE."),
    (Where.CREATE_AS, "SOURCED_BY_CONNECTOR", "x", "of CREATE AS SELECT: SOURCED_BY_CONNECTOR."),
    (Where.INSERT, "KAFKA_TOPIC", "x", "of INSERT INTO: KAFKA_TOPIC."),
    (Where.INSERT, "QUERY_IDD", "x", ": QUERY_IDD. Did you mean 'QUERY_ID'?"),
    (Where.ASSERT_TOPIC, "KAFKA_TOPIC", "x", "of ASSERT TOPIC: KAFKA_TOPIC."),
]


@pytest.mark.parametrize(("where", "name", "value", "message"), REFUSED_ELSEWHERE)
def test_properties_have_their_places(where: Where, name: str, value: Any, message: str) -> None:
    with pytest.raises(KsqlError) as caught:
        read_with([(name, value)], where)
    assert str(caught.value).endswith(message)


def test_every_property_is_allowed_somewhere() -> None:
    given = {"QUERY_ID": "my_query"}
    assert read_with(given.items(), Where.INSERT).values == given
    found = read_with([("PARTITIONS", "4"), ("REPLICAS", 1)], Where.ASSERT_TOPIC)
    assert found.values == {"PARTITIONS": 4, "REPLICAS": 1}


def test_a_missing_topic_is_explained() -> None:
    said = str(missing_topic(SourceKind.TABLE, "T", "users"))
    assert said.startswith("Topic 'users' does not exist.") and "CREATE TABLE T (...) WITH (KAFKA_TOPIC='users'" in said
