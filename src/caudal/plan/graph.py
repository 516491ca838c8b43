"""The plan while it is being made: nodes in the order of the user's calls, finished later into a `Topology`.

Names are given at once, because they count up with every call. What a node does is settled only at the end: whether a
table has a store, whether it sends old values, and whether a repartition drops null keys depends on what is put behind
it. Node and store names are unique, parents are added before their children. The DSL (and KSQL) is the only caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from caudal.plan.errors import PlanError
from caudal.plan.functions import Function
from caudal.plan.naming import Names, is_generated, repartition_topic
from caudal.plan.steps import Filter, PassThrough, Step
from caudal.plan.topology import Node, ProcessorNode, SinkNode, SourceNode, StoreSpec
from caudal.serde import Serde


def _has_key(key: object, value: object) -> bool:
    return key is not None


_HAS_KEY = Function(_has_key, sql="key IS NOT NULL")


@dataclass(slots=True)
class Draft:
    """A node whose last details are still open."""

    name: str
    parents: tuple[str, ...]
    finish: Callable[[], Node]
    stores: Callable[[], tuple[str, ...]] = tuple


@dataclass(slots=True)
class Repartition:
    """The way through one repartition topic."""

    topic: str
    source: str
    partitions: int | None


@dataclass(slots=True)
class Graph:
    """Everything said so far about one application."""

    application_id: str
    names: Names = field(default_factory=Names)
    drafts: dict[str, Draft] = field(default_factory=dict)
    stores: dict[str, StoreSpec] = field(default_factory=dict)
    repartitions: dict[str, Repartition] = field(default_factory=dict)  # by topic
    copartitioned: list[frozenset[str]] = field(default_factory=list)  # names of source nodes
    # Joins that let null keys through (KIP-962): a repartition in front of one must not drop them.
    relaxed_joins: set[str] = field(default_factory=set)
    # Stores of `builder.table` that are fed straight from their topic: with optimisation it is their changelog.
    table_topics: dict[str, str] = field(default_factory=dict)
    # The repartition that was made for (node, prefix): joining a stream twice sends it through its topic once.
    _made: dict[tuple[str, str], str] = field(default_factory=dict)
    _topics: dict[str, str] = field(default_factory=dict)  # topic → source node that reads it
    _table_sources: set[str] = field(default_factory=set)
    _writers: dict[str, str] = field(default_factory=dict)  # topic → sink
    _written_by: dict[str, str] = field(default_factory=dict)  # source of a repartition topic → its sink

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def check_same(self, other: Graph, operator: str) -> None:
        """Both sides of an operation must have come from one builder."""
        if other is not self:
            raise PlanError(
                f"{operator} needs streams and tables of one builder, but these belong to "
                f"'{self.application_id}' and '{other.application_id}'."
            )

    def add_source(self, node: SourceNode, table: bool = False) -> None:
        """Adds a source. A topic has one; that of a table cannot be shared with a stream."""
        for topic in node.topics:
            if topic in self._topics:
                raise PlanError(
                    f"Topic '{topic}' is read by {self._topics[topic]} already; "
                    "read it once and use that stream or table twice."
                )
        for topic in node.topics:
            self._topics[topic] = node.name
        if table:
            self._table_sources.add(node.name)
        self._add(Draft(node.name, (), lambda: node))

    def is_table_source(self, name: str) -> bool:
        return name in self._table_sources

    def reader_of(self, topics: tuple[str, ...]) -> SourceNode | None:
        """The source that reads exactly these topics."""
        name = self._topics.get(topics[0])
        if name is None:
            return None
        node = self.drafts[name].finish()
        return node if isinstance(node, SourceNode) and set(node.topics) == set(topics) else None

    def add_processor(
        self,
        name: str,
        step: Step | Callable[[], Step],
        parents: Iterable[str],
        stores: Iterable[str] | Callable[[], Iterable[str]] = (),
        sends_old: Callable[[], bool] | None = None,
    ) -> str:
        """Adds a node. A callable for its step or stores is asked when the plan is finished."""
        parent_names = tuple(parents)

        def store_names() -> tuple[str, ...]:
            return tuple(dict.fromkeys(stores() if callable(stores) else stores))

        def finish() -> ProcessorNode:
            made = step if isinstance(step, Step) else step()
            return ProcessorNode(name, made, parent_names, store_names(), sends_old is not None and sends_old())

        self._add(Draft(name, parent_names, finish, store_names))
        return name

    def add_sink(self, node: SinkNode) -> None:
        self._add(Draft(node.name, node.parents, lambda: node))
        if isinstance(node.topic, str):
            self._writers[node.topic] = node.name

    def _add(self, draft: Draft) -> None:
        if draft.name in self.drafts:
            raise PlanError(f"There is a node named '{draft.name}' already; give each name= once.")
        self.drafts[draft.name] = draft

    # -- stores and topics ---------------------------------------------------------------------------------------------

    def add_store(self, spec: StoreSpec) -> None:
        known = self.stores.get(spec.name)
        if known is not None and known != spec:
            raise PlanError(f"There is a store named '{spec.name}' already; give each store= once.")
        self.stores[spec.name] = spec

    def add_new_store(self, spec: StoreSpec) -> None:
        """A store that an operator makes for itself: the name must be free."""
        if spec.name in self.stores:
            raise PlanError(f"There is a store named '{spec.name}' already; give each store= once.")
        self.stores[spec.name] = spec

    def copartition(self, sources: Iterable[str]) -> frozenset[str]:
        """These source nodes' topics need equal partition counts."""
        group = frozenset(sources)
        if len(group) > 1:
            self.copartitioned.append(group)
        return group

    def add_internal_source(self, topic: str, node: SourceNode, partitions: int | None = None) -> None:
        """The source of a repartition topic."""
        self.check_new_topic(topic)
        self.add_source(node)
        self.repartitions[topic] = Repartition(topic, node.name, partitions)
        self._written_by[node.name] = self._writers[topic]

    def check_new_topic(self, topic: str) -> None:
        if topic in self.repartitions:
            shown = topic.removeprefix(f"{self.application_id}-")
            raise PlanError(f"There is a repartition topic '{shown}' already; give one of the two operations a name=.")

    def repartition(
        self,
        prefix: str,
        parent: str,
        key: Serde,
        value: Serde,
        partitions: int | None = None,
        partitioner: Function | None = None,
    ) -> str:
        """Sends a stream through the topic `<application>-<prefix>-repartition`; gives the source node behind it."""
        sink, drop_null_keys, source = (
            self.names.next("KSTREAM-SINK"),
            self.names.next("KSTREAM-FILTER"),
            self.names.next("KSTREAM-SOURCE"),
        )
        made = self._made.get((parent, prefix))
        if made is not None:
            if self.drafts[made].finish() != SourceNode(
                made, (repartition_topic(self.application_id, prefix),), key, value
            ):
                raise PlanError(f"The repartition topic of '{prefix}' is used twice with different serdes.")
            return made
        if not is_generated(prefix):
            sink, drop_null_keys, source = (f"{prefix}-repartition-{end}" for end in ("sink", "filter", "source"))
        topic = repartition_topic(self.application_id, prefix)
        self.check_new_topic(topic)
        relaxed = self._relaxed_behind
        self.add_processor(drop_null_keys, lambda: PassThrough() if relaxed(source) else Filter(_HAS_KEY), (parent,))
        self.add_sink(SinkNode(sink, topic, key, value, (drop_null_keys,), partitioner))
        self.add_internal_source(topic, SourceNode(source, (topic,), key, value), partitions)
        self._made[parent, prefix] = source
        return source

    def _relaxed_behind(self, source: str) -> bool:
        """Whether a join that accepts null keys is anywhere behind this source, further topics included."""
        reached = {source}
        for draft in self.drafts.values() if self.relaxed_joins else ():
            # In order: parents are seen before their children, and a sink before the source that reads its topic.
            if not reached.isdisjoint(draft.parents) or self._written_by.get(draft.name) in reached:
                reached.add(draft.name)
        return not reached.isdisjoint(self.relaxed_joins)
