"""GROUP BY: rows into groups, aggregates of them, HAVING, and the SELECT over both.

The state of a group is one tuple, the aggregates' states; what is shown is computed from it in the same step as the
SELECT. Where rows are in groups already (GROUP BY the key) nothing stands between source and aggregate; else a row goes
through the repartition topic with only the columns that the aggregates read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from caudal.ksql.errors import KsqlError
from caudal.ksql.expressions.aggregation import Aggregation
from caudal.ksql.expressions.compiled import compile_row
from caudal.ksql.expressions.scope import Binding, Scope
from caudal.ksql.expressions.scope import Where as Place
from caudal.ksql.expressions.trees import aggregate_calls, names, position, rewritten
from caudal.ksql.expressions.typing import type_of
from caudal.ksql.formats.serdes import row_serde
from caudal.ksql.planner import validation
from caudal.ksql.planner.analysis import Item, select_items
from caudal.ksql.planner.flow import Flow, KeyColumn, described
from caudal.ksql.planner.logical import LogicalStep
from caudal.ksql.planner.projection import Keys, filtered, projected
from caudal.ksql.planner.row_functions import Rekey, ResultsOnly
from caudal.ksql.planner.windows import PlannedWindow, planned
from caudal.ksql.schema import WINDOW_COLUMNS, WINDOWSTART
from caudal.ksql.syntax.format import format_expression
from caudal.ksql.syntax.statements import Emit, Query
from caudal.ksql.syntax.tree import Call, Expression, Literal, Name
from caudal.ksql.types import SqlType
from caudal.plan import steps
from caudal.plan.functions import Function
from caudal.plan.steps import SessionWindows
from caudal.streams.stores import persistent
from caudal.streams.table import KTable
from caudal.streams.windowed import SessionWindowedKStream

_MOST = (1 << 31) - 1  # of INTEGER


def is_aggregate_query(query: Query) -> bool:
    expressions = [item.expression for item in query.items] + ([] if query.having is None else [query.having])
    return bool(query.group_by) or any(aggregate_calls(one) for one in expressions)


def with_limits(query: Query, properties: Mapping[str, Any]) -> Query:
    """COLLECT_LIST and COLLECT_SET keep as many values as `ksql.functions.collect_list.limit` and
    `ksql.functions.collect_set.limit` say: as an argument, so that the plan carries it."""
    limits = {}
    for name in ("COLLECT_LIST", "COLLECT_SET"):
        setting = f"ksql.functions.{name.lower()}.limit"
        if properties.get(setting) is not None:
            limits[name] = _limit(setting, properties[setting])
    if not limits:
        return query

    def limit(one: Expression) -> Expression | None:
        if isinstance(one, Call) and one.name.upper() in limits and len(one.arguments) == 1:
            return dataclasses.replace(one, arguments=(*one.arguments, Literal(limits[one.name.upper()], at=one.at)))
        return None

    items = [dataclasses.replace(item, expression=rewritten(item.expression, limit)) for item in query.items]
    having = None if query.having is None else rewritten(query.having, limit)
    return dataclasses.replace(query, items=tuple(items), having=having)


def _limit(setting: str, value: Any) -> int:
    try:
        return min(int(value), _MOST)
    except (TypeError, ValueError):
        raise KsqlError(f"Invalid value '{value}' for property {setting}: a whole number is needed.") from None


def aggregated(
    query: Query,
    flow: Flow,
    *,
    sink: str | None,
    keys: Keys,
    persistent_query: bool,
    prefix: str,
    targets: Sequence[SqlType] | None,
) -> tuple[Flow, list[Item]]:
    at = query.at if query.at.line > 0 else None
    window = None if query.window is None else planned(query.window)
    if window is not None and flow.is_table:
        assert query.window is not None
        raise KsqlError("WINDOW clause is not supported on a TABLE: only streams have windows.", query.window.at)
    flow = _with_bounds(flow, window)
    grouping = query.group_by
    if not grouping:
        if persistent_query:
            raise KsqlError("Use of aggregate functions requires a GROUP BY clause.", at)
        grouping = (Literal(1),)
    groups = [flow.canonical(one) for one in grouping]
    items = select_items(query, flow, flow.canonical, persistent=persistent_query)
    having = None if query.having is None else flow.canonical(query.having)
    where = None if query.where is None else flow.canonical(query.where)
    validation.table_functions(items, flow, True)
    validation.aggregation(items, groups, having, window is not None, where)
    calls = _calls(items, having)
    table, aggregation, key_types = _table(query, flow, groups, calls, window, prefix)
    result = _result(query, flow, groups, key_types, calls, aggregation, table, window, prefix)
    shown_items = [dataclasses.replace(item, expression=_shown(item.expression, groups, calls)) for item in items]
    if having is None:
        state = (aggregation.results, len(calls))
        made = projected(result, shown_items, sink=sink, keys=keys, targets=targets, shown=state, at=at)
        return made, items
    node = table.map_values(
        Function(ResultsOnly(aggregation.results), sql="results"), value=row_serde(result.value_types)
    )
    result = dataclasses.replace(result, node=node)
    result = filtered(result, _shown(having, groups, calls), "HAVING", f"{prefix}Aggregate-HavingFilter")
    made = projected(result, shown_items, sink=sink, keys=keys, targets=targets, at=at)
    return made, items


def _with_bounds(flow: Flow, window: PlannedWindow | None) -> Flow:
    """With a WINDOW clause WINDOWSTART and WINDOWEND are the new windows', not those of a windowed source."""
    if window is None:
        return flow
    pseudo = [one for one in flow.pseudo if one.name not in WINDOW_COLUMNS]
    pseudo += [
        Binding(name, type, Place.WINDOW_START if name == WINDOWSTART else Place.WINDOW_END)
        for name, type in WINDOW_COLUMNS.items()
    ]
    return dataclasses.replace(flow, pseudo=tuple(pseudo))


def _calls(items: list[Item], having: Expression | None) -> list[Call]:
    found: dict[Call, None] = {}
    for expression in (*(item.expression for item in items), *([] if having is None else [having])):
        found.update(dict.fromkeys(aggregate_calls(expression)))
    return list(found)


def _group_name(index: int) -> str:
    return f"KSQL_GROUP_{index}"


def _aggregate_name(index: int) -> str:
    return f"KSQL_AGG_VARIABLE_{index}"


def _shown(expression: Expression, groups: list[Expression], calls: list[Call]) -> Expression:
    """The expression over the results: groups and aggregates by the columns they are in."""

    def replace(one: Expression) -> Expression | None:
        if one in groups:
            return Name(_group_name(groups.index(one)), at=one.at)
        if isinstance(one, Call) and one in calls:
            return Name(_aggregate_name(calls.index(one)), at=one.at)
        return None

    return rewritten(expression, replace)


# -- groups ------------------------------------------------------------------------------------------------------------


def _table(
    query: Query, flow: Flow, groups: list[Expression], calls: list[Call], window: PlannedWindow | None, prefix: str
) -> tuple[KTable, Aggregation, tuple[SqlType, ...]]:
    key_types = []
    for group in groups:
        type = type_of(group, flow.scope)
        if type is None:
            raise KsqlError("GROUP BY needs a value with a type, not NULL.", position(group))
        validation.no_map_in_key(type, "GROUP BY", position(group))
        key_types.append(type)
    name = f"{prefix}Aggregate-GroupBy"
    keep = persistent(
        f"{prefix}Aggregate-Aggregate-Materialize", retention=None if window is None else window.retention
    )
    named = [(call, _aggregate_name(index)) for index, call in enumerate(calls)]
    by_key = not flow.is_table and flow.window is None and _is_key(flow, groups)
    if by_key:
        aggregation = Aggregation(named, flow.scope)
        stream = flow.stream
        # A KAFKA key is there or not; others may have a NULL inside. Without windows the aggregate itself leaves
        # tombstones out.
        keys = flow.key_bytes is None or flow.key_bytes.format.name != "KAFKA"
        if keys or (window is not None and flow.has_tombstones):
            stream = stream._then("KSTREAM-FILTER", steps.DropNulls(keys), None, value=stream._value)
        grouped = stream.group_by_key(name=name, value=flow.row_serde)
    else:
        rekey, scope, types = _rekeyed(flow, groups, calls)
        aggregation = Aggregation([(_unqualified(call), alias) for call, alias in named], scope)
        key, value = row_serde(key_types), row_serde(types)
        if flow.is_table:
            _refuse_without_undo(named, flow)
            grouped_table = flow.table.group_by(rekey, key=key, value=value, name=name)
            table = grouped_table.aggregate(
                Function(aggregation.initial, sql="initial"),
                Function(aggregation.add, sql="add"),
                Function(aggregation.undo, sql="undo"),
                value=row_serde(aggregation.state_types),
                store=keep,
            )
            return table, aggregation, tuple(key_types)
        grouped = flow.stream.map(rekey, key=key, value=value).group_by_key(name=name)
    initial, add = Function(aggregation.initial, sql="initial"), Function(aggregation.add, sql="add")
    state = row_serde(aggregation.state_types)
    if window is None:
        return grouped.aggregate(initial, add, value=state, store=keep), aggregation, tuple(key_types)
    emit = "on_close" if query.emit is Emit.FINAL else "on_update"
    if isinstance(window.windows, SessionWindows):
        sessions = grouped.windowed_by(window.windows, emit=emit)
        assert isinstance(sessions, SessionWindowedKStream)
        merge = Function(aggregation.merge, sql="merge")
        return sessions.aggregate(initial, add, merge, value=state, store=keep), aggregation, tuple(key_types)
    windowed = grouped.windowed_by(window.windows, emit=emit)
    return windowed.aggregate(initial, add, value=state, store=keep), aggregation, tuple(key_types)


def _is_key(flow: Flow, groups: list[Expression]) -> bool:
    return bool(flow.key) and [flow.key_index(group) for group in groups] == list(range(len(flow.key)))


def _rekeyed(flow: Flow, groups: list[Expression], calls: list[Call]) -> tuple[Function, Scope, tuple[SqlType, ...]]:
    """Rows by their groups, with the columns that the aggregates read and no others."""
    used = dict.fromkeys(name for call in calls for name in names(call))
    bindings = []
    for index, name in enumerate(used):
        found = flow.scope.resolve(name)
        bindings.append(Binding(_plain(name), found.type, Place.VALUE, index))
    key = compile_row([(group, None) for group in groups], flow.scope, "GROUP BY")
    columns = compile_row([(name, None) for name in used], flow.scope, "GROUP BY")
    function = Function(Rekey(key, columns, flow.no_key, True), sql=key.sql)
    return function, Scope(bindings), tuple(one.type for one in bindings)


def _plain(name: Name) -> str:
    return name.name if name.source is None else f"{name.source}.{name.name}"


def _unqualified(call: Call) -> Call:
    """The call over the columns that went through the repartition topic, each named in full."""
    made = rewritten(call, lambda one: Name(_plain(one), at=one.at) if isinstance(one, Name) else None)
    assert isinstance(made, Call)
    return made


def _refuse_without_undo(named: list[tuple[Call, str]], flow: Flow) -> None:
    wrong = [call for call, alias in named if not Aggregation([(call, alias)], flow.scope).can_undo]
    if wrong:
        listed = ", ".join(dict.fromkeys(call.name for call in wrong))
        raise KsqlError(
            f"The aggregation function(s) ({listed}) cannot be applied to a table source, only to a stream source.",
            position(wrong[0]),
        )


# -- results -----------------------------------------------------------------------------------------------------------


def _result(
    query: Query,
    flow: Flow,
    groups: list[Expression],
    key_types: tuple[SqlType, ...],
    calls: list[Call],
    aggregation: Aggregation,
    table: KTable,
    window: PlannedWindow | None,
    prefix: str,
) -> Flow:
    """The groups with their results: what HAVING and SELECT are about."""
    columns = [Binding(_group_name(index), type, Place.KEY, index) for index, type in enumerate(key_types)]
    key = tuple(
        KeyColumn(_shown_name(group), type, (Name(_group_name(index)),))
        for index, (group, type) in enumerate(zip(groups, key_types, strict=True))
    )
    columns += [
        Binding(_aggregate_name(index), type, Place.VALUE, index) for index, type in enumerate(aggregation.result_types)
    ]
    bounds = [
        Binding(name, type, Place.WINDOW_START if name == WINDOWSTART else Place.WINDOW_END)
        for name, type in WINDOW_COLUMNS.items()
    ]
    detail = f"GROUP BY {', '.join(format_expression(group) for group in groups)}"
    if window is not None:
        detail = f"WINDOW {window.shown} {detail}" + (" EMIT FINAL" if query.emit is Emit.FINAL else "")
    detail += f": {', '.join(format_expression(call) for call in calls)}"
    by_key = not flow.is_table and flow.window is None and _is_key(flow, groups)
    return Flow(
        table,
        tuple(columns),
        key,
        tuple(aggregation.result_types),
        LogicalStep("AGGREGATE", described(tuple(columns), key), detail, (flow.logical,), f"{prefix}Aggregate"),
        () if window is None else tuple(bounds),
        None if window is None else window.window,
        None if window is None else window.retention,
        flow.key_bytes if by_key else None,
        "grouping expression",
    )


def _shown_name(group: Expression) -> str:
    return group.name if isinstance(group, Name) else format_expression(group)
