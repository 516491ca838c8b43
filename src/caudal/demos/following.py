"""Reads topics from their beginning and hands each record to a function, in a thread: what pages and checks look at.

It reads committed records only, belongs to no group and commits nothing. Topics may not exist yet: they are asked for
until they do.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

ASK_SECONDS = 0.5
POLL_SECONDS = 0.1
ANSWER_SECONDS = 5.0

# topic, key, value, (partition, offset, timestamp in milliseconds)
Take = Callable[[str, str, Any, tuple[int, int, int]], None]


class Follower:
    """Starts at once; `close` ends it. `wait_caught_up` is for those who want everything that was there. Values are
    JSON, or bytes with `raw`."""

    def __init__(self, config: Mapping[str, Any], topics: Iterable[str], take: Take, *, raw: bool = False) -> None:
        self._config = {
            "log_level": 0,
            **config,
            "group.id": "caudal-demo-reader",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 100,
            "topic.metadata.refresh.interval.ms": 5000,
        }
        self._topics = list(topics)
        self._take = take
        self._read = bytes if raw else json.loads
        self._stop = threading.Event()
        self._caught_up = threading.Event()
        self.error: str | None = None  # what Kafka said last, while it says nothing else
        self._thread = threading.Thread(target=self._run, name="caudal-demo-follower", daemon=True)
        self._thread.start()

    def wait_caught_up(self, seconds: float) -> bool:
        """Whether the end of every topic has been seen."""
        return self._caught_up.wait(seconds)

    def close(self) -> None:
        self._stop.set()
        self._thread.join(5)

    def _run(self) -> None:
        from confluent_kafka import Consumer, KafkaException, TopicPartition

        consumer = Consumer(self._config)
        missing, unread = set(self._topics), set[tuple[str, int]]()
        asked = 0.0
        try:
            while not self._stop.is_set():
                if missing and time.monotonic() - asked > ASK_SECONDS:
                    asked = time.monotonic()
                    try:
                        found = self._partitions(consumer, missing)
                        self.error = None
                    except KafkaException as error:
                        self.error = error.args[0].str()
                        self._stop.wait(ASK_SECONDS)
                        continue
                    if found:
                        missing -= {topic for topic, _ in found}
                        unread |= set(found)
                        here = {
                            (one.topic, one.partition): one.offset for one in consumer.position(consumer.assignment())
                        }
                        consumer.assign(
                            [TopicPartition(*place, max(0, offset)) for place, offset in here.items()]
                            + [TopicPartition(*place, 0) for place in found]
                        )
                for message in consumer.consume(500, POLL_SECONDS):
                    self._handle(message, unread)
                if not missing and not unread:
                    self._caught_up.set()
        finally:
            consumer.close()

    def _partitions(self, consumer: Any, topics: set[str]) -> list[tuple[str, int]]:
        known = consumer.list_topics(timeout=ANSWER_SECONDS).topics
        return [(name, part) for name in topics if name in known for part in known[name].partitions]

    def _handle(self, message: Any, unread: set[tuple[str, int]]) -> None:
        from confluent_kafka import KafkaError

        topic, partition = message.topic(), message.partition()
        if message.error() is not None:
            if message.error().code() == KafkaError._PARTITION_EOF:
                unread.discard((topic, partition))
            else:
                self.error = message.error().str()
            return
        value = message.value()
        place = (partition, message.offset(), message.timestamp()[1])
        self._take(topic, (message.key() or b"").decode(), None if value is None else self._read(value), place)
