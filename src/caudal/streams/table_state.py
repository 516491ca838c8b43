"""How a table's values can be had: from a store of its own, or computed from the tables before it.

Kafka Streams gives a table a store only when somebody needs one, and fills the old half of a change only when somebody
asks. Both are decided here, in the order of the user's calls, with its rules; the graph asks for the outcome when it is
finished.
"""

from __future__ import annotations

from caudal.plan.graph import Graph
from caudal.plan.topology import StoreSpec


class TableState:
    """The base: a table that always has a store (aggregates)."""

    def __init__(self, node: str, store: str, windowed_by: str | None = None) -> None:
        self.node = node
        self.sends_old = False
        self._store = store
        self._windowed_by = windowed_by  # the aggregating node, where the store is one of windows

    @property
    def store(self) -> str | None:
        """The name of its own store, where it has one by now."""
        return self._store

    @property
    def readable(self) -> str:
        """What a step names to read this table by key: its store, or a node. Windows are asked for at their node."""
        return self._windowed_by or self.store or self.node

    def make_readable(self) -> None:
        """Somebody reads this table by key."""

    def store_names(self) -> tuple[str, ...]:
        """The stores that reading it touches."""
        return (self._store,)

    def enable_old(self, force: bool) -> bool:
        """Somebody wants old values. Without `force` only where that costs no new store; says whether they will
        come.
        """
        self.sends_old = True
        return True


class SourceState(TableState):
    """A table made from the records of a topic or stream: gets its store when the first need comes."""

    def __init__(self, node: str, graph: Graph, spec: StoreSpec, needed: bool, topic: str | None = None) -> None:
        super().__init__(node, spec.name)
        self._graph = graph
        self._spec = spec
        self._topic = topic
        self._made = False
        if needed:
            self.make_readable()

    @property
    def store(self) -> str | None:
        return self._store if self._made else None

    def make_readable(self) -> None:
        if not self._made:
            self._graph.add_new_store(self._spec)
            self._made = True
            if self._topic is not None:
                self._graph.table_topics[self._store] = self._topic

    def store_names(self) -> tuple[str, ...]:
        return (self._store,) if self._made else ()

    def enable_old(self, force: bool) -> bool:
        if not force and not self._made:
            return False
        self.make_readable()
        self.sends_old = True
        return True


class DerivedState(TableState):
    """filter, map_values, transform_values: computed from its parent unless the user named a store."""

    def __init__(self, node: str, parent: TableState, store: str | None, own_stores: tuple[str, ...] = ()) -> None:
        super().__init__(node, store or "")
        self.parent = parent
        self._own_stores = own_stores

    @property
    def store(self) -> str | None:
        return self._store or None

    def make_readable(self) -> None:
        if not self._store:
            self.parent.make_readable()

    def store_names(self) -> tuple[str, ...]:
        return (self._store,) if self._store else (*self.parent.store_names(), *self._own_stores)

    def enable_old(self, force: bool) -> bool:
        if self._store or self.parent.enable_old(force):
            self.sends_old = True
        return self.sends_old


class SuppressState(DerivedState):
    """Values are the parent's until they are sent on, so a reader looks into the buffer first."""

    def __init__(self, node: str, parent: TableState, buffer: str) -> None:
        super().__init__(node, parent, None, (buffer,))
        parent.enable_old(True)

    def enable_old(self, force: bool) -> bool:
        self.sends_old = self.parent.enable_old(force)
        return self.sends_old


class JoinState(TableState):
    """A primary-key join: computed from both sides unless the user named a store."""

    def __init__(self, node: str, left: TableState, right: TableState, store: str | None) -> None:
        super().__init__(node, store or "")
        self.left = left
        self.right = right
        for side in (left, right):
            side.make_readable()

    @property
    def store(self) -> str | None:
        return self._store or None

    def store_names(self) -> tuple[str, ...]:
        return (self._store,) if self._store else (*self.left.store_names(), *self.right.store_names())

    def enable_old(self, force: bool) -> bool:
        self.left.enable_old(True)
        self.right.enable_old(True)
        self.sends_old = True
        return True
