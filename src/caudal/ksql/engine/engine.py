"""The engine: statements in, entities, rows and lines out.

    with Engine(EngineSettings(bootstrap="localhost:9092")) as engine:
        engine.execute("CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');")
        for row in engine.push("SELECT * FROM s EMIT CHANGES LIMIT 3;"): ...
        engine.pull("SELECT * FROM t WHERE k = 'a';").rows

Statements are executed one at a time; queries run beside them, push and pull queries are answered beside them. Each
family of statements has a file of its own (ddl.py, dml.py, shows.py, describes.py, control.py, asserts.py,
connectors.py), whose handlers are found by the kind of statement (handlers.py). Every error is a KsqlError.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

# The families register their handlers when they are imported.
from caudal.ksql.engine import asserts, connectors, control, ddl, describes, dml, properties, shows
from caudal.ksql.engine.command_log import CommandLog
from caudal.ksql.engine.connectors import Connect
from caudal.ksql.engine.dml import Inserts
from caudal.ksql.engine.entities import Entity
from caudal.ksql.engine.handlers import HANDLERS, Request
from caudal.ksql.engine.membership import Membership
from caudal.ksql.engine.printing import print_topic
from caudal.ksql.engine.properties import Properties
from caudal.ksql.engine.pull import Pull, PullResult, selected_schema
from caudal.ksql.engine.push import PushPool, PushQuery
from caudal.ksql.engine.push_worker import Job
from caudal.ksql.engine.queries import Queries
from caudal.ksql.engine.settings import EngineSettings
from caudal.ksql.engine.table_views import TableViews
from caudal.ksql.engine.topics import Topics
from caudal.ksql.errors import KsqlError, SyntaxProblem, suggestion
from caudal.ksql.formats.rows_json import row_from_json
from caudal.ksql.formats.schemas import RegistrySchemas
from caudal.ksql.formats.values import Misfit
from caudal.ksql.planner.planned import PlannedQuery, Sink
from caudal.ksql.schema import ROWTIME, Column, Place
from caudal.ksql.syntax.parser import parse_statement
from caudal.ksql.syntax.script import split, substitute
from caudal.ksql.syntax.statements import PrintTopic, Query, Statement
from caudal.ksql.types import BIGINT
from caudal.plan.errors import PlanError
from caudal.plan.serdes import with_registry_of
from caudal.plan.topology import SourceNode
from caudal.registry.client import RegistryClient, RegistryError, configured_registry
from caudal.runtime.errors import Handlers, OnError, StreamsError

if TYPE_CHECKING:
    from caudal.ksql.catalog import Catalog
    from caudal.ksql.sources import Source
    from caudal.runtime.spark.host import SparkHost

log = logging.getLogger("caudal.ksql.engine")

__all__ = ["Engine", "EngineSettings", "PullResult", "PushQuery"]

_FAMILIES = (asserts, connectors, control, ddl, describes, dml, shows)
OFFSET_SECONDS = 15.0
KEEP_SECONDS = 60.0


class Engine:
    def __init__(self, settings: EngineSettings | None = None, *, host: SparkHost | None = None) -> None:
        """`host` is a Spark host that is its owner's to close; without one the engine has its own."""
        self.settings = settings or EngineSettings()
        self.topics = Topics(self.settings)
        self.log = CommandLog(self.settings.librdkafka(), self.settings.service_id, self._changed)
        self.membership = Membership(self.settings, self.log.topic)
        self._owns_host = host is None
        self.host = host or self._new_host()
        self.queries = Queries(self.settings, self.host, self.topics, leads=self.membership.leads, execute=self.execute)
        self.push_queries = PushPool()
        self.views = TableViews(self.settings)
        self.inserts = Inserts(self.settings)
        self._pull = Pull(self)
        self._registry: RegistryClient | None = None
        self._executing = threading.Lock()
        self._numbers = itertools.count(1)
        self._kept = time.monotonic()
        self._started = self._closed = False

    def _new_host(self) -> SparkHost:
        from caudal.runtime.spark.host import SparkHost

        return SparkHost(master=self.settings.master, threads=self.settings.threads or os.cpu_count(), revives=True)

    # -- life ----------------------------------------------------------------------------------------------------------

    def start(self) -> Engine:
        """Returns when the catalog is read; queries start in the background. Raises KsqlError."""
        self.log.start()
        if self.settings.processing_log_topic is not None:
            self.topics.create(self.settings.processing_log_topic, 1, None, {})
            lines = self.settings.dropped("").lines
            assert lines is not None
            lines.install()
        self.membership.start()
        self.queries.start()
        self._started = True
        self.queries.follow(self.log.catalog)
        if self._owns_host:
            self.host.warm()
        self.push_queries.start()
        self.inserts.start()
        return self

    def close(self) -> None:
        """Queries stop where they are; the next start goes on from there. Closing twice is no error."""
        if self._closed:
            return
        self._closed = True
        self.push_queries.close()
        self.membership.stop()
        self.log.stop()
        self.queries.close()
        if self._owns_host:
            self.host.close()
        self.views.close()
        self.inserts.close()
        if self._registry is not None:
            self._registry.close()

    def __enter__(self) -> Engine:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def catalog(self) -> Catalog:
        return self.log.catalog

    def _changed(self, catalog: Catalog) -> None:
        """In the log's thread: the catalog is another."""
        if self._started:
            self.queries.follow(catalog)
            self.views.keep(catalog.sources)

    # -- statements ----------------------------------------------------------------------------------------------------

    def execute(
        self, text: str, properties_: Mapping[str, Any] | None = None, variables: Mapping[str, str] | None = None
    ) -> list[Entity]:
        """All statements of the text, one after the other, except SELECT and PRINT. An error ends it; what the
        statements before answered is `error.entities` then."""
        with _told(text):
            request = Request(self, properties.checked_all(properties_), dict(variables or {}))
            parts = [(part, position) for part, position in split(text)]
            if request.properties["ksql.variable.substitution.enable"] and "${" not in text:
                for part, _ in parts:
                    parse_statement(part)  # nothing is done where one of them cannot be read
        answers: list[Entity] = []
        with self._executing, self.queries.gathered():
            for part, _ in parts:
                filled = part
                try:
                    with _told(text):
                        if request.properties["ksql.variable.substitution.enable"]:
                            filled = substitute(part, request.variables)
                    with _told(filled):
                        answer = self._execute_one(request, parse_statement(filled))
                except KsqlError as error:
                    error.entities = answers
                    raise
                if isinstance(answer, list):
                    answers += answer
                elif answer is not None:
                    answers.append(answer)
        return answers

    def _execute_one(self, request: Request, statement: Statement) -> Entity | list[Entity] | None:
        handler = HANDLERS.get(type(statement))
        if handler is None:
            if isinstance(statement, Query):
                raise KsqlError(
                    "SELECT is answered with rows: send it to /query-stream or /query, not with other statements.",
                    statement.at,
                )
            if isinstance(statement, PrintTopic):
                raise KsqlError("PRINT is answered with lines: send it to /query.", statement.at)
            raise KsqlError(f"{type(statement).__name__} statements cannot be executed here.", statement.at)
        return handler(request, statement)

    def held(self, session: Mapping[str, Any] | None) -> Properties:
        """What holds for a statement of a session with these properties. Raises KsqlError."""
        return Properties(properties.checked_all(session), self.catalog.settings, self.settings.properties)

    # -- queries that answer with rows ---------------------------------------------------------------------------------

    def is_push(self, text: str) -> bool:
        """Whether a SELECT is a push query. Raises KsqlError where it is no SELECT."""
        with _told(text):
            return _query(text).emit is not None

    def push(
        self, text: str, properties_: Mapping[str, Any] | None = None, variables: Mapping[str, str] | None = None
    ) -> PushQuery:
        with _told(text):
            held = self.held(properties_)
            filled = substitute(text, dict(variables or {}))
            query = _query(filled)
            if query.emit is None:
                raise KsqlError("A push query ends with EMIT CHANGES or EMIT FINAL.", query.at)
            planned = self.plan(query, held)
            job = self._job(planned, limit=query.limit)
            about = "_".join(planned.sources) or query.relation.name
            return self.push_queries.query(job, selected_schema(planned), filled, about, held[properties.MAX_PUSH])

    def pull(
        self, text: str, properties_: Mapping[str, Any] | None = None, variables: Mapping[str, str] | None = None
    ) -> PullResult:
        with _told(text):
            held = self.held(properties_)
            filled = substitute(text, dict(variables)) if variables else text
            return self._pull.answer(filled, lambda: _pull_query(filled), held)

    def looked_up(self, text: str, properties_: Mapping[str, Any] | None = None) -> PullResult | None:
        """The answer to a pull query that differs from an earlier one in its key alone: such a one need not be parsed.
        None where it is another."""
        with _told(text):
            return self._pull.looked_up(text, self.held(properties_))

    def print_topic(self, statement: PrintTopic | str, properties_: Mapping[str, Any] | None = None) -> Iterator[str]:
        """Lines; an empty one where nothing comes for a moment. Close the iterator to end it."""
        if isinstance(statement, str):
            with _told(statement):
                parsed = parse_statement(statement)
            if not isinstance(parsed, PrintTopic):
                raise KsqlError("A PRINT statement is needed.")
            statement = parsed
        if self.held(properties_)[properties.OFFSET_RESET] == "earliest" and (properties_ or {}):
            statement = replace(statement, from_beginning=True)
        return print_topic(statement, self.settings, self.registry_client())

    def insert_row(self, target: str, row: Mapping[str, Any]) -> None:
        """One row by column names, its values as JSON has them (/inserts-stream)."""
        self.send_row(target, row).result(dml.SECONDS)

    def send_row(self, target: str, row: Mapping[str, Any]) -> Future[int]:
        """The same without waiting for the broker: the future has the offset, or KafkaException."""
        source = self.catalog.source(target)
        with _told(""):
            columns = [column for column in source.schema if column.place is not Place.HEADERS]
            try:
                values, unknown = row_from_json([*columns, Column(ROWTIME, BIGINT)], row)
            except Misfit as error:
                raise KsqlError(f"The row does not fit {source.name}: {error}") from None
            if unknown:
                raise KsqlError(
                    f"Column name `{unknown[0]}` does not exist.{suggestion(unknown[0], source.schema.names())}"
                )
            future = self.inserts.send(source, values)
        self.views.touch(source.topic)
        return future

    def plan(
        self, query: Query, held: Properties, *, sink: Sink | None = None, application_id: str | None = None
    ) -> PlannedQuery:
        from caudal.ksql.planner.plan import plan_query

        name = (
            application_id or f"_caudal-ksql-{self.settings.service_id}_transient_{os.getpid()}_{next(self._numbers)}"
        )
        return plan_query(query, self.catalog, application_id=name, sink=sink, properties=held.merged())

    def bounded(self, query: Query, held: Properties, limit: int | None) -> list[tuple[Any, ...]]:
        """The rows that a push query would give for what the topics hold now; of a table the last of each key."""
        planned = self.plan(query, held)
        is_table = planned.kind.value == "TABLE"
        begins, ends = self._bounds(planned)
        records = sum(end - begins[place] for place, end in ends.items())
        heavy = bool(query.joins or query.group_by or query.window)
        if heavy and records > held[properties.BATCH_THRESHOLD]:
            from caudal.ksql.engine.batch import batch_rows

            return batch_rows(self.settings, planned, columns_of(planned))
        job = replace(self._job(planned, limit=limit), begins=begins, ends=ends, keyed=is_table)
        answer = self.push_queries.query(job, selected_schema(planned), query.text, "PULL", held[properties.MAX_PUSH])
        with answer:
            if not is_table:
                return list(answer)
            last: dict[Any, Any] = {}
            for key, row in answer:
                last.pop(key, None)
                if row is not None:
                    last[key] = row
            return list(last.values())

    def _job(self, planned: PlannedQuery, limit: int | None) -> Job:
        topology = with_registry_of(planned.topology, self.settings.registry or configured_registry())
        begins = self._begins(planned)
        failing = any(
            self.catalog.sources[name].on_error.value == "FAIL"
            for name in planned.sources
            if name in self.catalog.sources
        )
        return Job(
            topology=topology,
            topic=planned.topic,
            columns=columns_of(planned),
            begins=begins,
            client=self.settings.librdkafka(),
            limit=limit,
            handlers=Handlers(
                deserialization=OnError.FAIL if failing else OnError.SKIP,
                dropped=self.settings.dropped(planned.topology.application_id),
            ),
        )

    def _sources(self, planned: PlannedQuery) -> dict[str, SourceNode]:
        internal = planned.topology.internal_topics
        return {
            topic: node
            for node in planned.topology.nodes
            if isinstance(node, SourceNode)
            for topic in node.topics
            if topic not in internal
        }

    def _places(self, planned: PlannedQuery) -> list[tuple[str, int]]:
        sources = self._sources(planned)
        found = self.topics.find_all(sources)
        for topic in sources:
            if topic not in found:
                raise KsqlError(f"Kafka topic does not exist: {topic}.")
        return [(topic, number) for topic in sources for number in range(found[topic].partitions)]

    def _begins(self, planned: PlannedQuery) -> dict[tuple[str, int], int]:
        """Where each partition is read from: fixed when the statement comes, so that no row after it is missed."""
        sources = self._sources(planned)
        places = self._places(planned)
        read = [self.catalog.sources[name] for name in planned.sources if name in self.catalog.sources]
        # A table that a stream is joined with is what it is, whenever the question comes.
        whole = {one.topic for one in read if one.is_table} if any(not one.is_table for one in read) else set()
        latest = [place for place in places if sources[place[0]].reset == "latest" and place[0] not in whole]
        earliest = [place for place in places if place not in latest]
        return {**self._offsets(latest, OffsetSpec.latest()), **self._offsets(earliest, OffsetSpec.earliest())}

    def _bounds(self, planned: PlannedQuery) -> tuple[dict[tuple[str, int], int], dict[tuple[str, int], int]]:
        places = self._places(planned)
        return self._offsets(places, OffsetSpec.earliest()), self._offsets(places, OffsetSpec.latest())

    def _offsets(self, places: list[tuple[str, int]], spec: Any) -> dict[tuple[str, int], int]:
        if not places:
            return {}
        wanted = {TopicPartition(topic, number): spec for topic, number in places}
        try:
            futures = self.topics.admin.list_offsets(
                wanted, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=OFFSET_SECONDS
            )
            return {
                (place.topic, place.partition): future.result(OFFSET_SECONDS + 1).offset
                for place, future in futures.items()
            }
        except (KafkaException, TimeoutError) as error:
            raise KsqlError(f"The topics' offsets cannot be read: {error}.") from None

    # -- what statements ask for ---------------------------------------------------------------------------------------

    def registry_client(self) -> RegistryClient:
        if self._registry is None:
            self._registry = RegistryClient(self.settings.registry)
        return self._registry

    @property
    def schemas(self) -> RegistrySchemas:
        """The registry, as CREATE statements ask it for columns."""
        return RegistrySchemas(self.registry_client())

    def connect(self) -> Connect:
        url = self.settings.connect or self.settings.properties.get("ksql.connect.url")
        if not url:
            raise KsqlError("Connectors need Kafka Connect: set ksql.connect.url to the address of a worker.")
        return Connect(str(url))

    def delete_topic(self, source: Source) -> None:
        """DROP … DELETE TOPIC: the topic, and the subjects of its schemas."""
        self.topics.delete([source.topic])
        with_schema = ("AVRO", "JSON_SR", "PROTOBUF")
        for format, suffix in ((source.key_format, "key"), (source.value_format, "value")):
            if format.name in with_schema:
                try:
                    self.registry_client().delete_subject(f"{source.topic}-{suffix}")
                except RegistryError as error:
                    if error.status != 404:
                        raise KsqlError(f"The subject {source.topic}-{suffix} was not deleted: {error}") from None


def columns_of(planned: PlannedQuery) -> tuple[tuple[bool, int], ...]:
    """Where each column of the SELECT is in a record: (in the key?, index)."""
    keys = [column.name for column in planned.schema.key]
    values = [column.name for column in planned.schema.value]
    names = planned.selected or tuple(planned.schema.names())
    return tuple((True, keys.index(name)) if name in keys else (False, values.index(name)) for name in names)


def _query(text: str) -> Query:
    statement = parse_statement(text)
    if not isinstance(statement, Query):
        raise KsqlError("A SELECT is needed here.", statement.at)
    return statement


def _pull_query(text: str) -> Query:
    query = _query(text)
    if query.emit is not None:
        raise KsqlError("A pull query has no EMIT: with it, it is a push query.", query.at)
    return query


class _told:
    """Whatever goes wrong inside is a KsqlError that knows its text; what was not expected is in the log."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, KsqlError):
            error.within(self._text)
        elif isinstance(error, (StreamsError, PlanError)):
            raise KsqlError(str(error), text=self._text) from error
        elif isinstance(error, RecursionError):
            raise SyntaxProblem("The statement is nested too deeply.", text=self._text) from error
        elif isinstance(error, KafkaException):
            log.warning("a statement failed at the broker", exc_info=error)
            raise KsqlError(f"The broker refused: {error.args[0]}", text=self._text) from error
        elif isinstance(error, Exception):
            log.exception("a statement failed in a way that was not expected", exc_info=error)
            raise KsqlError(f"Unexpected {type(error).__name__}: {error}", text=self._text) from error
