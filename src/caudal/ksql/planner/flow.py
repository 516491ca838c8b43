"""A stream or table at some point of a plan: the node that it comes out of, and where its columns lie in a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from caudal.ksql.catalog import Catalog
from caudal.ksql.expressions.scope import Binding, Scope
from caudal.ksql.expressions.scope import Where as Place
from caudal.ksql.expressions.trees import Replace, canonical, rewritten
from caudal.ksql.formats.serdes import row_serde
from caudal.ksql.planner.logical import LogicalStep
from caudal.ksql.planner.row_functions import TableFunctionCall, null_key
from caudal.ksql.schema import Column, Schema
from caudal.ksql.schema import Place as ColumnPlace
from caudal.ksql.sources import Format, Window
from caudal.ksql.syntax.tree import Expression, Name
from caudal.ksql.types import SqlType
from caudal.serde import Serde
from caudal.streams import StreamsBuilder
from caudal.streams.stream import KStream
from caudal.streams.table import KTable


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of the key. A SELECT item that is one of the expressions `means` is this column."""

    name: str  # where nobody gives it another
    type: SqlType
    means: tuple[Expression, ...]  # canonical, the preferred one first
    equals: tuple[Expression, ...] = ()  # what it was joined on: another join on these needs no new key


@dataclass(frozen=True, slots=True)
class KeyBytes:
    """How keys are written in the topics that this comes from: what its partitions go by."""

    format: Format
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Flow:
    node: KStream | KTable
    columns: tuple[Binding, ...]  # what `*` stands for, in order
    key: tuple[KeyColumn, ...]
    value_types: tuple[SqlType, ...]  # of the whole value tuple
    logical: LogicalStep
    pseudo: tuple[Binding, ...] = ()  # columns that must be named to be seen
    window: Window | None = None
    retention: int | None = None
    key_bytes: KeyBytes | None = None  # None: nothing that another topic could agree with
    key_is: str = "key column"  # what the key is made of, for messages
    computed: tuple[tuple[Expression, Name], ...] = ()  # expressions whose values are columns by now
    is_join: bool = False
    has_tombstones: bool = True  # whether null values may come
    explode: tuple[TableFunctionCall, ...] = ()  # whose rows the next projection makes
    is_changes: bool = False  # a table whose changes are a stream already: what is left of it is its sink
    types: Mapping[str, SqlType] = field(default_factory=dict)  # those of CREATE TYPE

    @property
    def is_table(self) -> bool:
        return self.is_changes or isinstance(self.node, KTable)

    @property
    def stream(self) -> KStream:
        assert isinstance(self.node, KStream)
        return self.node

    @property
    def changes(self) -> KStream:
        """The rows as they are written: a table's changes, or the stream itself."""
        return self.node.to_stream() if isinstance(self.node, KTable) else self.node

    @property
    def table(self) -> KTable:
        assert isinstance(self.node, KTable)
        return self.node

    @property
    def scope(self) -> Scope:
        return Scope((*self.columns, *self.pseudo), is_windowed=self.window is not None, types=self.types)

    @property
    def no_key(self) -> Any:
        return null_key(len(self.key), self.window is not None)

    @property
    def key_types(self) -> tuple[SqlType, ...]:
        return tuple(column.type for column in self.key)

    @property
    def row_serde(self) -> Serde:
        return row_serde(self.value_types)

    def canonical(self, expression: Expression) -> Expression:
        """Names in full, and what is computed already by its column."""
        full = canonical(expression, self.scope)
        return rewritten(full, self._known) if self.computed else full

    @property
    def _known(self) -> Replace:
        return lambda one: next((name for known, name in self.computed if known == one), None)

    def key_index(self, expression: Expression) -> int | None:
        """Which key column a canonical expression is, where it is one."""
        if not isinstance(expression, Name):
            return None
        found = self.scope.resolve(expression)
        return found.index if found.where is Place.KEY else None


@dataclass
class Planning:
    """What the parts of one query's plan share."""

    builder: StreamsBuilder
    catalog: Catalog
    properties: Mapping[str, Any]
    reads: Counter[str]  # how often each topic is read
    sources: list[str] = field(default_factory=list)  # names, in the order they are read
    warnings: list[str] = field(default_factory=list)
    is_push: bool = False
    made: int = 0  # parts that need names of their own: subqueries, sides of a UNION


def described(columns: tuple[Binding, ...], key: tuple[KeyColumn, ...], *, prefixed: bool = False) -> Schema:
    """The schema that EXPLAIN shows for columns at some point of a plan."""
    shown = []
    for one in columns:
        name = f"{one.source}_{one.name}" if prefixed and one.source is not None else one.name
        place = ColumnPlace.KEY if one.where is Place.KEY else ColumnPlace.VALUE
        shown.append(Column(name, one.type, place))
    return Schema(tuple(shown))
