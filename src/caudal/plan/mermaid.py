"""`Topology.mermaid()`: a flow chart in Mermaid's language. Topics are cylinders, nodes are boxes inside their
sub-topology, stores hang on their nodes by dotted lines."""

from __future__ import annotations

from caudal.plan.describe import shown_topic
from caudal.plan.topology import ProcessorNode, SinkNode, SourceNode, Topology


def mermaid(topology: Topology) -> str:
    lines = ["flowchart TD"]
    ids: dict[str, str] = {}

    def id_of(kind: str, name: str) -> str:
        return ids.setdefault(f"{kind} {name}", f"{kind[0]}{len(ids)}")

    for sub in sorted([*topology.subtopologies, *topology.global_subtopologies], key=lambda sub: sub.id):
        title = f"Sub-topology {sub.id}" + (" (global)" if sub.is_global else "")
        lines.append(f'  subgraph s{sub.id}["{title}"]')
        lines += [f'    {id_of("node", node.name)}["{_text(node.name)}"]' for node in sub.nodes]
        lines += [f'    {id_of("store", store.name)}[/"{_text(store.name)}"\\]' for store in sub.stores]
        lines.append("  end")
    topics: dict[str, None] = {}
    edges: list[str] = []
    for node in topology.nodes:
        here = id_of("node", node.name)
        if isinstance(node, SourceNode):
            for topic in node.topics:
                topics[topic] = None
                edges.append(f"  {id_of('topic', topic)} --> {here}")
            continue
        edges += [f"  {id_of('node', parent)} --> {here}" for parent in node.parents]
        if isinstance(node, ProcessorNode):
            edges += [f"  {here} -.- {id_of('store', store)}" for store in node.stores]
        elif isinstance(node, SinkNode):
            topic = node.topic if isinstance(node.topic, str) else f"by {node.topic}"
            topics[topic] = None
            edges.append(f"  {here} --> {id_of('topic', topic)}")
    lines += [f'  {id_of("topic", topic)}[("{_text(shown_topic(topology, topic))}")]' for topic in topics]
    return "\n".join([*lines, *edges]) + "\n"


def _text(name: str) -> str:
    return name.replace('"', "#quot;")
