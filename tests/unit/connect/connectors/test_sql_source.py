"""The SQL source's task, run by hand on SQLite."""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.unit.connect.connectors.contexts import ConnectorSide, SourceRun

from caudal.connect import data
from caudal.connect.connector_config import parse
from caudal.connect.connectors.sql.database import database_url
from caudal.connect.connectors.sql.source import SqlSource
from caudal.connect.errors import ConfigError, ConnectError, DataError
from caudal.connect.runtime.settings import WorkerSettings

UTC = datetime.UTC


class Shop:
    def __init__(self, folder: Path) -> None:
        self.file = folder / "shop.db"
        self._connection = sqlite3.connect(self.file, isolation_level=None)
        self.runs: list[SourceRun] = []

    def run(self, sql: str, *rows: tuple[Any, ...]) -> None:
        if rows:
            self._connection.executemany(sql, rows)
        else:
            self._connection.execute(sql)

    def source(self, *, tolerates: bool = False, **given: Any) -> SourceRun:
        config = {name.replace("_", "."): value for name, value in given.items()}
        run = SourceRun(SqlSource, self.config(**config), tolerates=tolerates)
        self.runs.append(run)
        return run

    def config(self, **given: str) -> dict[str, str]:
        folders = f"{self.file.parent}:/nowhere"
        return {
            "connection.url": f"sqlite:///{self.file}", "topic.prefix": "shop-", "poll.interval.ms": "0",
            "caudal.allowed.folders": folders, **given,
        }  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path)
    shop.run("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, amount DECIMAL(8, 2), at TIMESTAMP)")
    yield shop
    for run in shop.runs:
        run.stop()


def test_rows_come_once_in_order_with_the_schema_of_the_table(shop: Shop) -> None:
    shop.run(
        "INSERT INTO orders VALUES (?, ?, ?, ?)", *((n, f"c{n}", n / 4, "2024-02-03 04:05:06") for n in range(1, 11))
    )
    run = shop.source(mode="incrementing", batch_max_rows="4", key_mode="incrementing")
    records = run.read(10)
    assert [record.value["id"] for record in records] == list(range(1, 11))
    first = records[0]
    assert first.topic == "shop-orders" and first.key == 1 and first.key_schema is not None
    assert first.value == {
        "id": 1, "customer": "c1", "amount": Decimal("0.25"), "at": datetime.datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC),
    }  # fmt: skip
    schema = first.value_schema
    assert schema is not None and schema.name == "orders"
    assert {one.name: (one.schema.name or one.schema.kind.value, one.schema.optional) for one in schema.fields} == {
        "id": ("int64", False), "customer": ("string", False), "amount": (data.DECIMAL, True),
        "at": (data.TIMESTAMP, True),
    }  # fmt: skip
    assert all(record.value_schema is schema for record in records)
    assert run.idle() == []
    shop.run("INSERT INTO orders (customer) VALUES ('late')")
    assert [record.value["customer"] for record in run.read(1)] == ["late"]


def test_a_restart_goes_on_behind_the_last_stored_record(shop: Shop) -> None:
    shop.run("INSERT INTO orders (customer) VALUES (?)", *((f"c{n}",) for n in range(9)))
    run = shop.source(mode="incrementing", batch_max_rows="4")
    first = run.poll()
    lost = run.poll(commit=False)  # read, but never acknowledged
    again = run.again()
    shop.runs.append(again)
    rest = again.read(5)
    assert [record.value["id"] for record in first + rest] == list(range(1, 10))
    assert [record.value["id"] for record in lost] == [5, 6, 7, 8]


def test_changed_rows_come_again_by_timestamp_and_number(shop: Shop) -> None:
    insert = "INSERT INTO orders (customer, at) VALUES (?, ?)"
    shop.run(insert, *((f"c{n}", "2024-01-01 00:00:00") for n in range(5)))
    given: dict[str, Any] = {
        "mode": "timestamp+incrementing",
        "timestamp_column_name": "at",
        "validate_non_null": "false",
    }
    run = shop.source(batch_max_rows="2", **given)
    first = run.poll()
    assert [record.value["id"] for record in first] == [1, 2]
    again = run.again()
    shop.runs.append(again)
    assert [record.value["id"] for record in again.read(3)] == [3, 4, 5]
    shop.run("UPDATE orders SET at = '2024-01-01 00:00:00.250', customer = 'changed' WHERE id = 2")
    (changed,) = again.read(1)
    assert changed.value["customer"] == "changed"
    assert changed.offset == {"timestamp": 1704067200250, "timestamp_nanos": 250_000_000, "incrementing": 2}
    assert again.idle() == []


def test_the_position_of_a_timestamp_moves_when_its_last_row_was_read(shop: Shop) -> None:
    insert = "INSERT INTO orders (customer, at) VALUES (?, ?)"
    stamps = ["2024-01-01 00:00:00"] * 2 + ["2024-01-01 00:00:01"] * 5
    shop.run(insert, *((f"c{n}", stamp) for n, stamp in enumerate(stamps)))
    given: dict[str, Any] = {
        "mode": "timestamp",
        "timestamp_column_name": "at",
        "validate_non_null": "false",
        "batch_max_rows": "3",
    }
    run = shop.source(**given)
    records = run.read(7)
    assert sorted(record.value["id"] for record in records) == [1, 2, 3, 4, 5, 6, 7]
    moved = [record.offset.get("timestamp") for record in records]
    assert moved == [None, 1704067200000] + [1704067200000] * 4 + [1704067201000]
    assert run.idle() == []
    # Stopped in the middle of a timestamp, it is read again from its beginning: nothing is left out.
    run = shop.source(**given)
    seen = {record.value["id"] for record in run.poll()}
    again = run.again()
    shop.runs.append(again)
    assert seen | {record.value["id"] for record in again.read(5)} == {1, 2, 3, 4, 5, 6, 7}


def test_rows_are_old_enough_and_begin_where_asked(shop: Shop) -> None:
    shop.run(
        "INSERT INTO orders (customer, at) VALUES ('old', '2000-01-01 00:00:00'), ('new', datetime('now', '+1 hour'))"
    )
    shop.run("INSERT INTO orders (customer, at) VALUES ('mid', '2020-01-01 00:00:00')")
    given: dict[str, Any] = {"mode": "timestamp", "timestamp_column_name": "at", "validate_non_null": "false"}
    run = shop.source(timestamp_initial="1577836800000", **given)  # the very instant of "mid"
    assert [record.value["customer"] for record in run.read(1)] == ["mid"]
    assert run.idle() == []  # the new one is in the future, and the delay keeps it there


def test_bulk_reads_everything_each_time(shop: Shop) -> None:
    shop.run("INSERT INTO orders (customer) VALUES ('a'), ('b'), ('c')")
    run = shop.source(mode="bulk", batch_max_rows="2", table_types="table")
    assert [record.value["customer"] for record in run.read(6)] == ["a", "b", "c"] * 2


def test_a_query_with_conditions_of_its_own(shop: Shop) -> None:
    shop.run("INSERT INTO orders (customer, amount) VALUES (?, ?)", *(("100%", n) for n in range(6)))
    query = "SELECT id, customer || '!' AS who FROM orders WHERE amount % 2 = 0"
    run = shop.source(mode="incrementing", incrementing_column_name="id", query=query, batch_max_rows="2")
    records = run.read(3)
    assert [record.value for record in records] == [{"id": n, "who": "100%!"} for n in (1, 3, 5)]
    assert records[0].topic == "shop-" and records[0].partition == {"query": "query"}
    assert run.idle() == []


def test_a_table_that_changes_shape_has_a_new_schema_from_the_next_poll(shop: Shop) -> None:
    shop.run("INSERT INTO orders (customer) VALUES ('a')")
    run = shop.source(mode="incrementing")
    (before,) = run.read(1)
    shop.run("ALTER TABLE orders ADD COLUMN note TEXT")
    shop.run("ALTER TABLE orders DROP COLUMN amount")
    shop.run("INSERT INTO orders (customer, note) VALUES ('b', 'n')")
    (after,) = run.read(1)
    assert after.value == {"id": 2, "customer": "b", "at": None, "note": "n"}
    assert after.value_schema is not before.value_schema
    assert after.value_schema is not None and after.value_schema.field("amount") is None


def test_a_row_that_does_not_convert_is_reported_and_the_others_come(shop: Shop) -> None:
    shop.run("INSERT INTO orders (customer, amount) VALUES ('a', 1), ('b', 'much'), ('c', 2.123), ('d', 3)")
    run = shop.source(tolerates=True, mode="incrementing")
    assert [record.value["customer"] for record in run.read(2)] == ["a", "d"]
    assert [str(error) for error in run.context.reported] == [
        "The table orders has a row that does not convert (incrementing=2), column amount: "
        "'much' is not a decimal number with at most 2 digits behind the point.",
        "The table orders has a row that does not convert (incrementing=3), column amount: "
        "2.123 is not a decimal number with at most 2 digits behind the point.",
    ]
    strict = shop.source(mode="incrementing")
    with pytest.raises(DataError, match="column amount"):
        strict.poll()


def test_tables_are_shared_out_and_new_ones_are_found(shop: Shop) -> None:
    shop.run("CREATE TABLE customers (id INTEGER PRIMARY KEY)")
    shop.run("CREATE TABLE secrets (id INTEGER PRIMARY KEY)")
    connector = SqlSource()
    connector.name = "shop"
    connector.context = context = ConnectorSide({})
    given: dict[str, Any] = {"mode": "incrementing", "table.blacklist": "secrets", "table.poll.interval.ms": "10"}
    connector.start(SqlSource.config().parse(shop.config(**given)))
    try:
        assert [config["tables"] for config in connector.task_configs(5)] == [
            '[[null, "customers"]]',
            '[[null, "orders"]]',
        ]
        assert len(connector.task_configs(1)) == 1
        assert not context.reconfigured.is_set()
        shop.run("CREATE TABLE items (id INTEGER PRIMARY KEY)")
        assert context.reconfigured.wait(60)
        assert len(connector.task_configs(5)) == 3
    finally:
        connector.stop()


@pytest.mark.parametrize(
    ("given", "key", "words"),
    [
        ({"mode": "timestamp"}, "timestamp.column.name", "needs the columns"),
        ({"mode": "timestamp", "timestamp.column.name": "at"}, "timestamp.column.name", "may be null"),
        ({"mode": "timestamp", "timestamp.column.name": "when"}, "timestamp.column.name", "has no column when"),
        ({"mode": "timestamp", "timestamp.column.name": "customer"}, "timestamp.column.name", "is no timestamp"),
        ({"mode": "incrementing", "incrementing.column.name": "customer"}, "incrementing.column.name", "whole number"),
        ({"mode": "bulk", "query": "SELECT 1", "table.whitelist": "orders"}, "query", "instead of tables"),
        ({"mode": "bulk", "table.whitelist": "a", "table.blacklist": "b"}, "table.blacklist", "Only one"),
        ({"mode": "bulk", "connection.url": "sqlite:////nowhere/at/all.db"}, "connection.url", "cannot be reached"),
        ({"mode": "bulk", "connection.url": "sqlite:////etc/shop.db"}, "connection.url", "outside of the folders"),
        (
            {"mode": "bulk", "connection.url": "sqlite:///file:/nowhere/%2e%2e/etc/x?uri=true"},
            "connection.url",
            "outside",
        ),
        ({"mode": "bulk", "connection.url": "no url"}, "connection.url", "not a URL"),
        ({"mode": "bulk", "connection.url": "nosuch://db"}, "connection.url", "cannot be used"),
    ],
)
def test_what_is_wrong_is_named(shop: Shop, given: dict[str, str], key: str, words: str) -> None:
    errors = SqlSource.check(SqlSource.config().parse(shop.config(**given)))
    assert list(errors) == [key]
    assert words in errors[key][0]


def test_a_right_configuration_has_no_errors(shop: Shop) -> None:
    config = SqlSource.config().parse(shop.config(mode="incrementing"))
    assert SqlSource.check(config) == {}
    connector = SqlSource()
    assert connector.exactly_once_support(config) is True
    assert connector.exactly_once_support({**config, "mode": "timestamp"}) is False
    with pytest.raises(ConfigError, match="mode"):
        SqlSource.config().parse(shop.config(mode="sometimes"))


def test_a_table_that_was_dropped_fails_the_task(shop: Shop) -> None:
    run = shop.source(mode="incrementing")
    shop.run("DROP TABLE orders")
    with pytest.raises(ConnectError, match="The table orders does not exist"):
        run.poll()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("jdbc:sqlite:/data/a.db", "sqlite:////data/a.db"),
        ("jdbc:postgresql://db/shop?user=u&password=p&currentSchema=s", "postgresql+psycopg://u:***@db/shop?options=-csearch_path%3Ds"),
        ("postgresql://db/shop", "postgresql+psycopg://db/shop"),
        ("jdbc:mysql://db:3306/shop", "mysql+pymysql://db:3306/shop"),
    ],
)  # fmt: skip
def test_urls_of_jdbc(given: str, expected: str) -> None:
    assert database_url(given).render_as_string() == expected


def test_the_password_does_not_show(shop: Shop) -> None:
    with pytest.raises(ConfigError) as caught:
        database_url("jdbc:oracle:thin:me/geheim@db")
    assert "geheim" not in str(caught.value)


def test_a_task_is_told_what_the_connector_was_told_and_no_defaults(shop: Shop) -> None:
    """Among the framework's keys, which a connector is told too, some ask for others as soon as they are there."""
    connector = SqlSource()
    connector.name = "shop"
    given = {"name": "shop", "connector.class": "SqlSource", **shop.config(mode="incrementing")}
    connector.context = ConnectorSide(given)
    settings = WorkerSettings(
        bootstrap="127.0.0.1:9092", url="http://127.0.0.1:8083", allowed_folders=(shop.file.parent,)
    )
    connector.start(parse(given, settings))
    try:
        (config,) = connector.task_configs(1)
    finally:
        connector.stop()
    assert config == {**given, "tables": '[[null, "orders"]]'}
    assert not parse(config, settings)["topic.creation.groups"]
