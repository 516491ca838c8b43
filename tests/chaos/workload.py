"""Clients that keep books while the broker is being killed under them.

Each runs in its thread until told to stop, and remembers what it tried and what it was promised; `verify.py` compares
the books with what is in the topics afterwards. All are librdkafka; some ride over a restart (they retry by
themselves), some give up and say that they do not know.
"""

from __future__ import annotations

import random
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from enum import Enum
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

PARTITIONS = 3
PATIENCE_SECONDS = 60.0  # of a client that rides over restarts; longer than any of them takes

_QUICK_TO_RETURN = {
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 250,
    "retry.backoff.ms": 20,
    "retry.backoff.max.ms": 250,
    "socket.timeout.ms": 10_000,
    # Re-bootstrapping (KIP-899) drops the only broker of this cluster when it dies. librdkafka 2.16 then waits for ever
    # for the dropped one if it was the cached coordinator of a group: a TxnOffsetCommit is never sent.
    "metadata.recovery.strategy": "none",
    "log_level": 0,
}


class Outcome(Enum):
    UNKNOWN = "unknown"  # the client was told nothing: all of it or none
    COMMITTED = "committed"
    ABORTED = "aborted"


class Worker:
    """A client in a thread. `failure` holds what should not have happened."""

    def __init__(self, name: str, bootstrap: str, seed: int) -> None:
        self.name = name
        self.bootstrap = bootstrap
        self.random = random.Random(f"{seed}/{name}")
        self.stopping = threading.Event()
        self.failure: str | None = None
        self.errors: Counter[str] = Counter()
        self.doing = ""
        self.thread = threading.Thread(target=self._main, name=name, daemon=True)

    @property
    def progress(self) -> int:
        """How much has been promised so far."""
        raise NotImplementedError

    def run(self) -> None:
        raise NotImplementedError

    def _main(self) -> None:
        try:
            self.run()
        except BaseException:  # the test's thread has to hear of it
            self.failure = traceback.format_exc()

    def patiently(self, what: str, action: Callable[[], Any], stopping: threading.Event | None = None) -> None:
        """Repeats what may be repeated: librdkafka says which errors are only about the moment."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            self.doing = what
            try:
                action()
            except KafkaException as raised:
                error = raised.args[0]
                self.doing = f"{what} after {error.name()}"
                self.errors[f"{what}: {error.name()}"] += 1
                again = error.retriable() and not error.fatal()
                if not again or time.monotonic() > deadline or (stopping is not None and stopping.is_set()):
                    raise
                time.sleep(0.05)
            else:
                self.doing = ""
                return

    def pause(self) -> None:
        self.stopping.wait(self.random.uniform(0.001, 0.008))

    def producer(self, **settings: Any) -> Producer:
        names = {name.replace("_", "."): value for name, value in settings.items()}
        return Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 1, **_QUICK_TO_RETURN, **names})


class PlainProducer(Worker):
    """acks=all without idempotence: may repeat a record, may not lose, forge or swap one that was acknowledged.

    `rides` retries for ever with one request in flight; otherwise it never retries, and goes on with the next record.
    """

    def __init__(self, name: str, bootstrap: str, seed: int, topic: str, *, rides: bool, idempotent: bool) -> None:
        super().__init__(name, bootstrap, seed)
        self.topic = topic
        self.rides = rides
        self.idempotent = idempotent
        self.sent = 0
        self.acknowledged: dict[int, tuple[int, int]] = {}  # number → (partition, offset)

    @property
    def progress(self) -> int:
        return len(self.acknowledged)

    def run(self) -> None:
        if self.idempotent:
            producer = self.producer(enable_idempotence=True, message_timeout_ms=int(PATIENCE_SECONDS * 1000))
        elif self.rides:
            producer = self.producer(
                acks="all",
                enable_idempotence=False,
                max_in_flight_requests_per_connection=1,
                message_timeout_ms=int(PATIENCE_SECONDS * 1000),
            )
        else:
            producer = self.producer(acks="all", enable_idempotence=False, retries=0, message_timeout_ms=1500)
        while not self.stopping.is_set():
            for _ in range(self.random.randrange(1, 12)):
                self._send(producer)
            producer.poll(0)
            self.pause()
        left = producer.flush(PATIENCE_SECONDS)
        if left:
            raise AssertionError(f"{left} records of {self.name} were neither acknowledged nor given up")

    def _send(self, producer: Producer) -> None:
        number = self.sent
        self.sent += 1
        producer.produce(
            self.topic,
            f"{self.name}/{number}".encode() + b"." * self.random.randrange(200),
            partition=number % PARTITIONS,
            on_delivery=self._on_delivery(number),
        )

    def _on_delivery(self, number: int) -> Callable[[KafkaError | None, Any], None]:
        def delivered(error: KafkaError | None, message: Any) -> None:
            if error is None:
                self.acknowledged[number] = (message.partition(), message.offset())
                return
            self.errors[error.name()] += 1
            if self.rides or self.idempotent:
                self.failure = self.failure or f"{self.name} lost record {number}: {error}"

        return delivered


class TableProducer(PlainProducer):
    """Keyed records for a compacted topic, idempotent: the last value of every key must be the last one sent."""

    KEYS = 30

    def __init__(self, name: str, bootstrap: str, seed: int, topic: str) -> None:
        super().__init__(name, bootstrap, seed, topic, rides=True, idempotent=True)

    def _send(self, producer: Producer) -> None:
        number = self.sent
        self.sent += 1
        producer.produce(
            self.topic,
            f"{self.name}/{number}".encode() + b"." * 200,
            key=b"%d" % (number % self.KEYS),
            partition=number % PARTITIONS,
            on_delivery=self._on_delivery(number),
        )


class TransactionalProducer(Worker):
    """Transactions over all partitions, some aborted on purpose."""

    def __init__(self, name: str, bootstrap: str, seed: int, topic: str) -> None:
        super().__init__(name, bootstrap, seed)
        self.topic = topic
        self.transactions: dict[int, tuple[Outcome, int]] = {}  # number → (outcome, records)
        self.commits = 0

    @property
    def progress(self) -> int:
        return self.commits

    def run(self) -> None:
        producer: Producer | None = None
        number = 0
        while not self.stopping.is_set():
            if producer is None:
                producer = self._initialised()
                continue
            count = self.random.randrange(1, 20)
            outcome = self._one(producer, number, count)
            if outcome is None:
                producer = None
            number += 1
            self.pause()

    def _initialised(self) -> Producer | None:
        producer = self.producer(transactional_id=self.name, transaction_timeout_ms=60_000)
        try:
            self.patiently("init", lambda: producer.init_transactions(10), self.stopping)
        except KafkaException as error:
            self.errors[f"init {error.args[0].name()}"] += 1
            return None
        return producer

    def _one(self, producer: Producer, number: int, count: int) -> Outcome | None:
        """One transaction from begin to end; None when the producer is of no more use."""
        commit = self.random.random() < 0.7
        self.transactions[number] = (Outcome.ABORTED, count)  # until a commit is asked for, nothing can commit it
        try:
            producer.begin_transaction()
            for index in range(count):
                value = f"{self.name}/{number}/{index}/{count}".encode()
                producer.produce(self.topic, value, partition=index % PARTITIONS)
                if self.random.random() < 0.05:
                    producer.flush(5)
            if not commit:
                self.patiently("abort", lambda: producer.abort_transaction(10))
                return Outcome.ABORTED
            self.transactions[number] = (Outcome.UNKNOWN, count)
            self.patiently("commit", lambda: producer.commit_transaction(10))
            self.transactions[number] = (Outcome.COMMITTED, count)
            self.commits += 1
            return Outcome.COMMITTED
        except KafkaException as raised:
            error = raised.args[0]
            self.errors[error.name()] += 1
            if not error.txn_requires_abort():
                return None
            try:
                self.patiently("abort", lambda: producer.abort_transaction(10))
            except KafkaException:
                return None
            self.transactions[number] = (Outcome.ABORTED, count)
            return Outcome.ABORTED


class Processor(Worker):
    """Consume, transform, produce: source offsets and results in one transaction, as Kafka Streams does it."""

    def __init__(self, name: str, bootstrap: str, seed: int, source: str, sink: str, group: str) -> None:
        super().__init__(name, bootstrap, seed)
        self.source, self.sink, self.group = source, sink, group
        self.processed = 0

    @property
    def progress(self) -> int:
        return self.processed

    def run(self) -> None:
        while not self.stopping.is_set():
            consumer = Consumer(
                {
                    "bootstrap.servers": self.bootstrap,
                    "group.id": self.group,
                    "auto.offset.reset": "earliest",
                    "enable.auto.commit": False,
                    "isolation.level": "read_committed",
                    "session.timeout.ms": 6000,
                    "heartbeat.interval.ms": 500,
                    **_QUICK_TO_RETURN,
                }
            )
            try:
                self._process(consumer)
            except KafkaException as raised:
                # As after a crash of the processor: what was not committed is read again by the next one.
                self.errors[raised.args[0].name()] += 1
            finally:
                consumer.close()

    def _process(self, consumer: Consumer) -> None:
        producer = self.producer(transactional_id=self.name, transaction_timeout_ms=60_000)
        self.patiently("init", lambda: producer.init_transactions(10), self.stopping)
        consumer.subscribe([self.source])
        while not self.stopping.is_set():
            self.doing = f"consume {consumer.assignment()}"
            messages = [message for message in consumer.consume(100, 0.2) if message.error() is None]
            if not messages:
                continue
            producer.begin_transaction()
            try:
                for message in messages:
                    producer.produce(
                        self.sink, f"{message.partition()}/{message.offset()}".encode(), partition=message.partition()
                    )
                self.patiently(
                    "send offsets",
                    lambda: producer.send_offsets_to_transaction(
                        consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 10
                    ),
                )
                self.patiently("commit", lambda: producer.commit_transaction(10))
            except KafkaException as raised:
                if raised.args[0].txn_requires_abort():
                    self.patiently("abort", lambda: producer.abort_transaction(10))
                raise
            self.processed += len(messages)


class Committer(Worker):
    """Commits ever higher offsets for a group of its own."""

    def __init__(self, name: str, bootstrap: str, seed: int, topic: str, group: str) -> None:
        super().__init__(name, bootstrap, seed)
        self.topic, self.group = topic, group
        self.attempted = 0
        self.acknowledged = 0

    @property
    def progress(self) -> int:
        return self.acknowledged

    def run(self) -> None:
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": self.group, **_QUICK_TO_RETURN})
        try:
            while not self.stopping.is_set():
                self.attempted += 1
                offsets = [TopicPartition(self.topic, 0, self.attempted)]
                try:
                    answers = consumer.commit(offsets=offsets, asynchronous=False)
                except KafkaException as raised:
                    self.errors[raised.args[0].name()] += 1
                else:
                    if all(answer.error is None for answer in answers):
                        self.acknowledged = self.attempted
                self.pause()
        finally:
            consumer.close()
