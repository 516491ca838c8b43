"""A SELECT over rows that are at hand: WHERE, joins, GROUP BY, HAVING, projection, DISTINCT, ORDER BY, LIMIT.

Rows are flat tuples; a `Relation` says what is where in them. Everything is compiled once per query, so that a look-up
by key costs little more than the look-up. Not here: where rows come from (pull.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cmp_to_key
from typing import Any

from caudal.ksql.errors import KsqlError
from caudal.ksql.expressions.aggregation import Aggregation
from caudal.ksql.expressions.compiled import compile_predicate, compile_row, compile_value
from caudal.ksql.expressions.scope import Binding, Scope, Where
from caudal.ksql.expressions.trees import aggregate_calls, canonical, rewritten, table_function_calls
from caudal.ksql.expressions.typing import type_of
from caudal.ksql.schema import Column, Place, Schema
from caudal.ksql.syntax.statements import JoinKind, OrderItem, Query, SelectItem
from caudal.ksql.syntax.tree import And, Comparison, Dereference, Expression, Name, Star, StructStar
from caudal.ksql.types import STRING, SqlType, Struct

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """A column of flat rows. `shown`: `SELECT *` has it."""

    name: str
    type: SqlType
    source: str | None
    is_key: bool = False
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Relation:
    items: tuple[Item, ...]

    def scope(self) -> Scope:
        return Scope(
            Binding(item.name, item.type, Where.VALUE, index, item.source) for index, item in enumerate(self.items)
        )

    def joined(self, other: Relation) -> Relation:
        return Relation(self.items + other.items)


@dataclass(frozen=True, slots=True)
class Selected:
    """A compiled SELECT: `rows(input)` gives the answer."""

    schema: Schema
    rows: Callable[[Iterable[Row]], Iterator[Row]]


def select(query: Query, relation: Relation, *, where: bool = True) -> Selected:
    """Everything of the query that comes after its FROM; without `where` that was done before."""
    scope = relation.scope()
    items = _expanded(query, relation)
    stages: list[Callable[[Iterable[Row]], Iterator[Row]]] = []
    if where and query.where is not None:
        if aggregate_calls(query.where):
            raise KsqlError("Aggregate functions are not allowed in WHERE: use HAVING.", query.where.at)
        stages.append(_filter(query.where, scope, "WHERE"))
    having = query.having
    order = list(query.order_by)
    grouped = bool(query.group_by) or having is not None or any(aggregate_calls(item.expression) for item in items)
    if grouped:
        order = [replace(one, expression=_of_alias(one.expression, items)) for one in order]
        group, scope, change = _grouping(query, items, having, order, scope)
        stages.append(group)
        order = [replace(one, expression=change(one.expression)) for one in order]
        items = [replace(item, expression=change(item.expression)) for item in items]
        if having is not None:
            stages.append(_filter(change(having), scope, "HAVING"))
    else:
        order = [replace(one, expression=_of_alias(one.expression, items)) for one in order]
    for item in items:
        if table_function_calls(item.expression):
            raise KsqlError("Pull queries do not support table functions.", item.expression.at)
    if order:
        stages.append(_sort(order, scope))
    compiled = compile_row([(item.expression, None) for item in items], scope, "SELECT")
    types = [STRING if type is None else type for type in compiled.types]
    stages.append(lambda rows: (compiled((), row) for row in rows))
    if query.distinct:
        stages.append(_distinct)
    if query.limit is not None:
        limit = query.limit
        stages.append(lambda rows: _first(rows, limit))
    schema = Schema(tuple(_columns(items, types, relation, grouped)))

    def run(rows: Iterable[Row]) -> Iterator[Row]:
        for stage in stages:
            rows = stage(rows)
        return iter(rows)

    return Selected(schema, run)


# -- SELECT ------------------------------------------------------------------------------------------------------------


def _expanded(query: Query, relation: Relation) -> list[SelectItem]:
    """The items with stars replaced; each has an alias."""
    items: list[SelectItem] = []
    for item in query.items:
        expression = item.expression
        if isinstance(expression, Star):
            found = [one for one in relation.items if one.shown and expression.source in (None, one.source)]
            if not found:
                raise KsqlError(f"There is no source called {expression.source}.", expression.at)
            sources = list(dict.fromkeys(one.source for one in relation.items))
            # Of each source the key with the window's bounds, then the rest.
            found.sort(key=lambda one: (sources.index(one.source), not one.is_key))
            several = len(sources) > 1
            for one in found:
                name = f"{one.source}_{one.name}" if several and expression.source is None else one.name
                items.append(SelectItem(Name(one.name, one.source, at=expression.at), name))
        elif isinstance(expression, StructStar):
            type = type_of(expression.operand, relation.scope())
            if not isinstance(type, Struct):
                raise KsqlError("->* needs a STRUCT.", expression.at)
            items += [SelectItem(Dereference(expression.operand, field.name), field.name) for field in type.fields]
        else:
            items.append(item)
    named = {item.alias for item in items if item.alias is not None}
    result = []
    number = 0
    for item in items:
        alias = item.alias
        if alias is None:
            if isinstance(item.expression, Name):
                alias = item.expression.name
            elif isinstance(item.expression, Dereference):
                alias = item.expression.field
            else:
                while f"KSQL_COL_{number}" in named:
                    number += 1
                alias = f"KSQL_COL_{number}"
                number += 1
        result.append(replace(item, alias=alias))
    seen: set[str] = set()
    for item in result:
        assert item.alias is not None
        if item.alias in seen:
            raise KsqlError(f"The projection contains a duplicate column: {item.alias}. Give it another name with AS.")
        seen.add(item.alias)
    return result


def _columns(
    items: Sequence[SelectItem], types: Sequence[SqlType], relation: Relation, grouped: bool
) -> Iterator[Column]:
    keys = {(one.name, one.source) for one in relation.items if one.is_key}
    bare = {one.name for one in relation.items if one.is_key}
    for item, type in zip(items, types, strict=True):
        assert item.alias is not None
        expression = item.expression
        is_key = (
            not grouped
            and isinstance(expression, Name)
            and (
                (expression.name, expression.source) in keys or (expression.source is None and expression.name in bare)
            )
        )
        yield Column(item.alias, type, Place.KEY if is_key else Place.VALUE)


def _filter(expression: Expression, scope: Scope, what: str) -> Callable[[Iterable[Row]], Iterator[Row]]:
    compiled = compile_predicate(expression, scope, what)
    return lambda rows: (row for row in rows if compiled((), row))


def _distinct(rows: Iterable[Row]) -> Iterator[Row]:
    seen: set[Any] = set()
    for row in rows:
        key = _hashable(row)
        if key not in seen:
            seen.add(key)
            yield row


def _first(rows: Iterable[Row], limit: int) -> Iterator[Row]:
    if limit <= 0:
        return
    for number, row in enumerate(rows, 1):
        yield row
        if number >= limit:
            return


def _hashable(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_hashable(one) for one in value)
    if isinstance(value, dict):
        return tuple((_hashable(key), _hashable(one)) for key, one in value.items())
    return value


# -- GROUP BY ----------------------------------------------------------------------------------------------------------


def _grouping(
    query: Query, items: Sequence[SelectItem], having: Expression | None, order: Sequence[OrderItem], scope: Scope
) -> tuple[Callable[[Iterable[Row]], Iterator[Row]], Scope, Callable[[Expression], Expression]]:
    """How rows become groups, the scope of a group's row, and how expressions are said in it."""
    groups = [canonical(one, scope) for one in query.group_by]
    expressions = [item.expression for item in items]
    if having is not None:
        expressions.append(having)
    expressions += [one.expression for one in order]
    calls: list[Any] = []
    for expression in expressions:
        for call in aggregate_calls(canonical(expression, scope)):
            if call not in calls:
                calls.append(call)
    aggregation = Aggregation([(call, f"KSQL_AGG_VARIABLE_{number}") for number, call in enumerate(calls)], scope)
    keyed = compile_row([(one, None) for one in groups], scope, "GROUP BY") if groups else None
    group_types = list(keyed.types) if keyed is not None else []
    bindings = [
        Binding(f"KSQL_GROUP_{number}", STRING if type is None else type, Where.VALUE, number)
        for number, type in enumerate(group_types)
    ]
    bindings += [
        Binding(f"KSQL_AGG_VARIABLE_{number}", type, Where.VALUE, len(groups) + number)
        for number, type in enumerate(aggregation.result_types)
    ]

    def change(expression: Expression) -> Expression:
        def replaced(one: Expression) -> Expression | None:
            for number, group in enumerate(groups):
                if one == group:
                    return Name(f"KSQL_GROUP_{number}", at=one.at)
            for number, call in enumerate(calls):
                if one == call:
                    return Name(f"KSQL_AGG_VARIABLE_{number}", at=one.at)
            if isinstance(one, Name):
                raise KsqlError(
                    f"Non-aggregate SELECT expression(s) not part of GROUP BY: {one.name}. Either add the column(s) to "
                    "the GROUP BY or remove them from the SELECT.",
                    one.at,
                )
            return None

        return rewritten(canonical(expression, scope), replaced)

    def group(rows: Iterable[Row]) -> Iterator[Row]:
        states: dict[Any, tuple[Row, Any]] = {}
        if keyed is None:
            states[()] = ((), aggregation.initial())  # without GROUP BY there is one group, also of no rows
        for row in rows:
            key = keyed((), row) if keyed is not None else ()
            lookup = _hashable(key)
            found = states.get(lookup)
            state = found[1] if found is not None else aggregation.initial()
            states[lookup] = (key, aggregation.add((), row, state))
        for key, state in states.values():
            yield (*key, *aggregation.results(state))

    return group, Scope(bindings), change


# -- ORDER BY ----------------------------------------------------------------------------------------------------------


def _of_alias(expression: Expression, items: Sequence[SelectItem]) -> Expression:
    """ORDER BY may name an item of the SELECT."""
    if isinstance(expression, Name) and expression.source is None:
        for item in items:
            if item.alias == expression.name:
                return item.expression
    return expression


def _sort(order: Sequence[OrderItem], scope: Scope) -> Callable[[Iterable[Row]], Iterator[Row]]:
    compiled = [(compile_value(one.expression, scope, None, "ORDER BY"), one.descending) for one in order]

    def compare(left: tuple[list[Any], Row], right: tuple[list[Any], Row]) -> int:
        for (one, two), (_, descending) in zip(zip(left[0], right[0], strict=True), compiled, strict=True):
            if one == two:
                continue
            if one is None or two is None:
                return 1 if one is None else -1  # NULLs come last, whichever way
            less = one < two
            return -1 if less != descending else 1
        return 0

    def sort(rows: Iterable[Row]) -> Iterator[Row]:
        keyed = [([value((), row) for value, _ in compiled], row) for row in rows]
        keyed.sort(key=cmp_to_key(compare))
        return (row for _, row in keyed)

    return sort


# -- joins -------------------------------------------------------------------------------------------------------------


def join(
    kind: JoinKind, left: Relation, right: Relation, on: Expression
) -> tuple[Relation, Callable[[Iterable[Row], Iterable[Row]], Iterator[Row]]]:
    """A hash join on the equalities of ON; what else it says is checked for each pair."""
    both = left.joined(right)
    scope = both.scope()
    left_scope, right_scope = left.scope(), right.scope()
    pairs: list[tuple[Expression, Expression]] = []
    for part in conjuncts(on):
        if isinstance(part, Comparison) and part.operator == "=":
            for one, two in ((part.left, part.right), (part.right, part.left)):
                if _is_of(one, left_scope) and _is_of(two, right_scope):
                    pairs.append((one, two))
                    break
    if not pairs:
        raise KsqlError("A join needs an equality between its sides: ON a.x = b.y.", on.at)
    left_key = compile_row([(one, None) for one, _ in pairs], left_scope, "ON")
    right_key = compile_row([(two, None) for _, two in pairs], right_scope, "ON")
    matches = compile_predicate(on, scope, "ON")
    no_left, no_right = (None,) * len(left.items), (None,) * len(right.items)

    def run(lefts: Iterable[Row], rights: Iterable[Row]) -> Iterator[Row]:
        table: dict[Any, list[tuple[int, Row]]] = {}
        rights = list(rights)
        for number, row in enumerate(rights):
            table.setdefault(_hashable(right_key((), row)), []).append((number, row))
        used: set[int] = set()
        for row in lefts:
            found = False
            for number, other in table.get(_hashable(left_key((), row)), ()):
                if matches((), row + other):
                    found = True
                    used.add(number)
                    yield row + other
            if not found and kind in (JoinKind.LEFT, JoinKind.FULL):
                yield row + no_right
        if kind in (JoinKind.RIGHT, JoinKind.FULL):
            for number, other in enumerate(rights):
                if number not in used:
                    yield no_left + other

    return both, run


def conjuncts(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, And):
        yield from conjuncts(expression.left)
        yield from conjuncts(expression.right)
    else:
        yield expression


def _is_of(expression: Expression, scope: Scope) -> bool:
    """Whether it says something of this side and of nothing else."""
    try:
        type_of(expression, scope)
    except KsqlError:
        return False
    return True
