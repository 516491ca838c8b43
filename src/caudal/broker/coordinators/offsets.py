"""Committed offsets of all groups in memory, and those that open transactions have yet to commit.

Pure: the coordinator writes the records and calls `put`/`remove` as they are appended; loading does the same from the
log, so that both end in the same state. Made for many: entries are tuples, and keys, topic names and texts are shared
between groups.

Invariant: for one partition of one group the entry with the highest `record_offset` wins, whatever the order in which
commits and transaction markers are applied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

from caudal.broker.coordinators.group import Group, State
from caudal.broker.coordinators.offset_records import OffsetValue

__all__ = ["Committed", "Offsets", "TopicPartition", "expires_from"]

TopicPartition = tuple[str, int]


class Committed(NamedTuple):
    """One committed offset; `record_offset` is where its record stands in ``__consumer_offsets``."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int
    topic_id: UUID | None
    record_offset: int

    @classmethod
    def of(cls, value: OffsetValue, record_offset: int) -> Committed:
        return cls._make((*value, record_offset))

    def belongs_to(self, topic_id: UUID | None) -> bool:
        """False when the offset was committed for another topic of the same name; unknown ids match everything."""
        return topic_id is None or self.topic_id is None or self.topic_id == topic_id


class Offsets:
    """The committed and the pending offsets of every group."""

    __slots__ = ("_keys", "_of_producer", "committed", "pending")

    def __init__(self) -> None:
        self.committed: dict[str, dict[TopicPartition, Committed]] = {}
        # group -> producer (of one partition of __consumer_offsets) -> what its open transaction will commit
        self.pending: dict[str, dict[tuple[int, int], dict[TopicPartition, Committed]]] = {}
        self._of_producer: dict[tuple[int, int], set[str]] = {}
        self._keys: dict[TopicPartition, TopicPartition] = {}

    # ------------------------------------------------------------ changes, in log order

    def put(self, group: str, topic: str, partition: int, entry: Committed) -> None:
        offsets = self.committed.get(group)
        if offsets is None:
            offsets = self.committed[group] = {}
        key = (topic, partition)
        current = offsets.get(key)
        if current is None:
            key = self._keys.setdefault(key, key)
        elif current.record_offset > entry.record_offset:
            return
        offsets[key] = entry

    def remove(self, group: str, topic: str, partition: int) -> bool:
        """Forgets an offset (a tombstone); what open transactions hold for it is void too."""
        key = (topic, partition)
        for held in self.pending.get(group, {}).values():
            held.pop(key, None)
        offsets = self.committed.get(group)
        if offsets is None or offsets.pop(key, None) is None:
            return False
        if not offsets:
            del self.committed[group]
        return True

    def remove_group(self, group: str) -> None:
        self.committed.pop(group, None)
        for producer in self.pending.pop(group, {}):
            self._forget(producer, group)

    def put_pending(self, producer: tuple[int, int], group: str, topic: str, partition: int, entry: Committed) -> None:
        """`producer` is (partition of ``__consumer_offsets``, producer id)."""
        self.pending.setdefault(group, {}).setdefault(producer, {})[topic, partition] = entry
        self._of_producer.setdefault(producer, set()).add(group)

    def complete(self, producer: tuple[int, int], commit: bool) -> None:
        """A marker ended the producer's transaction on this partition; nothing pending is fine (a marker is written
        twice after a crash)."""
        for group in self._of_producer.pop(producer, ()):
            by_producer = self.pending[group]
            held = by_producer.pop(producer)
            if not by_producer:
                del self.pending[group]
            if commit:
                for (topic, partition), entry in held.items():
                    self.put(group, topic, partition, entry)

    def _forget(self, producer: tuple[int, int], group: str) -> None:
        groups = self._of_producer.get(producer)
        if groups is not None:
            groups.discard(group)
            if not groups:
                del self._of_producer[producer]

    def merge(self, other: Offsets) -> None:
        """Takes over what one partition of ``__consumer_offsets`` held; a group is in one partition only, so nothing
        collides."""
        for group, offsets in other.committed.items():
            self.committed[group] = {self._keys.setdefault(key, key): entry for key, entry in offsets.items()}
        self.pending.update(other.pending)
        self._of_producer.update(other._of_producer)

    # ------------------------------------------------------------ questions

    def get(self, group: str, topic: str, partition: int) -> Committed | None:
        offsets = self.committed.get(group)
        return None if offsets is None else offsets.get((topic, partition))

    def of_group(self, group: str) -> dict[TopicPartition, Committed]:
        return self.committed.get(group, {})

    def is_unstable(self, group: str, topic: str, partition: int) -> bool:
        """Whether an open transaction may still change this offset."""
        by_producer = self.pending.get(group)
        return by_producer is not None and any((topic, partition) in held for held in by_producer.values())

    def has_any(self, group: str) -> bool:
        return group in self.committed or group in self.pending

    def of_topic(self, topic: str) -> dict[str, list[int]]:
        """Which groups hold an offset (committed or pending) for a topic, with the partitions."""
        found: dict[str, set[int]] = {}
        for group, offsets in self.committed.items():
            for name, partition in offsets:
                if name == topic:
                    found.setdefault(group, set()).add(partition)
        for group, by_producer in self.pending.items():
            for held in by_producer.values():
                for name, partition in held:
                    if name == topic:
                        found.setdefault(group, set()).add(partition)
        return {group: sorted(partitions) for group, partitions in found.items()}

    def expired(self, group: Group, now_ms: int, retention_ms: int) -> list[TopicPartition]:
        """The offsets of a group that have outlived their retention."""
        return [
            (topic, partition)
            for (topic, partition), entry in self.of_group(group.group_id).items()
            if (since := expires_from(group, entry)) is not None
            and (now_ms >= entry.expire_timestamp if entry.expire_timestamp >= 0 else now_ms - since >= retention_ms)
            and not group.is_subscribed_to(topic)
            and not self.is_unstable(group.group_id, topic, partition)
        ]

    def __iter__(self) -> Iterator[tuple[str, str, int, int]]:
        """(group, topic, partition, offset) of everything committed."""
        for group, offsets in list(self.committed.items()):
            for (topic, partition), entry in list(offsets.items()):
                yield group, topic, partition, entry.offset


def expires_from(group: Group, entry: Committed) -> int | None:
    """When the retention of an offset began; None while the group still needs it.

    A group with members keeps its offsets, except those of topics it no longer reads; a group that became empty
    keeps them from that moment on; a consumer without group management keeps each from its commit.
    """
    if group.protocol_type is None:
        return entry.commit_timestamp
    if group.state is State.EMPTY:
        return entry.commit_timestamp if group.state_timestamp is None else group.state_timestamp
    if group.state is State.STABLE and group.uses_consumer_protocol and group.subscribed_topics is not None:
        return entry.commit_timestamp
    return None
