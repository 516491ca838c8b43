"""What a KSQL server has, in one look: streams, tables, queries, types, topics, and its functions with signatures."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from caudal.ui.services import ksql_completion as completion
from caudal.ui.services.ksql import ASIDE_SECONDS, Entity, Ksql, Refused
from caudal.ui.services.ksql_entities import (
    Query,
    Source,
    functions_of,
    queries_of,
    signatures_of,
    sources_of,
    topics_of,
    types_of,
)

EVERYTHING = "DESCRIBE STREAMS; DESCRIBE TABLES; SHOW QUERIES; SHOW TYPES; SHOW TOPICS;"
FUNCTION_SECONDS = 600.0  # they change when somebody installs one
AT_ONCE = 60  # functions that one request describes


@dataclass(frozen=True, slots=True)
class Catalog:
    sources: list[Source] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    types: list[tuple[str, str]] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    functions: tuple[completion.Function, ...] = ()

    @property
    def names(self) -> completion.Names:
        """What completion offers."""
        return completion.Names(
            tuple(completion.Source(one.name, one.kind, one.columns) for one in self.sources),
            self.functions,
            tuple(self.topics),
            tuple(one.id for one in self.queries),
            tuple(name for name, _ in self.types),
        )

    @property
    def labels(self) -> dict[str, str]:
        """Streams and tables by their topics."""
        return {one.topic: one.name for one in self.sources}


async def read_catalog(ksql: Ksql) -> Catalog:
    """Without functions: they are many, and seldom others."""
    try:
        found = await ksql.execute(EVERYTHING, seconds=ASIDE_SECONDS)
    except Refused as error:
        if not error.entities:
            raise
        found = error.entities  # another server may not know the last of these
    return Catalog(sources_of(found), queries_of(found), types_of(found), topics_of(found))


_functions: dict[str, tuple[float, tuple[completion.Function, ...]]] = {}


async def read_functions(ksql: Ksql) -> tuple[completion.Function, ...]:
    """With their signatures, kept for all visitors. What cannot be described is there by its name."""
    kept = _functions.get(ksql.url)
    if kept is not None and time.monotonic() - kept[0] < FUNCTION_SECONDS:
        return kept[1]
    names = [one.name for one in functions_of(await ksql.execute("SHOW FUNCTIONS;", seconds=ASIDE_SECONDS))]
    described: dict[str, completion.Function] = {}
    for first in range(0, len(names), AT_ONCE):
        for entity in await _described(ksql, names[first : first + AT_ONCE]):
            one = signatures_of(entity)
            described[one.name.upper()] = one
    found = tuple(described.get(name.upper(), completion.Function(name)) for name in names)
    _functions[ksql.url] = time.monotonic(), found
    return found


async def _described(ksql: Ksql, names: list[str]) -> list[Entity]:
    try:
        return await ksql.execute(" ".join(f"DESCRIBE FUNCTION {name};" for name in names), seconds=ASIDE_SECONDS)
    except Refused as error:
        return error.entities
