"""Windowed groups: the aggregates of KGroupedStream per window. Their tables have `Windowed` keys (key, start, end)."""

from __future__ import annotations

from caudal.plan import steps
from caudal.plan.errors import PlanError
from caudal.plan.functions import Function
from caudal.plan.topology import StoreKind, StoreSpec
from caudal.serde import Long, Serde, SessionWindowed, TimeWindowed
from caudal.streams import functions
from caudal.streams.functions import UserFunction
from caudal.streams.grouped import KGroupedStream
from caudal.streams.stores import Keep, Store, kept
from caudal.streams.stream import KStream
from caudal.streams.table import KTable
from caudal.streams.table_state import TableState
from caudal.streams.windows import Windows, closing_grace, least_retention, window_size


def windowed(group: KGroupedStream, windows: Windows, emit: str) -> TimeWindowedKStream | SessionWindowedKStream:
    how = emission(emit)
    if isinstance(windows, steps.SessionWindows):
        return SessionWindowedKStream(group, windows, how)
    if isinstance(windows, (steps.TimeWindows, steps.SlidingWindows)):
        return TimeWindowedKStream(group, windows, how)
    raise PlanError("windowed_by() needs tumbling(), hopping(), sliding() or session() windows.")


def emission(emit: str) -> steps.Emit:
    try:
        return steps.Emit(emit.replace("_", " "))
    except ValueError:
        raise PlanError(f"emit must be 'on_update' or 'on_close', not {emit!r}.") from None


def window_store(
    name: str, windows: Windows, key: Serde, value: Serde, keep: Keep, emit: steps.Emit = steps.Emit.ON_UPDATE
) -> StoreSpec:
    """The store of a windowed aggregate: it keeps a window as long as a record may change it, or longer."""
    least = least_retention(windows)
    if keep.retention is not None and keep.retention < least:
        raise PlanError(f"Store '{name}' keeps windows for {keep.retention} ms, but size and grace need {least} ms.")
    is_session = isinstance(windows, steps.SessionWindows)
    if is_session and emit is steps.Emit.ON_CLOSE:
        # A session of just that age is still open, but expired for the store: it must be there when it closes.
        least += 1
    return StoreSpec(
        name,
        StoreKind.SESSION if is_session else StoreKind.WINDOW,
        key,
        value,
        keep.persistent,
        keep.logged,
        retention=least if keep.retention is None else max(least, keep.retention),
        window_size=0 if isinstance(windows, steps.SessionWindows) else window_size(windows),
        topic_configs=keep.topic_configs,
    )


def windowed_key(windows: Windows, key: Serde) -> Serde:
    if isinstance(windows, steps.SessionWindows):
        return SessionWindowed(key)
    return TimeWindowed(key, window_size(windows))


class _Windowed:
    """What both kinds share: names, the store, the repartition."""

    _group: KGroupedStream
    _windows: Windows
    _emit: steps.Emit

    def _prepared(
        self, prefix: str, value: Serde, store: Store | None, name: str | None
    ) -> tuple[str, StoreSpec, KStream]:
        keep, stream = kept(store), self._group._stream
        names = stream._graph.names
        store_name = keep.name or names.store(prefix)
        node = names.next(prefix, name)
        spec = window_store(store_name, self._windows, stream._key, value, keep, self._emit)
        return node, spec, self._group._repartitioned(store_name)

    def _table(self, node: str, spec: StoreSpec, stream: KStream, step: steps.Step) -> KTable:
        graph = stream._graph
        graph.add_new_store(spec)
        state = TableState(node, spec.name, windowed_by=node)
        graph.add_processor(node, step, (stream._node,), (spec.name,), lambda: state.sends_old)
        key = windowed_key(self._windows, spec.key)
        return KTable(graph, node, key, spec.value, stream._sources, state, closing_grace(self._windows))


class TimeWindowedKStream(_Windowed):
    """A group in tumbling, hopping or sliding windows."""

    def __init__(
        self, group: KGroupedStream, windows: steps.TimeWindows | steps.SlidingWindows, emit: steps.Emit
    ) -> None:
        self._group = group
        self._windows: steps.TimeWindows | steps.SlidingWindows = windows
        self._emit = emit

    def count(self, *, store: Store | None = None, name: str | None = None) -> KTable:
        """How many records a key has in each window.

        >>> orders.group_by_key().windowed_by(tumbling("1 minute")).count().to("per-minute")
        >>> show(order("ana", 3, timestamp=61_000))
        per-minute: Windowed(key='ana', start=60000, end=120000) 1
        """
        return self._aggregated("KSTREAM-AGGREGATE", functions.ZERO, functions.ADD_ONE, Long(), store, name)

    def reduce(
        self, reducer: UserFunction, *, value: Serde | None = None, store: Store | None = None, name: str | None = None
    ) -> KTable:
        """Combines the records of a key in each window by (aggregate, value).

        >>> amounts = orders.map_values("amount", value=Long())
        >>> largest = amounts.group_by_key().windowed_by(hopping("1 minute", "30 seconds")).reduce(max)
        >>> largest.to("largest")
        >>> show(order("ana", 3), order("ana", 2))
        largest: Windowed(key='ana', start=0, end=60000) 3
        largest: Windowed(key='ana', start=0, end=60000) 3
        """
        function = functions.by_reducer(functions.reducer(reducer, "reduce()"))
        value = value or self._group._stream._value
        return self._aggregated("KSTREAM-REDUCE", None, function, value, store, name)

    def aggregate(
        self,
        initializer: UserFunction,
        aggregator: UserFunction,
        *,
        value: Serde | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> KTable:
        """Combines the records of a key in each window by (key, value, aggregate).

        >>> windows = sliding("10 seconds")
        >>> total = lambda key, order, total: total + order["amount"]
        >>> orders.group_by_key().windowed_by(windows).aggregate(lambda: 0, total, value=Long()).to("spent")
        >>> show(order("ana", 3, timestamp=20_000))
        spent: Windowed(key='ana', start=10000, end=20000) 3
        """
        begin = functions.initializer(initializer, "aggregate(initializer)")
        add = functions.aggregator(aggregator, "aggregate()")
        value = value or self._group._stream._value
        return self._aggregated("KSTREAM-AGGREGATE", begin, add, value, store, name)

    def _aggregated(
        self,
        prefix: str,
        begin: Function | None,
        add: Function,
        value: Serde,
        store: Store | None,
        name: str | None,
    ) -> KTable:
        node, spec, stream = self._prepared(prefix, value, store, name)
        step = steps.WindowAggregate(spec.name, self._windows, begin, add, self._emit)
        return self._table(node, spec, stream, step)


class SessionWindowedKStream(_Windowed):
    """A group in session windows: sessions that a record brings together are merged."""

    def __init__(self, group: KGroupedStream, windows: steps.SessionWindows, emit: steps.Emit) -> None:
        self._group = group
        self._windows: steps.SessionWindows = windows
        self._emit = emit

    def count(self, *, store: Store | None = None, name: str | None = None) -> KTable:
        """How many records a key has in each session.

        >>> orders.group_by_key().windowed_by(session("1 minute")).count().to("visits")
        >>> show(order("ana", 3, timestamp=0), order("ana", 3, timestamp=9))
        visits: Windowed(key='ana', start=0, end=0) 1
        visits: Windowed(key='ana', start=0, end=0) None
        visits: Windowed(key='ana', start=0, end=9) 2
        """
        return self._aggregated(
            "KSTREAM-AGGREGATE", functions.ZERO, functions.ADD_ONE, functions.ADD_BOTH, Long(), store, name
        )

    def reduce(
        self, reducer: UserFunction, *, value: Serde | None = None, store: Store | None = None, name: str | None = None
    ) -> KTable:
        """Combines the records of a key in each session by (aggregate, value).

        >>> amounts = orders.map_values("amount", value=Long())
        >>> amounts.group_by_key().windowed_by(session("1 minute")).reduce(max).to("largest")
        >>> show(order("ana", 3))
        largest: Windowed(key='ana', start=0, end=0) 3
        """
        function = functions.reducer(reducer, "reduce()")
        value = value or self._group._stream._value
        add, merge = functions.by_reducer(function), functions.merging_by_reducer(function)
        return self._aggregated("KSTREAM-REDUCE", None, add, merge, value, store, name)

    def aggregate(
        self,
        initializer: UserFunction,
        aggregator: UserFunction,
        merger: UserFunction,
        *,
        value: Serde | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> KTable:
        """Combines the records of a key in each session; the merger of (key, left, right) combines two sessions.

        >>> add = lambda key, order, total: total + order["amount"]
        >>> sessions = orders.group_by_key().windowed_by(session("1 minute"))
        >>> sessions.aggregate(lambda: 0, add, lambda key, a, b: a + b, value=Long()).to("spent")
        >>> show(order("ana", 3))
        spent: Windowed(key='ana', start=0, end=0) 3
        """
        begin = functions.initializer(initializer, "aggregate(initializer)")
        add = functions.aggregator(aggregator, "aggregate()")
        merge = functions.joiner(merger, "aggregate(merger)")
        value = value or self._group._stream._value
        return self._aggregated("KSTREAM-AGGREGATE", begin, add, merge, value, store, name)

    def _aggregated(
        self,
        prefix: str,
        begin: Function | None,
        add: Function,
        merge: Function,
        value: Serde,
        store: Store | None,
        name: str | None,
    ) -> KTable:
        node, spec, stream = self._prepared(prefix, value, store, name)
        step = steps.SessionAggregate(spec.name, self._windows, begin, add, merge, self._emit)
        return self._table(node, spec, stream, step)
