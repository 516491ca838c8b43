"""Makes the two topics of pipelines where they are missing.

Reports are compacted, but not before an hour has passed: so the topic has the figures of the last hour for plots, and
of what is older only the last ones. What nobody has written to for a day goes: pipelines that were killed.
"""

from __future__ import annotations

from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from caudal.pipelines.records import CONTROL_TOPIC, PIPELINES_TOPIC

SECONDS = 10.0
HISTORY_MS = 3_600_000
FORGOTTEN_MS = 24 * 3_600_000

CONFIGS = {
    PIPELINES_TOPIC: {
        "cleanup.policy": "compact,delete",
        "message.timestamp.type": "LogAppendTime",  # who has fallen silent is told by one clock
        "min.compaction.lag.ms": str(HISTORY_MS),
        "retention.ms": str(FORGOTTEN_MS),
        "segment.ms": str(HISTORY_MS // 4),
        "segment.bytes": str(16 << 20),
        "min.cleanable.dirty.ratio": "0.3",
    },
    CONTROL_TOPIC: {"cleanup.policy": "delete", "retention.ms": str(HISTORY_MS)},
}


def ensure_topics(connection: dict[str, Any], replication_factor: int = -1) -> None:
    """Raises KafkaException where that is not allowed, or nobody answers."""
    admin = AdminClient(connection)
    known = admin.list_topics(timeout=SECONDS).topics
    missing = [NewTopic(name, 1, replication_factor, config=CONFIGS[name]) for name in CONFIGS if name not in known]
    if not missing:
        return
    for future in admin.create_topics(missing, request_timeout=SECONDS).values():
        try:
            future.result(SECONDS + 1)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
