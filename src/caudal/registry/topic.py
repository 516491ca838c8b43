"""A topic that is a log of what there is (`_schemas`, the command topic of KSQL): created where it is missing, refused
where it could not keep that. It blocks."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

SECONDS = 10.0


class TopicRefused(Exception):
    """A sentence that says why the topic cannot be used, or that there is no broker."""


def ensure_topic(
    client: Mapping[str, Any], topic: str, replication: int | None = None, *, keeps: str = "schemas"
) -> None:
    """`keeps` is what the topic keeps, for messages. Raises TopicRefused."""
    admin = AdminClient(dict(client))
    place = client.get("bootstrap.servers", "")
    try:
        _ensure(admin, topic, replication, keeps)
    except KafkaException as error:
        reason = error.args[0].str() if error.args and isinstance(error.args[0], KafkaError) else str(error)
        raise TopicRefused(f"the topic {topic} at {place} cannot be used: {reason.rstrip('.')}") from None


def _ensure(admin: AdminClient, topic: str, replication: int | None, keeps: str) -> None:
    metadata = admin.list_topics(timeout=SECONDS)
    found = metadata.topics.get(topic)
    if found is None:
        new = NewTopic(
            topic,
            num_partitions=1,
            replication_factor=replication or min(3, len(metadata.brokers)),
            config={"cleanup.policy": "compact"},
        )
        try:
            admin.create_topics([new], operation_timeout=SECONDS, request_timeout=SECONDS)[topic].result(SECONDS + 1)
        except KafkaException as error:
            # Another instance was quicker.
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        _wait_for(admin, topic)
        found = admin.list_topics(topic, timeout=SECONDS).topics[topic]
    if len(found.partitions) != 1:
        raise TopicRefused(
            f"the topic {topic} has {len(found.partitions)} partitions, but the order of {keeps} needs exactly one; "
            f"choose another{' with --topic' if keeps == 'schemas' else ''}"
        )
    resource = ConfigResource(ResourceType.TOPIC, topic)
    config = admin.describe_configs([resource], request_timeout=SECONDS)[resource].result(SECONDS + 1)
    policy = config["cleanup.policy"].value if "cleanup.policy" in config else ""
    if policy != "compact":
        raise TopicRefused(
            f"the topic {topic} has cleanup.policy={policy}, so {keeps} would be lost with time; "
            f"`caudal topic alter {topic} --config cleanup.policy=compact` mends that"
        )


def _wait_for(admin: AdminClient, topic: str) -> None:
    """A topic that was just created has no leader for a moment."""
    deadline = time.monotonic() + SECONDS
    while True:
        found = admin.list_topics(topic, timeout=SECONDS).topics.get(topic)
        if found is not None and found.error is None and found.partitions and found.partitions[0].leader >= 0:
            return
        if time.monotonic() > deadline:
            raise TopicRefused(f"the topic {topic} was created, but has no leader after {SECONDS:.0f} s")
        time.sleep(0.02)
