"""Apache Kafka's own Java client, spoken to through tests/java/Harness.java: one JVM for the whole session."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.conformance import jvm

from . import Admin, Client, Consumer, Message, Outgoing, Producer, Refused, TopicPartition, spelled


class Harness:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            jvm.command("Harness"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, operation: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"op": operation, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the Java harness ended during {operation!r}"
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"], answer["message"])
        return answer["result"]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()


class Handle:
    """A producer, consumer or admin that lives in the harness under a number."""

    def __init__(self, harness: Harness, kind: str, config: Mapping[str, str]) -> None:
        self._harness = harness
        self.number: int = harness.ask(f"new {kind}", config=dict(config))

    def ask(self, operation: str, **arguments: Any) -> Any:
        return self._harness.ask(operation, on=self.number, **arguments)

    def close(self) -> None:
        self.ask("close")


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


class JavaProducer(Handle, Producer):
    def send(self, records: Iterable[Outgoing]) -> list[tuple[int, int]]:
        items = [
            {
                "topic": record.topic,
                "partition": record.partition,
                "timestamp": record.timestamp,
                "key": _text(record.key),
                "value": _text(record.value),
                "headers": [[key, _text(value)] for key, value in record.headers],
            }
            for record in records
        ]
        return [(partition, offset) for partition, offset in self.ask("send", records=items)]

    def begin(self) -> None:
        self.ask("begin")

    def commit(self) -> None:
        self.ask("commit")

    def abort(self) -> None:
        self.ask("abort")

    def send_offsets(self, offsets: Mapping[TopicPartition, int], consumer: Consumer) -> None:
        assert isinstance(consumer, JavaConsumer)
        items = [[topic, partition, offset] for (topic, partition), offset in offsets.items()]
        self.ask("send offsets", offsets=items, consumer=consumer.number)


class JavaConsumer(Handle, Consumer):
    def subscribe(self, topics: Sequence[str]) -> None:
        self.ask("subscribe", topics=list(topics))

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        self.ask("assign", partitions=list(partitions))

    def poll(self, seconds: float) -> list[Message]:
        return [
            Message(
                item["topic"],
                item["partition"],
                item["offset"],
                item["timestamp"],
                _bytes(item["key"]),
                _bytes(item["value"]),
                tuple((key, _bytes(value)) for key, value in item["headers"]),
            )
            for item in self.ask("poll", ms=int(seconds * 1000))
        ]

    def assignment(self) -> set[TopicPartition]:
        return {(topic, partition) for topic, partition in self.ask("assignment")}

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.ask("seek", partition=partition, offset=offset)

    def offset_for_time(self, partition: TopicPartition, timestamp: int) -> int | None:
        found: int | None = self.ask("offset for time", partition=partition, timestamp=timestamp)
        return found

    def bounds(self, partition: TopicPartition) -> tuple[int, int]:
        first, following = self.ask("bounds", partition=partition)
        return first, following

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.ask("commit", offsets=[[topic, partition, offset] for (topic, partition), offset in offsets.items()])

    def committed(self, partition: TopicPartition) -> int | None:
        found: int | None = self.ask("committed", partition=partition)
        return found


class JavaAdmin(Handle, Admin):
    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        self.ask("create topic", name=name, partitions=partitions, configs=dict(configs or {}))

    def delete_topic(self, name: str) -> None:
        self.ask("delete topic", name=name)

    def add_partitions(self, name: str, total: int) -> None:
        self.ask("add partitions", name=name, total=total)

    def topics(self) -> dict[str, int]:
        return dict(self.ask("topics"))

    def topic_configs(self, name: str) -> dict[str, str | None]:
        return dict(self.ask("topic configs", name=name))

    def set_topic_config(self, name: str, key: str, value: str) -> None:
        self.ask("set topic config", name=name, key=key, value=value)

    def delete_records(self, partition: TopicPartition, before: int) -> None:
        self.ask("delete records", partition=partition, before=before)

    def groups(self) -> set[str]:
        return set(self.ask("groups"))

    def group(self, name: str) -> tuple[str, int]:
        state, members = self.ask("group", name=name)
        return spelled(state), members


class Java(Client):
    name = "java"

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self._harness = Harness()

    def producer(
        self,
        *,
        codec: str = "none",
        acks: str = "all",
        transactional_id: str | None = None,
        transaction_seconds: float = 60,
    ) -> Producer:
        config = {"bootstrap.servers": self.bootstrap, "compression.type": codec, "acks": acks, "linger.ms": "5"}
        config |= {"delivery.timeout.ms": "15000", "request.timeout.ms": "10000", "max.block.ms": "20000"}
        config["enable.idempotence"] = "true" if acks == "all" else "false"
        if transactional_id:
            config |= {
                "transactional.id": transactional_id,
                "transaction.timeout.ms": str(int(transaction_seconds * 1000)),
            }
        return JavaProducer(self._harness, "producer", config)

    def consumer(
        self,
        group: str | None = None,
        *,
        committed_only: bool = False,
        start: str = "earliest",
        cooperative: bool = False,
        instance_id: str | None = None,
    ) -> Consumer:
        config = {
            "bootstrap.servers": self.bootstrap,
            "auto.offset.reset": start,
            "enable.auto.commit": "false",
            "isolation.level": "read_committed" if committed_only else "read_uncommitted",
            "metadata.max.age.ms": "1000",
        }
        if group:
            config |= {"group.id": group, "session.timeout.ms": "6000", "heartbeat.interval.ms": "500"}
        if cooperative:
            config["partition.assignment.strategy"] = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
        if instance_id:
            config["group.instance.id"] = instance_id
        return JavaConsumer(self._harness, "consumer", config)

    def admin(self) -> Admin:
        return JavaAdmin(self._harness, "admin", {"bootstrap.servers": self.bootstrap})

    def close(self) -> None:
        self._harness.close()
