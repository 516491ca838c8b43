"""The Kafka clients of a task: the worker's properties, the framework's own, and what the connector overrides.

`producer.override.…`, `consumer.override.…` and `admin.override.…` have the names of Java's clients, as everybody's
configurations do; here they become librdkafka's. What librdkafka has no word for and does by itself is left out with a
line in the log; a name that nobody knows is an error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from caudal.connect.errors import ConfigError
from caudal.connect.runtime.settings import WorkerSettings

log = logging.getLogger("caudal.connect")

Role = Literal["producer", "consumer", "admin"]
C = TypeVar("C")

_RENAMED = {
    "max.request.size": "message.max.bytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
}
# Java's, of no meaning here: nobody is helped by a failure.
_MEANINGLESS = {
    "key.serializer", "value.serializer", "key.deserializer", "value.deserializer", "max.block.ms", "metric.reporters",
    "metrics.num.samples", "metrics.sample.window.ms", "metrics.recording.level", "interceptor.classes",
    "auto.include.jmx.reporter", "partitioner.class", "partitioner.ignore.keys",
    "partitioner.adaptive.partitioning.enable", "partitioner.availability.timeout.ms",
    "enable.metrics.push", "client.dns.lookup", "exclude.internal.topics", "default.api.timeout.ms",
    "max.poll.records",  # read by the sink's run itself
}  # fmt: skip
_ASSIGNORS = {
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
    "org.apache.kafka.clients.consumer.StickyAssignor": "cooperative-sticky",
}


def overrides(role: Role, connector_config: Mapping[str, str]) -> dict[str, Any]:
    """What the connector's configuration says about its clients of one kind, in librdkafka's names.

    >>> overrides("producer", {"producer.override.linger.ms": "50", "producer.override.buffer.memory": "1048576"})
    {'linger.ms': '50', 'queue.buffering.max.kbytes': 1024}
    """
    prefix = f"{role}.override."
    found: dict[str, Any] = {}
    for name, value in connector_config.items():
        if not name.startswith(prefix):
            continue
        java = name[len(prefix) :]
        if java in _MEANINGLESS:
            if java != "max.poll.records":
                log.info("%s has no meaning for this client and is left out.", name)
        elif java == "buffer.memory":
            found["queue.buffering.max.kbytes"] = max(1, int(value) // 1024)
        elif java == "partition.assignment.strategy":
            found[java] = ",".join(_ASSIGNORS.get(one.strip(), one.strip()) for one in value.split(","))
        else:
            found[_RENAMED.get(java, java)] = value
    return found


def make_producer(settings: WorkerSettings, connector_config: Mapping[str, str], **more: Any) -> Any:
    """Idempotent, acks=all. Never gives a record up by time, as Kafka Connect: the broker may be away for hours."""
    properties = {
        "enable.idempotence": True,
        "acks": "all",
        "partitioner": "murmur2_random",  # Java's: the same key goes to the same partition, whoever writes it
        "linger.ms": 5,
        "batch.size": 1_000_000,
        "batch.num.messages": 20_000,
        "queue.buffering.max.messages": 200_000,
        "queue.buffering.max.kbytes": 131_072,
        "message.timeout.ms": 0,
        **more,
    }
    return _make(Producer, "producer", settings, connector_config, properties)


def make_consumer(settings: WorkerSettings, connector_config: Mapping[str, str], **more: Any) -> Any:
    # librdkafka stops fetching while enough is queued, and looks again after this time only: with its second a quick
    # sink has emptied the queue long before, and waits.
    properties = {"fetch.queue.backoff.ms": 10, **more}
    return _make(Consumer, "consumer", settings, connector_config, properties)


def make_admin(settings: WorkerSettings, connector_config: Mapping[str, str]) -> Any:
    return _make(AdminClient, "admin", settings, connector_config, {})


def _make(
    client: Callable[[dict[str, Any]], C],
    role: Role,
    settings: WorkerSettings,
    connector_config: Mapping[str, str],
    properties: Mapping[str, Any],
) -> C:
    theirs = overrides(role, connector_config)
    ours = dict(properties)
    if {"delivery.timeout.ms", "message.timeout.ms"} & theirs.keys():
        ours.pop("message.timeout.ms", None)
    if {"request.required.acks", "acks"} & theirs.keys() and str(theirs.get("acks", "all")) not in ("all", "-1"):
        ours.pop("enable.idempotence", None)  # fewer acknowledgements were asked for: their choice
    try:
        return client({**settings.librdkafka(), **ours, **theirs})
    except KafkaException as error:
        raise ConfigError(
            f"The {role} of this connector cannot be made: {error.args[0].str()}; see {role}.override.…."
        ) from None
