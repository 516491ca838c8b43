"""MirrorCheckpoint: translates the source's group offsets to the copy's: as checkpoints and, if asked, in its groups.

Checkpoints go to `SOURCE.checkpoints.internal`; with `sync.group.offsets.enabled` the target's groups of the same name
are set as well, where they have no members: a consumer that moves to the copy goes on where it was. Offsets only go
forward there, as with MirrorMaker: what a consumer has read of the copy already is not read again.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from caudal.connect.configuration import ConfigDef
from caudal.connect.connector import SourceConnector, SourceTask
from caudal.connect.connectors.mirror.cluster import Cluster, TopicReader
from caudal.connect.connectors.mirror.formats import Checkpoint, OffsetSync
from caudal.connect.connectors.mirror.groups import UnreachableError
from caudal.connect.connectors.mirror.lag import records_behind
from caudal.connect.connectors.mirror.offset_syncs import RUN, OffsetSyncStore
from caudal.connect.connectors.mirror.policy import NameFilter, is_internal
from caudal.connect.connectors.mirror.settings import (
    CHECKPOINTS,
    CLUSTERS,
    INTERNAL_GROUPS,
    SYNCS,
    TOPICS,
    assigned,
    offset_syncs_topic,
    policy_of,
)
from caudal.connect.connectors.mirror.source import check_aliases
from caudal.connect.connectors.mirror.watch import Watch
from caudal.connect.data import BYTES
from caudal.connect.errors import ConnectError, DataError
from caudal.connect.records import SourceRecord, TopicPartition

log = logging.getLogger("caudal.connect.mirror")


class Translation:
    """Group offsets of the source in the copy's offsets, by everything that the offset-syncs topic says so far."""

    def __init__(
        self, config: Mapping[str, Any], given: Mapping[str, Any], stopping: threading.Event | None = None
    ) -> None:
        self._stopping = stopping or threading.Event()
        self.source, self.target = (Cluster(given, side, self._stopping) for side in ("source", "target"))
        self._policy = policy_of(config)
        self._is_copied = NameFilter(config["topics"], config["topics.exclude"])
        side, topic = offset_syncs_topic(config)
        self._store = OffsetSyncStore()
        self.newest_ms: int | None = None  # when the newest offset sync was written
        self._reader = TopicReader(self.source if side == "source" else self.target, topic)
        self.checkpoints_topic = self._policy.checkpoints_topic(self.source.name)

    def catch_up(self) -> None:
        for message in self._reader.to_end(self._stopping.is_set):
            try:
                sync = OffsetSync.read(message.key() or b"", message.value() or b"")
            except DataError as error:
                log.warning("Offset %s of the offset-syncs topic is skipped: %s", message.offset(), error)
                continue
            self.newest_ms = message.timestamp()[1]
            run = next((value for key, value in message.headers() or () if key == RUN), None)
            self._store.add(sync, int(run) if isinstance(run, bytes) and run.isdigit() else None)

    def checkpoints(self, groups: Sequence[str]) -> list[Checkpoint]:
        """Of all partitions that the groups have offsets for and the mirror copies."""
        result = []
        unknown: dict[TopicPartition, list[Checkpoint]] = {}
        for group, offsets in self.source.all_committed(groups).items():
            for place, (upstream, metadata) in offsets.items():
                if not self._is_copied(place.topic) or is_internal(place.topic):
                    continue
                copy = TopicPartition(self._remote(place.topic), place.partition)
                downstream = self._store.translate(place.topic, place.partition, upstream)
                if downstream is not None:
                    result.append(Checkpoint(group, *copy, upstream, downstream, metadata))
                elif self._store.last(place.topic, place.partition) is None:
                    unknown.setdefault(copy, []).append(Checkpoint(group, *copy, upstream, 0, metadata))
        # Nothing was copied yet. A group without an offset there would begin where `auto.offset.reset` says, and could
        # miss the first records.
        empty = [place for place, end in self.target.ends(unknown).items() if end == 0]
        return result + [one for place in empty for one in unknown[place]]

    def again(self, checkpoint: Checkpoint) -> Checkpoint:
        """A checkpoint by what is known now: records may have had no offset sync when it was made."""
        topic = self._policy.upstream_topic(checkpoint.topic)
        if topic is None or self._remote(topic) != checkpoint.topic:
            return checkpoint
        found = self._store.translate(topic, checkpoint.partition, checkpoint.upstream)
        if found is None or found <= checkpoint.downstream:
            return checkpoint
        return replace(checkpoint, downstream=found)

    def behind(self) -> dict[TopicPartition, int]:
        """The source's records that are not in the copy, by partition. Asks the source."""
        places = [
            TopicPartition(topic, partition)
            for topic, count in self.source.topics().items()
            if self._is_copied(topic) and not is_internal(topic) and not self._policy.is_cycle(topic, self.target.name)
            for partition in range(count)
        ]
        copied = {TopicPartition(*place): upstream + 1 for place, (upstream, _) in self._store.ends().items()}
        return records_behind(self.source, places, copied)

    def beyond(self, checkpoint: Checkpoint) -> int:
        """How many offsets of the source the group had read that were not copied: markers may be among them."""
        topic = self._policy.upstream_topic(checkpoint.topic)
        last = None if topic is None else self._store.last(topic, checkpoint.partition)
        return 0 if last is None else max(checkpoint.upstream - last[0] - 1, 0)

    def _remote(self, topic: str) -> str:
        """The copy of `topic`; where it has itself come from the target, what it was copied from there."""
        if self._policy.is_cycle(topic, self.target.name):
            return self._policy.original_topic(topic)
        return self._policy.remote_topic(self.source.name, topic)

    def close(self) -> None:
        self._reader.close()
        self.source.close()
        self.target.close()


def move_groups(target: Cluster, checkpoints: Iterable[Checkpoint]) -> tuple[dict[str, int], list[str]]:
    """Sets offsets of the target's groups, where they are behind. Returns how many partitions of each group were set,
    and the groups that were left alone because they have members."""
    by_group: dict[str, list[Checkpoint]] = {}
    for checkpoint in checkpoints:
        by_group.setdefault(checkpoint.group, []).append(checkpoint)
    moved: dict[str, int] = {}
    active = []
    for group, theirs in by_group.items():
        if target.is_active(group):
            active.append(group)
            continue
        present = target.committed(group)
        due = {}
        for one in theirs:
            place = TopicPartition(one.topic, one.partition)
            if place not in present or present[place][0] < one.downstream:
                due[place] = (one.downstream, one.metadata)
        if due:
            target.commit(group, due)
        moved[group] = len(due)
    return moved, active


def read_checkpoints(target: Cluster, topic: str) -> list[Checkpoint]:
    """The newest of each group and partition."""
    newest: dict[bytes, Checkpoint] = {}
    reader = TopicReader(target, topic)
    try:
        for message in reader.to_end():
            try:
                newest[message.key() or b""] = Checkpoint.read(message.key() or b"", message.value() or b"")
            except DataError as error:
                log.warning("Offset %s of %s is skipped: %s", message.offset(), topic, error)
    finally:
        reader.close()
    return list(newest.values())


class MirrorCheckpointTask(SourceTask):
    def start(self, config: dict[str, Any]) -> None:
        self._groups: list[str] = json.loads(config[INTERNAL_GROUPS])
        self._interval: float = config["emit.checkpoints.interval.seconds"]
        self._emits: bool = config["emit.checkpoints.enabled"]
        self._sync_interval: float = config["sync.group.offsets.interval.seconds"]
        self._sync_due = time.monotonic() if config["sync.group.offsets.enabled"] else float("inf")
        self._due = time.monotonic()
        self._translation = Translation(config, self.context.config, self.context.stopping)
        self._last: dict[tuple[str, str, int], Checkpoint] | None = None

    def poll(self) -> Sequence[SourceRecord] | None:
        if self._last is None:  # in `poll`, because `start` should not last
            topic = self._translation.checkpoints_topic
            known = read_checkpoints(self._translation.target, topic)
            self._last = {_place(one): one for one in known if one.group in self._groups}
        self.context.stopping.wait(max(min(self._due, self._sync_due) - time.monotonic(), 0.0))
        if self.context.stopping.is_set():
            return None
        new, silent = self._look()
        if time.monotonic() >= self._sync_due:
            self._sync_groups()
            self._sync_due = time.monotonic() + self._sync_interval
        self._due = time.monotonic() + self._interval
        if silent is not None:
            if not new:
                raise silent  # asked again after a while
            log.warning("%s", silent)
        if not (self._emits and new):
            return None
        now = int(time.time() * 1000)
        return [
            SourceRecord(
                {"group": one.group, "topic": one.topic, "partition": one.partition},
                {"offset": 0},
                self._translation.checkpoints_topic,
                one.value(),
                BYTES,
                one.key(),
                BYTES,
                0,
                now,
            )
            for one in new
        ]

    def _look(self) -> tuple[list[Checkpoint], UnreachableError | None]:
        """What is new; and where a cluster does not answer, its words."""
        assert self._last is not None
        new: list[Checkpoint] = []
        silent = None
        try:
            self._translation.catch_up()
            found = self._translation.checkpoints(self._groups)
            new = [one for one in found if _is_news(self._last.get(_place(one)), one)]
        except UnreachableError as error:
            silent = error
        for one in new:
            self._last[_place(one)] = one
        return new, silent

    def _sync_groups(self) -> None:
        assert self._last is not None
        for group in self._groups:
            try:
                move_groups(self._translation.target, [one for one in self._last.values() if one.group == group])
            except UnreachableError as error:
                log.warning("%s", error)
                return
            except ConnectError as error:  # a member came in between, or the topic is not there yet
                log.warning("%s", error)

    def stop(self) -> None:
        if (translation := getattr(self, "_translation", None)) is not None:
            translation.close()


def _place(checkpoint: Checkpoint) -> tuple[str, str, int]:
    return checkpoint.group, checkpoint.topic, checkpoint.partition


def _is_news(last: Checkpoint | None, found: Checkpoint) -> bool:
    """A group that went on, or was set back at the source. A worse translation of the same offset is none."""
    return last is None or found.upstream < last.upstream or found.downstream > last.downstream


class MirrorCheckpoint(SourceConnector):
    """Group offsets of another cluster, translated to its copy here."""

    task = MirrorCheckpointTask
    aliases = ("org.apache.kafka.connect.mirror.MirrorCheckpointConnector",)
    converter = "ByteArray"

    @classmethod
    def config(cls) -> ConfigDef:
        return CLUSTERS + TOPICS + CHECKPOINTS + SYNCS + assigned(INTERNAL_GROUPS)

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        return check_aliases(config)

    def start(self, config: dict[str, Any]) -> None:
        given = self.context.config
        self._source = Cluster(given, "source")
        target = Cluster(given, "target")
        self._chosen = self.group_filter(config)
        compacted = {"cleanup.policy": "compact"}
        topic = policy_of(config).checkpoints_topic(self._source.name)
        target.create_topic(topic, 1, config["checkpoints.topic.replication.factor"], compacted)
        side, topic = offset_syncs_topic(config)
        where = self._source if side == "source" else target
        where.create_offset_syncs_topic(topic, config["offset-syncs.topic.replication.factor"])
        self._groups = self._find()
        self._watch = Watch(self.name)
        if config["refresh.groups.enabled"]:
            self._watch.every(config["refresh.groups.interval.seconds"], self._refresh)
        self._watch.start()

    @staticmethod
    def group_filter(config: Mapping[str, Any]) -> NameFilter:
        return NameFilter(config["groups"], config["groups.exclude"], "groups")

    def _find(self) -> list[str]:
        return [group for group in self._source.groups() if self._chosen(group)]

    def _refresh(self) -> None:
        found = self._find()
        if found != self._groups:
            self._groups = found
            self.context.request_task_reconfiguration()

    def task_configs(self, most: int) -> list[dict[str, str]]:
        groups = self._groups
        count = min(most, len(groups))
        return [{**self.context.config, INTERNAL_GROUPS: json.dumps(groups[task::count])} for task in range(count)]

    def stop(self) -> None:
        if (watch := getattr(self, "_watch", None)) is not None:
            watch.stop()

    def exactly_once_support(self, config: Mapping[str, Any]) -> bool | None:
        return True
