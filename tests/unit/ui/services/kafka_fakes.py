"""Partitions in memory behind the few methods of a confluent-kafka consumer that a scan and a tail use."""

from __future__ import annotations

from collections import deque

from confluent_kafka import KafkaError, TopicPartition


class FakeMessage:
    def __init__(
        self,
        partition: int,
        offset: int,
        timestamp: int = 0,
        key: bytes | None = None,
        value: bytes | None = b"",
        error: KafkaError | None = None,
    ) -> None:
        self._partition, self._offset, self._timestamp = partition, offset, timestamp
        self._key, self._value, self._error = key, value, error

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset

    def timestamp(self) -> tuple[int, int]:
        return 1, self._timestamp

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> list[tuple[str, bytes]]:
        return []

    def error(self) -> KafkaError | None:
        return self._error


class FakeConsumer:
    """`logs`: the messages of each partition, which may have gaps; handed out `burst` at a time of each in turn."""

    def __init__(self, logs: dict[int, list[FakeMessage]], burst: int = 7) -> None:
        self._logs = logs
        self._burst = burst
        self._queues: dict[int, deque[FakeMessage]] = {}
        self._paused: set[int] = set()  # which stays over assignments, as librdkafka does it
        self.assigned = 0
        self.handed_out = 0

    def assign(self, places: list[TopicPartition]) -> None:
        self.assigned += 1
        self._queues = {}
        for place in places:
            rest = [one for one in self._logs[place.partition] if one.offset() >= place.offset]
            end = FakeMessage(place.partition, -1, error=KafkaError(KafkaError._PARTITION_EOF))
            self._queues[place.partition] = deque([*rest, end])

    def unassign(self) -> None:
        self._queues = {}

    def pause(self, places: list[TopicPartition]) -> None:
        self._paused.update(place.partition for place in places)

    def resume(self, places: list[TopicPartition]) -> None:
        self._paused.difference_update(place.partition for place in places)

    def _ready(self) -> list[deque[FakeMessage]]:
        return [queue for partition, queue in self._queues.items() if queue and partition not in self._paused]

    def poll(self, timeout: float) -> FakeMessage | None:
        for queue in self._ready():
            self.handed_out += 1
            return queue.popleft()
        return None

    def consume(self, count: int, timeout: float) -> list[FakeMessage]:
        taken: list[FakeMessage] = []
        for queue in self._ready():
            taken += [queue.popleft() for _ in range(min(self._burst, len(queue)))]
        self.handed_out += len(taken)
        return taken

    def close(self) -> None:
        self.unassign()
