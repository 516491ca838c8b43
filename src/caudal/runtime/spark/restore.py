"""Brings a task's local state to where its committed offsets are: nothing, the tail of the changelogs, or all of them.

The rule: local state is a cache of the changelog. It carries (meta) the source and changelog offsets it stands for,
and is trusted only where Kafka explains it:
- ahead of the group's committed offsets, or of the changelog's end: void. It holds what no commit holds.
- behind the changelog's first offset, or older than compaction keeps tombstones: void. A deletion may have been
  missed.
- otherwise it is a prefix, and the tail is replayed.

A changelog that is a source topic is replayed only up to the committed offset: what lies behind is still to be
processed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from caudal.plan.naming import changelog_topic
from caudal.plan.topology import StoreSpec
from caudal.runtime.spark.settings import Cargo
from caudal.runtime.stores import TaskState

log = logging.getLogger("caudal.streams")

TOMBSTONE_SECONDS = 12 * 3600  # half of Kafka's default delete.retention.ms
CALL_SECONDS = 15.0
STALL_SECONDS = 60.0
FETCH_RECORDS = 10_000
REPORT_SECONDS = 1.0

Progress = Callable[[str, int, int], None]  # store, offsets done, offsets in all


@dataclass(slots=True)
class _Range:
    store: str
    topic: str
    first: int
    end: int  # exclusive; reached when the log says so, since the last offsets may be markers


class StateRestore:
    """One task's restore."""

    def __init__(self, cargo: Cargo, state: TaskState, specs: list[StoreSpec], partition: int) -> None:
        self._cargo = cargo
        self._state = state
        self._partition = partition
        self._specs = [spec for spec in specs if spec.logged]
        self.restored = 0
        self.was_void: str | None = state.void

    def topic_of(self, spec: StoreSpec) -> str:
        return spec.changelog or changelog_topic(self._cargo.application_id, spec.name)

    def run(self, positions: Mapping[str, int], progress: Progress) -> dict[str, int]:
        """The changelog offsets that the state stands for afterwards, by store."""
        if not self._specs:
            return {}
        consumer = Consumer(
            self._cargo.settings.librdkafka(
                **{
                    "group.id": f"{self._cargo.application_id}-restore",  # never joined
                    "isolation.level": self._cargo.settings.isolation_level,
                    "enable.auto.commit": False,
                    "enable.partition.eof": True,
                    "auto.offset.reset": "error",
                    "fetch.wait.max.ms": 20,
                    "fetch.max.bytes": 32 << 20,
                    "queued.max.messages.kbytes": 32 << 10,
                    "check.crcs": False,
                }
            )
        )
        try:
            return self._run(consumer, positions, progress)
        finally:
            consumer.close()

    def _run(self, consumer: Any, positions: Mapping[str, int], progress: Progress) -> dict[str, int]:
        bounds = {spec.name: self._bounds(consumer, spec, positions) for spec in self._specs}
        meta = self._state.meta()
        why = self._doubt(meta, positions, bounds)
        if why is not None:
            log.warning("task state of %s is rebuilt: %s", self._cargo.application_id, why)
            self.was_void = why
            self._state.wipe()
            meta = None
        known: Mapping[str, int] = (meta or {}).get("changelogs", {})
        ranges = []
        for spec in self._specs:
            low, high = bounds[spec.name]
            first = known.get(spec.name, low)
            # The last commit's marker stands behind what the state knows: one offset cannot be a record and its marker.
            marker = 1 if self._cargo.settings.exactly_once and spec.changelog is None and spec.name in known else 0
            if first + marker < high:
                ranges.append(_Range(spec.name, self.topic_of(spec), first, high))
        ends = {spec.name: known.get(spec.name, bounds[spec.name][1]) for spec in self._specs}
        for wanted in ranges:
            ends[wanted.store] = self._replay(consumer, wanted, progress)
        if ranges or meta is None:
            self._state.commit({"offsets": dict(positions), "changelogs": ends, "written": time.time()})
        return ends

    def _bounds(self, consumer: Any, spec: StoreSpec, positions: Mapping[str, int]) -> tuple[int, int]:
        topic = self.topic_of(spec)
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, self._partition), CALL_SECONDS, cached=False)
        return low, min(high, positions[topic]) if topic in positions else high

    def _doubt(
        self, meta: Mapping[str, Any] | None, positions: Mapping[str, int], bounds: Mapping[str, tuple[int, int]]
    ) -> str | None:
        """Why the local state cannot be a prefix of the changelog; None where it can, or where there is none."""
        if meta is None:
            return None
        for topic, offset in meta.get("offsets", {}).items():
            if offset > positions.get(topic, 0):
                return (
                    f"it stands for offset {offset} of topic '{topic}', partition {self._partition}, "
                    f"but {positions.get(topic, 0)} is committed"
                )
        for store, offset in meta.get("changelogs", {}).items():
            low, high = bounds.get(store, (0, offset))
            if offset > high:
                return f"store '{store}' stands for changelog offset {offset}, but the changelog ends at {high}"
            if offset < low and low < high:
                return f"store '{store}' stands for changelog offset {offset}, but the changelog begins at {low}"
        age = time.time() - meta.get("written", 0)
        behind = any(
            bounds[store][1] > offset for store, offset in meta.get("changelogs", {}).items() if store in bounds
        )
        if behind and age > TOMBSTONE_SECONDS:
            return f"it is {age / 3600:.0f} hours old, and compaction may have removed deletions since"
        return None

    def _replay(self, consumer: Any, wanted: _Range, progress: Progress) -> int:
        """Replays a range; returns the offset after the last one read (markers included)."""
        place = TopicPartition(wanted.topic, self._partition, wanted.first)
        consumer.assign([place])
        at, last_news, last_report = wanted.first, time.monotonic(), time.monotonic()
        try:
            while at < wanted.end:
                messages = consumer.consume(FETCH_RECORDS, 1.0)
                batch: list[tuple[bytes, bytes | None, int]] = []
                for message in messages:
                    error = message.error()
                    if error is not None:
                        if error.code() == KafkaError._PARTITION_EOF:
                            at = max(at, message.offset())  # past the last marker
                            wanted.end = min(wanted.end, at)
                            continue
                        raise KafkaException(error)
                    if message.offset() >= wanted.end:
                        at = wanted.end
                        break
                    at = message.offset() + 1
                    if message.key() is not None:
                        batch.append((message.key(), message.value(), max(message.timestamp()[1], 0)))
                if batch:
                    self.restored += self._state.restore_batch(wanted.store, batch)
                now = time.monotonic()
                if messages:
                    last_news = now
                elif now - last_news > STALL_SECONDS:
                    raise KafkaException(
                        KafkaError(KafkaError._TIMED_OUT, f"no answer from topic '{wanted.topic}' during a restore")
                    )
                if now - last_report > REPORT_SECONDS or at >= wanted.end:
                    last_report = now
                    progress(wanted.store, at - wanted.first, max(wanted.end, at) - wanted.first)
        finally:
            consumer.unassign()
        return at
