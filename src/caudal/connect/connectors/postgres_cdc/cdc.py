"""PostgresCdc: the changes of PostgreSQL's tables as records, after a snapshot, by logical replication.

Property names, topics and envelopes are Debezium's; times and decimals are Kafka Connect's logical types. The server
keeps its log until the offsets of what was read are stored (`commit`), so nothing is lost while the task is away.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def, matches
from caudal.connect.connector import SourceConnector, SourceTask
from caudal.connect.connectors.postgres_cdc.catalogue import Catalogue, is_included, parameters, place
from caudal.connect.connectors.postgres_cdc.changes import Changes
from caudal.connect.connectors.postgres_cdc.envelope import CapturedTable
from caudal.connect.connectors.postgres_cdc.pgoutput import Relation, lsn_text
from caudal.connect.connectors.postgres_cdc.replication import ReplicationConnection
from caudal.connect.connectors.postgres_cdc.snapshot import Snapshot
from caudal.connect.connectors.sql.columns import UTC
from caudal.connect.connectors.sql.columns import Mapping as TypeMapping
from caudal.connect.data import INT64, STRING, struct
from caudal.connect.errors import ConnectError, RetriableError
from caudal.connect.records import SourceRecord

_LOG = logging.getLogger(__name__)
_HEARTBEAT_KEY = struct("io.debezium.connector.common.ServerNameKey", serverName=STRING)
_HEARTBEAT = struct("io.debezium.connector.common.Heartbeat", ts_ms=INT64)
_PATIENCE = 0.002  # seconds
_SNAPSHOT_MODES = ("initial", "initial_only", "only", "always", "never", "no_data")

_KEYS = config_def(
    Key(name="database.hostname", importance=Importance.HIGH, group="Postgres", order=1, doc="Host of the server."),
    Key(name="database.port", type=Type.INT, default=5432, importance=Importance.HIGH, group="Postgres", order=2,
        minimum=1, maximum=65535, doc="Port of the server."),
    Key(name="database.user", importance=Importance.HIGH, group="Postgres", order=3,
        doc="A user with REPLICATION, who may read the tables."),
    Key(name="database.password", type=Type.PASSWORD, default=None, importance=Importance.HIGH, group="Postgres",
        order=4, doc="The user's password."),
    Key(name="database.dbname", importance=Importance.HIGH, group="Postgres", order=5, doc="Name of the database."),
    Key(name="database.sslmode", default="prefer", importance=Importance.MEDIUM, group="Postgres", order=6,
        choices=("disable", "allow", "prefer", "require", "verify-ca", "verify-full"), doc="As libpq's sslmode."),
    Key(name="topic.prefix", importance=Importance.HIGH, group="Connector", order=1,
        validator=matches(r"[A-Za-z0-9._-]+", "letters, digits, dots, hyphens and underscores"),
        doc="First part of the topics' names (prefix.schema.table), and the name of the offsets' partition."),
    Key(name="plugin.name", default="pgoutput", choices=("pgoutput",), group="Postgres", order=7,
        doc="The logical decoding plug-in."),
    Key(name="slot.name", default="debezium", group="Postgres", order=8,
        validator=matches(r"[a-z0-9_]{1,63}", "lower-case letters, digits and underscores, at most 63"),
        doc="The replication slot; one for each connector."),
    Key(name="slot.drop.on.stop", type=Type.BOOLEAN, default=False, importance=Importance.LOW, group="Postgres",
        order=9, doc="For trials: the slot goes when the task stops, and with it the changes in between."),
    Key(name="publication.name", default="dbz_publication", group="Postgres", order=10,
        doc="The publication that says which tables are sent."),
    Key(name="publication.autocreate.mode", default="all_tables", choices=("all_tables", "disabled", "filtered"),
        group="Postgres", order=11,
        doc="Whether a missing publication is made: for all tables (a superuser may), for those of the lists, or not."),
    Key(name="schema.include.list", type=Type.LIST, default=[], group="Filters", order=1,
        doc="Regular expressions of schemas to capture."),
    Key(name="schema.exclude.list", type=Type.LIST, default=[], group="Filters", order=2,
        doc="Regular expressions of schemas to leave."),
    Key(name="table.include.list", type=Type.LIST, default=[], group="Filters", order=3,
        doc="Regular expressions of tables (schema.table) to capture."),
    Key(name="table.exclude.list", type=Type.LIST, default=[], group="Filters", order=4,
        doc="Regular expressions of tables (schema.table) to leave."),
    Key(name="snapshot.mode", default="initial", choices=_SNAPSHOT_MODES, group="Connector", order=2,
        doc="initial: what is there, then changes. initial_only (only): what is there. never (no_data): changes only. "
            "always: what is there at each start, then changes."),
    Key(name="tombstones.on.delete", type=Type.BOOLEAN, default=True, group="Connector", order=3,
        doc="Whether a record without value follows that of a deleted row, so that compaction removes its key."),
    Key(name="skipped.operations", type=Type.LIST, default=["t"], importance=Importance.LOW, group="Connector", order=4,
        choices=("c", "u", "d", "t", "none"), doc="Operations that make no record: c, u, d, t (truncate), or none."),
    Key(name="decimal.handling.mode", default="precise", choices=("precise", "double", "string"), group="Connector",
        order=5, doc="NUMERIC as Decimal, as a double, or as text."),
    Key(name="unavailable.value.placeholder", default="__debezium_unavailable_value", group="Connector", order=6,
        doc="Stands for a long value that was not changed and therefore not sent (see REPLICA IDENTITY)."),
    Key(name="max.batch.size", type=Type.INT, default=2048, minimum=1, group="Connector", order=7,
        doc="Records that are handed over at once."),
    Key(name="poll.interval.ms", type=Type.LONG, default=500, minimum=1, group="Connector", order=8,
        doc="How long a call waits for changes."),
    Key(name="errors.max.retries", type=Type.INT, default=10, minimum=-1, importance=Importance.LOW, group="Connector",
        order=9, doc="How often in a row a database that cannot be reached is tried again, before the task fails; -1: "
        "without end."),
    Key(name="heartbeat.interval.ms", type=Type.INT, default=0, minimum=0, group="Heartbeat", order=1,
        doc="How often a record tells that the connector lives, so that its offset moves with the log; 0: never."),
    Key(name="heartbeat.topics.prefix", default="__debezium-heartbeat", importance=Importance.LOW, group="Heartbeat",
        order=2, doc="First part of the heartbeat's topic."),
    Key(name="heartbeat.action.query", default=None, importance=Importance.LOW, group="Heartbeat", order=3,
        doc="A statement that is run with each heartbeat."),
)  # fmt: skip


class PostgresCdcTask(SourceTask):
    isolation = "process"
    confirm_seconds = 5.0  # the stored offsets are looked up at most this often

    def start(self, config: dict[str, Any]) -> None:
        self._config = config
        self._mapping = TypeMapping(True, False, "none", UTC)
        self._catalogue: Catalogue | None = None
        self._stream: ReplicationConnection | None = None
        self._snapshot: Snapshot | None = None
        self._is_streaming = False
        self._changes = Changes(config, self._table, self.context.report_error, self._is_within)
        self._partition = self._changes.partition
        stored = self.context.offsets.offset(self._partition)
        mode = config["snapshot.mode"]
        self._needs_snapshot = mode == "always" or (
            mode in ("initial", "initial_only", "only") and (stored is None or bool(stored.get("snapshot")))
        )
        self._ends_with_snapshot = mode in ("initial_only", "only")
        self._changes.position = dict(stored or {})
        self._handed_over: Mapping[str, Any] | None = stored  # the last record's offset
        self._failures = 0
        self._confirmed_at = float("-inf")
        self._beaten_at = time.monotonic()

    def poll(self) -> Sequence[SourceRecord] | None:
        try:
            records = self._records()
        except RetriableError as error:
            self._disconnect()
            # What was read and not handed over is read again.
            self._changes.position = dict(self._handed_over or {})
            self._needs_snapshot = self._needs_snapshot or bool(self._changes.position.get("snapshot"))
            self._failures += 1
            if -1 < self._config["errors.max.retries"] < self._failures:
                raise ConnectError(f"{error} Tried {self._failures} times (errors.max.retries).") from error
            raise
        self._failures = 0
        if self._config["heartbeat.interval.ms"] and self._snapshot is None:
            self._beat(records)
        if records:
            self._handed_over = records[-1].offset
            return records
        self._confirm()
        return None

    def commit(self) -> None:
        self._confirm()

    def stop(self) -> None:
        if not hasattr(self, "_config"):
            return
        self._disconnect()
        if self._config["slot.drop.on.stop"]:
            try:
                catalogue = Catalogue(self._config)
                catalogue.drop_slot(self._config["slot.name"])
                catalogue.close()
            except ConnectError as error:
                _LOG.warning("The slot stays: %s", error)

    # Reading.

    def _records(self) -> list[SourceRecord]:
        if self._snapshot is None and not self._is_streaming:
            self._begin()
        if self._snapshot is not None:
            batch = self._snapshot.next_batch()
            if batch is not None:
                return batch
            self._needs_snapshot = False
            self._changes.resume(self._snapshot.completed)
            self._snapshot.close()
            self._snapshot = None
            if not self._ends_with_snapshot:
                self._start_stream()
        if self._ends_with_snapshot:
            self.context.stopping.wait(self._config["poll.interval.ms"] / 1000)
            return []
        return self._read_stream()

    def _read_stream(self) -> list[SourceRecord]:
        stream, take = self._stream, self._changes.take
        assert stream is not None
        records: list[SourceRecord] = []
        most = self._config["max.batch.size"]
        deadline = time.monotonic() + self._config["poll.interval.ms"] / 1000
        while len(records) < most:
            message = stream.read()
            if message is not None:
                take(*message, records)
                continue
            left = deadline - time.monotonic()
            if left <= 0 or self.context.stopping.is_set():
                stream.wait(0)
                break
            # A transaction arrives in small pieces: a moment's patience makes batches of them.
            if not stream.wait(_PATIENCE if records else min(left, 0.1)) and records:
                break
        return records

    # Beginning.

    def _begin(self) -> None:
        config = self._config
        if self._ends_with_snapshot and not self._needs_snapshot:
            return
        self._catalogue = catalogue = Catalogue(config)
        if catalogue.wal_level() != "logical":
            raise ConnectError(
                f"{place(config)} has no logical replication: set wal_level=logical and start the server again."
            )
        tables = catalogue.tables()
        catalogue.make_publication(tables)
        slot: str = config["slot.name"]
        confirmed = catalogue.slot_position(slot)
        self._stream = ReplicationConnection(parameters(config), place(config))
        position = self._changes.position
        if self._needs_snapshot and position.get("views") and config["snapshot.mode"] != "always":
            if confirmed is None and not self._ends_with_snapshot:
                raise self._gone(position["lsn"])
            self._take_snapshot(position["lsn"], None, position["views"])
            _LOG.info("the snapshot at %s goes on", lsn_text(position["lsn"]))
            return
        if self._needs_snapshot:
            if confirmed is not None and not self._ends_with_snapshot:
                catalogue.drop_slot(slot)  # of a snapshot that was interrupted: its view of the tables is gone
            lsn, name = self._stream.create_slot(
                f"{slot}_once"[:63] if self._ends_with_snapshot else slot, "pgoutput",
                temporary=self._ends_with_snapshot,
            )  # fmt: skip
            self._take_snapshot(lsn, name, ())
            _LOG.info("snapshot of %d tables at %s", len(tables), lsn_text(lsn))
            return
        if confirmed is None:
            if position:
                raise self._gone(position["lsn"])
            lsn, _ = self._stream.create_slot(slot, "pgoutput", temporary=False)
            self._changes.position = {"lsn": lsn}
        elif not position:
            self._changes.position = {"lsn": confirmed}
        self._start_stream()

    def _take_snapshot(self, lsn: int, name: str | None, views: Sequence[Sequence[Any]]) -> None:
        report = self.context.report_error
        self._snapshot = Snapshot(self._config, self._changes, lsn, name, views, self._table_in, report)

    def _gone(self, lsn: int) -> ConnectError:
        return ConnectError(
            f"The replication slot {self._config['slot.name']} is gone, and with it the changes since {lsn_text(lsn)}: "
            "reset the connector's offsets, and it takes a new snapshot."
        )

    def _start_stream(self) -> None:
        assert self._stream is not None
        position = self._changes.position
        self._changes.resume(position)
        self._stream.start(self._config["slot.name"], position["lsn"], self._config["publication.name"])
        self._is_streaming = True
        _LOG.info("changes from %s on", lsn_text(position["lsn"]))

    def _table(self, relation: Relation) -> CapturedTable | None:
        if not is_included(self._config, relation.schema, relation.name):
            return None
        assert self._catalogue is not None
        return self._table_in(self._catalogue, relation)

    def _is_within(self, schema: str, name: str, key: tuple[str, ...], bound: tuple[str, ...]) -> bool:
        assert self._catalogue is not None
        return self._catalogue.is_within(schema, name, key, bound)

    def _table_in(self, catalogue: Catalogue, relation: Relation) -> CapturedTable:
        key = catalogue.primary_key(relation.schema, relation.name)
        names = {one.name for one in relation.columns}
        if not key or not set(key) <= names:
            # Without a primary key, or when it has changed since: what identifies rows by the log itself.
            key = tuple(one.name for one in relation.columns if one.is_key) if relation.identity != "f" else ()
        return CapturedTable(relation, key, self._config, self._mapping, catalogue.transformer())

    def _disconnect(self) -> None:
        for each in (self._snapshot, self._stream, self._catalogue):
            if each is not None:
                each.close()
        self._snapshot = self._stream = self._catalogue = None
        self._is_streaming = False

    # What is done.

    def _confirm(self) -> None:
        """The server may forget what is behind the stored offset, and, when all is stored, behind what it has sent."""
        stream = self._stream
        if stream is None or not self._is_streaming or time.monotonic() - self._confirmed_at < self.confirm_seconds:
            return
        self._confirmed_at = time.monotonic()
        stored = self.context.offsets.offset(self._partition)
        lsn = 0 if stored is None or stored.get("snapshot") else int(stored["lsn"])
        is_all_stored = self._handed_over is None or stored == self._handed_over
        if is_all_stored and not self._changes.is_inside and "lsn_commit" not in self._changes.position:
            lsn = max(lsn, stream.server_end)
        try:
            stream.confirm(lsn)
        except RetriableError as error:
            _LOG.warning("%s", error)  # the next poll finds out, too

    def _beat(self, records: list[SourceRecord]) -> None:
        now = time.monotonic()
        if now - self._beaten_at < self._config["heartbeat.interval.ms"] / 1000:
            return
        self._beaten_at = now
        if query := self._config["heartbeat.action.query"]:
            assert self._catalogue is not None
            self._catalogue.run(query)
        position = self._changes.position
        stream = self._stream
        if stream is not None and self._is_streaming and not self._changes.is_inside and "lsn_commit" not in position:
            position = self._changes.position = {**position, "lsn": max(position["lsn"], stream.server_end)}
        prefix = self._config["topic.prefix"]
        topic = f"{self._config['heartbeat.topics.prefix']}.{prefix}"
        value = {"ts_ms": int(time.time() * 1000)}
        records.append(
            SourceRecord(
                self._partition, dict(position), topic, value, _HEARTBEAT, {"serverName": prefix}, _HEARTBEAT_KEY
            )
        )


class PostgresCdc(SourceConnector):
    """One task: a slot has one reader. A snapshot that is interrupted goes on; rows and changes come exactly once."""

    task = PostgresCdcTask
    aliases = ("io.debezium.connector.postgresql.PostgresConnector", "PostgresConnector")

    @classmethod
    def config(cls) -> ConfigDef:
        return _KEYS

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        errors: dict[str, list[str]] = {}
        for kind in ("table", "schema"):
            one, other = f"{kind}.include.list", f"{kind}.exclude.list"
            if config[one] and config[other]:
                errors[other] = [f"Only one of {one} and {other} can be given."]
            for key in (one, other):
                for pattern in config[key]:
                    try:
                        re.compile(pattern)
                    except re.error as error:
                        errors.setdefault(key, []).append(f"{pattern} is no regular expression: {error}.")
        if errors:
            return errors
        try:
            catalogue = Catalogue(config)
        except ConnectError as error:
            return {"database.hostname": [str(error)]}
        try:
            if catalogue.wal_level() != "logical":
                errors["database.hostname"] = ["The server has no logical replication: set wal_level=logical."]
            catalogue.slot_position(config["slot.name"])
        except ConnectError as error:
            errors.setdefault("slot.name", []).append(str(error))
        finally:
            catalogue.close()
        return errors

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [dict(self.context.config)]

    def exactly_once_support(self, config: Mapping[str, Any]) -> bool | None:
        """Not where each start reads everything again, nor for a snapshot of tables that it could not go on in."""
        match config["snapshot.mode"]:
            case "never" | "no_data":
                return True
            case "always":
                return False
        try:
            catalogue = Catalogue(config)
        except ConnectError:
            return None
        try:
            return all(catalogue.ordered_key(*table) for table in catalogue.tables())
        finally:
            catalogue.close()
