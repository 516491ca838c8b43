"""aiokafka: asyncio, driven here from a thread of its own because the suite is synchronous."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import aiokafka
from aiokafka import errors as kafka_errors
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from . import Admin, Client, Consumer, Message, Outgoing, Producer, Refused, TopicPartition, spelled

TIMEOUT = 30
Result = TypeVar("Result")


class Loop:
    """An event loop in a thread; ``run`` waits for a coroutine and turns the client's errors into Refused."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(TIMEOUT)
        except kafka_errors.KafkaError as error:
            raise Refused(getattr(error, "errno", -1), str(error)) from error

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(60)
        self.loop.close()


async def _made(make: Any, **config: Any) -> Any:
    """The client's objects must be made inside their loop."""
    made = make(**config)
    await made.start()
    return made


class AiokafkaProducer(Producer):
    def __init__(self, loop: Loop, config: Mapping[str, Any]) -> None:
        self._loop = loop
        self._producer = loop.run(_made(aiokafka.AIOKafkaProducer, **config))

    def send(self, records: Iterable[Outgoing]) -> list[tuple[int, int]]:
        async def send_all() -> list[Any]:
            futures = [
                await self._producer.send(
                    record.topic,
                    record.value,
                    record.key,
                    record.partition,
                    record.timestamp,
                    list(record.headers),
                )
                for record in records
            ]
            return [await future for future in futures]

        # without acknowledgements there is no metadata
        return [(sent.partition, sent.offset) if sent else (-1, -1) for sent in self._loop.run(send_all())]

    def begin(self) -> None:
        self._loop.run(self._producer.begin_transaction())

    def commit(self) -> None:
        self._loop.run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._loop.run(self._producer.abort_transaction())

    def send_offsets(self, offsets: Mapping[TopicPartition, int], consumer: Consumer) -> None:
        assert isinstance(consumer, AiokafkaConsumer)
        positions = {aiokafka.TopicPartition(*partition): offset for partition, offset in offsets.items()}
        self._loop.run(self._producer.send_offsets_to_transaction(positions, consumer.group))

    def close(self) -> None:
        try:
            self._loop.run(self._producer.stop())
        except Refused:
            pass  # a fenced producer says so once more while it stops


class AiokafkaConsumer(Consumer):
    def __init__(self, loop: Loop, config: Mapping[str, Any]) -> None:
        self._loop = loop
        self.group = config["group_id"]
        self.consumer = loop.run(_made(aiokafka.AIOKafkaConsumer, **config))

    async def _now(self, name: str, *arguments: Any) -> Any:
        return getattr(self.consumer, name)(*arguments)

    def subscribe(self, topics: Sequence[str]) -> None:
        self._loop.run(self._now("subscribe", list(topics)))

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        self._loop.run(self._now("assign", [aiokafka.TopicPartition(*partition) for partition in partitions]))

    def poll(self, seconds: float) -> list[Message]:
        polled = self._loop.run(self.consumer.getmany(timeout_ms=int(seconds * 1000)))
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
        self._loop.run(self._now("seek", aiokafka.TopicPartition(*partition), offset))

    def offset_for_time(self, partition: TopicPartition, timestamp: int) -> int | None:
        key = aiokafka.TopicPartition(*partition)
        found = self._loop.run(self.consumer.offsets_for_times({key: timestamp}))[key]
        return None if found is None else int(found.offset)

    def bounds(self, partition: TopicPartition) -> tuple[int, int]:
        key = aiokafka.TopicPartition(*partition)
        first = self._loop.run(self.consumer.beginning_offsets([key]))[key]
        return first, self._loop.run(self.consumer.end_offsets([key]))[key]

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        positions = {aiokafka.TopicPartition(*partition): offset for partition, offset in offsets.items()}
        self._loop.run(self.consumer.commit(positions))

    def committed(self, partition: TopicPartition) -> int | None:
        found = self._loop.run(self.consumer.committed(aiokafka.TopicPartition(*partition)))
        return None if found is None else int(found)

    def close(self) -> None:
        self._loop.run(self.consumer.stop())


class AiokafkaAdmin(Admin):
    def __init__(self, loop: Loop, bootstrap: str) -> None:
        self._loop = loop
        self._admin = loop.run(_made(AIOKafkaAdminClient, bootstrap_servers=bootstrap))

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        topic = NewTopic(name, partitions, 1, topic_configs=dict(configs or {}))
        response = self._loop.run(self._admin.create_topics([topic]))
        self._raise_first(response.topic_errors)

    def delete_topic(self, name: str) -> None:
        self._raise_first(self._loop.run(self._admin.delete_topics([name])).topic_error_codes)

    @staticmethod
    def _raise_first(errors: Iterable[Sequence[Any]]) -> None:
        for _, code, *message in errors:
            if code:
                raise Refused(code, str(message))

    def add_partitions(self, name: str, total: int) -> None:
        self._loop.run(self._admin.create_partitions({name: NewPartitions(total)}))

    def topics(self) -> dict[str, int]:
        return {topic["topic"]: len(topic["partitions"]) for topic in self._loop.run(self._admin.describe_topics())}

    def topic_configs(self, name: str) -> dict[str, str | None]:
        resource = ConfigResource(ConfigResourceType.TOPIC, name)
        resources = self._loop.run(self._admin.describe_configs([resource]))[0].resources
        for code, message, _, _, entries in resources:
            if code:
                raise Refused(code, str(message))
            return {entry[0]: entry[1] for entry in entries}
        raise AssertionError("no resource came back")

    def set_topic_config(self, name: str, key: str, value: str) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, name, configs={key: value})
        for code, message, *_ in self._loop.run(self._admin.alter_configs([resource]))[0].resources:
            if code:
                raise Refused(code, str(message))

    def delete_records(self, partition: TopicPartition, before: int) -> None:
        self._loop.run(self._admin.delete_records({aiokafka.TopicPartition(*partition): RecordsToDelete(before)}))

    def groups(self) -> set[str]:
        return {group[0] for group in self._loop.run(self._admin.list_consumer_groups())}

    def group(self, name: str) -> tuple[str, int]:
        described = self._loop.run(self._admin.describe_consumer_groups([name]))[0].groups[0]
        _, _, state, _, _, members, *_ = described
        return spelled(state), len(members)

    def close(self) -> None:
        self._loop.run(self._admin.close())


class Aiokafka(Client):
    name = "aiokafka"

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self._loop = Loop()

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
        return AiokafkaProducer(self._loop, config)

    def consumer(
        self,
        group: str | None = None,
        *,
        committed_only: bool = False,
        start: str = "earliest",
        cooperative: bool = False,
        instance_id: str | None = None,
    ) -> Consumer:
        assert not cooperative, "aiokafka has no cooperative assignor"
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
        return AiokafkaConsumer(self._loop, config)

    def admin(self) -> Admin:
        return AiokafkaAdmin(self._loop, self.bootstrap)

    def close(self) -> None:
        self._loop.close()
