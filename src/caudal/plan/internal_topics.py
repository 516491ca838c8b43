"""The configs of the topics that an application makes for itself, as Kafka Streams sets them.

A changelog keeps the last value of each key; that of a window store also forgets windows, a day later than the store
does, so that a task that was down for a while still finds them. A repartition topic keeps everything until it was read:
whoever runs the application purges it behind the committed offsets.
"""

from __future__ import annotations

from caudal.plan.naming import changelog_topic
from caudal.plan.topology import InternalTopic, StoreKind, StoreSpec

WINDOW_STORE_CHANGE_LOG_ADDITIONAL_RETENTION_MS = 24 * 60 * 60 * 1000
REPARTITION_SEGMENT_BYTES = 50 * 1024 * 1024


def repartition(topic: str, partitions: int | None) -> InternalTopic:
    configs = {
        "cleanup.policy": "delete",
        "message.timestamp.type": "CreateTime",
        "retention.ms": "-1",
        "segment.bytes": str(REPARTITION_SEGMENT_BYTES),
    }
    return InternalTopic(topic, "repartition", configs, partitions)


def changelog(application_id: str, store: StoreSpec) -> InternalTopic | None:
    """The changelog of a store; None where it has none of its own."""
    if not store.logged or store.changelog is not None or store.is_global:
        return None
    configs = {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}
    if store.kind in (StoreKind.WINDOW, StoreKind.SESSION):
        # Duplicates of one key and time must all stay, so a join's window store is not compacted.
        configs["cleanup.policy"] = "delete" if store.retain_duplicates else "compact,delete"
        configs["retention.ms"] = str(store.retention + WINDOW_STORE_CHANGE_LOG_ADDITIONAL_RETENTION_MS)
    configs.update(store.topic_configs)
    return InternalTopic(changelog_topic(application_id, store.name), "changelog", configs)
