"""Change data capture from a real PostgreSQL: snapshot, changes, restarts."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from caudal.connect import data
from caudal.connect.connectors.postgres_cdc.cdc import PostgresCdc, PostgresCdcTask
from caudal.connect.errors import ConnectError, DataError, RetriableError
from caudal.connect.records import SourceRecord
from tests.connect.postgres import Database, postgres
from tests.unit.connect.connectors.contexts import Offsets, SourceRun

__all__ = ["postgres"]
Capture = Callable[..., SourceRun]


@pytest.fixture
def capture(postgres: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Capture]:
    monkeypatch.setattr(PostgresCdcTask, "confirm_seconds", 0.0)
    runs: list[SourceRun] = []

    def start(offsets: Offsets | None = None, tolerates: bool = False, **given: str) -> SourceRun:
        config = config_of(postgres, **given)
        run = SourceRun(PostgresCdc, config, offsets, tolerates)
        runs.append(run)
        return run

    yield start
    for run in runs:
        run.stop()


def config_of(database: Database, **given: str) -> dict[str, str]:
    named = {name.replace("_", "."): value for name, value in given.items()}
    return {
        "database.hostname": "127.0.0.1", "database.port": str(database.server.port), "database.user": "postgres",
        "database.dbname": database.name, "topic.prefix": "shop", "slot.name": f"slot_{database.name}",
        "poll.interval.ms": "200", **named,
    }  # fmt: skip


def shown(records: list[SourceRecord]) -> list[tuple[Any, ...]]:
    return [
        (one.key and one.key.get("id"), None)
        if one.value is None
        else (one.key and one.key.get("id"), one.value["op"], one.value["before"], one.value["after"])
        for one in records
    ]


def test_a_snapshot_is_followed_by_changes_with_nothing_in_between_lost(postgres: Database, capture: Capture) -> None:
    postgres.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer text NOT NULL, amount numeric(8, 2))",
        "INSERT INTO orders SELECT n, 'c' || n, n / 4.0 FROM generate_series(1, 5) n",
    )
    run = capture(max_batch_size="2")
    first = run.poll()  # the snapshot is taken, and only a part of it handed over
    postgres.run("INSERT INTO orders VALUES (6, 'meanwhile', 1)", "UPDATE orders SET customer = 'new' WHERE id = 5")
    records = first + run.read(5)
    assert [(key, op) for key, op, *_ in shown(records)] == [
        (1, "r"), (2, "r"), (3, "r"), (4, "r"), (5, "r"), (6, "c"), (5, "u"),
    ]  # fmt: skip
    snapshot, change = records[0], records[-1]
    assert snapshot.topic == "shop.public.orders"
    assert snapshot.value["after"] == {"id": 1, "customer": "c1", "amount": Decimal("0.25")}
    assert [one.value["source"]["snapshot"] for one in records] == ["true"] * 4 + ["last"] + ["false"] * 2
    source = change.value["source"]
    assert change.value["before"] is None and change.value["after"]["customer"] == "new"
    assert (source["db"], source["schema"], source["table"], source["name"]) == (
        postgres.name,
        "public",
        "orders",
        "shop",
    )
    assert source["lsn"] > 0 and source["txId"] > 0
    assert abs(source["ts_ms"] / 1000 - datetime.datetime.now().timestamp()) < 600
    assert change.value_schema is records[-2].value_schema
    assert change.value_schema is not None and change.value_schema.name == "shop.public.orders.Envelope"
    assert change.key_schema is not None and [one.name for one in change.key_schema.fields] == ["id"]


def test_deletions_have_tombstones_and_a_changed_key_is_another_row(postgres: Database, capture: Capture) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY, v text)")
    run = capture(snapshot_mode="never")
    assert run.idle(1) == []
    postgres.run("INSERT INTO t VALUES (1, 'a')", "UPDATE t SET id = 2", "DELETE FROM t")
    assert shown(run.read(6)) == [
        (1, "c", None, {"id": 1, "v": "a"}),
        (1, "d", {"id": 1, "v": None}, None),
        (1, None),
        (2, "c", None, {"id": 2, "v": "a"}),
        (2, "d", {"id": 2, "v": None}, None),
        (2, None),
    ]


def test_replica_identity_full_tells_the_whole_row_before(postgres: Database, capture: Capture) -> None:
    postgres.run(
        "CREATE TABLE t (id int PRIMARY KEY, v text, long text)",
        "ALTER TABLE t ALTER long SET STORAGE EXTERNAL",
        "ALTER TABLE t REPLICA IDENTITY FULL",
    )
    run = capture(snapshot_mode="never")
    run.idle(1)
    postgres.run("INSERT INTO t VALUES (1, 'a', repeat('x', 9000))", "UPDATE t SET v = 'b'", "DELETE FROM t")
    records = run.read(4)
    assert [one.value and one.value["op"] for one in records] == ["c", "u", "d", None]
    assert records[1].value["before"] == {"id": 1, "v": "a", "long": "x" * 9000}
    assert records[1].value["after"] == {"id": 1, "v": "b", "long": "x" * 9000}
    assert records[2].value["before"]["v"] == "b" and records[2].key == {"id": 1}


def test_long_values_that_did_not_change_are_marked(postgres: Database, capture: Capture) -> None:
    postgres.run(
        "CREATE TABLE t (id int PRIMARY KEY, v text, long text, raw bytea)",
        "ALTER TABLE t ALTER long SET STORAGE EXTERNAL",
        "ALTER TABLE t ALTER raw SET STORAGE EXTERNAL",
    )
    run = capture(snapshot_mode="never")
    run.idle(1)
    postgres.run(
        "INSERT INTO t VALUES (1, 'a', repeat('x', 9000), convert_to(repeat('y', 9000), 'UTF8'))",
        "UPDATE t SET v = 'b'",
    )
    after = run.read(2)[1].value["after"]
    assert after == {
        "id": 1, "v": "b", "long": "__debezium_unavailable_value", "raw": b"__debezium_unavailable_value",
    }  # fmt: skip


def test_a_table_that_changes_shape_has_a_new_schema(postgres: Database, capture: Capture) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY, v text)")
    run = capture(snapshot_mode="never")
    run.idle(1)
    postgres.run(
        "INSERT INTO t VALUES (1, 'a')",
        "ALTER TABLE t ADD COLUMN amount numeric(6, 1)",
        "INSERT INTO t VALUES (2, 'b', 1.5)",
        "ALTER TABLE t DROP COLUMN v",
        "INSERT INTO t VALUES (3, 2.5)",
    )
    records = run.read(3)
    assert [one.value["after"] for one in records] == [
        {"id": 1, "v": "a"}, {"id": 2, "v": "b", "amount": Decimal("1.5")}, {"id": 3, "amount": Decimal("2.5")},
    ]  # fmt: skip
    assert len({one.value_schema for one in records}) == 3


def test_every_type_has_its_value(postgres: Database, capture: Capture) -> None:
    postgres.run("CREATE TYPE mood AS ENUM ('good', 'bad')")
    columns = {
        "b": ("boolean", "true", True),
        "i2": ("smallint", "-3", -3),
        "f4": ("real", "1.5", 1.5),
        "f8": ("double precision", "0.1", 0.1),
        "raw": ("bytea", r"'\x00ff'", b"\x00\xff"),
        "d": ("date", "'2024-02-29'", datetime.date(2024, 2, 29)),
        "t": ("time", "'12:30:00.25'", datetime.time(12, 30, 0, 250000)),
        "ts": ("timestamp", "'2024-01-02 03:04:05'", datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)),
        "tz": ("timestamptz", "'2024-01-02 03:04:05+02'", datetime.datetime(2024, 1, 2, 1, 4, 5, tzinfo=datetime.UTC)),
        "u": ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        "j": ("jsonb", """'{"a": [1]}'""", '{"a": [1]}'),
        "m": ("mood", "'good'", "good"),
        "ints": ("int[]", "'{1,NULL,3}'", [1, None, 3]),
        "n": ("numeric", "12.5", Decimal("12.500000000000000000")),
        "inv": ("interval", "'1 day 02:00:00'", "1 day 02:00:00"),
    }
    postgres.run(
        f"CREATE TABLE t (id int PRIMARY KEY, {', '.join(f'{name} {kind}' for name, (kind, _, _) in columns.items())})",
        f"INSERT INTO t VALUES (1, {', '.join(text for _, text, _ in columns.values())})",
    )
    run = capture()
    postgres.run("INSERT INTO t SELECT 2, " + ", ".join(columns) + " FROM t")
    snapshot, change = run.read(2)
    expected = {name: value for name, (_, _, value) in columns.items()}
    assert snapshot.value["after"] == {"id": 1, **expected}
    assert change.value["op"] in "rc" and change.value["after"] == {"id": 2, **expected}
    assert change.value_schema is not None
    row = change.value_schema.field("after")
    assert row is not None
    kinds = {one.name: one.schema.name or one.schema.kind.value for one in row.schema.fields}
    assert kinds["ts"] == data.TIMESTAMP and kinds["n"] == data.DECIMAL and kinds["ints"] == "array"


def test_a_restart_loses_nothing_and_repeats_nothing(postgres: Database, capture: Capture) -> None:
    """Also in the middle of a transaction, and with records that were handed over but never stored."""
    postgres.run("CREATE TABLE t (id int PRIMARY KEY)")
    run = capture(max_batch_size="7", snapshot_mode="never")
    run.idle(1)
    seen: list[int] = []
    with psycopg.connect(postgres.conninfo) as connection:
        for start in range(0, 100, 20):
            connection.execute("INSERT INTO t SELECT generate_series(%s::int, %s::int)", (start, start + 19))
            connection.commit()
    while len(seen) < 100:
        seen += [one.key["id"] for one in run.poll()]
        run.poll(commit=False)  # lost with the run
        offsets = run.offsets
        run.stop()
        run = capture(offsets, max_batch_size="7", snapshot_mode="never")
    assert seen == list(range(100))


def test_the_slot_moves_only_when_offsets_are_stored(postgres: Database, capture: Capture) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY)")
    run = capture(snapshot_mode="never")
    run.idle(1)

    def confirmed() -> int:
        ((lsn,),) = postgres.rows("SELECT confirmed_flush_lsn - '0/0'::pg_lsn FROM pg_replication_slots WHERE database = current_database()")  # noqa: E501  # fmt: skip
        return int(lsn)

    run.idle(3)
    before = confirmed()
    postgres.run("INSERT INTO t VALUES (1)")
    unstored: list[SourceRecord] = []
    while not unstored:
        unstored += run.poll(commit=False)
    end = int(unstored[-1].offset["lsn"])
    for _ in range(3):
        run.task.commit()  # something older was stored
        run.poll(commit=False)
    assert before <= confirmed() < end
    run.offsets.commit(unstored)
    run.task.commit()
    for _ in range(300):
        if confirmed() >= end:
            break
        run.poll()
    assert confirmed() >= end


def test_a_slot_moves_on_with_a_log_that_is_about_other_tables(postgres: Database, capture: Capture) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE other (id int)")
    run = capture(table_include_list="public\\.t", snapshot_mode="never", heartbeat_interval_ms="1")
    first = run.read(1)
    assert first[0].topic == "__debezium-heartbeat.shop" and first[0].key == {"serverName": "shop"}
    ((end,),) = postgres.rows("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")
    postgres.run("INSERT INTO other VALUES (1)")
    for _ in range(600):
        records = run.poll()
        assert all(one.topic == "__debezium-heartbeat.shop" for one in records)
        if records and records[-1].offset["lsn"] > end:
            return
    raise AssertionError("the heartbeat's offset did not move on")


def test_truncation_is_told_where_asked(postgres: Database, capture: Capture) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    run = capture(skipped_operations="none")
    run.read(1)
    postgres.run("TRUNCATE t")
    (record,) = run.read(1)
    assert record.value["op"] == "t" and record.key is None


def test_only_a_snapshot(postgres: Database, capture: Capture) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
    run = capture(snapshot_mode="initial_only")
    assert len(run.read(2)) == 2
    postgres.run("INSERT INTO t VALUES (3)")
    assert run.idle() == []
    assert (
        postgres.rows("SELECT * FROM pg_replication_slots WHERE database = current_database() AND NOT temporary") == []
    )
    assert run.again().idle() == []


def test_a_lost_connection_is_made_again(postgres: Database, capture: Capture) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY)")
    run = capture(snapshot_mode="never")
    run.idle(1)
    postgres.run("INSERT INTO t VALUES (1)")
    assert len(run.read(1)) == 1
    postgres.rows(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    postgres.run("INSERT INTO t VALUES (2)")
    found: list[SourceRecord] = []
    failures = 0
    for _ in range(300):
        try:
            found += run.poll()
        except RetriableError:
            failures += 1
        if found:
            break
    assert [one.key["id"] for one in found] == [2] and failures >= 1


def test_a_connection_that_is_lost_within_a_batch_loses_nothing(postgres: Database, capture: Capture) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY)")
    run = capture(snapshot_mode="never")
    run.idle(1)
    stream = run.task._stream
    read, count = stream.read, 0

    def breaks() -> Any:
        nonlocal count
        message = read()
        count += message is not None
        if count > 4:
            raise RetriableError("The stream has ended.")
        return message

    stream.read = breaks
    postgres.run("INSERT INTO t SELECT generate_series(1, 10)")
    with pytest.raises(RetriableError):
        while True:
            assert run.poll() == []
    assert [one.key["id"] for one in run.read(10)] == list(range(1, 11))


def test_a_change_that_does_not_convert_is_reported(postgres: Database, capture: Capture) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY, d date)")
    run = capture(tolerates=True, snapshot_mode="never")
    run.idle(1)
    postgres.run("INSERT INTO t VALUES (1, 'infinity'), (2, '2024-01-01')")
    (record,) = run.read(1)
    assert record.key == {"id": 2}
    (error,) = run.context.reported
    assert isinstance(error, DataError) and "A change of public.t" in str(error) and "Column d" in str(error)


def test_a_slot_that_is_gone_is_said(postgres: Database, capture: Capture) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    run = capture()
    run.read(1)
    offsets = run.offsets
    run.stop()
    postgres.run(f"SELECT pg_drop_replication_slot('slot_{postgres.name}')")
    with pytest.raises(ConnectError, match="is gone, and with it the changes since"):
        capture(offsets).poll()


def test_a_large_transaction_comes_in_batches(postgres: Database, capture: Capture) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY, v text)")
    run = capture(snapshot_mode="never")
    run.idle(1)
    postgres.run("INSERT INTO t SELECT n, repeat('x', 100) FROM generate_series(1, 20000) n")
    sizes, total = [], 0
    while total < 20000:
        sizes.append(len(run.poll()))
        total += sizes[-1]
    assert total == 20000 and max(sizes) <= 2048


@pytest.mark.parametrize(
    ("given", "key", "words"),
    [
        ({"database_port": "1"}, "database.hostname", "cannot be reached"),
        ({"table_include_list": "a", "table_exclude_list": "b"}, "table.exclude.list", "Only one"),
        ({"table_include_list": "("}, "table.include.list", "no regular expression"),
    ],
)
def test_what_is_wrong_is_named(postgres: Database, given: dict[str, str], key: str, words: str) -> None:
    errors = PostgresCdc.check(PostgresCdc.config().parse(config_of(postgres, **given)))
    assert list(errors) == [key] and words in errors[key][0]


def test_a_publication_that_must_not_be_made_is_missed(postgres: Database, capture: Capture) -> None:
    with pytest.raises(ConnectError, match="The publication dbz_publication does not exist"):
        capture(publication_autocreate_mode="disabled").poll()
