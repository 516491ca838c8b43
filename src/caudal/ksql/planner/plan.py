"""`plan_query`: from a SELECT to the topology that runs it.

In order: the sources and their joins, WHERE, PARTITION BY or GROUP BY, the SELECT, UNION, the sink. Each part takes a
`Flow` (a stream or table, and where its columns lie) and gives the next one.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caudal.ksql.catalog import Catalog
from caudal.ksql.errors import KsqlError, NotSupported, Position
from caudal.ksql.planner import sinks, validation
from caudal.ksql.planner.aggregates import aggregated, is_aggregate_query, with_limits
from caudal.ksql.planner.analysis import Item, expressions_of, has_star, select_items, used_names
from caudal.ksql.planner.flow import Flow, Planning, described
from caudal.ksql.planner.joins import joined
from caudal.ksql.planner.logical import LogicalStep
from caudal.ksql.planner.planned import PlannedQuery, Sink
from caudal.ksql.planner.projection import Keys, exploded, filtered, partitioned, projected
from caudal.ksql.planner.reading import read
from caudal.ksql.schema import PSEUDO_COLUMNS, Place
from caudal.ksql.sources import Source, SourceKind
from caudal.ksql.syntax.statements import Query, Relation
from caudal.ksql.syntax.tree import Name
from caudal.ksql.types import SqlType
from caudal.plan.errors import PlanError
from caudal.streams import StreamsBuilder


def plan_query(
    query: Query,
    catalog: Catalog,
    *,
    application_id: str,
    sink: Sink | None = None,
    properties: Mapping[str, Any] | None = None,
) -> PlannedQuery:
    """The plan of a persistent query (`sink`), or of a push query. Raises KsqlError with the place in the statement."""
    try:
        return _Query(query, catalog, application_id, sink, properties or {}).planned()
    except PlanError as error:
        raise KsqlError(str(error), _at(query)) from error


def _at(query: Query) -> Position | None:
    return query.at if query.at.line > 0 else None


class _Query:
    def __init__(
        self, query: Query, catalog: Catalog, application_id: str, sink: Sink | None, properties: Mapping[str, Any]
    ) -> None:
        self.query = query
        self.sink = sink
        self.catalog = catalog
        self.topic = f"{application_id}-out"
        reads = Counter(catalog.source(one.name, _place(one)).topic for one in _relations(query))
        self.planning = Planning(StreamsBuilder(application_id), catalog, properties, reads, is_push=sink is None)
        self.target: Source | None = None
        if sink is not None and sink.insert:
            self.target = catalog.source(sink.name, _at(query))

    def planned(self) -> PlannedQuery:
        query, planning = self.query, self.planning
        if self.sink is not None:
            statement = "INSERT INTO" if self.sink.insert else f"CREATE {self.sink.kind.value} AS SELECT"
            validation.no_limit(query, statement)
        flow, items = self.selected(query, "", self.keys())
        if query.union is not None:
            flow = self.united(query, flow)
        at = _at(query)
        kind = SourceKind.TABLE if flow.is_table else SourceKind.STREAM
        window, selected = flow.window, tuple(item.name for item in items)
        if self.sink is None:
            schema, logical = sinks.pushed(flow, self.topic)
            target = sinks.Target(self.topic, schema, sinks.ROWS, sinks.ROWS)
            window = None
        else:
            target = self.checked_target(flow, kind, at)
            logical = sinks.written(flow, target, self.sink.name)
        return PlannedQuery(
            planning.builder.build(),
            kind,
            target.schema,
            target.topic,
            target.key_format,
            target.value_format,
            window,
            tuple(planning.sources),
            flow.retention if flow.window is not None else None,
            target.timestamp_column,
            tuple(planning.warnings),
            target.timestamp_format,
            logical,
            selected,
        )

    def keys(self) -> Keys:
        if self.sink is not None:
            return Keys.ALL
        return Keys.SOME if self.query.union is None else Keys.NONE

    def checked_target(self, flow: Flow, kind: SourceKind, at: Position | None) -> sinks.Target:
        assert self.sink is not None
        if self.target is not None:
            if kind is SourceKind.TABLE:
                raise KsqlError(
                    "Incompatible data sink: INSERT INTO writes to a STREAM, and the query produces a TABLE.", at
                )
            return sinks.inserted(flow, self.target, at)
        validation.result_kind(kind, self.sink.kind, at)
        return sinks.created(flow, self.sink, self.leftmost(self.query), self.planning.properties, at)

    def leftmost(self, query: Query) -> Source:
        relation = query.relation
        return self.leftmost(relation.query) if relation.query is not None else self.catalog.source(relation.name)

    # -- one SELECT ----------------------------------------------------------------------------------------------------

    def selected(self, query: Query, prefix: str, keys: Keys) -> tuple[Flow, list[Item]]:
        """The flow of a SELECT, UNION aside, and its columns in order."""
        validation.functions(expressions_of(query))
        query = with_limits(query, self.planning.properties)
        is_aggregate = is_aggregate_query(query)
        validation.clauses(query, is_aggregate)
        flow = self.source_of(query, prefix, is_aggregate)
        persistent = keys is Keys.ALL
        sink = None if self.sink is None or keys is not Keys.ALL else self.sink.name
        if query.where is not None:
            flow = filtered(flow, flow.canonical(query.where), "WHERE", f"{prefix}WhereFilter")
        targets = self.target_types() if persistent else None
        if is_aggregate:
            return aggregated(
                query,
                flow,
                sink=sink,
                keys=keys,
                persistent_query=persistent,
                prefix=prefix,
                targets=targets,
            )
        if query.partition_by:
            flow = partitioned(flow, query.partition_by)
        items = select_items(query, flow, flow.canonical, persistent=persistent)
        calls = validation.table_functions(items, flow, False)
        at = _at(query)

        def project(before: Flow, columns: list[Item]) -> Flow:
            return projected(before, columns, sink=sink, keys=keys, targets=targets, at=at)

        return (exploded(flow, items, calls, project) if calls else project(flow, items)), items

    def target_types(self) -> Sequence[SqlType] | None:
        return None if self.target is None else [column.type for column in self.target.schema.written]

    # -- FROM ----------------------------------------------------------------------------------------------------------

    def source_of(self, query: Query, prefix: str, is_aggregate: bool) -> Flow:
        relations = [query.relation, *(join.right for join in query.joins)]
        seen: dict[str, Relation] = {}
        for relation in relations:
            if relation.alias in seen:
                raise KsqlError(
                    f"The name '{relation.alias}' stands for two sources; give one of them another alias.",
                    _place(relation),
                )
            seen[relation.alias] = relation
        depth = len(query.joins)
        left_prefix = prefix + "L_" * max(depth - 1, 0)
        name = f"KafkaTopic_{left_prefix}Left" if depth else f"{prefix}KsqlTopic"
        # A table keeps its rows where a join looks them up, where GROUP BY has to take old ones back, and where WHERE
        # has to know which it has shown.
        needs_state = bool(depth) or is_aggregate or query.where is not None
        flow = self.relation(query, query.relation, name, needs_state, prefix)
        for number, join in enumerate(query.joins):
            before = prefix + "L_" * (depth - 1 - number)
            side = f"KafkaTopic_{before}Right"
            right = self.relation(query, join.right, side, True, prefix)
            flow = joined(self.planning, flow, right, join, f"{before}Join", side)
        return flow

    def relation(self, query: Query, relation: Relation, name: str, needs_state: bool, prefix: str) -> Flow:
        if relation.query is not None:
            return self.subquery(relation)
        source = self.catalog.source(relation.name, _place(relation))
        flow = read(
            self.planning,
            source,
            relation.alias,
            _used(query, relation.alias, source),
            store=f"{name}-Reduce" if needs_state and source.is_table else None,
            name=name,
            at=_place(relation),
        )
        return dataclasses.replace(flow, types=self.catalog.types)

    def subquery(self, relation: Relation) -> Flow:
        query = relation.query
        assert query is not None
        if query.limit is not None:
            raise NotSupported("LIMIT is not supported in a subquery.", _place(relation))
        self.planning.made += 1
        flow, _ = self.selected(query, f"Q{self.planning.made}_", Keys.ALL_OR_NONE)
        if query.union is not None:
            flow = self.united(query, flow)
        return _aliased(flow, relation.alias, self.catalog)

    # -- UNION ---------------------------------------------------------------------------------------------------------

    def united(self, query: Query, flow: Flow) -> Flow:
        """The rows of several SELECTs: streams of the same columns."""
        first = sinks.result_schema(flow)
        logical = [flow.logical]
        if not query.union_all:
            self.planning.warnings.append(
                "UNION keeps duplicates as UNION ALL does: a stream has no end at which they could be told."
            )
        other: Query | None = query.union
        while other is not None:
            self.planning.made += 1
            right, _ = self.selected(other, f"Q{self.planning.made}_", self.keys() if self.is_top(query) else Keys.ALL)
            at = _at(other) or _at(query)
            if flow.is_table or right.is_table:
                raise NotSupported("UNION is of streams only: one side of it is a table.", at)
            second = sinks.result_schema(right)
            if [(one.type, one.place) for one in first] != [(one.type, one.place) for one in second]:
                raise KsqlError(f"Both sides of a UNION must have the same columns. Got {first} and {second}.", at)
            if (flow.window is None) != (right.window is None):
                raise KsqlError("Both sides of a UNION must be windowed, or none.", at)
            logical.append(right.logical)
            node = flow.stream._with_serdes(None, flow.row_serde).merge(right.stream)
            flow = dataclasses.replace(flow, node=node, key_bytes=None, has_tombstones=True)
            other = other.union
        step = LogicalStep("UNION", described(flow.columns, flow.key), "", tuple(logical), "Union")
        return dataclasses.replace(flow, logical=step)

    def is_top(self, query: Query) -> bool:
        return query is self.query


def _aliased(flow: Flow, alias: str, catalog: Catalog) -> Flow:
    """A subquery's result as a source: its columns have its alias."""
    key = tuple(dataclasses.replace(column, means=(Name(column.name, alias),)) for column in flow.key)
    return dataclasses.replace(
        flow,
        columns=tuple(dataclasses.replace(one, source=alias) for one in flow.columns),
        pseudo=tuple(dataclasses.replace(one, source=alias) for one in flow.pseudo),
        key=key,
        types=catalog.types,
    )


def _place(relation: Relation) -> Position | None:
    return relation.at if relation.at.line > 0 else None


def _relations(query: Query) -> Iterator[Relation]:
    """Every source that is read, in subqueries and unions too."""
    for relation in (query.relation, *(join.right for join in query.joins)):
        if relation.query is None:
            yield relation
        else:
            yield from _relations(relation.query)
    if query.union is not None:
        yield from _relations(query.union)


def _used(query: Query, alias: str, source: Source) -> frozenset[str]:
    """The pseudo and header columns of a source that the query names."""
    headers = {column.name for column in source.schema if column.place is Place.HEADERS}
    wanted = {*PSEUDO_COLUMNS, *headers}
    found = {name.name for name in used_names(query) if name.name in wanted and name.source in (None, alias)}
    return frozenset(found | headers if has_star(query, alias) else found)
