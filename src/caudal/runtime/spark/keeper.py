"""The keeper: the one real member of the application's group, in the driver.

It reads nothing (its partitions are paused). It is there so that the group shows as active, an offset reset is
refused while the application runs, offsets do not expire, and commits carry a generation that a successor makes
stale.

Who runs the application: the keeper topic has one partition, and whose keeper is assigned it is the owner. A standby is
not in the group: it asks every second who is, and joins when it is empty. As a member it would have no partition beside
an owner that has several, so the assignor would give it the keeper topic's, and the ownership would go back and forth
for ever. For the same reason a member that gets nothing leaves, and an owner subscribes to the source topics as soon as
it is alone: of several that join an empty group at the same time, one stays.

All calls to the consumer are made in the keeper's own thread: confluent-kafka lets one call in at a time, and a loop
that polls would keep everybody else out.
"""

from __future__ import annotations

import logging
import queue
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from caudal.leaving import leave_and_close
from caudal.runtime.errors import StreamsError
from caudal.runtime.spark.kafka_errors import reason
from caudal.runtime.spark.settings import Settings, keeper_topic

log = logging.getLogger("caudal.streams")

CALL_SECONDS = 15.0
CLOSE_SECONDS = 5.0
POLL_SECONDS = 0.05  # until the application is ours; a call of the host's does not wait for it
POLL_SECONDS_SETTLED = 0.2
LOOK_SECONDS = 1.0  # between two looks of a standby at the group
LOOK_CALL_SECONDS = 5.0
ALONE_SECONDS = 3.0  # how long an owner waits for others to leave, and a former one for its partition to come back

T = TypeVar("T")


class Keeper:
    """`on_change` is called (in the keeper's thread) when ownership comes or goes."""

    def __init__(
        self, application_id: str, settings: Settings, topics: Sequence[str], on_change: Callable[[], None]
    ) -> None:
        self.application_id = application_id
        self.joined = False  # the group has answered once: owner or standby is known
        self.owner = False
        self._topics = list(topics)
        self._own_topic = keeper_topic(application_id)
        self._on_change = on_change
        self._stop = threading.Event()
        self._settled = threading.Event()  # owner, and the generation of the full subscription
        self._assigned: set[tuple[str, int]] = set()
        self.failed: str | None = None
        self._consumer: Any = Consumer(
            settings.librdkafka(
                **{
                    "client.id": f"{application_id}-keeper",
                    "group.id": application_id,
                    "partition.assignment.strategy": "cooperative-sticky",
                    "isolation.level": "read_committed",  # committed offsets are asked for as stable ones
                    "session.timeout.ms": settings.session_timeout,
                    "heartbeat.interval.ms": max(settings.session_timeout // 6, 200),
                    "enable.auto.commit": False,
                    "enable.auto.offset.store": False,
                    "auto.offset.reset": "latest",
                    "allow.auto.create.topics": False,
                    # A subscription that comes while metadata is on its way may be seen to only with the next refresh.
                    "topic.metadata.refresh.interval.ms": 2_000,
                    "reconnect.backoff.max.ms": 1000,
                }
            )
        )
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._group: bytes | None = None
        self._client = settings.librdkafka(**{"client.id": "caudal-standby"})
        self._is_member = False  # subscribed
        self._has_nothing = False  # the group has given this member nothing: it leaves
        self._look_at = 0.0
        self._patience = 0.0  # until when it waits to be alone, or for what was taken away
        self._is_narrow = False  # the owner, and not yet subscribed to the source topics
        self._begins_anew = False  # it was the owner; the next poll subscribes as one that is not
        self._thread = threading.Thread(target=self._run, name=f"caudal-keeper-{application_id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _subscribe(self, topics: list[str]) -> None:
        if not self._stop.is_set():  # leaving calls back too
            self._consumer.subscribe(topics, on_assign=self._assign, on_revoke=self._revoke, on_lost=self._lose)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                if self._is_member:
                    self._poll()
                else:
                    self._stand_by()
            except Exception:
                log.warning("keeper of %s", self.application_id, exc_info=True)
                time.sleep(0.5)
            try:
                call = self._calls.get(timeout=POLL_SECONDS_SETTLED if self.settled else POLL_SECONDS)
                while True:
                    call()
                    call = self._calls.get_nowait()
            except queue.Empty:
                pass
        self._refuse_calls()
        self.owner = False
        try:
            leave_and_close(self._consumer)
        except Exception:
            log.debug("keeper of %s did not leave cleanly", self.application_id, exc_info=True)

    def _stand_by(self) -> None:
        """Joins when nobody is in the group."""
        if time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + LOOK_SECONDS
        members = _members(self._client, self.application_id)
        if members == 0:
            self._is_member, self._has_nothing = True, False
            self._subscribe([self._own_topic])
        elif members is not None and not self.joined:
            self.joined = True
            self._on_change()

    def _widen(self) -> None:
        """The owner subscribes to the source topics too."""
        alone = _members(self._client, self.application_id)
        if time.monotonic() > self._patience or (alone is not None and alone <= 1):
            self._is_narrow = False
            self._subscribe([self._own_topic, *self._topics])

    def _leave(self) -> None:
        """Somebody else is the owner."""
        self._is_member = self._has_nothing = False
        self._consumer.unsubscribe()
        self._assigned.clear()
        self._look_at = time.monotonic() + LOOK_SECONDS * random.uniform(0.5, 1.5)  # two that left come back apart

    def _refuse_calls(self) -> None:
        """Nobody may wait for a thread that has ended."""
        while True:
            try:
                self._calls.get_nowait()()
            except queue.Empty:
                return

    def _poll(self) -> None:
        message = self._consumer.poll(0)
        if message is not None and message.error() is not None:
            error = message.error()
            if error.fatal():
                self.failed = f"The group of '{self.application_id}' cannot be joined: {reason(error)}."
                self._stop.set()
                self._on_change()
            log.debug("keeper of %s: %s", self.application_id, error)
        if self._begins_anew:
            self._begins_anew = False
            self._subscribe([self._own_topic])
        if self._has_nothing and not self.owner and time.monotonic() > self._patience:
            self._leave()
        if self._is_narrow and self.owner:
            self._widen()
        self._group = self._consumer.consumer_group_metadata() if self.settled else None

    def _call(self, function: Callable[[], T]) -> T:
        """Runs it in the keeper's thread."""
        if threading.current_thread() is self._thread:
            return function()
        future: Future[T] = Future()

        def call() -> None:
            try:
                if self._stop.is_set():
                    raise StreamsError(f"'{self.application_id}' has left its group.")
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)

        self._calls.put(call)
        if not self._thread.is_alive():
            self._refuse_calls()
        return future.result(2 * CALL_SECONDS)

    # -- assignments (in the keeper's thread, inside poll) -----------------------------------------------------------

    def _assign(self, consumer: Any, partitions: list[TopicPartition]) -> None:
        consumer.incremental_assign(partitions)
        if partitions:
            consumer.pause(partitions)
        self._assigned |= {(place.topic, place.partition) for place in partitions}
        if (self._own_topic, 0) in self._assigned and not self.owner:
            self.owner = self._is_narrow = True
            self._patience = time.monotonic() + ALONE_SECONDS
        if self.owner and {topic for topic, _ in self._assigned} >= {self._own_topic, *self._topics}:
            self._settled.set()
        self._has_nothing = (self._own_topic, 0) not in self._assigned
        self.joined = True
        self._on_change()

    def _revoke(self, consumer: Any, partitions: list[TopicPartition]) -> None:
        consumer.incremental_unassign(partitions)
        self._forget(partitions)

    def _lose(self, consumer: Any, partitions: list[TopicPartition]) -> None:
        consumer.incremental_unassign(partitions)
        self._forget(partitions)

    def _forget(self, partitions: list[TopicPartition]) -> None:
        self._assigned -= {(place.topic, place.partition) for place in partitions}
        if self.owner and (self._own_topic, 0) not in self._assigned:
            self.owner = self._is_narrow = False
            self._settled.clear()
            self._patience = time.monotonic() + ALONE_SECONDS
            # Not from in here: librdkafka has ended the process when a callback subscribed (caudal/leaving.py).
            self._begins_anew = True
            self._on_change()

    # -- for the host, any thread ------------------------------------------------------------------------------------

    @property
    def settled(self) -> bool:
        return self.owner and self._settled.is_set()

    def group(self) -> bytes | None:
        """The group metadata that a transaction's offsets go with; None while somebody else owns the application."""
        return self._group if self.settled else None

    def committed(self, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], tuple[int, str]]:
        """Stable offsets (after a fence no transaction is in the way) with their metadata; -1 where there is none."""
        if not places:
            return {}
        wanted = [TopicPartition(topic, partition) for topic, partition in places]
        result = {}
        for place in self._call(lambda: self._consumer.committed(wanted, CALL_SECONDS)):
            if place.error is not None:
                raise KafkaException(place.error)
            result[place.topic, place.partition] = (max(place.offset, -1), place.metadata or "")
        return result

    def commit(self, offsets: Sequence[TopicPartition]) -> None:
        if not self.owner:
            raise StreamsError(f"Another instance runs '{self.application_id}' now.")
        places = list(offsets)
        for place in self._call(lambda: self._consumer.commit(offsets=places, asynchronous=False)):
            if place.error is not None:
                raise KafkaException(place.error)

    def close(self) -> None:
        """Leaves the group: a standby takes over at once."""
        self._stop.set()
        if self._thread.is_alive():
            if threading.current_thread() is not self._thread:
                self._thread.join(CLOSE_SECONDS)
        elif self._thread.ident is None:  # it was never started
            try:
                self._consumer.close()
            except RuntimeError:
                pass  # closed before


_admins: dict[tuple[tuple[str, Any], ...], Any] = {}
_admins_lock = threading.Lock()


def _members(client: dict[str, Any], group: str) -> int | None:
    """How many members the group has; None where the broker does not say. One client for all keepers of a cluster."""
    key = tuple(sorted(client.items()))
    with _admins_lock:
        if key not in _admins:
            _admins[key] = AdminClient(client)
        admin = _admins[key]
    try:
        found = admin.describe_consumer_groups([group], request_timeout=LOOK_CALL_SECONDS)[group]
        return len(found.result(LOOK_CALL_SECONDS + 1).members)
    except (KafkaException, TimeoutError) as error:
        if isinstance(error, KafkaException) and error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
            return 0  # there was none yet, in Kafka's newer words
        log.debug("the group %s cannot be described: %s", group, error)
        return None
