"""What the files hold, read back by others: pyarrow, fastavro, csv, the decompressors."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import cramjam
import fastavro
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.connect.connectors.contexts import SinkSide, start_sink

from caudal.connect.connectors.object_sink import open_file
from caudal.connect.connectors.object_sink.connector import ObjectSink
from caudal.connect.data import (
    BOOLEAN,
    BYTES,
    DATE_SCHEMA,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    Field,
    Kind,
    Schema,
    array,
    decimal,
    map_of,
    struct,
)  # fmt: skip
from caudal.connect.records import SinkRecord, TopicPartition

PLACE = TopicPartition("t", 0)
WIDE = struct(
    "wide", tiny=INT8, small=INT16, middle=INT32, big=INT64, real=FLOAT32, double=FLOAT64, flag=BOOLEAN, text=STRING,
    raw=BYTES, price=decimal(2, 10), sum=decimal(3), day=DATE_SCHEMA, at=TIME_SCHEMA, moment=TIMESTAMP_SCHEMA,
    maybe=STRING.as_optional(), items=array(struct("item", sku=STRING, count=INT32.as_optional())),
    tags=map_of(STRING, INT64), inner=struct("inner", a=INT32, b=array(STRING)).as_optional(),
)  # fmt: skip
VALUE: dict[str, Any] = {
    "tiny": -1, "small": 300, "middle": 1 << 20, "big": 1 << 60, "real": 0.5, "double": 0.1, "flag": True,
    "text": "Zürich, \"x\"\nnext", "raw": b"\0\xff", "price": Decimal("12.30"), "sum": Decimal("-0.001"),
    "day": date(2026, 2, 3), "at": time(4, 5, 6, 7000), "moment": datetime(2026, 2, 3, 4, 5, 6, 789000, UTC),
    "maybe": None, "items": [{"sku": "a", "count": 1}, {"sku": "b", "count": None}], "tags": {"x": 1},
    "inner": {"a": 1, "b": ["c"]},
}  # fmt: skip


def written(records: list[SinkRecord], **more: Any) -> tuple[dict[str, bytes], SinkSide]:
    """The files by name, from a store in memory; the last file is complete too."""
    system = fsspec.filesystem("memory")
    if system.exists("/formats"):
        system.rm("/formats", recursive=True)
    config = {name.replace("_", "."): str(value) for name, value in more.items()}
    good = [record for record in records if record.value is not None]
    config = {"url": "memory://formats", "flush.size": str(len(good)), **config}
    task, side = start_sink(ObjectSink, config, [PLACE])
    task.put(records)
    return {path.rsplit("/", 1)[1]: system.cat_file(path) for path in sorted(system.find("/formats"))}, side


def records(*values: Any, schema: Schema | None = None) -> list[SinkRecord]:
    return [SinkRecord("t", 0, offset, value, schema) for offset, value in enumerate(values)]


def table(content: bytes) -> Any:
    return pq.read_table(io.BytesIO(content))


def test_parquet_has_the_columns_of_the_schema() -> None:
    found, _ = written(records(VALUE, VALUE, schema=WIDE), format="parquet")
    assert list(found) == ["t+0+0000000000.parquet"]
    read = table(found["t+0+0000000000.parquet"])
    types = {field.name: field.type for field in read.schema}
    assert types["price"] == pa.decimal128(10, 2) and types["sum"] == pa.decimal128(38, 3)
    assert types["moment"] == pa.timestamp("ms", "UTC") and types["day"] == pa.date32()
    assert types["at"] == pa.time32("ms") and types["tiny"] == pa.int8()
    assert pa.types.is_struct(types["items"].value_type) and pa.types.is_map(types["tags"])
    assert read.schema.field("maybe").nullable and not read.schema.field("text").nullable
    expected = {**VALUE, "tags": [("x", 1)]}
    assert read.to_pylist() == [expected, expected]


def test_parquet_refuses_values_without_schema() -> None:
    found, side = written(records({"a": 1}), format="parquet")
    assert found == {} and "needs a schema" in str(side.reported[0][1])


def test_parquet_fills_defaults_and_reports_the_record_that_does_not_fit() -> None:
    counted = Schema(Kind.INT32, default=7, has_default=True)
    schema = Schema(Kind.STRUCT, fields=(Field("id", INT32), Field("n", counted), Field("s", STRING.as_optional())))
    values = [{"id": 1}, {"id": None, "n": 1}, {"id": "x", "n": 2}, {"id": 1 << 40}, {"id": 2, "n": 3, "s": "y"}, 5]
    found, side = written(records(*values, schema=schema), format="parquet")
    assert table(found["t+0+0000000000.parquet"]).to_pylist() == [
        {"id": 1, "n": 7, "s": None}, {"id": 2, "n": 3, "s": "y"},
    ]  # fmt: skip
    assert [record.offset for record, _ in side.reported] == [1, 2, 3, 5]
    assert all("id" in str(error) or "struct was expected" in str(error) for _, error in side.reported)


def test_parquet_holds_plain_values_as_one_column() -> None:
    found, _ = written(records("a", "b", schema=STRING), format="parquet")
    assert table(found["t+0+0000000000.parquet"]).to_pylist() == [{"value": "a"}, {"value": "b"}]


def test_parquet_of_many_chunks_and_row_groups() -> None:
    schema = struct("n", id=INT32)
    found, _ = written(
        records(*({"id": n} for n in range(20_000)), schema=schema), format="parquet", parquet_row_group_size=7000
    )
    file = pq.ParquetFile(io.BytesIO(found["t+0+0000000000.parquet"]))
    assert file.metadata.num_row_groups > 1
    assert file.read().column("id").to_pylist() == list(range(20_000))


@pytest.mark.parametrize(("compatibility", "projected"), [("NONE", False), ("BACKWARD", True), ("FORWARD", False)])
def test_records_of_an_older_schema_are_projected(compatibility: str, projected: bool) -> None:
    old = Schema(Kind.STRUCT, version=1, fields=(Field("id", INT32),))
    new = Schema(Kind.STRUCT, version=2, fields=(Field("id", INT64), Field("n", STRING.as_optional())))
    given = [SinkRecord("t", 0, 0, {"id": 0, "n": "x"}, new), SinkRecord("t", 0, 1, {"id": 1}, old)]
    found, _ = written(given, format="parquet", schema_compatibility=compatibility, flush_size=2)
    if projected:
        assert [table(content).to_pylist() for content in found.values()] == [
            [{"id": 0, "n": "x"}, {"id": 1, "n": None}]
        ]
    else:
        assert [table(content).to_pylist() for content in found.values()] == [[{"id": 0, "n": "x"}]]


def test_records_of_a_newer_schema_are_projected_forward() -> None:
    old = Schema(Kind.STRUCT, version=1, fields=(Field("id", INT64),))
    new = Schema(Kind.STRUCT, version=2, fields=(Field("id", INT64), Field("n", STRING)))
    given = [SinkRecord("t", 0, 0, {"id": 0}, old), SinkRecord("t", 0, 1, {"id": 1, "n": "x"}, new)]
    found, _ = written(given, format="parquet", schema_compatibility="FORWARD")
    assert [table(content).to_pylist() for content in found.values()] == [[{"id": 0}, {"id": 1}]]


DECOMPRESS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "none": ("", bytes),
    "gzip": (".gz", gzip.decompress),
    "bzip2": (".bz2", bz2.decompress),
    "xz": (".xz", lzma.decompress),
    "zstd": (".zst", lambda data: bytes(cramjam.zstd.decompress(data))),
}


@pytest.mark.parametrize("codec", DECOMPRESS)
def test_json_lines_with_every_codec_the_same_bytes_each_time(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_file, "CHUNK", 100)
    extension, decompress = DECOMPRESS[codec]
    given = records(*([VALUE] * 450), schema=WIDE)
    found, _ = written(given, compression_type=codec)
    again, _ = written(given, compression_type=codec)
    assert found == again
    lines = decompress(found[f"t+0+0000000000.json{extension}"]).splitlines()
    assert len(lines) == 450
    line = json.loads(lines[-1], parse_float=Decimal)
    assert line["price"] == Decimal("12.30") and line["moment"] == "2026-02-03T04:05:06.789000Z"
    assert line["raw"] == "AP8=" and line["day"] == "2026-02-03" and line["tags"] == {"x": 1}


def test_json_maps_may_have_other_keys_than_texts() -> None:
    found, _ = written(records({"m": {1: "a"}}))
    assert json.loads(found["t+0+0000000000.json"]) == {"m": {"1": "a"}}


def test_csv_quotes_and_types() -> None:
    found, _ = written(records(VALUE, schema=WIDE), format="csv", csv_delimiter="semicolon")
    rows = list(csv.DictReader(io.StringIO(found["t+0+0000000000.csv"].decode(), newline=""), delimiter=";"))
    (row,) = rows
    assert row["text"] == VALUE["text"] and row["price"] == "12.30" and row["maybe"] == "" and row["flag"] == "true"
    assert row["moment"] == "2026-02-03T04:05:06.789000Z" and json.loads(row["inner"]) == VALUE["inner"]


def test_csv_without_schema_begins_a_new_file_when_the_keys_change() -> None:
    found, _ = written(records({"a": 1}, {"a": 2}, {"b": 3}, {"b": 4}), format="csv", flush_size=2)
    assert [content.decode() for content in found.values()] == ["a\n1\n2\n", "b\n3\n4\n"]
    found, _ = written(records("x", "y"), format="csv", csv_header="false")
    assert found == {"t+0+0000000000.csv": b"x\ny\n"}


def test_raw_values_with_their_separator() -> None:
    found, side = written(
        records(b"a", "b", 3), format_class="io.confluent.connect.s3.format.bytearray.ByteArrayFormat",
        format_bytearray_separator="\\r\\n", format_bytearray_extension="dat",
    )  # fmt: skip
    assert found == {"t+0+0000000000.dat": b"a\r\nb\r\n"} and len(side.reported) == 1


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "snappy"])
def test_avro_containers_are_read_by_fastavro(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_file, "CHUNK", 10)
    given = records(*([VALUE] * 25), schema=WIDE)
    found, _ = written(given, format="avro", avro_codec=codec)
    assert found == written(given, format="avro", avro_codec=codec)[0]
    assert list(fastavro.reader(io.BytesIO(found["t+0+0000000000.avro"]))) == [VALUE] * 25


def test_avro_reports_the_record_that_does_not_fit() -> None:
    found, side = written(records({"id": 1}, {"id": "x"}, {"id": 3}, schema=struct("n", id=INT32)), format="avro")
    assert list(fastavro.reader(io.BytesIO(found["t+0+0000000000.avro"]))) == [{"id": 1}, {"id": 3}]
    assert [record.offset for record, _ in side.reported] == [1]
    found, side = written(records({"id": 1}), format="avro")
    assert found == {} and "need a schema" in str(side.reported[0][1])
