"""The log as it is read: a thread that follows `_schemas` from its beginning and hands over what is committed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from caudal.registry.index import Entry

log = logging.getLogger("caudal.registry.reader")

MOST = 1000
POLL_SECONDS = 0.2
ANSWER_SECONDS = 10.0

# The records, and the offset up to which everything has been read (commit markers take offsets too).
Deliver = Callable[[list[Entry], int], None]


class Reader:
    def __init__(self, client: Mapping[str, Any], topic: str, deliver: Deliver) -> None:
        self.trouble: str | None = None
        self._topic = topic
        self._deliver = deliver
        self._stopping = threading.Event()
        settings = {
            "group.id": "unused-no-commits",  # a consumer must have one; this one assigns itself and commits nothing
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            # The end of the log is told after an empty fetch, and a new writer waits for that.
            "fetch.wait.max.ms": 100,
            # Few megabytes are plenty for schemas, and the memory of this process is promised.
            "queued.max.messages.kbytes": 4096,
            "fetch.queue.backoff.ms": 10,
        }
        self._consumer = Consumer({**client, **settings})
        self._admin = AdminClient(dict(client))
        self._thread = threading.Thread(target=self._run, name="registry-reader", daemon=True)

    def start(self) -> None:
        # Not OFFSET_BEGINNING, whose look-up takes half a second. Where 0 is gone, the earliest is meant.
        self._consumer.assign([TopicPartition(self._topic, 0, 0)])
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(ANSWER_SECONDS)

    def end(self) -> int:
        """The offset that the next record would get. Any thread may ask; it blocks.

        A client of its own: on the consumer's connection the question would wait behind a fetch that waits itself.
        """
        place = TopicPartition(self._topic, 0)
        future = self._admin.list_offsets({place: OffsetSpec.latest()}, request_timeout=ANSWER_SECONDS)[place]
        return int(future.result(ANSWER_SECONDS + 1).offset)

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    first = self._consumer.poll(POLL_SECONDS)
                    if first is not None:
                        # One message is waited for; what came with it is there already.
                        self._hand_over([first, *self._consumer.consume(MOST, 0)])
                except KafkaException as error:
                    self._complain(error.args[0])
        finally:
            self._consumer.close()

    def _hand_over(self, messages: list[Any]) -> None:
        entries: list[Entry] = []
        position = -1
        for message in messages:
            error = message.error()
            if error is None:
                entries.append(Entry(message.offset(), message.key(), message.value()))
                position = message.offset() + 1
            elif error.code() == KafkaError._PARTITION_EOF:
                position = message.offset()
                self.trouble = None
            else:
                self._complain(error)
        if position >= 0:
            self._deliver(entries, position)

    def _complain(self, error: KafkaError) -> None:
        reason = error.str()
        if reason != self.trouble:
            log.warning("reading %s: %s", self._topic, reason)
        self.trouble = reason
        self._stopping.wait(0.1)
