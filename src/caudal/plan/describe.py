"""`Topology.describe()`: the text that Kafka Streams 4.3 prints for the same topology.

Kafka's order of nodes comes out of Java collections (hash tables, and sets sorted by sizes that still grow), so this
file goes through the same motions; without that, two texts of one topology could not be compared. Internal topics are
shown without the application id, as there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from caudal.plan.java_order import TreeSet, hash_order
from caudal.plan.topology import Node, ProcessorNode, SinkNode, SourceNode, SubTopology, Topology


def describe(topology: Topology) -> str:
    subs = sorted([*topology.subtopologies, *topology.global_subtopologies], key=lambda sub: sub.id)
    return "Topologies:\n " + "".join(_describe_sub(topology, sub) for sub in subs)


def shown_topic(topology: Topology, topic: str) -> str:
    """An internal topic without the application id; any other as it is."""
    return topic.removeprefix(f"{topology.application_id}-") if topic in topology.internal_topics else topic


@dataclass(slots=True)
class _Described:
    node: Node
    size: int = 1
    predecessors: TreeSet[_Described] = field(default_factory=lambda: TreeSet(_Described.before))
    successors: TreeSet[_Described] = field(default_factory=lambda: TreeSet(_Described.before))

    def before(self, other: _Described) -> bool:
        """Kafka's order: more nodes behind it first, then by name."""
        if self.size != other.size:
            return self.size > other.size
        return self.node.name < other.node.name

    def grow(self, by: int) -> None:
        self.size += by
        for predecessor in self.predecessors:
            predecessor.grow(by)


def _describe_sub(topology: Topology, sub: SubTopology) -> str:
    described = {node.name: _Described(node) for node in sub.nodes}
    for name in hash_order(list(described)):
        it = described[name]
        for parent in () if isinstance(it.node, SourceNode) else it.node.parents:
            predecessor = described[parent]
            it.predecessors.add(predecessor)
            predecessor.successors.add(it)
            predecessor.grow(it.size)
    ordered = TreeSet(_Described.before)
    for it in described.values():
        ordered.add(it)
    note = " for global store (will not generate tasks)" if sub.is_global else ""
    lines = [f"  Sub-topology: {sub.id}{note}"]
    for it in ordered:
        lines += _lines(topology, it)
    return "\n".join(lines) + ("\n" if sub.is_global else "\n\n")


def _lines(topology: Topology, it: _Described) -> list[str]:
    node = it.node
    behind = f"      --> {_names(it.successors)}"
    before = f"      <-- {_names(it.predecessors)}"
    if isinstance(node, SourceNode):
        topics = [shown_topic(topology, topic) for topic in node.topics]
        return [f"    Source: {node.name} (topics: [{', '.join(hash_order(topics))}])", behind]
    if isinstance(node, ProcessorNode):
        return [f"    Processor: {node.name} (stores: [{', '.join(hash_order(list(node.stores)))}])", behind, before]
    return [f"    Sink: {node.name} ({_target(topology, node)})", before]


def _target(topology: Topology, node: SinkNode) -> str:
    if isinstance(node.topic, str):
        return f"topic: {shown_topic(topology, node.topic)}"
    return f"extractor class: {node.topic}"


def _names(described: Iterable[_Described]) -> str:
    return ", ".join(it.node.name for it in described) or "none"
