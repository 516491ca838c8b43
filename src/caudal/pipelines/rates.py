"""From counters that only grow to figures per second; and from a few topics' rates to those of the edges between. Pure.

Tasks count records by topic, read and written; counting at every node would cost more than a pipeline should pay for
being looked at. Most edges follow from that: a step that passes each record on has the rate it gets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

SPAN_SECONDS = 6.0  # micro-batches come in lumps: a rate is a mean over some of them

# Steps that give exactly one record for each, so that their rate is known from either side.
ONE_TO_ONE = frozenset({"map", "select key", "map values", "peek", "print", "pass through", "record columns"})

Edge = tuple[str, str]  # names of nodes, "topic:NAME" for topics


class RateMeter:
    """Counters seen now and then, as rates over the last seconds."""

    def __init__(self, span: float = SPAN_SECONDS) -> None:
        self._span = span
        self._seen: deque[tuple[float, dict[str, float]]] = deque()

    def update(self, now: float, counters: Mapping[str, float]) -> dict[str, float]:
        """Per second. The first time there is no rate yet; a counter that comes later has begun at 0."""
        self._seen.append((now, dict(counters)))
        while len(self._seen) > 2 and now - self._seen[1][0] >= self._span:
            self._seen.popleft()
        began, first = self._seen[0]
        passed = now - began
        if passed <= 0:
            return dict.fromkeys(counters, 0.0)
        return {name: round(max(0.0, value - first.get(name, 0)) / passed, 1) for name, value in counters.items()}


def edge_rates(
    topology: Mapping[str, Any], read: Mapping[str, float], written: Mapping[str, float]
) -> dict[Edge, float]:
    """The rates of those edges where they are known, from the rates of the topics."""
    nodes = {node["name"]: node for node in topology.get("nodes", ())}
    edges: dict[Edge, float] = {}
    out: dict[str, float] = {}  # of a node, to each of its children
    for name, node in nodes.items():
        if node["kind"] == "source":
            known = [topic for topic in node["topics"] if topic in read]
            for topic in known:
                edges[f"topic:{topic}", name] = read[topic]
            if len(known) == len(node["topics"]):
                out[name] = sum(read[topic] for topic in known)
    writers: dict[str, list[str]] = {}
    for name, node in nodes.items():
        for topic in node["topics"] if node["kind"] == "sink" else ():
            writers.setdefault(topic, []).append(name)
    _forward(nodes, edges, out)
    for topic, names in writers.items():
        if topic in written and len(names) == 1:
            edges[names[0], f"topic:{topic}"] = written[topic]
            if not nodes[names[0]].get("changes"):
                _backward(nodes, edges, names[0], written[topic])
    return edges


def _forward(nodes: Mapping[str, Any], edges: dict[Edge, float], out: dict[str, float]) -> None:
    """Nodes come with parents before children."""
    for name, node in nodes.items():
        parents = node.get("parents", ())
        for parent in parents:
            # A branch gives each record to one of its children: how many to which is not known.
            if parent in out and nodes.get(parent, {}).get("step") != "branch":
                edges[parent, name] = out[parent]
        arrives = [edges[parent, name] for parent in parents if (parent, name) in edges]
        if parents and len(arrives) == len(parents) and node.get("step") in ONE_TO_ONE:
            out[name] = sum(arrives)


def _backward(nodes: Mapping[str, Any], edges: dict[Edge, float], name: str, rate: float) -> None:
    """What goes into a node with one parent that passes everything on is what comes out of it."""
    while len(parents := nodes[name].get("parents", ())) == 1:
        edges.setdefault((parents[0], name), rate)
        name = parents[0]
        if nodes.get(name, {}).get("step") not in ONE_TO_ONE:
            return
