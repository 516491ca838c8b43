"""SqlSink: records as rows of a database's tables, exactly once: the offsets are kept in the same transaction.

Property names are those of Confluent's JDBC sink. Tables are made and widened from the records' schemas where asked.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import exc

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, as_text, config_def
from caudal.connect.connector import SinkConnector, SinkTask
from caudal.connect.connectors.sql.columns import zone_of
from caudal.connect.connectors.sql.database import CONNECTION_KEYS, Database
from caudal.connect.connectors.sql.offset_table import OFFSETS_TABLE, OffsetTable
from caudal.connect.connectors.sql.tables import TableName
from caudal.connect.connectors.sql.writing import TableWriter
from caudal.connect.errors import ConfigError, ConnectError, RetriableError
from caudal.connect.records import SinkRecord, TopicPartition

_LOG = logging.getLogger(__name__)
_NEVER = 1 << 63

_KEYS = config_def(
    CONNECTION_KEYS,
    Key(name="insert.mode", default="insert", choices=("insert", "upsert", "update"), importance=Importance.HIGH,
        group="Writes", order=1, doc="insert: every record is a new row. upsert: the row of its key, new or changed. "
                                     "update: only rows that are there."),
    Key(name="batch.size", type=Type.INT, default=3000, minimum=1, group="Writes", order=2,
        doc="Records that go to the database in one statement, at most."),
    Key(name="delete.enabled", type=Type.BOOLEAN, default=False, group="Writes", order=3,
        doc="Whether a record without value deletes the row of its key. Needs pk.mode=record_key."),
    Key(name="table.name.format", default="${topic}", group="Data mapping", order=1,
        doc="The table's name; ${topic} is the topic. What stands before a dot is the schema."),
    Key(name="pk.mode", default="none", choices=("none", "kafka", "record_key", "record_value"),
        importance=Importance.HIGH, group="Data mapping", order=2,
        doc="Where the primary key comes from: nowhere, topic, partition and offset, the record's key, or its value."),
    Key(name="pk.fields", type=Type.LIST, default=[], group="Data mapping", order=3,
        doc="Names of the key's columns: of the three for pk.mode=kafka, else of the fields to take (all, if empty)."),
    Key(name="fields.whitelist", type=Type.LIST, default=[], group="Data mapping", order=4,
        doc="Fields of the value to write; all, if empty. The key's are written in any case."),
    Key(name="auto.create", type=Type.BOOLEAN, default=False, group="DDL", order=1,
        doc="Whether a table that is missing is made from the record's schema."),
    Key(name="auto.evolve", type=Type.BOOLEAN, default=False, group="DDL", order=2,
        doc="Whether columns that are missing are added; they must be optional or have a default."),
    Key(name="max.retries", type=Type.INT, default=10, minimum=0, group="Retries", order=1,
        doc="How often in a row a write is repeated while the database is away, before the task fails."),
    Key(name="retry.backoff.ms", type=Type.INT, default=3000, minimum=0, group="Retries", order=2,
        doc="The pause before a write is repeated."),
    Key(name="offsets.table", default=OFFSETS_TABLE, importance=Importance.LOW, group="Writes", order=4,
        doc="The table that keeps the offsets, in the same transaction as the rows. Empty: there is none, and rows are "
            "written at least once."),
)  # fmt: skip


class SqlSinkTask(SinkTask):
    isolation = "process"

    def start(self, config: dict[str, Any]) -> None:
        self._config = config
        self._database = Database(config, writes=True)
        self._zone = zone_of(config["db.timezone"])
        self._writers: dict[str, TableWriter] = {}
        self._offsets: OffsetTable | None = None
        if config["offsets.table"]:
            name = self.context.config.get("name", "")
            self._offsets = OffsetTable(self._database, config["offsets.table"], name)
        self._next: dict[TopicPartition, int] = {}
        self._unclaimed: set[TopicPartition] = set()
        self._reported: set[tuple[str, int, int]] = set()
        self._is_uncertain = False
        self._failures = 0

    def open(self, partitions: set[TopicPartition]) -> None:
        self._unclaimed |= partitions
        try:
            self._claim()
        except RetriableError as error:
            # The first `put` does it then, and goes back to where the database stands.
            _LOG.warning("%s", error)

    def close(self, partitions: set[TopicPartition]) -> None:
        for partition in partitions:
            self._next.pop(partition, None)
            self._unclaimed.discard(partition)
        if self._offsets is not None:
            self._offsets.release(partitions)

    def stop(self) -> None:
        if hasattr(self, "_database"):
            self._database.close()

    def put(self, records: Sequence[SinkRecord]) -> None:
        if not records:
            return
        try:
            left_out = self._claim()
            if self._is_uncertain and self._offsets is not None:
                self._next.update(self._offsets.current())
            self._is_uncertain = False
            self._write(self._unseen(records, left_out))
        except ConnectError as error:
            self._database.end()
            if not isinstance(error, RetriableError):
                raise
            self._retry(error)
        except (exc.SQLAlchemyError, self._database.dialect.loaded_dbapi.Error) as error:
            self._is_uncertain = True
            for writer in self._writers.values():
                writer.forget()
            translated = self._database.translated(error)
            self._database.discard()
            if not isinstance(translated, RetriableError):
                raise translated from error
            self._retry(translated)
        self._failures = 0
        self._reported.clear()

    def _retry(self, error: RetriableError) -> None:
        self._is_uncertain = True
        self._failures += 1
        if self._failures > self._config["max.retries"]:
            raise ConnectError(f"{error} Tried {self._failures} times (max.retries).") from error
        self.context.retry_after(self._config["retry.backoff.ms"] / 1000)
        raise error

    def _claim(self) -> set[TopicPartition]:
        """The partitions that had to be claimed now: their records come again, from where the database stands."""
        if not self._unclaimed or self._offsets is None:
            return set()
        self._offsets.make()
        claimed = set(self._unclaimed)
        found = self._offsets.claim(claimed)
        self._unclaimed.clear()
        self._next.update(found)
        if found:
            self.context.seek(found)
        return set(found)

    def _unseen(self, records: Sequence[SinkRecord], left_out: set[TopicPartition]) -> list[SinkRecord]:
        """Without those that were written before, which come again after a rebalance or a commit of unknown end."""
        found = []
        known, first = None, 0
        for record in records:
            topic, partition, offset = record.original or (record.topic, record.partition, record.offset)
            if known != (topic, partition):
                known = TopicPartition(topic, partition)
                first = _NEVER if known in left_out else self._next.get(known, 0)
            if offset >= first:
                found.append(record)
        return found

    def _write(self, records: Sequence[SinkRecord]) -> None:
        if not records:
            return
        topics: dict[str, list[SinkRecord]] = {}
        following: dict[tuple[str, int], int] = {}
        for record in records:
            some = topics.get(record.topic)
            if some is None:
                some = topics[record.topic] = []
            some.append(record)
            topic, partition, offset = record.original or (record.topic, record.partition, record.offset)
            following[topic, partition] = offset + 1
        batches = [
            (writer := self._writer(topic), writer.segments(some, self._report)) for topic, some in topics.items()
        ]
        ends = {TopicPartition(*place): offset for place, offset in following.items()}
        connection = self._database.connection()
        with connection.begin():
            for writer, segments in batches:
                writer.write(connection, segments, self._report)
            if self._offsets is not None:
                self._offsets.store(connection, ends)
        self._next.update(ends)

    def _writer(self, topic: str) -> TableWriter:
        found = self._writers.get(topic)
        if found is None:
            schema, dot, name = self._config["table.name.format"].rpartition(".")
            table = TableName(schema.replace("${topic}", topic) if dot else None, name.replace("${topic}", topic))
            found = self._writers[topic] = TableWriter(self._database, self._config, table, self._zone)
        return found

    def _report(self, record: SinkRecord, error: Exception) -> None:
        """Once, also when the batch is written again."""
        place = record.original or (record.topic, record.partition, record.offset)
        if place not in self._reported:
            self.context.report_error(record, error)
            self._reported.add(place)


class SqlSink(SinkConnector):
    """Tables of PostgreSQL and SQLite; plain inserts and updates also elsewhere."""

    task = SqlSinkTask
    aliases = ("io.confluent.connect.jdbc.JdbcSinkConnector", "JdbcSinkConnector", "JdbcSink")
    delivery = "exactly once"

    @classmethod
    def config(cls) -> ConfigDef:
        return _KEYS

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        errors: dict[str, list[str]] = {}
        mode, key = config["insert.mode"], config["pk.mode"]
        if mode != "insert" and key == "none":
            errors["pk.mode"] = [f"insert.mode={mode} needs a key: kafka, record_key or record_value."]
        if config["delete.enabled"] and key != "record_key":
            errors.setdefault("delete.enabled", []).append(
                "Only records' keys tell what to delete: pk.mode=record_key."
            )
        if key == "kafka" and len(config["pk.fields"]) not in (0, 3):
            errors["pk.fields"] = ["pk.mode=kafka needs three names, for topic, partition and offset, or none."]
        try:
            zone_of(config["db.timezone"])
        except ValueError as error:
            errors["db.timezone"] = [str(error)]
        if errors:
            return errors
        try:
            database = Database({**config, "connection.attempts": 1}, writes=True)
        except ConfigError as error:
            return {error.key or "connection.url": [str(error)]}
        try:
            database.connection()
        except ConnectError as error:
            return {"connection.url": [str(error)]}
        finally:
            database.close()
        return {}

    def start(self, config: dict[str, Any]) -> None:
        self._config = config

    def task_configs(self, most: int) -> list[dict[str, str]]:
        shared = {name: text for name, value in self._config.items() if (text := as_text(value)) is not None}
        return [{**shared, "name": self.name} for _ in range(most)]

    def alter_offsets(self, offsets: Mapping[TopicPartition, int | None]) -> bool:
        if not self._config["offsets.table"]:
            return False
        database = Database(self._config, writes=True)
        try:
            table = OffsetTable(database, self._config["offsets.table"], self.name)
            table.make()
            table.alter(offsets)
        finally:
            database.close()
        return True
