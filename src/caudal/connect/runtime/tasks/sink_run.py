"""A run of a sink task: read, decode, transform, `put` in batches, and commit what the task has written.

Offsets are committed every `offset.flush.interval.ms`, when the task asks for it, when partitions go to another member
of the group, and at the end; always after `pre_commit`, and after the reports to the dead-letter topic are durable. A
`put` that raises RetriableError is repeated with the same batch, while nothing further is read.

Where this is not Kafka Connect: only committed records are read (consumer.override.isolation.level changes that), and
a `flush` that raises anything but RetriableError fails the task instead of being tried for ever.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka import TopicPartition as Place

from caudal.connect.connector import SinkTask
from caudal.connect.errors import ConnectError, RetriableError
from caudal.connect.records import TopicPartition
from caudal.connect.runtime.tasks.client_properties import overrides
from caudal.connect.runtime.tasks.column_decoding import ColumnDecoder
from caudal.connect.runtime.tasks.dead_letter import DeadLetterTopic
from caudal.connect.runtime.tasks.decoding import Batch, Decoder, is_too_late
from caudal.connect.runtime.tasks.error_policy import Failure, RunStopped, log
from caudal.connect.runtime.tasks.run import Abandoned, Run
from caudal.connect.runtime.tasks.sink_context import SinkTaskContext
from caudal.connect.runtime.tasks.subscription import Subscription
from caudal.connect.runtime.tasks.task_metrics import SINK
from caudal.leaving import leave_and_close

POLL_SECONDS = 0.5
MOST = 10_000  # records of one put; consumer.override.max.poll.records
RETRY_LOOK_SECONDS = 0.2
MAX_POLL_INTERVAL_MS = 300_000  # librdkafka's default, and Kafka's


class SinkRun(Run):
    consumer: Any = None
    _dead_letters: DeadLetterTopic | None = None
    _subscription: Subscription | None = None

    def prepare(self) -> None:
        task, config = self.parts.task, self.spec.connector_config
        if not isinstance(task, SinkTask):
            raise ConnectError(f"{type(task).__name__} is no SinkTask; `task` of a SinkConnector must name one.")
        self.metric.begin(SINK)
        self._in_client = threading.RLock()  # held while the consumer is called: `abandon` may close it only between
        self._positions: dict[TopicPartition, int] = {}  # behind what was put
        self._safe: dict[TopicPartition, int] = {}  # where to go back to: the last commit, or the first record read
        self._batch: Batch | None = None  # that is to be put again
        self._attempts = self._commits = 0
        self._retry_at = self._retry_since = 0.0
        self._failure: BaseException | None = None  # raised in a callback of the consumer
        self._is_leaving = self._is_assigning = False
        self._commit_at = time.monotonic() + self.settings.offset_flush_seconds
        self._polled_at = time.monotonic()
        self._poll_limit = int(overrides("consumer", config).get("max.poll.interval.ms", MAX_POLL_INTERVAL_MS)) / 1000
        self._most = int(config.get("consumer.override.max.poll.records", MOST))
        if topic := config.get("errors.deadletterqueue.topic.name"):
            self._dead_letters = DeadLetterTopic(topic, self.settings, self.spec, self.parts.framework, self.metric)
            self.errors.report = self._report
        self._decoder = Decoder(self.parts, self.errors)
        self._columns = ColumnDecoder(self.parts, self._decoder)
        self._subscription = Subscription(self.spec, self.settings)
        self.consumer = self._subscription.consumer
        self.context = SinkTaskContext(self)
        task.context = self.context

    def _report(self, failure: Failure) -> None:
        assert self._dead_letters is not None
        self.still_wanted()
        self._dead_letters.report(failure, self.trace(failure.error))

    # -- the loop ----------------------------------------------------------------------------------------------------

    def work(self) -> None:
        assert self._subscription is not None
        try:
            self._subscription.begin(self._assigned, self._revoked, self._lost)
            while not self.stopping.is_set():
                if self.is_paused:
                    self._pause_and_wait()
                else:
                    self._step()
        except (RunStopped, Abandoned):
            self._leave(commit=not self.abandoned)
        except BaseException:
            self._leave(commit=False)
            raise
        else:
            self._leave(commit=not self.abandoned)

    def _step(self) -> None:
        assert self._subscription is not None
        self.still_wanted()
        self._subscription.refresh()
        if self._is_in_time() and (self.context.commit_requested or time.monotonic() >= self._commit_at):
            self._commit_in_time()
        self._seek()
        if self._batch is not None:
            self._repeat()
            return
        messages = self._read()
        if self._failure is not None:
            raise self._failure
        self.still_wanted()
        self._seek()
        batch = self._columns.decode(messages) or self._decoder.decode(messages)
        if batch.came_too_late:
            self._positions.clear()  # nothing may be flushed or committed any more; `_lost` is called in a moment
            return
        for topic in batch.topics:
            self.used_topic(topic)
        for place, offset in batch.firsts.items():
            self._safe.setdefault(place, offset)
        if batch.read:
            self.metric.count_with_rate("sink-record-read", batch.read)
        self._put(batch)

    def _is_in_time(self) -> bool:
        """After a put that took too long the group may have given our partitions away: the next poll tells."""
        return time.monotonic() - self._polled_at < self._poll_limit

    def _read(self) -> list[Any]:
        """What has been fetched already; when there is nothing, the first that comes."""
        consumer = self.consumer
        with self._in_client:
            self.still_wanted()
            self._polled_at = time.monotonic()
            messages: list[Any] = consumer.consume(self._most, 0)
            if not messages and self._failure is None:
                wait = max(0.0, min(POLL_SECONDS, self._commit_at - time.monotonic()))
                first = consumer.poll(wait)
                if first is not None:
                    messages = [first, *consumer.consume(self._most - 1, 0)] if self._most > 1 else [first]
        return messages

    # -- put ---------------------------------------------------------------------------------------------------------

    def _put(self, batch: Batch) -> None:
        began = time.monotonic()
        try:
            if batch.runs:
                self.call(self.parts.task.put_columns, batch.runs)
            else:
                self.call(self.parts.task.put, batch.records)
        except RetriableError as error:
            self._put_again_later(batch, error)
            return
        if self._attempts:
            self._attempts = 0
            self.resume_partitions(self.assignment())
        self._batch = None
        self._positions.update(batch.ends)
        if size := batch.size:
            self.metric.sample("put-batch-{}-time-ms", (time.monotonic() - began) * 1000)
            self.metric.sample("batch-size-{}", size)
            self.metric.count_with_rate("sink-record-send", size)

    def _put_again_later(self, batch: Batch, error: RetriableError) -> None:
        now = time.monotonic()
        limit = self.parts.errors.retry_seconds
        if not self._attempts:
            self._retry_since = now
            self.pause_partitions(self.assignment())
        elif self.parts.errors.puts_are_limited and limit is not None and now - self._retry_since >= limit:
            raise ConnectError(
                f"put() could not be done within errors.retry.timeout ({limit:.0f} s): {error}"
            ) from error
        self._attempts += 1
        self._batch = batch
        wait = self.context.take_retry_after()
        self._retry_at = now + (self.errors.delay(self._attempts) if wait is None else wait)
        self.metric.count("total-retries")
        log.warning("Task %s: put() is to be repeated (try %d): %s", self.id, self._attempts, error)

    def _repeat(self) -> None:
        """Everything is paused; the consumer is polled all the same, so that the group keeps us."""
        wait = self._retry_at - time.monotonic()
        self._poll_paused(max(0.0, min(wait, RETRY_LOOK_SECONDS)))
        if wait <= RETRY_LOOK_SECONDS and self._batch is not None and time.monotonic() >= self._retry_at:
            self._put(self._batch)

    def _poll_paused(self, seconds: float) -> None:
        with self._in_client:
            self.still_wanted()
            self._polled_at = time.monotonic()
            message = self.consumer.poll(seconds)
            if message is not None and message.error() is None:
                self.consumer.seek(Place(message.topic(), message.partition(), message.offset()))
            elif message is not None and is_too_late(message.error()):
                self._positions.clear()
        if self._failure is not None:
            raise self._failure

    def _pause_and_wait(self) -> None:
        if self._is_in_time():
            self._commit_in_time()
        self.pause_partitions(self.assignment())
        self.stand_still()
        if not self.stopping.is_set() and self._batch is None:
            self.resume_partitions(self.assignment())

    def while_paused(self) -> None:
        if self._subscription is None:
            super().while_paused()  # not begun yet
        else:
            self._poll_paused(POLL_SECONDS)

    # -- commit ------------------------------------------------------------------------------------------------------

    def _commit_in_time(self) -> None:
        self.context.commit_requested = False
        self._commit_at = time.monotonic() + self.settings.offset_flush_seconds
        try:
            self._commit(set(self._positions))
        except RetriableError as error:
            log.warning("Task %s: flush() failed; its records are read again: %s", self.id, error)
            self.metric.count("offset-commit-failure-total")
            self._rewind()

    def _commit(self, partitions: set[TopicPartition]) -> None:
        """Raises what the task raises; a commit that the group did not take is only logged, for it comes again."""
        offsets = {place: offset for place, offset in self._positions.items() if place in partitions}
        if not offsets:
            return
        began = time.monotonic()
        self._count_active()
        done: Mapping[TopicPartition, int] = self.call(self.parts.task.pre_commit, offsets) or {}
        if self._dead_letters is not None:
            self._dead_letters.flush()
        self.still_wanted()
        wanted = {}
        for place, offset in done.items():
            if place not in offsets or offset > offsets[place]:
                log.warning("Task %s: pre_commit() names %s at %s, which it was not given.", self.id, place, offset)
            elif self._safe.get(place) != offset:
                wanted[TopicPartition(*place)] = offset
        if not wanted:
            return
        try:
            with self._in_client:
                self.still_wanted()
                answers = self.consumer.commit(
                    offsets=[Place(place.topic, place.partition, offset) for place, offset in wanted.items()],
                    asynchronous=False,
                )
        except KafkaException as error:
            log.warning("Task %s: offsets could not be committed: %s", self.id, error.args[0].str())
            self.metric.count("offset-commit-failure-total")
            return
        for answer in answers or ():
            if answer.error is None:
                self._safe[TopicPartition(answer.topic, answer.partition)] = answer.offset
        self._commits += 1
        self.metric.gauge("offset-commit-seq-no", self._commits)
        self.metric.count("offset-commit-success-total")
        self.metric.count_with_rate("offset-commit-completion", 1)
        self._count_active()
        self.metric.sample("offset-commit-{}-time-ms", (time.monotonic() - began) * 1000)

    def _count_active(self) -> None:
        """Put and not committed."""
        active = sum(offset - self._safe.get(place, offset) for place, offset in self._positions.items())
        self.metric.gauge("sink-record-active-count", active)
        self.metric.sample("sink-record-active-count-{}", active)
        assert self._subscription is not None
        self.metric.gauge("sink-record-lag-max", self._subscription.lag(self._positions))

    def _rewind(self) -> None:
        back = {place: self._safe[place] for place in self._positions if place in self._safe}
        self._positions.clear()
        if self._batch is not None:
            self._batch = None
            self._attempts = 0
            self.resume_partitions(self.assignment())
        self.context.seek(back)
        self._seek()

    def _seek(self) -> None:
        for place, offset in self.context.take_seeks().items():
            if place not in self.context.assigned:
                continue
            with self._in_client:
                self.consumer.seek(Place(place.topic, place.partition, offset))
            self._safe[place] = offset
            self._positions.pop(place, None)

    # -- the group's callbacks, in this thread, from within poll -----------------------------------------------------

    def _assigned(self, consumer: Any, places: list[Any]) -> None:
        if self._is_leaving or self.abandoned:
            return
        new = {TopicPartition(one.topic, one.partition) for one in places}
        self._is_assigning = True
        try:
            self.context.assigned |= new
            self.call(self.parts.task.open, new)
        except BaseException as error:
            self._failure = self._failure or error
        finally:
            self._is_assigning = False
        seeks = self.context.take_seeks()
        self.context.seek({place: offset for place, offset in seeks.items() if place not in new})  # between polls
        starts = []
        for one in places:
            place = TopicPartition(one.topic, one.partition)
            if place in seeks:
                self._safe[place] = seeks[place]
            starts.append(Place(*place, seeks[place]) if place in seeks else one)
        assert self._subscription is not None
        self._subscription.assign(starts)
        if self._batch is not None or self.is_paused:
            consumer.pause(starts)
        elif paused := [one for one in starts if TopicPartition(one.topic, one.partition) in self.context.paused]:
            consumer.pause(paused)
        self.metric.gauge("partition-count", len(self.context.assigned))

    def _revoked(self, consumer: Any, places: list[Any]) -> None:
        if self._is_leaving or self.abandoned:
            return
        gone = {TopicPartition(one.topic, one.partition) for one in places}
        try:
            self._commit(gone)
        except RetriableError as error:
            log.warning("Task %s: flush() failed while partitions went to another: %s", self.id, error)
        except BaseException as error:
            self._failure = self._failure or error
        self._close(gone)

    def _lost(self, consumer: Any, places: list[Any]) -> None:
        if self._is_leaving or self.abandoned:
            return
        log.warning("Task %s lost its partitions to others: it was silent for too long.", self.id)
        self._close({TopicPartition(one.topic, one.partition) for one in places})

    def _close(self, gone: set[TopicPartition]) -> None:
        try:
            self.call(self.parts.task.close, gone)
        except BaseException as error:
            self._failure = self._failure or error
        self.context.forget(gone)
        for place in gone:
            self._positions.pop(place, None)
            self._safe.pop(place, None)
        self._batch = None if self._batch is None else self._batch.without(gone)
        self.metric.gauge("partition-count", len(self.context.assigned))

    def _leave(self, commit: bool) -> None:
        """In good order: what was put is flushed and committed, and the group knows at once that we are gone."""
        places = set(self.context.assigned)
        try:
            if commit and places and self._is_in_time():
                try:
                    self._commit(places)
                except RetriableError as error:
                    log.warning("Task %s: flush() failed at the end; its records are read again: %s", self.id, error)
        finally:
            self._is_leaving = True
            try:
                if places and not self.abandoned:
                    self.call(self.parts.task.close, places)
            finally:
                self._depart()

    def _depart(self) -> None:
        if self._subscription is None:
            return
        with self._in_client:
            consumer, self.consumer = self.consumer, None
            if consumer is not None:
                leave_and_close(consumer)

    def abandon(self) -> None:
        """The thread may be stuck in the task for ever: the group must not wait for it."""
        super().abandon()
        if self._dead_letters is not None:
            self._dead_letters.purge()
        if self._subscription is not None:
            self._is_leaving = True
            threading.Thread(target=self._depart, name=f"abandon-{self.id}", daemon=True).start()

    def release(self) -> None:
        self.parts.task.__dict__.pop("context", None)
        if self._dead_letters is not None:
            self._dead_letters.close()
        self._depart()  # a run that ended before it began to read

    # -- for the context ---------------------------------------------------------------------------------------------

    def assignment(self) -> set[TopicPartition]:
        return set(self.context.assigned)

    def pause_partitions(self, places: set[TopicPartition]) -> None:
        if places and not self._is_assigning:  # what is paused in open() is paused when it is assigned
            self.consumer.pause([Place(*one) for one in places])

    def resume_partitions(self, places: set[TopicPartition]) -> None:
        if (wanted := places - self.context.paused) and not self._is_assigning:
            self.consumer.resume([Place(*one) for one in wanted])
