"""Joins: streams with streams in a window of time, streams with tables, tables with tables by primary and foreign key.

Joins are done from left to right, each with what came out of the one before. A side whose key is not what it is joined
on goes through a repartition topic; its keys are then written as the other side's, so that equal keys meet in one
partition. The joined row is the left value, the right value and, for a side that may be missing, a copy of its key.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from caudal.ksql.errors import KsqlError, Position
from caudal.ksql.expressions.compiled import compile_row
from caudal.ksql.expressions.scope import Binding
from caudal.ksql.expressions.scope import Where as Place
from caudal.ksql.formats.serdes import key_serde, row_serde
from caudal.ksql.planner.flow import Flow, KeyBytes, KeyColumn, Planning, described
from caudal.ksql.planner.join_conditions import Condition, condition_of, key_order
from caudal.ksql.planner.logical import LogicalStep
from caudal.ksql.planner.row_functions import ForeignKey, JoinRows, Rekey, WithKey
from caudal.ksql.planner.windows import default_grace
from caudal.ksql.sources import WindowKind
from caudal.ksql.syntax.format import format_expression
from caudal.ksql.syntax.statements import Join, JoinKind
from caudal.ksql.syntax.tree import Expression, Name
from caudal.ksql.types import SqlType
from caudal.plan.functions import Function
from caudal.plan.steps import JoinType
from caudal.serde import Serde
from caudal.streams import stream_joins
from caudal.streams.stream import KStream
from caudal.streams.table import KTable

_TYPES = {
    JoinKind.INNER: JoinType.INNER,
    JoinKind.LEFT: JoinType.LEFT,
    JoinKind.RIGHT: JoinType.LEFT,  # with its sides changed
    JoinKind.FULL: JoinType.OUTER,
}
_WORDS = {JoinKind.LEFT: "left-outer", JoinKind.RIGHT: "right-outer", JoinKind.FULL: "full-outer"}


@dataclass(frozen=True, slots=True)
class Side:
    """One side, ready to be joined: its rows, and where its columns are in them."""

    flow: Flow
    keeps_key: bool  # what it is joined on is its key as it was


def joined(planning: Planning, left: Flow, right: Flow, join: Join, name: str, side_name: str) -> Flow:
    """`name` is that of the join and its state, `side_name` that of the right source's."""
    at = join.at if join.at.line > 0 else None
    alias = join.right.alias
    _check_windows(left, right, join, at)
    condition = condition_of(join, left, right, alias)
    if left.is_table and not right.is_table:
        raise KsqlError(
            "Invalid join order: table-stream joins are not supported; only stream-table joins. "
            f"Got {_sides(left, join)}.",
            at,
        )
    _check_within(left, right, join, at)
    if right.is_table:
        return _with_table(planning, left, right, join, condition, name, side_name, at)
    order = key_order(left, condition.left) or key_order(right, condition.right)
    if order is not None:
        condition = condition.reordered(order)
    return _streams(left, right, join, condition, name, at)


# -- what may be joined ------------------------------------------------------------------------------------------------


def _sides(left: Flow, join: Join) -> str:
    names = dict.fromkeys(one.source for one in left.columns if one.source is not None)
    return f"{', '.join(names)} {join.kind.value} {join.right.alias}"


def _check_windows(left: Flow, right: Flow, join: Join, at: Position | None) -> None:
    one, two = (None if side.window is None else side.window.kind for side in (left, right))
    if (one is None) != (two is None):
        shown = ["not" if kind is None else kind.value for kind in (one, two)]
        raise KsqlError(
            "Can not join windowed source to non-windowed source. "
            f"The left side is {shown[0]} windowed, {join.right.alias} is {shown[1]} windowed.",
            at,
        )
    if one is not None and two is not None and (one is WindowKind.SESSION) != (two is WindowKind.SESSION):
        raise KsqlError(
            f"Incompatible windowed sources: the left side is {one.value}, {join.right.alias} is {two.value}. "
            "Session windowed sources can only be joined to other session windowed sources, hopping and tumbling ones "
            "to hopping and tumbling ones.",
            at,
        )


def _check_within(left: Flow, right: Flow, join: Join, at: Position | None) -> None:
    if not left.is_table and not right.is_table:
        if join.within is None:
            raise KsqlError("Stream-Stream joins must have a WITHIN clause specified. None was provided.", at)
        return
    if join.within is not None:
        kind = "Table-Table" if left.is_table else "Stream-Table"
        raise KsqlError(
            f"A window definition was provided for a {kind} join. These joins are not windowed. "
            "Please drop the window definition (ie. the WITHIN clause) and try to execute your join again.",
            at,
        )


def _refuse_rekey_of_windows(flow: Flow, at: Position | None) -> None:
    if flow.window is not None:
        raise KsqlError(
            "Implicit repartitioning of windowed sources is not supported: join windowed sources on their keys.", at
        )


# -- keys --------------------------------------------------------------------------------------------------------------


def _common_key(left: Flow, right: Flow, keeps: tuple[bool, bool], condition: Condition) -> tuple[Serde | None, ...]:
    """How each side's keys have to be written where they go through a topic for this join; None: as they are.

    A table stays where it is; of two, the left one.
    """
    one, two = (side.key_bytes if kept else None for side, kept in zip((left, right), keeps, strict=True))
    alike = one is not None and two is not None and _alike(one, two)
    if left.is_table:
        # Tables without a topic's own way of writing are groups, which are all written as rows.
        return (None, None) if alike or one is two else (None, left.table._key)
    if right.is_table:
        return (None, None) if alike else (right.table._key, None)
    if alike:
        return None, None
    if one is not None:
        return None, _written(one, left)
    if two is not None:
        return _written(two, right), None
    rows = row_serde(condition.types)
    return rows, rows


def _written(key: KeyBytes, flow: Flow) -> Serde:
    return key_serde(key.format, key.columns, flow.window)


def _alike(one: KeyBytes, two: KeyBytes) -> bool:
    """Whether equal keys are equal bytes."""
    if one.format != two.format or [column.type for column in one.columns] != [column.type for column in two.columns]:
        return False
    names = [[column.name for column in side.columns] for side in (one, two)]
    return (len(one.columns) == 1 and not one.format.wrapped) or names[0] == names[1]


def _rekeyed_stream(
    flow: Flow, condition: Condition, left: bool, serde: Serde | None, keeps: bool, at: Position | None
) -> Flow:
    """The stream keyed by what it is joined on. The repartition topic comes with the join, which needs it."""
    expressions = condition.left if left else condition.right
    if keeps:
        if serde is None:
            return dataclasses.replace(flow, node=flow.stream._with_serdes(None, flow.row_serde))
        stream = flow.stream
        same = KStream(stream._graph, stream._node, serde, flow.row_serde, stream._sources, key_changed=True)
        return dataclasses.replace(flow, node=same)
    _refuse_rekey_of_windows(flow, at)
    compiled = compile_row([(one, None) for one in expressions], flow.scope, "JOIN ON")
    keep = WithKey(False) if flow.key else None
    function = Function(Rekey(compiled, keep, flow.no_key, True), sql=compiled.sql)
    types = flow.value_types + flow.key_types
    node = flow.stream.map(function, key=serde or row_serde(condition.types), value=row_serde(types))
    return dataclasses.replace(
        flow,
        node=node,
        columns=tuple(_in_value(one, len(flow.value_types)) for one in flow.columns),
        pseudo=tuple(_in_value(one, len(flow.value_types)) for one in flow.pseudo),
        value_types=types,
    )


def _in_value(column: Binding, width: int) -> Binding:
    if column.where is not Place.KEY:
        return column
    return dataclasses.replace(column, where=Place.VALUE, index=width + column.index)


# -- streams -----------------------------------------------------------------------------------------------------------


def _streams(left: Flow, right: Flow, join: Join, condition: Condition, name: str, at: Position | None) -> Flow:
    assert join.within is not None
    keeps = (_is_key(left, condition.left), _is_key(right, condition.right))
    serdes = _common_key(left, right, keeps, condition)
    first = Side(_rekeyed_stream(left, condition, True, serdes[0], keeps[0], at), keeps[0])
    second = Side(_rekeyed_stream(right, condition, False, serdes[1], keeps[1], at), keeps[1])
    swapped = join.kind is JoinKind.RIGHT
    function, types = _joiner(first, second, join.kind, condition, swapped)
    within = join.within
    before, after = (within.after, within.before) if swapped else (within.before, within.after)
    grace = default_grace(before + after) if within.grace is None else within.grace
    one, two = (second, first) if swapped else (first, second)
    node = stream_joins.join(
        one.flow.stream,
        _TYPES[join.kind],
        two.flow.stream,
        function,
        (None, before, after, grace),
        None,
        row_serde(types),
        name,
        name,
        eager=within.grace is None,
    )
    return _result(node, first, second, join, condition, types, name)


def _is_key(flow: Flow, expressions: tuple[Expression, ...]) -> bool:
    return bool(flow.key) and key_order(flow, expressions) == list(range(len(flow.key)))


# -- with a table ------------------------------------------------------------------------------------------------------


def _with_table(
    planning: Planning,
    left: Flow,
    right: Flow,
    join: Join,
    condition: Condition,
    name: str,
    side_name: str,
    at: Position | None,
) -> Flow:
    order = key_order(right, condition.right)
    if order is None:
        what = (
            "table-table joins require to join on the primary key of the right input table"
            if left.is_table
            else "stream-table joins require to join on the table's primary key"
        )
        raise KsqlError(f"Invalid join condition: {what}. Got {condition.shown}.", condition.at)
    condition = condition.reordered(order)
    keeps_left = _is_key(left, condition.left)
    if not left.is_table:
        if join.kind in (JoinKind.FULL, JoinKind.RIGHT):
            raise KsqlError(
                f"Invalid join type: {_WORDS[join.kind]} join not supported for stream-table join. "
                f"Got {_sides(left, join)}.",
                at,
            )
        serdes = _common_key(left, right, (keeps_left, True), condition)
        first = Side(_rekeyed_stream(left, condition, True, serdes[0], keeps_left, at), keeps_left)
        second = Side(right, True)
        function, types = _joiner(first, second, join.kind, condition, False)
        stream = first.flow.stream
        method = stream.left_join if join.kind is JoinKind.LEFT else stream.join
        node = method(right.table, function, value=row_serde(types), name=name)
        return _result(node, first, second, join, condition, types, name)
    if not keeps_left:
        return _foreign_key(left, right, join, condition, name, at)
    serdes = _common_key(left, right, (True, True), condition)
    other = right
    if serdes[1] is not None:
        stream = right.table.to_stream().repartition(key=serdes[1], value=right.row_serde, name=f"{side_name}-Rewrite")
        other = dataclasses.replace(right, node=stream.to_table(store=f"{side_name}-Rewrite-Reduce"))
    first, second = Side(left, True), Side(other, True)
    swapped = join.kind is JoinKind.RIGHT
    function, types = _joiner(first, second, join.kind, condition, swapped)
    one, two = (other.table, left.table) if swapped else (left.table, other.table)
    if join.kind is JoinKind.FULL:
        table = one.outer_join(two, function, value=row_serde(types), name=name)
    else:
        join_tables = one.join if join.kind is JoinKind.INNER else one.left_join
        table = join_tables(two, function, value=row_serde(types), name=name)
    return _result(table, first, second, join, condition, types, name)


def _foreign_key(left: Flow, right: Flow, join: Join, condition: Condition, name: str, at: Position | None) -> Flow:
    if join.kind in (JoinKind.FULL, JoinKind.RIGHT):
        raise KsqlError(
            f"Invalid join type: {_WORDS[join.kind]} join not supported for foreign-key table-table join. "
            f"Got {_sides(left, join)}.",
            at,
        )
    if left.window is not None:
        raise KsqlError("Foreign-key table-table joins are not supported on windowed tables.", at)
    compiled = compile_row([(one, None) for one in condition.left], left.scope, "JOIN ON")
    extractor = Function(ForeignKey(compiled), sql=compiled.sql)
    # The result has the left table's key: the right one's goes along as a value.
    types = right.value_types + right.key_types
    width = len(right.value_types)
    with_key = right.table.map_values(Function(WithKey(False), sql="row with key"), value=row_serde(types))
    other = dataclasses.replace(
        right,
        node=with_key,
        columns=tuple(_in_value(one, width) for one in right.columns),
        pseudo=tuple(_in_value(one, width) for one in right.pseudo),
        value_types=types,
    )
    joined_types = left.value_types + types
    joiner = Function(JoinRows(len(left.value_types), len(types), 0), sql="left and right")
    method = left.table.left_join if join.kind is JoinKind.LEFT else left.table.join
    table = method(
        with_key, joiner, key_extractor=extractor, value=row_serde(joined_types), store=f"{name}-Output", name=name
    )
    shift = len(left.value_types)
    columns = (*left.columns, *(_shifted(one, shift) for one in other.columns))
    pseudo = (*left.pseudo, *(_shifted(one, shift) for one in other.pseudo))
    return dataclasses.replace(
        left,
        node=table,
        columns=columns,
        pseudo=pseudo,
        value_types=joined_types,
        is_join=True,
        key_is="key column",
        logical=_logical(left, right, join, columns, left.key, name),
    )


# -- the joined row ----------------------------------------------------------------------------------------------------


def _missing(kind: JoinKind) -> tuple[bool, bool]:
    """Whether the left side, and the right side, may be missing in a result."""
    return kind in (JoinKind.RIGHT, JoinKind.FULL), kind in (JoinKind.LEFT, JoinKind.FULL)


def _copies(first: Side, second: Side, kind: JoinKind) -> tuple[bool, bool]:
    """Which sides' keys go along as values: those that the result's key is not certain to be."""
    left_missing, right_missing = _missing(kind)
    return first.keeps_key and left_missing, second.keeps_key and right_missing


def _joiner(first: Side, second: Side, kind: JoinKind, condition: Condition, swapped: bool) -> tuple[Function, tuple]:  # type: ignore[type-arg]
    copy_left, copy_right = _copies(first, second, kind)
    left, right = first.flow, second.flow
    rows = JoinRows(
        len(left.value_types),
        len(right.value_types),
        len(condition.types),
        copy_left,
        copy_right,
        left.window is not None,
        swapped,
    )
    types = left.value_types + right.value_types
    types += condition.types * (int(copy_left) + int(copy_right))
    return Function(rows, sql="left and right"), types


def _shifted(column: Binding, by: int) -> Binding:
    return dataclasses.replace(column, index=column.index + by) if column.where is Place.VALUE else column


def _result(
    node: KStream | KTable,
    first: Side,
    second: Side,
    join: Join,
    condition: Condition,
    types: tuple[SqlType, ...],
    name: str,
) -> Flow:
    left, right = first.flow, second.flow
    copy_left, copy_right = _copies(first, second, join.kind)
    shift = len(left.value_types)
    copies_at = shift + len(right.value_types)

    def placed(column: Binding, by: int, copied_at: int | None) -> Binding:
        if column.where is Place.KEY:
            return column if copied_at is None else _in_value(column, copied_at)
        return _shifted(column, by)

    left_at = copies_at if copy_left else None
    right_at = (copies_at + len(condition.types) * int(copy_left)) if copy_right else None
    columns = [placed(one, 0, left_at) for one in left.columns]
    columns += [placed(one, shift, right_at) for one in right.columns]
    pseudo = [placed(one, 0, left_at) for one in left.pseudo]
    pseudo += [placed(one, shift, right_at) for one in right.pseudo]
    if join.kind is JoinKind.FULL or not first.keeps_key:
        columns = [one for one in columns if not _is_synthetic(one, left)]
    key = []
    for index, (one, two) in enumerate(zip(condition.left, condition.right, strict=True)):
        before = left.key[index] if first.keeps_key else None
        equals = tuple(dict.fromkeys((*(() if before is None else (*before.means, *before.equals)), one, two)))
        means: tuple[Name, ...] = ()
        if join.kind is not JoinKind.FULL:
            candidates = (*(() if before is None else before.means), one, two)
            if join.kind is JoinKind.RIGHT:  # the side that is always there is the better name
                candidates = (two, *candidates)
            means = tuple(dict.fromkeys(each for each in candidates if isinstance(each, Name)))
        if not means:
            synthetic = _synthetic_name([*columns, *pseudo])
            columns.insert(index, Binding(synthetic, condition.types[index], Place.KEY, index))
            means = (Name(synthetic),)
        key.append(KeyColumn(means[0].name, condition.types[index], means, equals))
    # What comes out is where the rows of the side lie that kept its key, written as it was.
    key_bytes = left.key_bytes if first.keeps_key else right.key_bytes if second.keeps_key else None
    return Flow(
        node,
        tuple(columns),
        tuple(key),
        types,
        _logical(left, right, join, tuple(columns), tuple(key), name),
        tuple(pseudo),
        left.window,
        left.retention,
        key_bytes,
        "join expression",
        is_join=True,
        has_tombstones=isinstance(node, KTable),
    )


def _synthetic_name(columns: list[Binding]) -> str:
    taken = {one.name for one in columns}
    if "ROWKEY" not in taken:
        return "ROWKEY"
    return next(name for number in range(1, len(taken) + 2) if (name := f"ROWKEY_{number}") not in taken)


def _is_synthetic(column: Binding, flow: Flow) -> bool:
    """The synthetic key of a join before, which is no key any more: what it was made of is in the other columns."""
    return column.source is None and any(Name(column.name) in each.means for each in flow.key)


def _logical(
    left: Flow, right: Flow, join: Join, columns: tuple[Binding, ...], key: tuple[KeyColumn, ...], name: str
) -> LogicalStep:
    within = ""
    if join.within is not None:
        grace = "" if join.within.grace is None else f" GRACE {join.within.grace} ms"
        within = f" WITHIN ({join.within.before} ms, {join.within.after} ms){grace}"
    detail = f"{join.kind.value} JOIN{within} ON {format_expression(join.on)}"
    return LogicalStep("JOIN", described(columns, key, prefixed=True), detail, (left.logical, right.logical), name)
