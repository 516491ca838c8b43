"""Work on a cluster that is about to be lost: producers and groups that know what was acknowledged to them.

Records carry their number within their partition, so that a reader of the copy can say which ones it missed or read
twice, whatever the offsets are there.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

PATIENCE = 120.0
SLICE_SECONDS = 2.0
PAUSE_SECONDS = 0.05  # between batches: a load, and not all that the machine can do
QUIET = {"log_level": 0}  # the cluster goes away: that is the test
Place = tuple[str, int]


class Feeder(threading.Thread):
    """Writes numbered records to all partitions of a topic until its cluster is gone or it is told to stop.

    With `transactional`, every fourth transaction is aborted; its records count for nobody.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int, *, transactional: bool = False) -> None:
        super().__init__(name=f"feeder-{topic}", daemon=True)
        properties: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 5,
            **QUIET,
        }
        if transactional:
            properties["transactional.id"] = f"feeder-{topic}"
        self._producer = Producer(properties)
        self._topic, self._partitions, self._transactional = topic, partitions, transactional
        self._stopping, self._lost = threading.Event(), threading.Event()
        self.written = [0] * partitions  # numbers given out and, with transactions, committed
        self.acknowledged = [0] * partitions

    def run(self) -> None:
        try:
            if self._transactional:
                self._producer.init_transactions(PATIENCE)
            rounds = 0
            while not self._stopping.is_set():
                rounds += 1
                self._transaction(rounds) if self._transactional else self._batch(rounds)
                time.sleep(PAUSE_SECONDS)
            self._flush()
        except KafkaException:
            pass  # its cluster is gone
        finally:
            self._producer.purge()

    def _batch(self, rounds: int) -> None:
        for partition in range(self._partitions):
            for _ in range(1 + (rounds + partition) % 5):
                self._write(partition, self.written[partition])
                self.written[partition] += 1
        self._producer.poll(0)

    def _transaction(self, rounds: int) -> None:
        self._producer.begin_transaction()
        counts = [(rounds + partition) % 4 for partition in range(self._partitions)]
        aborted = rounds % 4 == 0
        for partition, count in enumerate(counts):
            for at in range(count):
                self._write(partition, -1 if aborted else self.written[partition] + at)
        self._flush()
        self._until_done(self._producer.abort_transaction if aborted else self._producer.commit_transaction)
        if not aborted:
            for partition, count in enumerate(counts):
                self.written[partition] += count
                self.acknowledged[partition] += count

    def _write(self, partition: int, number: int) -> None:
        self._producer.produce(
            self._topic, b"%d" % number, b"k%d" % (number % 50), partition, on_delivery=self._on_delivery
        )

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is None and not self._transactional:
            self.acknowledged[message.partition()] += 1

    def _flush(self) -> None:
        while self._producer.flush(SLICE_SECONDS):
            if self._lost.is_set():
                raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    def _until_done(self, request: Callable[[float], Any]) -> None:
        while True:
            try:
                request(SLICE_SECONDS)
                return
            except KafkaException as error:
                if self._lost.is_set() or not error.args[0].retriable():
                    raise

    def stop(self, lost: bool = False) -> None:
        """What is written is waited for, unless its cluster is gone."""
        if lost:
            self._lost.set()
        self._stopping.set()
        self.join(PATIENCE)
        assert not self.is_alive()


class Member(threading.Thread):
    """A member of a group that commits in the middle of what it was given, and then the rest.

    `next` says, by partition, which number it would read next by its last commit that was acknowledged; `history` all
    of them with their times.
    """

    def __init__(self, bootstrap: str, group: str, topics: list[str], most: int | None = None) -> None:
        super().__init__(name=f"member-{group}", daemon=True)
        self.group, self._topics, self._most, self._address = group, topics, most, bootstrap
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                **QUIET,
            }
        )
        self._stopping = threading.Event()
        self.next: dict[Place, int] = {}
        self.history: dict[Place, list[tuple[float, int]]] = defaultdict(list)
        self.read = 0
        self.first: dict[Place, int] = {}  # the first number that it was given of a partition

    def run(self) -> None:
        self._consumer.subscribe(self._topics)
        try:
            while not self._stopping.is_set() and (self._most is None or self.read < self._most):
                self._step(self._consumer.consume(200, 0.1))
        except KafkaException:
            pass  # its cluster is gone
        finally:
            self._consumer.close()

    def _step(self, messages: list[Any]) -> None:
        found = [message for message in messages if message.error() is None]
        if not found:
            return
        for message in found:
            self.first.setdefault((message.topic(), message.partition()), int(message.value()))
        half = found[: len(found) // 2 + 1]  # the rest is read, too, but not yet done with
        for done in (half, found):
            ends = {(m.topic(), m.partition()): m for m in done}
            places = [TopicPartition(*place, m.offset() + 1) for place, m in ends.items()]
            self._consumer.commit(offsets=places, asynchronous=False)
            now = time.monotonic()
            for place, message in ends.items():
                self.next[place] = int(message.value()) + 1
                self.history[place].append((now, self.next[place]))
        self.read += len(found)

    def stop(self, lost: bool = False) -> None:
        """A commit that its cluster does not answer any more is not waited for: it counts for nothing."""
        self._stopping.set()
        if not lost:
            self.join(PATIENCE)
            assert not self.is_alive()


class PythonMember(Member):
    """The same with kafka-python."""

    def run(self) -> None:
        from kafka import KafkaConsumer
        from kafka.errors import KafkaError

        self._consumer.close()
        consumer = KafkaConsumer(
            *self._topics,
            bootstrap_servers=self._address,
            group_id=self.group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
        )
        try:
            while not self._stopping.is_set():
                for place, records in consumer.poll(200, max_records=300).items():
                    self._commit(consumer, place, records[len(records) // 2])
        except KafkaError:
            pass  # its cluster is gone
        finally:
            consumer.close(autocommit=False, timeout_ms=1000)

    def _commit(self, consumer: Any, place: Any, record: Any) -> None:
        """In the middle of what was polled: the next poll's records are further on."""
        from kafka.structs import OffsetAndMetadata

        consumer.commit({place: OffsetAndMetadata(record.offset + 1, "", -1)}, timeout_ms=2000)
        at = (place.topic, place.partition)
        self.next[at] = int(record.value) + 1
        self.history[at].append((time.monotonic(), self.next[at]))
        self.read += 1


def everything(bootstrap: str, topic: str, partition: int) -> list[tuple[int, int]]:
    """Offset and number of all committed records of a partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "x",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            **QUIET,
        }
    )
    place = TopicPartition(topic, partition, 0)
    _, end = consumer.get_watermark_offsets(place, PATIENCE)  # others may be writing: not further than this
    consumer.assign([place])
    found: list[tuple[int, int]] = []
    try:
        while True:
            for message in consumer.consume(5000, 0.1):
                if message.error() is not None:
                    return found
                if (message.offset() or 0) >= end:
                    return found
                found.append((message.offset() or 0, int(message.value() or b"")))
    finally:
        consumer.close()


def positions(bootstrap: str, group: str, places: list[Place]) -> dict[Place, int]:
    """The offsets at which the group goes on."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, **QUIET})
    try:
        found = consumer.committed([TopicPartition(*place) for place in places], timeout=PATIENCE)
        return {(one.topic, one.partition): one.offset for one in found}
    finally:
        consumer.close()
