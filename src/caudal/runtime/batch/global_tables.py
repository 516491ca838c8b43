"""Global tables in a batch worker: read from their beginning to the batch's end before the first record is processed.

Each Spark task reads them for itself, into a store on its disk. Nothing is kept for later, no group is joined.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caudal.runtime.batch.bounds import Place, Range
from caudal.runtime.errors import StreamsError
from caudal.runtime.record import Headers
from caudal.runtime.spark.settings import Cargo
from caudal.runtime.stores import TaskState
from caudal.runtime.task import Task

QUIET_SECONDS = 60.0
PENDING = 50_000
LOOK_ROWS = 4000


class GlobalTables:
    def __init__(self, cargo: Cargo, folder: Path) -> None:
        self.stores: dict[str, Any] = {}
        self._cargo = cargo
        self._states: list[TaskState] = []
        self._taken = 0
        self._tasks: dict[str, tuple[Task, TaskState]] = {}
        for sub in cargo.topology.global_subtopologies:
            state = TaskState(folder / f"{sub.id}_global", sub.stores, 0, engine=cargo.settings.engine)
            self._states.append(state)
            self.stores.update(state.stores)
            handlers = cargo.settings.handlers
            task = Task(
                cargo.topology, sub, 0, state.stores, _emit_nothing, global_stores=self.stores, handlers=handlers
            )
            self._tasks.update(dict.fromkeys(sub.source_topics, (task, state)))

    def read(self, ranges: Mapping[Place, Range]) -> None:
        from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

        missing = dict(ranges)
        if not missing:
            return
        consumer: Any = Consumer(
            self._cargo.settings.librdkafka(
                **{
                    "group.id": f"{self._cargo.application_id}-batch",  # never joined
                    "isolation.level": "read_committed",
                    "enable.auto.commit": False,
                    "enable.partition.eof": True,
                    "auto.offset.reset": "error",
                }
            )
        )
        try:
            consumer.assign([TopicPartition(topic, number, first) for (topic, number), (first, _) in missing.items()])
            heard = time.monotonic()
            while missing:
                messages = consumer.consume(10_000, 0.2)
                for message in messages:
                    place = (message.topic(), message.partition())
                    error = message.error()
                    if error is None:
                        if place in missing and message.offset() < missing[place][1]:
                            self._take(message)
                        if place in missing and message.offset() + 1 >= missing[place][1]:
                            del missing[place]
                    elif error.code() == KafkaError._PARTITION_EOF:
                        if place in missing and message.offset() >= missing[place][1]:
                            del missing[place]
                    else:
                        raise KafkaException(error)
                if messages:
                    heard = time.monotonic()
                elif time.monotonic() - heard > QUIET_SECONDS:
                    raise StreamsError(
                        f"Global table topics {sorted({topic for topic, _ in missing})} cannot be read to their end: "
                        f"nothing came for {QUIET_SECONDS:.0f} s."
                    )
        finally:
            consumer.close()

    def _take(self, message: Any) -> None:
        task, state = self._tasks[message.topic()]
        headers: Headers = tuple(message.headers() or ())
        stamp = max(message.timestamp()[1], 0)
        task.process(message.topic(), message.offset(), stamp, message.key(), message.value(), headers)
        self._taken += 1
        if self._taken % LOOK_ROWS == 0 and state.pending > PENDING:
            state.commit({})

    def close(self) -> None:
        for task, _ in self._tasks.values():
            task.close()
        for state in self._states:
            state.close()


def _emit_nothing(
    topic: str, partition: int | None, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers
) -> None:
    """Global tables have no sinks; a dead letter of one is only counted."""
