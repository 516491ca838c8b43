"""The object sink writes the same files of columns as of records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.unit.connect.connectors.contexts import start_sink

from caudal.connect.arrow_columns import arrow_columns
from caudal.connect.columns import ColumnRun
from caudal.connect.connectors.object_sink.connector import ObjectSink, ObjectSinkTask
from caudal.connect.connectors.object_sink.storage import LocalStorage
from caudal.connect.data import INT64, STRING, Schema, struct
from caudal.connect.errors import RetriableError
from caudal.connect.records import SinkRecord, TopicPartition

ORDERS = TopicPartition("orders", 0)
ORDER = replace(struct("order", id=INT64), version=1)
WIDER = replace(struct("order", id=INT64, note=STRING.as_optional()), version=2)


def sink(folder: Path, **more: Any) -> ObjectSinkTask:
    config = {name.replace("_", "."): str(value) for name, value in more.items()}
    config = {"url": str(folder), "caudal.allowed.folders": str(folder), "flush.size": "4", "format": "parquet",
              **config}  # fmt: skip
    task, _ = start_sink(ObjectSink, config, [ORDERS])
    assert isinstance(task, ObjectSinkTask)
    return task


def record(offset: int, schema: Schema = ORDER) -> SinkRecord:
    value = {field.name: offset if field.name == "id" else None for field in schema.fields}
    return SinkRecord("orders", 0, offset, value, schema)


def run(*offsets: int, schema: Schema = ORDER) -> ColumnRun:
    records = [record(offset, schema) for offset in offsets]
    columns = arrow_columns(schema).batch([one.value for one in records])
    return ColumnRun(ORDERS, schema, columns, list(offsets), records, lambda one: one)


def files(folder: Path) -> dict[str, list[int]]:
    return {path.name: pq.read_table(path)["id"].to_pylist() for path in sorted(folder.rglob("*.parquet"))}


def test_the_files_are_the_same(tmp_path: Path) -> None:
    offsets = [*range(11), *range(20, 27)]
    by_record, by_column = sink(tmp_path / "records"), sink(tmp_path / "columns")
    by_record.put([record(offset) for offset in offsets])
    for part in (offsets[:1], offsets[1:3], offsets[3:]):
        by_column.put_columns([run(*part)])
    assert files(tmp_path / "columns") == files(tmp_path / "records")
    assert len(files(tmp_path / "columns")) == 4
    assert by_column.pre_commit({}) == by_record.pre_commit({}) == {ORDERS: 25}


def test_records_and_columns_take_turns(tmp_path: Path) -> None:
    task = sink(tmp_path)
    task.put_columns([run(0, 1, 2)])
    task.put([record(3), record(4)])
    task.put_columns([run(5, 6, 7)])
    assert files(tmp_path) == {
        "orders+0+0000000000.parquet": [0, 1, 2, 3],
        "orders+0+0000000004.parquet": [4, 5, 6, 7],
    }


def test_a_repeated_put_writes_nothing_twice(tmp_path: Path) -> None:
    task = sink(tmp_path)
    task.put_columns([run(0, 1, 2, 3, 4)])
    task.put_columns([run(0, 1, 2, 3, 4)])
    task.put_columns([run(3, 4, 5, 6, 7)])
    assert list(files(tmp_path).values()) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_a_store_that_is_away_for_a_moment_gets_everything_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = sink(tmp_path)
    put, fails = LocalStorage.put, [True, False, True]

    def away(self: LocalStorage, path: str, content: Any, version: Any = None) -> None:
        if fails and fails.pop():
            raise RetriableError("away")
        put(self, path, content, version)

    monkeypatch.setattr(LocalStorage, "put", away)
    batch = [run(*range(13))]
    for _ in range(2):
        with pytest.raises(RetriableError):
            task.put_columns(batch)
    task.put_columns(batch)
    assert list(files(tmp_path).values()) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert task.pre_commit({}) == {ORDERS: 12}


def test_another_schema_begins_another_file_or_is_projected(tmp_path: Path) -> None:
    none, backward = sink(tmp_path / "none"), sink(tmp_path / "backward", schema_compatibility="BACKWARD")
    for task in (none, backward):
        task.put_columns([run(0, 1, schema=WIDER)])
        task.put_columns([run(2, 3, 4, 5)])
    assert list(files(tmp_path / "none").values()) == [[0, 1], [2, 3, 4, 5]]
    assert list(files(tmp_path / "backward").values()) == [[0, 1, 2, 3]]


@pytest.mark.parametrize("flush", [1, 2, 3, 7, 100])
def test_a_rerun_with_other_cuts_follows_the_files_that_it_finds(tmp_path: Path, flush: int) -> None:
    sink(tmp_path).put_columns([run(*range(18))])
    again = sink(tmp_path, flush_size=flush)
    again.put_columns([run(*range(10))])
    again.put_columns([run(*range(10, 30))])
    again.put_columns([run(*range(30, 300))])
    found = [id for ids in files(tmp_path).values() for id in ids]
    assert found == list(range(len(found))) and len(found) >= 116


@pytest.mark.parametrize("more", [{"format": "json"}, {"partitioner_class": "hourly"}, {"rotate_interval_ms": 1000}])
def test_where_values_have_to_be_looked_at_records_are_asked_for(tmp_path: Path, more: dict[str, Any]) -> None:
    assert sink(tmp_path).takes_columns and not sink(tmp_path, **more).takes_columns
