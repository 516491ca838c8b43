"""Follows a topic from its end in a thread: the newest messages wait in a bounded buffer until the page takes them.

When messages come faster than a person can look at, the surplus is skipped and counted, never queued.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from caudal.ui.services.decoding import Message, Readings, Schemas, record_of

if TYPE_CHECKING:
    from confluent_kafka import Consumer

BUFFER = 200
# Of one batch (a fifth of a second at least) so many are looked at: reading them all would starve the other pages.
MOST_PER_BATCH = 400
_BATCH_SECONDS = 0.2
_DRAIN = 10_000


class Tail:
    """`ends`: the next offset of every partition to follow."""

    def __init__(
        self,
        make_consumer: Callable[[], Consumer],
        topic: str,
        ends: Mapping[int, int],
        *,
        matches: Callable[[Message], bool] | None,
        schemas: Schemas,
        readings: Readings,
    ) -> None:
        self._make_consumer = make_consumer
        self._topic = topic
        self._ends = dict(ends)
        self._matches = matches
        self._schemas = schemas
        self._readings = readings
        self._lock = threading.Lock()
        self._waiting: deque[Message] = deque()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"tail {topic}", daemon=True)
        self.arrived = 0
        self.skipped = 0
        self.failure = ""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Returns at once; the thread closes its consumer."""
        self._stopped.set()

    def take(self) -> list[Message]:
        """What has come since the last call, oldest first."""
        with self._lock:
            taken = list(self._waiting)
            self._waiting.clear()
        return taken

    def offer(self, batch: list[Any]) -> None:
        """Messages as confluent-kafka gives them."""
        messages = [message for message in batch if message.error() is None]
        self.arrived += len(messages)
        looked_at = messages[-MOST_PER_BATCH:]
        self.skipped += len(messages) - len(looked_at)
        for message in looked_at:
            read = Message(record_of(message), self._schemas, self._readings)
            if self._matches is not None and not self._matches(read):
                continue
            _ = read.key, read.value
            with self._lock:
                self._waiting.append(read)
                if len(self._waiting) > BUFFER:
                    self._waiting.popleft()
                    self.skipped += 1

    def _run(self) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        try:
            consumer = self._make_consumer()
        except KafkaException as error:
            self.failure = str(error)
            return
        try:
            consumer.assign([TopicPartition(self._topic, one, end) for one, end in self._ends.items()])
            while not self._stopped.is_set():
                first = consumer.poll(_BATCH_SECONDS)
                if first is None:
                    continue
                # Let a batch gather: one message at a time would wake the page for each.
                self._stopped.wait(_BATCH_SECONDS)
                self.offer([first, *consumer.consume(_DRAIN, 0)])
        except KafkaException as error:
            self.failure = str(error)
        finally:
            consumer.close()
