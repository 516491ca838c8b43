"""KStream: a stream of records, each a fact of its own. Everything here returns a new stream or table; nothing runs.

Functions take `(key, value)` or just the value, or are SQL strings over the value's fields (`"amount > 0"`). Operators
that may change the key mark the stream; the next operation that needs equal keys in one partition then goes through a
repartition topic by itself. Serdes stay as they are unless `key=` or `value=` says otherwise. Joins are in
stream_joins.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from caudal.plan import steps
from caudal.plan.durations import Duration
from caudal.plan.errors import PlanError
from caudal.plan.graph import Graph
from caudal.plan.naming import checked_name, repartition_topic
from caudal.plan.topology import SinkNode, StoreKind, StoreSpec
from caudal.serde import Serde
from caudal.serde.json import for_results
from caudal.streams import functions
from caudal.streams.functions import UserFunction
from caudal.streams.stores import Store, kept

if TYPE_CHECKING:
    from caudal.streams.branched import BranchedStream
    from caudal.streams.global_table import GlobalKTable
    from caudal.streams.grouped import KGroupedStream
    from caudal.streams.table import KTable


class KStream:
    """A stream of records. Made by `StreamsBuilder.stream` and by operators, never directly."""

    def __init__(
        self, graph: Graph, node: str, key: Serde, value: Serde, sources: frozenset[str], key_changed: bool = False
    ) -> None:
        self._graph = graph
        self._node = node
        self._key = key
        self._value = value
        self._sources = sources  # names of the source nodes, for co-partitioning
        self._key_changed = key_changed

    # -- stateless -----------------------------------------------------------------------------------------------------

    def filter(self, predicate: UserFunction, *, name: str | None = None) -> KStream:
        """Keeps the records for which the predicate holds.

        >>> orders.filter(lambda key, order: order["amount"] > 0).to("good")
        >>> show(order("ana", 3), order("eva", 0))
        good: ana {'user': 'ana', 'amount': 3}
        """
        function = functions.key_value(predicate, "filter()")
        return self._then("KSTREAM-FILTER", steps.Filter(function), name)

    def filter_not(self, predicate: UserFunction, *, name: str | None = None) -> KStream:
        """Keeps the records for which the predicate does not hold.

        >>> orders.filter_not("amount > 0").to("odd")
        >>> show(order("ana", 3), order("eva", 0))
        odd: eva {'user': 'eva', 'amount': 0}
        """
        function, negate = functions.negated_predicate(predicate, "filter_not()")
        return self._then("KSTREAM-FILTER", steps.Filter(function, negate), name)

    def map(
        self, mapper: UserFunction, *, key: Serde | None = None, value: Serde | None = None, name: str | None = None
    ) -> KStream:
        """Makes a new (key, value) pair of each record.

        >>> orders.map(lambda key, order: (order["user"], order["amount"]), value=Long()).to("amounts")
        >>> show(order("ana", 3))
        amounts: ana 3
        """
        function = functions.key_value(mapper, "map()")
        return self._then("KSTREAM-MAP", steps.Map(function), name, key, value, key_changed=True)

    def map_values(self, mapper: UserFunction, *, value: Serde | None = None, name: str | None = None) -> KStream:
        """Makes a new value of each record; the key stays.

        >>> orders.map_values(lambda order: order["amount"] * 2, value=Long()).to("doubled")
        >>> show(order("ana", 3))
        doubled: ana 6
        """
        function = functions.key_value(mapper, "map_values()")
        return self._then("KSTREAM-MAPVALUES", steps.MapValues(function), name, value=value)

    def flat_map(
        self, mapper: UserFunction, *, key: Serde | None = None, value: Serde | None = None, name: str | None = None
    ) -> KStream:
        """Makes any number of (key, value) pairs of each record.

        >>> orders.flat_map(lambda key, order: [(order["user"], n) for n in range(order["amount"])]).to("items")
        >>> show(order("ana", 2))
        items: ana 0
        items: ana 1
        """
        function = functions.key_value(mapper, "flat_map()")
        return self._then("KSTREAM-FLATMAP", steps.FlatMap(function), name, key, value, key_changed=True)

    def flat_map_values(self, mapper: UserFunction, *, value: Serde | None = None, name: str | None = None) -> KStream:
        """Makes any number of values of each record; the key stays.

        >>> orders.flat_map_values(lambda order: [order["amount"]] * 2).to("twice")
        >>> show(order("ana", 3))
        twice: ana 3
        twice: ana 3
        """
        function = functions.key_value(mapper, "flat_map_values()")
        return self._then("KSTREAM-FLATMAPVALUES", steps.FlatMapValues(function), name, value=value)

    def select_key(self, selector: UserFunction, *, key: Serde | None = None, name: str | None = None) -> KStream:
        """Gives each record a new key.

        >>> orders.select_key(lambda key, order: str(order["amount"])).to("by-amount")
        >>> show(order("ana", 3))
        by-amount: 3 {'user': 'ana', 'amount': 3}
        """
        function = functions.key_value(selector, "select_key()")
        return self._then("KSTREAM-KEY-SELECT", steps.SelectKey(function), name, key, key_changed=True)

    def peek(self, action: UserFunction, *, name: str | None = None) -> KStream:
        """Calls the function for its effect and passes the record on.

        >>> orders.peek(lambda key, order: print("saw", key)).to("same")
        >>> show(order("ana", 3))
        saw ana
        same: ana {'user': 'ana', 'amount': 3}
        """
        return self._then("KSTREAM-PEEK", steps.Peek(functions.key_value(action, "peek()")), name)

    def foreach(self, action: UserFunction, *, name: str | None = None) -> None:
        """Calls the function for its effect; the stream ends here.

        >>> orders.foreach(lambda key, order: print(key, order["amount"]))
        >>> show(order("ana", 3))
        ana 3
        """
        function = functions.key_value(action, "foreach()")
        self._then("KSTREAM-FOREACH", steps.Peek(function, forward=False), name)

    def print(self, label: str | None = None, *, name: str | None = None) -> None:
        """Prints each record to standard output; the stream ends here.

        >>> orders.print("order")
        >>> show(order("ana", 3))
        [order]: ana, {'user': 'ana', 'amount': 3}
        """
        self._then("KSTREAM-PRINTER", steps.Print(label or self._node), name)

    def merge(self, other: KStream, *, name: str | None = None) -> KStream:
        """Both streams in one, without any order between them.

        >>> returns = builder.stream("returns", key=String(), value=Json())
        >>> orders.merge(returns).to("all")
        >>> show(order("ana", 3))
        all: ana {'user': 'ana', 'amount': 3}
        """
        graph = self._graph
        graph.check_same(other._graph, "merge()")
        node = graph.add_processor(
            graph.names.next("KSTREAM-MERGE", name), steps.PassThrough(), (self._node, other._node)
        )
        changed = self._key_changed or other._key_changed
        return KStream(graph, node, self._key, self._value, self._sources | other._sources, changed)

    def split(self, *, name: str | None = None) -> BranchedStream:
        """Sends each record to the first branch whose predicate holds.

        >>> branches = orders.split(name="size-").branch("amount > 100", name="large").default_branch(name="small")
        >>> branches["large"].to("large")
        >>> branches["small"].to("small")
        >>> show(order("ana", 3), order("eva", 300))
        small: ana {'user': 'ana', 'amount': 3}
        large: eva {'user': 'eva', 'amount': 300}
        """
        from caudal.streams.branched import BranchedStream

        return BranchedStream(self, name)

    # -- topics --------------------------------------------------------------------------------------------------------

    def to(
        self,
        topic: str | Callable[..., str],
        *,
        key: Serde | None = None,
        value: Serde | None = None,
        partitioner: Callable[..., int | None] | None = None,
        name: str | None = None,
    ) -> None:
        """Writes the stream to a topic, or to the topic that a function of (key, value, record context) names.

        `partitioner(key, value, partitions)` chooses the partition (None: by the key).

        >>> orders.to(lambda key, order: "large" if order["amount"] > 100 else "small")
        >>> show(order("ana", 3))
        small: ana {'user': 'ana', 'amount': 3}
        """
        graph = self._graph
        node = graph.names.next("KSTREAM-SINK", name)
        target = checked_name(topic) if isinstance(topic, str) else functions.topic_chooser(topic, "to()")
        chosen = None if partitioner is None else functions.partitioner(partitioner, "to(partitioner=)")
        graph.add_sink(SinkNode(node, target, key or self._key, value or self._value, (self._node,), chosen))

    def repartition(
        self,
        *,
        partitions: int | None = None,
        key: Serde | None = None,
        value: Serde | None = None,
        partitioner: Callable[..., int | None] | None = None,
        name: str | None = None,
    ) -> KStream:
        """Sends the stream through an internal topic, with another number of partitions if given.

        >>> orders.select_key("user").repartition(partitions=8, name="by-user").to("out")
        >>> builder.build().internal_topics["app-by-user-repartition"].partitions
        8
        """
        if partitions is not None and partitions < 1:
            raise PlanError(f"repartition(partitions=) must be at least 1, but is {partitions}.")
        graph = self._graph
        prefix = graph.names.next("KSTREAM-REPARTITION") if name is None else checked_name(name)
        chosen = None if partitioner is None else functions.partitioner(partitioner, "repartition(partitioner=)")
        key, value = key or self._key, value or self._value
        graph.check_new_topic(repartition_topic(graph.application_id, prefix))
        source = graph.repartition(prefix, self._node, key, value, partitions, chosen)
        return KStream(graph, source, key, value, frozenset((source,)))

    def to_table(
        self,
        *,
        store: Store | None = None,
        key: Serde | None = None,
        value: Serde | None = None,
        name: str | None = None,
    ) -> KTable:
        """The stream as a table: each record is the new value of its key, None removes it.

        >>> orders.to_table(store="last-order").to_stream().to("last")
        >>> show(order("ana", 3), order("ana", 4))
        last: ana {'user': 'ana', 'amount': 3}
        last: ana {'user': 'ana', 'amount': 4}
        """
        from caudal.streams.table import KTable
        from caudal.streams.table_state import SourceState

        graph, keep = self._graph, kept(store)
        node = graph.names.next("KSTREAM-TOTABLE", name)
        store_name = keep.name or graph.names.store("KSTREAM-TOTABLE")
        key, value = key or self._key, value or self._value
        stream = self._keyed(node, key, value)
        spec = StoreSpec(
            store_name,
            StoreKind.TIMESTAMPED,
            key,
            value,
            keep.persistent,
            keep.logged,
            topic_configs=keep.topic_configs,
        )
        state = SourceState(node, graph, spec, needed=keep.name is not None)
        graph.add_processor(
            node,
            lambda: steps.StreamToTable(state.store),
            (stream._node,),
            state.store_names,
            lambda: state.sends_old,
        )
        return KTable(graph, node, key, value, stream._sources, state)

    # -- stateful ------------------------------------------------------------------------------------------------------

    def group_by_key(
        self, *, key: Serde | None = None, value: Serde | None = None, name: str | None = None
    ) -> KGroupedStream:
        """Groups by the key that is there. `name` names the repartition topic, should one be needed.

        >>> orders.group_by_key().count().to("counts")
        >>> show(order("ana", 3), order("ana", 4))
        counts: ana 1
        counts: ana 2
        """
        from caudal.streams.grouped import KGroupedStream

        return KGroupedStream(self._with_serdes(key, value), name)

    def group_by(
        self, selector: UserFunction, *, key: Serde | None = None, value: Serde | None = None, name: str | None = None
    ) -> KGroupedStream:
        """Groups by a new key, through a repartition topic.

        >>> orders.group_by("user").count().to("counts")
        >>> show(order("ana", 3))
        counts: ana 1
        """
        from caudal.streams.grouped import KGroupedStream

        function = functions.key_value(selector, "group_by()")
        stream = self._then("KSTREAM-KEY-SELECT", steps.SelectKey(function), name, key, value, key_changed=True)
        return KGroupedStream(stream, name)

    def process(
        self,
        processor: Callable[[], Any],
        *,
        stores: Iterable[str | StoreSpec] = (),
        key: Serde | None = None,
        value: Serde | None = None,
        name: str | None = None,
    ) -> KStream:
        """Runs a Processor of yours: a class, or a function that makes one. It may forward any records, or none.

        `stores` are names of stores that were added to the builder, or specs that are added here.

        >>> class Twice(Processor):
        ...     def process(self, record):
        ...         self.context.forward(record)
        ...         self.context.forward(record)
        >>> orders.process(Twice).to("twice")
        >>> show(order("ana", 3))
        twice: ana {'user': 'ana', 'amount': 3}
        twice: ana {'user': 'ana', 'amount': 3}
        """
        step = steps.Process(functions.supplier(processor, "process()"))
        return self._then("KSTREAM-PROCESSOR", step, name, key, value, key_changed=True, stores=self._connected(stores))

    def process_values(
        self,
        processor: Callable[[], Any],
        *,
        stores: Iterable[str | StoreSpec] = (),
        value: Serde | None = None,
        name: str | None = None,
    ) -> KStream:
        """Like `process`, for processors that keep the key: no repartition is needed behind it.

        >>> class Double(Processor):
        ...     def process(self, record):
        ...         self.context.forward(record.with_value(record.value["amount"] * 2))
        >>> orders.process_values(Double).to("doubled")
        >>> show(order("ana", 3))
        doubled: ana 6
        """
        step = steps.Process(functions.supplier(processor, "process_values()"), values_only=True)
        return self._then("KSTREAM-PROCESSVALUES", step, name, value=value, stores=self._connected(stores))

    def join(
        self,
        other: KStream | KTable | GlobalKTable,
        joiner: UserFunction,
        *,
        within: Duration | None = None,
        before: Duration | None = None,
        after: Duration | None = None,
        grace: Duration = 0,
        key_selector: UserFunction | None = None,
        value: Serde | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> KStream:
        """Joins with another stream (`within=` a time of each other), a table, or a global table (by `key_selector=`).

        The joiner takes (value, other value), or the key before them. Inner join: records without a partner are
        dropped.

        >>> users = builder.table("users", key=String(), value=Json())
        >>> orders.join(users, lambda order, user: {**order, "city": user["city"]}).to("enriched")
        >>> show(("users", "ana", {"city": "Soria"}), order("ana", 3))
        enriched: ana {'user': 'ana', 'amount': 3, 'city': 'Soria'}
        """
        return self._join(
            steps.JoinType.INNER, other, joiner, (within, before, after, grace), key_selector, value, store, name
        )

    def left_join(
        self,
        other: KStream | KTable | GlobalKTable,
        joiner: UserFunction,
        *,
        within: Duration | None = None,
        before: Duration | None = None,
        after: Duration | None = None,
        grace: Duration = 0,
        key_selector: UserFunction | None = None,
        value: Serde | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> KStream:
        """Like `join`, and a record without a partner is joined with None.

        >>> users = builder.table("users", key=String(), value=Json())
        >>> orders.left_join(users, lambda order, user: user is None).to("unknown-user")
        >>> show(order("ana", 3))
        unknown-user: ana True
        """
        return self._join(
            steps.JoinType.LEFT, other, joiner, (within, before, after, grace), key_selector, value, store, name
        )

    def outer_join(
        self,
        other: KStream,
        joiner: UserFunction,
        *,
        within: Duration | None = None,
        before: Duration | None = None,
        after: Duration | None = None,
        grace: Duration = 0,
        value: Serde | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> KStream:
        """Joins with another stream; records of either side without a partner are joined with None.

        >>> payments = builder.stream("payments", key=String(), value=Json())
        >>> orders.outer_join(payments, lambda order, payment: [order, payment], within="1 minute").to("both")
        >>> show(order("ana", 3), ("payments", "ana", 3))
        both: ana [{'user': 'ana', 'amount': 3}, 3]
        """
        return self._join(steps.JoinType.OUTER, other, joiner, (within, before, after, grace), None, value, store, name)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _join(
        self,
        kind: steps.JoinType,
        other: KStream | KTable | GlobalKTable,
        joiner: UserFunction,
        window: tuple[Duration | None, Duration | None, Duration | None, Duration],
        key_selector: UserFunction | None,
        value: Serde | None,
        store: Store | None,
        name: str | None,
    ) -> KStream:
        from caudal.streams import stream_joins

        return stream_joins.join(self, kind, other, joiner, window, key_selector, value, store, name)

    def _then(
        self,
        prefix: str,
        step: steps.Step,
        name: str | None,
        key: Serde | None = None,
        value: Serde | None = None,
        key_changed: bool = False,
        stores: tuple[str, ...] = (),
    ) -> KStream:
        """A node behind this one."""
        graph = self._graph
        if isinstance(step, steps.Process) and name is not None:
            node = checked_name(name)  # the only operator that takes no number when it is named
        else:
            node = graph.names.next(prefix, name)
        graph.add_processor(node, step, (self._node,), stores)
        # A declared schema is that of what was read; what is made of it may have other fields.
        same_value = isinstance(step, (steps.Filter, steps.SelectKey, steps.Peek))
        key = key or (for_results(self._key) if key_changed else self._key)
        value = value or (self._value if same_value else for_results(self._value))
        return KStream(graph, node, key, value, self._sources, self._key_changed or key_changed)

    def _with_serdes(self, key: Serde | None, value: Serde | None) -> KStream:
        if key is None and value is None:
            return self
        key, value = key or self._key, value or self._value
        return KStream(self._graph, self._node, key, value, self._sources, self._key_changed)

    def _keyed(self, prefix: str, key: Serde | None = None, value: Serde | None = None) -> KStream:
        """This stream with equal keys in one partition: behind a repartition topic where the key may have changed."""
        key, value = key or self._key, value or self._value
        if not self._key_changed:
            return self._with_serdes(key, value)
        source = self._graph.repartition(prefix, self._node, key, value)
        return KStream(self._graph, source, key, value, frozenset((source,)))

    def _connected(self, stores: Iterable[str | StoreSpec]) -> tuple[str, ...]:
        if isinstance(stores, str):
            raise PlanError(f"stores= is a list of names: write stores=[{stores!r}].")
        names = []
        for store in stores:
            if isinstance(store, StoreSpec):
                self._graph.add_store(store)
            names.append(store.name if isinstance(store, StoreSpec) else store)
        return tuple(names)
