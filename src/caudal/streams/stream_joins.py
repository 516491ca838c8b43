"""The joins of a stream: with another stream in a time window, with a table, with a global table. Node and store names
are Kafka Streams'; left and outer joins let records with null keys through (KIP-962), so repartitions before them do
too."""

from __future__ import annotations

from caudal.plan import steps
from caudal.plan.durations import Duration, milliseconds
from caudal.plan.errors import PlanError
from caudal.plan.functions import Function
from caudal.plan.naming import checked_name
from caudal.plan.steps import JoinType
from caudal.plan.topology import StoreKind, StoreSpec
from caudal.serde import Serde
from caudal.serde.either import LeftOrRight
from caudal.streams import functions
from caudal.streams.functions import UserFunction
from caudal.streams.global_table import GlobalKTable
from caudal.streams.stores import Keep, Store, kept
from caudal.streams.stream import KStream
from caudal.streams.table import KTable

Window = tuple[Duration | None, Duration | None, Duration | None, Duration]  # within, before, after, grace

_METHODS = {JoinType.INNER: "join()", JoinType.LEFT: "left_join()", JoinType.OUTER: "outer_join()"}


def join(
    stream: KStream,
    kind: JoinType,
    other: KStream | KTable | GlobalKTable,
    joiner: UserFunction,
    window: Window,
    key_selector: UserFunction | None,
    value: Serde | None,
    store: Store | None,
    name: str | None,
    eager: bool = False,
) -> KStream:
    """Any join of a stream, by what is on the other side.

    `eager` (left and outer joins of two streams): a record without a partner goes on at once, and again when one
    comes: what Kafka Streams did before 3.1, and what ksqlDB does for joins without a grace period.
    """
    method = _METHODS[kind]
    if not isinstance(other, (KStream, KTable, GlobalKTable)):
        raise PlanError(f"{method} needs a stream, a table or a global table, not {type(other).__name__}.")
    stream._graph.check_same(other._graph, method)
    function = functions.joiner(joiner, method)
    windowed = any(part is not None for part in window[:3]) or window[3] != 0
    if isinstance(other, KStream):
        if key_selector is not None:
            raise PlanError(f"{method} of two streams is on their keys; use select_key() before it, not key_selector=.")
        return _stream_stream(
            stream, kind, other, function, _join_window(window, method), value, kept(store), name, eager
        )
    if windowed:
        raise PlanError(f"{method} with a table has no window: leave out within=, before=, after= and grace=.")
    if kind is JoinType.OUTER:
        raise PlanError("outer_join() of a stream is with another stream; a table has join() and left_join().")
    if store is not None:
        raise PlanError(f"{method} with a table needs no store of its own: leave out store=.")
    if isinstance(other, KTable):
        if key_selector is not None:
            raise PlanError(f"{method} with a table is on the key; use select_key() before it, or a global table.")
        return _stream_table(stream, kind, other, function, value, name)
    if key_selector is None:
        raise PlanError(f"{method} with a global table needs key_selector=: the table's key from (key, value).")
    selector = functions.key_value(key_selector, f"{method[:-1]}key_selector=)")
    return _stream_global(stream, kind, other, selector, function, value, name)


def _join_window(window: Window, method: str) -> tuple[int, int, int]:
    """How much earlier and later the other record may be, and the grace period."""
    within, before, after, grace = window
    if within is None and before is None and after is None:
        raise PlanError(f"{method} of two streams needs within= (or before= and after=): how far apart records may be.")
    both = 0 if within is None else milliseconds(within, "within of a join")
    earlier = both if before is None else milliseconds(before, "before of a join")
    later = both if after is None else milliseconds(after, "after of a join")
    return earlier, later, milliseconds(grace, "grace period")


def _stream_table(
    stream: KStream, kind: JoinType, table: KTable, joiner: Function, value: Serde | None, name: str | None
) -> KStream:
    graph, left = stream._graph, kind is JoinType.LEFT
    keyed = stream._keyed(stream._node if name is None else checked_name(name))
    node = graph.names.next("KSTREAM-LEFTJOIN" if left else "KSTREAM-JOIN", name)
    state = table._state
    state.make_readable()
    graph.add_processor(
        node,
        lambda: steps.StreamTableJoin(state.readable, left, joiner),
        (keyed._node,),
        state.store_names,
    )
    if left:
        graph.relaxed_joins.add(node)
    sources = graph.copartition(keyed._sources | table._sources)
    return KStream(graph, node, stream._key, value or stream._value, sources)


def _stream_global(
    stream: KStream,
    kind: JoinType,
    table: GlobalKTable,
    selector: Function,
    joiner: Function,
    value: Serde | None,
    name: str | None,
) -> KStream:
    graph, left = stream._graph, kind is JoinType.LEFT
    # Inner joins are called LEFTJOIN as well: Kafka Streams has always done so.
    node = graph.names.next("KSTREAM-LEFTJOIN", name)
    graph.add_processor(node, steps.GlobalTableJoin(table._store, left, selector, joiner), (stream._node,))
    if left:
        graph.relaxed_joins.add(node)
    return KStream(graph, node, stream._key, value or stream._value, stream._sources, stream._key_changed)


def _stream_stream(
    stream: KStream,
    kind: JoinType,
    other: KStream,
    joiner: Function,
    window: tuple[int, int, int],
    value: Serde | None,
    keep: Keep,
    name: str | None,
    eager: bool = False,
) -> KStream:
    graph, names = stream._graph, stream._graph.names
    left = stream._keyed(stream._node if name is None else f"{checked_name(name)}-left")
    right = other._keyed(other._node if name is None else f"{checked_name(name)}-right")

    outer_this, outer_other = kind is JoinType.OUTER, kind is not JoinType.INNER
    this_window = names.next("KSTREAM-WINDOWED", name, "-this-windowed")
    other_window = names.next("KSTREAM-WINDOWED", name, "-other-windowed")
    this_number = f"{names.index:010d}"
    this_generated = names.next("KSTREAM-OUTERTHIS" if outer_this else "KSTREAM-JOINTHIS")
    other_generated = names.next("KSTREAM-OUTEROTHER" if outer_other else "KSTREAM-JOINOTHER")
    this_suffix = "-outer-this-join" if outer_this else "-this-join"
    other_suffix = "-outer-other-join" if outer_other else "-other-join"
    this_join = this_generated if name is None else name + this_suffix
    other_join = other_generated if name is None else name + other_suffix
    merge = names.next("KSTREAM-MERGE", name, "-merge")

    before, after, grace = window
    least = before + after + grace
    if keep.retention is not None and keep.retention < least:
        raise PlanError(f"The join's stores keep {keep.retention} ms, but its window and grace need {least} ms.")

    def add_store(generated: str, suffix: str, side: KStream) -> str:
        base = generated if keep.name is None else keep.name + suffix
        spec = StoreSpec(
            f"{base}-store",
            StoreKind.WINDOW,
            side._key,
            side._value,
            keep.persistent,
            keep.logged,
            retention=least if keep.retention is None else keep.retention,
            window_size=before + after,
            retain_duplicates=True,
            topic_configs=keep.topic_configs,
        )
        graph.add_new_store(spec)
        return spec.name

    this_store = add_store(this_generated, this_suffix, left)
    other_store = add_store(other_generated, other_suffix, right)
    shared: str | None = None
    if kind is not JoinType.INNER and not eager:
        suffix = "-outer-shared-join" if kind is JoinType.OUTER else "-left-shared-join"
        base = f"KSTREAM-OUTERSHARED-{this_number}" if keep.name is None else keep.name + suffix
        shared = f"{base}-store"
        value_serde = LeftOrRight(left._value, right._value)
        graph.add_new_store(
            StoreSpec(
                shared, StoreKind.BUFFER, left._key, value_serde, keep.persistent, keep.logged, retain_duplicates=True
            )
        )

    graph.add_processor(this_window, steps.WindowPut(this_store), (left._node,), (this_store,))
    graph.add_processor(other_window, steps.WindowPut(other_store), (right._node,), (other_store,))
    shared_stores = () if shared is None else (shared,)
    this_step = steps.StreamStreamJoin(True, kind, before, after, grace, other_store, shared, joiner)
    other_step = steps.StreamStreamJoin(False, kind, after, before, grace, this_store, shared, joiner)
    graph.add_processor(this_join, this_step, (this_window,), (other_store, *shared_stores))
    graph.add_processor(other_join, other_step, (other_window,), (this_store, *shared_stores))
    graph.add_processor(merge, steps.PassThrough(), (this_join, other_join))
    if kind is not JoinType.INNER:
        graph.relaxed_joins.update((this_join, other_join))
    sources = graph.copartition(left._sources | right._sources)
    return KStream(graph, merge, left._key, value or left._value, sources)
