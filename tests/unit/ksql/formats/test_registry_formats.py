"""AVRO, JSON_SR and PROTOBUF against the registry: the schemas that sinks have, judged by the formats' own libraries;
records of other writers, old and new; schemas by id and by name."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import fastavro
import jsonschema
import pytest

from caudal.ksql import types
from caudal.ksql.errors import KsqlError
from caudal.ksql.formats.avro_schema import avro_schema, key_schema_name
from caudal.ksql.formats.json_schema import json_schema
from caudal.ksql.formats.protobuf_schema import protobuf_text
from caudal.ksql.formats.schemas import RegistrySchemas, register_sink, sink_schemas
from caudal.ksql.formats.serdes import key_serde, value_serde
from caudal.ksql.schema import Column, Place
from caudal.ksql.sources import Format
from caudal.registry.client import RegistryClient, RegistryUnreachable
from caudal.registry.mock import forget_registry
from caudal.serde import Avro, Protobuf
from caudal.serde.serde import SchemasUnavailable, Serde, SerdeError, bound, with_registry

REGISTRY = "mock://registry-formats"


@pytest.fixture(autouse=True)
def registry() -> Iterator[RegistryClient]:
    forget_registry(REGISTRY)
    yield RegistryClient(REGISTRY)
    forget_registry(REGISTRY)


def ready(serde: Serde, topic: str = "t", is_key: bool = False) -> Serde:
    return bound(with_registry(serde, REGISTRY), topic, is_key)


def optional(schema: Any) -> Any:
    return ["null", schema]


COLUMNS = [
    Column("B", types.BOOLEAN),
    Column("I", types.INTEGER),
    Column("L", types.BIGINT),
    Column("D", types.DOUBLE),
    Column("S", types.STRING),
    Column("X", types.BYTES),
    Column("P", types.decimal(6, 2)),
    Column("DT", types.DATE),
    Column("TM", types.TIME),
    Column("TS", types.TIMESTAMP),
    Column("A", types.array(types.INTEGER)),
    Column("M", types.mapping(types.STRING, types.BIGINT)),
    Column("ST", types.struct(("X", types.STRING), ("y", types.struct(("Z", types.INTEGER))))),
]
ROW = (
    True,
    1,
    2**40,
    1.5,
    "ana",
    b"\x01",
    Decimal("-1.50"),
    date(2026, 1, 31),
    time(1, 2, 3, 4000),
    datetime(2026, 1, 31, 10, tzinfo=UTC),
    [1, None],
    {"k": 5},
    {"X": "x", "y": {"Z": 1}},
)


def test_the_avro_schema_of_a_sink() -> None:
    made = avro_schema(COLUMNS, True)
    assert (made["name"], made["namespace"]) == ("KsqlDataSourceSchema", "io.confluent.ksql.avro_schemas")
    fields = {field["name"]: field for field in made["fields"]}
    assert all(field["default"] is None and field["type"][0] == "null" for field in fields.values())
    found = {name: field["type"][1] for name, field in fields.items()}
    space = "io.confluent.ksql.avro_schemas"
    assert found == {
        "B": "boolean",
        "I": "int",
        "L": "long",
        "D": "double",
        "S": "string",
        "X": "bytes",
        "P": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
        "DT": {"type": "int", "logicalType": "date"},
        "TM": {"type": "int", "logicalType": "time-millis"},
        "TS": {"type": "long", "logicalType": "timestamp-millis"},
        "A": {"type": "array", "items": ["null", "int"]},
        "M": {
            "type": "array",
            "connect.internal.type": "MapEntry",
            "items": {
                "type": "record",
                "name": "KsqlDataSourceSchema_M",
                "namespace": space,
                "connect.internal.type": "MapEntry",
                "fields": [
                    {"name": "key", "type": ["null", "string"], "default": None},
                    {"name": "value", "type": ["null", "long"], "default": None},
                ],
            },
        },
        "ST": {
            "type": "record",
            "name": "KsqlDataSourceSchema_ST",
            "namespace": space,
            "fields": [
                {"name": "X", "type": ["null", "string"], "default": None},
                {
                    "name": "y",
                    "type": [
                        "null",
                        {
                            "type": "record",
                            "name": "KsqlDataSourceSchema_ST_y",
                            "namespace": space,
                            "fields": [{"name": "Z", "type": ["null", "int"], "default": None}],
                        },
                    ],
                    "default": None,
                },
            ],
        },
    }
    fastavro.parse_schema(made)


def test_fastavro_reads_what_a_sink_writes(registry: RegistryClient) -> None:
    data = ready(value_serde(Format("AVRO"), COLUMNS)).serialize(ROW)
    schema = fastavro.parse_schema(json.loads(registry.latest("t-value").text))
    found: Any = fastavro.schemaless_reader(io.BytesIO(data[5:]), schema, None)
    expected = dict(zip([column.name for column in COLUMNS], ROW, strict=True))
    assert found == {**expected, "M": [{"key": "k", "value": 5}]}


def test_names_of_avro_schemas() -> None:
    assert key_schema_name("ORDERS") == "io.confluent.ksql.avro_schemas.OrdersKey"
    named = Format("AVRO", (("full_schema_name", "com.acme.Order"),))
    (_, text, _), *_ = sink_schemas("t", Format("KAFKA"), [], named, [Column("A", types.struct(("B", types.INTEGER)))])
    made = json.loads(text)
    assert (made["namespace"], made["name"]) == ("com.acme", "Order")
    assert made["fields"][0]["type"][1]["name"] == "Order_A"


@pytest.mark.parametrize(
    ("type", "schema"),
    [
        (types.BIGINT, "long"),
        (types.STRING, "string"),
        (types.array(types.INTEGER), {"type": "array", "items": ["null", "int"]}),
        (types.DATE, {"type": "int", "logicalType": "date"}),
    ],
    ids=str,
)
def test_single_keys_are_not_wrapped(type: types.SqlType, schema: Any) -> None:
    (subject, text, kind), *_ = sink_schemas("t", Format("AVRO"), [Column("K", type, Place.KEY)], Format("JSON"), [])
    assert (subject, json.loads(text), kind) == ("t-key", schema, "AVRO")


WRITERS: list[tuple[str, Any, Any, Any]] = [
    ("lower case", {"name": "id", "type": "long"}, {"id": 5}, (5, None)),
    ("narrower", {"name": "ID", "type": "int"}, {"ID": 5}, (5, None)),
    (
        "as timestamp",
        {"name": "ID", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"ID": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)},
        (1000, None),
    ),
    ("another field", {"name": "other", "type": "string"}, {"other": "x"}, (None, None)),
    (
        "enum",
        {"name": "name", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
        {"name": "B"},
        (None, "B"),
    ),
    ("number as text", {"name": "name", "type": "double"}, {"name": 1e7}, (None, "1.0E7")),
    (
        "uuid",
        {"name": "name", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "00000000-0000-0000-0000-000000000001"},
        (None, "00000000-0000-0000-0000-000000000001"),
    ),
]


@pytest.mark.parametrize(
    ("case", "field", "value", "row"), WRITERS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_records_of_other_writers(case: str, field: Any, value: Any, row: Any) -> None:
    writer = Avro({"type": "record", "name": "Other", "fields": [field]}, registry=REGISTRY, subject="any")
    reader = ready(value_serde(Format("AVRO"), [Column("ID", types.BIGINT), Column("NAME", types.STRING)]))
    assert reader.deserialize(writer.serialize(value)) == row


def test_avros_own_maps_are_read() -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "m", "type": {"type": "map", "values": "long"}}]}
    data = Avro(schema, registry=REGISTRY, subject="any").serialize({"m": {"a": 1}})
    serde = ready(value_serde(Format("AVRO"), [Column("M", types.mapping(types.STRING, types.BIGINT))]))
    assert serde.deserialize(data) == ({"a": 1},)


def test_a_misfit_says_where() -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": "string"}}]}
    data = Avro(schema, registry=REGISTRY, subject="any").serialize({"a": ["x"]})
    serde = ready(value_serde(Format("AVRO"), [Column("A", types.array(types.INTEGER))]))
    with pytest.raises(SerdeError, match=r"sourceType: str, requiredType: INTEGER, path: \$\.A\[0\]\.$"):
        serde.deserialize(data)


def test_old_and_new_versions_are_read_side_by_side() -> None:
    old = ready(value_serde(Format("AVRO"), [Column("A", types.INTEGER)]))
    new = ready(value_serde(Format("AVRO"), [Column("A", types.INTEGER), Column("B", types.STRING)]))
    first, second = old.serialize((1,)), new.serialize((2, "x"))
    assert first[:5] != second[:5]
    assert [new.deserialize(first), new.deserialize(second)] == [(1, None), (2, "x")]
    assert [old.deserialize(first), old.deserialize(second)] == [(1,), (2,)]


def test_a_schema_by_id_is_what_is_written_with(registry: RegistryClient) -> None:
    text = json.dumps(
        {
            "type": "record",
            "name": "N",
            "fields": [{"name": "a", "type": "int"}, {"name": "z", "type": "int", "default": 9}],
        }
    )
    id = registry.register("elsewhere", text).id
    serde = ready(value_serde(Format("AVRO", (("schema_id", id),)), [Column("a", types.INTEGER)]))
    data = serde.serialize((5,))
    assert int.from_bytes(data[1:5], "big") == id
    assert serde.deserialize(data) == (5,)
    assert registry.subjects() == ["elsewhere"]


def test_the_json_schema_of_a_sink_holds_for_its_records(registry: RegistryClient) -> None:
    data = ready(value_serde(Format("JSON_SR"), COLUMNS)).serialize(ROW)
    schema = json.loads(registry.latest("t-value").text)
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(json.loads(data[5:]), schema)
    empty = ready(value_serde(Format("JSON_SR"), COLUMNS)).serialize((None,) * len(COLUMNS))
    jsonschema.validate(json.loads(empty[5:]), schema)
    assert schema == json_schema(COLUMNS, True)
    assert schema["properties"]["I"] == {
        "connect.index": 1,
        "oneOf": [{"type": "null"}, {"type": "integer", "connect.type": "int32"}],
    }
    assert schema["properties"]["P"]["oneOf"][1]["connect.parameters"] == {
        "scale": "2",
        "connect.decimal.precision": "6",
    }


def test_json_without_an_id_is_not_json_sr() -> None:
    serde = ready(value_serde(Format("JSON_SR"), [Column("A", types.INTEGER)]))
    with pytest.raises(SerdeError, match="declare the format JSON, not JSON_SR"):
        serde.deserialize(b'{"A": 1}')


def test_json_sr_is_read_whatever_wrote_it() -> None:
    serde = ready(value_serde(Format("JSON_SR"), [Column("A", types.STRING)]))
    assert serde.deserialize(b'\x00\x00\x00\x00\x63{"a": 1.10}') == ("1.10",)


def test_the_protobuf_schema_of_a_sink() -> None:
    columns = [*COLUMNS[:10], Column("A", types.array(types.STRING)), *COLUMNS[11:]]
    assert (
        protobuf_text(columns, "shop.Order") == PROTOBUF % '{key: "precision", value: "6"}, {key: "scale", value: "2"}'
    )
    assert "optional int32 I = 2;" in protobuf_text(columns, None, "optional")
    assert "google.protobuf.Int32Value I = 2;" in protobuf_text(columns, None, "wrapper")


PROTOBUF = """\
syntax = "proto3";
package shop;

import "confluent/meta.proto";
import "confluent/type/decimal.proto";
import "google/protobuf/timestamp.proto";
import "google/type/date.proto";
import "google/type/timeofday.proto";

message Order {
  bool B = 1;
  int32 I = 2;
  int64 L = 3;
  double D = 4;
  string S = 5;
  bytes X = 6;
  confluent.type.Decimal P = 7 [(confluent.field_meta) = {params: [%s]}];
  google.type.Date DT = 8;
  google.type.TimeOfDay TM = 9;
  google.protobuf.Timestamp TS = 10;
  repeated string A = 11;
  repeated ConnectDefault2Entry M = 12;
  ConnectDefault3 ST = 13;
  message ConnectDefault2Entry {
    string key = 1;
    int64 value = 2;
  }
  message ConnectDefault3 {
    string X = 1;
    ConnectDefault4 y = 2;
    message ConnectDefault4 {
      int32 Z = 1;
    }
  }
}
"""


def test_protobuf_of_other_writers() -> None:
    text = 'syntax = "proto3"; '
    text += "message M { enum E { NONE = 0; ONE = 1; } map<string, int32> counts = 1; E kind = 2; uint64 big = 3; }"
    writer = Protobuf(text, registry=REGISTRY, subject="any")
    columns = [
        Column("BIG", types.BIGINT),
        Column("KIND", types.STRING),
        Column("COUNTS", types.mapping(types.STRING, types.INTEGER)),
    ]
    serde = ready(value_serde(Format("PROTOBUF"), columns))
    assert serde.deserialize(writer.serialize({"counts": {"a": 1}, "kind": "ONE", "big": 7})) == (7, "ONE", {"a": 1})
    with pytest.raises(SerdeError, match="is out of the range of BIGINT"):
        serde.deserialize(writer.serialize({"big": 2**63}))


def test_null_elements_have_no_form_in_protobuf() -> None:
    serde = ready(value_serde(Format("PROTOBUF"), [Column("A", types.array(types.INTEGER))]))
    with pytest.raises(SerdeError, match="cannot write"):
        serde.serialize(([1, None],))


@pytest.mark.parametrize("format", ["AVRO", "JSON_SR", "PROTOBUF"])
def test_sinks_register_when_they_are_made(format: str, registry: RegistryClient) -> None:
    schemas = RegistrySchemas(registry)
    key, value = [Column("K", types.STRING, Place.KEY)], [Column("A", types.INTEGER)]
    ids = register_sink(schemas, "out", Format(format), key, Format(format), value)
    assert sorted(ids) == ["out-key", "out-value"]
    serde = ready(value_serde(Format(format), value), "out")
    assert int.from_bytes(serde.serialize((1,))[1:5], "big") == ids["out-value"]
    keys = ready(key_serde(Format(format), key), "out", True)
    assert int.from_bytes(keys.serialize(("x",))[1:5], "big") == ids["out-key"]
    assert registry.versions("out-value") == [1]


def test_a_sink_that_may_not_follow_is_an_error_of_the_statement(registry: RegistryClient) -> None:
    schemas = RegistrySchemas(registry)
    register_sink(schemas, "out", Format("KAFKA"), [], Format("AVRO"), [Column("A", types.INTEGER)])
    with pytest.raises(KsqlError, match=r"^Could not register the schema for subject 'out-value': "):
        register_sink(schemas, "out", Format("KAFKA"), [], Format("AVRO"), [Column("A", types.STRING)])


def test_formats_without_registry_register_nothing() -> None:
    assert (
        register_sink(
            None, "out", Format("KAFKA"), [Column("K", types.STRING)], Format("JSON"), [Column("A", types.DATE)]
        )
        == {}
    )
    with pytest.raises(
        KsqlError, match=r"^The format of topic 'out' needs a schema registry, and the server has none.$"
    ):
        register_sink(None, "out", Format("KAFKA"), [], Format("AVRO"), [Column("A", types.DATE)])


def test_a_registry_that_is_away_is_said() -> None:
    with pytest.raises(KsqlError, match=r"^Could not fetch the schema of 't-value': there is no registry at "):
        RegistrySchemas("http://localhost:1").latest("t-value")


@pytest.mark.parametrize("format", ["AVRO", "JSON_SR", "PROTOBUF"])
def test_a_record_is_not_to_blame_for_a_registry_that_is_away(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    serde = bound(
        with_registry(value_serde(Format(format), [Column("A", types.INTEGER)]), "http://localhost:1"), "t", False
    )

    def unreachable(*_: Any, **__: Any) -> Any:
        raise RegistryUnreachable("http://localhost:1", "the connection is refused")

    monkeypatch.setattr(RegistryClient, "request", unreachable)
    with pytest.raises(SchemasUnavailable):
        serde.serialize((1,))
    if format != "JSON_SR":  # which does not ask
        with pytest.raises(SchemasUnavailable):
            serde.deserialize(b"\x00\x00\x00\x00\x07\x02")


DECIMALS: list[tuple[Any, str]] = [
    ({"value": b"\x01", "precision": 1, "scale": -5}, "Numeric field overflow"),
    ({"value": b"\x01", "precision": 1, "scale": 5}, "without rounding"),
    ({"value": b"\x01", "precision": 1, "scale": 2**31 - 1}, "is not a DECIMAL"),
    ({"value": b"\x7f" * 2000, "precision": 1, "scale": 0}, "Numeric field overflow"),
]


@pytest.mark.parametrize(("value", "cause"), DECIMALS, ids=lambda value: str(value)[:40])
def test_decimals_of_other_writers_that_do_not_fit(value: Any, cause: str) -> None:
    text = 'syntax = "proto3"; import "confluent/type/decimal.proto"; message M { confluent.type.Decimal p = 1; }'
    data = Protobuf(text, registry=REGISTRY, subject="any").serialize({"p": value})
    serde = ready(value_serde(Format("PROTOBUF"), [Column("P", types.decimal(6, 2))]))
    with pytest.raises(SerdeError, match=cause):
        serde.deserialize(data)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_double_that_is_no_decimal(value: float) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "p", "type": "double"}]}
    data = Avro(schema, registry=REGISTRY, subject="any").serialize({"p": value})
    serde = ready(value_serde(Format("AVRO"), [Column("P", types.decimal(6, 2))]))
    with pytest.raises(SerdeError, match=r"sourceType: float, requiredType: DECIMAL\(6, 2\), path: \$\.P"):
        serde.deserialize(data)


def test_a_sink_with_a_schema_by_id_has_its_columns(registry: RegistryClient) -> None:
    fields = [{"name": "a", "type": "int"}, {"name": "b", "type": ["null", "string"], "default": None}]
    id = registry.register("given", json.dumps({"type": "record", "name": "G", "fields": fields})).id
    single = registry.register("single", '"long"').id
    schemas, by_id = RegistrySchemas(registry), Format("AVRO", (("schema_id", id),))
    assert register_sink(schemas, "out", Format("KAFKA"), [], by_id, [Column("a", types.INTEGER)]) == {}
    key = Format("AVRO", (("schema_id", single),))
    assert register_sink(schemas, "out", key, [Column("K", types.BIGINT, Place.KEY)], Format("JSON"), []) == {}
    for columns in ([Column("A", types.INTEGER)], [Column("a", types.BIGINT)], [Column("c", types.INTEGER)]):
        with pytest.raises(
            KsqlError, match=r"^The following value columns are changed, missing or reordered: \[.*\]\. "
        ):
            register_sink(schemas, "out", Format("KAFKA"), [], by_id, columns)
    with pytest.raises(
        KsqlError, match=r"^The following key columns .* Schema from schema registry is \[ROWKEY BIGINT\]"
    ):
        register_sink(schemas, "out", key, [Column("K", types.STRING, Place.KEY)], Format("JSON"), [])
