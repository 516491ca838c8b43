"""What planning gives: the topology that runs a query, and what its result is."""

from __future__ import annotations

from dataclasses import dataclass, field

from caudal.ksql.planner.logical import LogicalStep
from caudal.ksql.schema import Schema
from caudal.ksql.sources import Format, SourceKind, Window
from caudal.ksql.syntax.statements import Property
from caudal.plan.topology import Topology


@dataclass(frozen=True, slots=True)
class Sink:
    """Where a persistent query writes to; properties that were not given are inherited from the leftmost source."""

    name: str  # of the stream or table
    kind: SourceKind
    # Of the WITH clause. As the parser gives them errors can point to them; a plan that was stored has pairs.
    properties: tuple[Property | tuple[str, object], ...] = ()
    insert: bool = False  # INSERT INTO: the stream is in the catalog, and the result must have its columns


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """The topology writes to `topic`: a push query's too, to a topic that exists in its own host only.

    Of a push query the key columns of `schema` are those key and window columns that it selects, as one plain tuple
    (`window` is None): with them a row that is taken back (null value) can be told from others.
    """

    topology: Topology
    kind: SourceKind  # of the result
    schema: Schema  # of the result
    topic: str
    key_format: Format
    value_format: Format
    window: Window | None
    sources: tuple[str, ...]  # names of the streams and tables that are read
    retention: int | None = None  # of a windowed result, ms
    timestamp_column: str | None = None
    warnings: tuple[str, ...] = ()
    timestamp_format: str | None = None
    logical: LogicalStep | None = field(default=None, compare=False)  # what EXPLAIN and CREATE OR REPLACE look at
    # The columns in the order of the SELECT: `schema` has the key columns first.
    selected: tuple[str, ...] = ()
