"""How a task's records and offsets reach Kafka: in one transaction, or flushed first and committed then.

`TransactionalOutput` belongs to one task and lives as long as it: making a producer and fencing costs 60 ms.
`PlainOutput` (at least once, at most once) is a view of one producer that all tasks of the process share; offsets are
committed by the keeper, the only member of the group.

Invariant: after `commit` returned, everything that was emitted since `begin` is acknowledged and the offsets are
stored.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from caudal.runtime.errors import Interrupted
from caudal.runtime.record import Headers
from caudal.runtime.spark.kafka_errors import ProduceError, RecordRefused, is_of_a_record, kafka_error
from caudal.runtime.spark.link import Link
from caudal.runtime.spark.settings import Mode, Settings

CALL_SECONDS = 15.0
CONNECT_SECONDS = 1.0
PATIENCE_SECONDS = 120.0  # how long one call is repeated while the broker is away; the caller starts anew then

OnDelivery = Callable[[Any, Any], None]


class Output(Protocol):
    written: defaultdict[str, int]  # records since `begin`, by topic
    one_by_one: bool  # wait for each record: one that is refused raises RecordRefused
    failed: tuple[str, KafkaError] | None  # the topic that did not take something, and why, as far as it is known

    def open(self) -> None: ...
    def begin(self) -> None: ...
    def emit(
        self,
        topic: str,
        partition: int | None,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
    ) -> None: ...
    def log_change(
        self, topic: str, partition: int, key: bytes, value: bytes | None, timestamp: int, report: OnDelivery | None
    ) -> None: ...
    def commit(self, offsets: list[TopicPartition], group: bytes) -> None: ...
    def abort(self) -> None: ...
    def serve(self) -> None: ...
    def partitions_of(self, topic: str) -> int: ...
    def close(self) -> None: ...


def _config(settings: Settings, **more: Any) -> dict[str, Any]:
    return settings.librdkafka(
        **{
            "client.id": "caudal-streams",
            "linger.ms": 1 if settings.mode is Mode.REAL_TIME else 5,
            "batch.size": 1_000_000,
            "batch.num.messages": 50_000,
            "partitioner": "murmur2_random",  # Java's default for records with a key
            "queue.buffering.max.messages": 2_000_000,
            "queue.buffering.max.kbytes": 512 * 1024,
            "retry.backoff.ms": 20,
            "reconnect.backoff.max.ms": 1000,
            **more,
        }
    )


class _Producing:
    """What both outputs share: writing, back-pressure, records that are refused."""

    producer: Any
    _on_delivery: OnDelivery | None = None

    def __init__(self) -> None:
        self.written: defaultdict[str, int] = defaultdict(int)
        self.one_by_one = False
        self.failed: tuple[str, KafkaError] | None = None
        self._partitions: dict[str, int] = {}

    def emit(
        self,
        topic: str,
        partition: int | None,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
    ) -> None:
        self.written[topic] += 1
        # librdkafka takes timestamp 0 for "now": the first millisecond of 1970 is closer to the truth.
        arguments = (
            topic,
            value,
            key,
            -1 if partition is None else partition,
            self._on_delivery or (self._note_failure if self.one_by_one else None),
            None,
            timestamp or 1,
            list(headers) if headers else None,
        )
        self._produce(arguments)
        if self.one_by_one:
            self._wait_for(topic)

    def log_change(
        self, topic: str, partition: int, key: bytes, value: bytes | None, timestamp: int, report: OnDelivery | None
    ) -> None:
        self._produce((topic, value, key, partition, report or self._on_delivery, None, max(timestamp, 1)))

    def _produce(self, arguments: tuple[Any, ...]) -> None:
        try:
            self.producer.produce(*arguments)
        except BufferError:
            self._produce_when_there_is_room(arguments)
        except KafkaException as error:
            found = kafka_error(error)
            if found is not None and found.code() != KafkaError._STATE:
                raise ProduceError(arguments[0], found) from error
            raise Interrupted(self.why(error)) from error

    def _wait_for(self, topic: str) -> None:
        outstanding = self.producer.flush(PATIENCE_SECONDS)
        failed, self.failed = self.failed, None
        if failed is not None:
            raise (
                RecordRefused(topic, failed[1]) if is_of_a_record(failed[1]) else Interrupted(KafkaException(failed[1]))
            )
        if outstanding:
            raise Interrupted(KafkaException(KafkaError(KafkaError._TIMED_OUT, "a record is not acknowledged")))

    def _produce_when_there_is_room(self, arguments: tuple[Any, ...]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            self.producer.poll(0.1)
            try:
                self.producer.produce(*arguments)
                return
            except BufferError:
                if time.monotonic() > deadline:
                    full = KafkaError(KafkaError._TIMED_OUT, "the producer's queue stays full")
                    raise Interrupted(KafkaException(full)) from None
            except KafkaException as error:
                raise Interrupted(self.why(error)) from error

    def why(self, error: KafkaException) -> KafkaException:
        """What is behind an error that says little."""
        return error

    def _note_failure(self, error: Any, message: Any) -> None:
        # What only fell with the transaction was not refused itself.
        if error is not None and error.code() not in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT):
            self.failed = self.failed or (message.topic(), error)

    def serve(self) -> None:
        self.producer.poll(0)

    def partitions_of(self, topic: str) -> int:
        """Of a topic that only a function knows; asked once."""
        if topic not in self._partitions:
            try:
                metadata = self.producer.list_topics(topic, CALL_SECONDS).topics[topic]
            except KafkaException as error:
                raise Interrupted(error) from error
            if metadata.error is not None:
                raise ProduceError(topic, metadata.error)
            self._partitions[topic] = len(metadata.partitions)
        return self._partitions[topic]


class TransactionalOutput(_Producing):
    """Outputs, changelog and source offsets of one task in one transaction."""

    def __init__(self, settings: Settings, transactional_id: str, known_topic: str) -> None:
        super().__init__()
        self._known_topic = known_topic
        self.producer = Producer(
            _config(
                settings,
                **{"transactional.id": transactional_id, "transaction.timeout.ms": settings.transaction_timeout},
            )
        )
        self._open = False

    def open(self) -> None:
        """Fences: from here on no other producer of this task can commit."""
        _patiently(lambda: take_over(self.producer, self._known_topic, CALL_SECONDS))

    def begin(self) -> None:
        self.written = defaultdict(int)
        self.failed = None
        self.producer.begin_transaction()
        self._open = True

    def commit(self, offsets: list[TopicPartition], group: bytes) -> None:
        if offsets:
            _patiently(lambda: self.producer.send_offsets_to_transaction(offsets, group, CALL_SECONDS))
        _patiently(lambda: self.producer.commit_transaction(CALL_SECONDS))
        self._open = False
        self.producer.poll(0)  # delivery reports: where the changelogs end

    def why(self, error: KafkaException) -> KafkaException:
        """Once its transaction has failed, a producer only says so; asked to commit, it says what failed first."""
        try:
            self.producer.commit_transaction(CALL_SECONDS)
        except KafkaException as told:
            return told
        return error

    def abort(self) -> None:
        if self._open:
            self._open = False
            _patiently(lambda: self.producer.abort_transaction(CALL_SECONDS))

    def close(self) -> None:
        try:
            self.abort()
        except KafkaException:
            pass  # fenced, or the broker is away: whoever opens the task next aborts it
        self.producer = None


class PlainOutput(_Producing):
    """At least once and at most once: no transaction, the keeper commits."""

    def __init__(self, application_id: str, shared: SharedProducer, link: Link) -> None:
        super().__init__()
        self.producer = shared.producer
        self._application_id = application_id
        self._link = link
        self._on_delivery = self._note_failure  # the producer only reports failures; each task hears of its own

    def open(self) -> None:
        pass

    def begin(self) -> None:
        self.written = defaultdict(int)
        self.failed = None

    def flush(self) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.producer.flush(CALL_SECONDS):
            if time.monotonic() > deadline:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "records are not acknowledged"))
        if self.failed is not None:
            raise KafkaException(self.failed[1])

    def commit_offsets(self, offsets: list[TopicPartition]) -> None:
        places = [(place.topic, place.partition, place.offset, place.metadata) for place in offsets]
        try:
            self._link.ask("commit", application=self._application_id, offsets=places)
        except RuntimeError as error:
            raise KafkaException(KafkaError(KafkaError.REBALANCE_IN_PROGRESS, str(error))) from error

    def commit(self, offsets: list[TopicPartition], group: bytes) -> None:
        self.flush()
        if offsets:
            self.commit_offsets(offsets)

    def abort(self) -> None:
        """What was written stays: that is what at least once means."""

    def close(self) -> None:
        pass


class SharedProducer:
    """The producer of a process for applications without transactions."""

    def __init__(self, settings: Settings) -> None:
        self.producer = Producer(
            {**_config(settings, **{"enable.idempotence": True}), "delivery.report.only.error": True}
        )


def take_over(producer: Any, known_topic: str, seconds: float) -> None:
    """`init_transactions` of a producer that knows its brokers: librdkafka asks for the coordinator at once, and where
    it does not know the broker that is named, again after half a second. It does after two looks at the metadata (one
    is not enough, librdkafka 2.16). `known_topic` is one that exists."""
    with suppress(KafkaException):  # the broker is away: the next call says so
        for _ in range(2):
            producer.list_topics(known_topic, CONNECT_SECONDS)
    producer.init_transactions(seconds)


def _patiently(call: Callable[[], None]) -> None:
    """librdkafka's transactional calls may be repeated after a retriable error, and only then."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            call()
            return
        except KafkaException as error:
            found = kafka_error(error)
            if found is None or not found.retriable() or time.monotonic() > deadline:
                raise
