"""How a task's records and offsets reach Kafka: in one transaction, or flushed first and committed then.

`TransactionalOutput` belongs to one task and lives as long as it: making a producer and fencing costs 200 ms.
`PlainOutput` (at least once, at most once) is a view of one producer that all tasks of the process share; offsets are
committed by the keeper, the only member of the group.

Invariant: after `commit` returned, everything that was emitted since `begin` is acknowledged and the offsets are
stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from caudal.runtime.record import Headers
from caudal.runtime.spark.kafka_errors import ProduceError, kafka_error, reason
from caudal.runtime.spark.link import Link
from caudal.runtime.spark.settings import Settings

CALL_SECONDS = 15.0
PATIENCE_SECONDS = 120.0  # how long one call is repeated while the broker is away; the caller starts anew then

# topic, key, value, why: a record that the broker refused
Refused = tuple[str, bytes | None, bytes | None, KafkaError]
OnDelivery = Callable[[Any, Any], None]


class Output(Protocol):
    emitted: int  # records since `begin`
    refused: list[Refused]
    trace: bool  # find out which records are refused (costs a callback per record)

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
            "linger.ms": 5,
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

    def __init__(self) -> None:
        self.emitted = 0
        self.refused: list[Refused] = []
        self.trace = False
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
        self.emitted += 1
        # librdkafka takes timestamp 0 for "now": the first millisecond of 1970 is closer to the truth.
        arguments = (
            topic,
            value,
            key,
            -1 if partition is None else partition,
            self._report(topic, key, value) if self.trace else None,
            None,
            timestamp or 1,
            list(headers) if headers else None,
        )
        try:
            self.producer.produce(*arguments)
        except BufferError:
            self._produce_when_there_is_room(arguments)
        except KafkaException as error:
            raise self._refusal(topic, error) from error

    def log_change(
        self, topic: str, partition: int, key: bytes, value: bytes | None, timestamp: int, report: OnDelivery | None
    ) -> None:
        arguments = (topic, value, key, partition, report, None, max(timestamp, 1))
        try:
            self.producer.produce(*arguments)
        except BufferError:
            self._produce_when_there_is_room(arguments)
        except KafkaException as error:
            raise self._refusal(topic, error) from error

    def _produce_when_there_is_room(self, arguments: tuple[Any, ...]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            self.producer.poll(0.1)
            try:
                self.producer.produce(*arguments)
                return
            except BufferError:
                if time.monotonic() > deadline:
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "the producer's queue stays full")) from None

    def _refusal(self, topic: str, error: KafkaException) -> Exception:
        found = kafka_error(error)
        return error if found is None or found.code() == KafkaError._STATE else ProduceError(topic, found)

    def _report(self, topic: str, key: bytes | None, value: bytes | None) -> OnDelivery:
        def report(error: Any, message: Any) -> None:
            # What only fell with the transaction was not refused itself.
            if error is not None and error.code() not in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT):
                self.refused.append((topic, key, value, error))

        return report

    def serve(self) -> None:
        self.producer.poll(0)

    def partitions_of(self, topic: str) -> int:
        """Of a topic that only a function knows; asked once."""
        if topic not in self._partitions:
            metadata = self.producer.list_topics(topic, CALL_SECONDS).topics[topic]
            if metadata.error is not None:
                raise ProduceError(topic, metadata.error)
            self._partitions[topic] = len(metadata.partitions)
        return self._partitions[topic]


class TransactionalOutput(_Producing):
    """Outputs, changelog and source offsets of one task in one transaction."""

    def __init__(self, settings: Settings, transactional_id: str) -> None:
        super().__init__()
        self.producer = Producer(
            _config(
                settings,
                **{"transactional.id": transactional_id, "transaction.timeout.ms": settings.transaction_timeout},
            )
        )
        self._open = False

    def open(self) -> None:
        """Fences: from here on no other producer of this task can commit."""
        _patiently(lambda: self.producer.init_transactions(CALL_SECONDS))

    def begin(self) -> None:
        self.emitted = 0
        self.refused = []
        self.producer.begin_transaction()
        self._open = True

    def commit(self, offsets: list[TopicPartition], group: bytes) -> None:
        if offsets:
            _patiently(lambda: self.producer.send_offsets_to_transaction(offsets, group, CALL_SECONDS))
        _patiently(lambda: self.producer.commit_transaction(CALL_SECONDS))
        self._open = False
        self.producer.poll(0)  # delivery reports: where the changelogs end

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
        self._shared = shared
        self._application_id = application_id
        self._link = link

    def open(self) -> None:
        pass

    def begin(self) -> None:
        self.emitted = 0
        self.refused = []

    def flush(self) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.producer.flush(CALL_SECONDS):
            if time.monotonic() > deadline:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "records are not acknowledged"))
        failed = self._shared.failed
        if failed is not None:
            self._shared.failed = None
            raise KafkaException(failed)

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
        self.failed: KafkaError | None = None
        self.producer = Producer(
            {
                **_config(settings, **{"enable.idempotence": True}),
                "on_delivery": self._on_delivery,
                "delivery.report.only.error": True,
            }
        )

    def _on_delivery(self, error: KafkaError | None, message: Any) -> None:
        if error is not None:
            self.failed = KafkaError(error.code(), f"topic '{message.topic()}': {reason(error)}")


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
