"""KTable: the last value of each key, as a stream of changes. Joins are in table_joins.py, grouped tables in
grouped_table.py.

A derived table has no store unless `store=` names one: its values are computed when somebody reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from caudal.plan import steps
from caudal.plan.errors import PlanError
from caudal.plan.functions import Function
from caudal.plan.graph import Graph
from caudal.plan.naming import checked_name
from caudal.plan.topology import StoreKind, StoreSpec
from caudal.serde import Serde
from caudal.serde.json import for_results
from caudal.streams import functions
from caudal.streams.functions import UserFunction
from caudal.streams.stores import Keep, Store, kept
from caudal.streams.stream import KStream
from caudal.streams.suppressed import Suppressed
from caudal.streams.table_state import DerivedState, SuppressState, TableState

if TYPE_CHECKING:
    from caudal.streams.grouped_table import KGroupedTable


class KTable:
    """A table. Made by `StreamsBuilder.table`, by aggregates and by operators, never directly."""

    def __init__(
        self,
        graph: Graph,
        node: str,
        key: Serde,
        value: Serde,
        sources: frozenset[str],
        state: TableState,
        closing_grace: int | None = None,
    ) -> None:
        self._graph = graph
        self._node = node
        self._key = key
        self._value = value
        self._sources = sources
        self._state = state
        self._closing_grace = closing_grace  # of windowed tables: how long after its end a window may change

    @property
    def queryable_store_name(self) -> str | None:
        """The name of its store, where it has one.

        >>> orders.group_by_key().count(store="counts").queryable_store_name
        'counts'
        """
        return self._state.store

    # -- rows ----------------------------------------------------------------------------------------------------------

    def filter(self, predicate: UserFunction, *, store: Store | None = None, name: str | None = None) -> KTable:
        """The rows for which the predicate holds; a row that no longer does is removed.

        >>> orders.group_by_key().count().filter(lambda key, count: count > 1).to("regulars")
        >>> show(order("ana", 3), order("ana", 4))
        regulars: ana 2
        """
        return self._filtered(functions.key_value(predicate, "filter()"), False, store, name)

    def filter_not(self, predicate: UserFunction, *, store: Store | None = None, name: str | None = None) -> KTable:
        """The rows for which the predicate does not hold.

        >>> orders.group_by_key().count().filter_not("value > 1").to("new")
        >>> show(order("ana", 3))
        new: ana 1
        """
        return self._filtered(*functions.negated_predicate(predicate, "filter_not()"), store, name)

    def map_values(
        self,
        mapper: UserFunction,
        *,
        value: Serde | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> KTable:
        """A new value for each row.

        >>> orders.group_by_key().count().map_values(lambda count: count * 10).to("points")
        >>> show(order("ana", 3))
        points: ana 10
        """
        function = functions.key_value(mapper, "map_values()")
        return self._derived("KTABLE-MAPVALUES", lambda own: steps.TableMapValues(function, own), value, store, name)

    def transform_values(
        self,
        transformer: Callable[[], Any],
        *,
        stores: Iterable[str | StoreSpec] = (),
        value: Serde | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> KTable:
        """A new value for each row by a ValueTransformer of yours, which may use stores.

        >>> class Shout(ValueTransformer):
        ...     def transform(self, key, value):
        ...         return f"{key}!"
        >>> users = builder.table("users", key=String(), value=Json())
        >>> users.transform_values(Shout).to("shouted")
        >>> show(("users", "ana", {}))
        shouted: ana ana!
        """
        function = functions.supplier(transformer, "transform_values()")
        connected = self._connected(stores)
        return self._derived(
            "KTABLE-TRANSFORMVALUES",
            lambda own: steps.TableTransformValues(function, own),
            value,
            store,
            name,
            connected,
        )

    def suppress(self, suppressed: Suppressed, *, name: str | None = None) -> KTable:
        """Holds changes back: `until_window_closes()`, or `until_time_limit(...)`.

        >>> windows = tumbling("1 minute")
        >>> counts = orders.group_by_key().windowed_by(windows).count().suppress(until_window_closes())
        >>> counts.to_stream(lambda window, count: window.key).to("final")
        >>> show(order("ana", 3), order("ana", 4), order("ana", 5, timestamp=60_000))
        final: ana 2
        """
        if not isinstance(suppressed, Suppressed):
            raise PlanError("suppress() needs until_window_closes() or until_time_limit(...).")
        if suppressed.until_window_closes and self._closing_grace is None:
            raise PlanError("suppress(until_window_closes()) needs a windowed table: use windowed_by() before it.")
        graph = self._graph
        node = graph.names.next("KTABLE-SUPPRESS") if name is None else checked_name(name)
        store = graph.names.store("KTABLE-SUPPRESS") if name is None else f"{name}-store"
        graph.add_new_store(StoreSpec(store, StoreKind.BUFFER, self._key, self._value))
        state = SuppressState(node, self._state, store)
        step = steps.Suppress(
            store,
            suppressed.until_window_closes,
            suppressed.time_limit,
            (self._closing_grace or 0) if suppressed.until_window_closes else 0,
            suppressed.max_records,
            suppressed.max_bytes,
            suppressed.emit_early_when_full,
        )
        graph.add_processor(node, step, (self._node,), (store,), lambda: state.sends_old)
        return KTable(graph, node, self._key, self._value, self._sources, state, self._closing_grace)

    # -- streams and topics --------------------------------------------------------------------------------------------

    def to_stream(
        self, key_selector: UserFunction | None = None, *, key: Serde | None = None, name: str | None = None
    ) -> KStream:
        """The changes as a stream, with a new key where a selector is given.

        >>> orders.group_by_key().count().to_stream().map_values(lambda count: count + 1).to("next")
        >>> show(order("ana", 3))
        next: ana 2
        """
        graph = self._graph
        node = graph.add_processor(graph.names.next("KTABLE-TOSTREAM", name), steps.TableToStream(), (self._node,))
        stream = KStream(graph, node, self._key, self._value, self._sources)
        if key_selector is None:
            return stream._with_serdes(key, None)
        if key is None and self._closing_grace is not None:
            # A windowed key's selector nearly always gives the plain key.
            key = getattr(self._key, "key", None)
        return stream.select_key(key_selector, key=key)

    def to(
        self,
        topic: str | Callable[..., str],
        *,
        key: Serde | None = None,
        value: Serde | None = None,
        partitioner: Callable[..., int | None] | None = None,
        name: str | None = None,
    ) -> None:
        """Writes the changes to a topic; short for `to_stream().to(...)`.

        >>> orders.group_by_key().count().to("counts")
        >>> show(order("ana", 3))
        counts: ana 1
        """
        self.to_stream().to(topic, key=key, value=value, partitioner=partitioner, name=name)

    # -- groups and joins ----------------------------------------------------------------------------------------------

    def group_by(
        self, mapper: UserFunction, *, key: Serde | None = None, value: Serde | None = None, name: str | None = None
    ) -> KGroupedTable:
        """Groups rows by a new (key, value): a changed row leaves its old group and enters the new one.

        >>> users = builder.table("users", key=String(), value=Json())
        >>> users.group_by(lambda user, row: (row["city"], user), value=String()).count().to("per-city")
        >>> show(("users", "ana", {"city": "Soria"}), ("users", "ana", {"city": "Ávila"}))
        per-city: Soria 1
        per-city: Soria 0
        per-city: Ávila 1
        """
        from caudal.streams.grouped_table import KGroupedTable

        graph = self._graph
        function = functions.key_value(mapper, "group_by()")
        node = graph.names.next("KTABLE-SELECT", name)
        self._state.enable_old(True)
        graph.add_processor(node, steps.TableGroupBy(function), (self._node,))
        return KGroupedTable(graph, node, key or self._key, value or self._value, name)

    def join(
        self,
        other: KTable,
        joiner: UserFunction,
        *,
        key_extractor: UserFunction | None = None,
        value: Serde | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> KTable:
        """Joins rows of equal keys; with `key_extractor=`, each row with the row of `other` that it refers to.

        >>> users = builder.table("users", key=String(), value=Json())
        >>> cities = builder.table("cities", key=String(), value=Json())
        >>> users.join(cities, lambda user, city: city["people"], key_extractor="city").to("town-size")
        >>> show(("cities", "Soria", {"people": 40000}), ("users", "ana", {"city": "Soria"}))
        town-size: ana 40000
        """
        return self._join(steps.JoinType.INNER, other, joiner, key_extractor, value, store, name)

    def left_join(
        self,
        other: KTable,
        joiner: UserFunction,
        *,
        key_extractor: UserFunction | None = None,
        value: Serde | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> KTable:
        """Like `join`, and a row without a partner is joined with None.

        >>> users = builder.table("users", key=String(), value=Json())
        >>> visits = orders.group_by_key().count()
        >>> users.left_join(visits, lambda user, count: count or 0).to("visits")
        >>> show(("users", "ana", {}), order("ana", 3))
        visits: ana 0
        visits: ana 1
        """
        return self._join(steps.JoinType.LEFT, other, joiner, key_extractor, value, store, name)

    def outer_join(
        self,
        other: KTable,
        joiner: UserFunction,
        *,
        value: Serde | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> KTable:
        """Joins rows of equal keys; rows of either side without a partner are joined with None.

        >>> users = builder.table("users", key=String(), value=Json())
        >>> visits = orders.group_by_key().count()
        >>> users.outer_join(visits, lambda user, count: [user, count]).to("all")
        >>> show(order("ana", 3))
        all: ana [None, 1]
        """
        return self._join(steps.JoinType.OUTER, other, joiner, None, value, store, name)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _join(
        self,
        kind: steps.JoinType,
        other: KTable,
        joiner: UserFunction,
        key_extractor: UserFunction | None,
        value: Serde | None,
        store: Store | None,
        name: str | None,
    ) -> KTable:
        from caudal.streams import table_joins

        return table_joins.join(self, kind, other, joiner, key_extractor, value, store, name)

    def _filtered(self, predicate: Function, negate: bool, store: Store | None, name: str | None) -> KTable:
        table = self._derived("KTABLE-FILTER", lambda own: steps.TableFilter(predicate, negate, own), None, store, name)
        # A filter takes old values where they are to be had without a new store: it then knows which rows it never
        # showed.
        table._state.sends_old = self._state.enable_old(False)
        return table

    def _derived(
        self,
        prefix: str,
        step: Callable[[str | None], steps.Step],
        value: Serde | None,
        store: Store | None,
        name: str | None,
        stores: tuple[str, ...] = (),
    ) -> KTable:
        graph, keep = self._graph, kept(store)
        node = graph.names.next(prefix, name)
        value = value or (self._value if prefix == "KTABLE-FILTER" else for_results(self._value))
        own = self._own_store(keep, value, store)
        state = DerivedState(node, self._state, own, stores)
        graph.add_processor(
            node, step(own), (self._node,), (*stores, *(() if own is None else (own,))), lambda: state.sends_old
        )
        return KTable(graph, node, self._key, value, self._sources, state, self._closing_grace)

    def _own_store(self, keep: Keep, value: Serde, store: Store | None) -> str | None:
        """The store that the user asked for by name; a derived table has no other."""
        if keep.name is None:
            if store is not None:
                raise PlanError("The store of a derived table needs a name: store=in_memory('name').")
            return None
        spec = StoreSpec(
            keep.name,
            StoreKind.TIMESTAMPED,
            self._key,
            value,
            keep.persistent,
            keep.logged,
            topic_configs=keep.topic_configs,
        )
        self._graph.add_new_store(spec)
        return keep.name

    def _connected(self, stores: Iterable[str | StoreSpec]) -> tuple[str, ...]:
        return KStream(self._graph, self._node, self._key, self._value, self._sources)._connected(stores)
