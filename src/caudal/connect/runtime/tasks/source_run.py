"""A run of a source task: poll, transform, convert, produce. When offsets are committed is up to the two kinds of it.

`at_least_once.py` commits offsets after the records are acknowledged, `exactly_once.py` in one transaction with them.
"""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException

from caudal.connect.connector import OffsetReader, SourceTask
from caudal.connect.errors import ConnectError, RetriableError
from caudal.connect.records import SourceRecord
from caudal.connect.runtime.offset_store import BorrowedStore, identity
from caudal.connect.runtime.tasks.client_properties import make_admin
from caudal.connect.runtime.tasks.error_policy import SKIPPED, Failure, RunStopped, Stage, log
from caudal.connect.runtime.tasks.run import Abandoned, Run, kafka_failure
from caudal.connect.runtime.tasks.task_metrics import SOURCE
from caudal.connect.runtime.tasks.topic_creation import TopicCreation

ROOM_SECONDS = 0.1
SNAPSHOT_SECONDS = 1.0  # a task that asks for the offsets of a thousand files reads the topic once

Delivered = Callable[[Any, Any], None]


class SourceRun(Run):
    producer: Any = None
    failure: Exception | None = None  # of a delivery; found by the loop
    _store: BorrowedStore | None = None
    _creation: TopicCreation | None = None

    # -- what the two kinds say --------------------------------------------------------------------------------------

    @abstractmethod
    def open_producer(self) -> Any: ...

    @abstractmethod
    def delivered(self, record: SourceRecord) -> Delivered:
        """Asked just before a record is produced; what it returns is told of the delivery."""

    @abstractmethod
    def passed_over(self, record: SourceRecord) -> None:
        """A record that is not to be written: dropped by a transform, or failed and tolerated. Its offset counts."""

    @abstractmethod
    def between(self) -> None:
        """After each poll, also one without records."""

    @abstractmethod
    def finish(self) -> None:
        """All is sent: flush and commit."""

    @abstractmethod
    def interrupted(self) -> None:
        """It is to stop, and the records of the last poll are not all sent."""

    @abstractmethod
    def give_up(self) -> None:
        """The task has failed: what may be committed is, the rest is not."""

    @abstractmethod
    def serve(self, seconds: float) -> None:
        """Lets the producer report deliveries."""

    # -- life --------------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        self.metric.begin(SOURCE)
        self._store = BorrowedStore(self.settings, self.spec.connector_config)
        self.store = self._store.store
        self.producer = self.open_producer()
        task = self.parts.task
        if not isinstance(task, SourceTask):
            raise ConnectError(f"{type(task).__name__} is no SourceTask; `task` of a SourceConnector must name one.")
        task.context = _Context(self)
        self.tells_records = tells_records(task)

    def work(self) -> None:
        try:
            try:
                self._poll_and_send()
            except RunStopped:
                self.still_wanted()
                self.interrupted()
            else:
                self.still_wanted()
                self.finish()
        except BaseException:
            if self.abandoned:
                self._purge()
            try:
                self.give_up()
            except Exception:
                log.exception("Task %s could not commit what it had sent before it failed.", self.id)
            raise

    def _poll_and_send(self) -> None:
        task, retries = self.parts.task, 0
        while self.stand_still():
            began = time.monotonic()
            try:
                records = self.call(task.poll)
            except RetriableError as error:
                retries += 1
                log.warning("Task %s: poll failed and is tried again: %s", self.id, error)
                self.stopping.wait(self.errors.delay(retries))
                continue
            retries = 0
            self.still_wanted()
            if records:
                self.metric.sample("poll-batch-{}-time-ms", (time.monotonic() - began) * 1000)
                self.metric.sample("batch-size-{}", len(records))
                self.metric.count_with_rate("source-record-poll", len(records))
                self.send(records)
            if self.failure is not None:
                raise self.failure
            self.between()

    def abandon(self) -> None:
        super().abandon()
        self._purge()

    def _purge(self) -> None:
        """What is not acknowledged by now is read again by another run, and must not come after what that one sends."""
        producer = self.producer
        if producer is not None:
            producer.purge(blocking=False)

    def count_active(self, records: int) -> None:
        """So many were polled and are not acknowledged, or not committed, yet."""
        self.metric.gauge("source-record-active-count", records)
        self.metric.sample("source-record-active-count-{}", records)

    def release(self) -> None:
        self.parts.task.__dict__.pop("context", None)
        self._creation = None
        if self.producer is not None:
            self.producer.purge()  # what is not acknowledged by now is read again
            self.producer = None  # its threads and connections end with it
        if self._store is not None:
            self._store.give_back()

    # -- records -----------------------------------------------------------------------------------------------------

    def send(self, records: Sequence[SourceRecord]) -> None:
        parts, topics = self.parts, self._topics
        transform, encode_key, encode_value = parts.transform, parts.key.encode, parts.value.encode
        produce, delivered = self.producer.produce, self.delivered
        written = 0
        if not isinstance(records[0], SourceRecord):
            raise ConnectError(f"poll() must return SourceRecords, but there is a {type(records[0]).__name__}.")
        for record in records:
            out = record
            if transform is not None:
                try:
                    out = transform(record)
                except Exception as error:
                    failed = Failure(Stage.TRANSFORMATION, parts.failed_transform(), error, record=record)
                    out = self.errors.recover(failed, partial(transform, record))
                if out is None or out is SKIPPED:
                    self.passed_over(record)
                    continue
            topic = out.topic
            try:
                key = encode_key(topic, out.key_schema, out.key)
            except Exception as error:
                again = partial(encode_key, topic, out.key_schema, out.key)
                key = self._recover(Stage.KEY_CONVERTER, parts.key, error, record, again)
            try:
                value = encode_value(topic, out.value_schema, out.value)
            except Exception as error:
                again = partial(encode_value, topic, out.value_schema, out.value)
                value = self._recover(Stage.VALUE_CONVERTER, parts.value, error, record, again)
            headers = self._headers(out, record) if out.headers else None
            if key is SKIPPED or value is SKIPPED or headers is SKIPPED:
                self.passed_over(record)
                continue
            if topic not in topics:
                self._first_record_of(topic)
            place = out.kafka_partition
            report = delivered(record)
            while True:
                if self.abandoned:  # in a transform or a converter that took too long
                    raise Abandoned
                try:
                    produce(
                        topic, value, key, -1 if place is None else place, report, None, out.timestamp or 0, headers
                    )
                    written += 1
                    break
                except BufferError:
                    self._wait_for_room()
                except KafkaException as error:
                    self._refused_at_once(topic, error.args[0], report)
                    break
        self.metric.count_with_rate("source-record-write", written)

    def _recover(
        self, stage: Stage, executing: Any, error: Exception, record: SourceRecord, again: Callable[[], Any]
    ) -> Any:
        return self.errors.recover(Failure(stage, _name_of(executing), error, record=record), again)

    def _headers(self, out: SourceRecord, record: SourceRecord) -> Any:
        encode, topic = self.parts.header.encode, out.topic

        def encoded() -> list[tuple[str, bytes | None]]:
            return [(one.key, encode(topic, one.schema, one.value)) for one in out.headers]

        try:
            return encoded()
        except Exception as error:
            return self._recover(Stage.HEADER_CONVERTER, self.parts.header, error, record, encoded)

    def _first_record_of(self, topic: str) -> None:
        if not topic:
            raise ConnectError(f"A record of this source has no topic to go to ({topic!r}).")
        if self._creation is None:
            self._creation = TopicCreation(
                make_admin(self.settings, self.spec.connector_config), self.spec.connector_config
            )
        self._creation.ensure(topic)
        self.used_topic(topic)

    def _wait_for_room(self) -> None:
        """The producer's queue is full: the broker is slower than the source, or away."""
        self.serve(ROOM_SECONDS)
        self.still_wanted()
        if self.failure is not None:
            raise self.failure
        if self.stopping.is_set():
            raise RunStopped  # what was not taken is read again

    def _refused_at_once(self, topic: str, error: Any, report: Delivered) -> None:
        report(error, _NotSent(topic))
        if self.failure is not None:
            raise self.failure

    def refused(self, error: Any, message: Any) -> bool:
        """A delivery failed for good. True when that is tolerated: the record is passed over."""
        wrapped = kafka_failure(f"Topic '{message.topic()}' does not take a record", error)
        if error.fatal() or error.code() in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT):
            self.failure = self.failure or wrapped
            return False
        try:
            self.errors.fail(Failure(Stage.KAFKA_PRODUCE, "Producer", wrapped))
        except ConnectError as failure:
            self.failure = self.failure or failure
            return False
        return True


def tells_records(task: Any) -> bool:
    """Whether the task wants to hear of every record."""
    return getattr(type(task), "commit_record", None) is not SourceTask.commit_record


class _NotSent(NamedTuple):
    """In the place of a message that the producer did not take."""

    name: str

    def topic(self) -> str:
        return self.name


def _name_of(executing: Any) -> str:
    kind = type(executing)
    return f"{kind.__module__}.{kind.__qualname__}"


class _Context:
    """SourceContext."""

    def __init__(self, run: SourceRun) -> None:
        self.config: Mapping[str, str] = run.spec.task_config
        self.stopping: Any = run.call.stopping
        self.offsets: OffsetReader = _Offsets(run)
        self._run = run

    def report_error(self, record: SourceRecord | None, error: Exception) -> None:
        run = self._run
        run.errors.fail(Failure(Stage.TASK_POLL, _name_of(run.parts.task), error, record=record))


class _Offsets:
    """OffsetReader."""

    def __init__(self, run: SourceRun) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, Any]] = {}
        self._read_at = 0.0

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return self.offsets([partition])[0]

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        with self._lock:
            if not self._read_at or time.monotonic() - self._read_at > SNAPSHOT_SECONDS:
                entries = self._run.store.read_all(self._run.id.connector)
                self._known = {identity(partition): offset for partition, offset in entries}
                self._read_at = time.monotonic()
            return [self._known.get(identity(one)) for one in partitions]
