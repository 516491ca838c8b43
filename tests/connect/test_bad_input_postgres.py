"""What goes wrong around PostgreSQL: credentials, permissions, tables that change, slots that are lost or in use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from caudal.connect.connectors.postgres_cdc.cdc import PostgresCdc
from caudal.connect.connectors.sql.sink import SqlSink
from caudal.connect.connectors.sql.source import SqlSource
from caudal.connect.errors import ConnectError, RetriableError
from caudal.connect.runtime.model import State
from caudal.testing import EmbeddedBroker, embedded_broker
from tests.connect.postgres import Database, postgres
from tests.connect.task_harness import Bench
from tests.connect.test_postgres_cdc import Capture, capture, config_of
from tests.connect.test_sql_postgres import Sink, Source, order, sink, source, source_config

__all__ = ["capture", "postgres", "sink", "source"]


@pytest.fixture
def reader(postgres: Database) -> Iterator[str]:
    """A user with a password, who may do nothing."""
    name = f"reader_{postgres.name}"
    postgres.run(f"CREATE ROLE {name} LOGIN PASSWORD 'geheim'")
    yield name
    postgres.run(f"DROP OWNED BY {name}", f"DROP ROLE {name}")


@pytest.mark.parametrize("kind", ["source", "sink", "capture"])
@pytest.mark.parametrize(
    ("user", "words"), [("nobody_at_all", 'role "nobody_at_all" does not exist'), ("", "refused|cannot be reached")]
)
def test_the_validation_names_who_is_not_let_in(postgres: Database, kind: str, user: str, words: str) -> None:
    port = postgres.server.port if user else 1
    url = f"postgresql://{user or 'postgres'}@127.0.0.1:{port}/{postgres.name}"
    cls: Any
    given: dict[str, str]
    match kind:
        case "source":
            cls, given, key = SqlSource, {**source_config(postgres), "connection.url": url}, "connection.url"
            given["connection.user"] = user or "postgres"
        case "sink":
            cls, given, key = SqlSink, {"connection.url": url}, "connection.url"
        case _:
            cls, key = PostgresCdc, "database.hostname"
            given = config_of(postgres, database_user=user or "postgres", database_port=str(port))
    errors = cls.check(cls.config().parse(given))
    assert list(errors) == [key]
    assert any(part in errors[key][0] for part in words.split("|")), errors


def test_a_table_that_may_not_be_read_or_written_is_said(
    postgres: Database, source: Source, sink: Sink, reader: str
) -> None:
    postgres.run("CREATE TABLE orders (id bigint PRIMARY KEY, customer text, amount numeric)")
    reading = source(table_whitelist="orders", connection_user=reader)
    with pytest.raises(ConnectError, match="permission denied for table orders") as failure:
        reading.poll()
    assert not isinstance(failure.value, RetriableError)
    postgres.run(f"GRANT CREATE ON SCHEMA public TO {reader}", f"GRANT SELECT ON orders TO {reader}")
    task, context = sink(tolerates=True, connection_user=reader)
    with pytest.raises(RetriableError, match="The table orders cannot be written: permission denied"):
        task.put([order(0, 1)])
    with pytest.raises(ConnectError, match="permission denied for table orders"):
        task.put([order(0, 1)])
    assert context.reported == []  # no record's fault


def test_who_may_not_replicate_is_told(postgres: Database, capture: Capture, reader: str) -> None:
    run = capture(database_user=reader, publication_autocreate_mode="disabled", publication_name="p")
    postgres.run("CREATE PUBLICATION p FOR ALL TABLES")
    with pytest.raises(ConnectError, match=r"REPLICATION attribute|permission denied"):
        run.poll()


READ: dict[str, tuple[list[str], dict[str, Any] | str]] = {
    "wider type": (["ALTER TABLE t ALTER v TYPE bigint", "INSERT INTO t VALUES (2, 5000000000)"],
                   {"id": 2, "v": 5_000_000_000}),
    "other type": (["ALTER TABLE t ALTER v TYPE text", "INSERT INTO t VALUES (2, 'x')"], {"id": 2, "v": "x"}),
    "renamed column": (["ALTER TABLE t RENAME v TO w", "INSERT INTO t VALUES (2, 3)"], {"id": 2, "w": 3}),
    "dropped and made again": (["DROP TABLE t", "CREATE TABLE t (id int PRIMARY KEY, x text)",
                                "INSERT INTO t VALUES (2, 'y')"], {"id": 2, "x": "y"}),
    "column and default": (["ALTER TABLE t ADD w int NOT NULL DEFAULT 7", "INSERT INTO t VALUES (2, 3)"],
                           {"id": 2, "v": 3, "w": 7}),
    "renamed": (["ALTER TABLE t RENAME TO u", "INSERT INTO u VALUES (2, 3)"], "does not exist"),
    "dropped": (["DROP TABLE t"], "does not exist"),
}  # fmt: skip


@pytest.mark.parametrize("change", READ)
def test_a_table_that_changes_while_it_is_read(
    postgres: Database, source: Source, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr("caudal.connect.connectors.sql.reading._LOOK_SECONDS", 0.0)
    statements, expected = READ[change]
    postgres.run("CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1)")
    run = source(table_whitelist="t")
    run.read(1)
    postgres.run(*statements)
    if isinstance(expected, str):
        with pytest.raises(ConnectError, match=expected):
            run.idle(5)
    else:
        assert [one.value for one in run.read(1)] == [expected]


@pytest.mark.parametrize("change", READ)
def test_a_table_that_changes_while_its_changes_are_captured(postgres: Database, capture: Capture, change: str) -> None:
    """Also while nobody is there to see it: the log tells the shape of each change."""
    statements, expected = READ[change]
    postgres.run("CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1)")
    run = capture()
    run.read(1)
    postgres.run("INSERT INTO t VALUES (5, 5)", *statements, "CREATE TABLE last (id int PRIMARY KEY)",
                 "INSERT INTO last VALUES (9)")  # fmt: skip
    rows: list[tuple[str, Any]] = []
    while not rows or rows[-1][0] != "shop.public.last":
        rows += [(one.topic, one.value["after"]) for one in run.read(1)]
    assert rows[0] == ("shop.public.t", {"id": 5, "v": 5})
    if change == "renamed":
        expected = {"id": 2, "v": 3}
    topic = "shop.public.u" if change == "renamed" else "shop.public.t"
    assert rows[1:-1] == ([] if isinstance(expected, str) else [(topic, expected)])


def test_a_slot_that_another_holds_is_waited_for_and_then_said(postgres: Database, capture: Capture) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY)")
    first = capture(snapshot_mode="never")
    first.idle(1)
    second = capture(first.offsets, snapshot_mode="never", errors_max_retries="2")
    for _ in range(2):
        with pytest.raises(RetriableError, match="is active for PID"):
            second.poll()
    with pytest.raises(ConnectError, match=r"is active for PID.*Tried 3 times \(errors.max.retries\)") as failure:
        second.poll()
    assert not isinstance(failure.value, RetriableError)
    first.stop()
    postgres.run("INSERT INTO t VALUES (1)")
    third = capture(first.offsets, snapshot_mode="never")
    assert [one.key for one in third.read(1)] == [{"id": 1}]


def test_a_slot_whose_log_is_lost_is_said(postgres: Database, capture: Capture) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    run = capture()
    run.read(1)
    offsets = run.offsets
    run.stop()
    postgres.run("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'", "SELECT pg_reload_conf()")
    try:
        slot = f"SELECT wal_status FROM pg_replication_slots WHERE slot_name = 'slot_{postgres.name}'"
        while postgres.rows(slot) != [("lost",)]:
            postgres.run("SELECT pg_logical_emit_message(false, 'x', 'x')", "SELECT pg_switch_wal()", "CHECKPOINT")
        with pytest.raises(ConnectError, match="is lost: the server has removed log that it needed"):
            capture(offsets).poll()
        errors = PostgresCdc.check(PostgresCdc.config().parse(config_of(postgres)))
        assert "is lost" in errors["slot.name"][0]
    finally:
        postgres.run("ALTER SYSTEM RESET max_slot_wal_keep_size", "SELECT pg_reload_conf()")


def test_a_server_that_does_not_come_back_fails_the_tasks(postgres: Database, capture: Capture, source: Source) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    captured = capture(errors_max_retries="1")
    read = source(table_whitelist="t", connection_attempts="2")
    captured.read(1)
    read.read(1)
    postgres.server.stop()
    try:
        for run in (captured, read):
            with pytest.raises(RetriableError):
                run.poll()
            with pytest.raises(ConnectError, match=r"cannot be reached.*Tried 2 times") as failure:
                run.poll()
            assert not isinstance(failure.value, RetriableError)
    finally:
        postgres.server.start()


def test_the_status_shows_what_is_wrong(postgres: Database, tmp_path: Path) -> None:
    """A whole task in its process: FAILED, with one sentence at the end of its trace; no password in it."""
    with embedded_broker() as broker:
        assert isinstance(broker, EmbeddedBroker)
        bench = Bench(broker.bootstrap, tmp_path)
        config = {**source_config(postgres), "connection.attempts": "1", "connection.password": "geheim",
                  "connection.user": "nobody_at_all", "tables": '[["public", "t"]]'}  # fmt: skip
        try:
            _, heard = bench.start("SqlSource", "denied", config)
            heard.wait(State.FAILED)
        finally:
            bench.close()
    assert 'role "nobody_at_all" does not exist' in heard.traces[0] and "geheim" not in heard.traces[0]
