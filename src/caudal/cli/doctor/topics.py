"""Topics: partitions without a leader or with replicas behind, and topics that keep everything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caudal.cli.doctor.check import Answer, Situation, check, note, ok, trouble

REQUEST_SECONDS = 8.0
MOST_TOPICS = 500  # whose properties are looked at
SHOWN = 3


@check("partitions")
def check_partitions(situation: Situation) -> Iterator[Answer]:
    metadata = situation.cluster.metadata
    if metadata is None:
        return
    offline, behind, count = [], [], 0
    for name, topic in sorted(metadata.topics.items()):
        for number, partition in sorted(topic.partitions.items()):
            count += 1
            if partition.leader < 0:
                offline.append(f"{name}-{number}")
            elif len(partition.isrs) < len(partition.replicas):
                behind.append(f"{name}-{number}")
    up = ", ".join(map(str, sorted(metadata.brokers)))
    if offline:
        yield trouble(f"without a leader: {_some(offline)}", f"start the brokers that have them (up: {up})")
    if behind:
        yield trouble(
            f"replicas are missing or behind: {_some(behind)}",
            f"start the brokers that are down (up: {up}), or wait until they have caught up",
        )
    if not offline and not behind:
        yield ok(f"{count} partitions have a leader and all their replicas")


@check("retention")
def check_retention(situation: Situation) -> Iterator[Answer]:
    """Neither time nor size nor compaction: such a topic grows until the disk is full."""
    from confluent_kafka.admin import ConfigResource, ResourceType

    metadata, admin = situation.cluster.metadata, situation.cluster.admin
    if metadata is None or admin is None:
        return
    names = sorted(name for name in metadata.topics if not name.startswith("_"))[:MOST_TOPICS]
    asked = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    endless = []
    for resource, future in admin.describe_configs(asked, request_timeout=REQUEST_SECONDS).items() if asked else ():
        configs = {key: entry.value for key, entry in future.result(REQUEST_SECONDS + 1).items()}
        if (
            configs.get("cleanup.policy") == "delete"
            and configs.get("retention.ms") == "-1"
            and configs.get("retention.bytes") == "-1"
        ):
            endless.append(resource.name)
    if endless:
        yield note(
            f"kept for ever, without any limit: {_some(endless)}",
            f"caudal topic alter {endless[0]} -c retention.ms=604800000",
        )
    elif names:
        yield ok(f"{len(names)} topics have a limit in time or size, or are compacted")


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
