"""kafka-python: the protocol written anew in Python, with its own ideas of versions and retries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import kafka
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.structs import OffsetAndMetadata

from . import Admin, Client, Consumer, Message, Outgoing, Producer, Refused, TopicPartition, spelled

TIMEOUT = 20


def _refused(error: Any) -> Refused:
    return Refused(getattr(error, "errno", -1), str(error))


class KafkaPythonProducer(Producer):
    def __init__(self, config: Mapping[str, Any]) -> None:
        self._producer = kafka.KafkaProducer(**config)
        if "transactional_id" in config:
            self._call("init_transactions")

    def _call(self, name: str, *arguments: object) -> None:
        try:
            getattr(self._producer, name)(*arguments)
        except kafka_errors.KafkaError as error:
            raise _refused(error) from error

    def send(self, records: Iterable[Outgoing]) -> list[tuple[int, int]]:
        try:
            futures = [
                self._producer.send(
                    record.topic,
                    value=record.value,
                    key=record.key,
                    headers=list(record.headers),
                    partition=record.partition,
                    timestamp_ms=record.timestamp,
                )
                for record in records
            ]
            self._producer.flush(TIMEOUT)
            sent = [future.get(TIMEOUT) for future in futures]
        except kafka_errors.KafkaError as error:
            raise _refused(error) from error
        return [(metadata.partition, metadata.offset) for metadata in sent]

    def begin(self) -> None:
        self._call("begin_transaction")

    def commit(self) -> None:
        self._call("commit_transaction")

    def abort(self) -> None:
        self._call("abort_transaction")

    def send_offsets(self, offsets: Mapping[TopicPartition, int], consumer: Consumer) -> None:
        assert isinstance(consumer, KafkaPythonConsumer)
        positions = {
            kafka.TopicPartition(*partition): OffsetAndMetadata(offset, "", -1) for partition, offset in offsets.items()
        }
        self._call("send_offsets_to_transaction", positions, consumer.consumer.group_metadata())

    def close(self) -> None:
        self._producer.close(timeout=2)


class KafkaPythonConsumer(Consumer):
    def __init__(self, config: Mapping[str, Any]) -> None:
        self.consumer = kafka.KafkaConsumer(**config)

    def subscribe(self, topics: Sequence[str]) -> None:
        self.consumer.subscribe(list(topics))

    def nudge(self) -> None:
        # kafka-python 3.0 drops the answer of SyncGroup when the time of a poll is over just then, and believes itself
        # assigned; it also assigns nothing when it joins before it knows a topic. Both were seen on Apache
        # Kafka 4.3 as often as here; subscribing anew ends both.
        topics = self.consumer.subscription()
        self.consumer.unsubscribe()
        self.consumer.subscribe(list(topics))

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        self.consumer.assign([kafka.TopicPartition(*partition) for partition in partitions])

    def poll(self, seconds: float) -> list[Message]:
        polled = self.consumer.poll(timeout_ms=int(seconds * 1000))
        return [
            Message(
                record.topic,
                record.partition,
                record.offset,
                record.timestamp,
                record.key,
                record.value,
                tuple((key, value) for key, value in record.headers),
            )
            for records in polled.values()
            for record in records
        ]

    def assignment(self) -> set[TopicPartition]:
        return {(partition.topic, partition.partition) for partition in self.consumer.assignment()}

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.consumer.seek(kafka.TopicPartition(*partition), offset)

    def offset_for_time(self, partition: TopicPartition, timestamp: int) -> int | None:
        key = kafka.TopicPartition(*partition)
        found = self.consumer.offsets_for_times({key: timestamp})[key]
        return None if found is None else int(found.offset)

    def bounds(self, partition: TopicPartition) -> tuple[int, int]:
        key = kafka.TopicPartition(*partition)
        return self.consumer.beginning_offsets([key])[key], self.consumer.end_offsets([key])[key]

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        positions = {
            kafka.TopicPartition(*partition): OffsetAndMetadata(offset, "", -1) for partition, offset in offsets.items()
        }
        try:
            self.consumer.commit(positions, timeout_ms=TIMEOUT * 1000)
        except kafka_errors.KafkaError as error:
            raise _refused(error) from error

    def committed(self, partition: TopicPartition) -> int | None:
        found = self.consumer.committed(kafka.TopicPartition(*partition))
        return None if found is None else int(found)

    def close(self) -> None:
        self.consumer.close(autocommit=False, timeout_ms=3000)


class KafkaPythonAdmin(Admin):
    def __init__(self, bootstrap: str) -> None:
        self._admin = kafka.KafkaAdminClient(bootstrap_servers=bootstrap)

    def _call(self, name: str, *arguments: Any, **named: Any) -> Any:
        try:
            return getattr(self._admin, name)(*arguments, **named)
        except kafka_errors.KafkaError as error:
            raise _refused(error) from error

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        wanted = {"num_partitions": partitions, "replication_factor": 1, "configs": dict(configs or {})}
        self._call("create_topics", {name: wanted})

    def delete_topic(self, name: str) -> None:
        self._call("delete_topics", [name])

    def add_partitions(self, name: str, total: int) -> None:
        self._call("create_partitions", {name: total})

    def topics(self) -> dict[str, int]:
        return {topic["name"]: len(topic["partitions"]) for topic in self._call("describe_topics")}

    def topic_configs(self, name: str) -> dict[str, str | None]:
        resource = ConfigResource(ConfigResourceType.TOPIC, name)
        described = self._call("describe_configs", [resource], config_filter="all")["topic"][name]
        return {key: entry["value"] for key, entry in described.items()}

    def set_topic_config(self, name: str, key: str, value: str) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, name, configs={key: value})
        # the client's own check of the name is off: the broker is to judge
        result = self._call("alter_configs", [resource], raise_on_unknown=False)["topic"][name]
        if result != "OK":
            number = re.search(r"\[Error (\d+)\]", result)
            raise Refused(int(number[1]) if number else -1, result)

    def delete_records(self, partition: TopicPartition, before: int) -> None:
        self._call("delete_records", {kafka.TopicPartition(*partition): before})

    def groups(self) -> set[str]:
        return {group["group_id"] for group in self._call("list_groups")}

    def group(self, name: str) -> tuple[str, int]:
        described = self._call("describe_groups", [name])[name]
        return spelled(described["group_state"]), len(described["members"])

    def close(self) -> None:
        self._admin.close()


class KafkaPython(Client):
    name = "kafka-python"

    def producer(
        self,
        *,
        codec: str = "none",
        acks: str = "all",
        transactional_id: str | None = None,
        transaction_seconds: float = 60,
    ) -> Producer:
        config: dict[str, Any] = {
            "bootstrap_servers": self.bootstrap,
            "compression_type": None if codec == "none" else codec,
            "acks": acks if acks == "all" else int(acks),
            "enable_idempotence": acks == "all",
            "linger_ms": 5,
        }
        if transactional_id:
            config |= {"transactional_id": transactional_id, "transaction_timeout_ms": int(transaction_seconds * 1000)}
        return KafkaPythonProducer(config)

    def consumer(
        self,
        group: str | None = None,
        *,
        committed_only: bool = False,
        start: str = "earliest",
        cooperative: bool = False,
        instance_id: str | None = None,
    ) -> Consumer:
        config: dict[str, Any] = {
            "bootstrap_servers": self.bootstrap,
            "group_id": group,
            "auto_offset_reset": start,
            "enable_auto_commit": False,
            "isolation_level": "read_committed" if committed_only else "read_uncommitted",
            "session_timeout_ms": 6000,
            "heartbeat_interval_ms": 500,
            "metadata_max_age_ms": 1000,
            "group_instance_id": instance_id,
        }
        if cooperative:
            config["partition_assignment_strategy"] = (CooperativeStickyAssignor,)
        return KafkaPythonConsumer(config)

    def admin(self) -> Admin:
        return KafkaPythonAdmin(self.bootstrap)
