"""The broker put together: what there is, in which order it starts and in which it stops.

Start: the folder is locked, metadata and logs are loaded, the port opens, then the coordinators read their topics and
say "load in progress" until they have. Stop is the reverse: no new connections, waiting fetches answered, all flushed,
the clean-shutdown marker last. Nothing here handles a request; handlers find their way through this object.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from caudal.broker import apis  # noqa: F401  (registers every handler)
from caudal.broker.config import BrokerConfig
from caudal.broker.controller import ChangeKind, MetadataChange, TopicInfo
from caudal.broker.controller.embedded import EmbeddedMetadata
from caudal.broker.controller.internal_topics import internal_topic
from caudal.broker.coordinators.group_coordinator import GroupCoordinator
from caudal.broker.coordinators.producer_ids import ProducerIds
from caudal.broker.coordinators.transaction_coordinator import TransactionCoordinator
from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.faults import Faults
from caudal.broker.fetch_sessions import FetchSessions
from caudal.broker.log.checkpoints import write_partition_metadata
from caudal.broker.log.config import LogConfig, StoreConfig
from caudal.broker.log.store import LogStore, take_lock
from caudal.broker.metrics import Metrics
from caudal.broker.partition import Partition
from caudal.broker.router import APIS
from caudal.broker.schemas.check import SchemaCheck
from caudal.broker.server import Server
from caudal.broker.wire import messages

if TYPE_CHECKING:
    from caudal.broker.apis.fetch import PendingFetch

log = logging.getLogger("caudal.broker")
T = TypeVar("T")


class Broker:
    """One broker. `await start()`, `await stop()`; it may not be started twice."""

    def __init__(self, config: BrokerConfig) -> None:
        self.config = config
        self.node_id = config.node_id
        self.folder = config.data_folder
        self.metrics = Metrics()
        self.faults = Faults()
        self.fetch_sessions = FetchSessions(int(config["max.incremental.fetch.session.cache.slots"]))
        self.fetch_max_bytes = int(config["fetch.max.bytes"])
        self.waiting_fetches: set[PendingFetch] = set()
        self.metadata = EmbeddedMetadata(self.folder, config)
        self.producer_ids = ProducerIds(self.metadata.next_producer_id_block)
        self.schemas = SchemaCheck(config["confluent.schema.registry.url"])
        self.groups = GroupCoordinator(self)
        self.transactions = TransactionCoordinator(self)
        self.store: LogStore | None = None
        self.on_recovery: Callable[[int, int], None] | None = None  # logs loaded and there are, told by a thread
        self.host = ""
        self.port = 0
        self.is_running = False
        self._stopping = False
        self.settled = asyncio.Event()  # all is loaded that will be
        self._partitions: dict[str, list[Partition]] = {}
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="caudal-disk")
        self._creating = asyncio.Lock()
        self._background: list[asyncio.Task[Any]] = []

    @property
    def logs(self) -> LogStore:
        """The logs of the data folder, once the broker has started."""
        assert self.store is not None
        return self.store

    @property
    def cluster_id(self) -> str:
        return self.metadata.cluster_id

    def partition(self, topic: str, index: int) -> Partition | None:
        """The partition that this broker leads, if there is one."""
        partitions = self._partitions.get(topic)
        if partitions is None or not 0 <= index < len(partitions):
            return None
        return partitions[index]

    def partitions(self) -> list[Partition]:
        return [partition for partitions in self._partitions.values() for partition in partitions]

    def run_blocking(self, function: Callable[..., T], *arguments: Any) -> Awaitable[T]:
        """Runs what may wait for the disk in a thread, so that the event loop does not."""
        return asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    async def ensure_internal_topic(self, name: str) -> None:
        """Creates one of the broker's own topics on first use."""
        async with self._creating:
            if name not in self.metadata.topics:
                plan = internal_topic(name, self.config)
                try:
                    await self.metadata.create_topic(name, plan.partitions, plan.replication_factor, plan.configs)
                except KafkaError as error:
                    # A client that went away has let go of the lock here; its creation went on to the end.
                    if error.code is not ErrorCode.topic_already_exists:
                        raise

    # -- start and stop ------------------------------------------------------------------------------------------

    async def start(self) -> None:
        lock = take_lock(self.folder)
        try:
            await self.metadata.load()
            self.config.apply_dynamic(self.metadata.broker_configs, self.metadata.default_broker_configs)
            self.store = await self.run_blocking(self._open_logs, lock)
            for topic in self.metadata.topics.values():
                self._serve_topic(topic)
            self._warn_of_strays()
            self.logs.high_watermark_of = self._high_watermark_of
            self.logs.last_stable_offset_of = self._last_stable_offset_of
            self.metadata.subscribe(self._on_change)
            self.metadata.prepare = self._make_logs
            self.server = Server(self)
            await self._listen()
        except BaseException:
            if self.store is None:
                os.close(lock)
            else:
                self.store.abandon()
            raise
        self.is_running = True
        loop = asyncio.get_running_loop()
        self._background = [loop.create_task(self.logs.run()), loop.create_task(self._settle())]

    async def _settle(self) -> None:
        """What may happen after the port is open: coordinators load, message classes are built."""
        # Groups first: a transaction that ends tells them, and they must know its pending offsets by then.
        await self.groups.load(self)
        await self.transactions.load(self)
        for api in list(APIS.values()):
            messages.request_decoder(api.key, api.last)
            if not api.raw:
                messages.response_encoder(api.key, api.last)
            await asyncio.sleep(0)
        self.settled.set()

    async def _listen(self) -> None:
        listener = self.config.listeners[0]
        port = await self.server.listen(listener.host, listener.port)
        advertised = self.config.advertised_listeners
        if advertised:
            self.host, self.port = advertised[0].host, advertised[0].port or port
        else:
            self.host, self.port = _reachable(listener.host), port
        log.info("listening on %s:%d, clients are told %s:%d", listener.host or "*", port, self.host, self.port)

    async def stop(self) -> None:
        if not self.is_running:
            return
        self.is_running = False
        self._stopping = True
        await self.server.stop_accepting()
        for fetch in list(self.waiting_fetches):
            fetch.complete()
        await self.groups.close()
        await self.transactions.close()
        await self.server.close()
        await self.schemas.close()
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self.producer_ids.close()
        await self.metadata.close()  # what is being changed comes to its end while the logs are open
        await self.logs.close()
        self._threads.shutdown(wait=True)
        log.info("stopped")

    # -- topics --------------------------------------------------------------------------------------------------

    def _open_logs(self, lock: int) -> LogStore:
        config = self.config
        settings = StoreConfig(
            retention_check_interval_ms=config["log.retention.check.interval.ms"],
            checkpoint_interval_ms=config["log.flush.offset.checkpoint.interval.ms"],
            flush_check_interval_ms=min(config["log.flush.scheduler.interval.ms"], 1000),
            cleaner_enable=config["log.cleaner.enable"],
            cleaner_backoff_ms=config["log.cleaner.backoff.ms"],
            cleaner_dedupe_buffer_bytes=config["log.cleaner.dedupe.buffer.size"],
            cleaner_io_max_bytes_per_second=config["log.cleaner.io.max.bytes.per.second"],
            producer_id_expiration_ms=config["producer.id.expiration.ms"],
            producer_id_expiration_check_interval_ms=config["producer.id.expiration.check.interval.ms"],
        )
        return LogStore.open(
            self.folder, config.log_config(), self._log_config_of, self.on_recovery, settings=settings, lock=lock
        )

    def _log_config_of(self, topic: str) -> LogConfig:
        info = self.metadata.topics.get(topic)
        return self.config.log_config(info.configs if info is not None else {})

    def _serve_topic(self, topic: TopicInfo) -> None:
        """Opens (or creates) the logs of the topic's partitions that are not served yet."""
        partitions = self._partitions.setdefault(topic.name, [])
        config = self.config.log_config(topic.configs)
        for info in topic.partitions[len(partitions) :]:
            log_ = self.logs.logs.get((topic.name, info.index))
            found = self.logs.topic_id(topic.name, info.index)
            if log_ is not None and found is None:
                # Lost with the power: it is synced with the first records that are.
                write_partition_metadata(log_.folder, topic.topic_id)
                log_.folder_renewed()
            elif log_ is not None and found != topic.topic_id:
                # A crash came between the deletion of an earlier topic of this name and that of its files.
                log.warning("%s-%d held the records of a deleted topic of this name", topic.name, info.index)
                self.logs.delete(topic.name, info.index)
                log_ = None
            if log_ is None:
                log_ = self.logs.create(topic.name, info.index, topic.topic_id, config)
            partitions.append(Partition(topic.name, info.index, topic.topic_id, log_, info.leader_epoch, self.schemas))

    async def _make_logs(self, topic: TopicInfo) -> None:
        """Makes the logs of a topic that is about to be announced, in a thread: each costs several writes.

        A stop does not wait for the rest of them: on a slow disk an internal topic takes longer than a stop may.
        """
        known = set(self.logs.logs)
        missing = [info.index for info in topic.partitions if (topic.name, info.index) not in known]
        config = self.config.log_config(topic.configs)

        def make() -> None:
            for index in missing:
                if self._stopping:
                    raise KafkaError(ErrorCode.broker_not_available, f"{topic.name}: the broker is stopping")
                self.logs.create(topic.name, index, topic.topic_id, config)

        try:
            await self.run_blocking(make)
        except (OSError, KafkaError) as error:
            for index in missing:
                self.logs.delete(topic.name, index)
            if isinstance(error, KafkaError):
                raise
            raise KafkaError(ErrorCode.kafka_storage_error, f"{topic.name}: {error.strerror}") from error

    def _on_change(self, change: MetadataChange) -> None:
        topic = change.topic
        if change.kind is ChangeKind.BROKER_CONFIGS:
            self.config.apply_dynamic(self.metadata.broker_configs, self.metadata.default_broker_configs)
            for info in self.metadata.topics.values():
                self._configure(info)
            return
        assert topic is not None
        if change.kind in (ChangeKind.TOPIC_CREATED, ChangeKind.PARTITIONS_ADDED):
            try:
                self._serve_topic(topic)
            except OSError as error:
                raise KafkaError(ErrorCode.kafka_storage_error, f"{topic.name}: {error.strerror}") from error
        elif change.kind is ChangeKind.TOPIC_CONFIGS:
            self._configure(topic)
        elif change.kind is ChangeKind.TOPIC_DELETED:
            self._remove_topic(topic)

    def _configure(self, topic: TopicInfo) -> None:
        config = self.config.log_config(topic.configs)
        for partition in self._partitions.get(topic.name, ()):
            partition.log.config = config

    def _remove_topic(self, topic: TopicInfo) -> None:
        for partition in self._partitions.pop(topic.name, []):
            for waiter in list(partition.waiters):
                waiter.on_append(partition, 1 << 62)  # wakes it up: it will find that the topic has gone
            self.logs.delete(topic.name, partition.index)
        self.groups.topic_deleted(topic.name)

    def _warn_of_strays(self) -> None:
        known = {(topic, p.index) for topic, partitions in self._partitions.items() for p in partitions}
        for topic, index in sorted(self.logs.logs.keys() - known):
            log.warning("the folder of %s-%d belongs to no topic of this cluster and is left alone", topic, index)

    def _high_watermark_of(self, key: tuple[str, int]) -> int:
        partition = self.partition(*key)
        return partition.high_watermark if partition is not None else 0

    def _last_stable_offset_of(self, key: tuple[str, int]) -> int:
        partition = self.partition(*key)
        return partition.last_stable_offset if partition is not None else 0


def _reachable(host: str) -> str:
    """The name under which a listener on this host is told to clients."""
    if host in ("", "0.0.0.0", "::"):
        return socket.getfqdn()
    return host
