"""Committing, fetching, deleting and expiring offsets: the rules, the records written, and the memory kept in step.

An offset is in memory as soon as its record is appended and the client is answered when it is replicated. The order
of the appends is the order of the commits, so a client that disconnects in between changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from caudal.broker.coordinators.group import Group, State
from caudal.broker.coordinators.group_log import OFFSETS_TOPIC, KeyValue
from caudal.broker.coordinators.offset_records import OffsetValue, group_key, offset_key, offset_value
from caudal.broker.coordinators.offsets import Committed, Offsets, TopicPartition
from caudal.broker.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from caudal.broker.coordinators.group_coordinator import GroupCoordinator
    from caudal.broker.partition import Partition

__all__ = ["Commit", "Committer", "OffsetCommits"]

log = logging.getLogger("caudal.broker.groups")

# Tombstones of a big clean-up go in batches of this many, so that one batch never nears max.message.bytes.
_TOMBSTONES_PER_BATCH = 1000
_GROUPS_PER_TURN = 200
_FIRST_VERSION_WITH_GROUP_ERRORS = 9


class Committer(NamedTuple):
    """Who commits; a consumer without group management has no member id and generation -1."""

    member_id: str = ""
    instance_id: str | None = None
    generation: int = -1


class Commit(NamedTuple):
    """One offset to commit."""

    topic: str
    topic_id: UUID | None
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str | None = None


class OffsetCommits:
    """The offset half of the group coordinator."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self.coordinator = coordinator
        self.offsets = Offsets()

    # ------------------------------------------------------------ committing

    async def commit(
        self, group_id: str, committer: Committer, commits: Sequence[Commit], *, version: int, retention_ms: int = -1
    ) -> list[ErrorCode]:
        """One result per offset; what is wrong with the whole request is raised."""
        coordinator = self.coordinator
        coordinator.check_loaded(group_id)
        await coordinator.log.ensure()
        group = coordinator.groups.get(group_id)
        if group is None:
            if committer.generation >= 0:
                not_found = version >= _FIRST_VERSION_WITH_GROUP_ERRORS
                raise KafkaError(ErrorCode.group_id_not_found if not_found else ErrorCode.illegal_generation)
        else:
            group.check_offset_commit(*committer, transactional=False)
            member = group.members.get(committer.member_id)
            if member is not None:
                # A commit shows that the member lives, as a heartbeat does.
                coordinator.rebalances.touch(group, member)
        results, values = self._values(commits, retention_ms)
        if values:
            partition, first, last = coordinator.log.append(group_id, self._records(group_id, values))
            coordinator.group(group_id)
            for at, (topic, index, value) in enumerate(values, first):
                self.offsets.put(group_id, topic, index, Committed.of(value, at))
            await partition.replicated(last)
        return results

    async def commit_transactional(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        group_id: str,
        committer: Committer,
        commits: Sequence[Commit],
        *,
        add: bool,
    ) -> list[ErrorCode]:
        """As `commit`, inside a transaction: the offsets count when its commit marker is written.

        With `add` the group's partition joins the transaction by this request (KIP-890); without, it must be part of
        it already.
        """
        coordinator = self.coordinator
        coordinator.check_loaded(group_id)
        await coordinator.log.ensure()
        index = coordinator.log.partition_of(group_id)
        key = (OFFSETS_TOPIC, index)
        verified = await coordinator.broker.transactions.verify_or_add(
            transactional_id, producer_id, producer_epoch, [key], add=add
        )
        code = verified.get(key, ErrorCode.unknown_server_error)
        if code is not ErrorCode.none:
            raise KafkaError(code)
        # From here to the append nothing is awaited: the transaction cannot end in between.
        group = coordinator.groups.get(group_id)
        if group is None:
            if committer.generation >= 0:
                raise KafkaError(ErrorCode.illegal_generation)
        else:
            group.check_offset_commit(*committer, transactional=True)
        results, values = self._values(commits, -1)
        if values:
            partition, first, last = coordinator.log.append(
                group_id,
                self._records(group_id, values),
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                transactional=True,
            )
            coordinator.group(group_id)
            for at, (topic, topic_partition, value) in enumerate(values, first):
                entry = Committed.of(value, at)
                self.offsets.put_pending((index, producer_id), group_id, topic, topic_partition, entry)
            await partition.replicated(last)
        return results

    def _values(
        self, commits: Sequence[Commit], retention_ms: int
    ) -> tuple[list[ErrorCode], list[tuple[str, int, OffsetValue]]]:
        now = self.coordinator.now_ms()
        expires = -1 if retention_ms < 0 else now + retention_ms
        limit = int(self.coordinator.broker.config["offset.metadata.max.bytes"])
        results: list[ErrorCode] = []
        values: list[tuple[str, int, OffsetValue]] = []
        for commit in commits:
            metadata = commit.metadata or ""
            if len(metadata) > limit:
                results.append(ErrorCode.offset_metadata_too_large)
                continue
            results.append(ErrorCode.none)
            value = OffsetValue(commit.offset, commit.leader_epoch, metadata, now, expires, commit.topic_id)
            values.append((commit.topic, commit.partition, value))
        return results, values

    @staticmethod
    def _records(group_id: str, values: Sequence[tuple[str, int, OffsetValue]]) -> list[KeyValue]:
        return [(offset_key(group_id, topic, index), offset_value(value)) for topic, index, value in values]

    # ------------------------------------------------------------ fetching

    def fetch(
        self, group_id: str, topic: str, topic_id: UUID | None, partition: int, require_stable: bool
    ) -> tuple[Committed | None, ErrorCode]:
        """The offset of a partition, None where there is none or where an open transaction may still change it."""
        if require_stable and self.offsets.is_unstable(group_id, topic, partition):
            return None, ErrorCode.unstable_offset_commit
        entry = self.offsets.get(group_id, topic, partition)
        return (entry if entry is not None and entry.belongs_to(topic_id) else None), ErrorCode.none

    def partitions_of(self, group_id: str) -> dict[str, list[int]]:
        """Every partition that the group has an offset for, by topic; also those only an open transaction holds."""
        found: dict[str, dict[int, None]] = {}
        for topic, partition in self.offsets.of_group(group_id):
            found.setdefault(topic, {})[partition] = None
        for held in self.offsets.pending.get(group_id, {}).values():
            for topic, partition in held:
                found.setdefault(topic, {})[partition] = None
        return {topic: list(partitions) for topic, partitions in found.items()}

    # ------------------------------------------------------------ deleting

    async def delete(self, group_id: str, wanted: Sequence[TopicPartition]) -> list[ErrorCode]:
        """OffsetDelete: a topic that the group still reads keeps its offsets."""
        self.coordinator.check_loaded(group_id)
        group = self.coordinator.groups.get(group_id)
        if group is None:
            raise KafkaError(ErrorCode.group_id_not_found)
        group.check_offset_delete()
        results = []
        doomed = []
        for topic, partition in wanted:
            if group.is_subscribed_to(topic):
                results.append(ErrorCode.group_subscribed_to_topic)
                continue
            results.append(ErrorCode.none)
            if self.offsets.get(group_id, topic, partition) or self.offsets.is_unstable(group_id, topic, partition):
                doomed.append((topic, partition))
        written = self.remove(group_id, doomed)
        if written is not None:
            partition_log, last = written
            await partition_log.replicated(last)
        return results

    def remove(
        self, group_id: str, doomed: Sequence[TopicPartition], *, whole_group: bool = False
    ) -> tuple[Partition, int] | None:
        """Writes the tombstones of these offsets (and of the group) and forgets them."""
        records: list[KeyValue] = [(offset_key(group_id, topic, partition), None) for topic, partition in doomed]
        if whole_group:
            records.append((group_key(group_id), None))
        written = None
        for start in range(0, len(records), _TOMBSTONES_PER_BATCH):
            partition_log, _, last = self.coordinator.log.append(
                group_id, records[start : start + _TOMBSTONES_PER_BATCH]
            )
            written = partition_log, last
        for topic, partition in doomed:
            self.offsets.remove(group_id, topic, partition)
        return written

    def topic_deleted(self, topic: str) -> None:
        """A deleted topic takes its offsets along; one of the same name created later must not inherit them."""
        for group_id, partitions in self.offsets.of_topic(topic).items():
            try:
                self.remove(group_id, [(topic, partition) for partition in partitions])
            except KafkaError as error:
                log.warning("group %s keeps its offsets of the deleted topic %s: %s", group_id, topic, error)

    # ------------------------------------------------------------ expiry

    async def expire_for_ever(self) -> None:
        """Every `offsets.retention.check.interval.ms`, as long as the broker runs."""
        config = self.coordinator.broker.config
        while True:
            await asyncio.sleep(int(config["offsets.retention.check.interval.ms"]) / 1000)
            try:
                await self.expire()
            except Exception:
                log.exception("expired offsets could not be cleaned up; the next round tries again")

    async def expire(self) -> int:
        """Removes offsets past their retention, and empty groups without any; how many offsets went."""
        coordinator = self.coordinator
        retention_ms = int(coordinator.broker.config["offsets.retention.minutes"]) * 60_000
        removed = 0
        for count, group in enumerate(list(coordinator.groups.values())):
            if count % _GROUPS_PER_TURN == _GROUPS_PER_TURN - 1:
                await asyncio.sleep(0)
            if coordinator.groups.get(group.group_id) is group:
                removed += self._expire_group(group, retention_ms)
        return removed

    def _expire_group(self, group: Group, retention_ms: int) -> int:
        group_id = group.group_id
        doomed = self.offsets.expired(group, self.coordinator.now_ms(), retention_ms)
        ended = (
            group.state is State.EMPTY
            and not group.pending_joins
            and len(doomed) == len(self.offsets.of_group(group_id))
            and group_id not in self.offsets.pending
        )
        if not doomed and not ended:
            return 0
        self.remove(group_id, doomed, whole_group=ended)
        if ended:
            self.coordinator.forget(group)
            log.info("group %s is gone: nobody is in it and its offsets have expired", group_id)
        return len(doomed)
