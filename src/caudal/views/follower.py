"""The thread that keeps views up to date: one consumer for all of them, read_committed, outside any group's assignment.

For each view: find the topic, decide whether the local index is a prefix of it, read on from there. The rule is that of
a task's restore (`runtime/spark/restore.py`): an index that the log cannot explain is made anew, never trusted. That is
so where the topic is another one by now, the index is ahead of it, the log begins after it, or it is behind and older
than compaction keeps deletions.

A topic that is missing, deleted or widened, and a broker that goes away, are waited for; a view whose index cannot be
written has failed, and says so to whoever asks. The other views go on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from caudal.plan.topology import StoreSpec
from caudal.runtime.spark.kafka_errors import kafka_error, reason
from caudal.runtime.spark.restore import TOMBSTONE_SECONDS
from caudal.runtime.spark.settings import Settings
from caudal.runtime.stores.base import LogRecord
from caudal.views.index import ViewIndex
from caudal.views.progress import Progress
from caudal.views.topics import CALL_SECONDS, Found, Place, Topics

log = logging.getLogger("caudal.views")

POLL_SECONDS = 0.1
GATHER_SECONDS = 0.01  # how long the first record of a write waits for company: a write costs as much as 50 records
FIRST_PORTION = 10_000  # records per write until a view is ready; nobody reads yet
PORTION = 250  # afterwards: readers wait for a write, and one of so many random keys takes 2 or 3 ms
MEASURE_SECONDS = 1.0
MEASURE_CALL_SECONDS = 3.0
LOOK_SECONDS = 5.0  # between looks at whether topics are still the same
RETRY_SECONDS = 0.5
TOUCH_SECONDS = 600.0  # a quiet view notes that it is still as the log is
STOP_SECONDS = 30.0
CLOSED = "it was closed"

_GONE = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION})
_OFF = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE})


class Followed:
    """One store and its topic, with what the follower makes of it."""

    def __init__(self, spec: StoreSpec, topic: str, folder: Path, engine: str) -> None:
        self.spec = spec
        self.topic = topic
        self.folder = folder
        self.engine = engine
        self.progress = Progress()
        self.index: ViewIndex | None = None  # None until the topic is found, and where the view has failed
        self.is_open = False  # it is being read
        self.is_wanted = True
        self.retry_at = 0.0

    @property
    def places(self) -> list[Place]:
        return [(self.topic, number) for number in self.progress.positions]

    def close(self) -> None:
        if self.index is not None:
            if self.is_open and self.progress.is_within(0):
                self.index.apply({}, self.progress.positions)
            self.index.close()
            self.index = None
        self.is_open = False


class Follower:
    """Follows until `close`. The thread begins with the first view."""

    def __init__(self, settings: Settings, name: str) -> None:
        self._settings = settings
        self._name = name
        self.topics = Topics(settings)
        self._followed: list[Followed] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._consumer: Any = None
        self._measured = self._looked = 0.0
        self._more = False  # the last portion was full: more is waiting

    def add(self, followed: Followed) -> None:
        with self._lock:
            self._followed.append(followed)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=f"{self._name}-views", daemon=True)
                self._thread.start()

    def remove(self, followed: Followed) -> None:
        """Stops following this one; the thread lets it go in a moment."""
        followed.is_wanted = False
        followed.progress.fail(CLOSED)

    def close(self) -> None:
        self._closing.set()
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)

    # -- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._consumer = Consumer(
                self._settings.librdkafka(
                    **{
                        "group.id": f"{self._name}-views",  # never joined
                        "isolation.level": "read_committed",
                        "enable.auto.commit": False,
                        "enable.partition.eof": True,
                        "auto.offset.reset": "error",
                        # The end of a partition is reported when a fetch finds nothing; a waiting query waits for it.
                        "fetch.wait.max.ms": 50,
                        "fetch.queue.backoff.ms": 20,
                        "fetch.error.backoff.ms": 100,
                        "queued.max.messages.kbytes": 16 << 10,
                    }
                )
            )
            while not self._closing.is_set():
                try:
                    self._turn()
                except KafkaException as error:  # passes, or is met again
                    for followed in self._open():
                        followed.progress.trouble = _words(error)
                    self._closing.wait(RETRY_SECONDS)
        except Exception as error:
            log.exception("the views of '%s' are not kept up to date any more", self._name)
            for followed in self._all():
                followed.progress.fail(f"the thread that keeps it up to date has failed: {error}")
        finally:
            for followed in self._all():
                followed.progress.fail(CLOSED)
                self._close(followed)
            if self._consumer is not None:
                self._consumer.close()

    def _turn(self) -> None:
        self._let_go()
        self._look_again()
        self._open_waiting()
        self._measure()
        self._read()

    def _let_go(self) -> None:
        gone = [followed for followed in self._all() if not followed.is_wanted]
        if gone:
            with self._lock:
                self._followed = [followed for followed in self._followed if followed.is_wanted]
            self._assign()
            for followed in gone:
                self._close(followed)

    def _all(self) -> list[Followed]:
        with self._lock:
            return list(self._followed)

    def _open(self) -> list[Followed]:
        return [followed for followed in self._all() if followed.is_open]

    def _close(self, followed: Followed) -> None:
        try:
            followed.close()
        except Exception as error:  # the disk is full, say: the next start finds what was committed before
            log.warning("the view of store '%s' did not close cleanly: %s", followed.spec.name, error)

    # -- beginning ---------------------------------------------------------------------------------------------------

    def _open_waiting(self) -> None:
        now = time.monotonic()
        waiting = [
            followed
            for followed in self._all()
            if not followed.is_open and followed.progress.failed is None and followed.retry_at <= now
        ]
        if not waiting:
            return
        for followed in waiting:
            followed.retry_at = now + RETRY_SECONDS
        try:
            found = self.topics.find(followed.topic for followed in waiting)
            for followed in waiting:
                if followed.topic in found:
                    self._begin(followed, found[followed.topic])
                else:
                    followed.progress.interrupted(f"topic '{followed.topic}' does not exist")
        except KafkaException as error:
            words = _words(error)
            for followed in waiting:
                if not followed.is_open:
                    followed.progress.interrupted(words)
        if any(followed.is_open for followed in waiting):
            self._assign()

    def _begin(self, followed: Followed, topic: Found) -> None:
        # librdkafka would look for the leaders of a newly assigned topic only once a second.
        self._consumer.list_topics(followed.topic, CALL_SECONDS)
        places = [(followed.topic, number) for number in range(topic.partitions)]
        begins = {number: offset for (_, number), offset in self.topics.begins(places).items()}
        ends = {number: offset for (_, number), offset in self.topics.ends(places).items()}
        try:
            index = followed.index
            if index is not None and index.partitions != topic.partitions:
                index.close()
                index = None
            if index is None:
                index = ViewIndex(followed.folder, followed.spec, topic.partitions, followed.engine)
                followed.index = index
            why = doubt(index, topic.id, begins, ends)
            if why is not None:
                log.warning("the view of store '%s' is made anew: %s", followed.spec.name, why)
            known = {} if why is not None else index.offsets
            positions = {number: known.get(number, begin) for number, begin in begins.items()}
            index.begin(topic.id, positions, anew=why is not None)
        except Exception as error:
            self._fail(followed, error)
            return
        followed.progress.begin(positions, ends)
        followed.is_open = True

    def _assign(self) -> None:
        """Where two views follow one topic it is read from the less far one on; the other leaves out what it has."""
        starts: dict[Place, int] = {}
        for followed in self._open():
            for number, at in followed.progress.positions.items():
                place = (followed.topic, number)
                starts[place] = min(at, starts.get(place, at))
        self._consumer.assign([TopicPartition(*place, at) for place, at in starts.items()])

    def _fail(self, followed: Followed, error: Exception) -> None:
        log.error("the view of store '%s' has failed: %s", followed.spec.name, error)
        followed.progress.fail(str(error).rstrip("."))
        if followed.index is not None:
            followed.index.close()
            followed.index = None
        followed.is_open = False

    # -- reading -----------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        first = self._consumer.poll(POLL_SECONDS)
        if first is None:
            return
        most = PORTION if all(followed.progress.ready for followed in self._open()) else FIRST_PORTION
        if not self._more:
            time.sleep(GATHER_SECONDS)
        more = self._consumer.consume(most - 1, 0)
        self._more = len(more) == most - 1
        batches: dict[Place, list[Any]] = {}
        eofs: dict[Place, int] = {}
        for message in (first, *more):
            error = message.error()
            if error is None:
                batches.setdefault((message.topic(), message.partition()), []).append(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                eofs[message.topic(), message.partition()] = message.offset()  # past the last marker
            else:
                self._trouble(message.topic(), error)
        for followed in self._open():
            self._take(followed, batches, eofs)

    def _take(self, followed: Followed, batches: Mapping[Place, list[Any]], eofs: Mapping[Place, int]) -> None:
        records: dict[int, list[LogRecord]] = {}
        positions: dict[int, int] = {}
        for number, at in followed.progress.positions.items():
            place = (followed.topic, number)
            batch = batches.get(place)
            if batch is not None and batch[-1].offset() >= at:
                records[number] = [
                    (key, message.value(), max(message.timestamp()[1], 0))
                    for message in batch
                    if message.offset() >= at and (key := message.key()) is not None
                ]
                positions[number] = batch[-1].offset() + 1
            if place in eofs:
                positions[number] = max(positions.get(number, at), eofs[place])
        if positions and (not records or self._write(followed, records, positions)):
            followed.progress.moved(positions)

    def _write(self, followed: Followed, records: Mapping[int, list[LogRecord]], positions: Mapping[int, int]) -> bool:
        assert followed.index is not None
        try:
            followed.index.apply(records, positions)
        except Exception as error:  # a full disk, say: this view has failed, the others go on
            self._fail(followed, error)
            self._assign()
            return False
        return True

    def _trouble(self, topic: str | None, error: KafkaError) -> None:
        code = error.code()
        for followed in self._open():
            if code in _GONE | _OFF and followed.topic == topic:
                self._interrupt(followed, reason(error))  # deleted, made anew, or records taken away: look again
            else:
                followed.progress.trouble = reason(error)

    def _interrupt(self, followed: Followed, why: str) -> None:
        log.warning("the view of store '%s' begins again: %s", followed.spec.name, why)
        followed.is_open = False
        followed.retry_at = time.monotonic() + RETRY_SECONDS
        followed.progress.interrupted(why)
        self._assign()

    # -- now and then ------------------------------------------------------------------------------------------------

    def _measure(self) -> None:
        now = time.monotonic()
        if now - self._measured < MEASURE_SECONDS or not self._open():
            return
        self._measured = now
        try:
            places = {place for followed in self._open() for place in followed.places}
            ends = self.topics.ends(places, MEASURE_CALL_SECONDS)
        except KafkaException as error:
            for followed in self._open():
                followed.progress.trouble = _words(error)
            return
        for followed in self._open():
            followed.progress.measured({number: ends[topic, number] for topic, number in followed.places})

    def _look_again(self) -> None:
        """Whether each topic is still the one it was, and as wide."""
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS or not self._open():
            return
        self._looked = now
        try:
            found = self.topics.find(followed.topic for followed in self._open())
        except KafkaException:
            return
        for followed in self._open():
            index, topic = followed.index, found.get(followed.topic)
            assert index is not None
            if topic is None:
                self._interrupt(followed, f"topic '{followed.topic}' was deleted")
            elif topic.id != index.topic_id or topic.partitions != index.partitions:
                self._interrupt(followed, f"topic '{followed.topic}' was made anew or has other partitions")
            elif followed.progress.is_within(0):
                if index.age > TOUCH_SECONDS:
                    self._write(followed, {}, followed.progress.positions)
            elif index.age > TOMBSTONE_SECONDS:
                self._interrupt(followed, "it was behind for so long that deletions may have been missed")


def doubt(index: ViewIndex, topic_id: str, begins: Mapping[int, int], ends: Mapping[int, int]) -> str | None:
    """Why the index cannot be a prefix of the log; None where it can, or where it is empty."""
    if index.topic_id is None:
        return None
    if index.topic_id != topic_id:
        return "the topic was deleted and made anew"
    behind = False
    for number, at in index.offsets.items():
        begin, end = begins.get(number, 0), ends.get(number, 0)
        if at > end:
            return f"it stands for offset {at} of partition {number}, but the topic ends at {end}"
        if at < begin:
            return f"it stands for offset {at} of partition {number}, but the topic begins at {begin}"
        behind = behind or at < end
    if behind and index.age > TOMBSTONE_SECONDS:
        return f"it is {index.age / 3600:.0f} hours old, and compaction may have removed deletions since"
    return None


def _words(error: KafkaException) -> str:
    cause = kafka_error(error)
    return reason(cause) if cause is not None else str(error)
