"""The metadata of a single broker, kept in its own data folder: `meta.properties` and `metadata.jsonl`.

A change is checked, written to the journal and only then applied and told to subscribers, one at a time per topic; a
caller that goes away in the middle does not stop it. The cost of a change does not depend on how many topics there
are. This broker is leader and only replica of everything, so assignments are checked but not stored.

Left out: other brokers (zookeeper and quorum keepers will bring them), placement, elections.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID, uuid4

from caudal.broker.config import BrokerConfig, ConfigError
from caudal.broker.controller import ChangeKind, MetadataChange, PartitionInfo, TopicInfo, WantedConfigs
from caudal.broker.controller.internal_topics import CLUSTER_METADATA, INTERNAL_TOPICS
from caudal.broker.controller.journal import Journal, Record
from caudal.broker.controller.meta_properties import load_or_create
from caudal.broker.controller.topic_names import collision_key, has_collision_chars, name_fault
from caudal.broker.errors import ErrorCode, KafkaError

log = logging.getLogger("caudal.broker.controller")

JOURNAL_NAME: Final = "metadata.jsonl"
PRODUCER_ID_BLOCK: Final = 1000
# A request for more is a mistake that would fill the disk with empty folders.
MAX_PARTITIONS: Final = 10_000

_T = TypeVar("_T")


class EmbeddedMetadata:
    """ClusterMetadata of one broker; see the Protocol for what callers may rely on."""

    def __init__(self, folder: Path, config: BrokerConfig) -> None:
        self.node_id = config.node_id
        self.cluster_id = ""
        self.directory_id = ""
        self.topics: dict[str, TopicInfo] = {}
        self.topic_ids: dict[UUID, TopicInfo] = {}
        self.version = 0
        self.broker_configs: dict[str, str] = {}
        self.default_broker_configs: dict[str, str] = {}
        self._config = config
        self._folder = folder
        self._journal = Journal(self._folder / JOURNAL_NAME)
        self._next_producer_id = 0
        self._collisions: dict[str, str] = {}
        self._subscribers: list[Callable[[MetadataChange], None]] = []
        # Makes what a topic needs on the disk before it is announced, so that subscribers need not wait for the disk.
        self.prepare: Callable[[TopicInfo], Awaitable[None]] = self._nothing_to_prepare
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}
        self._under_way: set[asyncio.Task[Any]] = set()

    async def _nothing_to_prepare(self, topic: TopicInfo) -> None:
        """Without a broker around it there are no logs to make."""

    def subscribe(self, callback: Callable[[MetadataChange], None]) -> None:
        self._subscribers.append(callback)

    # Start and stop.

    async def load(self) -> None:
        """Reads the folder; ConfigError when it is another broker's, JournalDamaged when it cannot be trusted."""
        await asyncio.to_thread(self._load)

    def _load(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        meta = load_or_create(self._folder, self.node_id)
        self.cluster_id, self.directory_id = meta.cluster_id, meta.directory_id
        for record in self._journal.open():
            self._apply(record)
        needed = list(self._snapshot())
        if self._journal.has_grown(len(needed)):
            self._journal.rewrite(needed)

    async def close(self) -> None:
        if self._under_way:
            await asyncio.gather(*self._under_way, return_exceptions=True)
        await self._journal.close()

    # Topics.

    async def create_topic(
        self,
        name: str,
        partitions: int,
        replication_factor: int,
        configs: Mapping[str, str],
        assignments: Mapping[int, Sequence[int]] | None = None,
        validate_only: bool = False,
    ) -> TopicInfo:
        """-1 for partitions or replication factor takes the broker's default."""

        async def create() -> TopicInfo:
            # Names that collide share a lock, so that two of them cannot be created at once.
            async with self._locked("topic", collision_key(name)):
                self._check_new_name(name)
                count = self._check_shape(partitions, replication_factor, assignments)
                self._check_topic_configs(configs)
                topic = self._topic(name, uuid4(), count, configs)
                if not validate_only:
                    await self.prepare(topic)
                    await self._change(_topic_record(topic))
                    topic = self.topics[name]
                    await self._tell_created(topic)
                return topic

        return await self._to_the_end(create())

    async def delete_topic(self, name: str) -> None:
        async def delete() -> None:
            async with self._locked("topic", collision_key(name)):
                topic = self._existing(name)
                await self._change({"type": "topic_deleted", "name": name})
                self._tell(MetadataChange(ChangeKind.TOPIC_DELETED, topic))

        await self._to_the_end(delete())

    async def create_partitions(
        self,
        name: str,
        total: int,
        assignments: Sequence[Sequence[int]] | None = None,
        validate_only: bool = False,
    ) -> TopicInfo:
        async def create() -> TopicInfo:
            async with self._locked("topic", collision_key(name)):
                topic = self._existing(name)
                self._check_growth(topic, total, assignments)
                if validate_only:
                    return self._topic(name, topic.topic_id, total, topic.configs)
                first = len(topic.partitions)
                await self.prepare(self._topic(name, topic.topic_id, total, topic.configs))
                await self._change({"type": "partitions", "name": name, "total": total})
                self._tell(MetadataChange(ChangeKind.PARTITIONS_ADDED, self.topics[name], first))
                return self.topics[name]

        return await self._to_the_end(create())

    # Configs.

    async def set_topic_configs(self, name: str, configs: WantedConfigs, validate_only: bool = False) -> None:
        async def change() -> None:
            async with self._locked("topic", collision_key(name)):
                wanted = _wanted(configs, self._existing(name).configs)
                self._check_topic_configs(wanted)
                if not validate_only:
                    await self._change({"type": "topic_configs", "name": name, "configs": wanted})
                    self._tell(MetadataChange(ChangeKind.TOPIC_CONFIGS, self.topics[name]))

        await self._to_the_end(change())

    async def set_broker_configs(
        self, node_id: int | None, configs: WantedConfigs, validate_only: bool = False
    ) -> None:
        """`None` stands for all brokers."""

        async def change() -> None:
            async with self._locked("broker", str(node_id)):
                if node_id not in (None, self.node_id):
                    raise KafkaError(ErrorCode.invalid_request, f"There is no broker {node_id}.")
                wanted = _wanted(configs, self.default_broker_configs if node_id is None else self.broker_configs)
                try:
                    self._config.check_dynamic(wanted, per_broker=node_id is not None)
                except ConfigError as error:
                    raise KafkaError(ErrorCode.invalid_config, str(error)) from None
                if not validate_only:
                    await self._change({"type": "broker_configs", "node": node_id, "configs": wanted})
                    self._tell(MetadataChange(ChangeKind.BROKER_CONFIGS))

        await self._to_the_end(change())

    async def next_producer_id_block(self) -> range:
        """Producer ids nobody has ever been given; durable before the first of them is handed out."""

        async def reserve() -> range:
            async with self._locked("producer ids", ""):
                first = self._next_producer_id
                await self._change({"type": "producer_ids", "next": first + PRODUCER_ID_BLOCK})
                return range(first, first + PRODUCER_ID_BLOCK)

        return await self._to_the_end(reserve())

    # Checks.

    def _existing(self, name: str) -> TopicInfo:
        topic = self.topics.get(name)
        if topic is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition, f"There is no topic '{name}'.")
        return topic

    def _check_new_name(self, name: str) -> None:
        fault = name_fault(name)
        if fault is None and name == CLUSTER_METADATA:
            fault = f"Topic name is invalid: '{name}' is kept for the cluster's metadata."
        if fault is not None:
            raise KafkaError(ErrorCode.invalid_topic_exception, fault)
        if name in self.topics:
            raise KafkaError(ErrorCode.topic_already_exists, f"Topic '{name}' already exists.")
        if has_collision_chars(name):
            other = self._collisions.get(collision_key(name))
            if other is not None:
                raise KafkaError(
                    ErrorCode.invalid_topic_exception, f"Topic '{name}' collides with existing topic: {other}"
                )

    def _check_shape(
        self, partitions: int, replication_factor: int, assignments: Mapping[int, Sequence[int]] | None
    ) -> int:
        """The number of partitions of a new topic."""
        if assignments:
            if replication_factor != -1:
                raise KafkaError(
                    ErrorCode.invalid_request,
                    "A manual partition assignment was given, so the replication factor must be -1.",
                )
            if partitions != -1:
                raise KafkaError(
                    ErrorCode.invalid_request,
                    "A manual partition assignment was given, so the number of partitions must be -1.",
                )
            if sorted(assignments) != list(range(len(assignments))):
                raise KafkaError(
                    ErrorCode.invalid_replica_assignment,
                    "The partitions of a manual assignment must be numbered 0, 1, 2 and so on without a gap.",
                )
            for index, replicas in assignments.items():
                self._check_replicas(index, replicas)
            partitions = len(assignments)
        elif partitions == -1:
            partitions = self._config["num.partitions"]
        if partitions <= 0:
            raise KafkaError(
                ErrorCode.invalid_partitions, "The number of partitions must be larger than 0, or -1 for the default."
            )
        self._check_count(partitions)
        if replication_factor not in (-1, 1):
            if replication_factor <= 0:
                fault = "The replication factor must be larger than 0, or -1 for the default."
            else:
                fault = f"A replication factor of {replication_factor} cannot be reached: there is 1 broker."
            raise KafkaError(ErrorCode.invalid_replication_factor, fault)
        return partitions

    def _check_count(self, partitions: int) -> None:
        if partitions > MAX_PARTITIONS:
            raise KafkaError(
                ErrorCode.invalid_partitions,
                f"{partitions} partitions are too many for one topic; at most {MAX_PARTITIONS}.",
            )

    def _check_replicas(self, index: int, replicas: Sequence[int]) -> None:
        if not replicas:
            fault = f"Partition {index} is assigned to no broker."
        elif len(set(replicas)) != len(replicas):
            fault = f"Partition {index} is assigned to a broker twice."
        elif list(replicas) != [self.node_id]:
            unknown = next(node for node in replicas if node != self.node_id)
            fault = f"Partition {index} is assigned to broker {unknown}, but no such broker is registered."
        else:
            return
        raise KafkaError(ErrorCode.invalid_replica_assignment, fault)

    def _check_growth(self, topic: TopicInfo, total: int, assignments: Sequence[Sequence[int]] | None) -> None:
        present = len(topic.partitions)
        if total == present:
            raise KafkaError(ErrorCode.invalid_partitions, f"Topic '{topic.name}' already has {present} partition(s).")
        if total < present:
            raise KafkaError(
                ErrorCode.invalid_partitions,
                f"Topic '{topic.name}' has {present} partitions; their number can only grow, not become {total}.",
            )
        self._check_count(total)
        if assignments is None:
            return
        if len(assignments) != total - present:
            raise KafkaError(
                ErrorCode.invalid_replica_assignment,
                f"{total - present} partition(s) are added, but {len(assignments)} are assigned.",
            )
        for index, replicas in enumerate(assignments, present):
            self._check_replicas(index, replicas)

    def _check_topic_configs(self, configs: Mapping[str, str]) -> None:
        try:
            self._config.check_topic(configs)
        except ConfigError as error:
            raise KafkaError(ErrorCode.invalid_config, str(error)) from None

    # Applying: the journal's records, at the start and one by one.

    def _topic(self, name: str, topic_id: UUID, partitions: int, configs: Mapping[str, str]) -> TopicInfo:
        node = self.node_id
        infos = [PartitionInfo(index, node, 0, [node], [node]) for index in range(partitions)]
        return TopicInfo(name, topic_id, infos, dict(configs), name in INTERNAL_TOPICS)

    def _put(self, topic: TopicInfo) -> None:
        self.topics[topic.name] = topic
        self.topic_ids[topic.topic_id] = topic
        if has_collision_chars(topic.name):
            self._collisions[collision_key(topic.name)] = topic.name

    def _apply(self, record: Record) -> None:
        kind = record["type"]
        if kind == "topic":
            self._put(self._topic(record["name"], UUID(record["id"]), record["partitions"], record["configs"]))
        elif kind == "topic_deleted":
            topic = self.topics.pop(record["name"])
            del self.topic_ids[topic.topic_id]
            self._collisions.pop(collision_key(topic.name), None)
        elif kind == "partitions":
            topic = self.topics[record["name"]]
            self._put(self._topic(topic.name, topic.topic_id, record["total"], topic.configs))
        elif kind == "topic_configs":
            topic = self.topics[record["name"]]
            self._put(self._topic(topic.name, topic.topic_id, len(topic.partitions), record["configs"]))
        elif kind == "broker_configs":
            if record["node"] is None:
                self.default_broker_configs = dict(record["configs"])
            else:
                self.broker_configs = dict(record["configs"])
        elif kind == "producer_ids":
            self._next_producer_id = record["next"]
        else:
            # A newer Caudal wrote this; going on would drop what it means at the next rewrite.
            raise ConfigError(f"{self._journal.path} has a record of unknown type '{kind}'; use the newer Caudal.")
        self.version += 1

    def _snapshot(self) -> Iterator[Record]:
        for topic in self.topics.values():
            yield _topic_record(topic)
        for node, configs in ((None, self.default_broker_configs), (self.node_id, self.broker_configs)):
            if configs:
                yield {"type": "broker_configs", "node": node, "configs": configs}
        if self._next_producer_id:
            yield {"type": "producer_ids", "next": self._next_producer_id}

    async def _change(self, record: Record) -> None:
        try:
            await self._journal.append(record)
        except OSError as error:
            log.error("the metadata could not be written: %s", error)
            raise KafkaError(
                ErrorCode.kafka_storage_error, f"The metadata could not be written: {error.strerror}."
            ) from error
        self._apply(record)

    def _tell(self, change: MetadataChange) -> None:
        for callback in self._subscribers:
            callback(change)

    async def _tell_created(self, topic: TopicInfo) -> None:
        """A topic whose logs cannot be made (a full disk) is taken back: half a topic would refuse every record."""
        try:
            self._tell(MetadataChange(ChangeKind.TOPIC_CREATED, topic))
        except KafkaError:
            await self._change({"type": "topic_deleted", "name": topic.name})
            self._tell(MetadataChange(ChangeKind.TOPIC_DELETED, topic))
            raise

    # Order and completion.

    @asynccontextmanager
    async def _locked(self, kind: str, name: str) -> Any:
        """One change at a time of one thing; locks live only while somebody holds or awaits them."""
        key = f"{kind} {name}"
        lock, users = self._locks.get(key, (None, 0))
        lock = lock or asyncio.Lock()
        self._locks[key] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[key]
            if users == 1:
                del self._locks[key]
            else:
                self._locks[key] = (lock, users - 1)

    async def _to_the_end(self, change: Coroutine[Any, Any, _T]) -> _T:
        """Runs a change in its own task: once written it must also be applied, even if its client is gone."""
        task = asyncio.ensure_future(change)
        self._under_way.add(task)
        task.add_done_callback(self._finished)
        return await asyncio.shield(task)

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # whoever asked may be gone: then nobody else would look, and asyncio complain


def _wanted(configs: WantedConfigs, now: Mapping[str, str]) -> dict[str, str]:
    return dict(configs(now) if callable(configs) else configs)


def _topic_record(topic: TopicInfo) -> Record:
    return {
        "type": "topic",
        "name": topic.name,
        "id": str(topic.topic_id),
        "partitions": len(topic.partitions),
        "configs": topic.configs,
    }
