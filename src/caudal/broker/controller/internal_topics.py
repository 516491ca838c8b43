"""The topics the broker keeps for itself: which they are, and with what partitions and configs they are created."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from caudal.broker.config import BrokerConfig

CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"
SHARE_GROUP_STATE: Final = "__share_group_state"
CLUSTER_METADATA: Final = "__cluster_metadata"

INTERNAL_TOPICS: Final = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})


def is_internal(name: str) -> bool:
    return name in INTERNAL_TOPICS


@dataclass(frozen=True, slots=True)
class InternalTopic:
    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


def internal_topic(name: str, config: BrokerConfig, brokers: int = 1) -> InternalTopic:
    """How an internal topic is created. Replicas are capped by the brokers there are, so that a small cluster works
    without settings of its own; `min.insync.replicas` is capped by the replicas."""
    if name == CONSUMER_OFFSETS:
        return InternalTopic(
            name,
            config["offsets.topic.num.partitions"],
            min(config["offsets.topic.replication.factor"], brokers),
            {
                "cleanup.policy": "compact",
                "compression.type": "producer",
                **_segment_bytes(config["offsets.topic.segment.bytes"]),
            },
        )
    if name == TRANSACTION_STATE:
        replicas = min(config["transaction.state.log.replication.factor"], brokers)
        return InternalTopic(
            name,
            config["transaction.state.log.num.partitions"],
            replicas,
            {
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "min.insync.replicas": str(min(config["transaction.state.log.min.isr"], replicas)),
                "unclean.leader.election.enable": "false",
                **_segment_bytes(config["transaction.state.log.segment.bytes"]),
            },
        )
    raise KeyError(name)


def _segment_bytes(size: int) -> dict[str, str]:
    # The broker properties allow sizes below the topic property's lower limit.
    return {"segment.bytes" if size >= 1 << 20 else "internal.segment.bytes": str(size)}
