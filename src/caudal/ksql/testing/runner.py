"""Runs a case: its statements in an engine of their own, its assertions against the topics they filled.

ASSERT VALUES takes the next record of the source's topic, in the order they were written, and compares the columns that
are named. ASSERT NULL VALUES wants a tombstone. A topic of which something was asserted must have no further record at
the end. ASSERT STREAM and ASSERT TABLE compare a source with a definition.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from dataclasses import dataclass
from typing import Any

from caudal.ksql.engine.dml import bound_serdes
from caudal.ksql.errors import KsqlError, Position
from caudal.ksql.expressions.compiled import constant
from caudal.ksql.formats.ddl import source_of
from caudal.ksql.schema import ROWTIME, WINDOWEND, WINDOWSTART, Schema
from caudal.ksql.sources import Source
from caudal.ksql.syntax.parser import parse_statement
from caudal.ksql.syntax.script import split
from caudal.ksql.syntax.statements import AssertSource, AssertValues
from caudal.ksql.testing.cases import Case, Record
from caudal.ksql.testing.in_process import InProcess
from caudal.ksql.types import BIGINT
from caudal.runtime.record import Windowed
from caudal.runtime.test_driver import Message


@dataclass(frozen=True, slots=True)
class Outcome:
    case: Case
    failure: str | None  # what went wrong, with its place; None: it passed


class Wrong(Exception):
    """An assertion that does not hold."""


def run_case(case: Case) -> Outcome:
    try:
        _run(case)
    except Wrong as wrong:
        return Outcome(case, str(wrong))
    except KsqlError as error:
        message = error.within(case.text).explained()
        if case.expected_message is None and case.expected_error is None:
            return Outcome(case, f"Unexpected error: {message}")
        if case.expected_message is not None and case.expected_message not in message:
            return Outcome(case, f"Expected an error with «{case.expected_message}», got: {message}")
        return Outcome(case, None)
    if case.expected_error is not None or case.expected_message is not None:
        return Outcome(case, "Expected an error, and there was none.")
    return Outcome(case, None)


def _run(case: Case) -> None:
    read: Counter[str] = Counter()
    with InProcess() as engine:
        for name, value in case.properties.items():
            engine.set(name, value)
        records = deque(case.records)
        for text, at in split(case.text):
            _write(engine, records, at.line)
            statement = _assertion(text)
            try:
                if isinstance(statement, AssertValues):
                    _assert_values(engine, statement, read)
                elif isinstance(statement, AssertSource):
                    _assert_source(engine, statement)
                else:
                    engine.statement(text)
            except Wrong as wrong:
                raise Wrong(f"{case.file.name}:{at.line}: {wrong}") from None
            except KsqlError as error:
                raise _moved(error, at) from None
        _write(engine, records, None)
        for topic, count in read.items():
            more = len(engine.records[topic]) - count
            if more:
                raise Wrong(f"{case.file.name}: topic {topic} has {more} more records than were asserted.")


def _write(engine: InProcess, records: deque[Record], before: int | None) -> None:
    """Writes the case's own records that stand above the line; None: all that are left."""
    while records and (before is None or records[0].line < before):
        one = records.popleft()
        engine.publish(one.topic, Message(one.key, one.value, one.timestamp, one.headers))


def _assertion(text: str) -> Any:
    """The statement where it is one of the test tool's; others are the engine's to read."""
    words = text.split(maxsplit=2)
    if not words or words[0].upper() != "ASSERT" or len(words) < 2 or words[1].upper() in ("TOPIC", "SCHEMA", "NOT"):
        return None
    return parse_statement(text)


def _moved(error: KsqlError, at: Position) -> KsqlError:
    """The error with its place in the file: it knows the one in its statement."""
    if error.at is not None:
        column = error.at.column + at.column - 1 if error.at.line == 1 else error.at.column
        error.at = Position(error.at.line + at.line - 1, column, error.at.offset + at.offset)
        error.text = None
    return error


def _assert_values(engine: InProcess, statement: AssertValues, read: Counter[str]) -> None:
    source = engine.catalog.source(statement.target, statement.at)
    records = engine.records[source.topic]
    if read[source.topic] >= len(records):
        raise Wrong(f"{source.name} has no further record; it had {len(records)}.")
    message = records[read[source.topic]]
    read[source.topic] += 1
    named = statement.columns or tuple(source.schema.names())
    expected = {
        name: constant(expression, column_type(source, name))
        for name, expression in zip(named, statement.values, strict=True)
    }
    key, value = bound_serdes(source, engine.settings)
    actual = row_of(source.schema, key, value, message.key, message.value, message.timestamp)
    if (message.value is None) != statement.tombstone:
        raise Wrong(f"Expected {'a tombstone' if statement.tombstone else 'a row'}, got {_shown(actual)}.")
    wrong = {name: actual.get(name) for name, wanted in expected.items() if not same(actual.get(name), wanted)}
    if wrong:
        raise Wrong(f"Expected {_shown(expected)}, got {_shown({name: actual.get(name) for name in expected})}.")


def row_of(
    schema: Schema, key: Any, value: Any, key_bytes: bytes | None, value_bytes: bytes | None, timestamp: int
) -> dict[str, Any]:
    """A record as a row by column names, with its time and window."""
    keys = None if key_bytes is None else key.deserialize(key_bytes)
    row: dict[str, Any] = {ROWTIME: timestamp}
    if isinstance(keys, Windowed):
        row |= {WINDOWSTART: keys.start, WINDOWEND: keys.end}
        keys = keys.key
    for index, column in enumerate(schema.key):
        row[column.name] = None if keys is None else keys[index]
    values = None if value_bytes is None else value.deserialize(value_bytes)
    for index, column in enumerate(schema.value):
        row[column.name] = None if values is None else values[index]
    return row


def same(actual: Any, wanted: Any) -> bool:
    """Equal, with numbers of DOUBLE as near as texts of them can say; NaN is itself."""
    if isinstance(actual, float) and isinstance(wanted, float):
        return math.isclose(actual, wanted, rel_tol=1e-12) or (math.isnan(actual) and math.isnan(wanted))
    if isinstance(actual, list) and isinstance(wanted, list):
        return len(actual) == len(wanted) and all(map(same, actual, wanted))
    if isinstance(actual, dict) and isinstance(wanted, dict):
        return actual.keys() == wanted.keys() and all(same(actual[name], wanted[name]) for name in actual)
    return bool(actual == wanted)


def column_type(source: Source, name: str) -> Any:
    if name in (ROWTIME, WINDOWSTART, WINDOWEND):
        return BIGINT
    column = source.schema.find(name)
    if column is None:
        raise KsqlError(f"{source.name} has no column {name}; it has {source.schema}.")
    return column.type


def _assert_source(engine: InProcess, statement: AssertSource) -> None:
    wanted = source_of(
        statement.definition, engine.catalog, registry=engine.schemas, statement_properties=engine.held({}).merged()
    )
    actual = engine.catalog.source(statement.definition.name, statement.at)
    for what, one, two in (
        ("kind", actual.kind.value, wanted.kind.value),
        ("columns", str(actual.schema), str(wanted.schema)),
        ("topic", actual.topic, wanted.topic),
        ("key format", actual.key_format, wanted.key_format),
        ("value format", actual.value_format, wanted.value_format),
        ("window", actual.window, wanted.window),
    ):
        if one != two:
            raise Wrong(f"The {what} of {actual.name} should be {two}, and is {one}.")


def _shown(row: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{name}: {value!r}" for name, value in row.items()) + "}"
