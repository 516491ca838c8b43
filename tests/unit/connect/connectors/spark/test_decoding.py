"""Records as columns, as a Spark worker does it."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pyarrow
import pytest

from caudal.connect.configuration import as_text
from caudal.connect.connector_config import parse
from caudal.connect.connectors.spark.decoding import CHANGED, as_struct, decoder, union, value_converter
from caudal.connect.data import INT64, STRING, struct
from caudal.connect.errors import DataError
from caudal.connect.runtime.settings import WorkerSettings

NOW = datetime.datetime(2026, 5, 1, 10, tzinfo=datetime.UTC)


def texts() -> dict[str, str]:
    config = {
        "name": "n", "connector.class": "SparkSink", "topics": "t", "format": "parquet", "path": "/x",
        "value.converter": "Json", "value.converter.schemas.enable": "true",
    }  # fmt: skip
    typed = parse(config, WorkerSettings(bootstrap="x:1", url="http://x:1"))
    return {name: text for name, value in typed.items() if (text := as_text(value)) is not None}


def record(**fields: str) -> bytes:
    """A value with its schema; fields by type."""
    described = [{"field": name, "type": kind, "optional": True} for name, kind in fields.items()]
    payload = {name: {"int64": 7, "string": "x"}[kind] for name, kind in fields.items()}
    return json.dumps({"schema": {"type": "struct", "fields": described}, "payload": payload}).encode()


def batch(*values: bytes | None) -> Any:
    count = len(values)
    return pyarrow.RecordBatch.from_arrays(
        [
            pyarrow.array(["t"] * count),
            pyarrow.array([1] * count, pyarrow.int32()),
            pyarrow.array(range(count), pyarrow.int64()),
            pyarrow.array([NOW] * count, pyarrow.timestamp("us", "UTC")),
            pyarrow.array(values, pyarrow.binary()),
        ],
        ["topic", "partition", "offset", "timestamp", "value"],
    )


def test_fields_become_columns_and_tombstones_none() -> None:
    schema, value = value_converter(json.dumps(texts())).decode("t", record(id="int64", name="string"))
    decode = decoder(texts(), as_struct(schema, value), True)
    (made,) = decode(iter([batch(record(id="int64", name="string"), None, record(name="string"))]))
    place = {"kafka_topic": "t", "kafka_partition": 1, "kafka_timestamp": NOW}
    assert made.to_pylist() == [
        {"id": 7, "name": "x", "kafka_offset": 0, **place},
        {"id": None, "name": "x", "kafka_offset": 2, **place},
    ]


def test_a_field_or_type_that_is_not_among_the_columns_is_said() -> None:
    for wrong in (record(id="int64", more="string"), record(id="string")):
        with pytest.raises(DataError, match=CHANGED):
            list(decoder(texts(), struct(None, id=INT64), False)(iter([batch(wrong)])))


def test_a_value_without_fields_is_one_column() -> None:
    assert [field.name for field in as_struct(STRING, "x").fields] == ["value"]
    with pytest.raises(DataError, match="no schema"):
        as_struct(None, {"a": 1})


def test_the_union_keeps_all_columns() -> None:
    both = union(struct("a", id=INT64, old=STRING), struct("b", id=STRING, new=INT64))
    assert {field.name: field.schema.kind for field in both.fields} == {
        "id": STRING.kind,
        "old": STRING.kind,
        "new": INT64.kind,
    }
