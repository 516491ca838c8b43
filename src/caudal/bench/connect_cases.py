"""The cases of `caudal bench connect`: for each the connector's configuration, the peer's job, and how far both are.

Progress is seen from outside and alike for both: the ends of the topic's partitions, the files that are in place, the
rows that another connection sees. At the end what arrived is checked by count and by the sum of the ids.
"""

from __future__ import annotations

import json
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caudal.bench import connect_data as data
from caudal.bench.connect_postgres import Postgres
from caudal.bench.entry import BenchError

TOPICS = {"avro": "orders-avro", "json": "orders-json"}  # what sinks read; filled once
FILES = 8  # of each partition
Count = Callable[[], int]


@dataclass(slots=True)
class Site:
    """What all cases share."""

    bootstrap: str
    registry: str
    folder: Path
    postgres: Postgres | None
    records: int
    schema_id: int
    consumer: Any  # for looking at topics

    @property
    def database(self) -> Path:
        """The SQLite file that sources read."""
        return self.folder / "orders.db"

    @property
    def rows_of_a_file(self) -> int:
        return self.records // (FILES * data.PARTITIONS)

    def create_topic(self, name: str) -> None:
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for made in admin.create_topics([NewTopic(name, data.PARTITIONS, 1)]).values():
            made.result()

    def length(self, topic: str) -> int:
        from confluent_kafka import TopicPartition

        places = [TopicPartition(topic, partition) for partition in range(data.PARTITIONS)]
        return sum(self.consumer.get_watermark_offsets(place, 10)[1] for place in places)


@dataclass(frozen=True)
class Case(ABC):
    name: str
    title: str
    format: str
    is_goal: bool = False  # the rate of the issue is a target
    workers: int = 1  # tasks, and processes of the peer
    needs_postgres: bool = False

    unit = "rows/s"
    goal = 50_000

    @abstractmethod
    def prepare(self, site: Site, name: str) -> None:
        """Where the records of one attempt go."""

    @abstractmethod
    def connector(self, site: Site, name: str) -> dict[str, str]: ...

    def started(self, site: Site, name: str) -> None:  # noqa: B027  (most have nothing to do)
        """The connector's tasks run."""

    def jobs(self, site: Site, name: str) -> list[dict[str, Any]]:
        """For processes of the peer; none where there is no peer."""
        return []

    @abstractmethod
    def progress(self, site: Site, name: str) -> Count: ...

    @abstractmethod
    def check(self, site: Site, name: str) -> None:
        """Raises BenchError when anything is missing or there twice."""

    def converter(self, site: Site) -> dict[str, str]:
        if self.format == "avro":
            return {"value.converter": "Avro", "value.converter.schema.registry.url": site.registry}
        return {"value.converter": "Json", "value.converter.schemas.enable": "false",
                "value.converter.decimal.format": "NUMERIC"}  # fmt: skip


@dataclass(frozen=True)
class Source(Case):
    """SqlSource: a table that is full, from its first row to its last."""

    database: str = "sqlite"

    def topic(self, name: str) -> str:
        return f"{name}-{data.TABLE}"

    def prepare(self, site: Site, name: str) -> None:
        site.create_topic(self.topic(name))

    def connector(self, site: Site, name: str) -> dict[str, str]:
        url = f"sqlite:///{site.database}" if self.database == "sqlite" else _postgres(site).url
        return {
            "connector.class": "SqlSource", "connection.url": url, "mode": "incrementing",
            "incrementing.column.name": "id", "table.whitelist": data.TABLE, "topic.prefix": f"{name}-",
            **self.converter(site),
        }  # fmt: skip

    def jobs(self, site: Site, name: str) -> list[dict[str, Any]]:
        place = str(site.database) if self.database == "sqlite" else _postgres(site).conninfo
        job = {"from": self.database, "place": place, "format": self.format, "schema_id": site.schema_id}
        return [{**job, "bootstrap": site.bootstrap, "topic": self.topic(name)}]

    def progress(self, site: Site, name: str) -> Count:
        return lambda: site.length(self.topic(name))

    def check(self, site: Site, name: str) -> None:
        _expect(site.length(self.topic(name)), site.records, "records")


@dataclass(frozen=True)
class ChangeCapture(Source):
    """PostgresCdc: rows that are inserted while it runs, in one transaction. By hand nobody does it."""

    def topic(self, name: str) -> str:
        return f"{_plain(name)}.public.{self.table(name)}"

    def table(self, name: str) -> str:
        return _plain(name)

    def prepare(self, site: Site, name: str) -> None:
        super().prepare(site, name)
        data.fill_postgres(_postgres(site).conninfo, self.table(name), 0)

    def connector(self, site: Site, name: str) -> dict[str, str]:
        return {
            "connector.class": "PostgresCdc", "database.hostname": "127.0.0.1",
            "database.port": str(_postgres(site).port), "database.user": "postgres", "database.dbname": "postgres",
            "topic.prefix": _plain(name), "snapshot.mode": "never", "table.include.list": f"public.{self.table(name)}",
            "slot.name": self.table(name), "publication.name": self.table(name), "slot.drop.on.stop": "true",
            **self.converter(site), "key.converter": "Avro", "key.converter.schema.registry.url": site.registry,
        }  # fmt: skip

    def started(self, site: Site, name: str) -> None:
        postgres = _postgres(site)
        active = f"SELECT count(*) FROM pg_replication_slots WHERE active AND slot_name = '{self.table(name)}'"
        wait_for(lambda: postgres.number(active) > 0, "the replication slot")
        postgres.execute(f"INSERT INTO {self.table(name)} SELECT * FROM {data.TABLE} ORDER BY id")

    def jobs(self, site: Site, name: str) -> list[dict[str, Any]]:
        return []


@dataclass(frozen=True)
class Sink(Case):
    """A topic that is full, from its first record to its last."""

    def connector(self, site: Site, name: str) -> dict[str, str]:
        config = {"topics": TOPICS[self.format], "tasks.max": str(self.workers), **self.converter(site)}
        if self.format == "json":
            config["value.converter.schema.content"] = json.dumps(data.CONNECT)
        return config

    def jobs(self, site: Site, name: str) -> list[dict[str, Any]]:
        partitions = range(data.PARTITIONS)
        job = {"format": self.format, "bootstrap": site.bootstrap, "topic": TOPICS[self.format], "group": name}
        job |= self.target(site, name)
        shares = [list(partitions)[at :: self.workers] for at in range(self.workers)]
        return [
            {**job, "partitions": share, "count": site.records * len(share) // data.PARTITIONS}
            for share in shares
        ]  # fmt: skip

    @abstractmethod
    def target(self, site: Site, name: str) -> dict[str, Any]:
        """Where the peer writes to."""


@dataclass(frozen=True)
class ParquetSink(Sink):
    unit = "records/s"
    goal = 100_000

    def prepare(self, site: Site, name: str) -> None:
        (site.folder / name).mkdir()

    def connector(self, site: Site, name: str) -> dict[str, str]:
        return super().connector(site, name) | {
            "connector.class": "ObjectSink", "url": str(site.folder / name), "format": "parquet",
            "flush.size": str(site.rows_of_a_file),
        }  # fmt: skip

    def target(self, site: Site, name: str) -> dict[str, Any]:
        return {"to": "parquet", "place": str(site.folder / name), "rows_of_a_file": site.rows_of_a_file}

    def progress(self, site: Site, name: str) -> Count:
        return lambda: sum(1 for _ in (site.folder / name).rglob("*.parquet")) * site.rows_of_a_file

    def check(self, site: Site, name: str) -> None:
        import pyarrow.compute
        import pyarrow.parquet as pq

        ids = [pq.read_table(path, columns=["id"])["id"] for path in (site.folder / name).rglob("*.parquet")]
        _expect(sum(map(len, ids)), site.records, "rows")
        total = sum(pyarrow.compute.sum(each).as_py() for each in ids)
        _expect(total, data.sum_of_ids(site.records), "as the sum of the ids")


@dataclass(frozen=True)
class TableSink(Sink):
    """SqlSink, upsert."""

    database: str = "sqlite"

    def _path(self, site: Site, name: str) -> Path:
        return site.folder / f"{name}.db"

    def prepare(self, site: Site, name: str) -> None:
        if self.database == "sqlite":
            with closing(sqlite3.connect(self._path(site, name))) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(data.SQLITE_TABLE)
        else:
            _postgres(site).execute(f"DROP DATABASE IF EXISTS {_plain(name)}")
            _postgres(site).execute(f"CREATE DATABASE {_plain(name)}")
            data.fill_postgres(self._conninfo(site, name), data.TABLE, 0)

    def _conninfo(self, site: Site, name: str) -> str:
        return f"{_postgres(site).conninfo} dbname={_plain(name)}"

    def connector(self, site: Site, name: str) -> dict[str, str]:
        url = f"sqlite:///{self._path(site, name)}"
        if self.database != "sqlite":
            url = _postgres(site).url.rpartition("/")[0] + f"/{_plain(name)}"
        return super().connector(site, name) | {
            "connector.class": "SqlSink", "connection.url": url, "insert.mode": "upsert", "pk.mode": "record_value",
            "pk.fields": "id", "table.name.format": data.TABLE,
        }  # fmt: skip

    def target(self, site: Site, name: str) -> dict[str, Any]:
        place = str(self._path(site, name)) if self.database == "sqlite" else self._conninfo(site, name)
        return {"to": self.database, "place": place}

    def _ask(self, site: Site, name: str, query: str) -> int:
        if self.database == "sqlite":
            with closing(sqlite3.connect(self._path(site, name))) as connection:
                return int(connection.execute(query).fetchone()[0] or 0)
        import psycopg

        with psycopg.connect(self._conninfo(site, name)) as connection:
            found = connection.execute(query.encode()).fetchone()
            return int(found[0] or 0) if found else 0

    def progress(self, site: Site, name: str) -> Count:
        return lambda: self._ask(site, name, f"SELECT count(*) FROM {data.TABLE}")

    def check(self, site: Site, name: str) -> None:
        _expect(self._ask(site, name, f"SELECT count(*) FROM {data.TABLE}"), site.records, "rows")
        total = self._ask(site, name, f"SELECT sum(id) FROM {data.TABLE}")
        _expect(total, data.sum_of_ids(site.records), "as the sum of the ids")


CASES: tuple[Case, ...] = (
    Source("sqlite-avro", "SQLite → topic (Avro)", "avro", is_goal=True),
    Source("sqlite-json", "SQLite → topic (JSON)", "json", is_goal=True),
    Source(
        "postgres-avro", "PostgreSQL → topic (Avro)", "avro", is_goal=True, needs_postgres=True, database="postgres"
    ),
    ChangeCapture("cdc-avro", "PostgreSQL's changes → topic (Avro)", "avro", needs_postgres=True, database="postgres"),
    ParquetSink("avro-parquet", "topic (Avro) → Parquet, one task", "avro", is_goal=True),
    ParquetSink("avro-parquet-2", "topic (Avro) → Parquet, two tasks", "avro", is_goal=True, workers=2),
    ParquetSink("json-parquet", "topic (JSON) → Parquet, one task", "json", is_goal=True),
    TableSink("avro-sqlite", "topic (Avro) → SQLite", "avro"),
    TableSink("avro-postgres", "topic (Avro) → PostgreSQL", "avro", needs_postgres=True, database="postgres"),
)


def wait_for(is_so: Callable[[], bool], what: str, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise BenchError(f"{what} did not come within {seconds:.0f} s.")
        time.sleep(0.02)


def _plain(name: str) -> str:
    """As databases and Avro allow names."""
    return name.replace("-", "_")


def _postgres(site: Site) -> Postgres:
    assert site.postgres is not None
    return site.postgres


def _expect(found: int, wanted: int, what: str) -> None:
    if found != wanted:
        raise BenchError(f"{wanted:,} {what} were expected, {found:,} are there; nothing can be said of its speed.")
