"""Pull queries: a question, an answer, an end.

Over tables: from local views (table_views.py), by key where WHERE says which, else by a scan; joins, GROUP BY, ORDER BY
and the rest on the rows found (relational.py). Over streams: the query's plan over what the topics hold now, in a
process of its own (push_worker.py with ends), or as a Spark batch job where that is a lot and there is something to
aggregate or join. Subqueries in FROM are answered first; UNION ALL puts answers together.

Analysed queries are kept by their text as long as the catalog stays the same; look-ups of a key without it
(key_lookups.py).
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from caudal.ksql.catalog import Catalog
from caudal.ksql.engine import properties
from caudal.ksql.engine.key_lookups import KeyLookup, key_lookup, split_key
from caudal.ksql.engine.properties import Properties
from caudal.ksql.engine.relational import Item, Relation, Row, conjuncts, join, select
from caudal.ksql.errors import KsqlError
from caudal.ksql.expressions.compiled import constant
from caudal.ksql.schema import ROWTIME, WINDOWEND, WINDOWSTART, Schema
from caudal.ksql.sources import Source, WindowKind
from caudal.ksql.syntax import statements
from caudal.ksql.syntax.statements import Emit, Query
from caudal.ksql.syntax.tree import Between, Call, Comparison, Expression, In, Literal, Name, Null, TypedLiteral
from caudal.ksql.types import BIGINT, Base

if TYPE_CHECKING:
    from caudal.ksql.engine.engine import Engine

log = logging.getLogger("caudal.ksql.pull")

CACHED = 1000
START_SECONDS = 120.0  # for a query that has just been made, on a machine where Spark has to be started first
_ALWAYS = (-(1 << 62), 1 << 62)


@dataclass(frozen=True, slots=True)
class PullResult:
    schema: Schema
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class _Prepared:
    schema: Schema
    run: Callable[[Properties], Iterator[Row]]


class Pull:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._cache: dict[str, tuple[Catalog, _Prepared]] = {}
        self._lookups: dict[str, KeyLookup] = {}
        self._numbers = itertools.count(1)

    def answer(self, text: str, query: Callable[[], Query], held: Properties) -> PullResult:
        """`query` parses the text; it is asked for only where the answer to the text is not prepared."""
        found = self.looked_up(text, held)
        if found is not None:
            return found
        _check_enabled(held)
        catalog = self._engine.catalog
        known = self._cache.get(text)
        if known is None or known[0] is not catalog:
            parsed = query()
            prepared = self._prepared(parsed, catalog, held)
            self._remember(text, parsed, catalog)
            if len(self._cache) >= CACHED:
                self._cache.clear()
            self._cache[text] = (catalog, prepared)
        else:
            prepared = known[1]
        return PullResult(prepared.schema, list(prepared.run(held)))

    def looked_up(self, text: str, held: Properties) -> PullResult | None:
        """The answer to a query that differs from an earlier one in its key alone; None where it does not."""
        split = split_key(text)
        known = None if split is None else self._lookups.get(split[0])
        if split is None or known is None or known.catalog is not self._engine.catalog:
            return None
        key = split[1]
        if type(key) is not known.kind:
            return None
        _check_enabled(held)
        rows = self._fresh(known.source, held).lookup([(key,)], _ALWAYS)
        return PullResult(known.schema, list(known.rows(rows)))

    def _remember(self, text: str, query: Query, catalog: Catalog) -> None:
        split = split_key(text)
        lookup = None if split is None else key_lookup(query, split[1], catalog, relation_of)
        if split is not None and lookup is not None:
            if len(self._lookups) >= CACHED:
                self._lookups.clear()
            self._lookups[split[0]] = lookup

    # -- analysis ------------------------------------------------------------------------------------------------------

    def _prepared(self, query: Query, catalog: Catalog, held: Properties) -> _Prepared:
        if query.union is not None:
            return self._union(query, catalog, held)
        if query.partition_by:
            raise KsqlError("Pull queries don't support PARTITION BY clauses.", query.partition_by[0].at)
        relations = [query.relation, *(one.right for one in query.joins)]
        sources = [catalog.source(one.name, one.at) for one in relations if one.query is None]
        if any(not source.is_table for source in sources) or (query.window is not None and sources):
            return self._of_streams(query, catalog, held)
        return self._of_tables(query, catalog, held)

    def _union(self, query: Query, catalog: Catalog, held: Properties) -> _Prepared:
        assert query.union is not None
        first = self._prepared(replace(query, union=None), catalog, held)
        second = self._prepared(query.union, catalog, held)
        if [column.type for column in first.schema] != [column.type for column in second.schema]:
            raise KsqlError("Both sides of a UNION must have the same types, in the same order.", query.union.at)
        return _Prepared(first.schema, lambda held: itertools.chain(first.run(held), second.run(held)))

    def _of_tables(self, query: Query, catalog: Catalog, held: Properties) -> _Prepared:
        if not query.joins and query.relation.query is None:
            return self._of_table(query, catalog)
        relation, rows = self._relation(query.relation, catalog, held)
        for joined in query.joins:
            if joined.within is not None:
                raise KsqlError("WITHIN is for joins of streams.", joined.at)
            right, right_rows = self._relation(joined.right, catalog, held)
            relation, run = join(joined.kind, relation, right, joined.on)
            rows = _joined(run, rows, right_rows)
        selected = select(query, relation)
        return _Prepared(selected.schema, lambda held: selected.rows(rows(held)))

    def _relation(
        self, relation: statements.Relation, catalog: Catalog, held: Properties
    ) -> tuple[Relation, Callable[[Properties], Iterable[Row]]]:
        if relation.query is not None:
            inner = self._prepared(relation.query, catalog, held)
            items = tuple(Item(column.name, column.type, relation.alias) for column in inner.schema)
            return Relation(items), inner.run
        source = catalog.source(relation.name, relation.at)
        return relation_of(source, relation.alias), lambda held: self._scan(source, held)

    def _of_table(self, query: Query, catalog: Catalog) -> _Prepared:
        source = catalog.source(query.relation.name, query.relation.at)
        selected = select(query, relation_of(source, query.relation.alias))
        wanted = _wanted_keys(query.where, source, query.relation.alias)
        starts = _window_starts(query.where, source, query.relation.alias)
        if wanted is None:
            return _Prepared(selected.schema, lambda held: selected.rows(self._scan(source, held)))

        def look_up(held: Properties) -> Iterator[Row]:
            view = self._fresh(source, held)
            return selected.rows(view.lookup(wanted, starts))

        return _Prepared(selected.schema, look_up)

    def _fresh(self, source: Source, held: Properties) -> Any:
        if source.query_id is not None:
            self._engine.queries.settle(source.query_id, START_SECONDS, held[properties.PULL_WAIT] / 1000)
        view = self._engine.views.of(source)
        lag = held[properties.PULL_MAX_LAG]
        view.refresh(held[properties.PULL_WAIT] / 1000, None if lag >= properties.MAX_LAG_DEFAULT else lag)
        return view

    def _scan(self, source: Source, held: Properties) -> Iterator[Row]:
        if not held[properties.PULL_TABLE_SCAN]:
            raise KsqlError(
                "The query would scan the whole table, and ksql.query.pull.table.scan.enabled is false: give its key "
                "with = or IN in the WHERE clause."
            )
        rows: Iterator[Row] = self._fresh(source, held).scan()
        return rows

    # -- streams -------------------------------------------------------------------------------------------------------

    def _of_streams(self, query: Query, catalog: Catalog, held: Properties) -> _Prepared:
        """The plan is that of the push query; ORDER BY, DISTINCT and LIMIT come after it."""
        plain = replace(query, emit=Emit.CHANGES, order_by=(), distinct=False, limit=None)
        after = query.order_by or query.distinct or query.limit is not None
        planned = self._engine.plan(plain, held)
        schema = selected_schema(planned)
        finish = _finish(query, schema) if after else None
        # Nothing to look at but the first rows: the process stops as soon as it has them.
        is_table = planned.kind.value == "TABLE"
        limit = None if query.order_by or query.distinct or is_table else query.limit

        def run(held: Properties) -> Iterator[Row]:
            # Planned anew: a plan has the application's name in it, and two may run at the same time.
            rows = self._engine.bounded(plain, held, limit)
            return finish(rows) if finish is not None else iter(rows)

        return _Prepared(schema, run)


def _check_enabled(held: Properties) -> None:
    if not held[properties.PULL_ENABLED]:
        raise KsqlError("Pull queries are disabled on this server: set ksql.pull.queries.enable to true.")


def _joined(
    run: Callable[[Iterable[Row], Iterable[Row]], Iterator[Row]],
    left: Callable[[Properties], Iterable[Row]],
    right: Callable[[Properties], Iterable[Row]],
) -> Callable[[Properties], Iterable[Row]]:
    return lambda held: run(left(held), right(held))


def relation_of(source: Source, alias: str) -> Relation:
    """A table's flat rows: key, value, ROWTIME, and the window's bounds. `SELECT *` shows the bounds after the key."""
    items = [Item(column.name, column.type, alias, is_key=True) for column in source.schema.key]
    items += [Item(column.name, column.type, alias) for column in source.schema.value]
    items.append(Item(ROWTIME, BIGINT, alias, shown=False))
    if source.window is not None:
        items += [Item(WINDOWSTART, BIGINT, alias, is_key=True), Item(WINDOWEND, BIGINT, alias, is_key=True)]
    return Relation(tuple(items))


def selected_schema(planned: Any) -> Schema:
    """The columns in the order of the SELECT."""
    if not planned.selected:
        return Schema(tuple(planned.schema))
    return Schema(tuple(column for name in planned.selected for column in planned.schema if column.name == name))


def _finish(query: Query, schema: Schema) -> Callable[[Iterable[Row]], Iterator[Row]]:
    """ORDER BY, DISTINCT and LIMIT over the columns that were selected."""
    relation = Relation(tuple(Item(column.name, column.type, None) for column in schema))
    after = Query(
        tuple(statements.SelectItem(Name(column.name)) for column in schema),
        query.relation,
        order_by=tuple(replace(one, expression=_unqualified(one.expression)) for one in query.order_by),
        distinct=query.distinct,
        limit=query.limit,
    )
    return select(after, relation).rows


def _unqualified(expression: Expression) -> Expression:
    return Name(expression.name, at=expression.at) if isinstance(expression, Name) else expression


# -- what WHERE says of keys -------------------------------------------------------------------------------------------


def _is_column(expression: Expression, name: str, alias: str) -> bool:
    return isinstance(expression, Name) and expression.name == name and expression.source in (None, alias)


def _is_constant(expression: Expression) -> bool:
    if isinstance(expression, (Literal, TypedLiteral, Null)):
        return True
    if isinstance(expression, Name):
        return False
    from caudal.ksql.expressions.trees import children

    parts = list(children(expression))
    if isinstance(expression, Call) and not parts:
        return False
    return bool(parts) and all(_is_constant(part) for part in parts)


def _wanted_keys(where: Expression | None, source: Source, alias: str) -> list[Row] | None:
    """The keys that rows must have to pass WHERE; None where it does not say."""
    if where is None:
        return None
    options: list[list[Any]] = []
    for column in source.schema.key:
        found = None
        for part in conjuncts(where):
            if isinstance(part, Comparison) and part.operator == "=":
                for one, two in ((part.left, part.right), (part.right, part.left)):
                    if _is_column(one, column.name, alias) and _is_constant(two):
                        found = [_key_value(two, column)]
            elif (
                isinstance(part, In)
                and not part.negated
                and _is_column(part.operand, column.name, alias)
                and all(_is_constant(one) for one in part.options)
            ):
                found = [_key_value(one, column) for one in part.options]
            if found is not None:
                break
        if found is None or any(one is _UNFIT for one in found):
            return None
        options.append([one for one in dict.fromkeys(found) if one is not None])
    return list(itertools.product(*options))


_UNFIT = object()


def _key_value(expression: Expression, column: Any) -> Any:
    """As the key has it; `_UNFIT` where a comparison may be true although the value is none of the key's type."""
    if column.type.base in (Base.ARRAY, Base.MAP, Base.STRUCT, Base.DOUBLE):
        return _UNFIT
    try:
        value = constant(expression, column.type)
    except KsqlError:
        return _UNFIT  # it is for the comparison to say what is wrong with it
    if column.type.base in (Base.INTEGER, Base.BIGINT) and not isinstance(value, int):
        return _UNFIT
    return value


def _window_starts(where: Expression | None, source: Source, alias: str) -> tuple[int, int]:
    """Bounds of WINDOWSTART, both included, as far as WHERE sets any; it is applied to the rows as well."""
    low, high = _ALWAYS
    if where is None or source.window is None:
        return low, high
    size = source.window.size if source.window.kind is not WindowKind.SESSION else None
    for part in conjuncts(where):
        for name, shift in ((WINDOWSTART, 0), (WINDOWEND, size)):
            if shift is None:
                continue
            for operator, bound in _bounds(part, name, alias):
                if operator in ("=", ">", ">="):
                    low = max(low, bound - shift)
                if operator in ("=", "<", "<="):
                    high = min(high, bound - shift)
    return low, high


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def _bounds(part: Expression, name: str, alias: str) -> Iterator[tuple[str, int]]:
    if isinstance(part, Between) and not part.negated and _is_column(part.operand, name, alias):
        for operator, bound in ((">=", part.low), ("<=", part.high)):
            value = _moment(bound)
            if value is not None:
                yield operator, value
    if isinstance(part, Comparison) and part.operator in _TURNED:
        for one, two, operator in (
            (part.left, part.right, part.operator),
            (part.right, part.left, _TURNED[part.operator]),
        ):
            value = _moment(two) if _is_column(one, name, alias) else None
            if value is not None:
                yield operator, value


def _moment(expression: Expression) -> int | None:
    """A number of milliseconds. Text is the comparison's to read: such a bound does not narrow the look-up."""
    if isinstance(expression, Literal) and isinstance(expression.value, int) and not isinstance(expression.value, bool):
        return expression.value
    return None
