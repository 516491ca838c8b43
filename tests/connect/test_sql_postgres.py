"""The SQL source and sink on a real PostgreSQL."""

from __future__ import annotations

import datetime
import tracemalloc
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from caudal.connect import data
from caudal.connect.connectors.sql.sink import SqlSink, SqlSinkTask
from caudal.connect.connectors.sql.source import SqlSource
from caudal.connect.errors import ConnectError, DataError, RetriableError
from caudal.connect.records import SinkRecord, SourceRecord, TopicPartition
from tests.connect.postgres import Database, postgres
from tests.unit.connect.connectors.contexts import SinkSide, SourceRun

__all__ = ["postgres"]
Source = Callable[..., SourceRun]
Sink = Callable[..., tuple[SqlSinkTask, SinkSide]]
UTC = datetime.UTC
ORDER = data.struct("order", id=data.INT64, customer=data.STRING, amount=data.decimal(2, 8).as_optional())


@pytest.fixture
def source(postgres: Database) -> Iterator[Source]:
    runs: list[SourceRun] = []

    def start(tolerates: bool = False, **given: str) -> SourceRun:
        run = SourceRun(SqlSource, source_config(postgres, **given), tolerates=tolerates)
        runs.append(run)
        return run

    yield start
    for run in runs:
        run.stop()


def source_config(database: Database, **given: str) -> dict[str, str]:
    named = {name.replace("_", "."): value for name, value in given.items()}
    return {
        "connection.url": database.jdbc_url, "connection.user": "postgres", "topic.prefix": "", "mode": "incrementing",
        "incrementing.column.name": "id", "poll.interval.ms": "0", "connection.backoff.ms": "0", **named,
    }  # fmt: skip


@pytest.fixture
def sink(postgres: Database) -> Iterator[Sink]:
    tasks: list[SqlSinkTask] = []

    def start(tolerates: bool = False, **given: str) -> tuple[SqlSinkTask, SinkSide]:
        named = {name.replace("_", "."): value for name, value in given.items()}
        config = {
            "connection.url": postgres.url,
            "connection.backoff.ms": "0",
            "retry.backoff.ms": "0",
            "name": "shop",
            **named,
        }
        task = SqlSinkTask()
        task.context = context = SinkSide(config, tolerates)
        task.start(SqlSink.config().parse(config))
        task.open({TopicPartition("orders", 0)})
        tasks.append(task)
        return task, context

    yield start
    for task in tasks:
        task.stop()


def order(offset: int, number: int, customer: str | None = "c") -> SinkRecord:
    value = {"id": number, "customer": customer, "amount": Decimal("1.50")}
    return SinkRecord("orders", 0, offset, value, ORDER, number)


COLUMNS: dict[str, tuple[str, str, Any, str]] = {
    "b": ("boolean", "true", True, "boolean"),
    "i2": ("smallint", "-3", -3, "int16"),
    "i4": ("integer NOT NULL DEFAULT 7", "8", 8, "int32"),
    "f4": ("real", "1.5", 1.5, "float"),
    "f8": ("double precision", "0.1", 0.1, "double"),
    "n": ("numeric(12, 3)", "12.5", Decimal("12.500"), data.DECIMAL),
    "free": ("numeric", "12.5", Decimal("12.500000000000000000"), data.DECIMAL),
    "raw": ("bytea", r"'\x00ff'", b"\x00\xff", "bytes"),
    "d": ("date", "'2024-02-29'", datetime.date(2024, 2, 29), data.DATE),
    "t": ("time", "'12:30:00.25'", datetime.time(12, 30, 0, 250000), data.TIME),
    "ts": ("timestamp", "'2024-01-02 03:04:05'", datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), data.TIMESTAMP),
    "tz": (
        "timestamptz",
        "'2024-01-02 03:04:05+02'",
        datetime.datetime(2024, 1, 2, 1, 4, 5, tzinfo=UTC),
        data.TIMESTAMP,
    ),
    "u": ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "string"),
    "j": ("jsonb", """'{"a": [1]}'""", '{"a": [1]}', "string"),
    "s": ("varchar(20) NOT NULL DEFAULT 'it''s'", "'x'", "x", "string"),
    "ints": ("int[]", "'{1,NULL,3}'", [1, None, 3], "array"),
    "inv": ("interval", "'1 day 02:00:00'", "1 day 02:00:00", "string"),
    "ip": ("inet", "'10.0.0.1'", "10.0.0.1", "string"),
}


def make_all_types(database: Database) -> None:
    kinds = ", ".join(f"{name} {kind}" for name, (kind, _, _, _) in COLUMNS.items())
    database.run(
        f"CREATE TABLE everything (id bigserial PRIMARY KEY, {kinds})",
        f"INSERT INTO everything VALUES (1, {', '.join(text for _, text, _, _ in COLUMNS.values())})",
        "INSERT INTO everything (id) VALUES (2)",
        "COMMENT ON TABLE everything IS 'of all types'",
        "COMMENT ON COLUMN everything.f8 IS 'a double'",
    )


def test_every_type_has_its_schema_and_value(postgres: Database, source: Source) -> None:
    make_all_types(postgres)
    first, second = source(table_whitelist="everything").read(2)
    expected = {name: value for name, (_, _, value, _) in COLUMNS.items()}
    assert first.value == {"id": 1, **expected}
    assert second.value == {"id": 2, **dict.fromkeys(COLUMNS), "i4": 7, "s": "it's"}
    schema = first.value_schema
    assert schema is not None and schema is second.value_schema and schema.doc == "of all types"
    kinds = {one.name: one.schema.name or one.schema.kind.value for one in schema.fields if one.name != "id"}
    assert kinds == {name: kind for name, (_, _, _, kind) in COLUMNS.items()}
    fields = {one.name: one.schema for one in schema.fields}
    assert fields["n"].parameters == {"scale": "3", "connect.decimal.precision": "12"}
    assert fields["i4"].default == 7 and not fields["i4"].optional and fields["s"].default == "it's"
    assert fields["f8"].doc == "a double" and fields["f8"].optional


def test_a_row_goes_from_a_table_through_records_into_another_table(
    postgres: Database, source: Source, sink: Sink
) -> None:
    make_all_types(postgres)
    records = source(table_whitelist="everything", key_mode="primary_key").read(2)
    task, _ = sink(
        auto_create="true", pk_mode="record_key", pk_fields="id", insert_mode="upsert", table_name_format="copy"
    )
    task.put(
        [
            SinkRecord("orders", 0, at, one.value, one.value_schema, one.key, one.key_schema)
            for at, one in enumerate(records)
        ]
    )
    casts = ", ".join(f"{name}::text" for name in COLUMNS if name != "j")
    assert postgres.rows(f"SELECT id, {casts} FROM copy WHERE id = 1") == [
        (1, "true", "-3", "8", "1.5", "0.1", "12.500", "12.500000000000000000", r"\x00ff", "2024-02-29",
         "12:30:00.25", *postgres.rows("SELECT ts::timestamptz::text, tz::text FROM everything WHERE id = 1")[0],
         "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "x", "{1,NULL,3}", "1 day 02:00:00", "10.0.0.1"),
    ]  # fmt: skip
    assert postgres.rows("SELECT b, i4, s FROM copy WHERE id = 2") == [(None, 7, "it's")]


def test_a_large_table_takes_constant_memory(postgres: Database, source: Source) -> None:
    postgres.run("CREATE TABLE big (id bigint PRIMARY KEY, v text)",
                 "INSERT INTO big SELECT n, repeat('x', 200) FROM generate_series(1, 20000) n")  # fmt: skip
    for mode in ("incrementing", "bulk"):
        run = source(mode=mode, incrementing_column_name="id", batch_max_rows="1000")
        run.poll()
        tracemalloc.start()
        count = 1000
        while count < 20000:
            count += len(run.poll())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert count == 20000
        assert peak < 6_000_000, mode  # a thousand rows or two, not twenty thousand


def test_nullability_and_types_that_change_give_a_new_schema(postgres: Database, source: Source) -> None:
    postgres.run("CREATE TABLE t (id bigint PRIMARY KEY, v int NOT NULL)", "INSERT INTO t VALUES (1, 1)")
    run = source()
    (first,) = run.read(1)
    postgres.run("ALTER TABLE t ALTER v TYPE text", "INSERT INTO t VALUES (2, 'two')")
    (second,) = run.read(1)
    assert (first.value["v"], second.value["v"]) == (1, "two")
    assert second.value_schema is not None
    field = second.value_schema.field("v")
    assert field is not None and field.schema.kind is data.Kind.STRING


def test_dates_beyond_python_are_reported(postgres: Database, source: Source) -> None:
    postgres.run("CREATE TABLE t (id bigint PRIMARY KEY, d timestamptz)",
                 "INSERT INTO t VALUES (1, now()), (2, 'infinity'), (3, '12000-01-01'), (4, now())")  # fmt: skip
    run = source(tolerates=True)
    assert [one.value["id"] for one in run.read(2)] == [1, 4]
    assert [type(error) for error in run.context.reported] == [DataError, DataError]
    assert "(incrementing=2), column d: infinity" in str(run.context.reported[0])
    with pytest.raises(DataError, match="column d"):
        source().poll()


def test_a_query_knows_its_types(postgres: Database, source: Source) -> None:
    postgres.run("CREATE TABLE t (id bigint PRIMARY KEY, at timestamp NOT NULL, n numeric(6, 2), tags text[])",
                 "INSERT INTO t VALUES (1, '2024-01-01', 1.5, '{a,b}'), (2, '2024-01-02', 2.5, '{}')")  # fmt: skip
    run = source(
        mode="timestamp+incrementing", timestamp_column_name="at", incrementing_column_name="id", topic_prefix="q",
        query="SELECT id, at, n, tags, '5%' AS percent FROM t WHERE n % 1 = 0.5",
    )  # fmt: skip
    first, second = run.read(2)
    assert first.topic == "q" and first.value["n"] == Decimal("1.50") and second.value["tags"] == []
    assert second.offset == {"timestamp": 1704153600000, "timestamp_nanos": 0, "incrementing": 2}
    assert first.value["percent"] == "5%"
    assert run.again().idle() == []


def test_the_newest_of_several_timestamps_counts(postgres: Database, source: Source) -> None:
    postgres.run("CREATE TABLE t (id bigint PRIMARY KEY, changed timestamptz, made timestamptz NOT NULL)",
                 "INSERT INTO t VALUES (1, NULL, '2024-01-01Z'), (2, '2024-01-03Z', '2024-01-02Z')")  # fmt: skip
    run = source(mode="timestamp+incrementing", timestamp_column_name="changed,made", incrementing_column_name="id")
    assert [one.value["id"] for one in run.read(2)] == [1, 2]
    postgres.run("UPDATE t SET changed = '2024-01-04Z' WHERE id = 1")
    assert [one.value["id"] for one in run.read(1)] == [1]
    assert run.idle() == []


def test_a_database_that_goes_away_is_waited_for(postgres: Database, source: Source, sink: Sink) -> None:
    postgres.run("CREATE TABLE orders (id bigint PRIMARY KEY, customer text, amount numeric)",
                 "INSERT INTO orders VALUES (1, 'c', 1)")  # fmt: skip
    run = source(table_whitelist="orders")
    task, _ = sink(table_name_format="copied", auto_create="true")
    task.put([order(0, 1)])
    assert len(run.read(1)) == 1
    postgres.server.stop()
    with pytest.raises(RetriableError):
        run.poll()
    with pytest.raises(RetriableError):
        task.put([order(1, 2)])
    postgres.server.start()
    postgres.run("INSERT INTO orders VALUES (2, 'c', 1)")
    assert [one.value["id"] for one in run.read(1)] == [2]
    task.put([order(0, 1), order(1, 2)])
    assert postgres.rows("SELECT id FROM copied ORDER BY id") == [(1,), (2,)]


def test_a_commit_of_unknown_end_is_looked_up(postgres: Database, sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection breaks after the server has committed: the batch is repeated, and its rows are not."""
    task, _ = sink(auto_create="true")
    task.put([order(0, 1)])
    real = psycopg.Connection.commit

    def commit(connection: psycopg.Connection[Any]) -> None:
        real(connection)
        connection.close()
        raise psycopg.OperationalError("the connection was lost")

    monkeypatch.setattr(psycopg.Connection, "commit", commit)
    with pytest.raises(RetriableError):
        task.put([order(1, 2)])
    monkeypatch.undo()
    task.put([order(1, 2), order(2, 3)])
    assert postgres.rows("SELECT id FROM orders ORDER BY id") == [(1,), (2,), (3,)]


def test_a_task_that_was_replaced_writes_nothing(postgres: Database, sink: Sink) -> None:
    zombie, _ = sink(auto_create="true")
    zombie.put([order(0, 1)])
    successor, context = sink(auto_create="true")
    assert context.positions == {TopicPartition("orders", 0): 1}
    with pytest.raises(ConnectError, match="Another task has taken orders-0 over"):
        zombie.put([order(1, 2)])
    successor.put([order(1, 2)])
    assert postgres.rows("SELECT id FROM orders ORDER BY id") == [(1,), (2,)]


@pytest.mark.parametrize("mode", ["insert", "upsert", "update"])
def test_rows_that_are_refused_are_reported_and_the_others_are_written(
    postgres: Database, sink: Sink, mode: str
) -> None:
    postgres.run("CREATE TABLE orders (id bigint PRIMARY KEY, customer varchar(3) NOT NULL, amount numeric)")
    if mode == "update":
        postgres.run("INSERT INTO orders SELECT n, 'old', 0 FROM generate_series(0, 99) n")
    task, context = sink(tolerates=True, insert_mode=mode, pk_mode="record_value", pk_fields="id")
    bad = {5: None, 42: "too long", 77: "\x00"}
    task.put([order(n, n, bad.get(n, "c")) for n in range(100)])
    assert [record.offset for record, _ in context.reported] == [5, 42, 77]
    assert "violates not-null constraint" in str(context.reported[0][1])
    written = postgres.rows("SELECT id FROM orders WHERE customer = 'c' ORDER BY id")
    assert [number for (number,) in written] == [n for n in range(100) if n not in bad]
    assert postgres.rows("SELECT next_offset FROM _caudal_connect_offsets") == [(100,)]


def test_upserts_deletions_and_columns_that_come(postgres: Database, sink: Sink) -> None:
    task, _ = sink(auto_create="true", auto_evolve="true", insert_mode="upsert", pk_mode="record_key", pk_fields="id",
                   delete_enabled="true")  # fmt: skip
    task.put([order(0, 1, "a"), order(1, 2, "b"), order(2, 1, "c"), SinkRecord("orders", 0, 3, None, None, 2)])
    wider = data.struct("order", id=data.INT64, customer=data.STRING, tags=data.array(data.STRING).as_optional(),
                        deep=data.struct("deep", x=data.INT32).as_optional())  # fmt: skip
    task.put([SinkRecord("orders", 0, 4, {"id": 3, "customer": "d", "tags": ["x", "y"], "deep": {"x": 1}}, wider, 3)])
    assert postgres.rows("SELECT id, customer, tags, deep FROM orders ORDER BY id") == [
        (1, "c", None, None), (3, "d", ["x", "y"], {"x": 1}),
    ]  # fmt: skip


def test_an_unreachable_database_is_named_by_the_validation(postgres: Database) -> None:
    for connector in (SqlSource, SqlSink):
        given = source_config(postgres, connection_url="postgresql://127.0.0.1:1/none", connection_password="geheim")
        errors = connector.check(connector.config().parse(given))
        assert list(errors) == ["connection.url"]
        assert "cannot be reached" in errors["connection.url"][0] and "geheim" not in errors["connection.url"][0]
    good = SqlSource.config().parse(source_config(postgres))
    assert SqlSource.check(good) == {}


def test_partitions_of_a_table_are_read_once(postgres: Database, source: Source) -> None:
    postgres.run("CREATE TABLE t (id bigint NOT NULL) PARTITION BY RANGE (id)",
                 "CREATE TABLE t_low PARTITION OF t FOR VALUES FROM (0) TO (10)",
                 "INSERT INTO t VALUES (1), (2)")  # fmt: skip
    run = source(incrementing_column_name="id")
    records: list[SourceRecord] = run.read(2)
    assert [(one.topic, one.value["id"]) for one in records] == [("t", 1), ("t", 2)]
    assert run.idle() == []
