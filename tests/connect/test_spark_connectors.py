"""Spark sources and sinks as connectors: Parquet → topic → Parquet and JDBC, each record once, whoever is killed."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow
import pyarrow.parquet
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from caudal import jars
from caudal.connect.connectors.spark.sink import SparkSink
from caudal.connect.connectors.spark.source import SparkSource
from caudal.connect.runtime.model import State
from caudal.pipelines.board import Board
from caudal.pipelines.reader import BoardFollower
from caudal.testing import EmbeddedBroker
from tests.connect.postgres import Database, postgres
from tests.connect.small_worker import SmallWorker
from tests.connect.task_harness import Bench, Heard, wait_for

__all__ = ["postgres"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

SMALL = {"spark.conf.spark.driver.memory": "512m", "spark.master": "local[2,4]"}
JSON = {"value.converter": "Json", "value.converter.schemas.enable": "true"}
LOG = "_spark_metadata"
PATIENCE = 500.0  # a JVM starts for every task


def until(question: Callable[[], Any], heard: Heard) -> None:
    """Fails at once when the task does."""

    def answered() -> Any:
        assert not heard.traces, heard.traces[-1]
        return question()

    wait_for(answered, f"it; the task was {heard.states}", PATIENCE)


@pytest.fixture
def bench(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(broker.bootstrap, tmp_path)
    yield made
    made.close()


_number = iter(range(1000))


@pytest.fixture
def topic(broker: EmbeddedBroker) -> str:
    name = f"rows{next(_number)}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(30)
    return name


def rows(first: int, end: int) -> list[dict[str, Any]]:
    return [{"id": at, "name": f"n{at}", "price": at / 4, "tags": ["a", str(at)]} for at in range(first, end)]


def put(folder: Path, first: int, end: int) -> None:
    """A file that appears at once, as Spark wants it."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pyarrow.Table.from_pylist(rows(first, end))
    pyarrow.parquet.write_table(table, folder / f".{first}.tmp")
    (folder / f".{first}.tmp").rename(folder / f"{first:06}.parquet")


def written(folder: Path) -> list[dict[str, Any]]:
    """What Spark's readers see: the files that its log names."""
    log = folder / LOG
    files: set[str] = set()
    for entry in sorted(log.glob("[0-9]*")) if log.exists() else ():
        for line in entry.read_text().splitlines()[1:]:
            files.add(Path(json.loads(line)["path"].removeprefix("file://")).name)
    found: list[dict[str, Any]] = []
    for path in folder.rglob("*.parquet"):
        if path.name in files:
            found += pyarrow.parquet.ParquetFile(path).read().to_pylist()
    return found


def source(folder: Path, topic: str, **more: str) -> dict[str, str]:
    return {
        "format": "parquet", "path": str(folder), "topic": topic, "schema": "id BIGINT, name STRING, price DOUBLE, "
        "tags ARRAY<STRING>", "spark.option.maxFilesPerTrigger": "1", "trigger": "100 milliseconds",
        "checkpoint.location": str(folder.parent / "checkpoint-source"), "key.column": "id", "key.converter": "Json",
        "key.converter.schemas.enable": "false", **SMALL, **JSON, **more,
    }  # fmt: skip


def sink(folder: Path, topic: str, **more: str) -> dict[str, str]:
    return {
        "format": "parquet", "path": str(folder), "topics": topic, "trigger": "100 milliseconds", **SMALL, **JSON,
        **more,
    }  # fmt: skip


def test_parquet_to_a_topic_to_parquet(bench: Bench, topic: str, tmp_path: Path) -> None:
    for first in range(0, 300, 100):
        put(tmp_path / "in", first, first + 100)
    with SmallWorker(SparkSource, bench.bootstrap, source(tmp_path / "in", topic, trigger="available now")) as worker:
        until(lambda: len(bench.records(topic)) == 300, worker.heard)
        assert worker.heard.topics == {topic}
    first = next(message for message in bench.records(topic) if message.key() == b"7")
    assert json.loads(first.value())["payload"] == rows(7, 8)[0]
    more = {"metadata.columns": "true", "partition.by": "kafka_partition"}
    board = BoardFollower({"bootstrap.servers": bench.bootstrap, "log_level": 0}).start()
    with SmallWorker(SparkSink, bench.bootstrap, sink(tmp_path / "out", topic, **more)) as worker:
        until(lambda: len(written(tmp_path / "out")) >= 300, worker.heard)
        (task,) = worker.tasks
        until(lambda: task.metrics().get("sink-record-send-total") == 300, worker.heard)
        until(lambda: seen_records(board.board) == {(topic,): 300}, worker.heard)
    until(lambda: seen_records(board.board) == {}, worker.heard)
    board.close()
    found = sorted(written(tmp_path / "out"), key=lambda row: int(row["id"]))
    assert [{name: row[name] for name in ("id", "name", "price", "tags")} for row in found] == rows(0, 300)
    assert {path.name for path in (tmp_path / "out").glob("kafka_partition=*")} == {
        "kafka_partition=0",
        "kafka_partition=1",
    }


def seen_records(board: Board) -> dict[tuple[str, ...], int]:
    """What the control center sees of connectors on Spark: the records of each, by the topics that it reads."""
    instances = [one.leader for one in board.pipelines(0) if one.leader.origin.get("kind") == "connect"]
    return {
        tuple(topic["name"] for topic in one.topology["topics"]): one.figures.get("records", 0) for one in instances
    }


def kill(running: Any) -> None:
    os.kill(running.pid, signal.SIGKILL)


def test_a_killed_source_writes_no_row_twice(bench: Bench, topic: str, tmp_path: Path) -> None:
    config = source(tmp_path / "in", topic)
    put(tmp_path / "in", 0, 50)
    for round in range(2):
        running, heard = bench.start("SparkSource", "killed-source", config)
        for at in range(round * 10 + 1, round * 10 + 11):
            put(tmp_path / "in", at * 50, at * 50 + 50)
        until(lambda at=round: len(bench.records(topic)) > at * 500 + 100, heard)  # type: ignore[misc]
        kill(running)
        heard.wait(State.FAILED)
        assert "SIGKILL" in heard.traces[0]
    running, heard = bench.start("SparkSource", "killed-source", config)
    until(lambda: len(bench.records(topic)) >= 21 * 50, heard)
    bench.stop(running)
    ids = Counter(json.loads(message.value())["payload"]["id"] for message in bench.records(topic))
    assert ids == Counter(range(21 * 50))


def produce(bootstrap: str, topic: str, first: int, end: int) -> None:
    schema = {
        "type": "struct", "optional": False, "fields": [
            {"field": "id", "type": "int64", "optional": False}, {"field": "name", "type": "string", "optional": True},
        ],
    }  # fmt: skip
    producer = Producer({"bootstrap.servers": bootstrap})
    for at in range(first, end):
        value = {"schema": schema, "payload": {"id": at, "name": f"n{at}"}}
        producer.produce(topic, json.dumps(value), b"%d" % at)
    producer.flush()


def killed_again_and_again(bench: Bench, topic: str, config: dict[str, str], count: Callable[[], int]) -> None:
    for round in range(2):
        running, heard = bench.start("SparkSink", f"killed-{topic}", config)
        produce(bench.bootstrap, topic, round * 1000, round * 1000 + 1000)
        until(lambda at=round: count() > at * 1000 + 100, heard)  # type: ignore[misc]
        kill(running)
        heard.wait(State.FAILED)
    running, heard = bench.start("SparkSink", f"killed-{topic}", config)
    produce(bench.bootstrap, topic, 2000, 2100)
    until(lambda: count() >= 2100, heard)
    bench.stop(running)
    assert not heard.traces


def test_a_killed_sink_writes_no_record_twice(bench: Bench, topic: str, tmp_path: Path) -> None:
    config = sink(tmp_path / "out", topic, **{"max.records.per.batch": "100"})
    killed_again_and_again(bench, topic, config, lambda: len(written(tmp_path / "out")))
    assert Counter(row["id"] for row in written(tmp_path / "out")) == Counter(range(2100))


def committed(checkpoint: Path) -> int:
    """How many records the query's batches have read that it has committed."""
    batches = [int(one.name) for one in (checkpoint / "commits").glob("[0-9]*")]
    if not batches:
        return 0
    ends = json.loads((checkpoint / "offsets" / str(max(batches))).read_text().splitlines()[-1])
    return sum(end for partitions in ends.values() for end in partitions.values())


def test_a_killed_jdbc_sink_writes_no_record_twice_and_a_source_reads_it(
    bench: Bench, topic: str, tmp_path: Path
) -> None:
    """Derby comes with Spark. It belongs to one process at a time, so it is read through a Spark source."""
    url = f"jdbc:derby:{tmp_path / 'db'};create=true"
    jdbc = {
        "format": "jdbc", "path": "", "spark.option.url": url, "spark.option.dbtable": "sold",
        "spark.option.driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
    }  # fmt: skip
    config = sink(tmp_path, topic, **jdbc, **{"max.records.per.batch": "100"})
    del config["path"]
    config["checkpoint.location"] = str(tmp_path / "checkpoint")
    for round in range(2):
        running, heard = bench.start("SparkSink", "killed-jdbc", config)
        produce(bench.bootstrap, topic, round * 1000, round * 1000 + 1000)
        until(lambda at=round: committed(tmp_path / "checkpoint") > at * 1000 + 200, heard)  # type: ignore[misc]
        kill(running)
        heard.wait(State.FAILED)
        assert "SIGKILL" in heard.traces[0], heard.traces
    running, heard = bench.start("SparkSink", "killed-jdbc", config)
    until(lambda: committed(tmp_path / "checkpoint") == 2000, heard)
    bench.stop(running)
    assert not heard.traces, heard.traces
    read = {**source(tmp_path, f"{topic}-back"), **jdbc, "incrementing.column": "id", "trigger": "available now"}
    for name in ("path", "schema", "checkpoint.location"):
        del read[name]
    read["max.rows.per.batch"] = "300"
    running, heard = bench.start("SparkSource", "read-jdbc", read)
    until(lambda: f"{topic}-back" in heard.topics and len(bench.records(f"{topic}-back")) >= 2000, heard)
    bench.stop(running)
    assert not heard.traces, heard.traces
    found = [json.loads(message.value())["payload"] for message in bench.records(f"{topic}-back")]
    assert Counter(row["id"] for row in found) == Counter(range(2000))


def test_a_killed_sink_to_postgresql_writes_no_record_twice_and_a_source_reads_it(
    bench: Bench, topic: str, postgres: Database, tmp_path: Path
) -> None:
    """The driver is a jar that the connector names. Killed in the middle of a batch: while PostgreSQL holds it up."""
    jdbc = {
        "format": "jdbc", "spark.option.url": postgres.jdbc_url, "spark.option.user": "postgres",
        "spark.option.dbtable": "sold", "spark.option.driver": "org.postgresql.Driver",
        "spark.conf.spark.jars": str(jars.fetch("postgresql-jdbc")[0]),
    }  # fmt: skip
    config = sink(tmp_path, topic, **jdbc, **{"max.records.per.batch": "100"})
    del config["path"]
    config["checkpoint.location"] = str(tmp_path / "checkpoint")
    produce(bench.bootstrap, topic, 0, 300)
    running, heard = bench.start("SparkSink", "killed-postgres", config)
    until(lambda: committed(tmp_path / "checkpoint") == 300, heard)
    with psycopg.connect(postgres.conninfo) as connection:
        connection.execute("LOCK TABLE sold IN EXCLUSIVE MODE")  # the move from the stage waits for it
        produce(bench.bootstrap, topic, 300, 400)
        waiting = "SELECT 1 FROM pg_locks JOIN pg_class c ON c.oid = relation WHERE relname = 'sold' AND NOT granted"
        until(lambda: postgres.rows(waiting), heard)
        kill(running)
        heard.wait(State.FAILED)
    running, heard = bench.start("SparkSink", "killed-postgres", config)
    until(lambda: committed(tmp_path / "checkpoint") == 400, heard)
    bench.stop(running)
    assert postgres.rows("SELECT count(*), count(DISTINCT id) FROM sold") == [(400, 400)]
    read = {**source(tmp_path, f"{topic}-back"), **jdbc, "incrementing.column": "id", "trigger": "available now"}
    for name in ("path", "schema", "checkpoint.location"):
        del read[name]
    running, heard = bench.start("SparkSource", "read-postgres", read)
    until(lambda: f"{topic}-back" in heard.topics and len(bench.records(f"{topic}-back")) >= 400, heard)
    bench.stop(running)
    found = [json.loads(message.value())["payload"] for message in bench.records(f"{topic}-back")]
    assert Counter(row["id"] for row in found) == Counter(range(400))


def test_a_new_field_becomes_a_new_column(bench: Bench, topic: str, tmp_path: Path) -> None:
    produce(bench.bootstrap, topic, 0, 20)
    config = sink(tmp_path / "out", topic)
    with SmallWorker(SparkSink, bench.bootstrap, config) as worker:
        until(lambda: len(written(tmp_path / "out")) == 20, worker.heard)
        schema = {
            "type": "struct", "optional": False, "fields": [
                {"field": "id", "type": "int64", "optional": False},
                {"field": "weight", "type": "double", "optional": True},
            ],
        }  # fmt: skip
        bench.produce(topic, [{"schema": schema, "payload": {"id": 20, "weight": 0.5}}])
        until(lambda: len(written(tmp_path / "out")) == 21, worker.heard)
    (last,) = [row for row in written(tmp_path / "out") if row["id"] == 20]
    assert last == {"id": 20, "name": None, "weight": 0.5}


def test_failures_are_told_in_one_sentence(bench: Bench, topic: str, tmp_path: Path) -> None:
    bench.produce(topic, [{"no": "schema"}])
    _, heard = bench.start("SparkSink", "no-schema", sink(tmp_path / "out", topic, **{"value.converter": "Json"}))
    wait_for(lambda: heard.traces, "a failure", PATIENCE)
    assert "schema" in heard.traces[0]
    _, heard = bench.start("SparkSource", "no-format", source(tmp_path / "in", topic, format="nosuch"))
    wait_for(lambda: heard.traces, "a failure", PATIENCE)
    assert "nosuch" in heard.traces[0]
