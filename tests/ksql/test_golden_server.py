"""A sample of the golden cases end to end: statements through REST, records through a broker, queries on Spark.

All cases share one server and one Spark query. Their streams and tables get names of their own, columns keep theirs.
Rows go in step by step: the next of every case follows when the queries have taken the last ones.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from caudal.ksql.engine.dml import bound_serdes
from caudal.ksql.engine.engine import Engine
from caudal.ksql.engine.settings import EngineSettings
from caudal.ksql.expressions.compiled import constant
from caudal.ksql.syntax import statements as s
from caudal.ksql.syntax.format import format_statement
from caudal.ksql.syntax.parser import parse_statement
from caudal.ksql.syntax.script import split
from caudal.ksql.testing.cases import Case, read_cases
from caudal.ksql.testing.runner import column_type, row_of, same
from caudal.testing import EmbeddedBroker
from tests.ksql.running_server import Client, running_server

SAMPLE = 40
START_SECONDS = 200
STEP_SECONDS = 120
FILES = sorted((Path(__file__).parent / "golden").glob("*.sql"))
MADE = (s.CreateSource, s.CreateAsSelect)


@dataclass
class Run:
    """A case with names of its own."""

    case: Case
    statements: list[s.Statement]

    @property
    def definitions(self) -> list[s.Statement]:
        return [one for one in self.statements if not isinstance(one, s.InsertValues | s.AssertValues)]

    @property
    def inserts(self) -> list[s.Statement]:
        return [one for one in self.statements if isinstance(one, s.InsertValues)]

    @property
    def assertions(self) -> list[s.AssertValues]:
        return [one for one in self.statements if isinstance(one, s.AssertValues)]


def eligible(case: Case) -> list[s.Statement] | None:
    """Cases that first define, then insert, and that assert rows."""
    if case.expected_error or case.expected_message or case.properties or case.records or "${" in case.text:
        return None
    statements = [parse_statement(text) for text, _ in split(case.text)]
    kinds = [type(one) for one in statements]
    known = (*MADE, s.InsertInto, s.InsertValues, s.AssertValues)
    if not set(kinds) <= set(known) or s.AssertValues not in kinds or s.CreateAsSelect not in kinds:
        return None
    times = [_time_of(one) for one in statements if isinstance(one, s.InsertValues)]
    asserted = {name for one in statements if isinstance(one, s.AssertValues) for name in one.columns}
    if 0 in times or (None in times and asserted & {"ROWTIME", "WINDOWSTART", "WINDOWEND"}):
        return None  # a client cannot write time 0; without a time it is now
    first = kinds.index(s.InsertValues) if s.InsertValues in kinds else len(kinds)
    return statements if not set(kinds[first:]) & {*MADE, s.InsertInto} else None


def _time_of(statement: s.InsertValues) -> Any:
    row = dict(zip(statement.columns, statement.values, strict=False))
    return getattr(row.get("ROWTIME"), "value", None)


def sample() -> list[Run]:
    """The first ones of each file."""
    files = [[(case, made) for case in read_cases(file) if (made := eligible(case)) is not None] for file in FILES]
    in_turn = [one for row in zip_longest(*files) for one in row if one is not None]
    chosen = in_turn[:SAMPLE]
    return [Run(case, renamed(statements, f"C{number}_")) for number, (case, statements) in enumerate(chosen)]


def renamed(statements: list[s.Statement], prefix: str) -> list[s.Statement]:
    """Streams and tables under other names; in queries their old names are aliases."""

    def query(old: s.Query) -> s.Query:
        joins = tuple(replace(join, right=relation(join.right)) for join in old.joins)
        union = query(old.union) if old.union is not None else None
        return replace(old, relation=relation(old.relation), joins=joins, union=union)

    def relation(old: s.Relation) -> s.Relation:
        if old.query is not None:
            return replace(old, query=query(old.query))
        return replace(old, name=prefix + old.name)

    def properties(old: tuple[s.Property, ...]) -> tuple[s.Property, ...]:
        return tuple(replace(one, value=prefix + one.value) if one.name == "KAFKA_TOPIC" else one for one in old)

    made: list[s.Statement] = []
    for one in statements:
        if isinstance(one, s.CreateSource):
            made.append(replace(one, name=prefix + one.name, properties=properties(one.properties)))
        elif isinstance(one, s.CreateAsSelect):
            given = properties(one.properties)
            made.append(replace(one, name=prefix + one.name, query=query(one.query), properties=given))
        elif isinstance(one, s.InsertInto):
            made.append(replace(one, target=prefix + one.target, query=query(one.query)))
        elif isinstance(one, s.InsertValues | s.AssertValues):
            made.append(replace(one, target=prefix + one.target))
    return made


@pytest.fixture(scope="module")
def engine(broker: EmbeddedBroker, host: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    from tests.registry.running_registry import running_registry

    with running_registry(broker.bootstrap) as registry:
        settings = EngineSettings(
            bootstrap=broker.bootstrap,
            service_id=f"golden{os.getpid():x}_",
            state_dir=str(tmp_path_factory.mktemp("golden")),
            registry=registry,
        )
        yield Engine(settings, host=host)


@pytest.mark.timeout(600)
def test_a_sample_end_to_end(engine: Engine) -> None:
    runs = sample()
    assert len({run.case.id for run in runs}) == SAMPLE
    assert len({run.case.file for run in runs}) >= min(len(FILES) - 2, 12)
    with running_server(engine) as url:
        client = Client(url)
        for run in runs:
            text = "\n".join(f"{format_statement(one)};" for one in run.definitions)
            client.ksql(text, **{"auto.offset.reset": "earliest"})
        wait_until_running(engine)
        for number in range(max(len(run.inserts) for run in runs)):
            due = [run.inserts[number] for run in runs if number < len(run.inserts)]
            client.ksql("\n".join(f"{format_statement(one)};" for one in due))
            wait_until_taken(engine)
        failures = [failure for run in runs for failure in compare(engine, run)]
        assert not failures, "\n".join(failures)


def wait_until_running(engine: Engine) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        states = {query.id: (query.host_state, query.cause) for query in engine.queries.all()}
        failed = {name: cause for name, (state, cause) in states.items() if state == "ERROR"}
        assert not failed, failed
        if states and all(state == "RUNNING" for state, _ in states.values()):
            return
        assert time.monotonic() < deadline, states
        time.sleep(0.2)


def wait_until_taken(engine: Engine) -> None:
    """Everything that is in the topics that queries read is committed by their groups, twice in a row the same."""
    deadline = time.monotonic() + STEP_SECONDS
    while True:
        behind = {query.id: query.application.behind() for query in engine.queries.all() if query.application}
        if not any(behind.values()):
            return
        assert time.monotonic() < deadline, behind
        time.sleep(0.1)


def compare(engine: Engine, run: Run) -> Iterator[str]:
    """What is not as asserted."""
    records: dict[str, list[Any]] = {}
    for assertion in run.assertions:
        source = engine.catalog.source(assertion.target)
        if source.topic not in records:
            records[source.topic] = read(engine.settings.bootstrap, source.topic)
        label = f"{run.case.id}, {source.name}"
        if not records[source.topic]:
            yield f"{label}: no further record"
            return
        message = records[source.topic].pop(0)
        key, value = bound_serdes(source, engine.settings)
        actual = row_of(source.schema, key, value, message.key(), message.value(), message.timestamp()[1])
        names = assertion.columns or tuple(source.schema.names())
        for name, expression in zip(names, assertion.values, strict=True):
            wanted = constant(expression, column_type(source, name))
            if not same(actual[name], wanted):
                yield f"{label}: {name} is {actual[name]!r}, not {wanted!r} (of {actual})"
                return
        if (message.value() is None) != assertion.tombstone:
            yield f"{label}: {'a tombstone' if message.value() is None else 'a row'} was not expected"
            return
    for topic, left in records.items():
        if left:
            yield f"{run.case.id}: {topic} has {len(left)} more records than were asserted"


def read(bootstrap: str, topic: str) -> list[Any]:
    """What is committed in the topic's one partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "golden-reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    try:
        while (message := consumer.poll(30)) is not None and message.error() is None:
            found.append(message)
    finally:
        consumer.close()
    return found
