"""A compacted topic that workers share: made with the right settings, read to its end, then followed by a thread."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType

from caudal.connect.errors import ConnectError

log = logging.getLogger("caudal.connect.topics")

MOST = 2000
POLL_SECONDS = 0.2
ANSWER_SECONDS = 15.0
START_SECONDS = 60.0


class Entry(NamedTuple):
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


# What was read, in order; from the reader's thread.
Deliver = Callable[[list[Entry]], None]


def ensure_topic(client: Mapping[str, Any], topic: str, partitions: int, most: int | None = None) -> int:
    """Makes the topic where it is missing; returns how many partitions it has. Refuses one that is not compacted, or
    that has more than `most` partitions."""
    admin = AdminClient(dict(client))
    try:
        known = admin.list_topics(timeout=ANSWER_SECONDS)
        if topic not in known.topics or known.topics[topic].error is not None:
            replicas = min(3, max(1, len(known.brokers)))
            new = NewTopic(topic, partitions, replicas, config={"cleanup.policy": "compact"})
            try:
                admin.create_topics([new], request_timeout=ANSWER_SECONDS)[topic].result(ANSWER_SECONDS + 1)
                return partitions
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
            known = admin.list_topics(timeout=ANSWER_SECONDS)
        resource = ConfigResource(ResourceType.TOPIC, topic)
        described = admin.describe_configs([resource], request_timeout=ANSWER_SECONDS)[resource]
        policy = described.result(ANSWER_SECONDS + 1)["cleanup.policy"].value
    except KafkaException as error:
        raise ConnectError(f"The topic {topic} cannot be made or looked at: {error.args[0].str()}.") from None
    except TimeoutError:
        raise ConnectError(f"The broker did not answer in time about the topic {topic}.") from None
    if policy != "compact":
        raise ConnectError(
            f"Topic '{topic}' must be compacted, so that nothing in it is ever lost, but its cleanup.policy is "
            f"'{policy}': set it to 'compact', or name another topic."
        )
    count = len(known.topics[topic].partitions)
    if most is not None and count > most:
        raise ConnectError(
            f"Topic '{topic}' must have {most} partition{'s' if most > 1 else ''}, because its order counts, "
            f"but it has {count}: name another topic."
        )
    return count


class TopicReader:
    """Follows all partitions from their beginning. Committed records only."""

    def __init__(self, client: Mapping[str, Any], topic: str, partitions: int, deliver: Deliver) -> None:
        self.trouble: str | None = None
        self._topic = topic
        self._deliver = deliver
        self._stopping = threading.Event()
        self._positions = dict.fromkeys(range(partitions), 0)
        self._moved = threading.Condition()
        settings = {
            "group.id": "unused-no-commits",  # a consumer must have one; this one assigns itself and commits nothing
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 100,  # the end is told after an empty fetch
            "fetch.queue.backoff.ms": 10,
            "queued.max.messages.kbytes": 16384,
        }
        self._consumer = Consumer({**client, **settings})
        self._admin: AdminClient | None = AdminClient(dict(client))
        self._thread = threading.Thread(target=self._run, name=f"connect-{topic}", daemon=True)

    def start(self, seconds: float = START_SECONDS) -> None:
        """Returns when everything that is there has been read."""
        # Not OFFSET_BEGINNING, whose look-up takes half a second. Where 0 is gone, the earliest is meant.
        self._consumer.assign([TopicPartition(self._topic, number, 0) for number in self._positions])
        self._thread.start()
        if not self.read_to_end(seconds):
            raise ConnectError(
                f"The topic {self._topic} could not be read to its end in {seconds:.0f} s: {self.trouble}"
            )

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(ANSWER_SECONDS)
        self._admin = None

    def read_to_end(self, seconds: float) -> bool:
        """Waits until everything that is committed now has been handed over."""
        deadline = time.monotonic() + seconds
        admin = self._admin
        if admin is None:
            return False
        try:
            ends = self._ends(admin, seconds)
        except (KafkaException, TimeoutError) as error:
            self.trouble = str(error)
            return False
        with self._moved:
            while any(self._positions[number] < end for number, end in ends.items()):
                if not self._moved.wait(deadline - time.monotonic()) or self._stopping.is_set():
                    return all(self._positions[number] >= end for number, end in ends.items())
        return True

    def _ends(self, admin: AdminClient, seconds: float) -> dict[int, int]:
        asked = {TopicPartition(self._topic, number): OffsetSpec.latest() for number in self._positions}
        # What a dead writer has left open is not waited for: nobody will ever read it.
        answers = admin.list_offsets(
            asked,
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=max(1.0, min(seconds, ANSWER_SECONDS)),
        )
        return {place.partition: int(answer.result(ANSWER_SECONDS + 1).offset) for place, answer in answers.items()}

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
        positions: dict[int, int] = {}
        for message in messages:
            error = message.error()
            if error is None:
                entries.append(Entry(message.partition(), message.offset(), message.key(), message.value()))
                positions[message.partition()] = message.offset() + 1
            elif error.code() == KafkaError._PARTITION_EOF:
                positions[message.partition()] = message.offset()
                self.trouble = None
            else:
                self._complain(error)
        if entries:
            try:
                self._deliver(entries)
            except Exception:  # a reader that dies would leave the worker blind
                log.exception("records of %s could not be taken over", self._topic)
        with self._moved:
            self._positions.update(positions)
            self._moved.notify_all()

    def _complain(self, error: KafkaError) -> None:
        reason = error.str()
        if reason != self.trouble:
            log.warning("reading %s: %s", self._topic, reason)
        self.trouble = reason
        self._stopping.wait(0.1)
