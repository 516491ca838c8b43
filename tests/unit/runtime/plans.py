"""Topologies made by hand for the tests of operators: a few nodes, one sub-topology, strings and JSON on the topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from caudal.plan.functions import Function
from caudal.plan.steps import Step
from caudal.plan.topology import (
    Node,
    ProcessorNode,
    SinkNode,
    SourceNode,
    StoreKind,
    StoreSpec,
    SubTopology,
    Topology,
)
from caudal.runtime.test_driver import TopologyTestDriver
from caudal.serde import Json, Serde, String

TEXT = String()
JSON = Json()


def f(call: Callable[..., Any]) -> Function:
    return Function(call)


def source(name: str, topic: str | None = None, **given: Any) -> SourceNode:
    return SourceNode(name, (topic or name,), given.pop("key", TEXT), given.pop("value", JSON), **given)


def node(name: str, step: Step, *parents: str, stores: tuple[str, ...] = (), sends_old: bool = False) -> ProcessorNode:
    return ProcessorNode(name, step, parents, stores, sends_old)


def sink(name: str, *parents: str, **given: Any) -> SinkNode:
    topic = given.pop("topic", name)
    return SinkNode(name, topic, given.pop("key", TEXT), given.pop("value", JSON), parents, **given)


def store(name: str, kind: StoreKind = StoreKind.TIMESTAMPED, **given: Any) -> StoreSpec:
    return StoreSpec(name, kind, given.pop("key", TEXT), given.pop("value", JSON), **given)


def topology(*nodes: Node, stores: tuple[StoreSpec, ...] = (), application: str = "app") -> Topology:
    """All nodes in one sub-topology; those behind a global source in one of their own."""
    global_names = {n.name for n in nodes if isinstance(n, SourceNode) and n.is_global}
    for n in nodes:
        if not isinstance(n, SourceNode) and n.parents and set(n.parents) <= global_names:
            global_names.add(n.name)
    local = [n for n in nodes if n.name not in global_names]
    apart = [n for n in nodes if n.name in global_names]
    made = Topology(application, list(nodes), {spec.name: spec for spec in stores})
    made.subtopologies = [_sub(0, local, [spec for spec in stores if not spec.is_global])]
    if apart:
        made.global_subtopologies = [_sub(1, apart, [spec for spec in stores if spec.is_global], True)]
    return made


def _sub(number: int, nodes: list[Node], stores: list[StoreSpec], is_global: bool = False) -> SubTopology:
    topics = tuple(topic for n in nodes if isinstance(n, SourceNode) for topic in n.topics)
    written = tuple(n.topic for n in nodes if isinstance(n, SinkNode) and isinstance(n.topic, str))
    return SubTopology(number, nodes, stores, topics, written, is_global)


def driver(*nodes: Node, stores: tuple[StoreSpec, ...] = (), **given: Any) -> TopologyTestDriver:
    return TopologyTestDriver(topology(*nodes, stores=stores), start_time=0, **given)


def rows(runner: TopologyTestDriver, topic: str = "out") -> list[tuple[Any, Any, int]]:
    """What is in an output topic: key, value, timestamp."""
    return [(record.key, record.value, record.timestamp) for record in runner.read_outputs(topic)]


class Keyed:
    """A serde for windowed keys in outputs of tests: as text, such as a@0-10."""

    def serialize(self, value: Any) -> bytes:
        return f"{value.key}@{value.start}-{value.end}".encode()

    def deserialize(self, data: bytes) -> str:
        return data.decode()


WINDOWED: Serde = Keyed()
