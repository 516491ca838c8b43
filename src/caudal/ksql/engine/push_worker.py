"""The process of a push query: the query's topology in the interpreter, fed from Kafka, rows sent back over a pipe.

    python -m caudal.ksql.engine.push_worker <file descriptor>

It imports what it needs, says "ready", and waits for a job (`Job`); that runs until its limit, its end or an error, and
then it waits for the next one. When the other end is closed, the process ends. Every sub-topology is one task that gets
all partitions, the oldest head first; state is in memory. What goes to a repartition topic comes back in, without
Kafka.

With `ends` it reads up to there and stops: that is how a pull query over a stream is answered.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import signal
import sys
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, TopicPartition

from caudal.plan.topology import SinkNode, SourceNode, SubTopology, Topology
from caudal.runtime.errors import Handlers, Interrupted, OnError, StreamsError
from caudal.runtime.record import Headers
from caudal.runtime.stores import TaskState
from caudal.runtime.task import Task

Place = tuple[str, int]

POLL_SECONDS = 0.05
MOST = 1000  # messages of one poll
QUEUED = 20_000  # records of a partition that wait for others before it is paused
IDLE_SECONDS = 0.5  # how long a partition that has not answered keeps the others waiting
BATCH_ROWS = 500
LOOK_SECONDS = 1.0
TIMESTAMP_NONE = 0


@dataclass(frozen=True, slots=True)
class Job:
    """`columns` says for each column of a row where it is: (is it in the key, index)."""

    topology: Topology
    topic: str  # whose records are the rows
    columns: tuple[tuple[bool, int], ...]
    begins: Mapping[Place, int]
    client: Mapping[str, Any]
    limit: int | None = None
    ends: Mapping[Place, int] | None = None
    handlers: Handlers = field(default_factory=lambda: Handlers(deserialization=OnError.SKIP))
    keyed: bool = False  # rows are sent as (key, row), tombstones as (key, None): for whoever keeps the last of each


class Tombstone(tuple[Any, ...]):
    """A row that was taken back: its key columns, NULL for the others."""


class _Message(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class Host:
    """The topology's tasks in this process. `rows` collects what goes to the output topic."""

    def __init__(self, job: Job) -> None:
        self.rows: list[Any] = []
        self._job = job
        self._left = job.limit
        self._readers: dict[str, list[Task]] = {}
        self._tasks: list[Task] = []
        self._states: list[TaskState] = []
        self._pending: deque[_Message] = deque()
        self._internal = {
            topic for node in job.topology.nodes if isinstance(node, SourceNode) for topic in node.topics
        } - {topic for topic, _ in job.begins}
        sink = next(node for node in job.topology.nodes if isinstance(node, SinkNode) and node.topic == job.topic)
        self._read_key, self._read_value = sink.key.deserialize, sink.value.deserialize
        for sub in job.topology.subtopologies:
            self._add_task(sub)
        self._run_pending()

    def _add_task(self, sub: SubTopology) -> None:
        state = TaskState(None, sub.stores, 0)
        self._states.append(state)
        task = Task(self._job.topology, sub, 0, state.stores, self._emit, handlers=self._job.handlers)
        self._tasks.append(task)
        for topic in task.source_topics:
            self._readers.setdefault(topic, []).append(task)

    def timestamp_of(self, message: _Message) -> int:
        task = self._readers[message.topic][0]
        if not task.has_extractors:
            return message.timestamp
        return task.timestamp_of(message.topic, message.timestamp, message.key, message.value)

    def process(self, message: _Message) -> None:
        self._pending.append(message)
        self._run_pending()

    def _run_pending(self) -> None:
        pending = self._pending
        while pending:
            one = pending.popleft()
            for task in self._readers[one.topic]:
                task.partition = one.partition  # one task has all partitions; ROWPARTITION is the record's
                try:
                    task.process(one.topic, one.offset, one.timestamp, one.key, one.value, one.headers)
                except Interrupted as interrupted:
                    raise interrupted.cause from None

    def punctuate(self) -> None:
        now = int(time.time() * 1000)
        for task in self._tasks:
            task.punctuate(now)
        self._run_pending()

    def _emit(
        self,
        topic: str,
        partition: int | None,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
    ) -> None:
        if topic == self._job.topic:
            self._take(key, value)
        elif topic in self._internal:
            self._pending.append(_Message(topic, partition or 0, 0, timestamp, key, value, headers))

    def _take(self, key: bytes | None, value: bytes | None) -> None:
        if self._left is not None:
            if self._left <= 0:
                return  # the record that gave the last row gave more
            self._left -= 1
        keys = () if key is None else self._read_key(key)
        values = None if value is None else self._read_value(value)
        row: Any
        if values is None:
            row = Tombstone((keys[at] if of_key and at < len(keys) else None) for of_key, at in self._job.columns)
        else:
            row = tuple(
                ((keys[at] if at < len(keys) else None) if of_key else values[at]) for of_key, at in self._job.columns
            )
        self.rows.append((key, None if values is None else row) if self._job.keyed else row)

    @property
    def is_done(self) -> bool:
        return self._left is not None and self._left <= 0

    def close(self) -> None:
        for task in self._tasks:
            task.close()
        for state in self._states:
            state.close()


class Feed:
    """All partitions of the sources, merged: the oldest head first, of what was fetched."""

    def __init__(self, job: Job, host: Host) -> None:
        self._job = job
        self._host = host
        self._queues: dict[Place, deque[_Message]] = {place: deque() for place in job.begins}
        self._at_end: set[Place] = set()
        self._done: set[Place] = set()
        self._paused: set[Place] = set()
        self._waiting_since = 0.0
        settings = {
            "group.id": f"_caudal-ksql-push-{os.getpid()}",  # never joined
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 50,
            "fetch.queue.backoff.ms": 20,
            "queued.max.messages.kbytes": 16 << 10,
        }
        self._consumer = Consumer({**settings, **job.client})
        self._consumer.assign(
            [TopicPartition(topic, partition, begin) for (topic, partition), begin in job.begins.items()]
        )
        if job.ends is not None:
            self._done = {place for place, end in job.ends.items() if job.begins[place] >= end}

    @property
    def is_done(self) -> bool:
        """Everything up to the ends was read and processed; never without ends."""
        return self._job.ends is not None and self._done >= set(self._queues) and not any(self._queues.values())

    def turn(self) -> None:
        """Reads what is there and processes what is in order."""
        ready = self._is_complete()
        for message in self._consumer.consume(MOST, 0 if ready else POLL_SECONDS):
            self._take(message)
        if self._is_complete() or self._waited_long():
            self._process()

    def _is_complete(self) -> bool:
        """Whether every partition has a record, or none left: then it is known which is the oldest."""
        waiting = any(self._queues.values())
        return waiting and all(
            queue or place in self._at_end or place in self._done for place, queue in self._queues.items()
        )

    def _waited_long(self) -> bool:
        if not any(self._queues.values()):
            self._waiting_since = 0.0
            return False
        if not self._waiting_since:
            self._waiting_since = time.monotonic()
        return time.monotonic() - self._waiting_since > IDLE_SECONDS

    def _take(self, message: Any) -> None:
        place = (message.topic(), message.partition())
        error = message.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                self._at_end.add(place)
                if self._job.ends is not None and message.offset() >= self._job.ends[place]:
                    self._done.add(place)
            elif error.fatal() or error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
                raise StreamsError(f"Topic '{place[0]}' cannot be read: {error.str()}.")
            return
        ends = self._job.ends
        if ends is not None:
            if message.offset() >= ends[place]:
                self._done.add(place)
                return
            if message.offset() == ends[place] - 1:
                self._done.add(place)
        self._at_end.discard(place)
        queue = self._queues[place]
        _, timestamp = message.timestamp()
        queue.append(
            _Message(
                place[0],
                place[1],
                message.offset(),
                max(timestamp, TIMESTAMP_NONE),
                message.key(),
                message.value(),
                tuple(message.headers() or ()),
            )
        )
        if len(queue) > QUEUED and place not in self._paused:
            self._paused.add(place)
            self._consumer.pause([TopicPartition(*place)])

    def _process(self) -> None:
        self._waiting_since = 0.0
        complete_at_start = self._is_complete()
        while True:
            heads = [(self._host.timestamp_of(queue[0]), place) for place, queue in self._queues.items() if queue]
            if not heads or (complete_at_start and not self._is_complete()):
                break
            _, place = min(heads)
            if len(heads) == 1:
                self._drain(place)
            else:
                self._host.process(self._queues[place].popleft())
            if len(self._host.rows) >= BATCH_ROWS or self._host.is_done:
                break
        for place in [place for place in self._paused if len(self._queues[place]) < QUEUED // 2]:
            self._paused.discard(place)
            self._consumer.resume([TopicPartition(*place)])

    def _drain(self, place: Place) -> None:
        """Nothing to compare with: up to a batch of rows at once."""
        queue = self._queues[place]
        while queue and len(self._host.rows) < BATCH_ROWS and not self._host.is_done:
            self._host.process(queue.popleft())

    def close(self) -> None:
        self._consumer.close()


def run(job: Job, pipe: Connection) -> None:
    """Sends ("rows", list), then ("end",) or ("error", sentence)."""
    host = Host(job)
    try:
        feed = Feed(job, host)
    except BaseException:
        host.close()
        raise
    looked = time.monotonic()
    try:
        while not feed.is_done and not host.is_done:
            feed.turn()
            host.punctuate()
            if host.rows:
                rows, host.rows = host.rows, []
                pipe.send(("rows", rows))  # blocks while the reader is slow: then nothing is read from Kafka either
            if time.monotonic() - looked > LOOK_SECONDS:
                looked = time.monotonic()
                if pipe.poll(0):
                    raise EOFError  # the other end is closed: nothing is sent here while a job runs
    finally:
        feed.close()
        host.close()
    pipe.send(("end",))


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    pipe = Connection(int(sys.argv[1]))
    _warm()
    try:
        pipe.send(("ready",))
        while True:
            data = pipe.recv_bytes()
            try:
                run(pickle.loads(data), pipe)
            except (BrokenPipeError, ConnectionResetError, EOFError):
                raise
            except Exception as error:
                text = str(error) if isinstance(error, StreamsError) else f"{type(error).__name__}: {error}"
                logging.getLogger("caudal.ksql.push").info("a push query ended", exc_info=True)
                pipe.send(("error", text))
    except (BrokenPipeError, ConnectionResetError, EOFError):
        pass  # nobody wants rows any more
    finally:
        os._exit(0)  # no wait for librdkafka's threads


def _warm() -> None:
    """Imports that plans need, before there is one."""
    import importlib

    for name in (
        "caudal.ksql.expressions.compiled",
        "caudal.ksql.expressions.aggregation",
        "caudal.ksql.formats.serdes",
        "caudal.ksql.functions.resolution",
        "caudal.ksql.planner.plan",
        "caudal.runtime.operators",
    ):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


if __name__ == "__main__":
    main()
