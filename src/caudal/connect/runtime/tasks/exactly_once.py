"""A source run whose records and offsets are one transaction (KIP-618): a reader of committed ones has each once.

The transactional id is GROUP-CONNECTOR-TASK, so a new run of the task fences the one before it, wherever that still
lives, and ends what it left open; only then are the offsets read. `transaction.boundary` says what a transaction is:
what one `poll` returned, or all of an interval. `connector` is refused: the connector API has no words for it.

After a failure whose outcome is not known the run ends: the next one finds out, by its offsets, whether it was written.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from caudal.connect.errors import ConfigError, ConnectError
from caudal.connect.records import RecordMetadata, SourceRecord
from caudal.connect.runtime.offset_store import KafkaOffsetStore
from caudal.connect.runtime.tasks.acknowledgements import Offset, Partition, partition_key
from caudal.connect.runtime.tasks.client_properties import make_producer
from caudal.connect.runtime.tasks.fencing import FENCED, initialised, transactional_id
from caudal.connect.runtime.tasks.offset_committer import committer
from caudal.connect.runtime.tasks.run import kafka_failure
from caudal.connect.runtime.tasks.source_run import Delivered, SourceRun, tells_records

TRANSACTION_MS = 60_000
CALL_SLICE = 1.0
ABORT_SECONDS = 10.0
REPORT_SECONDS = 0.1


@dataclass(slots=True)
class _Sent:
    record: SourceRecord
    metadata: RecordMetadata | None = None  # None for good: it was dropped


class ExactlyOnce(SourceRun):
    def prepare(self) -> None:
        config = self.parts.framework
        self._lock = threading.RLock()  # of the transaction: the committer ends one while the task waits in poll
        boundary = str(config.get("transaction.boundary") or "poll").lower()
        if boundary not in ("poll", "interval"):
            raise ConfigError(
                f"transaction.boundary={boundary} cannot be had: this connector defines no boundaries; "
                "say poll or interval.",
                "transaction.boundary",
            )
        given = config.get("transaction.boundary.interval.ms")
        every = float(given) / 1000 if given is not None else self.settings.offset_flush_seconds
        self._every = 0.0 if boundary == "poll" else every
        self._begun_at = 0.0
        self._open = False
        self._records = 0
        self._offsets: dict[bytes, tuple[Partition, Offset]] = {}
        self._last: tuple[Any, bytes] = (None, b"")
        self._sent: list[_Sent] = []  # for commit_record
        self._unreported = 0
        self._to_tell: list[_Sent] = []
        self._committed = False  # and the task has not been told
        super().prepare()
        if not isinstance(self.store, KafkaOffsetStore):
            raise ConfigError(
                "exactly.once.support=required needs a distributed worker: a file cannot be part of a transaction.",
                "exactly.once.support",
            )
        self._offset_topic = self.store
        self._offset_topic.ensure_topic()
        if self._every:
            committer.add(self, self._every)

    def open_producer(self) -> Any:
        self._check()
        timeout = max(TRANSACTION_MS, int(self._every * 2000))
        producer = make_producer(
            self.settings,
            self.spec.connector_config,
            **{
                "transactional.id": transactional_id(self.settings, self.id.connector, self.id.task),
                "transaction.timeout.ms": timeout,
                "message.timeout.ms": timeout,
                "delivery.report.only.error": not tells_records(self.parts.task),
            },
        )
        initialised(producer, self.stopping)
        self._check()  # a newer run may have come first: its producer is fenced now, ours must not write
        return producer

    def _check(self) -> None:
        self.still_wanted()
        if self.check is not None:
            self.check()

    # -- records -----------------------------------------------------------------------------------------------------

    def delivered(self, record: SourceRecord) -> Delivered:
        if not self._open:
            self._begin()
        self._records += 1
        sent = self._note(record)
        if sent is None:
            return self._told
        self._unreported += 1
        return partial(self._told_where, sent)

    def _told_where(self, sent: _Sent, error: Any, message: Any) -> None:
        self._unreported -= 1
        if error is None:
            sent.metadata = RecordMetadata(message.topic(), message.partition(), message.offset())
        else:
            self._told(error, message)

    def _told(self, error: Any, message: Any) -> None:
        """Errors only. Nothing is tolerated here: a transaction with a hole in it is no transaction."""
        if error is not None and self.failure is None:
            self.failure = kafka_failure(f"Topic '{message.topic()}' does not take a record of a transaction", error)

    def passed_over(self, record: SourceRecord) -> None:
        self._note(record)

    def _note(self, record: SourceRecord) -> _Sent | None:
        last, key = self._last
        if record.partition is not last and record.partition != last:
            key = partition_key(record.partition)
            self._last = (record.partition, key)
        self._offsets[key] = (record.partition, record.offset)
        if not self.tells_records:
            return None
        sent = _Sent(record)
        self._sent.append(sent)
        return sent

    def serve(self, seconds: float) -> None:
        try:
            self.producer.poll(seconds)
        except SystemError as error:  # a fatal error, raised by the client in the middle of a report
            cause = error.__cause__ or error.__context__ or error
            raise ConnectError(f"The transactional producer has failed: {cause}.") from cause

    def send(self, records: Sequence[SourceRecord]) -> None:
        with self._lock:
            super().send(records)

    def between(self) -> None:
        with self._lock:
            self.serve(0)
            self._commit_if_due()
        self._tell_task()

    def _commit_if_due(self) -> None:
        if self._offsets and time.monotonic() - self._begun_at >= self._every:
            self._commit()

    def commit_offsets(self) -> None:
        """From the committer's thread, where a transaction is an interval. Not while records are being sent: the run
        itself ends the transaction then."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if self.failure is None and self.producer is not None and not self.abandoned:
                self._commit_if_due()
        except Exception as error:
            self.failure = self.failure or error
        finally:
            self._lock.release()

    def _tell_task(self) -> None:
        with self._lock:
            records, self._to_tell = self._to_tell, []
            committed, self._committed = self._committed, False
        for one in records:
            self.call(self.parts.task.commit_record, one.record, one.metadata)
        if committed:
            self.call(self.parts.task.commit)

    def finish(self) -> None:
        with self._lock:
            if self.failure is not None:
                raise self.failure
            if self._offsets:
                self._commit()
        self._tell_task()

    def interrupted(self) -> None:
        """Half a poll is no transaction: it is read again as a whole."""
        self.give_up()

    def give_up(self) -> None:
        with self._lock:
            self._offsets.clear()
            if self._open:
                self._open = False
                self._abort()

    # -- transactions ------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._refusing(self.producer.begin_transaction)
        self._open = True
        self._records = 0
        self._begun_at = time.monotonic()

    def _commit(self) -> None:
        self.still_wanted()
        if not self._open:
            self._begin()  # offsets only: every record was dropped
        for partition, offset in self._offsets.values():
            key, value = self._offset_topic.encode(self.id.connector, partition, offset)
            self._produce_offset(key, value)
        while self._unreported > 0 and self.failure is None:  # where the records lie is to be told
            self.serve(REPORT_SECONDS)
            self.still_wanted()
        began = time.monotonic()
        self.count_active(self._records)
        try:
            self._commit_transaction()
        except Exception:
            self.metric.count("offset-commit-failure-total")
            raise
        self._open = False
        self._offsets.clear()
        self.metric.gauge("source-record-active-count", 0)
        self.metric.sample("transaction-size-{}", self._records)
        self.metric.count("offset-commit-success-total")
        self.metric.sample("offset-commit-{}-time-ms", (time.monotonic() - began) * 1000)
        self._to_tell += self._sent
        self._sent = []
        self._committed = True

    def _produce_offset(self, key: bytes, value: bytes | None) -> None:
        while True:
            try:
                self.producer.produce(self._offset_topic.topic, value, key, on_delivery=self._told)
                return
            except BufferError:
                self.serve(0.1)
                self.still_wanted()

    def _commit_transaction(self) -> None:
        """Until it is decided. A broker that is away is waited for, up to the transaction's own time limit."""
        while True:
            self.still_wanted()
            if self.failure is not None:
                raise self.failure
            try:
                self.producer.commit_transaction(CALL_SLICE)
                return
            except KafkaException as error:
                reason = error.args[0]
                if reason.retriable() and not reason.txn_requires_abort() and not reason.fatal():
                    continue
                raise self._meaning(reason) from error
            except SystemError as error:
                cause = error.__cause__ or error.__context__ or error
                raise ConnectError(f"The transactional producer has failed: {cause}.") from cause

    def _refusing(self, call: Any) -> None:
        try:
            call()
        except KafkaException as error:
            raise self._meaning(error.args[0]) from error

    def _meaning(self, error: KafkaError) -> Exception:
        if self.failure is not None:  # of one record: it says more
            return self.failure
        if error.code() in FENCED:
            return ConnectError(
                f"Another run of task {self.id} has taken over: this one is fenced, and none of its open transaction "
                "is there."
            )
        return kafka_failure("A transaction could not be committed", error)

    def release(self) -> None:
        committer.remove(self)
        with self._lock:
            super().release()

    def _abort(self) -> None:
        try:
            self.producer.abort_transaction(ABORT_SECONDS)
        except (KafkaException, SystemError):
            pass  # fenced, or the broker is away: the next run of the task ends it
