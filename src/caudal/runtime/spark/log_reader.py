"""Small questions to the log that a worker's tasks share one client for."""

from __future__ import annotations

import threading
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from caudal.runtime.spark.settings import Settings

CALL_SECONDS = 15.0


class LogReader:
    """One consumer, made when it is first needed; any thread may ask."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._consumer: Any = None

    def _client(self) -> Any:
        if self._consumer is None:
            self._consumer = Consumer(
                self._settings.librdkafka(
                    **{
                        "group.id": "caudal-streams-reader",  # never joined
                        "isolation.level": self._settings.isolation_level,
                        "enable.auto.commit": False,
                        "enable.partition.eof": True,
                        "auto.offset.reset": "error",
                        "fetch.wait.max.ms": 5,
                        "max.partition.fetch.bytes": 16 << 10,
                        "queued.min.messages": 1,
                    }
                )
            )
        return self._consumer

    def is_empty_between(self, topic: str, partition: int, first: int, end: int) -> bool:
        """Whether there is no record to be seen from offset `first` up to `end`: only markers and aborted records."""
        with self._lock:
            client = self._client()
            client.assign([TopicPartition(topic, partition, first)])
            try:
                deadline = time.monotonic() + CALL_SECONDS
                while time.monotonic() < deadline:
                    message = client.poll(0.5)
                    if message is None:
                        continue
                    error = message.error()
                    if error is None or error.code() == KafkaError._PARTITION_EOF:
                        return bool(message.offset() >= end)
                    raise KafkaException(error)
            finally:
                client.unassign()
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"no answer from topic '{topic}'"))

    def end_of(self, topic: str, partition: int) -> int:
        with self._lock:
            place = TopicPartition(topic, partition)
            _, high = self._client().get_watermark_offsets(place, CALL_SECONDS, cached=False)
        return int(high)

    def close(self) -> None:
        with self._lock:
            if self._consumer is not None:
                self._consumer.close()
                self._consumer = None
