"""What a query does, step by step, as EXPLAIN shows it and CREATE OR REPLACE compares it: data without behaviour.

The topology below it has more nodes and other names; this is the query as its author thinks of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from caudal.ksql.schema import Schema


@dataclass(frozen=True, slots=True)
class LogicalStep:
    """`detail` is all that the step's state depends on, as text; SOURCE names what it reads there."""

    kind: str  # SOURCE, FILTER, PROJECT, REKEY, JOIN, FLATMAP, AGGREGATE, UNION, SINK
    schema: Schema
    detail: str = ""
    parents: tuple[LogicalStep, ...] = ()
    name: str = ""  # as nodes and loggers are called: WhereFilter, Aggregate, KafkaTopic_Left

    def __iter__(self) -> Iterator[LogicalStep]:
        """This step and all before it, the last first."""
        yield self
        for parent in self.parents:
            yield from parent
