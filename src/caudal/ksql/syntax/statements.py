"""Statements as the parser finds them. Plain data, like `tree.py`; `text` is the statement as it was written, without
the semicolon and with its variables filled in."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from caudal.ksql.errors import Position
from caudal.ksql.schema import Place
from caudal.ksql.sources import SourceKind, WindowKind
from caudal.ksql.syntax.tree import NOWHERE, Expression, TypeName
from caudal.ksql.types import SqlType


@dataclass(frozen=True, slots=True)
class Statement:
    text: str = field(default="", compare=False, kw_only=True)
    at: Position = field(default=NOWHERE, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Property:
    """`KAFKA_TOPIC = 'orders'` of a WITH clause. The name is upper case unless quoted; values are literals' values."""

    name: str
    value: Any
    at: Position = field(default=NOWHERE, compare=False, kw_only=True)


# -- what is created ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    name: str
    type: SqlType | TypeName
    place: Place = Place.VALUE  # KEY (a stream's) and PRIMARY KEY (a table's) are both Place.KEY
    primary: bool = False  # it was written PRIMARY KEY
    header: str | None = None  # HEADER('name'); HEADERS has none
    at: Position = field(default=NOWHERE, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class CreateSource(Statement):
    """CREATE [OR REPLACE] [SOURCE] STREAM | TABLE [IF NOT EXISTS] name (columns) WITH (…) [ON ERROR …]."""

    kind: SourceKind
    name: str
    columns: tuple[ColumnDefinition, ...]
    properties: tuple[Property, ...]
    or_replace: bool = False
    if_not_exists: bool = False
    is_source: bool = False
    on_error: str | None = None  # FAIL, SKIP, DLQ


@dataclass(frozen=True, slots=True)
class CreateAsSelect(Statement):
    kind: SourceKind
    name: str
    properties: tuple[Property, ...]
    query: Query
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class InsertInto(Statement):
    """INSERT INTO stream [WITH (QUERY_ID = …)] SELECT …"""

    target: str
    query: Query
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True, slots=True)
class InsertValues(Statement):
    target: str
    columns: tuple[str, ...]  # empty: all of them, in order
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class DropSource(Statement):
    kind: SourceKind
    name: str
    if_exists: bool = False
    delete_topic: bool = False


@dataclass(frozen=True, slots=True)
class AlterSource(Statement):
    """ALTER STREAM | TABLE name ADD [COLUMN] column type, …"""

    kind: SourceKind
    name: str
    columns: tuple[ColumnDefinition, ...]


@dataclass(frozen=True, slots=True)
class CreateType(Statement):
    name: str
    type: SqlType | TypeName
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropType(Statement):
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateConnector(Statement):
    kind: str  # SOURCE | SINK
    name: str
    properties: tuple[Property, ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropConnector(Statement):
    name: str
    if_exists: bool = False


# -- queries -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SelectItem:
    """`expression` may be a Star or StructStar; those have no alias."""

    expression: Expression
    alias: str | None = None
    at: Position = field(default=NOWHERE, compare=False, kw_only=True)


class JoinKind(Enum):
    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"


@dataclass(frozen=True, slots=True)
class Within:
    """`WITHIN 1 HOUR`, `WITHIN (1 HOUR, 2 HOURS)`, each with `GRACE PERIOD …`; milliseconds."""

    before: int
    after: int
    grace: int | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """A source by name, with its alias (the name itself where none was given), or a subquery."""

    name: str
    alias: str
    query: Query | None = None
    at: Position = field(default=NOWHERE, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Join:
    kind: JoinKind
    right: Relation
    on: Expression
    within: Within | None = None
    at: Position = field(default=NOWHERE, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class WindowClause:
    kind: WindowKind
    size: int  # ms; of sessions the gap
    advance: int | None = None  # hopping
    retention: int | None = None
    grace: int | None = None
    at: Position = field(default=NOWHERE, compare=False, kw_only=True)


class Emit(Enum):
    CHANGES = "CHANGES"
    FINAL = "FINAL"


@dataclass(frozen=True, slots=True)
class OrderItem:
    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Query(Statement):
    """A SELECT. With `emit` it is a push query or the body of a persistent one, without it a pull query or batch."""

    items: tuple[SelectItem, ...]
    relation: Relation
    joins: tuple[Join, ...] = ()
    window: WindowClause | None = None
    where: Expression | None = None
    group_by: tuple[Expression, ...] = ()
    partition_by: tuple[Expression, ...] = ()
    having: Expression | None = None
    emit: Emit | None = None
    limit: int | None = None
    order_by: tuple[OrderItem, ...] = ()
    union: Query | None = None  # with this one; `emit` is the same in both, `order_by` and `limit` are the first one's
    distinct: bool = False
    union_all: bool = True  # False: UNION, which leaves out duplicates


# -- the rest ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QueryControl(Statement):
    """TERMINATE, PAUSE or RESUME; `query_id` None: ALL."""

    action: str  # TERMINATE | PAUSE | RESUME
    query_id: str | None


@dataclass(frozen=True, slots=True)
class Explain(Statement):
    """EXPLAIN statement, or EXPLAIN query id."""

    statement: Statement | None
    query_id: str | None = None


@dataclass(frozen=True, slots=True)
class PrintTopic(Statement):
    topic: str
    from_beginning: bool = False
    interval: int | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class SetProperty(Statement):
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class UnsetProperty(Statement):
    name: str


@dataclass(frozen=True, slots=True)
class AlterSystem(Statement):
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Define(Statement):
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Undefine(Statement):
    name: str


@dataclass(frozen=True, slots=True)
class Show(Statement):
    """SHOW or LIST. `what` is PROPERTIES, TOPICS, STREAMS, TABLES, QUERIES, FUNCTIONS, CONNECTORS, CONNECTOR PLUGINS,
    TYPES or VARIABLES; `kind` SOURCE or SINK of connectors."""

    what: str
    extended: bool = False
    all: bool = False
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Describe(Statement):
    """`what` is SOURCE, FUNCTION, CONNECTOR, or STREAMS and TABLES, which have no name."""

    what: str
    name: str | None = None
    extended: bool = False


@dataclass(frozen=True, slots=True)
class AssertTopic(Statement):
    topic: str
    properties: tuple[Property, ...] = ()
    timeout: int | None = None  # ms
    exists: bool = True


@dataclass(frozen=True, slots=True)
class AssertSchema(Statement):
    subject: str | None
    id: int | None
    timeout: int | None = None
    exists: bool = True


@dataclass(frozen=True, slots=True)
class AssertValues(Statement):
    """Of the test tool. `values` None: ASSERT NULL VALUES, a tombstone for the key columns given."""

    target: str
    columns: tuple[str, ...]
    values: tuple[Expression, ...]
    tombstone: bool = False


@dataclass(frozen=True, slots=True)
class AssertSource(Statement):
    """ASSERT STREAM | TABLE …: a CREATE statement whose source must be as it says. Of the test tool."""

    definition: CreateSource


@dataclass(frozen=True, slots=True)
class RunScript(Statement):
    """Of the shell."""

    path: str
