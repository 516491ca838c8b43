"""A topology: nodes, stores and how they hang together; then cut into sub-topologies and given internal topics.

A node's name is Kafka Streams' (KSTREAM-FILTER-0000000001), so that `describe()` reads alike. Nodes are kept in the
order in which they were added; parents come before children.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from caudal.plan.functions import Function
from caudal.plan.steps import Step
from caudal.serde import Serde


class StoreKind(Enum):
    KEY_VALUE = "key-value"
    TIMESTAMPED = "timestamped key-value"
    WINDOW = "window"
    SESSION = "session"
    # Only inside operators: the ordered buffers of suppress and, with retain_duplicates, of left and outer stream
    # joins.
    BUFFER = "buffer"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """Where the rows of a static table are: Parquet, by one column."""

    path: str  # of a file or a folder, as the workers see it
    key: str
    columns: tuple[str, ...] | None = None  # None: all


@dataclass(frozen=True, slots=True)
class StoreSpec:
    name: str
    kind: StoreKind
    key: Serde
    value: Serde
    persistent: bool = True
    logged: bool = True  # has a changelog topic
    retention: int = 0  # ms, window and session stores: how long a window is kept
    window_size: int = 0  # ms, window stores
    retain_duplicates: bool = False  # window stores and buffers of stream-stream joins
    changelog: str | None = None  # topic name where it is not <application>-<store>-changelog (a reused source topic)
    is_global: bool = False
    topic_configs: tuple[tuple[str, str], ...] = ()  # of the changelog, over Kafka Streams' own
    static: StaticFile | None = None  # a global store that is a file


@dataclass(frozen=True, slots=True)
class SourceNode:
    name: str
    topics: tuple[str, ...]
    key: Serde
    value: Serde
    timestamp: Function | None = None  # key, value, record timestamp → timestamp
    reset: str = "earliest"  # where to begin without a committed offset: earliest | latest
    is_global: bool = False
    changes: bool = False  # the other end of a sink with `changes`: `value` is a ChangeSerde, values are Change


@dataclass(frozen=True, slots=True)
class ProcessorNode:
    name: str
    step: Step
    parents: tuple[str, ...]
    stores: tuple[str, ...] = ()
    # Table nodes: `Change.old` is filled. Decided with Kafka Streams' rules and in its order (a filter made before the
    # table was asked for old values does not get them), which is why the plan says it and the runtime need not work it
    # out.
    sends_old: bool = False


@dataclass(frozen=True, slots=True)
class SinkNode:
    name: str
    topic: str | Function  # Function: key, value, record context → topic
    key: Serde
    value: Serde
    parents: tuple[str, ...]
    partitioner: Function | None = None  # topic, key, value, number of partitions → partition or None
    changes: bool = (
        False  # writes both halves of a table's change (repartition of a grouped table); `value`: ChangeSerde
    )


Node = SourceNode | ProcessorNode | SinkNode


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """A topic the application makes for itself."""

    name: str  # as it will be: <application>-<node or store>-repartition | -changelog
    kind: str  # "repartition" | "changelog"
    configs: dict[str, str]
    partitions: int | None = None  # None: as many as the sub-topology has tasks


@dataclass(slots=True)
class SubTopology:
    id: int
    nodes: list[Node]
    stores: list[StoreSpec]
    source_topics: tuple[str, ...]  # external and repartition topics it reads
    sink_topics: tuple[str, ...]  # without those that a function names
    is_global: bool = False


@dataclass(slots=True)
class Topology:
    """Everything about an application that does not depend on a cluster."""

    application_id: str
    nodes: list[Node] = field(default_factory=list)
    stores: dict[str, StoreSpec] = field(default_factory=dict)
    internal_topics: dict[str, InternalTopic] = field(default_factory=dict)
    copartitioned: list[frozenset[str]] = field(default_factory=list)  # source topics that need equal partition counts
    subtopologies: list[SubTopology] = field(default_factory=list)  # those that have tasks; filled by plan.cut
    # One per global table: they are numbered with the others, but every instance reads all of their partitions.
    global_subtopologies: list[SubTopology] = field(default_factory=list)

    def describe(self) -> str:
        """The text that Kafka Streams prints for the same topology."""
        from caudal.plan.describe import describe

        return describe(self)

    def mermaid(self) -> str:
        """A Mermaid flow chart: one box per sub-topology, topics between them."""
        from caudal.plan.mermaid import mermaid

        return mermaid(self)

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON-ready data; functions by their text or name."""
        from caudal.plan.data import to_dict

        return to_dict(self)

    def __str__(self) -> str:
        return self.describe()
