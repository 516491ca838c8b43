"""The brokers as the cluster describes them: who leads, who keeps what, and how much that is on disk."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from caudal.ui.services.errors import UiError
from caudal.ui.services.kafka import ANSWER_SECONDS, Kafka
from caudal.ui.services.log_dirs import partition_sizes

if TYPE_CHECKING:
    from confluent_kafka.admin import ClusterMetadata


@dataclass(frozen=True, slots=True)
class BrokerRow:
    id: int
    host: str
    port: int
    rack: str | None
    is_controller: bool
    leaders: int
    replicas: int
    out_of_sync: int  # of its replicas
    bytes: int | None  # on its disks; None where it does not say


@dataclass(frozen=True, slots=True)
class Totals:
    """The figures of a whole cluster."""

    topics: int
    partitions: int
    under_replicated: int
    leaderless: int


async def brokers(kafka: Kafka) -> list[BrokerRow]:
    cluster, racks = await asyncio.gather(kafka.cluster(), _racks(kafka))
    # Each is asked for itself: one that is away must not hide the others.
    sizes = await asyncio.gather(
        *(partition_sizes([(broker.host, broker.port)], kafka.config) for broker in cluster.brokers.values())
    )
    on_disk = {
        broker: None if found is None else sum(found.values())
        for broker, found in zip(cluster.brokers, sizes, strict=True)
    }
    return rows(cluster, racks, on_disk)


def rows(cluster: ClusterMetadata, racks: dict[int, str | None], on_disk: dict[int, int | None]) -> list[BrokerRow]:
    """One per broker, in the order of their ids."""
    leaders: dict[int, int] = {}
    replicas: dict[int, int] = {}
    behind: dict[int, int] = {}
    for topic in cluster.topics.values():
        for partition in topic.partitions.values():
            leaders[partition.leader] = leaders.get(partition.leader, 0) + 1
            for broker in partition.replicas:
                replicas[broker] = replicas.get(broker, 0) + 1
                if broker not in partition.isrs:
                    behind[broker] = behind.get(broker, 0) + 1
    return [
        BrokerRow(
            number,
            broker.host,
            broker.port,
            racks.get(number),
            number == cluster.controller_id,
            leaders.get(number, 0),
            replicas.get(number, 0),
            behind.get(number, 0),
            on_disk.get(number),
        )
        for number, broker in sorted(cluster.brokers.items())
    ]


def totals(cluster: ClusterMetadata) -> Totals:
    partitions = [partition for topic in cluster.topics.values() for partition in topic.partitions.values()]
    return Totals(
        len(cluster.topics),
        len(partitions),
        sum(len(partition.isrs) < len(partition.replicas) for partition in partitions),
        sum(partition.leader < 0 for partition in partitions),
    )


async def _racks(kafka: Kafka) -> dict[int, str | None]:
    try:
        answer: Any = await kafka.ask(kafka.admin.describe_cluster(request_timeout=ANSWER_SECONDS))
    except UiError:
        return {}
    return {node.id: node.rack or None for node in answer.nodes}
