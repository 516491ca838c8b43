"""KGroupedTable: a table's rows in groups. A change takes the old row out of its group (subtractor) and puts the new
one into its own (adder), so aggregates stay right when rows change or go."""

from __future__ import annotations

from collections.abc import Callable

from caudal.plan import steps
from caudal.plan.functions import Function
from caudal.plan.graph import Graph
from caudal.plan.naming import checked_name, repartition_topic
from caudal.plan.topology import SinkNode, SourceNode, StoreKind, StoreSpec
from caudal.serde import ChangeSerde, Long, Serde
from caudal.streams import functions
from caudal.streams.functions import UserFunction
from caudal.streams.stores import Store, kept
from caudal.streams.table import KTable
from caudal.streams.table_state import TableState


class KGroupedTable:
    """Made by `KTable.group_by`."""

    def __init__(self, graph: Graph, node: str, key: Serde, value: Serde, name: str | None) -> None:
        self._graph = graph
        self._node = node
        self._key = key
        self._value = value
        self._name = None if name is None else checked_name(name)
        self._source: str | None = None  # of the repartition topic, where the group has a name and was used before

    def count(self, *, store: Store | None = None, name: str | None = None) -> KTable:
        """How many rows each group has.

        >>> users = builder.table("users", key=String(), value=Json())
        >>> users.group_by(lambda user, row: (row["city"], user), value=String()).count().to("per-city")
        >>> show(("users", "ana", {"city": "Soria"}), ("users", "eva", {"city": "Soria"}), ("users", "eva", None))
        per-city: Soria 1
        per-city: Soria 2
        per-city: Soria 1
        """
        return self._aggregated(functions.ZERO, functions.ADD_ONE, functions.SUBTRACT_ONE, Long(), store, name)

    def reduce(
        self,
        adder: UserFunction,
        subtractor: UserFunction,
        *,
        value: Serde | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> KTable:
        """Combines the rows of a group by (aggregate, value), and takes rows out by (aggregate, value).

        >>> people = builder.table("people", key=String(), value=Json())
        >>> ages = people.group_by(lambda name, row: (row["city"], row["age"]), value=Long())
        >>> ages.reduce(lambda total, age: total + age, lambda total, age: total - age).to("ages")
        >>> show(("people", "ana", {"city": "Soria", "age": 40}), ("people", "eva", {"city": "Soria", "age": 2}))
        ages: Soria 40
        ages: Soria 42
        """
        add = functions.reducer(adder, "reduce(adder)")
        subtract = functions.reducer(subtractor, "reduce(subtractor)")
        return self._table(
            "KTABLE-REDUCE",
            lambda own: steps.TableReduce(own, add, subtract),
            value or self._value,
            store,
            name,
        )

    def aggregate(
        self,
        initializer: UserFunction,
        adder: UserFunction,
        subtractor: UserFunction,
        *,
        value: Serde | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> KTable:
        """Combines the rows of a group by (key, value, aggregate), and takes rows out likewise.

        >>> users = builder.table("users", key=String(), value=Json())
        >>> names = users.group_by(lambda user, row: (row["city"], user))
        >>> add, remove = lambda city, user, all: [*all, user], lambda city, user, all: [u for u in all if u != user]
        >>> names.aggregate(lambda: [], add, remove).to("names")
        >>> show(("users", "ana", {"city": "Soria"}), ("users", "ana", None))
        names: Soria ['ana']
        names: Soria []
        """
        begin = functions.initializer(initializer, "aggregate(initializer)")
        add = functions.aggregator(adder, "aggregate(adder)")
        subtract = functions.aggregator(subtractor, "aggregate(subtractor)")
        return self._aggregated(begin, add, subtract, value or self._value, store, name)

    def _aggregated(
        self,
        begin: Function,
        add: Function,
        subtract: Function,
        value: Serde,
        store: Store | None,
        name: str | None,
    ) -> KTable:
        return self._table(
            "KTABLE-AGGREGATE", lambda own: steps.TableAggregate(own, begin, add, subtract), value, store, name
        )

    def _table(
        self,
        prefix: str,
        step: Callable[[str], steps.Step],
        value: Serde,
        store: Store | None,
        name: str | None,
    ) -> KTable:
        graph, keep = self._graph, kept(store)
        own = keep.name or graph.names.store("KTABLE-AGGREGATE")  # for reduce as well, as in Kafka Streams
        sink, source = graph.names.next("KSTREAM-SINK"), graph.names.next("KSTREAM-SOURCE")
        node = graph.names.next(prefix, name)
        if self._source is None:
            topic = repartition_topic(graph.application_id, self._name or own)
            change = ChangeSerde(self._value)
            graph.add_sink(SinkNode(sink, topic, self._key, change, (self._node,), changes=True))
            graph.add_internal_source(topic, SourceNode(source, (topic,), self._key, change, changes=True))
            if self._name is not None:
                self._source = source
        else:
            source = self._source
        spec = StoreSpec(
            own,
            StoreKind.TIMESTAMPED,
            self._key,
            value,
            keep.persistent,
            keep.logged,
            topic_configs=keep.topic_configs,
        )
        graph.add_new_store(spec)
        state = TableState(node, own)
        graph.add_processor(node, step(own), (source,), (own,), lambda: state.sends_old)
        return KTable(graph, node, self._key, value, frozenset((source,)), state)
