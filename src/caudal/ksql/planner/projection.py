"""From a flow and the columns of its SELECT to the flow of just these: WHERE, PARTITION BY, table functions, SELECT.

The key stays where it is: an item that is a key column says what the column is called from now on, all others become
the value, in one map. A projection that changes nothing adds no node.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from caudal.ksql.errors import KsqlError, Position
from caudal.ksql.expressions.compiled import Compiled, compile_predicate, compile_row
from caudal.ksql.expressions.scope import Binding, Scope
from caudal.ksql.expressions.scope import Where as Place
from caudal.ksql.expressions.trees import position, rewritten
from caudal.ksql.expressions.typing import type_of
from caudal.ksql.formats.serdes import row_serde
from caudal.ksql.functions import resolution
from caudal.ksql.functions.signatures import can_widen
from caudal.ksql.planner import validation
from caudal.ksql.planner.analysis import Item
from caudal.ksql.planner.flow import Flow, KeyColumn, described
from caudal.ksql.planner.logical import LogicalStep
from caudal.ksql.planner.row_functions import (
    Explode,
    Rekey,
    Results,
    ResultsOnly,
    Select,
    TableFunctionCall,
    Where,
    WithKey,
    WithoutKey,
)
from caudal.ksql.syntax.format import format_expression
from caudal.ksql.syntax.tree import Call, Dereference, Expression, Name, Null
from caudal.ksql.types import SqlType
from caudal.plan import steps
from caudal.plan.functions import Function
from caudal.serde import Serde
from caudal.streams.stream import KStream
from caudal.streams.table import KTable


class Keys(Enum):
    """What a SELECT has to have of the key."""

    ALL = "all"  # a persistent query
    ALL_OR_NONE = "all or none"  # a subquery: without all of it a stream goes on without a key
    SOME = "some"  # a push query: rows keep their key, and show what was asked for
    NONE = "none"  # a push query over a UNION, whose sides have keys of their own


# What an aggregate shows of its state: its results, and how many there are.
ShownState = tuple[Callable[[tuple[Any, ...]], tuple[Any, ...]], int]


def filtered(flow: Flow, condition: Expression, clause: str, name: str) -> Flow:
    """WHERE and HAVING: of a table, rows that no longer match are taken back."""
    validation.condition(condition, flow, clause)
    compiled = compile_predicate(condition, flow.scope, clause)
    function = Function(of_row(compiled, Where(compiled, flow.no_key)), sql=compiled.sql)
    logical = LogicalStep("FILTER", flow.logical.schema, format_expression(condition), (flow.logical,), name)
    node = flow.node.filter(function)
    if isinstance(node, KTable):
        node._state.enable_old(True)  # what was never shown is not taken back
    return dataclasses.replace(flow, node=node, logical=logical, has_tombstones=flow.is_table)


def of_row(compiled: Compiled, guarded: Callable[..., Any]) -> Callable[..., Any]:
    """What the plan calls: the guard only where the compiled expressions cannot do without (they know null values
    themselves, if they look at the value)."""
    return compiled if compiled.reads_value() and not compiled.reads_key() else guarded


# -- PARTITION BY ------------------------------------------------------------------------------------------------------


def partitioned(flow: Flow, expressions: Sequence[Expression]) -> Flow:
    """A new key for each row. The old key's columns go on as values."""
    at = position(expressions[0])
    if flow.is_table:
        raise KsqlError("PARTITION BY is not supported on a TABLE: its key is what its rows are told apart by.", at)
    if any(isinstance(one, Null) for one in expressions):
        if len(expressions) > 1:
            raise KsqlError("Cannot PARTITION BY multiple columns including NULL.", at)
        return _without_key(flow)
    full = [flow.canonical(one) for one in expressions]
    if [flow.key_index(one) for one in full] == list(range(len(flow.key))):
        return flow
    types = []
    for one in full:
        type = type_of(one, flow.scope)
        if type is None:
            raise KsqlError("PARTITION BY needs a value with a type; NULL alone removes the key.", position(one))
        validation.no_map_in_key(type, "PARTITION BY", position(one))
        types.append(type)
    compiled = compile_row([(one, None) for one in full], flow.scope, "PARTITION BY")
    is_windowed = flow.window is not None
    keep = WithKey(is_windowed) if flow.key else None
    function = Function(Rekey(compiled, keep, flow.no_key, False, is_windowed), sql=compiled.sql)
    value_types = flow.value_types + flow.key_types
    node = flow.stream.map(function, key=row_serde(types), value=row_serde(value_types))
    names = _key_names(full, flow)
    columns = [_moved(one, len(flow.value_types)) for one in flow.columns]
    pseudo = [_moved(one, len(flow.value_types)) for one in flow.pseudo]
    key, computed = [], list(flow.computed)
    for index, (one, type, name) in enumerate(zip(full, types, names, strict=True)):
        if isinstance(one, Name):
            column = Binding(one.name, type, Place.KEY, index, one.source)
            columns = [column if _same(known, column) else known for known in columns]
            pseudo = [column if _same(known, column) else known for known in pseudo]
            key.append(KeyColumn(one.name, type, (one,)))
        else:
            stands_for = Name(name, None)
            columns.append(Binding(name, type, Place.KEY, index, None))
            computed.append((one, stands_for))
            key.append(KeyColumn(name, type, (stands_for,)))
    columns.sort(key=lambda one: (one.where is not Place.KEY, one.index if one.where is Place.KEY else 0))
    detail = ", ".join(format_expression(one) for one in full)
    return dataclasses.replace(
        flow,
        node=node,
        columns=tuple(columns),
        pseudo=tuple(pseudo),
        key=tuple(key),
        value_types=value_types,
        key_bytes=None,
        key_is="partitioning expression",
        computed=tuple(computed),
        logical=LogicalStep("REKEY", described(tuple(columns), tuple(key)), detail, (flow.logical,), "PartitionBy"),
    )


def _without_key(flow: Flow) -> Flow:
    is_windowed = flow.window is not None
    keep = WithKey(is_windowed) if flow.key else None
    value_types = flow.value_types + flow.key_types
    node = flow.stream.map(Function(WithoutKey(keep, flow.no_key), sql="NULL"), value=row_serde(value_types))
    columns = tuple(_moved(one, len(flow.value_types)) for one in flow.columns)
    return dataclasses.replace(
        flow,
        node=node,
        columns=columns,
        pseudo=tuple(_moved(one, len(flow.value_types)) for one in flow.pseudo if one.where is Place.VALUE),
        key=(),
        window=None,
        value_types=value_types,
        key_bytes=None,
        logical=LogicalStep("REKEY", described(columns, ()), "NULL", (flow.logical,), "PartitionBy"),
    )


def _moved(column: Binding, width: int) -> Binding:
    """A key column as the value column behind the others."""
    if column.where is not Place.KEY:
        return column
    return dataclasses.replace(column, where=Place.VALUE, index=width + column.index)


def _same(known: Binding, column: Binding) -> bool:
    return (known.name, known.source) == (column.name, column.source)


def _key_names(expressions: Sequence[Expression], flow: Flow) -> list[str]:
    taken = {one.name for one in flow.columns}
    found = []
    for one in expressions:
        if isinstance(one, Name):
            name = one.name
        elif isinstance(one, Dereference):
            name = _unused(one.field, taken)
        else:
            name = next(made for number in range(len(taken) + 1) if (made := f"KSQL_COL_{number}") not in taken)
        taken.add(name)
        found.append(name)
    return found


def _unused(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    return next(made for number in range(1, len(taken) + 2) if (made := f"{name}_{number}") not in taken)


# -- table functions ---------------------------------------------------------------------------------------------------


def exploded(flow: Flow, items: list[Item], calls: list[Call], project: Callable[[Flow, list[Item]], Flow]) -> Flow:
    """The rows that table functions make of each row; the SELECT is computed in the same step."""
    made, added, stands_for = [], [], {}
    for number, call in enumerate(calls):
        types = tuple(type_of(argument, flow.scope) for argument in call.arguments)
        _, result, parameters = resolution.table_function(call.name, types, position(call))
        arguments = compile_row(
            [
                (one, type if isinstance(type, SqlType) else None)
                for one, type in zip(call.arguments, parameters, strict=True)
            ],
            flow.scope,
            f"{call.name} in SELECT",
        )
        made.append(TableFunctionCall(call.name, types, arguments))
        name = f"KSQL_SYNTH_{number}"
        added.append(Binding(name, result, Place.VALUE, len(flow.value_types) + number))
        stands_for[call] = Name(name)
    replaced = [
        dataclasses.replace(
            item,
            expression=rewritten(item.expression, lambda one: stands_for.get(one) if isinstance(one, Call) else None),
        )
        for item in items
    ]
    wider = dataclasses.replace(
        flow,
        pseudo=(*flow.pseudo, *added),
        value_types=flow.value_types + tuple(one.type for one in added),
        explode=tuple(made),
        logical=LogicalStep(
            "FLATMAP",
            flow.logical.schema,
            ", ".join(format_expression(call) for call in calls),
            (flow.logical,),
            "FlatMap",
        ),
    )
    return project(wider, replaced)


# -- SELECT ------------------------------------------------------------------------------------------------------------


def projected(
    flow: Flow,
    items: list[Item],
    *,
    sink: str | None,
    keys: Keys,
    targets: Sequence[SqlType] | None = None,
    shown: ShownState | None = None,
    at: Position | None = None,
) -> Flow:
    """The flow with just the columns of a SELECT: key columns first, then the others in order.

    `targets` are the types that the values have to be of, where they are given from outside (INSERT INTO). With
    `shown` the flow's value is an aggregate's state, and its columns are bound to the results.
    """
    chosen = _key_items(flow, items, sink, keys is Keys.ALL or (keys is Keys.ALL_OR_NONE and flow.is_table), at)
    complete = len(chosen) == len(flow.key) and keys is not Keys.NONE
    if not complete and keys is not Keys.SOME:
        chosen = []
    columns = [
        Binding(item.name, flow.key[index].type, Place.KEY, index if keys is Keys.SOME else number)
        for number, (index, item) in enumerate(chosen)
    ]
    values = [item for item in items if all(item is not one for _, one in chosen)]
    if keys is Keys.SOME:
        bounds = [(item, bound) for item in values if (bound := _window_bound(flow, item)) is not None]
        values = [item for item in values if all(item is not one for one, _ in bounds)]
        columns += [dataclasses.replace(bound, name=item.name, source=None) for item, bound in bounds]
    types = _types(values, flow.scope, targets)
    if keys is Keys.ALL and not values:
        raise KsqlError("The projection contains no value columns.", at)
    wanted = list(zip((item.expression for item in values), types, strict=True))
    is_last = keys is not Keys.ALL_OR_NONE
    node = _mapped(flow, wanted, tuple(types), shown, is_last)
    has_key = complete or keys is Keys.SOME
    if not has_key:
        assert isinstance(node, KStream)  # a table's key is always there
        node = node.map(Function(WithoutKey(None, None), sql="NULL"), value=row_serde(types))
    columns += [
        Binding(item.name, type, Place.VALUE, index)
        for index, (item, type) in enumerate(zip(values, types, strict=True))
    ]
    key = flow.key
    if keys is not Keys.SOME:
        key = tuple(KeyColumn(one.name, one.type, (Name(one.name),)) for one in columns if one.where is Place.KEY)
    detail = ", ".join(f"{format_expression(item.expression)} AS {item.name}" for item in items)
    return Flow(
        node,
        tuple(columns),
        key,
        tuple(types),
        LogicalStep("PROJECT", described(tuple(columns), key), detail, (flow.logical,), "Project"),
        tuple(one for one in flow.pseudo if has_key and one.where in (Place.WINDOW_START, Place.WINDOW_END)),
        flow.window if has_key else None,
        flow.retention,
        flow.key_bytes if has_key else None,
        has_tombstones=flow.has_tombstones,
        is_changes=is_last and flow.is_table,
    )


def _window_bound(flow: Flow, item: Item) -> Binding | None:
    if not isinstance(item.expression, Name):
        return None
    found = flow.scope.resolve(item.expression)
    return found if found.where in (Place.WINDOW_START, Place.WINDOW_END) else None


def _key_items(
    flow: Flow, items: list[Item], sink: str | None, required: bool, at: Position | None
) -> list[tuple[int, Item]]:
    """Which item is which key column."""
    found: list[tuple[int, Item]] = []
    for index, column in enumerate(flow.key):
        chosen: list[Item] = []
        for expression in column.means:
            chosen = [item for item in items if item.expression == expression]
            if chosen:
                break
        if len(chosen) > 1 and required:
            raise validation.key_twice(chosen)
        if chosen:
            found.append((index, chosen[0]))
        elif required:
            raise validation.key_missing(flow, index, sink, at)
    return found


def _types(values: list[Item], scope: Scope, targets: Sequence[SqlType] | None) -> list[SqlType]:
    types = []
    for index, item in enumerate(values):
        type = type_of(item.expression, scope)
        wanted = targets[index] if targets is not None and index < len(targets) else None
        if wanted is not None and (type is None or _widens(type, wanted)):
            type = wanted
        if type is None:
            raise KsqlError(
                f"The type of column `{item.name}` is unknown: NULL needs one, for example CAST(NULL AS STRING).",
                item.at,
            )
        types.append(type)
    return types


def _widens(type: SqlType, wanted: SqlType) -> bool:
    """Whether a value may become one of the wanted type by itself (INT → BIGINT → DECIMAL → DOUBLE)."""
    return type == wanted or can_widen(type, wanted)


def _mapped(
    flow: Flow,
    wanted: list[tuple[Expression, SqlType]],
    types: tuple[SqlType, ...],
    shown: ShownState | None,
    is_last: bool,
) -> Any:
    """The node behind which the value is just these columns; a table's changes as a stream where it is the last."""
    width = len(flow.value_types) if shown is None else shown[1]
    same = len(wanted) == width and all(
        _is_value(flow.scope, expression, type, index) for index, (expression, type) in enumerate(wanted)
    )
    serde = row_serde(types)
    if same and shown is None and not flow.explode:
        return flow.changes if is_last else flow.node
    compiled = None if same else compile_row([(one, type) for one, type in wanted], flow.scope, "SELECT")
    if is_last and isinstance(flow.node, KTable):
        return _rows_of(flow.node, None if shown is None else shown[0], compiled, serde)
    if compiled is None:
        assert shown is not None
        return flow.node.map_values(Function(ResultsOnly(shown[0]), sql="results"), value=serde)
    if flow.explode:
        explode = Explode(flow.explode, compiled, flow.no_key)
        return flow.stream.flat_map_values(Function(explode, sql=compiled.sql), value=serde)
    function: Any
    if shown is not None:
        function = Results(shown[0], compiled)
    else:
        function = of_row(compiled, Select(compiled, flow.no_key))
    return flow.node.map_values(Function(function, sql=compiled.sql), value=serde)


def _rows_of(table: KTable, results: Callable[..., Any] | None, compiled: Compiled | None, serde: Serde) -> KStream:
    """The last step before a sink, in one node: cheaper than a table of results and its changes."""
    graph = table._graph
    step = steps.TableToRows(
        None if results is None else Function(results, sql="results"),
        None if compiled is None else Function(compiled, sql=compiled.sql),
    )
    node = graph.add_processor(graph.names.next("KTABLE-TOSTREAM"), step, (table._node,))
    return KStream(graph, node, table._key, serde, table._sources)


def _is_value(scope: Scope, expression: Expression, type: SqlType, index: int) -> bool:
    if not isinstance(expression, Name):
        return False
    found = scope.resolve(expression)
    return found.where is Place.VALUE and found.index == index and found.type == type
