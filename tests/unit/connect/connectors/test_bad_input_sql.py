"""What goes wrong around the SQL connectors, on SQLite: each case with the words that the user gets."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.unit.connect.connectors.contexts import SinkSide, SourceRun

from caudal.connect import data
from caudal.connect.connectors.sql.sink import SqlSink, SqlSinkTask
from caudal.connect.connectors.sql.source import SqlSource
from caudal.connect.errors import ConnectError, RetriableError
from caudal.connect.records import SinkRecord, TopicPartition

ORDER = data.struct("order", id=data.INT64, customer=data.STRING)
TABLE = "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, n INTEGER)"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    run(tmp_path / "shop.db", TABLE, "INSERT INTO orders VALUES (1, 'a', 1)")
    return tmp_path / "shop.db"


def run(file: Path, *statements: str) -> None:
    connection = sqlite3.connect(file, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def source(file: Path, **given: str) -> SourceRun:
    config = {
        "connection.url": f"sqlite:///{file}", "topic.prefix": "", "poll.interval.ms": "0", "mode": "incrementing",
        "caudal.allowed.folders": str(file.parent.parent),
        "incrementing.column.name": "id", "table.whitelist": "orders", "connection.backoff.ms": "0", **given,
    }  # fmt: skip
    return SourceRun(SqlSource, config)


def sink(file: Path, given: dict[str, str] | None = None, tolerates: bool = False) -> tuple[SqlSinkTask, SinkSide]:
    config = {"connection.url": f"sqlite:///{file}", "retry.backoff.ms": "0", "connection.backoff.ms": "0",
              "connection.attempts": "2", "name": "shop", "caudal.allowed.folders": str(file.parent.parent),
              **(given or {})}  # fmt: skip
    task = SqlSinkTask()
    task.context = context = SinkSide(config, tolerates)
    task.start(SqlSink.config().parse(config))
    task.open({TopicPartition("orders", 0)})
    return task, context


def order(offset: int, customer: Any = "c") -> SinkRecord:
    return SinkRecord("orders", 0, offset, {"id": offset + 10, "customer": customer}, ORDER)


def put(task: SqlSinkTask, record: SinkRecord) -> None:
    """As the framework does: once more when the task says so."""
    try:
        task.put([record])
    except RetriableError:
        task.put([record])


# What is done to a table that is being read, and what the next rows look like, or the words of the failure.
CHANGES: dict[str, tuple[list[str], dict[str, Any] | str]] = {
    "added": (["ALTER TABLE orders ADD COLUMN m TEXT", "INSERT INTO orders VALUES (2, 'b', 2, 'x')"],
              {"id": 2, "customer": "b", "n": 2, "m": "x"}),
    "dropped": (["ALTER TABLE orders DROP COLUMN n", "INSERT INTO orders VALUES (2, 'b')"], {"id": 2, "customer": "b"}),
    "renamed column": (["ALTER TABLE orders RENAME COLUMN n TO m", "INSERT INTO orders VALUES (2, 'b', 3)"],
                       {"id": 2, "customer": "b", "m": 3}),
    "other type": (["DROP TABLE orders", TABLE.replace("n INTEGER", "n TEXT"),
                    "INSERT INTO orders VALUES (2, 'b', 'x')"], {"id": 2, "customer": "b", "n": "x"}),
    "key gone": (["ALTER TABLE orders RENAME COLUMN id TO number"], "has no column id"),
    "key of another type": (["DROP TABLE orders", TABLE.replace("INTEGER PRIMARY KEY", "TEXT NOT NULL")],
                            "is no whole number"),
    "table gone": (["DROP TABLE orders"], "orders"),
    "table renamed": (["ALTER TABLE orders RENAME TO others"], "orders"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_table_that_changes_while_it_is_read(file: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caudal.connect.connectors.sql.reading._LOOK_SECONDS", 0.0)
    statements, expected = CHANGES[change]
    reading = source(file)
    assert [record.value["id"] for record in reading.read(1)] == [1]
    run(file, *statements)
    try:
        if isinstance(expected, str):
            with pytest.raises(ConnectError, match=expected) as failure:
                reading.idle(5)
            assert not isinstance(failure.value, RetriableError)
        else:
            (record,) = reading.read(1)
            assert record.value == expected and record.value_schema is not None
            assert [field.name for field in record.value_schema.fields] == list(expected)
    finally:
        reading.stop()


# What is done to a table that is being written, with which configuration, and the words, or the rows in the end.
TARGETS: dict[str, tuple[dict[str, str], list[str], str | list[tuple[Any, ...]]]] = {
    "column gone": ({}, ["ALTER TABLE orders RENAME COLUMN customer TO who"], "customer"),
    "column gone, may be added": ({"auto.evolve": "true"}, ["ALTER TABLE orders DROP COLUMN n"], [(10,), (11,)]),
    "table gone": ({}, ["DROP TABLE orders"], "auto.create"),
    "table gone, may be made": ({"auto.create": "true"}, ["DROP TABLE orders"], [(11,)]),
    "new constraint": ({}, ["CREATE UNIQUE INDEX one ON orders (customer)"], "UNIQUE constraint"),
    "a view instead": ({}, ["DROP TABLE orders", "CREATE VIEW orders AS SELECT 1 AS id, '' AS customer"], "orders"),
}


@pytest.mark.parametrize("case", TARGETS)
def test_a_table_that_changes_while_it_is_written(file: Path, case: str) -> None:
    config, statements, expected = TARGETS[case]
    run(file, "DELETE FROM orders")
    task, _ = sink(file, config)
    task.put([order(0)])
    run(file, *statements)
    if isinstance(expected, str):
        with pytest.raises(ConnectError, match=expected) as failure:
            put(task, order(1))
        assert not isinstance(failure.value, RetriableError)
    else:
        put(task, order(1))
        connection = sqlite3.connect(file)
        assert connection.execute("SELECT id FROM orders ORDER BY id").fetchall() == expected
        connection.close()
    task.stop()


def test_a_refused_record_goes_to_the_dead_letters_with_the_databases_words(file: Path) -> None:
    run(file, "CREATE UNIQUE INDEX one ON orders (customer)")
    task, context = sink(file, tolerates=True)
    task.put([order(0), order(1), order(2, "d")])
    ((record, error),) = context.reported
    assert record.offset == 1 and "UNIQUE constraint failed: orders.customer" in str(error)
    task.stop()


def test_a_table_that_is_gone_is_no_records_fault(file: Path) -> None:
    """Else one mistake would send everything that follows to the dead-letter topic."""
    task, context = sink(file, tolerates=True)
    task.put([order(0)])
    run(file, "DROP TABLE orders")
    with pytest.raises(RetriableError, match="The table orders cannot be written: no such table"):
        task.put([order(1)])
    with pytest.raises(ConnectError, match="The table orders does not exist: make it, or set"):
        task.put([order(1)])
    assert context.reported == []
    run(file, TABLE)
    task.put([order(1)])
    task.stop()


def test_a_database_that_goes_away_for_good_fails_the_tasks(file: Path) -> None:
    reading, (task, context) = source(file, **{"connection.attempts": "2"}), sink(file, {"max.retries": "2"})
    reading.read(1)
    task.put([order(0)])
    folder = file.parent
    reading.task._database.discard()  # the connection that it has would not notice
    task._database.discard()
    folder.rename(folder.with_name("gone"))
    with pytest.raises(ConnectError, match=r"cannot be reached: unable to open.*Tried 2 times \(connection.attempts\)"):
        reading.poll()
    for _ in range(2):
        with pytest.raises(RetriableError, match="cannot be reached"):
            task.put([order(1)])
    with pytest.raises(ConnectError, match=r"Tried 3 times \(max.retries\)") as failure:
        task.put([order(1)])
    assert not isinstance(failure.value, RetriableError) and len(context.waits) == 2
    folder.with_name("gone").rename(folder)
    assert reading.again().read(1)[0].value["id"] == 10  # nothing was lost meanwhile
    reading.stop()
    task.stop()


@pytest.mark.parametrize("connector", [SqlSource, SqlSink])
def test_a_database_that_is_not_there_is_named_by_the_validation(tmp_path: Path, connector: Any) -> None:
    config = {"connection.url": f"sqlite:///{tmp_path}/no/shop.db", "topic.prefix": "", "mode": "bulk",
              "caudal.allowed.folders": str(tmp_path)}  # fmt: skip
    errors = connector.check(connector.config().parse(config))
    assert list(errors) == ["connection.url"] and "unable to open database file" in errors["connection.url"][0]


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "shop.db").write_bytes(b"x" * 4096)
    errors = SqlSource.check(
        SqlSource.config().parse(
            {
                "connection.url": f"sqlite:///{tmp_path}/shop.db",
                "topic.prefix": "",
                "mode": "bulk",
                "caudal.allowed.folders": str(tmp_path),
            }
        )
    )
    assert "file is not a database" in errors["connection.url"][0]
