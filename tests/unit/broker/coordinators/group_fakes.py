"""What the group tests stand on: a clock that moves when told, and a broker that is no more than its internal topic."""

from __future__ import annotations

import heapq
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

from caudal.broker.controller import PartitionInfo, TopicInfo
from caudal.broker.coordinators.group import Group
from caudal.broker.coordinators.group_coordinator import OFFSETS_TOPIC, GroupCoordinator
from caudal.broker.coordinators.offset_records import GroupValue
from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.wire.batch import BatchHeader, EndTxnMarker, Record, build_batch, build_marker, read_header, records


def subscription(*topics: str) -> bytes:
    """A consumer's subscription, version 0."""
    names = b"".join(len(topic).to_bytes(2, "big") + topic.encode() for topic in topics)
    return b"\x00\x00" + len(topics).to_bytes(4, "big") + names + b"\xff\xff\xff\xff"


class FakeTimer:
    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class FakeClock:
    """Seconds that pass when `advance` says so; timers fire on the way, in order."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self._queue: list[tuple[float, int, FakeTimer, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0

    def call_later(self, delay: float, callback: Callable[..., None], *args: Any) -> FakeTimer:
        timer = FakeTimer()
        self._count += 1
        heapq.heappush(self._queue, (self.seconds + delay, self._count, timer, callback, args))
        return timer

    def advance(self, seconds: float) -> None:
        end = self.seconds + seconds
        while self._queue and self._queue[0][0] <= end:
            at, _, timer, callback, args = heapq.heappop(self._queue)
            self.seconds = max(self.seconds, at)
            if not timer.cancelled:
                callback(*args)
        self.seconds = end

    @property
    def live_timers(self) -> int:
        return sum(not timer.cancelled for _, _, timer, _, _ in self._queue)


class FakeHost:
    """The outside of the state machine: a clock, a list instead of a log, settings to play with."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.stored: list[GroupValue] = []
        self.store_code = ErrorCode.none
        self.hold_stores = False
        self.held: list[Callable[[], None]] = []
        self.initial_rebalance_delay_ms = 3000
        self.max_group_size = 2**31 - 1

    def now_ms(self) -> int:
        return int(self.clock.seconds * 1000)

    def time(self) -> float:
        return self.clock.seconds

    def call_later(self, delay: float, callback: Callable[..., None], *args: Any) -> FakeTimer:
        return self.clock.call_later(delay, callback, *args)

    def store(self, group: Group, value: GroupValue, done: Callable[[ErrorCode], None]) -> None:
        self.stored.append(value)
        code = self.store_code
        if self.hold_stores:
            self.held.append(lambda: done(code))
        else:
            done(code)


class FakePartition:
    """A partition of ``__consumer_offsets`` in memory, with real batches."""

    def __init__(self, index: int) -> None:
        self.topic = OFFSETS_TOPIC
        self.index = index
        self.log_start_offset = 0
        self.batches: list[bytes] = []
        self.log_end_offset = 0
        self.failure: KafkaError | None = None

    @property
    def high_watermark(self) -> int:
        return self.log_end_offset

    def append_records(
        self,
        items: Sequence[tuple[bytes | None, bytes | None]],
        *,
        producer_id: int = -1,
        producer_epoch: int = -1,
        transactional: bool = False,
    ) -> Any:
        if self.failure is not None:
            raise self.failure
        base = self.log_end_offset
        made = [Record(base + delta, 1, key, value, ()) for delta, (key, value) in enumerate(items)]
        batch = build_batch(
            made,
            base_offset=base,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transactional=transactional,
        )
        self.batches.append(bytes(batch))
        self.log_end_offset += len(items)
        return SimpleNamespace(base_offset=base, last_offset=self.log_end_offset - 1)

    def append_marker(self, producer_id: int, commit: bool) -> None:
        marker = build_marker(self.log_end_offset, 1, producer_id, 0, EndTxnMarker(commit, 0), 0)
        self.batches.append(bytes(marker))
        self.log_end_offset += 1

    async def replicated(self, offset: int) -> None:
        assert offset < self.log_end_offset

    def iter_records(self, start: int = 0) -> Iterator[tuple[BatchHeader, list[Record]]]:
        for batch in self.batches:
            header = read_header(batch)
            yield header, list(records(batch, 0, header))

    def all_records(self) -> list[Record]:
        return [record for header, found in self.iter_records() if not header.is_control for record in found]


class FakeTransactions:
    """Says yes to everything, or what it was told to say, and remembers what it was asked."""

    def __init__(self) -> None:
        self.code = ErrorCode.none
        self.asked: list[tuple[str, int, int, list[tuple[str, int]], bool]] = []

    async def verify_or_add(
        self, transactional_id: str, producer_id: int, epoch: int, partitions: list[tuple[str, int]], add: bool
    ) -> dict[tuple[str, int], ErrorCode]:
        self.asked.append((transactional_id, producer_id, epoch, list(partitions), add))
        return dict.fromkeys(partitions, self.code)


def topic_info(name: str, partitions: int) -> TopicInfo:
    infos = [PartitionInfo(index, 0, 0, [0], [0]) for index in range(partitions)]
    return TopicInfo(name, uuid4(), infos, {}, name.startswith("__"))


class FakeBroker:
    """What the group coordinator and its handlers use of a broker."""

    def __init__(self, *topics: str, **settings: int) -> None:
        self.config: dict[str, int] = {
            "group.initial.rebalance.delay.ms": 0,
            "group.min.session.timeout.ms": 10,
            "group.max.session.timeout.ms": 1_800_000,
            "group.max.size": 2**31 - 1,
            "offset.metadata.max.bytes": 4096,
            "offsets.retention.minutes": 10080,
            "offsets.retention.check.interval.ms": 600_000,
            "offsets.topic.num.partitions": 3,
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        self.offsets_log = [FakePartition(index) for index in range(3)]
        infos = {name: topic_info(name, 4) for name in topics}
        topic_ids: dict[UUID, TopicInfo] = {info.topic_id: info for info in infos.values()}
        self.metadata: Any = SimpleNamespace(topics=infos, topic_ids=topic_ids)
        self.transactions = FakeTransactions()
        self.groups = GroupCoordinator(self)  # type: ignore[arg-type]

    def partition(self, topic: str, index: int) -> FakePartition | None:
        return self.offsets_log[index] if topic == OFFSETS_TOPIC and topic in self.metadata.topics else None

    async def ensure_internal_topic(self, name: str) -> None:
        self.metadata.topics[name] = topic_info(name, 3)

    async def run_blocking(self, function: Callable[..., Any], *args: Any) -> Any:
        return function(*args)

    async def start(self) -> GroupCoordinator:
        await self.groups.load(self)  # type: ignore[arg-type]
        return self.groups

    async def restarted(self) -> FakeBroker:
        """A broker on the same log, as after kill -9."""
        await self.groups.close()
        other = FakeBroker()
        other.config = self.config
        other.metadata = self.metadata
        other.offsets_log = self.offsets_log
        await other.start()
        return other


Handler = Callable[[Any, Any], Any]


async def call(handler: Handler, broker: FakeBroker, version: int, request: Mapping[str, Any]) -> Any:
    """A request through its real bytes: encoded, decoded, handled, the answer encoded and decoded again."""
    from caudal.broker.router import APIS
    from caudal.broker.wire import messages

    key = next(api.key for api in APIS.values() if api.handler is handler)
    body = messages.encode_request(key, version, request)
    ctx = SimpleNamespace(
        broker=broker, version=version, client_id="tester", peer_host="127.0.0.1", principal="User:ANONYMOUS"
    )
    answer = handler(messages.decode_request(key, version, body), ctx)
    if isinstance(answer, Awaitable):
        answer = await answer
    return messages.decode_response(key, version, messages.encode_response(key, version, answer))
