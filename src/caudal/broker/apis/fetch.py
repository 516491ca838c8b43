"""Fetch 4–18: from the log to the socket.

The way of a request: which partitions (session or not), what is there now, and if that is less than `min_bytes`, a
waiter on those partitions that is completed by an append, by the end of `max_wait_ms`, or dropped with the connection.
Pages that are not in memory are read by a thread; everything else happens on the event loop without a copy beyond the
read itself.

Left out: preferred read replicas and followers' fetches (cluster issue).
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple
from uuid import UUID

from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.fetch_sessions import Opened
from caudal.broker.log.log import Log
from caudal.broker.partition import Partition
from caudal.broker.router import RequestContext, handles
from caudal.broker.server import DEFERRED
from caudal.broker.wire import fetch as wire
from caudal.broker.wire.api_keys import ApiKey
from caudal.broker.wire.batch import iter_batches

_NONE = ErrorCode.none


@handles(ApiKey.FETCH, 4, 18, raw=True)
def fetch(ctx: RequestContext, buffer: bytearray, position: int, end: int) -> Any:
    request = wire.parse(buffer, position, end, ctx.version)
    opened = ctx.broker.fetch_sessions.open(request)
    if opened.error != _NONE:
        return wire.encode(ctx.version, opened.error, 0, [])
    pending = PendingFetch(ctx, request, opened)
    return pending.serve()


class Look(NamedTuple):
    """One partition as the event loop saw it: the answer so far, and the partition if it has records to add."""

    item: wire.PartitionRequest
    partition: Partition | None
    upper: int  # the offset before which the fetcher may read
    answer: wire.PartitionResponse


class PendingFetch:
    """One fetch from its arrival to its answer."""

    __slots__ = ("available", "context", "done", "opened", "request", "timer", "watched")

    def __init__(self, context: RequestContext, request: wire.FetchRequest, opened: Opened) -> None:
        self.context = context
        self.request = request
        self.opened = opened
        self.watched: dict[Partition, int] = {}  # partition → offset from which bytes count
        self.available = 0
        self.timer: asyncio.TimerHandle | None = None
        self.done = False

    def serve(self) -> Any:
        """Answers now if there is enough or no time to wait; else waits."""
        looks = self.look()
        try:
            answers, size = self.read(looks, nowait=True)
        except BlockingIOError:
            return self.read_in_thread(looks)
        request = self.request
        if size >= request.min_bytes or request.max_wait_ms <= 0 or any(answer.error for answer in answers):
            return self.encode(answers)
        if not self.opened.partitions and self.opened.session is None:
            return self.encode(answers)
        self.wait(size)
        return DEFERRED

    async def read_in_thread(self, looks: list[Look]) -> Any:
        answers, _ = await self.context.broker.run_blocking(self.read, looks, False)
        return self.encode(answers)

    # -- waiting -------------------------------------------------------------------------------------------------

    def wait(self, size: int) -> None:
        self.available = size
        for item in self.opened.partitions:
            partition, _ = self.locate(item)
            if partition is not None:
                self.watched[partition] = item.fetch_offset
                partition.waiters.add(self)
        loop = asyncio.get_running_loop()
        self.timer = loop.call_later(self.request.max_wait_ms / 1000, self.complete)
        self.context.connection.on_disconnect = self.forget
        self.context.broker.waiting_fetches.add(self)

    def on_append(self, partition: Partition, size: int) -> None:
        if self.done:
            return
        if self.request.isolation_level == wire.READ_COMMITTED:
            if partition.last_stable_offset <= self.watched[partition]:
                return
            size = self.request.min_bytes  # what became stable may be more than what was just appended
        self.available += size
        if self.available >= self.request.min_bytes:
            self.done = True
            # Not at once: the producer's answer goes first, and more batches of the same read join in.
            asyncio.get_running_loop().call_soon(self.complete)

    def complete(self) -> None:
        connection = self.context.connection
        if connection.closing or not self.forget():
            return
        looks = self.look()
        try:
            answers, _ = self.read(looks, nowait=True)
        except BlockingIOError:
            connection.start_task(connection.finish_raw(self.context, self.read_in_thread(looks)))
            return
        connection.respond(self.context, self.encode(answers))
        connection.resume()

    def forget(self) -> bool:
        """Stops waiting; False when that had been done before."""
        self.done = True
        self.context.broker.waiting_fetches.discard(self)
        for partition in self.watched:
            partition.waiters.discard(self)
        timer, self.timer = self.timer, None
        if timer is not None:
            timer.cancel()
        return timer is not None

    # -- reading -------------------------------------------------------------------------------------------------

    def locate(self, item: wire.PartitionRequest) -> tuple[Partition | None, ErrorCode]:
        broker = self.context.broker
        topic = item.topic
        if isinstance(topic, UUID):
            info = broker.metadata.topic_ids.get(topic)
            if info is None:
                return None, ErrorCode.unknown_topic_id
            topic = info.name
        partition = broker.partition(topic, item.partition)
        if partition is None:
            return None, ErrorCode.unknown_topic_or_partition
        if item.current_leader_epoch >= 0 and item.current_leader_epoch != partition.leader_epoch:
            fenced = item.current_leader_epoch < partition.leader_epoch
            return None, ErrorCode.fenced_leader_epoch if fenced else ErrorCode.unknown_leader_epoch
        return partition, _NONE

    def look(self) -> list[Look]:
        """What each partition could give now. On the event loop: offsets belong together only there."""
        committed = self.request.isolation_level == wire.READ_COMMITTED
        return [self.look_at(item, committed) for item in self.opened.partitions]

    def look_at(self, item: wire.PartitionRequest, committed: bool) -> Look:
        topic, number, offset = item.topic, item.partition, item.fetch_offset
        partition, error = self.locate(item)
        if partition is not None and not partition.log_start_offset <= offset <= partition.log_end_offset:
            partition, error = None, ErrorCode.offset_out_of_range
        if partition is None:
            return Look(item, None, 0, wire.PartitionResponse(topic, number, error, -1, -1, -1, None, b""))
        high_watermark, stable = partition.high_watermark, partition.last_stable_offset
        diverging = self.divergence(partition, item) if item.last_fetched_epoch >= 0 else None
        answer = wire.PartitionResponse(
            topic,
            number,
            _NONE,
            high_watermark,
            stable,
            partition.log_start_offset,
            () if committed else None,
            b"",
            diverging,
        )
        upper = stable if committed else high_watermark
        return Look(item, partition if offset < upper and diverging is None else None, upper, answer)

    def read(self, looks: list[Look], nowait: bool) -> tuple[list[wire.PartitionResponse], int]:
        """The answers with their records, within the byte limits, and how many bytes of records there are."""
        left = min(self.request.max_bytes, self.context.broker.fetch_max_bytes)
        answers = []
        total = 0
        for look in looks:
            answer = look.answer
            if look.partition is not None and (left > 0 or total == 0):
                answer = self.read_partition(look, look.partition.log, left, total == 0, nowait)
                size = len(answer.records)
                look.partition.bytes_out += size
                total += size
                left -= size
            answers.append(answer)
        return answers, total

    def read_partition(self, look: Look, log: Log, left: int, first: bool, nowait: bool) -> wire.PartitionResponse:
        item, answer = look.item, look.answer
        offset = item.fetch_offset
        try:
            records = log.read(offset, min(left, item.max_bytes), look.upper, whole_batch=first, nowait=nowait)
            if not records:
                return answer
            if answer.aborted is None:
                return answer._replace(records=records)
            aborted = log.aborted_transactions(offset, look.upper)
            if aborted:  # only those that reach into what is sent
                end = max(header.last_offset for _, header in iter_batches(records)) + 1
                aborted = [(producer_id, start) for producer_id, start in aborted if start < end]
            return answer._replace(records=records, aborted=aborted)
        except BlockingIOError:
            raise
        except (OSError, KafkaError):
            return answer._replace(error=ErrorCode.kafka_storage_error)

    @staticmethod
    def divergence(partition: Partition, item: wire.PartitionRequest) -> tuple[int, int] | None:
        """Where the fetcher's log and ours part, if the epoch it read last ended earlier here."""
        epoch, end = partition.log.epochs.end_offset(item.last_fetched_epoch, partition.log_end_offset)
        if epoch < item.last_fetched_epoch or end < item.fetch_offset:
            return epoch, end
        return None

    def encode(self, answers: list[wire.PartitionResponse]) -> list[bytes | bytearray]:
        session = self.opened.session
        if session is None:
            return wire.encode(self.context.version, _NONE, 0, answers)
        news = session.filter(answers)
        if not self.opened.incremental:
            news = answers
        elif len(news) > 1:
            news.sort(key=lambda answer: str(answer.topic))  # partitions of a topic must stand together
        return wire.encode(self.context.version, _NONE, session.id, news)
