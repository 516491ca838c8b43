"""The SQL sink's task, run by hand on SQLite."""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.unit.connect.connectors.contexts import SinkSide

from caudal.connect import data
from caudal.connect.connectors.sql.sink import SqlSink, SqlSinkTask
from caudal.connect.data import Schema
from caudal.connect.errors import ConnectError, DataError, RetriableError
from caudal.connect.records import SinkRecord, TopicPartition

ORDER = data.struct("order", id=data.INT64, customer=data.STRING, amount=data.decimal(2, 8).as_optional())
PARTITION = TopicPartition("orders", 0)


def order(offset: int, number: int, customer: str | None = "c", key: Any = None, **more: Any) -> SinkRecord:
    value = {"id": number, "customer": customer, "amount": Decimal("1.50")}
    return SinkRecord("orders", 0, offset, value, ORDER, key, None, **more)


class Target:
    def __init__(self, folder: Path) -> None:
        self.file = folder / "target.db"
        self.tasks: list[SqlSinkTask] = []
        sqlite3.connect(self.file).close()

    def config(self, **given: str) -> dict[str, str]:
        named = {name.replace("_", "."): value for name, value in given.items()}
        return {
            "connection.url": f"sqlite:///{self.file}",
            "caudal.allowed.folders": str(self.file.parent),
            "retry.backoff.ms": "0",
            "connection.backoff.ms": "0",
            **named,
        }

    def task(self, *, tolerates: bool = False, **given: Any) -> tuple[SqlSinkTask, SinkSide]:
        connector = SqlSink()
        connector.name = "shop"
        connector.start(SqlSink.config().parse(self.config(**given)))
        (config,) = connector.task_configs(1)
        task = SqlSinkTask()
        task.context = context = SinkSide(config, tolerates)
        task.start(SqlSink.config().parse(config))
        task.open({PARTITION})
        self.tasks.append(task)
        return task, context

    def run(self, sql: str) -> None:
        connection = sqlite3.connect(self.file)
        with connection:
            connection.execute(sql)
        connection.close()

    def rows(self, sql: str = "SELECT id, customer FROM orders ORDER BY rowid") -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.file)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    target = Target(tmp_path)
    yield target
    for task in target.tasks:
        task.stop()


def test_a_table_is_made_and_filled(target: Target) -> None:
    schema = data.struct(
        "all", id=data.INT64, at=data.TIMESTAMP_SCHEMA, day=data.DATE_SCHEMA, raw=data.BYTES, yes=data.BOOLEAN,
        tags=data.array(data.STRING), price=data.decimal(2, 8),
        note=Schema(data.Kind.STRING, optional=True, default="it's", has_default=True),
    )  # fmt: skip
    value = {
        "id": 1, "at": datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.UTC), "day": datetime.date(2024, 1, 2),
        "raw": b"\x00\x01", "yes": True, "tags": ["a", "b"], "price": Decimal("12.50"), "note": None,
    }  # fmt: skip
    task, _ = target.task(auto_create="true", pk_mode="record_value", pk_fields="id")
    task.put([SinkRecord("orders", 0, 0, value, schema)])
    assert target.rows("SELECT * FROM orders") == [
        (1, "2024-01-02 03:04:05.000000", "2024-01-02", b"\x00\x01", 1, '["a", "b"]', 12.5, None)
    ]
    columns = {name: (kind, key) for _, name, kind, _, _, key in target.rows("PRAGMA table_info(orders)")}
    assert columns["id"] == ("INTEGER", 1) and columns["price"] == ("NUMERIC", 0)


def test_a_record_that_comes_again_is_not_written_again(target: Target) -> None:
    task, _ = target.task(auto_create="true")
    task.put([order(0, 1), order(1, 2)])
    task.put([order(1, 2), order(2, 3)])
    assert target.rows() == [(1, "c"), (2, "c"), (3, "c")]
    task.stop()
    later, context = target.task(auto_create="true")
    assert context.positions == {PARTITION: 3}
    later.put([order(n, n + 1) for n in range(5)])  # a consumer that did not seek
    assert [row[0] for row in target.rows()] == [1, 2, 3, 4, 5]


def test_a_task_that_was_replaced_writes_nothing(target: Target) -> None:
    zombie, _ = target.task(auto_create="true")
    zombie.put([order(0, 1)])
    successor, context = target.task(auto_create="true")
    assert context.positions == {PARTITION: 1}
    with pytest.raises(ConnectError, match="Another task has taken orders-0 over"):
        zombie.put([order(1, 2)])
    successor.put([order(1, 2)])
    assert target.rows() == [(1, "c"), (2, "c")]


def test_offsets_are_those_of_the_untransformed_record(target: Target) -> None:
    task, _ = target.task(auto_create="true", pk_mode="kafka")
    task.put([SinkRecord("renamed", 0, 7, {"a": 1}, data.struct("x", a=data.INT32), original=("orders", 0, 7))])
    assert target.rows("SELECT * FROM renamed") == [("orders", 0, 7, 1)]
    assert target.rows("SELECT topic, partition, next_offset FROM _caudal_connect_offsets") == [("orders", 0, 8)]


def test_upserts_and_deletions_leave_the_last_state(target: Target) -> None:
    given: dict[str, Any] = {
        "insert_mode": "upsert",
        "pk_mode": "record_key",
        "pk_fields": "id",
        "delete_enabled": "true",
    }
    task, _ = target.task(auto_create="true", **given)
    gone = SinkRecord("orders", 0, 3, None, None, 1)
    task.put(
        [order(0, 1, "a", 1), order(1, 2, "b", 2), order(2, 1, "c", 1), gone, order(4, 2, "d", 2), order(5, 3, "e", 3)]
    )
    assert target.rows() == [(2, "d"), (3, "e")]
    task.put(
        [SinkRecord("orders", 0, 6, None, None, 3), order(7, 3, "back", 3), SinkRecord("orders", 0, 8, None, None, 2)]
    )
    assert target.rows() == [(3, "back")]


def test_updates_change_only_rows_that_are_there(target: Target) -> None:
    target.run("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, amount NUMERIC)")
    target.run("INSERT INTO orders VALUES (1, 'old', 0)")
    task, _ = target.task(insert_mode="update", pk_mode="record_value", pk_fields="id", fields_whitelist="customer")
    task.put([order(0, 1, "new"), order(1, 2, "nobody")])
    assert target.rows("SELECT * FROM orders") == [(1, "new", 0)]


def test_columns_are_added_when_the_schema_grows(target: Target) -> None:
    task, _ = target.task(auto_create="true", auto_evolve="true")
    wider = data.struct("order", **{one.name: one.schema for one in ORDER.fields}, note=data.STRING.as_optional())
    task.put([order(0, 1), SinkRecord("orders", 0, 1, {"id": 2, "customer": "c", "amount": None, "note": "n"}, wider)])
    assert target.rows("SELECT id, note FROM orders") == [(1, None), (2, "n")]
    strict = data.struct("order", id=data.INT64, must=data.STRING)
    with pytest.raises(ConnectError, match="The column must cannot be added"):
        task.put([SinkRecord("orders", 0, 2, {"id": 3, "must": "x"}, strict)])


def test_tables_and_columns_that_are_missing_are_named(target: Target) -> None:
    task, _ = target.task()
    with pytest.raises(ConnectError, match=r"The table orders does not exist: .*auto\.create"):
        task.put([order(0, 1)])
    target.run("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    with pytest.raises(ConnectError, match=r"has no column customer, amount: .*auto\.evolve"):
        task.put([order(0, 1)])


@pytest.mark.parametrize("mode", ["insert", "upsert"])
def test_a_row_that_is_refused_is_reported_and_the_others_are_written(target: Target, mode: str) -> None:
    target.run(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL CHECK (customer <> 'x'), amount NUMERIC)"
    )
    task, context = target.task(tolerates=True, insert_mode=mode, pk_mode="record_value", pk_fields="id")
    records = [order(n, n, "x" if n in (3, 11) else None if n == 7 else "c") for n in range(20)]
    task.put(records)
    assert [record.offset for record, _ in context.reported] == [3, 7, 11]
    assert all(isinstance(error, DataError) for _, error in context.reported)
    assert "The table orders refused a row: CHECK constraint failed" in str(context.reported[0][1])
    assert [row[0] for row in target.rows()] == [n for n in range(20) if n not in (3, 7, 11)]


def test_an_older_version_of_a_row_stands_when_the_newer_is_refused(target: Target) -> None:
    target.run("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, amount NUMERIC)")
    task, context = target.task(tolerates=True, insert_mode="upsert", pk_mode="record_value", pk_fields="id")
    task.put([order(0, 1, "good"), order(1, 1, None)])
    assert target.rows() == [(1, "good")] and len(context.reported) == 1


def test_without_tolerance_nothing_of_the_batch_is_written(target: Target) -> None:
    target.run("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, amount NUMERIC)")
    task, _ = target.task()
    with pytest.raises(DataError, match="NOT NULL"):
        task.put([order(0, 1), order(1, 2, None)])
    assert target.rows() == []
    task.put([order(0, 1)])
    assert target.rows() == [(1, "c")]


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (SinkRecord("orders", 0, 0, "text", data.STRING), "needs a value with fields"),
        (SinkRecord("orders", 0, 0, None, None, 1), "delete.enabled is false"),
        (
            SinkRecord("orders", 0, 0, {"id": 1}, data.struct("o", id=data.INT64)),
            "needs a key, and the record has none",
        ),
        (SinkRecord("orders", 0, 0, {"a": 1}, None, 5), "records without schema|record without schema"),
    ],
)
def test_records_that_are_no_rows_are_reported(target: Target, record: SinkRecord, words: str) -> None:
    task, _ = target.task(pk_mode="record_key", pk_fields="id", auto_create="true")
    with pytest.raises(DataError, match=words):
        task.put([record])


def test_records_without_schema_fit_a_table_that_is_there(target: Target) -> None:
    target.run("CREATE TABLE orders (id INTEGER, customer TEXT)")
    task, _ = target.task()
    task.put([SinkRecord("orders", 0, 0, {"id": 1, "customer": {"deep": 1}}), SinkRecord("orders", 0, 1, {"id": 2})])
    assert target.rows() == [(1, '{"deep": 1}'), (2, None)]


def test_a_database_that_is_busy_is_tried_again(target: Target) -> None:
    target.run("CREATE TABLE orders (id INTEGER, customer TEXT, amount NUMERIC)")
    task, _ = target.task(connection_url=f"sqlite:///{target.file}?timeout=0", max_retries="1")
    holder = sqlite3.connect(target.file, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(RetriableError, match="not available"):
        task.put([order(0, 1)])
    with pytest.raises(ConnectError, match=r"Tried 2 times \(max.retries\)"):
        task.put([order(0, 1)])
    holder.execute("ROLLBACK")
    holder.close()
    task.put([order(0, 1)])
    assert target.rows() == [(1, "c")]


def test_offsets_can_be_altered_by_hand(target: Target) -> None:
    task, _ = target.task(auto_create="true")
    task.put([order(0, 1), order(1, 2)])
    connector = SqlSink()
    connector.name = "shop"
    connector.start(SqlSink.config().parse(target.config()))
    assert connector.alter_offsets({PARTITION: 1}) is True
    with pytest.raises(ConnectError, match="Another task"):
        task.put([order(2, 3)])
    _, context = target.task(auto_create="true")
    assert context.positions == {PARTITION: 1}
    connector.alter_offsets({PARTITION: None})
    _, context = target.task(auto_create="true")
    assert context.positions == {}


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"insert_mode": "upsert"}, "pk.mode"),
        ({"delete_enabled": "true"}, "delete.enabled"),
        ({"pk_mode": "kafka", "pk_fields": "a,b"}, "pk.fields"),
        ({"db_timezone": "Mars/Crater"}, "db.timezone"),
        ({"connection_url": "postgresql://127.0.0.1:1/none"}, "connection.url"),
    ],
)
def test_what_is_wrong_is_named(target: Target, given: dict[str, str], key: str) -> None:
    errors = SqlSink.check(SqlSink.config().parse(target.config(**given)))
    assert list(errors) == [key]
