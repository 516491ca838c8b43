"""KGroupedStream: a stream whose records of one key are together. `count`, `reduce` and `aggregate` make tables of it;
`windowed_by` puts time into play, `cogroup` combines several streams in one aggregate."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from caudal.plan import steps
from caudal.plan.errors import PlanError
from caudal.plan.functions import Function
from caudal.plan.naming import checked_name
from caudal.plan.topology import StoreKind, StoreSpec
from caudal.serde import Long, Serde
from caudal.streams import functions
from caudal.streams.functions import UserFunction
from caudal.streams.stores import Keep, Store, kept
from caudal.streams.stream import KStream
from caudal.streams.table import KTable
from caudal.streams.table_state import TableState

if TYPE_CHECKING:
    from caudal.streams.cogrouped import CogroupedKStream
    from caudal.streams.windowed import SessionWindowedKStream, TimeWindowedKStream


class KGroupedStream:
    """Made by `KStream.group_by_key` and `group_by`."""

    def __init__(self, stream: KStream, name: str | None) -> None:
        self._stream = stream
        self._name = None if name is None else checked_name(name)

    def count(self, *, store: Store | None = None, name: str | None = None) -> KTable:
        """How many records each key has had.

        >>> orders.group_by_key().count(store="orders-per-user").to("counts")
        >>> show(order("ana", 3), order("ana", 4))
        counts: ana 1
        counts: ana 2
        """
        return self._aggregate("KSTREAM-AGGREGATE", functions.ZERO, functions.ADD_ONE, Long(), store, name)

    def reduce(
        self, reducer: UserFunction, *, value: Serde | None = None, store: Store | None = None, name: str | None = None
    ) -> KTable:
        """Combines the records of a key by (aggregate, value); the first value begins.

        >>> amounts = orders.map_values("amount", value=Long())
        >>> amounts.group_by_key().reduce(lambda total, amount: total + amount).to("totals")
        >>> show(order("ana", 3), order("ana", 4))
        totals: ana 3
        totals: ana 7
        """
        function = functions.reducer(reducer, "reduce()")
        node, spec, stream = self._prepared("KSTREAM-REDUCE", value or self._stream._value, kept(store), name)
        return self._table(node, spec, stream, steps.Reduce(spec.name, function))

    def aggregate(
        self,
        initializer: UserFunction,
        aggregator: UserFunction,
        *,
        value: Serde | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> KTable:
        """Combines the records of a key by (key, value, aggregate), beginning with what the initializer gives.

        >>> total = lambda key, order, total: total + order["amount"]
        >>> orders.group_by_key().aggregate(lambda: 0, total, value=Long()).to("spent")
        >>> show(order("ana", 3), order("ana", 4))
        spent: ana 3
        spent: ana 7
        """
        begin = functions.initializer(initializer, "aggregate(initializer)")
        add = functions.aggregator(aggregator, "aggregate()")
        return self._aggregate("KSTREAM-AGGREGATE", begin, add, value or self._stream._value, store, name)

    @overload
    def windowed_by(
        self, windows: steps.TimeWindows | steps.SlidingWindows, *, emit: str = ...
    ) -> TimeWindowedKStream: ...

    @overload
    def windowed_by(self, windows: steps.SessionWindows, *, emit: str = ...) -> SessionWindowedKStream: ...

    def windowed_by(
        self, windows: steps.TimeWindows | steps.SlidingWindows | steps.SessionWindows, *, emit: str = "on_update"
    ) -> TimeWindowedKStream | SessionWindowedKStream:
        """Groups by time as well. `emit="on_close"` gives one result per window, when it closes.

        >>> counts = orders.group_by_key().windowed_by(tumbling("1 minute"), emit="on_close").count()
        >>> counts.to_stream(lambda window, count: window.key).to("final")
        >>> show(order("ana", 3), order("ana", 4), order("ana", 5, timestamp=60_000))
        final: ana 2
        """
        from caudal.streams.windowed import windowed

        return windowed(self, windows, emit)

    def cogroup(self, aggregator: UserFunction) -> CogroupedKStream:
        """Begins an aggregate over several grouped streams, each with its own aggregator.

        >>> returns = builder.stream("returns", key=String(), value=Json())
        >>> spent = orders.group_by_key().cogroup(lambda key, order, total: total + order["amount"])
        >>> both = spent.cogroup(returns.group_by_key(), lambda key, amount, total: total - amount)
        >>> both.aggregate(lambda: 0, value=Long()).to("balance")
        >>> show(order("ana", 3), ("returns", "ana", 1))
        balance: ana 3
        balance: ana 2
        """
        from caudal.streams.cogrouped import CogroupedKStream

        return CogroupedKStream([(self, functions.aggregator(aggregator, "cogroup()"))])

    # -- inside --------------------------------------------------------------------------------------------------------

    def _aggregate(
        self,
        prefix: str,
        begin: Function,
        add: Function,
        value: Serde,
        store: Store | None,
        name: str | None,
    ) -> KTable:
        node, spec, stream = self._prepared(prefix, value, kept(store), name)
        return self._table(node, spec, stream, steps.Aggregate(spec.name, begin, add))

    def _prepared(self, prefix: str, value: Serde, keep: Keep, name: str | None) -> tuple[str, StoreSpec, KStream]:
        """The node's name, the store's spec, and the stream with its keys in place; in Kafka Streams' order of
        names.
        """
        if keep.retention is not None:
            raise PlanError("retention= is for window stores; a store of plain keys forgets nothing.")
        names = self._stream._graph.names
        store_name = keep.name or names.store(prefix)
        node = names.next(prefix, name)
        spec = StoreSpec(
            store_name,
            StoreKind.TIMESTAMPED,
            self._stream._key,
            value,
            keep.persistent,
            keep.logged,
            topic_configs=keep.topic_configs,
        )
        return node, spec, self._repartitioned(store_name)

    def _repartitioned(self, store: str) -> KStream:
        """The repartition topic is named after the group, or after the store."""
        return self._stream._keyed(self._name or store)

    def _table(self, node: str, spec: StoreSpec, stream: KStream, step: steps.Step) -> KTable:
        graph = stream._graph
        graph.add_new_store(spec)
        state = TableState(node, spec.name)
        graph.add_processor(node, step, (stream._node,), (spec.name,), lambda: state.sends_old)
        return KTable(graph, node, spec.key, spec.value, stream._sources, state)
