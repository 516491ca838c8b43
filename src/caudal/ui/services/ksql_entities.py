"""The answers of a KSQL server as pages show them: tables and sentences, sources, queries and functions.

Tables are those that the shell draws (ksql/shell/drawing.py), so that both say the same of the same answer. A field
that is missing leaves a gap and nothing worse: the server may be another one than ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rich.table import Table as DrawnTable

from caudal.ksql.shell import describing, drawing
from caudal.ksql.shell.drawing import text, type_text
from caudal.ui.services import ksql_completion as completion
from caudal.ui.services.ksql import Entity


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """Words as they are: a sentence, or lines that belong together."""

    text: str


@dataclass(frozen=True, slots=True)
class Warned:
    text: str


Part = Table | Said | Warned


def parts(entity: Entity) -> list[Part]:
    """What is shown of one answer."""
    drawer = _drawers().get(str(entity.get("@type")))
    found: list[Part] = []
    lines: list[str] = []
    for drawn in drawer(entity) if drawer is not None else [text(entity)]:
        if isinstance(drawn, DrawnTable):
            if any(lines):
                found.append(Said("\n".join(lines).strip("\n")))
            lines = []
            found.append(_table(drawn))
        else:
            lines.append(drawn)
    if any(lines):
        found.append(Said("\n".join(lines).strip("\n")))
    found += [Warned(_message(warning)) for warning in entity.get("warnings") or ()]
    return found


def _drawers() -> dict[str, drawing.Drawer]:
    """Those of descriptions register themselves when their module is there."""
    assert describing.__name__
    return drawing.DRAWERS


def _message(warning: Any) -> str:
    return text(warning.get("message", warning) if isinstance(warning, dict) else warning)


def _table(drawn: DrawnTable) -> Table:
    columns = [[str(cell) for cell in column.cells] for column in drawn.columns]
    return Table(
        tuple(str(column.header) for column in drawn.columns),
        tuple(zip(*columns, strict=True)),
        text(drawn.title),
    )


def created_query(entity: Entity) -> str | None:
    """The id of the persistent query that a statement began."""
    status = entity.get("commandStatus")
    found = status.get("queryId") if isinstance(status, dict) else None
    return str(found) if found else None


def explained(entity: Entity) -> Query | None:
    """What EXPLAIN says."""
    found = entity.get("queryDescription")
    return query_of(found) if isinstance(found, dict) else None


# -- sources -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    name: str
    is_table: bool
    topic: str
    key_format: str
    value_format: str
    window: str
    columns: tuple[completion.Column, ...]
    read_by: tuple[str, ...]
    written_by: tuple[str, ...]
    statement: str
    partitions: int | None = None
    statistics: str = ""
    errors: str = ""

    @property
    def kind(self) -> completion.Kind:
        return completion.Kind.TABLE if self.is_table else completion.Kind.STREAM


def sources_of(entities: Iterable[Entity]) -> list[Source]:
    """Of DESCRIBE STREAMS, DESCRIBE TABLES and DESCRIBE name."""
    found = []
    for entity in entities:
        described = list(entity.get("sourceDescriptions") or ())
        if isinstance(entity.get("sourceDescription"), dict):
            described.append(entity["sourceDescription"])
        found += [_source(one) for one in described]
    return sorted(found, key=lambda one: one.name)


def _source(one: Entity) -> Source:
    return Source(
        text(one.get("name")),
        text(one.get("type")).upper() == "TABLE",
        text(one.get("topic")),
        text(one.get("keyFormat")),
        text(one.get("valueFormat") or one.get("format")),
        text(one.get("windowType")),
        tuple(column_of(field) for field in one.get("fields") or ()),
        tuple(text(query.get("id")) for query in one.get("readQueries") or ()),
        tuple(text(query.get("id")) for query in one.get("writeQueries") or ()),
        text(one.get("statement")),
        one.get("partitions") if isinstance(one.get("partitions"), int) and one.get("extended") else None,
        text(one.get("statistics")),
        text(one.get("errorStats")),
    )


def column_of(field: Entity) -> completion.Column:
    schema = field.get("schema") if isinstance(field.get("schema"), dict) else {}
    inner = tuple(column_of(one) for one in (schema or {}).get("fields") or ())
    type_name = type_text(schema).replace("VARCHAR(STRING)", "VARCHAR")
    return completion.Column(text(field.get("name")), type_name, field.get("type") == "KEY", inner)


# -- queries -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Query:
    id: str
    sql: str
    kind: str  # PERSISTENT or PUSH
    state: str  # RUNNING, PAUSED, ERROR, and of the host that runs it: CREATED, STARTING, STANDBY, RESTARTING
    sinks: tuple[str, ...]
    sources: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    error: str = ""
    topology: str = ""
    plan: str = ""
    group: str = ""
    properties: tuple[tuple[str, str], ...] = ()
    columns: tuple[completion.Column, ...] = ()

    @property
    def is_on_its_way(self) -> bool:
        return self.state in ("CREATED", "STARTING", "RESTARTING")


def queries_of(entities: Iterable[Entity]) -> list[Query]:
    """Of SHOW QUERIES, with or without EXTENDED."""
    found = []
    for entity in entities:
        found += [query_of(one) for one in [*(entity.get("queries") or ()), *(entity.get("queryDescriptions") or ())]]
    return sorted(found, key=lambda one: one.id)


def query_of(one: Entity) -> Query:
    """A line of SHOW QUERIES, or what EXPLAIN and SHOW QUERIES EXTENDED describe."""
    state = one.get("state") or next(iter(one.get("statusCount") or one.get("ksqlHostQueryStatus") or {}.values()), "")
    host = text(one.get("hostState"))
    errors = [text(error.get("errorMessage")) for error in one.get("queryErrors") or ()]
    return Query(
        text(one.get("id")),
        text(one.get("queryString") or one.get("statementText")),
        text(one.get("queryType")) or "PERSISTENT",
        host if text(state) == "RUNNING" and host else text(state),
        tuple(one.get("sinks") or ()),
        tuple(one.get("sources") or ()),
        tuple(one.get("sinkKafkaTopics") or ()),
        text(one.get("error")) or "\n".join(errors),
        text(one.get("topology")),
        text(one.get("executionPlan")),
        text(one.get("consumerGroupId")),
        tuple((name, text(value)) for name, value in sorted((one.get("overriddenProperties") or {}).items())),
        tuple(column_of(field) for field in one.get("fields") or ()),
    )


# -- functions and types -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    kind: str
    category: str


def functions_of(entities: Iterable[Entity]) -> list[Function]:
    found = [
        Function(text(one.get("name")), text(one.get("type")), text(one.get("category")))
        for entity in entities
        for one in entity.get("functions") or ()
    ]
    return sorted(found, key=lambda one: one.name)


def signatures_of(entity: Entity) -> completion.Function:
    """Of DESCRIBE FUNCTION.

    >>> argument = {"name": "input", "type": "VARCHAR", "isVariadic": False}
    >>> variation = {"arguments": [argument], "returnType": "INTEGER"}
    >>> signatures_of({"name": "LEN", "functions": [variation]}).signatures
    ('(input VARCHAR) → INTEGER',)
    """
    shown = []
    for one in entity.get("functions") or ():
        arguments = ", ".join(_argument(each) for each in one.get("arguments") or ())
        shown.append(f"({arguments}) → {text(one.get('returnType'))}")
    return completion.Function(text(entity.get("name")), tuple(dict.fromkeys(shown)), text(entity.get("description")))


def _argument(one: Entity) -> str:
    shown = f"{text(one.get('name'))} {text(one.get('type'))}".strip()
    return f"{shown}…" if one.get("isVariadic") else shown


def types_of(entities: Iterable[Entity]) -> list[tuple[str, str]]:
    """Names of custom types with what they stand for."""
    found = {name: type_text(schema) for entity in entities for name, schema in (entity.get("types") or {}).items()}
    return sorted(found.items())


def topics_of(entities: Iterable[Entity]) -> list[str]:
    return sorted(text(one.get("name")) for entity in entities for one in entity.get("topics") or ())
