"""A broker made of lists, for tests of the transaction coordinator: what is written, in order, is in `events`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from caudal.broker.coordinators import transaction_records
from caudal.broker.coordinators.java_hash import partition_for
from caudal.broker.coordinators.producer_ids import ProducerIds
from caudal.broker.coordinators.transaction_coordinator import TransactionCoordinator
from caudal.broker.coordinators.transaction_records import TransactionValue
from caudal.broker.errors import ErrorCode, KafkaError


class FakePartition:
    """A log of (what, ...) tuples. `lagging` holds the high watermark back until `catch_up`."""

    def __init__(self, broker: FakeBroker, topic: str, index: int) -> None:
        self.broker, self.topic, self.index = broker, topic, index
        self.leader_epoch = 3
        self.records: list[tuple[bytes | None, bytes | None]] = []
        self.high_watermark = self.log_start_offset = 0
        self.lagging = False
        self.failures: list[ErrorCode] = []
        self.caught_up = asyncio.Event()

    @property
    def log_end_offset(self) -> int:
        return len(self.records)

    def append_records(self, items: list[tuple[bytes | None, bytes | None]]) -> Any:
        self._fail()
        for key, value in items:
            self.records.append((key, value))
            state = None if value is None else transaction_records.decode_value(value).state.title
            self.broker.events.append(("state", state))
        return self._appended()

    def append_marker(self, producer_id: int, producer_epoch: int, commit: bool, coordinator_epoch: int) -> Any:
        self._fail()
        self.records.append((None, None))
        self.broker.events.append(
            ("marker", self.topic, self.index, producer_id, producer_epoch, commit, coordinator_epoch)
        )
        return self._appended()

    def _fail(self) -> None:
        if self.failures:
            raise KafkaError(self.failures.pop(0))

    def _appended(self) -> Any:
        if not self.lagging:
            self.high_watermark = self.log_end_offset
        return SimpleNamespace(last_offset=self.log_end_offset - 1)

    def catch_up(self) -> None:
        self.lagging = False
        self.high_watermark = self.log_end_offset
        self.caught_up.set()

    async def replicated(self, offset: int) -> None:
        while self.high_watermark <= offset:
            self.caught_up.clear()
            await self.caught_up.wait()

    def iter_records(self) -> Any:
        for offset, (key, value) in enumerate(self.records):
            yield SimpleNamespace(is_control=False), [SimpleNamespace(offset=offset, key=key, value=value)]


class FakeBroker:
    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.completed: list[tuple[int, int, bool]] = []
        self.partitions: dict[tuple[str, int], FakePartition] = {}
        self.metadata = SimpleNamespace(topics={})
        self.groups = SimpleNamespace(transaction_completed=lambda *args: self.completed.append(args))
        self.config: dict[str, Any] = {
            "transaction.two.phase.commit.enable": False,
            "transaction.max.timeout.ms": 900_000,
            "transaction.state.log.num.partitions": 2,
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": 10_000,
            "transaction.remove.expired.transaction.cleanup.interval.ms": 3_600_000,
            "transactional.id.expiration.ms": 604_800_000,
            "add.partitions.to.txn.retry.backoff.ms": 5,
            "add.partitions.to.txn.retry.backoff.max.ms": 100,
        }
        self.blocks = iter(range(1000, 10**9, 1000))
        self.producer_ids = ProducerIds(self.next_block)
        self.transactions: TransactionCoordinator
        self.create("t", 2)

    def create(self, topic: str, count: int) -> None:
        self.metadata.topics[topic] = SimpleNamespace(partitions=[None] * count)
        for index in range(count):
            self.partitions[topic, index] = FakePartition(self, topic, index)

    def partition(self, topic: str, index: int) -> FakePartition | None:
        return self.partitions.get((topic, index))

    async def next_block(self) -> range:
        start = next(self.blocks)
        return range(start, start + 1000)

    async def ensure_internal_topic(self, name: str) -> None:
        if name not in self.metadata.topics:
            self.create(name, 2)

    async def run_blocking(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)

    def state_partition(self, transactional_id: str = "app") -> FakePartition:
        return self.partitions["__transaction_state", partition_for(transactional_id, 2)]

    def last_value(self, transactional_id: str = "app") -> TransactionValue:
        key = transaction_records.encode_key(transactional_id)
        values = [value for written, value in self.state_partition(transactional_id).records if written == key]
        assert values and values[-1] is not None
        return transaction_records.decode_value(values[-1])


class Clock:
    now = 1_000_000

    def __call__(self) -> int:
        return self.now
