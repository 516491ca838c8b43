"""A snapshot that is interrupted goes on: no row and no change is lost, and none comes twice."""

from __future__ import annotations

import itertools
import random
from typing import Any

import psycopg
import pytest

from caudal.connect.connectors.postgres_cdc.cdc import PostgresCdc
from caudal.connect.connectors.postgres_cdc.views import View, Views
from caudal.connect.errors import ConnectError, RetriableError
from caudal.connect.records import SourceRecord
from tests.connect.postgres import Database, postgres
from tests.connect.test_postgres_cdc import Capture, capture, config_of

__all__ = ["capture", "postgres"]


def followed(records: list[SourceRecord]) -> dict[str, dict[Any, Any]]:
    """The tables that these records make. Fails for a row that comes although it is there, or goes although it is not:
    what a repeated or lost record leads to."""
    tables: dict[str, dict[Any, Any]] = {}
    for record in records:
        if record.value is None:
            continue
        assert record.key is not None
        rows = tables.setdefault(record.value["source"]["table"], {})
        key, op, after = tuple(record.key.values()), record.value["op"], record.value["after"]
        assert (key in rows) == (op in ("u", "d")), f"{op} of {key} in {record.topic}"
        if op == "d":
            del rows[key]
        else:
            rows[key] = after
    return {name: rows for name, rows in tables.items() if rows}


def held(database: Database, **keys: tuple[str, ...]) -> dict[str, dict[Any, Any]]:
    with psycopg.connect(database.conninfo, row_factory=psycopg.rows.dict_row) as connection:
        tables = {
            name: {tuple(row[one] for one in key): row for row in connection.execute(f"SELECT * FROM {name}".encode())}
            for name, key in keys.items()
        }
    return {name: rows for name, rows in tables.items() if rows}


def test_an_interrupted_snapshot_goes_on_behind_the_last_stored_row(postgres: Database, capture: Capture) -> None:
    postgres.run(
        "CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t SELECT n, 0 FROM generate_series(1, 10) n"
    )
    run = capture(max_batch_size="4")
    records = run.poll()
    run.poll(commit=False)  # lost with the run
    run.stop()
    postgres.run(
        "UPDATE t SET v = 1 WHERE id IN (2, 8)",  # a row that was sent, and one that was not
        "DELETE FROM t WHERE id IN (1, 9)",
        "INSERT INTO t VALUES (11, 1), (-1, 1)",
        "UPDATE t SET id = 20 WHERE id = 3",
        "UPDATE t SET id = -20 WHERE id = 7",
    )
    run = run.again()
    records += run.read(13)
    assert run.idle() == []
    ops = [(record.value["op"], *record.key.values()) for record in records if record.value is not None]
    assert ops == [
        ("r", 1), ("r", 2), ("r", 3), ("r", 4), ("r", 5), ("r", 6), ("r", 8), ("r", 10), ("r", 11), ("r", 20),
        ("u", 2), ("d", 1), ("c", -1), ("d", 3), ("c", -20),
    ]  # fmt: skip
    assert followed(records) == held(postgres, t=("id",))
    assert "views" not in records[0].offset or len(records[0].offset["views"]) == 1
    postgres.run("INSERT INTO t VALUES (30, 0)")
    (last,) = run.read(1)
    assert "views" not in last.offset  # behind the window nothing is compared any more


@pytest.mark.parametrize("seed", range(4))
def test_whatever_changes_between_interruptions_each_row_and_change_comes_once(
    postgres: Database, capture: Capture, seed: int
) -> None:
    """Keys of several columns, not in their order, of types that texts do not sort like; several tables; changes while
    it reads and while it is away; restarts in the snapshot and in the changes behind it."""
    chance = random.Random(seed)
    codes = ["9", "10", "-10", "-9", "2.5", "2.25", "100", "0", "-0.5", "11"]
    postgres.run(
        'CREATE TABLE a (id bigint PRIMARY KEY, v text COLLATE "C")',
        "CREATE TABLE b (v int, at char(3), code numeric(6, 2), PRIMARY KEY (code, at))",
        "CREATE TABLE c (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), v int)",
        "INSERT INTO a SELECT n, 'v' FROM generate_series(1, 12) n",
        "INSERT INTO c (v) SELECT n FROM generate_series(1, 6) n",
    )
    numbers = itertools.count(100)

    def change() -> str:
        code, other = chance.choice(codes), chance.choice(codes)
        at = chance.choice(["a", "B", "b", "Ä", "10", "9", "_"])
        return chance.choice([
            f"INSERT INTO a VALUES ({chance.choice([next(numbers), -next(numbers)])}, 'new')",
            f"UPDATE a SET v = 'u{next(numbers)}' WHERE id % 5 = {chance.randint(0, 4)}",
            f"UPDATE a SET id = {chance.choice([-1, 1])} * {next(numbers)} WHERE id = {chance.randint(1, 12)}",
            f"DELETE FROM a WHERE id = {chance.randint(1, 12)}",
            f"INSERT INTO b VALUES (1, '{at}', {code}) ON CONFLICT (code, at) DO UPDATE SET v = b.v + 1",
            f"UPDATE b SET code = {code} WHERE code = {other} AND NOT EXISTS (SELECT FROM b WHERE code = {code})",
            f"DELETE FROM b WHERE code = {code}",
            f"INSERT INTO c (v) VALUES ({next(numbers)})",
            f"UPDATE c SET v = v + 1 WHERE v % 3 = {chance.randint(0, 2)}",
        ])  # fmt: skip

    def some(count: int) -> None:
        with psycopg.connect(postgres.conninfo) as connection:
            for _ in range(count):
                connection.execute(change().encode())
                if chance.random() < 0.6:
                    connection.commit()

    some(60)
    run = capture(max_batch_size="3")
    records = run.poll()  # the slot is made, which waits for all transactions to end
    with psycopg.connect(postgres.conninfo) as slow:
        slow.execute("INSERT INTO a VALUES (50, 'open all the while')")
        run.context.stopping.set()  # no poll waits
        for _ in range(14):
            for _ in range(chance.randint(1, 3)):
                records += run.poll()
            some(chance.randint(0, 4))
            run.poll(commit=False)
            run = run.again()
            run.context.stopping.set()
        slow.commit()
    run.context.stopping.clear()
    run = run.again()
    postgres.run("CREATE TABLE d (id int PRIMARY KEY)", "INSERT INTO d VALUES (1)")
    while records[-1].topic != "shop.public.d":
        records += run.read(1)
    assert followed(records) == held(postgres, a=("id",), b=("at", "code"), c=("id",), d=("id",)) | {
        "c": {(str(id),): {"id": str(id), "v": v} for id, v in postgres.rows("SELECT id, v FROM c")}
    }
    assert run.idle() == []


def test_a_connection_that_is_lost_in_the_snapshot_repeats_nothing(postgres: Database, capture: Capture) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t SELECT generate_series(1, 50)")
    run = capture(max_batch_size="5")
    records = run.poll()
    for _ in range(3):
        postgres.rows(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        with pytest.raises(RetriableError):
            while True:
                records += run.poll()
        records += run.read(1)
    records += run.read(50 - len(records))
    assert [record.key["id"] for record in records if record.key] == list(range(1, 51)) and run.idle() == []


def test_what_cannot_go_on_says_so(postgres: Database, capture: Capture) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t SELECT n, n FROM generate_series(1, 9) n")
    run = capture(max_batch_size="4")
    run.poll()
    run.stop()
    postgres.run("ALTER TABLE t DROP CONSTRAINT t_pkey", "ALTER TABLE t ADD PRIMARY KEY (id, v)")
    with pytest.raises(ConnectError, match=r"primary key of public\.t was changed while its snapshot was interrupted"):
        run.again().poll()
    run.stop()
    postgres.run(f"SELECT pg_drop_replication_slot('slot_{postgres.name}')")
    with pytest.raises(ConnectError, match="is gone, and with it the changes since"):
        run.again().poll()


@pytest.mark.parametrize(
    ("tables", "mode", "answer"),
    [
        (["CREATE TABLE t (id int PRIMARY KEY)"], "initial", True),
        (["CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int)"], "initial", False),
        (["CREATE TABLE u (id int)"], "never", True),
        (["CREATE TABLE t (id int PRIMARY KEY)"], "always", False),
        (
            ["CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL UNIQUE)",
             "ALTER TABLE t REPLICA IDENTITY USING INDEX t_n_key"], "initial", False,
        ),
    ],
    ids=["keyed", "keyless", "changes-only", "always", "other-identity"],
)  # fmt: skip
def test_it_says_whether_it_is_exactly_once(postgres: Database, tables: list[str], mode: str, answer: bool) -> None:
    postgres.run(*tables)
    config = PostgresCdc.config().parse(config_of(postgres, snapshot_mode=mode))
    assert PostgresCdc().exactly_once_support(config) is answer


def test_a_partitioned_table_is_one_topic(postgres: Database, capture: Capture) -> None:
    postgres.run(
        "CREATE TABLE t (id int PRIMARY KEY, v int) PARTITION BY RANGE (id)",
        "CREATE TABLE t_low PARTITION OF t FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE t_high PARTITION OF t FOR VALUES FROM (10) TO (20)",
        "INSERT INTO t VALUES (1, 0), (11, 0)",
    )
    run = capture(max_batch_size="1")
    records = run.poll()
    run = run.again()
    postgres.run("UPDATE t SET v = 1", "UPDATE t SET id = 12 WHERE id = 1")
    records += run.read(4)
    assert {record.topic for record in records} == {"shop.public.t"}
    assert followed(records + run.idle()) == held(postgres, t=("id",))


def test_transactions_that_a_snapshot_shows() -> None:
    view = View(f"{(5 << 32) + 10}:{(5 << 32) + 14}:{(5 << 32) + 11}", 1000)
    assert [number for number in range(8, 16) if view.shows(number, 999)] == [8, 9, 10, 12, 13]
    assert view.shows((1 << 32) - 1, 999)  # before the numbers began again
    assert not view.shows(8, 1000) and not View(None, 1000).shows(8, 1)


def test_a_truncation_that_only_a_part_of_the_table_has_seen_is_refused() -> None:
    views = Views([[None, 0, "public", "m", ["5"]], ["10:10:", 1000, None, None, None]], lambda *_: True)
    assert views.have_shown_all(9, 1, "public", "z") and not views.have_shown_all(9, 1, "public", "a")
    with pytest.raises(ConnectError, match=r"public\.m was truncated while its snapshot was interrupted"):
        views.have_shown_all(9, 1, "public", "m")
