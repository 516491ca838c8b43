"""What exists: streams, tables and types, by name. The planner reads it; the engine fills and keeps it."""

from __future__ import annotations

from caudal.ksql.errors import KsqlError, Position, suggestion
from caudal.ksql.sources import Source
from caudal.ksql.types import SqlType


class Catalog:
    def __init__(self) -> None:
        self.sources: dict[str, Source] = {}
        self.types: dict[str, SqlType] = {}

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
