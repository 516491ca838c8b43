"""Fetch 4–18: from the log to the socket.

The way of a request: which partitions (session or not), what is there now, and if that is less than `min_bytes`, a
waiter on those partitions that is completed by an append, by the end of `max_wait_ms`, or dropped with the connection.
Pages that are not in memory are read by a thread; everything else happens on the event loop without a copy beyond the
read itself.

Left out: preferred read replicas and followers' fetches (cluster issue).
"""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.fetch_sessions import Opened
from caudal.broker.partition import Partition
from caudal.broker.router import RequestContext, handles
from caudal.broker.server import DEFERRED
from caudal.broker.wire import fetch as wire
from caudal.broker.wire.api_keys import ApiKey

_NONE = ErrorCode.none


@handles(ApiKey.FETCH, 4, 18, raw=True)
def fetch(ctx: RequestContext, buffer: bytearray, position: int, end: int) -> Any:
    request = wire.parse(buffer, position, end, ctx.version)
    opened = ctx.broker.fetch_sessions.open(request)
    if opened.error != _NONE:
        return wire.encode(ctx.version, opened.error, 0, [])
    pending = PendingFetch(ctx, request, opened)
    return pending.serve()


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
        try:
            answers, size = self.read(nowait=True)
        except BlockingIOError:
            return self.read_in_thread()
        request = self.request
        if size >= request.min_bytes or request.max_wait_ms <= 0 or any(answer.error for answer in answers):
            return self.encode(answers)
        if not self.opened.partitions and self.opened.session is None:
            return self.encode(answers)
        self.wait(size)
        return DEFERRED

    async def read_in_thread(self) -> Any:
        answers, _ = await self.context.broker.run_blocking(self.read, False)
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
        try:
            answers, _ = self.read(nowait=True)
        except BlockingIOError:
            connection.start_task(connection.finish_raw(self.context, self.read_in_thread()))
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

    def read(self, nowait: bool) -> tuple[list[wire.PartitionResponse], int]:
        """What is there now for each partition, within the byte limits, and how many bytes that is."""
        request = self.request
        left = min(request.max_bytes, self.context.broker.fetch_max_bytes)
        answers = []
        total = 0
        for item in self.opened.partitions:
            answer = self.read_partition(item, left, total == 0, nowait)
            size = len(answer.records)
            total += size
            left -= size
            answers.append(answer)
        return answers, total

    def read_partition(
        self, item: wire.PartitionRequest, left: int, first: bool, nowait: bool
    ) -> wire.PartitionResponse:
        partition, error = self.locate(item)
        if partition is None:
            return wire.PartitionResponse(item.topic, item.partition, error, -1, -1, -1, None, b"")
        high_watermark, log_start = partition.high_watermark, partition.log_start_offset
        committed = self.request.isolation_level == wire.READ_COMMITTED
        stable = partition.last_stable_offset
        offset = item.fetch_offset
        if item.last_fetched_epoch >= 0:
            diverging = self.divergence(partition, item)
            if diverging is not None:
                return wire.PartitionResponse(
                    item.topic, item.partition, _NONE, high_watermark, stable, log_start, None, b"", diverging
                )
        if not log_start <= offset <= partition.log_end_offset:
            return wire.PartitionResponse(
                item.topic, item.partition, ErrorCode.offset_out_of_range, -1, -1, -1, None, b""
            )
        upper = stable if committed else high_watermark
        records = b""
        if offset < upper and (left > 0 or first):
            try:
                records = partition.log.read(offset, min(left, item.max_bytes), upper, whole_batch=first, nowait=nowait)
            except BlockingIOError:
                raise
            except (OSError, KafkaError):
                return wire.PartitionResponse(
                    item.topic, item.partition, ErrorCode.kafka_storage_error, -1, -1, -1, None, b""
                )
            partition.bytes_out += len(records)
        aborted = None
        if committed:
            aborted = partition.log.aborted_transactions(offset, upper) if records else []
        return wire.PartitionResponse(
            item.topic, item.partition, _NONE, high_watermark, stable, log_start, aborted, records
        )

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
