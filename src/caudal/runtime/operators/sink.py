"""Sinks: serialise a record and hand it to the host. No step: a sink is a kind of node of its own.

Which partition a record goes to is the host's business (murmur2 of the key) unless the sink has a partitioner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from caudal.plan.topology import SinkNode
from caudal.runtime.errors import StreamsError
from caudal.runtime.operators.operator import Operator
from caudal.runtime.record import Headers, Record, RecordContext
from caudal.serde import Serde
from caudal.serde.serde import bound

Emit = Callable[[str, int | None, bytes | None, bytes | None, int, Headers], None]
OnFailure = Callable[[str, Record, Exception], None]  # topic, the record, why it could not be serialised


class Sink(Operator):
    emit: Emit
    on_failure: OnFailure
    partitions_of: Callable[[str], int]

    def prepare(self, step: SinkNode) -> None:
        topic = step.topic
        self.serialize_key = step.key.serialize
        self.serialize_value = step.value.serialize
        self.topic = topic if isinstance(topic, str) else ""
        self.choose_topic = None if isinstance(topic, str) else topic.direct
        self.serdes, self.bound_to = (step.key, step.value), self.topic
        self.bindings: dict[str, tuple[Serde, Serde]] = {}
        self.partitioner = step.partitioner.direct if step.partitioner is not None else None
        if self.choose_topic is not None or self.partitioner is not None:
            self.process = self.process_routed  # type: ignore[method-assign]

    def bind(self, topic: str) -> None:
        """Serdes with a registry go by the topic; each is made once."""
        if topic not in self.bindings:
            self.bindings[topic] = bound(self.serdes[0], topic, True), bound(self.serdes[1], topic, False)
        key, value = self.bindings[topic]
        self.serialize_key, self.serialize_value, self.bound_to = key.serialize, value.serialize, topic

    def process(self, record: Record) -> None:
        key, value = record.key, record.value
        try:
            key_bytes = None if key is None else self.serialize_key(key)
            value_bytes = None if value is None else self.serialize_value(value)
        except Exception as error:
            self.on_failure(self.topic, record, error)
            return
        timestamp = record.timestamp
        if timestamp < 0:
            raise StreamsError(f"{self.name} got a record with the negative timestamp {timestamp}.")
        self.emit(self.topic, None, key_bytes, value_bytes, timestamp, record.headers)

    def process_routed(self, record: Record) -> None:
        """As `process`, with a topic or a partition that depends on the record."""
        key, value, topic = record.key, record.value, self.topic
        if self.choose_topic is not None:
            origin = self.task.context
            topic = self.choose_topic(
                key,
                value,
                RecordContext(origin.topic, origin.partition, origin.offset, record.timestamp, record.headers),
            )
            if not isinstance(topic, str) or not topic:
                raise StreamsError(f"The function that names the topic of {self.name} returned {topic!r}.")
            if topic != self.bound_to:
                self.bind(topic)
        try:
            key_bytes = None if key is None else self.serialize_key(key)
            value_bytes = None if value is None else self.serialize_value(value)
        except Exception as error:
            self.on_failure(topic, record, error)
            return
        if record.timestamp < 0:
            raise StreamsError(f"{self.name} got a record with the negative timestamp {record.timestamp}.")
        partition: Any = None
        if self.partitioner is not None:
            partition = self.partitioner(topic, key, value, self.partitions_of(topic))
        self.emit(topic, partition, key_bytes, value_bytes, record.timestamp, record.headers)
