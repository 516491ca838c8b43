"""The markers that end a transaction on each of its partitions, from the decided outcome to the last one written.

A `Completion` carries one transaction from Prepare to the point where Complete may be written. It first does all it can
at once (with one broker that is everything, so a commit is visible when EndTxn is answered); what fails or has to wait
is tried again in the background until it succeeds, because the outcome is already durable and can no longer change.

`deliver` is the one place that brings markers to the leader of their partitions. Here every leader is this broker;
a cluster sends WriteTxnMarkers to the others from there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from caudal.broker.coordinators.transaction_records import TopicPartition
from caudal.broker.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from caudal.broker.broker import Broker
    from caudal.broker.partition import Partition

log = logging.getLogger("caudal.broker.transactions")

OFFSETS_TOPIC = "__consumer_offsets"

# How many markers are written before other work gets its turn on the event loop.
_MARKERS_PER_TURN = 200

# The partition has moved on to a later producer or coordinator, so this transaction is over there.
_SETTLED_ELSEWHERE = frozenset({ErrorCode.invalid_producer_epoch, ErrorCode.transaction_coordinator_fenced})


class Marker(NamedTuple):
    producer_id: int
    producer_epoch: int
    commit: bool
    coordinator_epoch: int


class Unreplicated(NamedTuple):
    """A marker that is written here, and waits for the other replicas."""

    partition: Partition
    offset: int


def write(broker: Broker, marker: Marker, topic: str, index: int) -> Unreplicated | None:
    """Writes the marker to one partition that this broker leads; None when it is replicated already."""
    partition = broker.partition(topic, index)
    if partition is None:
        raise KafkaError(ErrorCode.unknown_topic_or_partition)
    appended = partition.append_marker(
        marker.producer_id, marker.producer_epoch, marker.commit, marker.coordinator_epoch
    )
    if partition.high_watermark > appended.last_offset:
        _tell_group(broker, marker, topic, index)
        return None
    return Unreplicated(partition, appended.last_offset)


async def settle(broker: Broker, marker: Marker, waiting: Unreplicated) -> None:
    """Waits until the marker is on every in-sync replica."""
    partition = waiting.partition
    await partition.replicated(waiting.offset)
    _tell_group(broker, marker, partition.topic, partition.index)


def _tell_group(broker: Broker, marker: Marker, topic: str, index: int) -> None:
    if topic == OFFSETS_TOPIC:
        broker.groups.transaction_completed(index, marker.producer_id, marker.commit)


async def deliver(
    broker: Broker, marker: Marker, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """Brings the marker to the leader of each partition and waits for it; an error code for each."""
    results: dict[TopicPartition, ErrorCode] = {}
    waiting: list[Unreplicated] = []
    for count, (topic, index) in enumerate(partitions, 1):
        if count % _MARKERS_PER_TURN == 0:
            await asyncio.sleep(0)
        try:
            unreplicated = write(broker, marker, topic, index)
        except KafkaError as error:
            results[topic, index] = error.code
        else:
            results[topic, index] = ErrorCode.none
            if unreplicated is not None:
                waiting.append(unreplicated)
    for unreplicated in waiting:
        try:
            await settle(broker, marker, unreplicated)
        except KafkaError as error:
            results[unreplicated.partition.topic, unreplicated.partition.index] = error.code
    return results


class Completion:
    """One decided transaction and the partitions that still lack its marker."""

    __slots__ = ("_broker", "_marker", "_transactional_id", "_waiting", "remaining")

    def __init__(
        self, broker: Broker, transactional_id: str, marker: Marker, partitions: Iterable[TopicPartition]
    ) -> None:
        self._broker = broker
        self._transactional_id = transactional_id
        self._marker = marker
        self._waiting: list[Unreplicated] = []
        self.remaining: set[TopicPartition] = set(partitions)

    def advance(self) -> bool:
        """Writes what can be written right now; True when nothing is left to write or to wait for."""
        for topic, index in sorted(self.remaining)[:_MARKERS_PER_TURN]:
            try:
                unreplicated = write(self._broker, self._marker, topic, index)
            except KafkaError as error:
                self._judge((topic, index), error.code)
            else:
                self.remaining.discard((topic, index))
                if unreplicated is not None:
                    self._waiting.append(unreplicated)
        return not self.remaining and not self._waiting

    async def retry(self) -> bool:
        """Waits for what is written and delivers what is not; True when all is done."""
        waiting, self._waiting = self._waiting, []
        for unreplicated in waiting:
            try:
                await settle(self._broker, self._marker, unreplicated)
            except KafkaError:  # no longer the leader, or too slow: deliver it anew
                self.remaining.add((unreplicated.partition.topic, unreplicated.partition.index))
        for partition, code in (await deliver(self._broker, self._marker, sorted(self.remaining))).items():
            if code is ErrorCode.none:
                self.remaining.discard(partition)
            else:
                self._judge(partition, code)
        return not self.remaining

    def _judge(self, partition: TopicPartition, code: ErrorCode) -> None:
        """Drops a partition that can never take the marker; any other failure stays for the next try."""
        topic, index = partition
        if code is ErrorCode.unknown_topic_or_partition and not self._exists(topic, index):
            log.info("%s: %s-%d was deleted, its marker is not needed", self._transactional_id, topic, index)
        elif code in _SETTLED_ELSEWHERE:
            log.warning("%s: %s-%d refuses the marker: %s", self._transactional_id, topic, index, code.name)
        else:
            log.warning("%s: no marker on %s-%d yet: %s", self._transactional_id, topic, index, code.name)
            return
        self.remaining.discard(partition)

    def _exists(self, topic: str, index: int) -> bool:
        info = self._broker.metadata.topics.get(topic)
        return info is not None and index < len(info.partitions)
