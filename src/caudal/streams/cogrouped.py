"""Cogroups: one aggregate over several grouped streams, each with an aggregator of its own, in one store."""

from __future__ import annotations

from typing import overload

from caudal.plan import steps
from caudal.plan.errors import PlanError
from caudal.plan.functions import Function
from caudal.plan.topology import StoreKind, StoreSpec
from caudal.serde import Serde
from caudal.streams import functions
from caudal.streams.functions import UserFunction
from caudal.streams.grouped import KGroupedStream
from caudal.streams.stores import Keep, Store, kept
from caudal.streams.table import KTable
from caudal.streams.table_state import TableState
from caudal.streams.windowed import emission, window_store, windowed_key
from caudal.streams.windows import Windows, closing_grace

Groups = list[tuple[KGroupedStream, Function]]


class CogroupedKStream:
    """Made by `KGroupedStream.cogroup`."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def cogroup(self, group: KGroupedStream, aggregator: UserFunction) -> CogroupedKStream:
        """Adds a grouped stream with its aggregator of (key, value, aggregate).

        >>> returns = builder.stream("returns", key=String(), value=Json())
        >>> spent = orders.group_by_key().cogroup(lambda key, order, total: total + order["amount"])
        >>> both = spent.cogroup(returns.group_by_key(), lambda key, amount, total: total - amount)
        >>> both.aggregate(lambda: 0, value=Long()).to("balance")
        >>> show(("returns", "ana", 1))
        balance: ana -1
        """
        if not isinstance(group, KGroupedStream):
            raise PlanError("cogroup() needs a grouped stream: use group_by_key() or group_by() on it first.")
        self._groups[0][0]._stream._graph.check_same(group._stream._graph, "cogroup()")
        return CogroupedKStream([*self._groups, (group, functions.aggregator(aggregator, "cogroup()"))])

    def aggregate(
        self,
        initializer: UserFunction,
        *,
        value: Serde | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> KTable:
        """The table of the aggregate.

        >>> spent = orders.group_by_key().cogroup(lambda key, order, total: total + order["amount"])
        >>> spent.aggregate(lambda: 0, value=Long()).to("spent")
        >>> show(order("ana", 3))
        spent: ana 3
        """
        begin = functions.initializer(initializer, "aggregate(initializer)")
        return cogrouped_table(self._groups, None, begin, None, value, kept(store), name, steps.Emit.ON_UPDATE)

    @overload
    def windowed_by(
        self, windows: steps.TimeWindows | steps.SlidingWindows, *, emit: str = ...
    ) -> TimeWindowedCogroupedKStream: ...

    @overload
    def windowed_by(self, windows: steps.SessionWindows, *, emit: str = ...) -> SessionWindowedCogroupedKStream: ...

    def windowed_by(
        self, windows: Windows, *, emit: str = "on_update"
    ) -> TimeWindowedCogroupedKStream | SessionWindowedCogroupedKStream:
        """The aggregate per window.

        >>> spent = orders.group_by_key().cogroup(lambda key, order, total: total + order["amount"])
        >>> spent.windowed_by(tumbling("1 minute")).aggregate(lambda: 0, value=Long()).to("spent")
        >>> show(order("ana", 3))
        spent: Windowed(key='ana', start=0, end=60000) 3
        """
        if isinstance(windows, steps.SessionWindows):
            return SessionWindowedCogroupedKStream(self._groups, windows, emission(emit))
        if isinstance(windows, (steps.TimeWindows, steps.SlidingWindows)):
            return TimeWindowedCogroupedKStream(self._groups, windows, emission(emit))
        raise PlanError("windowed_by() needs tumbling(), hopping(), sliding() or session() windows.")


class TimeWindowedCogroupedKStream:
    """A cogroup in tumbling, hopping or sliding windows."""

    def __init__(self, groups: Groups, windows: steps.TimeWindows | steps.SlidingWindows, emit: steps.Emit) -> None:
        self._groups = groups
        self._windows = windows
        self._emit = emit

    def aggregate(
        self,
        initializer: UserFunction,
        *,
        value: Serde | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> KTable:
        """The windowed table of the aggregate.

        >>> spent = orders.group_by_key().cogroup(lambda key, order, total: total + order["amount"])
        >>> spent.windowed_by(tumbling("1 minute")).aggregate(lambda: 0, value=Long()).to("spent")
        >>> show(order("ana", 3))
        spent: Windowed(key='ana', start=0, end=60000) 3
        """
        begin = functions.initializer(initializer, "aggregate(initializer)")
        return cogrouped_table(self._groups, self._windows, begin, None, value, kept(store), name, self._emit)


class SessionWindowedCogroupedKStream:
    """A cogroup in session windows."""

    def __init__(self, groups: Groups, windows: steps.SessionWindows, emit: steps.Emit) -> None:
        self._groups = groups
        self._windows = windows
        self._emit = emit

    def aggregate(
        self,
        initializer: UserFunction,
        merger: UserFunction,
        *,
        value: Serde | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> KTable:
        """The table of the aggregate per session; the merger of (key, left, right) combines two sessions.

        >>> spent = orders.group_by_key().cogroup(lambda key, order, total: total + order["amount"])
        >>> spent.windowed_by(session("1 minute")).aggregate(lambda: 0, lambda a, b: a + b, value=Long()).to("spent")
        >>> show(order("ana", 3))
        spent: Windowed(key='ana', start=0, end=0) 3
        """
        begin = functions.initializer(initializer, "aggregate(initializer)")
        merge = functions.joiner(merger, "aggregate(merger)")
        return cogrouped_table(self._groups, self._windows, begin, merge, value, kept(store), name, self._emit)


def cogrouped_table(
    groups: Groups,
    windows: Windows | None,
    begin: Function,
    merge: Function | None,
    value: Serde | None,
    keep: Keep,
    name: str | None,
    emit: steps.Emit,
) -> KTable:
    """One aggregating node per group on one store, and a node that unites them."""
    first = groups[0][0]._stream
    graph, names = first._graph, first._graph.names
    store = keep.name or names.store("COGROUPKSTREAM-AGGREGATE")
    streams = [group._repartitioned(store) for group, _ in groups]
    key, value = first._key, value or first._value
    if windows is None:
        if keep.retention is not None:
            raise PlanError("retention= is for window stores; a store of plain keys forgets nothing.")
        spec = StoreSpec(
            store, StoreKind.TIMESTAMPED, key, value, keep.persistent, keep.logged, topic_configs=keep.topic_configs
        )
    else:
        spec = window_store(store, windows, key, value, keep)
    graph.add_new_store(spec)

    def step(add: Function) -> steps.Step:
        if windows is None:
            return steps.Aggregate(store, begin, add)
        if isinstance(windows, steps.SessionWindows):
            assert merge is not None
            return steps.SessionAggregate(store, windows, begin, add, merge, emit)
        return steps.WindowAggregate(store, windows, begin, add, emit)

    nodes = [names.next("COGROUPKSTREAM-AGGREGATE", name, f"-cogroup-agg-{number}") for number in range(len(groups))]
    merged = names.next("COGROUPKSTREAM-MERGE", name, "-cogroup-merge")
    state = TableState(merged, store, windowed_by=None if windows is None else nodes[0])
    for node, stream, (_, add) in zip(nodes, streams, groups, strict=True):
        graph.add_processor(node, step(add), (stream._node,), (store,), lambda: state.sends_old)
    graph.add_processor(merged, steps.PassThrough(), nodes, (), lambda: state.sends_old)
    sources = graph.copartition(source for stream in streams for source in stream._sources)
    table_key = key if windows is None else windowed_key(windows, key)
    grace = None if windows is None else closing_grace(windows)
    return KTable(graph, merged, table_key, value, sources, state, grace)
