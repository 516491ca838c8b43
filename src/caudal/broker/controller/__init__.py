"""What the cluster is made of: topics, partitions, dynamic configs. One interface, several keepers.

`ClusterMetadata` is what the rest of the broker sees; `embedded.py` keeps it in one broker's folder. A `TopicInfo` is
replaced, never changed, when its topic changes: whoever holds one holds a consistent picture, and encodings cached on
it can never be stale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol
from uuid import UUID


@dataclass(slots=True)
class PartitionInfo:
    index: int
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]


@dataclass(slots=True)
class TopicInfo:
    name: str
    topic_id: UUID
    partitions: list[PartitionInfo]
    configs: dict[str, str]
    internal: bool
    # Bytes of this topic in Metadata responses, by (version, with authorized operations); see apis/metadata.py.
    encodings: dict[tuple[int, bool], bytes] = field(default_factory=dict, repr=False, compare=False)


class ChangeKind(Enum):
    TOPIC_CREATED = "topic created"
    TOPIC_DELETED = "topic deleted"
    PARTITIONS_ADDED = "partitions added"
    TOPIC_CONFIGS = "topic configs"
    BROKER_CONFIGS = "broker configs"


@dataclass(frozen=True, slots=True)
class MetadataChange:
    """One change that is already durable. `topic` is the new picture (the last one, for a deletion);
    `first_partition` is the first new partition where partitions were added."""

    kind: ChangeKind
    topic: TopicInfo | None = None
    first_partition: int = 0


# Configs as they shall be: the complete set, or how to get it from what is set when the change's turn comes (two
# changes of one resource at once must not undo each other).
WantedConfigs = Mapping[str, str] | Callable[[Mapping[str, str]], Mapping[str, str]]


class ClusterMetadata(Protocol):
    """Changes return when they are durable and every subscriber has seen them; they raise KafkaError."""

    topics: Mapping[str, TopicInfo]
    topic_ids: Mapping[UUID, TopicInfo]
    version: int
    cluster_id: str
    broker_configs: dict[str, str]
    default_broker_configs: dict[str, str]

    async def create_topic(
        self,
        name: str,
        partitions: int,
        replication_factor: int,
        configs: Mapping[str, str],
        assignments: Mapping[int, Sequence[int]] | None = None,
        validate_only: bool = False,
    ) -> TopicInfo: ...

    async def delete_topic(self, name: str) -> None: ...

    async def create_partitions(
        self,
        name: str,
        total: int,
        assignments: Sequence[Sequence[int]] | None = None,
        validate_only: bool = False,
    ) -> TopicInfo: ...

    async def set_topic_configs(self, name: str, configs: WantedConfigs, validate_only: bool = False) -> None: ...

    async def set_broker_configs(
        self, node_id: int | None, configs: WantedConfigs, validate_only: bool = False
    ) -> None: ...

    def subscribe(self, callback: Callable[[MetadataChange], None]) -> None: ...

    async def next_producer_id_block(self) -> range: ...

    async def load(self) -> None: ...

    async def close(self) -> None: ...


__all__ = ["ChangeKind", "ClusterMetadata", "MetadataChange", "PartitionInfo", "TopicInfo", "WantedConfigs"]
