"""A topology as the data that is reported: nodes, stores, topics and what belongs to which sub-topology. Pure.

Less than `Topology.to_dict()`: what a drawing needs, functions by their text, no serdes and no settings.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from caudal.plan.functions import Function
from caudal.plan.naming import changelog_topic
from caudal.plan.topology import Node, ProcessorNode, SinkNode, SourceNode, StoreSpec, SubTopology, Topology

LONGEST_TEXT = 200  # of a function: a page shows a line of it


def topology_data(topology: Topology) -> dict[str, Any]:
    subs = sorted([*topology.subtopologies, *topology.global_subtopologies], key=lambda sub: sub.id)
    topics: dict[str, str] = {}
    for node in topology.nodes:
        named = node.topics if isinstance(node, SourceNode) else ()
        if isinstance(node, SinkNode) and isinstance(node.topic, str):
            named = (node.topic,)
        for topic in named:
            internal = topology.internal_topics.get(topic)
            topics[topic] = "external" if internal is None else internal.kind
    return {
        "subtopologies": [_sub(sub) for sub in subs],
        "nodes": [_node(node) for node in topology.nodes],
        "stores": [_store(topology, store) for sub in subs for store in sub.stores],
        "topics": [{"name": name, "kind": kind} for name, kind in topics.items()],
    }


def _sub(sub: SubTopology) -> dict[str, Any]:
    return {
        "id": sub.id,
        "global": sub.is_global,
        "nodes": [node.name for node in sub.nodes],
        "stores": [store.name for store in sub.stores],
    }


def _node(node: Node) -> dict[str, Any]:
    if isinstance(node, SourceNode):
        return {"name": node.name, "kind": "source", "topics": list(node.topics)}
    if isinstance(node, SinkNode):
        named = isinstance(node.topic, str)
        return {
            "name": node.name,
            "kind": "sink",
            "topics": [node.topic] if named else [],
            "parents": list(node.parents),
            "text": "" if named else _shortened(_readable(str(node.topic))),
            "changes": node.changes,  # up to two records for one change of a table
        }
    return {
        "name": node.name,
        "kind": "processor",
        "step": _words(type(node.step).__name__),
        "text": _text(node),
        "parents": list(node.parents),
        "stores": list(node.stores),
    }


def _store(topology: Topology, store: StoreSpec) -> dict[str, Any]:
    made = changelog_topic(topology.application_id, store.name)
    changelog = store.changelog or (made if made in topology.internal_topics else None)
    return {"name": store.name, "kind": store.kind.value, "persistent": store.persistent, "changelog": changelog}


def _words(name: str) -> str:
    """MapValues → map values."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def _text(node: ProcessorNode) -> str:
    """The user's function, if the step has one; where an aggregate begins says little."""
    for one in dataclasses.fields(node.step):  # type: ignore[arg-type]  # every step is a dataclass
        value = getattr(node.step, one.name)
        if isinstance(value, Function) and one.name != "initializer":
            return _shortened(_readable(str(value)))
    return ""


def _readable(name: str) -> str:
    """A lambda has no name that tells anything."""
    return "λ" if name.endswith("<lambda>") else name.rpartition("<locals>.")[2]


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TEXT else line[: LONGEST_TEXT - 1] + "…"
