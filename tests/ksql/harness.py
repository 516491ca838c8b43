"""Runs SQL statements in process: parser, catalog, planner and the interpreter, without broker, Spark and server.

    harness = Harness()
    harness.execute("CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');")
    harness.execute("CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;")
    harness.insert("S", K="a", V=1)
    harness.rows("T")  →  [{"K": "a", "N": 1, "ROWTIME": 0}]

Queries are chained: what one writes to a topic, all that read it get, those that were made earlier first. A query that
is made later begins with what its topics hold by then. Every topic has one partition.
"""

from __future__ import annotations

import itertools
import pickle
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from caudal.ksql.catalog import Catalog
from caudal.ksql.errors import KsqlError
from caudal.ksql.formats.ddl import source_of
from caudal.ksql.formats.serdes import key_serde, row_serde, value_serde
from caudal.ksql.planner.plan import plan_query
from caudal.ksql.planner.planned import PlannedQuery, Sink
from caudal.ksql.schema import Place, Schema
from caudal.ksql.sources import Format, Source, SourceKind, Window
from caudal.ksql.syntax.parser import parse_script, resolve_type
from caudal.ksql.syntax.statements import CreateAsSelect, CreateSource, CreateType, InsertInto, Query
from caudal.runtime.record import Windowed
from caudal.runtime.test_driver import TopologyTestDriver

_NUMBERS = itertools.count()
Headers = tuple[tuple[str, bytes | None], ...]


class Message(NamedTuple):
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers = ()


class Running:
    """A query at work."""

    def __init__(self, planned: PlannedQuery, registry: str) -> None:
        self.planned = planned
        # As a host gets it: through pickle.
        self.driver = TopologyTestDriver(pickle.loads(pickle.dumps(planned.topology)), registry=registry)
        self.topics = {topic for node in planned.topology.subtopologies for topic in node.source_topics}

    def process(self, topic: str, message: Message) -> list[tuple[str, Message]]:
        self.driver.pipe_bytes(topic, message.key, message.value, message.timestamp, message.headers)
        return self.written()

    def written(self) -> list[tuple[str, Message]]:
        waiting: deque[Any] = self.driver._outputs.get(self.planned.topic, deque())
        found = [(self.planned.topic, Message(one.key, one.value, one.timestamp, one.headers)) for one in waiting]
        waiting.clear()
        return found


class Harness:
    def __init__(self, registry: str | None = None, properties: dict[str, Any] | None = None) -> None:
        self.properties = properties or {}
        self.catalog = Catalog()
        self.topics: dict[str, list[Message]] = {}
        self.running: list[Running] = []
        self.registry = registry or f"mock://harness-{next(_NUMBERS)}"  # each its own
        self._read: dict[str, int] = {}

    # -- statements ----------------------------------------------------------------------------------------------------

    def execute(self, text: str) -> list[PlannedQuery]:
        """Runs the statements of a script; gives the plans of its queries. Errors know the text they are about."""
        plans: list[PlannedQuery] = []
        for statement in parse_script(text):
            try:
                if isinstance(statement, CreateSource):
                    self.catalog.sources[statement.name] = source_of(
                        statement, self.catalog, statement_properties=self.properties
                    )
                elif isinstance(statement, CreateAsSelect):
                    sink = Sink(statement.name, statement.kind, statement.properties)
                    plans.append(self.start(statement.query, sink))
                elif isinstance(statement, InsertInto):
                    sink = Sink(statement.target, SourceKind.STREAM, statement.properties, insert=True)
                    plans.append(self.start(statement.query, sink))
                elif isinstance(statement, Query):
                    plans.append(self.start(statement, None))
                elif isinstance(statement, CreateType):
                    self.catalog.types[statement.name] = resolve_type(statement.type, self.catalog.type)
                else:
                    raise AssertionError(f"The harness does not run {type(statement).__name__}.")
            except KsqlError as error:
                raise error.within(statement.text) from None
        return plans

    def start(self, query: Query, sink: Sink | None) -> PlannedQuery:
        number = len(self.running)
        planned = plan_query(
            query, self.catalog, application_id=f"query-{number}", sink=sink, properties=self.properties
        )
        if sink is not None and not sink.insert:
            self.catalog.sources[sink.name] = made_by(planned, sink)
        running = Running(planned, self.registry)
        self.running.append(running)
        # Oldest first over all of its topics, as the hosts do.
        held = [(topic, message) for topic in running.topics for message in self.topics.get(topic, [])]
        for topic, message in sorted(held, key=lambda one: one[1].timestamp):
            self._append_all(running.process(topic, message))
        return planned

    # -- rows in -------------------------------------------------------------------------------------------------------

    def insert(self, source: str, *, at: int = 0, headers: Headers = (), **columns: Any) -> None:
        """A row of a source. Columns that are left out are NULL."""
        self._insert(source, columns, at, headers, False)

    def delete(self, source: str, *, at: int = 0, **key: Any) -> None:
        """A tombstone."""
        self._insert(source, key, at, (), True)

    def _insert(self, name: str, columns: dict[str, Any], at: int, headers: Headers, tombstone: bool) -> None:
        source = self.catalog.sources[name]
        schema = source.schema
        start, end = columns.pop("WINDOWSTART", None), columns.pop("WINDOWEND", None)
        unknown = set(columns) - set(schema.names())
        assert not unknown, f"{name} has no {unknown}"
        key: Any = tuple(columns.get(column.name) for column in schema.key)
        has_key = any(part is not None for part in key)
        if source.window is not None:
            key = Windowed(key, start, end if end is not None else start + (source.window.size or 0))
        value = tuple(columns.get(column.name) for column in schema.written)
        key_bytes = self._bound(key_serde(source.key_format, schema.key, source.window)).serialize(key)
        value_bytes = self._bound(value_serde(source.value_format, schema.written)).serialize(value)
        self.produce(
            source.topic, key_bytes if has_key else None, None if tombstone else value_bytes, at=at, headers=headers
        )

    def produce(
        self, topic: str, key: bytes | None, value: bytes | None, *, at: int = 0, headers: Headers = ()
    ) -> None:
        """A record as it lies in a topic."""
        self._append_all([(topic, Message(key, value, at, headers))])

    def _append_all(self, messages: Iterable[tuple[str, Message]]) -> None:
        waiting = deque(messages)
        while waiting:
            topic, message = waiting.popleft()
            self.topics.setdefault(topic, []).append(message)
            for running in self.running:
                if topic in running.topics:
                    waiting.extend(running.process(topic, message))

    # -- rows out ------------------------------------------------------------------------------------------------------

    def rows(self, source: str) -> list[dict[str, Any]]:
        """The rows of a source's topic that were not read yet; a tombstone has its key and `None: None`."""
        found = self.catalog.sources[source]
        return self._rows(found.topic, found.schema, found.key_format, found.value_format, found.window)

    def pushed(self, number: int = -1) -> list[dict[str, Any]]:
        """The rows that a push query showed since the last time; the last query's unless told otherwise."""
        planned = self.running[number].planned
        rows = self._rows(planned.topic, planned.schema, planned.key_format, planned.value_format, None)
        order = planned.selected
        return [
            {name: row[name] for name in (*order, *(n for n in row if n not in order)) if name in row} for row in rows
        ]

    def _rows(
        self, topic: str, schema: Schema, key_format: Format, value_format: Format, window: Window | None
    ) -> list[dict[str, Any]]:
        messages = self.topics.get(topic, [])
        seen = self._read.get(topic, 0)
        self._read[topic] = len(messages)
        is_rows = key_format.name == "ROWS"
        read_key: Any = (
            row_serde([one.type for one in schema.key]) if is_rows else key_serde(key_format, schema.key, window)
        )
        read_value: Any = (
            row_serde([one.type for one in schema.value]) if is_rows else value_serde(value_format, schema.written)
        )
        read_key, read_value = self._bound(read_key), self._bound(read_value)
        rows = []
        for message in messages[seen:]:
            key = None if message.key is None else read_key.deserialize(message.key)
            row: dict[str, Any] = {}
            if isinstance(key, Windowed):
                row["WINDOWSTART"], row["WINDOWEND"], key = key.start, key.end, key.key
            row |= {
                column.name: None if key is None else part
                for column, part in zip(schema.key, key or (None,) * len(schema.key), strict=True)
            }
            if message.value is None:
                row[None] = None  # type: ignore[index]
            else:
                columns = [column for column in schema.value if column.place is not Place.HEADERS]
                values = read_value.deserialize(message.value)
                row |= dict(zip((column.name for column in columns), values, strict=True))
            row["ROWTIME"] = message.timestamp
            rows.append(row)
        return rows

    def _bound(self, serde: Any) -> Any:
        from caudal.serde.serde import bound, with_registry

        return with_registry(bound(serde, "harness", False), self.registry)


# -- sources -----------------------------------------------------------------------------------------------------------


def made_by(planned: PlannedQuery, sink: Sink) -> Source:
    """The source that CREATE … AS SELECT makes."""
    return Source(
        sink.name,
        sink.kind,
        planned.schema,
        planned.topic,
        planned.key_format,
        planned.value_format,
        planned.window,
        planned.timestamp_column,
        planned.timestamp_format,
        retention=planned.retention,
    )
