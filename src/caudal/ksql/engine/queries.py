"""Persistent queries: each a Streams application, all of them on one Spark host.

What should run is what the catalog says (`follow`); a thread compares that with what runs. New queries are planned and
their topics prepared side by side, then handed to the host together: it starts its Spark query once for all of them. A
query that cannot be planned, prepared or run is in ERROR with its cause, and the others run on.

With several servers of one service id each has every query; the group's keeper decides which one runs it, the others
stand by. A server lets the one that `spread` names join first.

Deliberately without: retries of failed queries. RESUME starts one again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from caudal.ksql.catalog import Catalog, PersistentQuery, Wanted
from caudal.ksql.engine import properties
from caudal.ksql.engine.properties import Properties
from caudal.ksql.engine.settings import EngineSettings
from caudal.ksql.engine.topics import Topics
from caudal.ksql.errors import KsqlError
from caudal.ksql.planner.planned import PlannedQuery, Sink
from caudal.ksql.sources import OnError
from caudal.ksql.syntax.statements import CreateAsSelect, InsertInto
from caudal.pipelines.records import Order
from caudal.runtime.errors import StreamsError
from caudal.streams.application import Application, add_all

if TYPE_CHECKING:
    from caudal.runtime.spark.host import SparkHost

log = logging.getLogger("caudal.ksql.queries")

THREADS = 8
STOP_SECONDS = 60.0
STANDBY_DELAY = 4.0  # how long a server that is not meant to run a query waits before it joins the query's group

RUNNING, ERROR, PAUSED = "RUNNING", "ERROR", "PAUSED"  # the states that ksqlDB's clients know
_STATEMENTS = {Order.PAUSE: "PAUSE", Order.RESUME: "RESUME", Order.STOP: "TERMINATE"}


class Query:
    """One persistent query on this server."""

    def __init__(self, definition: PersistentQuery) -> None:
        self.definition = definition
        self.planned: PlannedQuery | None = None
        self.application: Application | None = None
        self.failure: str | None = None
        self.accepted = time.monotonic()
        self.not_before = 0.0  # a standby joins later
        self.caught_up = False  # it has been at the end of its topics since it started here
        self.gone = threading.Event()  # it has stopped, and what it made for itself is deleted

    @property
    def id(self) -> str:
        return self.definition.id

    @property
    def host_state(self) -> str:
        """As the host has it: CREATED, STARTING, RUNNING, PAUSED, STANDBY, RESTARTING, STOPPED or ERROR."""
        if self.failure is not None:
            return ERROR
        return "CREATED" if self.application is None else self.application.state

    @property
    def cause(self) -> str | None:
        """Why it is in ERROR."""
        return self.failure or (self.application.failure if self.application is not None else None)

    @property
    def state(self) -> str:
        """RUNNING, PAUSED or ERROR. A query that starts or stands by counts as running, as in ksqlDB."""
        if self.cause is not None or self.host_state == ERROR:
            return ERROR
        return PAUSED if self.definition.wanted is Wanted.PAUSED else RUNNING

    def metrics(self) -> dict[str, Any]:
        return self.application.metrics() if self.application is not None else {}


class Queries:
    def __init__(
        self,
        settings: EngineSettings,
        host: SparkHost,
        topics: Topics,
        *,
        leads: Callable[[str], bool] = lambda query_id: True,
        execute: Callable[[str], Any] | None = None,
    ) -> None:
        """`leads` says whether this server, of those that live, is the one that should run a query. `execute` runs a
        statement: what the control center orders is written to the command topic, like what is typed."""
        self._settings = settings
        self._host = host
        self._topics = topics
        self._leads = leads
        self._execute = execute
        self._catalog = Catalog()
        self._queries: dict[str, Query] = {}
        self._leaving: dict[str, Query] = {}
        self._restart: set[str] = set()
        self._changed = threading.Condition()
        self._due = False
        self._held = 0
        self._closing = False
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="ksql-queries")
        self._thread = threading.Thread(target=self._run, name="ksql-queries", daemon=True)

    # -- from outside --------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()

    def follow(self, catalog: Catalog) -> None:
        """This is what there is now. Returns at once."""
        with self._changed:
            self._catalog = catalog
            self._due = True
            self._changed.notify_all()

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Queries that are made in this block start together at its end: each start of the host costs a second."""
        with self._changed:
            self._held += 1
        try:
            yield
        finally:
            with self._changed:
                self._held -= 1
                self._due = True
                self._changed.notify_all()

    def restart(self, query_id: str) -> None:
        """A query in ERROR is tried again."""
        with self._changed:
            self._restart.add(query_id)
            self._due = True
            self._changed.notify_all()

    def get(self, query_id: str) -> Query | None:
        with self._changed:
            return self._queries.get(query_id)

    def is_failed(self, query_id: str) -> bool:
        query = self.get(query_id)
        return query is not None and query.state == ERROR

    def all(self) -> list[Query]:
        with self._changed:
            return list(self._queries.values())

    def wait_until(self, query_id: str, states: set[str], seconds: float) -> str:
        """Waits for one of these host states or ERROR; returns the state it is in at the end. For tests and scripts."""
        deadline = time.monotonic() + seconds
        while True:
            query = self.get(query_id)
            state = query.host_state if query is not None else "CREATED"
            if state in states or state == ERROR or time.monotonic() > deadline:
                return state
            time.sleep(0.01)

    def settle(self, query_id: str, start_seconds: float, wait_seconds: float) -> None:
        """Waits until a query that has just been made or started runs, and for a while until it has caught up once:
        its table would look empty before. Raises KsqlError where it has failed or does not start."""
        query = self.get(query_id)
        if query is None or query.caught_up:
            return
        starting = time.monotonic() + start_seconds
        catching_up: float | None = None  # until when, once it runs
        while not query.caught_up:
            state = query.host_state
            if state == ERROR:
                raise KsqlError(f"{query.definition.sink} has nothing to show: query {query_id} failed. {query.cause}")
            if state in ("PAUSED", "STANDBY", "STOPPED"):
                return
            if state == RUNNING:
                assert query.application is not None
                query.caught_up = query.application.behind() == 0
                catching_up = catching_up or time.monotonic() + wait_seconds
                if time.monotonic() > catching_up:
                    return
            elif time.monotonic() > starting:
                raise KsqlError(f"Query {query_id}, which fills {query.definition.sink}, is still {state}: ask again.")
            time.sleep(0.02)

    def wait_gone(self, query_id: str, seconds: float = STOP_SECONDS) -> bool:
        """Waits until a query that the catalog has no more is stopped here, and its own topics are deleted."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with self._changed:
                query = self._leaving.get(query_id) or self._queries.get(query_id)
            if query is None or query.gone.wait(0.05):
                return True
        return False

    def close(self) -> None:
        """Everything stops and stays as it is for the next start; the host is its owner's to close."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)
        applications = [query.application for query in self._queries.values() if query.application is not None]
        list(self._pool.map(_stop, applications))
        self._pool.shutdown(wait=True)

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._due and not self._closing:
                    self._changed.wait(0.5)
                if self._closing:
                    return
                self._due = False
                catalog, restart = self._catalog, self._restart
                self._restart = set()
            try:
                self._reconcile(catalog, restart)
            except Exception:
                log.exception("persistent queries could not be brought to what the catalog says")

    def _reconcile(self, catalog: Catalog, restart: set[str]) -> None:
        self._let_go(catalog)
        now = time.monotonic()
        fresh: list[Query] = []
        for definition in catalog.queries.values():
            known = self._queries.get(definition.id)
            if known is not None and (known.definition.version != definition.version or definition.id in restart):
                self._stop_for_successor(known)
                known = None
            if known is None:
                known = Query(definition)
                if not self._leads(definition.id):
                    known.not_before = now + STANDBY_DELAY
                with self._changed:
                    self._queries[definition.id] = known
            elif known.definition != definition:
                self._pause_or_resume(known, definition)
            with self._changed:
                is_leaving = definition.id in self._leaving  # one of the same name: it goes first
            if known.application is None and known.failure is None and known.not_before <= now and not is_leaving:
                fresh.append(known)
        if fresh and not self._held:
            self._start(fresh, catalog)

    def _let_go(self, catalog: Catalog) -> None:
        for query in self.all():
            if query.id not in catalog.queries:
                with self._changed:
                    self._leaving[query.id] = self._queries.pop(query.id)
                self._pool.submit(self._end, query)

    def _end(self, query: Query) -> None:
        """Stops it for good: its group, state and internal topics go."""
        try:
            if query.application is not None:
                query.application.stop(STOP_SECONDS)
            self._topics.delete_all_of(self._settings.application_id(query.id))
        except Exception as error:
            log.warning("query %s has ended, but left something behind: %s", query.id, error)
        finally:
            query.gone.set()
            with self._changed:
                self._leaving.pop(query.id, None)

    def _stop_for_successor(self, query: Query) -> None:
        with self._changed:
            self._queries.pop(query.id, None)
        if query.application is not None:
            _stop(query.application)

    def _pause_or_resume(self, query: Query, definition: PersistentQuery) -> None:
        former, query.definition = query.definition.wanted, definition
        application = query.application
        if application is None or former is definition.wanted:
            return
        change = application.pause if definition.wanted is Wanted.PAUSED else application.resume

        def do() -> None:
            try:
                change()
            except StreamsError as error:
                log.warning("query %s: %s", query.id, error)

        self._pool.submit(do)

    # -- starting ------------------------------------------------------------------------------------------------------

    def _start(self, fresh: list[Query], catalog: Catalog) -> None:
        prepared: list[Future[bool]] = [self._pool.submit(self._prepare, query, catalog) for query in fresh]
        ready = [query for query, future in zip(fresh, prepared, strict=True) if future.result()]
        applications = [query.application for query in ready if query.application is not None]
        if not applications:
            return
        try:
            add_all(applications, self._host)
        except StreamsError as error:
            for query in ready:
                query.failure = str(error)

    def _prepare(self, query: Query, catalog: Catalog) -> bool:
        """Plans it and makes its topics; where that fails, the query is in ERROR."""
        try:
            query.planned = planned_query(query.definition, catalog, self._settings)
            application = self._application(query.definition, query.planned, catalog)
            application.prepare()
            if query.definition.wanted is Wanted.PAUSED:
                application._hosted.paused = True
            query.application = application
            return True
        except (KsqlError, StreamsError) as error:
            query.failure = str(error)
            log.error("query %s cannot start: %s", query.id, error)
        except Exception as error:
            query.failure = f"Unexpected {type(error).__name__}: {error}"
            log.exception("query %s cannot start", query.id)
        return False

    def _application(self, definition: PersistentQuery, planned: PlannedQuery, catalog: Catalog) -> Application:
        held = Properties(definition.properties, catalog.settings, self._settings.properties)
        guarantee = str(held[properties.GUARANTEE])
        on_error, letters = bad_records(definition, catalog)
        given: dict[str, Any] = {}
        commit_interval = held["commit.interval.ms"]
        if commit_interval is not None and int(commit_interval) > 0:
            given["commit_interval"] = int(commit_interval)
        return Application(
            planned.topology,
            bootstrap=self._settings.bootstrap,
            registry=self._settings.registry,
            guarantee="exactly_once" if guarantee.startswith("exactly_once") else guarantee,
            on_bad_record=on_error,
            dead_letter_topic=letters,
            on_dropped=self._settings.dropped(definition.id),
            state_dir=self._settings.state_dir,
            replication_factor=self._settings.replication_factor,
            client=self._settings.client,
            host=self._host,
            origin={
                "kind": "ksql",
                "query": definition.id,
                "sql": definition.sql,
                "service": self._settings.service_id,
                "url": self._settings.url,
            },
            obey=lambda order: self._obey(definition.id, order),
            **given,
        )

    def _obey(self, query_id: str, order: Order) -> None:
        """An order from the control center. Of several servers the one that has the query gives it to all."""
        query = self.get(query_id)
        if query is not None and query.host_state != "STANDBY" and self._execute is not None:
            self._execute(f"{_STATEMENTS[order]} {query_id};")


def planned_query(definition: PersistentQuery, catalog: Catalog, settings: EngineSettings) -> PlannedQuery:
    """The plan of a query, from what its sources were when it was made: a `SELECT *` stays what it was."""
    from caudal.ksql.planner.plan import plan_query
    from caudal.ksql.syntax.parser import parse_statement

    statement = parse_statement(definition.sql)
    seen = catalog.copy()
    for source in definition.read:
        current = seen.sources.get(source.name)
        if current is None:
            raise KsqlError(f"{source.name}, which query {definition.id} reads, does not exist any more.")
        seen.sources[source.name] = replace(source, topic=current.topic)
    merged = Properties(definition.properties, catalog.settings, settings.properties).merged()
    application_id = settings.application_id(definition.id)
    if isinstance(statement, CreateAsSelect):
        given = tuple((prop.name, prop.value) for prop in statement.properties)
        sink = Sink(statement.name, statement.kind, given)
    elif isinstance(statement, InsertInto):
        target = catalog.source(statement.target)
        sink = Sink(target.name, target.kind, insert=True)
    else:
        raise KsqlError(f"Query {definition.id} was not made by a statement that makes queries.")
    return plan_query(statement.query, seen, application_id=application_id, sink=sink, properties=merged)


def bad_records(definition: PersistentQuery, catalog: Catalog) -> tuple[str, str | None]:
    """What an application does with records that it cannot read, and the topic for them: the strictest of its sources.

    One choice for all of a query's sources: where one fails, all do; where one has a dead-letter topic, all use it.
    """
    sources = [catalog.sources[name] for name in definition.sources if name in catalog.sources]
    if any(source.on_error is OnError.FAIL for source in sources):
        return "fail", None
    letters = [f"{source.topic}-dlq" for source in sources if source.on_error is OnError.DLQ]
    return ("dead letter", letters[0]) if letters else ("skip", None)


def _stop(application: Application) -> None:
    try:
        application.stop(STOP_SECONDS)
    except Exception as error:
        log.warning("'%s' did not stop cleanly: %s", application.application_id, error)
