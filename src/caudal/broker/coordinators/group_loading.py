"""One partition of ``__consumer_offsets`` read from its beginning into memory: groups, offsets, and what transactions
left open.

Runs in a thread, on objects nobody else sees yet. A record that cannot be read is counted and skipped: one bad record
must not take every group of the partition down.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from struct import error as StructError
from typing import TYPE_CHECKING

from caudal.broker.coordinators.group import Group
from caudal.broker.coordinators.offset_records import (
    key_version,
    read_group_key,
    read_group_value,
    read_offset_key,
    read_offset_value,
)
from caudal.broker.coordinators.offsets import Committed, Offsets

if TYPE_CHECKING:
    from caudal.broker.partition import Partition
    from caudal.broker.wire.batch import Record

__all__ = ["Loaded", "load_partition"]

log = logging.getLogger("caudal.broker.groups")

_COMMIT_MARKER = 1


class Loaded:
    """What a partition held: the last word on every group, and the offsets."""

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}
        self.offsets = Offsets()
        self.unknown = 0
        self.broken = 0
        # The same few names and texts come again and again: one object each.
        self._texts: dict[str, str] = {}

    def record(self, record: Record, producer: tuple[int, int] | None) -> None:
        """Applies one record; `producer` is given inside a transaction."""
        key = record.key
        if key is None:
            self.broken += 1
            return
        version = key_version(key)
        if version in (0, 1):
            self._offset(key, record.value, record.offset, producer)
        elif version == 2:
            group_id = read_group_key(key)
            if record.value is None:
                self.groups.pop(group_id, None)
            else:
                group_id = self._texts.setdefault(group_id, group_id)
                self.groups[group_id] = Group.from_value(group_id, read_group_value(record.value))
        else:
            self.unknown += 1

    def _offset(self, key: bytes, value: bytes | None, at: int, producer: tuple[int, int] | None) -> None:
        group, topic, partition = read_offset_key(key)
        if value is None:
            self.offsets.remove(group, topic, partition)
            return
        texts = self._texts
        group, topic = texts.setdefault(group, group), texts.setdefault(topic, topic)
        read = read_offset_value(value)
        if read.metadata:
            read = read._replace(metadata=texts.setdefault(read.metadata, read.metadata))
        entry = Committed.of(read, at)
        if producer is None:
            self.offsets.put(group, topic, partition, entry)
        else:
            self.offsets.put_pending(producer, group, topic, partition, entry)

    def finish(self, now_ms: int) -> None:
        """Offsets without a group record belong to consumers without group management: an empty group without
        protocol."""
        for group_id in [*self.offsets.committed, *self.offsets.pending]:
            if group_id not in self.groups:
                self.groups[group_id] = Group(group_id, now_ms)


def load_partition(partition: Partition, now_ms: int, stopped: Callable[[], bool] = lambda: False) -> Loaded:
    """Blocking: reads the whole log of a partition of ``__consumer_offsets``."""
    loaded = Loaded()
    index = partition.index
    for header, records in partition.iter_records(partition.log_start_offset):
        if stopped():
            break
        producer = (index, header.producer_id) if header.is_transactional else None
        if header.is_control:
            for record in records:
                if producer is not None and record.key is not None and len(record.key) >= 4:
                    commit = int.from_bytes(record.key[2:4], "big") == _COMMIT_MARKER
                    loaded.offsets.complete(producer, commit)
            continue
        for record in records:
            try:
                loaded.record(record, producer)
            except (ValueError, IndexError, StructError):
                loaded.broken += 1
    if loaded.broken or loaded.unknown:
        log.warning(
            "__consumer_offsets-%d: skipped %d records that cannot be read and %d of group types that are not served",
            index,
            loaded.broken,
            loaded.unknown,
        )
    loaded.finish(now_ms)
    return loaded
