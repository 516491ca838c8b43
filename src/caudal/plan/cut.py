"""Finishes a graph into a topology and cuts it into sub-topologies.

Nodes that are linked, or that share a store, belong together; topics are where the cut is. Sub-topologies are numbered
in the order of their first nodes, those of global tables with the others, as Kafka Streams does: the number is part of
task names and transactional ids.
"""

from __future__ import annotations

import dataclasses

from caudal.plan import internal_topics
from caudal.plan.errors import PlanError
from caudal.plan.graph import Graph
from caudal.plan.serdes import bound_node, bound_store
from caudal.plan.topology import Node, ProcessorNode, SinkNode, SourceNode, StoreSpec, SubTopology, Topology


def finish(graph: Graph, optimize: bool = False) -> Topology:
    """The topology of everything that was said. With `optimize`, a table's topic serves as its changelog."""
    nodes = [bound_node(draft.finish(), graph.application_id) for draft in graph.drafts.values()]
    if not any(isinstance(node, SourceNode) for node in nodes):
        raise PlanError("The topology reads no topic; begin with builder.stream() or builder.table().")
    _check_stores(graph, nodes)
    stores = {name: _with_source_topic(graph, spec) if optimize else spec for name, spec in graph.stores.items()}
    stores = {name: bound_store(spec, graph.application_id) for name, spec in stores.items()}
    topology = Topology(graph.application_id, nodes, stores)
    _cut(topology)
    topics_of = {node.name: node.topics for node in nodes if isinstance(node, SourceNode)}
    topology.copartitioned = _merged(
        [frozenset(topic for source in group for topic in topics_of[source]) for group in graph.copartitioned]
    )
    for repartition in graph.repartitions.values():
        topic = internal_topics.repartition(repartition.topic, repartition.partitions)
        topology.internal_topics[topic.name] = topic
    for sub in topology.subtopologies:
        for store in sub.stores:
            made = internal_topics.changelog(graph.application_id, store)
            if made is not None:
                topology.internal_topics[made.name] = made
    return topology


def _check_stores(graph: Graph, nodes: list[Node]) -> None:
    for node in nodes:
        for name in node.stores if isinstance(node, ProcessorNode) else ():
            if name not in graph.stores:
                raise PlanError(
                    f"{node.name} uses the store '{name}', which was not added; call builder.add_state_store()."
                )


def _with_source_topic(graph: Graph, spec: StoreSpec) -> StoreSpec:
    topic = graph.table_topics.get(spec.name)
    return spec if topic is None or not spec.logged else dataclasses.replace(spec, changelog=topic)


def _merged(groups: list[frozenset[str]]) -> list[frozenset[str]]:
    """Groups that share a topic are one group."""
    merged: list[frozenset[str]] = []
    for group in groups:
        apart = []
        for other in merged:
            if group & other:
                group |= other
            else:
                apart.append(other)
        merged = [*apart, group]
    return sorted(merged, key=sorted)


def _cut(topology: Topology) -> None:
    roots: dict[str, str] = {node.name: node.name for node in topology.nodes}

    def root(name: str) -> str:
        while roots[name] != name:
            roots[name] = roots[roots[name]]
            name = roots[name]
        return name

    def unite(left: str, right: str) -> None:
        roots[root(right)] = root(left)

    first_user: dict[str, str] = {}
    for node in topology.nodes:
        for parent in () if isinstance(node, SourceNode) else node.parents:
            unite(parent, node.name)
        for store in node.stores if isinstance(node, ProcessorNode) else ():
            # Global stores are read by everybody and bind nobody together.
            if not topology.stores[store].is_global:
                unite(first_user.setdefault(store, node.name), node.name)

    groups: dict[str, list[Node]] = {}
    for node in topology.nodes:
        groups.setdefault(root(node.name), []).append(node)
    for number, nodes in enumerate(groups.values()):
        sub = _sub_topology(topology, number, nodes)
        (topology.global_subtopologies if sub.is_global else topology.subtopologies).append(sub)


def _sub_topology(topology: Topology, number: int, nodes: list[Node]) -> SubTopology:
    used = dict.fromkeys(store for node in nodes if isinstance(node, ProcessorNode) for store in node.stores)
    sources = [node for node in nodes if isinstance(node, SourceNode)]
    sinks = dict.fromkeys(node.topic for node in nodes if isinstance(node, SinkNode) and isinstance(node.topic, str))
    is_global = any(source.is_global for source in sources)
    return SubTopology(
        id=number,
        nodes=nodes,
        stores=[topology.stores[name] for name in used if is_global or not topology.stores[name].is_global],
        source_topics=tuple(topic for source in sources for topic in source.topics),
        sink_topics=tuple(sinks),
        is_global=is_global,
    )
