"""An engine without broker and Spark: topics are lists, and every query runs in a TopologyTestDriver.

Statements are the engine's own; what they ask for (the command log, topics, queries, the producer) is in memory here.
A record that is inserted goes through all queries that read its topic, and theirs, before the next statement. A topic
has one partition, whatever was asked for. Schemas are in a mock registry. Push and pull queries are left out.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from caudal.ksql.catalog import Catalog, Wanted
from caudal.ksql.engine.command_log import Command, apply
from caudal.ksql.engine.dml import Inserts
from caudal.ksql.engine.engine import Engine
from caudal.ksql.engine.handlers import Request
from caudal.ksql.engine.queries import bad_records, planned_query
from caudal.ksql.engine.settings import EngineSettings
from caudal.ksql.engine.topics import FoundTopic
from caudal.ksql.errors import KsqlError
from caudal.ksql.planner.planned import PlannedQuery
from caudal.ksql.syntax.parser import parse_statement
from caudal.ksql.syntax.script import substitute
from caudal.plan.errors import PlanError
from caudal.plan.topology import SourceNode
from caudal.runtime.errors import Handlers, OnError, StreamsError
from caudal.runtime.test_driver import Message, TopologyTestDriver

_worlds = itertools.count()


class InProcess(Engine):
    def __init__(self, properties: Mapping[str, Any] | None = None) -> None:
        self.settings = EngineSettings(
            registry=f"mock://ksql-test-{next(_worlds)}",
            properties={"auto.offset.reset": "earliest", **(properties or {})},
        )
        self.records: dict[str, list[Message]] = defaultdict(list)  # by topic
        self.topics: Any = _Topics(self.records)
        self.queries: Any = _Queries(self.settings, self.records)
        self.log: Any = _Log(self.queries.follow)
        self.inserts = _Inserts(self.settings, self.queries.publish)
        self.views: Any = _NoViews()
        self.push_queries: Any = _NoPushQueries()
        self._registry = None
        self._session = Request(self)

    def __enter__(self) -> InProcess:
        return self

    def statement(self, text: str) -> None:
        """One statement. SET and DEFINE hold for those that follow."""
        filled = substitute(text, self._session.variables)
        try:
            self._execute_one(self._session, parse_statement(filled))
        except (StreamsError, PlanError) as error:
            raise KsqlError(str(error)) from error

    def publish(self, topic: str, message: Message) -> None:
        """One record as it is, as any other program would write it."""
        try:
            self.queries.publish(topic, message)
        except StreamsError as error:
            raise KsqlError(str(error)) from error

    def set(self, name: str, value: Any) -> None:
        self._session.session[name] = value

    def close(self) -> None:
        self.queries.close()


class _Log:
    """Changes go through JSON, as through the topic."""

    def __init__(self, changed: Callable[[Catalog], None]) -> None:
        self.catalog = Catalog()
        self._changed = changed
        self._written = 0

    def write(self, decide: Callable[[Catalog], Command | None]) -> int:
        command = decide(self.catalog)
        catalog = self.catalog.copy()
        for change in command.changes if command is not None else ():
            kind, _, name = change.key.partition("/")
            apply(catalog, kind, name, json.loads(json.dumps(change.definition, default=str)))
            self._written += 1
        self.catalog = catalog
        self._changed(catalog)
        return self._written - 1


class _Topics:
    def __init__(self, records: dict[str, list[Message]]) -> None:
        self._records = records
        self._partitions: dict[str, int] = {}

    def find(self, name: str) -> FoundTopic | None:
        partitions = self._partitions.get(name)
        return None if partitions is None else FoundTopic(name, [1] * partitions)

    def find_all(self, names: Iterable[str]) -> dict[str, FoundTopic]:
        found = {name: self.find(name) for name in names}
        return {name: topic for name, topic in found.items() if topic is not None}

    def create(self, name: str, partitions: int, replicas: int | None, configs: Mapping[str, str]) -> bool:
        if name in self._partitions:
            return False
        self._partitions[name] = partitions
        return True

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            self._partitions.pop(name, None)
            self._records.pop(name, None)


class _Running:
    def __init__(self, planned: PlannedQuery, driver: TopologyTestDriver) -> None:
        self.planned = planned
        self.driver = driver
        self.paused = False
        self.waiting: deque[tuple[str, Message]] = deque()  # what came while it was paused
        self.reads = {
            topic: node.reset
            for node in planned.topology.nodes
            if isinstance(node, SourceNode)
            for topic in node.topics
            if topic not in planned.topology.internal_topics
        }


class _Queries:
    def __init__(self, settings: EngineSettings, records: dict[str, list[Message]]) -> None:
        self._settings = settings
        self._records = records
        self._running: dict[str, _Running] = {}
        self._versions: dict[str, int] = {}
        self._pending: deque[tuple[str, Message]] = deque()

    def follow(self, catalog: Catalog) -> None:
        for query_id in [one for one in self._running if one not in catalog.queries]:
            self._running.pop(query_id).driver.close()
        for definition in catalog.queries.values():
            known = self._running.get(definition.id)
            if known is not None and self._versions[definition.id] == definition.version:
                self._set_paused(known, definition.wanted is Wanted.PAUSED)
                continue
            former = self._running.pop(definition.id, None)
            planned = planned_query(definition, catalog, self._settings)
            action, letters = bad_records(definition, catalog)
            handlers = Handlers(deserialization=OnError(action), dead_letter_topic=letters)
            driver = TopologyTestDriver(planned.topology, handlers=handlers, registry=self._settings.registry)
            running = _Running(planned, driver)
            self._running[definition.id], self._versions[definition.id] = running, definition.version
            if former is not None:  # CREATE OR REPLACE goes on with the state, from where it was
                driver.continue_from(former.driver)
                former.driver.close()
                continue
            for topic, reset in running.reads.items():
                for message in list(self._records.get(topic, ())) if reset == "earliest" else ():
                    self._process(running, topic, message)
            self._drain()

    def _set_paused(self, running: _Running, paused: bool) -> None:
        running.paused = paused
        while running.waiting and not paused:
            self._process(running, *running.waiting.popleft())
        self._drain()

    def publish(self, topic: str, message: Message) -> None:
        self._pending.append((topic, message))
        self._drain()

    def _drain(self) -> None:
        while self._pending:
            topic, message = self._pending.popleft()
            self._records[topic].append(message)
            for running in list(self._running.values()):
                if topic in running.reads:
                    self._process(running, topic, message)

    def _process(self, running: _Running, topic: str, message: Message) -> None:
        if running.paused:
            running.waiting.append((topic, message))
            return
        driver = running.driver
        driver.pipe_bytes(topic, message.key, message.value, message.timestamp, message.headers)
        for output in driver.output_topics:
            is_internal = output in running.planned.topology.internal_topics
            while (made := driver.read_message(output)) is not None:
                if not is_internal:
                    self._pending.append((output, made))

    def wait_gone(self, query_id: str, seconds: float = 0) -> bool:
        return True

    def is_failed(self, query_id: str) -> bool:
        return False

    def get(self, query_id: str) -> None:
        return None

    def all(self) -> list[Any]:
        return []

    def close(self) -> None:
        for running in self._running.values():
            running.driver.close()
        self._running.clear()


class _NoPushQueries:
    def get(self, query_id: str) -> None:
        return None

    def running(self) -> list[Any]:
        return []


class _NoViews:
    def touch(self, topic: str) -> None:
        """Nobody looks."""


class _Inserts(Inserts):
    """The producer is the world's own: what is produced is there at once."""

    def __init__(self, settings: EngineSettings, publish: Callable[[str, Message], None]) -> None:
        super().__init__(settings)
        self._publish = publish

    def _produce(
        self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, delivered: Callable[[Any, Any], None]
    ) -> None:
        self._publish(topic, Message(key, value, timestamp, ()))
        delivered(None, _Delivered())

    def close(self) -> None:
        pass


class _Delivered:
    def offset(self) -> int:
        return 0
