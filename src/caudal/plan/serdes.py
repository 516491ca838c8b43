"""Serdes of a whole plan: told their topics when it is finished, and their registry when the application has one.

A source, a sink and a store's changelog each have one topic, which names the subjects of serdes with a registry. A
source of several topics is known by its first one, for reading needs no subject. A sink whose topic depends on the
record binds its serdes itself. Steps that turn values into bytes for themselves (foreign-key joins) have no topic; the
node's name stands for it, as in Kafka Streams.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

from caudal.plan.naming import changelog_topic
from caudal.plan.topology import Node, ProcessorNode, SinkNode, SourceNode, StoreSpec, Topology
from caudal.serde import Serde
from caudal.serde.serde import bound, with_registry

T = TypeVar("T")
Change = Callable[[Serde, bool], Serde]  # a serde, whether it is for keys


def bound_node(node: Node, application_id: str) -> Node:
    if isinstance(node, SinkNode) and not isinstance(node.topic, str):
        return node
    if isinstance(node, ProcessorNode):
        topic = f"{application_id}-{node.name}"
    else:
        topic = node.topics[0] if isinstance(node, SourceNode) else str(node.topic)
    return _changed(node, lambda serde, is_key: bound(serde, topic, is_key))


def bound_store(spec: StoreSpec, application_id: str) -> StoreSpec:
    topic = spec.changelog or changelog_topic(application_id, spec.name)
    return _with_serdes(spec, lambda serde, is_key: bound(serde, topic, is_key))


def with_registry_of(topology: Topology, registry: str) -> Topology:
    """The same plan with its serdes at this registry, unless they were given their own."""

    def change(serde: Serde, is_key: bool) -> Serde:
        return with_registry(serde, registry)

    nodes = {node.name: _changed(node, change) for node in topology.nodes}
    stores = {name: _with_serdes(spec, change) for name, spec in topology.stores.items()}

    def subs(given: Any) -> Any:
        return [
            dataclasses.replace(
                sub,
                nodes=[nodes[node.name] for node in sub.nodes],
                stores=[stores[store.name] for store in sub.stores],
            )
            for sub in given
        ]

    return dataclasses.replace(
        topology,
        nodes=list(nodes.values()),
        stores=stores,
        subtopologies=subs(topology.subtopologies),
        global_subtopologies=subs(topology.global_subtopologies),
    )


def _changed(node: Node, change: Change) -> Node:
    if isinstance(node, ProcessorNode):
        return dataclasses.replace(node, step=_with_serdes(node.step, change))
    return _with_serdes(node, change)


def _with_serdes(it: T, change: Change) -> T:
    """A dataclass with its serdes changed; itself where nothing does."""
    changed = {}
    for each in dataclasses.fields(it):  # type: ignore[arg-type]
        value = getattr(it, each.name)
        if hasattr(value, "deserialize") and hasattr(value, "serialize"):
            made = change(value, each.name.endswith("key"))
            if made is not value:
                changed[each.name] = made
    return dataclasses.replace(it, **changed) if changed else it  # type: ignore[type-var]
