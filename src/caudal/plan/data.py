"""`Topology.to_dict()`: the plan as JSON-ready data, for printing, storing and comparing. Functions stand as their SQL
text or, where they are Python, by name: a plan with Python functions can be read back by people, not by programs."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import Any

from caudal.plan.functions import Function
from caudal.plan.steps import Step
from caudal.plan.topology import SubTopology, Topology
from caudal.serde import describe_serde


def to_dict(topology: Topology) -> dict[str, Any]:
    return {
        "application_id": topology.application_id,
        "nodes": [{"node": type(node).__name__, **_fields(node)} for node in topology.nodes],
        "stores": [_fields(store) for store in topology.stores.values()],
        "internal_topics": [_fields(topic) for topic in topology.internal_topics.values()],
        "copartitioned": [sorted(group) for group in topology.copartitioned],
        "subtopologies": [_sub(sub) for sub in topology.subtopologies],
        "global_subtopologies": [_sub(sub) for sub in topology.global_subtopologies],
    }


def _sub(sub: SubTopology) -> dict[str, Any]:
    return {
        "id": sub.id,
        "nodes": [node.name for node in sub.nodes],
        "stores": [store.name for store in sub.stores],
        "source_topics": list(sub.source_topics),
        "sink_topics": list(sub.sink_topics),
    }


def _fields(it: Any) -> dict[str, Any]:
    return {one.name: _value(getattr(it, one.name)) for one in dataclasses.fields(it)}


def _value(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Function):
        return {"sql": value.sql} if value.sql is not None else {"python": str(value)}
    if isinstance(value, Step):
        return {"step": type(value).__name__, **_fields(value)}
    if dataclasses.is_dataclass(value):
        return {"type": type(value).__name__, **_fields(value)}
    if isinstance(value, dict):
        return {str(key): _value(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_value(one) for one in value]
    return describe_serde(value)
