"""Global tables in a worker: all partitions of their topics, read into stores that every task of the process may look
up.

Read to the end before the first record is processed, and again before each batch: what was in the topic when the
batch began is visible to it. (Kafka Streams keeps them up to date in a thread of its own; tied to batches, two runs
see the same.) In real-time mode they follow: what has come is taken in before each row.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from caudal.plan.topology import SubTopology
from caudal.runtime.errors import Interrupted, StreamsError
from caudal.runtime.record import Headers
from caudal.runtime.spark.restore import TOMBSTONE_SECONDS, Progress
from caudal.runtime.spark.settings import Cargo
from caudal.runtime.stores import TaskState
from caudal.runtime.task import Task

log = logging.getLogger("caudal.streams")

CALL_SECONDS = 15.0
ATTEMPTS = 3  # with a record whose schema cannot be had
OPEN_TRANSACTION_SECONDS = (
    0.1  # how long a batch waits for the end of a partition that a foreign transaction holds open
)


class GlobalTables:
    """Of one application in one worker process."""

    def __init__(self, cargo: Cargo, slot: int) -> None:
        self.stores: dict[str, Any] = {}
        self._cargo = cargo
        self._states: dict[int, TaskState] = {}
        self._tasks: dict[str, tuple[int, Task]] = {}  # topic → sub-topology, interpreter
        self._ends: dict[tuple[str, int], int] = {}
        self._consumer: Any = None
        for sub in cargo.topology.global_subtopologies:
            self._add(sub, slot)

    def _add(self, sub: SubTopology, slot: int) -> None:
        settings = self._cargo.settings
        folder = Path(settings.state_dir) / self._cargo.application_id / f"{sub.id}_global_{slot}"
        state = TaskState(folder, sub.stores, 0, engine=settings.engine)
        self._states[sub.id] = state
        self.stores.update(state.stores)
        task = Task(
            self._cargo.topology,
            sub,
            0,
            state.stores,
            _emit_nothing,
            global_stores=self.stores,
            handlers=settings.handlers,
        )
        for topic in sub.source_topics:
            self._tasks[topic] = (sub.id, task)

    def open(self, progress: Progress) -> None:
        """Reads from where the local state is to the end."""
        if not self._tasks:
            return
        self._consumer = Consumer(
            self._cargo.settings.librdkafka(
                **{
                    "group.id": f"{self._cargo.application_id}-global",  # never joined
                    "isolation.level": self._cargo.settings.isolation_level,
                    "enable.auto.commit": False,
                    "enable.partition.eof": True,
                    "auto.offset.reset": "error",
                    "fetch.wait.max.ms": 20,
                }
            )
        )
        places = []
        for topic, (sub, _) in self._tasks.items():
            bounds = {number: self._bounds(topic, number) for number in range(self._cargo.partitions[topic])}
            state = self._states[sub]
            meta = state.meta() or {}
            known = meta.get("offsets", {}).get(topic, {})
            old = time.time() - meta.get("written", 0) > TOMBSTONE_SECONDS
            if old or not all(low <= known.get(str(number), low) <= high for number, (low, high) in bounds.items()):
                state.wipe()
                known = {}
            for number, (low, _) in bounds.items():
                self._ends[topic, number] = known.get(str(number), low)
                places.append(TopicPartition(topic, number, self._ends[topic, number]))
        self._consumer.assign(places)
        self.catch_up(progress)

    def _bounds(self, topic: str, partition: int) -> tuple[int, int]:
        place = TopicPartition(topic, partition)
        low, high = self._consumer.get_watermark_offsets(place, CALL_SECONDS, cached=False)
        return low, high

    def catch_up(self, progress: Progress | None = None) -> None:
        """Everything that is in the topics now."""
        if self._consumer is None:
            return
        goals = {(topic, number): self._bounds(topic, number)[1] for topic, number in self._ends}
        missing = {place for place, goal in goals.items() if self._ends[place] < goal}
        total, done, quiet_since = len(missing), 0, time.monotonic()
        touched: set[int] = set()
        while missing:
            messages = self._consumer.consume(10_000, 0.05)
            done += self._take(messages, touched)
            missing = {place for place in missing if self._ends[place] < goals[place]}
            if messages:
                quiet_since = time.monotonic()
                if progress is not None:
                    progress("global tables", done, done + total)
            elif time.monotonic() - quiet_since > (OPEN_TRANSACTION_SECONDS if progress is None else CALL_SECONDS):
                break  # the rest is not committed yet
        for sub in touched:
            self._commit(sub)

    def follow(self) -> None:
        """What has come by now, without waiting."""
        if self._consumer is not None and (messages := self._consumer.consume(1000, 0)):
            touched: set[int] = set()
            self._take(messages, touched)
            for sub in touched:
                self._commit(sub)

    def _take(self, messages: list[Any], touched: set[int]) -> int:
        """Into the stores; how many records there were, and of which sub-topologies."""
        records = 0
        for message in messages:
            place = (message.topic(), message.partition())
            error = message.error()
            if error is None:
                sub, task = self._tasks[place[0]]
                headers: Headers = tuple(message.headers() or ())
                stamp = max(message.timestamp()[1], 0)
                _patiently(
                    partial(task.process, place[0], message.offset(), stamp, message.key(), message.value(), headers)
                )
                self._ends[place] = message.offset() + 1
                touched.add(sub)
                records += 1
            elif error.code() == KafkaError._PARTITION_EOF:
                self._ends[place] = max(self._ends[place], message.offset())
            else:
                raise KafkaException(error)
        return records

    def _commit(self, sub: int) -> None:
        offsets: dict[str, dict[str, int]] = {}
        for (topic, number), end in self._ends.items():
            if self._tasks[topic][0] == sub:
                offsets.setdefault(topic, {})[str(number)] = end
        self._states[sub].commit({"offsets": offsets, "written": time.time()})

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
        for _, task in self._tasks.values():
            task.close()
        for state in self._states.values():
            state.close()
        self._tasks, self._states = {}, {}


def _emit_nothing(
    topic: str, partition: int | None, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers
) -> None:
    """Global tables have no sinks; a dead-letter record of one has no transaction to go into and is only counted."""


def _patiently(process: Callable[[], None]) -> None:
    """Again while schemas cannot be had: nothing is known about the record, and without the table nothing can go on.
    Each attempt waits for the registry as long as its serde does."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            process()
            return
        except Interrupted as interrupted:
            if attempt == ATTEMPTS:
                raise StreamsError(str(interrupted.cause)) from None
