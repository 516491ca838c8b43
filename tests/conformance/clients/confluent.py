"""confluent-kafka, that is librdkafka: the client of most languages that are not Java."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import confluent_kafka as ck
from confluent_kafka import admin as ck_admin

from . import Admin, Client, Consumer, Headers, Message, Outgoing, Producer, Refused, TopicPartition, spelled

TIMEOUT = 20
NO_GROUP = "no-group"


def _refused(error: ck.KafkaException | ck.KafkaError) -> Refused:
    cause = error.args[0] if isinstance(error, ck.KafkaException) else error
    return Refused(cause.code(), cause.str())


class ConfluentProducer(Producer):
    def __init__(self, config: Mapping[str, Any]) -> None:
        self._producer = ck.Producer(dict(config))
        if "transactional.id" in config:
            try:
                self._producer.init_transactions(TIMEOUT)
            except ck.KafkaException as error:
                raise _refused(error) from error

    def send(self, records: Iterable[Outgoing]) -> list[tuple[int, int]]:
        reports: list[tuple[ck.KafkaError | None, ck.Message]] = []
        for record in records:
            extra: dict[str, Any] = {}
            if record.timestamp is not None:
                extra["timestamp"] = record.timestamp
            if record.partition is not None:
                extra["partition"] = record.partition
            try:
                self._producer.produce(
                    record.topic,
                    record.value,
                    record.key,
                    headers=list(record.headers),
                    on_delivery=lambda error, message: reports.append((error, message)),
                    **extra,
                )
            except ck.KafkaException as error:
                raise _refused(error) from error
        left = self._producer.flush(TIMEOUT)
        assert left == 0, f"{left} records were not acknowledged"
        for refusal, _ in reports:
            if refusal is not None:
                raise _refused(refusal)
        return [(message.partition(), message.offset()) for _, message in reports]

    def _call(self, name: str, *arguments: object) -> None:
        try:
            getattr(self._producer, name)(*arguments)
        except ck.KafkaException as error:
            raise _refused(error) from error

    def begin(self) -> None:
        self._call("begin_transaction")

    def commit(self) -> None:
        self._call("commit_transaction", TIMEOUT)

    def abort(self) -> None:
        self._call("abort_transaction", TIMEOUT)

    def send_offsets(self, offsets: Mapping[TopicPartition, int], consumer: Consumer) -> None:
        assert isinstance(consumer, ConfluentConsumer)
        positions = [ck.TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
        self._call("send_offsets_to_transaction", positions, consumer.consumer.consumer_group_metadata(), TIMEOUT)

    def close(self) -> None:
        try:
            self._producer.flush(1)
        except ck.KafkaException:
            pass  # a fenced producer says so once more


class ConfluentConsumer(Consumer):
    def __init__(self, config: Mapping[str, Any]) -> None:
        self.consumer = ck.Consumer(dict(config))
        # librdkafka insists on a group; one that only assigns must not look up commits in it
        self._start = ck.OFFSET_INVALID
        if config["group.id"] == NO_GROUP:
            self._start = ck.OFFSET_END if config["auto.offset.reset"] == "latest" else ck.OFFSET_BEGINNING

    def subscribe(self, topics: Sequence[str]) -> None:
        self.consumer.subscribe(list(topics))

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        self.consumer.assign([ck.TopicPartition(topic, partition, self._start) for topic, partition in partitions])

    def poll(self, seconds: float) -> list[Message]:
        messages: list[Message] = []
        first = self.consumer.poll(seconds)
        batch = [] if first is None else [first, *self.consumer.consume(1000, 0)]
        for message in batch:
            if message.error():
                if message.error().fatal():
                    raise _refused(message.error())
                continue  # librdkafka goes on by itself after every error that is not fatal
            headers: Headers = tuple((key, value) for key, value in message.headers() or ())
            messages.append(
                Message(
                    message.topic(),
                    message.partition(),
                    message.offset(),
                    message.timestamp()[1],
                    message.key(),
                    message.value(),
                    headers,
                )
            )
        return messages

    def assignment(self) -> set[TopicPartition]:
        return {(position.topic, position.partition) for position in self.consumer.assignment()}

    def seek(self, partition: TopicPartition, offset: int) -> None:
        # librdkafka can seek only what it already fetches, so a fresh assignment carries the offset instead
        self.consumer.assign([ck.TopicPartition(*partition, offset)])

    def offset_for_time(self, partition: TopicPartition, timestamp: int) -> int | None:
        found = self.consumer.offsets_for_times([ck.TopicPartition(*partition, timestamp)], TIMEOUT)[0]
        return None if found.offset < 0 else int(found.offset)

    def bounds(self, partition: TopicPartition) -> tuple[int, int]:
        low, high = self.consumer.get_watermark_offsets(ck.TopicPartition(*partition), TIMEOUT)
        return low, high

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        positions = [ck.TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
        try:
            self.consumer.commit(offsets=positions, asynchronous=False)
        except ck.KafkaException as error:
            raise _refused(error) from error

    def committed(self, partition: TopicPartition) -> int | None:
        found = self.consumer.committed([ck.TopicPartition(*partition)], TIMEOUT)[0]
        return None if found.offset < 0 else int(found.offset)

    def close(self) -> None:
        self.consumer.close()


class ConfluentAdmin(Admin):
    def __init__(self, bootstrap: str) -> None:
        self._admin = ck_admin.AdminClient({"bootstrap.servers": bootstrap})

    def _wait(self, futures: Mapping[Any, Any]) -> Any:
        try:
            return next(future.result(TIMEOUT) for future in futures.values())
        except ck.KafkaException as error:
            raise _refused(error) from error

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        self._wait(self._admin.create_topics([ck_admin.NewTopic(name, partitions, 1, config=dict(configs or {}))]))

    def delete_topic(self, name: str) -> None:
        self._wait(self._admin.delete_topics([name]))

    def add_partitions(self, name: str, total: int) -> None:
        self._wait(self._admin.create_partitions([ck_admin.NewPartitions(name, total)]))

    def topics(self) -> dict[str, int]:
        return {name: len(topic.partitions) for name, topic in self._admin.list_topics(timeout=TIMEOUT).topics.items()}

    def topic_configs(self, name: str) -> dict[str, str | None]:
        resource = ck_admin.ConfigResource(ck_admin.ConfigResource.Type.TOPIC, name)
        return {key: entry.value for key, entry in self._wait(self._admin.describe_configs([resource])).items()}

    def set_topic_config(self, name: str, key: str, value: str) -> None:
        entry = ck_admin.ConfigEntry(key, value, incremental_operation=ck_admin.AlterConfigOpType.SET)
        resource = ck_admin.ConfigResource(ck_admin.ConfigResource.Type.TOPIC, name, incremental_configs=[entry])
        self._wait(self._admin.incremental_alter_configs([resource]))

    def delete_records(self, partition: TopicPartition, before: int) -> None:
        self._wait(self._admin.delete_records([ck.TopicPartition(*partition, before)]))

    def groups(self) -> set[str]:
        return {group.group_id for group in self._admin.list_consumer_groups().result(TIMEOUT).valid}

    def group(self, name: str) -> tuple[str, int]:
        described = self._wait(self._admin.describe_consumer_groups([name]))
        return spelled(described.state), len(described.members)

    def close(self) -> None:
        pass


class Confluent(Client):
    name = "confluent-kafka"

    def producer(
        self,
        *,
        codec: str = "none",
        acks: str = "all",
        transactional_id: str | None = None,
        transaction_seconds: float = 60,
    ) -> Producer:
        config: dict[str, Any] = {
            "bootstrap.servers": self.bootstrap,
            "compression.type": codec,
            "acks": acks,
            "linger.ms": 5,
        }
        config["delivery.timeout.ms"] = 15000
        if transactional_id:
            config["transactional.id"] = transactional_id
            config["transaction.timeout.ms"] = int(transaction_seconds * 1000)
            config["delivery.timeout.ms"] = min(15000, int(transaction_seconds * 1000))
        return ConfluentProducer(config)

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
            "bootstrap.servers": self.bootstrap,
            "group.id": group or NO_GROUP,
            "auto.offset.reset": start,
            "enable.auto.commit": False,
            "isolation.level": "read_committed" if committed_only else "read_uncommitted",
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 500,
            "topic.metadata.refresh.interval.ms": 1000,
        }
        if cooperative:
            config["partition.assignment.strategy"] = "cooperative-sticky"
        if instance_id:
            config["group.instance.id"] = instance_id
        return ConfluentConsumer(config)

    def admin(self) -> Admin:
        return ConfluentAdmin(self.bootstrap)
