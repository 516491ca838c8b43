"""A broker small enough for handlers: the real config and metadata, partitions made of numbers, no sockets, no disk
but the journal. `call` takes a request through the wire format both ways, so that every version is really encoded."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from caudal.broker import (
    apis,  # noqa: F401  (registers the handlers)
    router,
)
from caudal.broker.config import BrokerConfig
from caudal.broker.controller import ChangeKind, MetadataChange
from caudal.broker.controller.embedded import EmbeddedMetadata
from caudal.broker.controller.internal_topics import internal_topic
from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.log.config import LogConfig
from caudal.broker.wire import messages
from caudal.broker.wire.api_keys import ApiKey


class FakeEpochs:
    def __init__(self, entries: list[tuple[int, int]]) -> None:
        self.entries = entries

    def epoch_at(self, offset: int) -> int:
        return max((epoch for epoch, start in self.entries if start <= offset), default=-1)

    def end_offset(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        for number, (known, _) in enumerate(self.entries):
            if known == epoch:
                later = self.entries[number + 1 :]
                return epoch, later[0][1] if later else log_end_offset
        return -1, -1


@dataclass
class FakeLog:
    config: LogConfig = field(default_factory=LogConfig)
    size: int = 0
    epochs: FakeEpochs = field(default_factory=lambda: FakeEpochs([]))
    records: list[tuple[int, int]] = field(default_factory=list)  # timestamp by offset
    log_start_offset: int = 0
    broken: bool = False

    def offset_for_timestamp(self, timestamp: int, upper: int) -> tuple[int, int, int] | None:
        if self.broken:
            raise OSError(5, "Input/output error")
        return next(((t, o, 0) for t, o in self.records if t >= timestamp and o < upper), None)

    def offset_of_max_timestamp(self, upper: int) -> tuple[int, int, int] | None:
        found = [(t, o) for t, o in self.records if o < upper]
        return (*max(found), 0) if found else None

    def increment_log_start(self, offset: int) -> None:
        self.log_start_offset = offset


@dataclass
class FakePartition:
    topic: str
    index: int
    log: FakeLog = field(default_factory=FakeLog)
    leader_epoch: int = 0
    high_watermark: int = 0
    last_stable_offset: int = 0

    @property
    def log_start_offset(self) -> int:
        return self.log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        return self.high_watermark


class FakeBroker:
    host, port = "kafka.example", 9092

    def __init__(self, folder: Path, properties: Mapping[str, str] | None = None) -> None:
        self.config = BrokerConfig({"log.dirs": str(folder), **(properties or {})})
        self.node_id = self.config.node_id
        self.metadata = EmbeddedMetadata(folder, self.config)
        self.served: dict[tuple[str, int], FakePartition] = {}
        self.refuse_internal: KafkaError | None = None
        self.metadata.subscribe(self._on_change)

    @property
    def cluster_id(self) -> str:
        return self.metadata.cluster_id

    def partition(self, topic: str, index: int) -> FakePartition | None:
        return self.served.get((topic, index))

    async def run_blocking(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.to_thread(function, *arguments)

    async def ensure_internal_topic(self, name: str) -> None:
        if self.refuse_internal is not None:
            raise self.refuse_internal
        if name not in self.metadata.topics:
            plan = internal_topic(name, self.config)
            await self.metadata.create_topic(name, plan.partitions, plan.replication_factor, plan.configs)

    def _on_change(self, change: MetadataChange) -> None:
        if change.kind is ChangeKind.BROKER_CONFIGS:
            self.config.apply_dynamic(self.metadata.broker_configs, self.metadata.default_broker_configs)
        elif change.topic is not None and change.kind in (ChangeKind.TOPIC_CREATED, ChangeKind.PARTITIONS_ADDED):
            config = self.config.log_config(change.topic.configs)
            for info in change.topic.partitions[change.first_partition :]:
                partition = FakePartition(change.topic.name, info.index, FakeLog(config))
                self.served[change.topic.name, info.index] = partition


@dataclass
class FakeContext:
    broker: FakeBroker
    version: int
    client_id: str | None = "test"
    peer_host: str = "127.0.0.1"
    principal: str = "User:ANONYMOUS"


async def call(broker: FakeBroker, key: ApiKey, version: int, /, **request: Any) -> Any:
    """The response of a handler, as a client of this version reads it."""
    api = router.APIS[key]
    assert api.first <= version <= api.last
    decoded = messages.decode_request(key, version, messages.encode_request(key, version, request))
    answer = api.handler(decoded, FakeContext(broker, version))
    if inspect.isawaitable(answer):
        answer = await answer
    body = router.encode(key, version, answer)
    response, end = messages.response_decoder(key, version)(body, 0)
    assert end == len(body), "nothing may follow the last field"
    return response


def versions(key: ApiKey) -> range:
    return range(router.APIS[key].first, router.APIS[key].last + 1)


NONE = ErrorCode.none
