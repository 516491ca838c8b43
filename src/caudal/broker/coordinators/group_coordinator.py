"""The group coordinator: all classic consumer groups of this broker, their life from load to close.

Here the pure parts meet the world: `group_rebalance` (what happens in a group) gets its clock and its pen,
`offset_commits` its memory, and ``__consumer_offsets`` is read at start. Wire versions are the business of
`apis/groups.py` and `apis/group_offsets.py`.

Deliberately absent: the newer group protocols (consumer, share, streams groups), and handing partitions over to
another broker.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from time import monotonic, time
from typing import TYPE_CHECKING, Any

from caudal.broker.coordinators.group import Group, Reply, State, Timer
from caudal.broker.coordinators.group_loading import load_partition
from caudal.broker.coordinators.group_log import OFFSETS_TOPIC, GroupLog
from caudal.broker.coordinators.group_rebalance import Rebalances
from caudal.broker.coordinators.group_requests import JoinRequest, Leaver, join_error, sync_error
from caudal.broker.coordinators.offset_commits import OffsetCommits
from caudal.broker.coordinators.offset_records import GroupValue, group_key, group_value
from caudal.broker.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from caudal.broker.broker import Broker
    from caudal.broker.partition import Partition

__all__ = ["OFFSETS_TOPIC", "GroupCoordinator"]

log = logging.getLogger("caudal.broker.groups")


class GroupCoordinator:
    """Every classic group of this broker. Also the `Host` of the rebalances: clock, timers, storage, settings."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.log = GroupLog(broker)
        self.is_loaded = False
        self.groups: dict[str, Group] = {}
        self.rebalances = Rebalances(self)
        self.commits = OffsetCommits(self)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._completed_early: list[tuple[int, int, bool]] = []
        self._deleted_early: list[str] = []
        self._unreadable: set[int] = set()
        self._closed = False

    # ------------------------------------------------------------ life

    async def load(self, broker: Broker) -> None:
        """Reads ``__consumer_offsets``; until it is done every request is told COORDINATOR_LOAD_IN_PROGRESS."""
        self._loop = asyncio.get_running_loop()
        started = monotonic()
        topic = broker.metadata.topics.get(OFFSETS_TOPIC)
        for info in topic.partitions if topic is not None else ():
            partition = broker.partition(OFFSETS_TOPIC, info.index)
            if partition is None or partition.log_end_offset <= partition.log_start_offset:
                continue
            try:
                loaded = await broker.run_blocking(load_partition, partition, self.now_ms(), lambda: self._closed)
            except Exception:
                # Its groups stay away rather than come back without their offsets; those of other partitions are fine.
                log.exception("%s-%d cannot be read; its groups are not available", OFFSETS_TOPIC, info.index)
                self._unreadable.add(info.index)
                continue
            self.groups.update(loaded.groups)
            self.commits.offsets.merge(loaded.offsets)
        if self._closed:
            return
        # Markers written while their partition was being read; applying one twice does no harm.
        for index, producer_id, commit in self._completed_early:
            self.commits.offsets.complete((index, producer_id), commit)
        self._completed_early.clear()
        self.is_loaded = True
        for name in self._deleted_early:
            self.commits.topic_deleted(name)
        self._deleted_early.clear()
        for group in self.groups.values():
            self.rebalances.loaded(group)
        self._spawn(self.commits.expire_for_ever())
        if self.groups:
            log.info("loaded %d consumer groups in %.0f ms", len(self.groups), (monotonic() - started) * 1000)

    async def close(self) -> None:
        """Stops the timers and answers what is parked."""
        self._closed = True
        self.is_loaded = False
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for group in self.groups.values():
            self.rebalances.end(group)

    def check_loaded(self, group_id: str | None = None) -> None:
        """Raises while the groups, or the partition that this one is in, are not to be had."""
        if not self.is_loaded:
            code = ErrorCode.coordinator_not_available if self._closed else ErrorCode.coordinator_load_in_progress
            raise KafkaError(code)
        if self._unreadable and group_id is not None and self.log.partition_of(group_id) in self._unreadable:
            raise KafkaError(ErrorCode.coordinator_not_available)

    def _spawn(self, work: Any) -> None:
        assert self._loop is not None
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # ------------------------------------------------------------ Host: clock, timers, storage, settings

    def now_ms(self) -> int:
        return int(time() * 1000)

    def time(self) -> float:
        return monotonic()

    def call_later(self, delay: float, callback: Callable[..., None], *args: Any) -> Timer:
        assert self._loop is not None
        return self._loop.call_later(delay, callback, *args)

    @property
    def initial_rebalance_delay_ms(self) -> int:
        return int(self.broker.config["group.initial.rebalance.delay.ms"])

    @property
    def max_group_size(self) -> int:
        return int(self.broker.config["group.max.size"])

    def store(self, group: Group, value: GroupValue, done: Callable[[ErrorCode], None]) -> None:
        try:
            partition, _, last = self.log.append(group.group_id, [(group_key(group.group_id), group_value(value))])
        except KafkaError as error:
            log.warning("group %s could not be stored: %s", group.group_id, error)
            done(error.code)
            return
        if partition.high_watermark > last:
            done(ErrorCode.none)
        else:
            self._spawn(self._replicated(partition, last, done))

    async def _replicated(self, partition: Partition, last: int, done: Callable[[ErrorCode], None]) -> None:
        try:
            await partition.replicated(last)
        except KafkaError as error:
            done(error.code)
        else:
            done(ErrorCode.none)

    # ------------------------------------------------------------ membership

    def group(self, group_id: str) -> Group:
        """The group, made if it is new."""
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = Group(group_id, self.now_ms())
        return group

    def forget(self, group: Group) -> None:
        """Takes a group out of memory; its tombstone has been written."""
        self.rebalances.end(group)
        self.commits.offsets.remove_group(group.group_id)
        if self.groups.get(group.group_id) is group:
            del self.groups[group.group_id]

    async def join(self, group_id: str, request: JoinRequest) -> dict[str, Any]:
        """Waits until the group's next generation is made."""
        if not group_id:
            return join_error(ErrorCode.invalid_group_id, request.member_id)
        self.check_loaded(group_id)
        config = self.broker.config
        shortest, longest = config["group.min.session.timeout.ms"], config["group.max.session.timeout.ms"]
        if not shortest <= request.session_timeout_ms <= longest:
            return join_error(ErrorCode.invalid_session_timeout, request.member_id)
        await self.log.ensure()
        if request.member_id and group_id not in self.groups:
            return join_error(ErrorCode.unknown_member_id, request.member_id)
        group = self.group(group_id)
        answer, reply = self._parked()
        self.rebalances.join(group, request, reply)
        try:
            return await answer
        except asyncio.CancelledError:
            self.rebalances.join_abandoned(group, reply)
            raise

    async def sync(
        self,
        group_id: str,
        member_id: str,
        instance_id: str | None,
        generation: int,
        protocol_type: str | None,
        protocol_name: str | None,
        assignments: Sequence[tuple[str, bytes]],
    ) -> dict[str, Any]:
        """Waits until the leader has sent the assignment."""
        if not group_id:
            return sync_error(ErrorCode.invalid_group_id)
        self.check_loaded(group_id)
        group = self.groups.get(group_id)
        if group is None or group.state is State.EMPTY:
            return sync_error(ErrorCode.unknown_member_id)
        answer, reply = self._parked()
        self.rebalances.sync(
            group, member_id, instance_id, generation, protocol_type, protocol_name, assignments, reply
        )
        try:
            return await answer
        except asyncio.CancelledError:
            self.rebalances.sync_abandoned(group, reply)
            raise

    def _parked(self) -> tuple[asyncio.Future[dict[str, Any]], Reply]:
        assert self._loop is not None
        answer: asyncio.Future[dict[str, Any]] = self._loop.create_future()

        def reply(values: dict[str, Any]) -> None:
            if not answer.done():
                answer.set_result(values)

        return answer, reply

    def heartbeat(self, group_id: str, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
        if not group_id:
            return ErrorCode.invalid_group_id
        self.check_loaded(group_id)
        group = self.groups.get(group_id)
        if group is None:
            return ErrorCode.unknown_member_id
        return self.rebalances.heartbeat(group, member_id, instance_id, generation)

    def leave(self, group_id: str, leavers: Sequence[Leaver]) -> list[ErrorCode]:
        if not group_id:
            raise KafkaError(ErrorCode.invalid_group_id)
        self.check_loaded(group_id)
        group = self.groups.get(group_id)
        if group is None:
            return [ErrorCode.unknown_member_id] * len(leavers)
        return self.rebalances.leave(group, leavers)

    async def delete(self, group_id: str) -> ErrorCode:
        """Deletes a group that nobody is in, with its offsets."""
        self.check_loaded(group_id)
        group = self.groups.get(group_id)
        if group is None:
            return ErrorCode.group_id_not_found
        try:
            group.check_delete()
            held = self.commits.partitions_of(group_id)
            doomed = [(topic, partition) for topic, partitions in held.items() for partition in partitions]
            written = self.commits.remove(group_id, doomed, whole_group=True)
        except KafkaError as error:
            return error.code
        self.forget(group)
        log.info("group %s was deleted", group_id)
        if written is not None:
            partition, last = written
            await partition.replicated(last)
        return ErrorCode.none

    # ------------------------------------------------------------ for the rest of the broker

    def transaction_completed(self, offsets_partition: int, producer_id: int, commit: bool) -> None:
        """A transaction marker was written to a partition of ``__consumer_offsets``: its pending offsets count now,
        or never."""
        if not self.is_loaded:
            self._completed_early.append((offsets_partition, producer_id, commit))
        self.commits.offsets.complete((offsets_partition, producer_id), commit)

    def topic_deleted(self, topic: str) -> None:
        """Offsets of a deleted topic go with it; those not loaded yet are dropped when they are."""
        if self.is_loaded:
            self.commits.topic_deleted(topic)
        else:
            self._deleted_early.append(topic)

    def committed(self) -> Iterator[tuple[str, str, int, int]]:
        """(group, topic, partition, offset) of every committed offset, for lag."""
        return iter(self.commits.offsets)

    def states(self) -> dict[str, int]:
        """How many groups are in each state, by Kafka's name of it. Any thread may ask."""
        counts = Counter(group.state.value for group in list(self.groups.values()))
        return {state.value: counts[state.value] for state in State if state is not State.DEAD}
