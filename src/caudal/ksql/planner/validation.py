"""ksqlDB's rules about what a query may be, with its messages or near them. Each function raises, or says nothing."""

from __future__ import annotations

from collections.abc import Iterable

from caudal.ksql.errors import KsqlError, NotSupported, Position
from caudal.ksql.expressions.trees import aggregate_calls, calls, children, names, position, table_function_calls, walk
from caudal.ksql.expressions.typing import type_of
from caudal.ksql.functions import resolution
from caudal.ksql.planner.analysis import Item
from caudal.ksql.planner.flow import Flow
from caudal.ksql.schema import WINDOW_COLUMNS, Column, Schema
from caudal.ksql.sources import Source, SourceKind
from caudal.ksql.syntax.format import format_expression
from caudal.ksql.syntax.statements import Emit, Query
from caudal.ksql.syntax.tree import Call, Case, Expression, Name
from caudal.ksql.types import Base, Map, SqlType, Struct

AS_VALUE_HINT = (
    "If you intended to copy the key into the value, then consider using the AS_VALUE function to indicate which key "
    "reference should be copied."
)


# -- the query as a whole ----------------------------------------------------------------------------------------------


def clauses(query: Query, aggregated: bool) -> None:
    """Which clauses go together."""
    if query.window is not None and not query.group_by:
        raise KsqlError("WINDOW clause requires a GROUP BY clause.", query.window.at)
    if query.having is not None and not aggregated:
        raise KsqlError("HAVING requires a GROUP BY clause.", position(query.having))
    if query.partition_by and aggregated:
        raise KsqlError(
            "PARTITION BY and GROUP BY cannot be used together: the result of GROUP BY is partitioned by its groups.",
            position(query.partition_by[0]),
        )
    if query.emit is Emit.FINAL and (query.window is None or not aggregated):
        raise KsqlError("EMIT FINAL is only supported for windowed aggregations.", query.at)
    if query.order_by:
        raise NotSupported("ORDER BY is not supported in queries that go on; only pull queries have it.", query.at)
    if query.distinct:
        raise NotSupported("SELECT DISTINCT is not supported in queries that go on; use GROUP BY.", query.at)


def no_limit(query: Query, statement: str) -> None:
    if query.limit is not None:
        raise KsqlError(f"{statement} statements don't support LIMIT clause.", query.at)


def functions(expressions: Iterable[Expression]) -> None:
    """Names are looked at first: what is said on groups and keys would mislead where a function is only mistyped."""
    for expression in expressions:
        for call in calls(expression):
            resolution.check_known(call.name, position(call))


def condition(expression: Expression, flow: Flow, clause: str) -> None:
    """WHERE, and other places that need a BOOLEAN."""
    for call in aggregate_calls(expression):
        if clause != "HAVING":
            raise KsqlError(f"{clause} does not support aggregate functions: {call.name} is one.", position(call))
    for call in table_function_calls(expression):
        raise KsqlError(f"{clause} does not support table functions: {call.name} is one.", position(call))
    found = type_of(expression, flow.scope)
    if found is None or found.base is not Base.BOOLEAN:
        raise KsqlError(
            f"Type error in {clause} expression: Should evaluate to boolean but is {format_expression(expression)} "
            f"({found or 'NULL'}) instead.",
            position(expression),
        )


def table_functions(items: Iterable[Item], flow: Flow, aggregated: bool) -> list[Call]:
    """The calls of table functions in a SELECT, each once."""
    found: list[Call] = []
    for item in items:
        for one in walk(item.expression):
            inner = [call for child in children(one) for call in table_function_calls(child)]
            if isinstance(one, Case) and inner:
                raise KsqlError(f"Table functions cannot be used in CASE: {inner[0].name}.", position(inner[0]))
        for call in table_function_calls(item.expression):
            nested = [deep for argument in call.arguments for deep in table_function_calls(argument)]
            if nested:
                raise KsqlError(f"Table functions cannot be nested: {call.name}({nested[0].name}())", position(call))
            if aggregated:
                raise KsqlError("Table functions cannot be used with aggregations.", position(call))
            if flow.is_table:
                raise KsqlError("Table source is not supported with table functions", position(call))
            if call not in found:
                found.append(call)
    return found


# -- aggregates --------------------------------------------------------------------------------------------------------


def aggregation(
    items: list[Item], groups: list[Expression], having: Expression | None, windowed: bool, where: Expression | None
) -> None:
    """Every column of the result is a group's or an aggregate's."""
    for group in groups:
        for call in aggregate_calls(group):
            raise KsqlError(
                f"GROUP BY does not support aggregate functions: {call.name} is an aggregate function.", position(call)
            )
    for expression in (*(item.expression for item in items), *([] if having is None else [having])):
        for call in aggregate_calls(expression):
            _no_nested(call)
            if windowed:
                _no_bounds(call)
    if windowed:
        for expression in (*groups, *(one for one in (where, having) if one is not None)):
            _no_bounds(expression)
    if not any(aggregate_calls(item.expression) for item in items) and not (having and aggregate_calls(having)):
        raise KsqlError(
            "GROUP BY requires aggregate functions in either the SELECT or HAVING clause.", position(groups[0])
        )
    plain = [
        item for item in items if not aggregate_calls(item.expression) and _outside(item.expression, groups, windowed)
    ]
    if plain:
        shown = ", ".join(format_expression(item.expression) for item in plain)
        raise KsqlError(
            f"Non-aggregate SELECT expression(s) not part of GROUP BY: {shown}. "
            "Either add the column to the GROUP BY or remove it from the SELECT.",
            plain[0].at,
        )
    mixed = [one for item in items for one in _outside(item.expression, groups, windowed)]
    if mixed:
        raise KsqlError(
            "Column used in aggregate SELECT expression(s) outside of aggregate functions not part of GROUP BY: "
            f"{_listed(mixed)}. Either add the column to the GROUP BY or remove it from the SELECT.",
            position(mixed[0]),
        )
    rest = [] if having is None else _outside(having, groups, windowed)
    if rest:
        raise KsqlError(
            f"Non-aggregate HAVING expression not part of GROUP BY: {_listed(rest)}. "
            "Consider switching the HAVING clause to a WHERE clause before the GROUP BY.",
            position(rest[0]),
        )


def _listed(expressions: Iterable[Expression]) -> str:
    return ", ".join(dict.fromkeys(format_expression(one) for one in expressions))


def _no_nested(call: Call) -> None:
    for argument in call.arguments:
        for inner in aggregate_calls(argument):
            raise KsqlError(f"Aggregate functions can not be nested: {format_expression(call)}", position(inner))


def _no_bounds(expression: Expression) -> None:
    for name in names(expression):
        if name.name in WINDOW_COLUMNS:
            raise KsqlError(
                f"Window bounds column {name.name} can only be used in the SELECT clause of windowed aggregations and "
                "can not be passed to aggregate functions.",
                position(name),
            )


def _outside(expression: Expression, groups: list[Expression], windowed: bool) -> list[Name]:
    """The columns that are neither in a group's expression nor an aggregate's argument."""
    if expression in groups or (isinstance(expression, Call) and resolution.is_aggregate(expression.name)):
        return []
    if isinstance(expression, Name):
        return [] if windowed and expression.name in WINDOW_COLUMNS else [expression]
    # Of a lambda's body only the names that it does not bind itself count: `names` knows.
    free = set(names(expression))
    return [one for child in children(expression) for one in _outside(child, groups, windowed) if one in free]


# -- keys and sinks ----------------------------------------------------------------------------------------------------


def no_map_in_key(type: SqlType, clause: str, at: Position | None) -> None:
    """A MAP has no order: two equal ones may be different bytes, so neither can be found again by its key."""
    if _has_map(type):
        raise KsqlError(f"{clause} on a {type} is not supported: keys must not have MAP types in them.", at)


def _has_map(type: SqlType) -> bool:
    if isinstance(type, Map):
        return True
    if isinstance(type, Struct):
        return any(_has_map(field.type) for field in type.fields)
    element = getattr(type, "element", None)
    return isinstance(element, SqlType) and _has_map(element)


def key_missing(flow: Flow, index: int, sink: str | None, at: Position | None) -> KsqlError:
    column = flow.key[index]
    shown = [format_expression(one) for one in column.means] if flow.is_join else [column.name]
    options = shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + f" or {shown[-1]}"
    plural = "s" if len(shown) > 1 else ""
    target = "this subquery" if sink is None else f"`{sink}`"
    added = (
        f" {column.name} was added as a synthetic key column because the join criteria did not match any source "
        "column. This expression must be included in the projection and may be aliased."
        if flow.is_join and [one.source for one in column.means if isinstance(one, Name)] == [None]
        else ""
    )
    return KsqlError(
        f"Key missing from projection. The query used to build {target} must include the {flow.key_is}{plural} "
        f"{options} in its projection (eg, SELECT {shown[0]}...).{added}",
        at,
    )


def key_twice(items: list[Item]) -> KsqlError:
    listed = " and ".join(f"`{item.name}`" for item in items)
    return KsqlError(
        f"The projection contains a key column more than once: {listed}. Each key column must only be in the "
        f"projection once. {AS_VALUE_HINT}",
        items[1].at,
    )


def result_kind(found: SourceKind, wanted: SourceKind, at: Position | None) -> None:
    if found is not wanted:
        raise KsqlError(
            f"Invalid result type. Your SELECT query produces a {found.value}. "
            f"Please use CREATE {found.value} AS SELECT statement instead.",
            at,
        )


def insert_target(target: Source, result: Schema, is_windowed: bool, at: Position | None) -> None:
    """INSERT INTO: the result has the target's columns, by name, type and place."""
    if target.is_table:
        raise KsqlError(f"INSERT INTO can only be used to insert into a stream. {target.name} is a table.", at)
    if target.is_source:
        raise KsqlError(f"Cannot insert into read-only stream: {target.name}", at)
    if is_windowed != (target.window is not None):
        raise KsqlError(f"Incompatible windows between results and {target.name}: only one of them is windowed.", at)
    headers = [column.name for column in target.schema if column not in (*target.schema.key, *target.schema.written)]
    if headers:
        raise KsqlError(f"Cannot insert into {target.name} because it has header columns: {', '.join(headers)}.", at)

    def sides(schema: Schema) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
        return schema.key, schema.written

    if sides(target.schema) != sides(result):
        raise KsqlError(
            "Incompatible schema between results and sink. "
            f"Result schema is {ordered(result)}. Sink schema is {ordered(target.schema)}.",
            at,
        )


def ordered(schema: Schema) -> str:
    return str(Schema((*schema.key, *schema.written)))
