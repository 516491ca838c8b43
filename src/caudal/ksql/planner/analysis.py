"""The SELECT list: `*`, `source.*` and `struct->*` expanded, every item named, its columns resolved.

Names are ksqlDB's: the alias; a column's own name, in joins with its source in front (`L_ID`) where several sources
have it or `*` stood for it; a struct field's name; else KSQL_COL_0, KSQL_COL_1 and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from caudal.ksql.errors import KsqlError, Position, suggestion
from caudal.ksql.expressions.scope import Binding
from caudal.ksql.expressions.scope import Where as Place
from caudal.ksql.expressions.trees import names, position
from caudal.ksql.expressions.typing import type_of
from caudal.ksql.planner.flow import Flow
from caudal.ksql.schema import RESERVED, WINDOW_COLUMNS
from caudal.ksql.syntax.statements import Query, SelectItem
from caudal.ksql.syntax.tree import Dereference, Expression, Name, Star, StructStar
from caudal.ksql.types import Struct

Canonical = Callable[[Expression], Expression]


@dataclass(frozen=True, slots=True)
class Item:
    """One column of the result."""

    name: str
    expression: Expression  # canonical
    at: Position | None = None


def select_items(query: Query, flow: Flow, canonical: Canonical, *, persistent: bool) -> list[Item]:
    """The columns of a SELECT, in order."""
    named: list[tuple[str | None, Expression, Position | None]] = []
    for item in query.items:
        named.extend(_expanded(item, flow, canonical, persistent))
    taken = {name for name, _, _ in named if name is not None}
    generated = _generated(taken)
    items = []
    for name, expression, at in named:
        items.append(Item(next(generated) if name is None else name, expression, at))
    _refuse_duplicates(items)
    return items


def _generated(taken: set[str]) -> Iterator[str]:
    number = 0
    while True:
        name = f"KSQL_COL_{number}"
        if name not in taken:
            yield name
        number += 1


def _expanded(
    item: SelectItem, flow: Flow, canonical: Canonical, persistent: bool
) -> Iterator[tuple[str | None, Expression, Position | None]]:
    expression = item.expression
    at = item.at if item.at.line > 0 else position(expression)
    if isinstance(expression, Star):
        yield from ((name, column, at) for name, column in _star(expression, flow, persistent))
        return
    if isinstance(expression, StructStar):
        operand = canonical(expression.operand)
        found = type_of(operand, flow.scope)
        if not isinstance(found, Struct):
            raise KsqlError(f"Cannot use '->*' on a value that is not a STRUCT: it is {found}.", at)
        for field in found.fields:
            yield field.name, Dereference(operand, field.name, at=expression.at), at
        return
    full = canonical(expression)
    if item.alias is not None:
        if item.alias in RESERVED and not _is_column(full, item.alias):
            raise KsqlError(
                f"`{item.alias}` is a reserved column name. You cannot use it as an alias for a column.", at
            )
        if item.alias in RESERVED and persistent:
            raise _reserved(item.alias, at)
        yield item.alias, full, at
        return
    if isinstance(full, Name):
        if full.name in RESERVED and persistent:
            raise _reserved(full.name, at)
        yield _column_name(full, flow), full, at
        return
    yield (full.field if isinstance(full, Dereference) else None), full, at


def _reserved(name: str, at: Position | None) -> KsqlError:
    return KsqlError(f"Reserved column name in select: `{name}`. Please remove or alias the column.", at)


def _is_column(expression: Expression, name: str) -> bool:
    return isinstance(expression, Name) and expression.name == name


def _column_name(name: Name, flow: Flow) -> str:
    if flow.is_join and name.source is not None:
        alike = [one for one in (*flow.columns, *flow.pseudo) if one.name == name.name]
        if len(alike) > 1:
            return f"{name.source}_{name.name}"
    return name.name


def _star(star: Star, flow: Flow, persistent: bool) -> Iterator[tuple[str, Expression]]:
    columns = [one for one in flow.columns if star.source is None or one.source == star.source]
    if star.source is not None and not columns:
        known = sorted({one.source for one in flow.columns if one.source is not None})
        raise KsqlError(
            f"'{star.source}' is not a valid stream/table name or alias.{suggestion(star.source, known)}",
            position(star),
        )
    bounds = [] if persistent else [one for one in flow.pseudo if one.name in WINDOW_COLUMNS]
    shown = [one for one in columns if one.where is Place.KEY]
    shown += [one for one in bounds if star.source is None or one.source == star.source]
    shown += [one for one in columns if one.where is not Place.KEY]
    if flow.is_join:  # the sources stay apart, each with its key first
        shown = [*columns, *(one for one in bounds if star.source is None or one.source == star.source)]
    for one in shown:
        yield _star_name(one, flow), Name(one.name, one.source, at=star.at)


def _star_name(column: Binding, flow: Flow) -> str:
    return f"{column.source}_{column.name}" if flow.is_join and column.source is not None else column.name


def _refuse_duplicates(items: list[Item]) -> None:
    seen: set[str] = set()
    for item in items:
        if item.name in seen:
            raise KsqlError(
                f"The projection contains the column name `{item.name}` more than once; give one of them an alias.",
                item.at,
            )
        seen.add(item.name)


def used_names(query: Query) -> Iterator[Name]:
    """Every column that the query names, here and not in its subqueries."""
    for expression in expressions_of(query):
        yield from names(expression)


def expressions_of(query: Query) -> Iterator[Expression]:
    yield from (item.expression for item in query.items)
    yield from (join.on for join in query.joins)
    yield from (one for one in (query.where, query.having) if one is not None)
    yield from query.group_by
    yield from query.partition_by


def has_star(query: Query, alias: str) -> bool:
    return any(isinstance(item.expression, Star) and item.expression.source in (None, alias) for item in query.items)
