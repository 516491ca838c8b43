"""What exists: streams, tables, types and persistent queries, by name. The planner reads it; the engine fills and keeps
it.

A catalog that others can see is never changed: the command log copies it, changes the copy, and puts that in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from caudal.ksql.errors import KsqlError, Position, suggestion
from caudal.ksql.sources import Source
from caudal.ksql.types import SqlType


class QueryKind(Enum):
    CREATE_AS = "CREATE_AS"  # CREATE … AS SELECT: it is the one writer that its sink was made with
    INSERT = "INSERT"  # INSERT INTO … SELECT


class Wanted(Enum):
    """What a user wants of a query; what it does is the engine's to say."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"


@dataclass(frozen=True, slots=True)
class PersistentQuery:
    id: str
    sql: str  # the whole statement
    kind: QueryKind
    sink: str  # the stream or table that it writes
    sink_topic: str
    sources: tuple[str, ...]  # the streams and tables that it reads
    read: tuple[Source, ...] = ()  # as they were when it was made: its plan stays the same when they get more columns
    properties: Mapping[str, Any] = field(default_factory=dict)  # of the session that made it
    wanted: Wanted = Wanted.RUNNING
    version: int = 1  # one more with each CREATE OR REPLACE


class Catalog:
    def __init__(self) -> None:
        self.sources: dict[str, Source] = {}
        self.types: dict[str, SqlType] = {}
        self.queries: dict[str, PersistentQuery] = {}
        self.settings: dict[str, str] = {}  # of ALTER SYSTEM
        self.last_query_number = -1

    def copy(self) -> Catalog:
        made = Catalog()
        made.sources = dict(self.sources)
        made.types = dict(self.types)
        made.queries = dict(self.queries)
        made.settings = dict(self.settings)
        made.last_query_number = self.last_query_number
        return made

    def source(self, name: str, at: Position | None = None) -> Source:
        """Raises with a suggestion where there is none."""
        found = self.sources.get(name)
        if found is None:
            raise KsqlError(f"{name} does not exist.{suggestion(name, self.sources)}", at)
        return found

    def type(self, name: str, at: Position | None = None) -> SqlType:
        found = self.types.get(name.upper())
        if found is None:
            raise KsqlError(f"Cannot resolve unknown type: {name}.{suggestion(name, self.types)}", at)
        return found

    def query(self, query_id: str, at: Position | None = None) -> PersistentQuery:
        found = self.queries.get(query_id) or self.queries.get(query_id.upper())
        if found is None:
            raise KsqlError(f"Unknown queryId: {query_id}.{suggestion(query_id, self.queries)}", at)
        return found

    # -- who reads and writes what -------------------------------------------------------------------------------------

    def readers(self, name: str) -> list[str]:
        """The ids of the queries that read a source."""
        return sorted(query.id for query in self.queries.values() if name in query.sources)

    def writers(self, name: str) -> list[str]:
        """The ids of the queries that write a source, the one that it was made with included."""
        return sorted(query.id for query in self.queries.values() if query.sink == name)

    def made_by(self, name: str) -> str | None:
        """The query that a source was made with, while that runs."""
        query_id = self.sources[name].query_id
        return query_id if query_id is not None and query_id in self.queries else None

    def check_can_drop(self, name: str, at: Position | None = None) -> None:
        """As ksqlDB: what queries read or INSERT INTO writes stays. The query that the source was made with ends with
        it."""
        own = self.made_by(name)
        readers = self.readers(name)
        writers = [query_id for query_id in self.writers(name) if query_id != own]
        if readers or writers:
            raise KsqlError(
                f"Cannot drop {name}. The following queries read from this source: [{', '.join(readers)}]. "
                f"The following queries write into this source: [{', '.join(writers)}]. "
                f"You need to terminate them before dropping {name}.",
                at,
            )

    # -- query ids -----------------------------------------------------------------------------------------------------

    def next_query_id(self, kind: QueryKind, sink: str, is_table: bool) -> str:
        """CSAS_NAME_3, CTAS_NAME_4, INSERTQUERY_5: the number is one more than the last one that was ever given."""
        number = self.last_query_number + 1
        if kind is QueryKind.INSERT:
            return f"INSERTQUERY_{number}"
        return f"{'CTAS' if is_table else 'CSAS'}_{sink}_{number}"
