"""From one database to another through a topic, with real tasks in processes that are killed on the way."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from caudal.connect.runtime.model import State
from caudal.connect.runtime.tasks.process_host import TaskProcess
from caudal.testing import EmbeddedBroker
from tests.connect.postgres import Database, postgres
from tests.connect.task_harness import Bench, wait_for

__all__ = ["postgres"]
SCHEMAS = {"key.converter": "Json", "value.converter": "Json",
           "key.converter.schemas.enable": "true", "value.converter.schemas.enable": "true"}  # fmt: skip


@pytest.fixture
def bench(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(broker.bootstrap, tmp_path)
    yield made
    made.close()


def killed_after(bench: Bench, kind: str, name: str, config: dict[str, str], seen: int, look: object) -> None:
    """A task is killed as soon as it has brought something new."""
    task, heard = bench.start(kind, name, config)
    assert isinstance(task, TaskProcess) and callable(look)
    heard.wait(State.RUNNING)
    wait_for(lambda: look() > seen, "something new")
    os.kill(task.pid, signal.SIGKILL)
    heard.wait(State.FAILED)


def test_a_table_is_copied_exactly_once_although_both_tasks_are_killed(
    bench: Bench, broker: EmbeddedBroker, postgres: Database
) -> None:
    postgres.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer text NOT NULL, amount numeric(8, 2), at timestamptz)",
        "INSERT INTO orders SELECT n, 'c' || n, n / 4.0, '2024-01-01Z' FROM generate_series(1, 20000) n",
    )
    broker.create_topic("db-orders", 3)
    source = {
        "connection.url": postgres.url, "mode": "incrementing", "incrementing.column.name": "id", "topic.prefix": "db-",
        "tables": '[["public", "orders"]]', "batch.max.rows": "500", "poll.interval.ms": "10",
        "exactly.once.support": "required", **SCHEMAS,
    }  # fmt: skip
    for _ in range(3):
        killed_after(
            bench, "SqlSource", "orders-in", source, bench.length("db-orders"), lambda: bench.length("db-orders")
        )
    reader, heard = bench.start("SqlSource", "orders-in", source)
    heard.wait(State.RUNNING)

    sink = {
        "connection.url": postgres.url, "topics": "db-orders", "auto.create": "true", "table.name.format": "copied",
        "consumer.override.isolation.level": "read_committed", **SCHEMAS,
    }  # fmt: skip

    def copied() -> int:
        if not postgres.rows("SELECT 1 FROM pg_class WHERE relname = 'copied'"):
            return 0
        return int(postgres.rows("SELECT count(*) FROM copied")[0][0])

    for _ in range(3):
        killed_after(bench, "SqlSink", "orders-out", sink, copied(), copied)
    writer, heard = bench.start("SqlSink", "orders-out", sink)
    heard.wait(State.RUNNING)
    wait_for(lambda: copied() >= 20000, "all rows")
    postgres.run("INSERT INTO orders VALUES (20001, 'the last', 1, date_trunc('second', now()))")
    wait_for(lambda: copied() >= 20001, "the last row")
    bench.stop(reader)
    bench.stop(writer)
    assert postgres.rows("SELECT count(*), count(DISTINCT id), sum(amount) FROM copied") == postgres.rows(
        "SELECT count(*), count(DISTINCT id), sum(amount) FROM orders"
    )
    assert postgres.rows("SELECT * FROM copied EXCEPT SELECT * FROM orders") == []


def test_changes_are_captured_once_although_the_task_is_killed(
    bench: Bench, broker: EmbeddedBroker, postgres: Database
) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t SELECT generate_series(1, 10)")
    topic = "cdc.public.t"
    broker.create_topic(topic, 1)
    config = {
        "database.hostname": "127.0.0.1", "database.port": str(postgres.server.port), "database.user": "postgres",
        "database.dbname": postgres.name, "topic.prefix": "cdc", "slot.name": f"slot_{postgres.name}",
        "max.batch.size": "300", "exactly.once.support": "required", **SCHEMAS,
    }  # fmt: skip
    task, heard = bench.start("PostgresCdc", "cdc", config)
    heard.wait(State.RUNNING)
    wait_for(lambda: len(bench.values(topic)) == 10, "the snapshot")
    bench.stop(task)
    postgres.run(*(f"INSERT INTO t SELECT generate_series({n}, {n + 1999})" for n in range(11, 10011, 2000)))
    for _ in range(3):
        killed_after(bench, "PostgresCdc", "cdc", config, bench.length(topic), lambda: bench.length(topic))
    task, heard = bench.start("PostgresCdc", "cdc", config)
    heard.wait(State.RUNNING)
    wait_for(lambda: len(bench.values(topic)) >= 10010, "all changes")
    bench.stop(task)
    numbers = [one["payload"]["after"]["id"] for one in bench.values(topic)]
    assert numbers == list(range(1, 10011))
