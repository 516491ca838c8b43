"""A topology's text, as Kafka Streams prints it, as a graph: sub-topologies as boxes, topics between them, in Mermaid.

The text is all that a KSQL server tells of a plan (EXPLAIN), be it ours or ksqlDB's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_SUB = re.compile(r"\s*Sub-topology: (?P<id>\S+)")
_NODE = re.compile(r"\s*(?P<kind>Source|Processor|Sink): (?P<name>\S+)(?: \((?P<more>.*)\))?$")
_NEXT = re.compile(r"\s*--> (?P<names>.+)")
_LIST = re.compile(r"(?P<what>topics|stores): \[(?P<names>[^\]]*)\]")
_TOPIC = re.compile(r"topic: (?P<name>.+)")


@dataclass(slots=True)
class Node:
    name: str
    kind: str  # Source, Processor or Sink
    topics: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()


@dataclass(slots=True)
class SubTopology:
    id: str
    nodes: list[Node] = field(default_factory=list)


def read(text: str) -> list[SubTopology]:
    """What the text says; lines that are something else are passed over."""
    found: list[SubTopology] = []
    for line in text.splitlines():
        if (sub := _SUB.match(line)) is not None:
            found.append(SubTopology(sub["id"]))
        elif found and (node := _NODE.match(line)) is not None:
            found[-1].nodes.append(_node(node["kind"], node["name"], node["more"] or ""))
        elif found and found[-1].nodes and (behind := _NEXT.match(line)) is not None:
            found[-1].nodes[-1].behind = tuple(name for name in _names(behind["names"]) if name != "none")
    return found


def _node(kind: str, name: str, more: str) -> Node:
    lists = {one["what"]: _names(one["names"]) for one in _LIST.finditer(more)}
    topic = _TOPIC.match(more)
    topics = (topic["name"],) if topic is not None else lists.get("topics", ())
    return Node(name, kind, topics, lists.get("stores", ()))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def mermaid(subs: list[SubTopology], labels: dict[str, str] | None = None, title: str = "Sub-topology") -> str:
    """A flow chart from above to below. `labels` names what a topic is for a reader: the stream that it holds."""
    ids: dict[tuple[str, str], str] = {}

    def of(kind: str, name: str) -> str:
        return ids.setdefault((kind, name), f"{kind}{len(ids)}")

    lines, edges = ["flowchart TB"], []
    topics: dict[str, None] = {}
    for number, sub in enumerate(subs):
        lines.append(f'  subgraph sub{number}["{_text(title)} {_text(sub.id)}"]')
        for node in sub.nodes:
            here = of("n", f"{number} {node.name}")
            lines.append(f'    {here}["{_text(shown_node(node.name))}"]')
            lines += [f'    {of("s", store)}[("{_text(shown_node(store))}")]' for store in node.stores]
            edges += [f"  {here} -.- {of('s', store)}" for store in node.stores]
            edges += [f"  {here} --> {of('n', f'{number} {name}')}" for name in node.behind]
            topics.update(dict.fromkeys(node.topics))
            for topic in node.topics:
                ends = (of("t", topic), here) if node.kind == "Source" else (here, of("t", topic))
                edges.append(f"  {ends[0]} --> {ends[1]}")
        lines.append("  end")
    for topic in topics:
        label = (labels or {}).get(topic)
        shown = f"{_text(label)}<br/>{_text(topic)}" if label and label != topic else _text(topic)
        lines.append(f'  {of("t", topic)}(["{shown}"])')
    lines.append(f"  class {','.join(of('t', topic) for topic in topics)} topic" if topics else "")
    return "\n".join(line for line in [*lines, *dict.fromkeys(edges)] if line) + "\n"


def shown_node(name: str) -> str:
    """Without the number that makes it unique; it is in the text.

    >>> shown_node("KSTREAM-FILTER-0000000003"), shown_node("Aggregate-Project")
    ('KSTREAM-FILTER', 'Aggregate-Project')
    """
    return re.sub(r"-0\d{9}(?=$|-)", "", name)


@dataclass(frozen=True, slots=True)
class Outline:
    """A sub-topology without its inside, for those who do not see the drawing."""

    id: str
    reads: tuple[str, ...]
    keeps: tuple[str, ...]
    writes: tuple[str, ...]


def outline(sub: SubTopology) -> Outline:
    reads = dict.fromkeys(topic for node in sub.nodes if node.kind == "Source" for topic in node.topics)
    writes = dict.fromkeys(topic for node in sub.nodes if node.kind == "Sink" for topic in node.topics)
    keeps = dict.fromkeys(store for node in sub.nodes for store in node.stores)
    return Outline(sub.id, tuple(reads), tuple(keeps), tuple(writes))


def _text(name: str) -> str:
    """Mermaid reads quotes and brackets; its own code for a character is #number;."""
    return re.sub(r"[^\w .,:;/()+\-=]", lambda match: f"#{ord(match.group())};", name)
