"""SqlSource: the rows of tables, or of a query, as records; all of them again, new ones, or new and changed ones.

Property names are those of Confluent's JDBC source. `incrementing` and `timestamp+incrementing` read exactly once where
the worker's transactions carry the offsets. What no query can see stays unseen: deleted rows, and rows that become
visible after rows with a higher number were read (`timestamp.delay.interval.ms` gives them time).
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def
from caudal.connect.connector import SourceConnector, SourceTask
from caudal.connect.connectors.sql.columns import zone_of
from caudal.connect.connectors.sql.database import CONNECTION_KEYS, Database, database_url
from caudal.connect.connectors.sql.positions import Ordering, check_columns
from caudal.connect.connectors.sql.reading import Reader
from caudal.connect.connectors.sql.tables import TableName, find_tables, mapping_of, table_shape
from caudal.connect.errors import ConfigError, ConnectError, RetriableError
from caudal.connect.records import SourceRecord

_LOG = logging.getLogger(__name__)
_TABLES = "tables"  # of a task: JSON, because names may hold anything
_WAIT_SECONDS = 0.5
MODES = ("bulk", "timestamp", "incrementing", "timestamp+incrementing")


def _is_zone(name: str, value: Any) -> None:
    zone_of(value)


_KEYS = config_def(
    [key if key.name != "db.timezone" else Key(name=key.name, default="UTC", group=key.group, order=key.order,
                                               doc=key.doc, validator=_is_zone) for key in CONNECTION_KEYS],
    Key(name="mode", choices=MODES, importance=Importance.HIGH, group="Mode", order=1,
        doc="bulk: everything, each time. incrementing: rows with a higher number. timestamp: rows changed later. "
            "timestamp+incrementing: both, the only mode that sees changes and tells them apart exactly."),
    Key(name="incrementing.column.name", default="", group="Mode", order=2,
        doc="The column whose value only grows. Empty: the one that the database numbers itself."),
    Key(name="timestamp.column.name", type=Type.LIST, default=[], group="Mode", order=3,
        doc="The columns that tell when a row was changed; the first that is not null counts."),
    Key(name="timestamp.initial", type=Type.LONG, default=None, importance=Importance.LOW, group="Mode", order=4,
        doc="Where the first start begins, in milliseconds; -1 is now. Unset: with the oldest row."),
    Key(name="timestamp.delay.interval.ms", type=Type.LONG, default=0, minimum=0, importance=Importance.HIGH,
        group="Mode", order=5, doc="How old a row must be to be read, so that transactions have time to commit."),
    Key(name="validate.non.null", type=Type.BOOLEAN, default=True, importance=Importance.LOW, group="Mode", order=6,
        doc="Whether the columns of the mode must be declared NOT NULL."),
    Key(name="query", default="", group="Mode", order=7,
        doc="A query to read instead of tables; its topic is topic.prefix."),
    Key(name="query.suffix", default="", importance=Importance.LOW, group="Mode", order=8,
        doc="Put behind every query that is sent."),
    Key(name="table.whitelist", type=Type.LIST, default=[], group="Database", order=20,
        doc="The tables to read (name, schema.name or database.schema.name); all others are left."),
    Key(name="table.blacklist", type=Type.LIST, default=[], group="Database", order=21, doc="The tables to leave."),
    Key(name="table.types", type=Type.LIST, default=["TABLE"], importance=Importance.LOW, group="Database", order=22,
        choices=("TABLE", "VIEW", "MATERIALIZED VIEW", "PARTITIONED TABLE"), doc="What counts as a table."),
    Key(name="schema.pattern", default=None, group="Database", order=23,
        doc="Schemas to look into, as LIKE has it. Unset: all that are not the system's."),
    Key(name="catalog.pattern", default=None, group="Database", order=24,
        doc="Name of the database in table.whitelist, where it differs from the URL's."),
    Key(name="numeric.mapping", default="none", choices=("none", "precision_only", "best_fit", "best_fit_eager_double"),
        importance=Importance.LOW, group="Database", order=25,
        doc="NUMERIC as Decimal (none), as integers where there is nothing behind the point (precision_only), and as "
            "doubles where 18 digits suffice (best_fit) or always (best_fit_eager_double)."),
    Key(name="transaction.isolation.mode", default="DEFAULT", importance=Importance.LOW, group="Database", order=26,
        choices=("DEFAULT", "READ_UNCOMMITTED", "READ_COMMITTED", "REPEATABLE_READ", "SERIALIZABLE"),
        doc="Of the transactions that read."),
    Key(name="key.mode", default="none", choices=("none", "incrementing", "primary_key"), group="Connector", order=1,
        doc="The record's key: none (a transform may make one), the incrementing column, or the primary key (a struct "
            "where it has several columns)."),
    Key(name="topic.prefix", importance=Importance.HIGH, group="Connector", order=2,
        doc="Put before the table's name to name its topic; of a query, the topic itself."),
    Key(name="poll.interval.ms", type=Type.INT, default=5000, minimum=0, importance=Importance.HIGH, group="Connector",
        order=3, doc="The pause between two looks for new rows."),
    Key(name="batch.max.rows", type=Type.INT, default=5000, minimum=1, importance=Importance.LOW, group="Connector",
        order=4, doc="Rows that are read and handed over at once."),
    Key(name="table.poll.interval.ms", type=Type.LONG, default=60_000, minimum=1, importance=Importance.LOW,
        group="Connector", order=5, doc="How often new and dropped tables are looked for."),
)  # fmt: skip


class SqlSourceTask(SourceTask):
    isolation = "process"

    def start(self, config: dict[str, Any]) -> None:
        isolation = config["transaction.isolation.mode"]
        self._database = Database(
            config, isolation_level=None if isolation == "DEFAULT" else isolation.replace("_", " ")
        )
        self._attempts: int = config["connection.attempts"]
        mapping = mapping_of(self._database, config)
        tables: list[TableName | None] = [TableName(*one) for one in json.loads(self.context.config.get(_TABLES, "[]"))]
        if config["query"]:
            tables = [None]
        self._readers = [Reader(self._database, config, self.context, mapping, table) for table in tables]
        stored = self.context.offsets.offsets([reader.partition for reader in self._readers])
        for reader, offset in zip(self._readers, stored, strict=True):
            reader.resume(offset)
            reader.due = 0.0
        self._next = 0

    def poll(self) -> Sequence[SourceRecord] | None:
        # Around the tables, a batch of each at a time: a large one holds up nobody. A stream has the connection to
        # itself until it is through.
        try:
            self._database.connection(self.context.stopping)
        except RetriableError as error:
            if self.context.stopping.is_set():
                return None
            raise ConnectError(f"{error} Tried {self._attempts} times (connection.attempts).") from error
        count = len(self._readers)
        streaming = [reader for reader in self._readers if reader.is_streaming]
        for reader in streaming or [self._readers[(self._next + step) % count] for step in range(count)]:
            if not reader.is_passing and reader.due > time.monotonic():
                continue
            self._next = (self._readers.index(reader) + 1) % count
            if records := reader.read():
                return records
        due = min((reader.due for reader in self._readers), default=time.monotonic() + _WAIT_SECONDS)
        if not any(reader.is_passing for reader in self._readers) and (wait := due - time.monotonic()) > 0:
            self.context.stopping.wait(min(wait, _WAIT_SECONDS))
        return None

    def stop(self) -> None:
        for reader in getattr(self, "_readers", ()):
            reader.close()
        if hasattr(self, "_database"):
            self._database.close()


class SqlSource(SourceConnector):
    """Tables of any database that SQLAlchemy knows; made for PostgreSQL and SQLite."""

    task = SqlSourceTask
    aliases = ("io.confluent.connect.jdbc.JdbcSourceConnector", "JdbcSourceConnector", "JdbcSource")

    @classmethod
    def config(cls) -> ConfigDef:
        return _KEYS

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        errors = _disagreements(config)
        if errors:
            return errors
        try:
            database = Database({**config, "connection.attempts": 1})
        except ConfigError as error:
            return {error.key or "connection.url": [str(error)]}
        try:
            database.connection()
            return _wrong_columns(database, config)
        except ConnectError as error:
            return {"connection.url": [str(error)]}
        finally:
            database.close()

    def start(self, config: dict[str, Any]) -> None:
        self._config = config
        self._tables: list[TableName] | None = None
        self._stopping = threading.Event()
        self._watch: threading.Thread | None = None
        if not config["query"]:
            self._watch = threading.Thread(target=self._watch_tables, name="sql-tables", daemon=True)
            self._watch.start()

    def task_configs(self, most: int) -> list[dict[str, str]]:
        # As it was given: a default among the framework's keys, written out, may ask for others.
        shared = dict(self.context.config)
        if self._config["query"]:
            return [shared]
        tables = self._find_tables()
        self._tables = tables
        names = [table.name for table in tables]
        if twice := sorted({str(table) for table in tables if names.count(table.name) > 1}):
            raise ConnectError(
                f"The tables {', '.join(twice)} would share a topic, which has the name of the table alone: choose "
                "with table.whitelist or schema.pattern, and read the others with another connector."
            )
        count = min(most, len(tables))
        return [shared | {_TABLES: json.dumps(tables[at::count])} for at in range(count)]

    def stop(self) -> None:
        stopping = getattr(self, "_stopping", None)
        if stopping is not None:
            stopping.set()

    def exactly_once_support(self, config: Mapping[str, Any]) -> bool | None:
        return config["mode"] in ("incrementing", "timestamp+incrementing")

    def alter_offsets(self, offsets: Mapping[str, Any]) -> bool:
        return False

    def _find_tables(self) -> list[TableName]:
        database = Database(self._config)
        try:
            return find_tables(database, self._config)
        finally:
            database.close()

    def _watch_tables(self) -> None:
        while not self._stopping.wait(self._config["table.poll.interval.ms"] / 1000):
            try:
                found = self._find_tables()
            except RetriableError as error:
                _LOG.warning("%s: %s Tables are looked for again later.", self.name, error)
                continue
            except Exception as error:
                self.context.raise_error(error)
                return
            if self._tables is not None and found != self._tables:
                _LOG.info("%s: there are other tables now: %s", self.name, ", ".join(map(str, found)))
                self.context.request_task_reconfiguration()


def _disagreements(config: Mapping[str, Any]) -> dict[str, list[str]]:
    """Keys that contradict each other, before anything outside is asked."""
    errors: dict[str, list[str]] = {}
    mode = config["mode"]
    if "timestamp" in mode and not config["timestamp.column.name"]:
        errors["timestamp.column.name"] = [f"mode={mode} needs the columns that tell when a row was changed."]
    if config["query"] and "incrementing" in mode and not config["incrementing.column.name"]:
        errors["incrementing.column.name"] = [f"mode={mode} with a query needs the name of the column."]
    if config["table.whitelist"] and config["table.blacklist"]:
        errors["table.blacklist"] = ["Only one of table.whitelist and table.blacklist can be given."]
    if config["query"] and (config["table.whitelist"] or config["table.blacklist"]):
        errors["query"] = ["A query is read instead of tables: leave table.whitelist and table.blacklist out."]
    try:
        database_url(config["connection.url"])
    except ConfigError as error:
        errors["connection.url"] = [str(error)]
    return errors


def _wrong_columns(database: Database, config: Mapping[str, Any]) -> dict[str, list[str]]:
    """Tables that are there already are looked at now; others when they come."""
    if config["query"]:
        return {}
    errors: dict[str, list[str]] = {}
    mapping = mapping_of(database, config)
    mode = config["mode"]
    for table in find_tables(database, config):
        shape = table_shape(database, table, mapping)
        where = f"The table {table}"
        for name, columns in (("incrementing", config["incrementing.column.name"] or shape.incrementing),
                              ("timestamp", tuple(config["timestamp.column.name"]))):  # fmt: skip
            if name not in mode:
                continue
            if not columns:
                errors.setdefault(f"{name}.column.name", []).append(
                    f"{where} has no column that the database numbers by itself: name one."
                )
                continue
            ordering = Ordering(columns, ()) if isinstance(columns, str) else Ordering(None, columns)
            try:
                check_columns(shape, ordering, where, config["validate.non.null"])
            except ConnectError as error:
                errors.setdefault(f"{name}.column.name", []).append(str(error))
    return errors
