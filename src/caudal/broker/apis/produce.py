"""Produce 3–13: from the receive buffer into the log.

Idempotent and plain batches are appended at once, on the event loop. A transactional batch is first checked with the
transaction coordinator (KIP-890): versions before 12 must have added the partition, later ones add it by producing. The
check is made again in the same step as the append, so that no end of the transaction can slip in between.

A topic that checks schemas may have to ask the registry first (`SchemasUnknown`). Then what can be appended is, and the
rest is tried again after the look-up, all checks included. The connection's next request waits: producers keep their
order.

Left out: formats v0 and v1 (Kafka 4.0 dropped them too), throttling.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any
from uuid import UUID

from caudal.broker.controller.internal_topics import is_internal
from caudal.broker.coordinators import transaction_errors
from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.log.log import Log
from caudal.broker.partition import Appended
from caudal.broker.router import RequestContext, handles
from caudal.broker.schemas.check import Question, RefusedRecords, SchemasUnknown
from caudal.broker.server import NO_RESPONSE
from caudal.broker.wire import codecs
from caudal.broker.wire import produce as wire
from caudal.broker.wire.api_keys import ApiKey
from caudal.broker.wire.batch import HEADER_SIZE, read_header

if TYPE_CHECKING:
    from caudal.broker.broker import Broker

FIRST_WITH_ZSTD = 7
_NONE = ErrorCode.none
_PENDING = wire.PartitionResult(-1, ErrorCode.unknown_server_error)  # stands for a batch that waits; never sent
Refused = dict[tuple[str | None, int], ErrorCode]
Results = list[tuple[str | UUID, list[wire.PartitionResult]]]


class _Waiting:
    """A request some of whose batches wait for the schema registry: what is done already, and what to ask."""

    def __init__(self) -> None:
        self.done: dict[tuple[int, int], wire.PartitionResult] = {}  # by place in the request
        self.partitions: set[tuple[str | None, int]] = set()
        self.questions: set[Question] = set()
        self.unsynced: list[Log] = []


@handles(ApiKey.PRODUCE, 3, 13, raw=True)
def produce(ctx: RequestContext, buffer: bytearray, position: int, end: int) -> Any:
    request = wire.parse(buffer, position, end, ctx.version)
    if request.transactional_id is not None:
        missing = _not_in_transaction(ctx.broker, request, buffer)
        if missing:
            kept = bytearray(memoryview(buffer)[position:end])  # the receive buffer goes on to the next request
            return _produce_after_check(ctx, kept, request.transactional_id, missing)
    return _append_all(ctx, request, buffer)


def _append_all(
    ctx: RequestContext,
    request: wire.ProduceRequest,
    buffer: bytearray,
    refused: Refused | None = None,
    earlier: _Waiting | None = None,
) -> Any:
    """Appends each partition's batch; `refused` holds those that the transaction coordinator did not let pass,
    `earlier` what was done before the schema registry was asked."""
    view = memoryview(buffer)
    results: Results = []
    failed = False
    unsynced: list[Log] = []
    waiting: _Waiting | None = None
    for topic, partitions in request.topics:
        name = _topic_name(ctx.broker, topic)
        answers: list[wire.PartitionResult] = []
        for data in partitions:
            if earlier is not None and (done := earlier.done.get((len(results), len(answers)))) is not None:
                failed = failed or done.error is not _NONE
                answers.append(done)
                continue
            try:
                if refused and (name, data.partition) in refused:
                    raise KafkaError(
                        refused[name, data.partition], "the transaction coordinator refused this partition"
                    )
                if waiting is not None and (name, data.partition) in waiting.partitions:
                    raise SchemasUnknown(set())  # a second batch for a partition does not overtake the first
                appended = _append(ctx, name, topic, data, request, view, unsynced)
            except KafkaError as error:
                failed = True
                blamed = error.record_errors if isinstance(error, RefusedRecords) else ()
                answers.append(
                    wire.PartitionResult(data.partition, error.code, message=error.message, record_errors=blamed)
                )
            except SchemasUnknown as unknown:
                waiting = waiting or _Waiting()
                waiting.questions |= unknown.questions
                waiting.partitions.add((name, data.partition))
                answers.append(_PENDING)
            else:
                answers.append(
                    wire.PartitionResult(
                        data.partition, _NONE, appended.base_offset, appended.log_append_time, appended.log_start_offset
                    )
                )
        results.append((topic, answers))
    if earlier is not None:
        unsynced = [*earlier.unsynced, *unsynced]
    if waiting is not None:
        waiting.done = {
            (place, index): answer
            for place, (_, answers) in enumerate(results)
            for index, answer in enumerate(answers)
            if answer is not _PENDING
        }
        waiting.unsynced = unsynced
        kept = bytearray(buffer) if earlier is None else buffer  # the receive buffer goes on to the next request
        return _append_after_look_up(ctx, request, kept, refused, waiting)
    if request.acks == 0:
        if failed:  # with acks=0 a closed connection is the only way to say that something went wrong
            ctx.connection.close()
        return NO_RESPONSE
    if unsynced:
        return _answer_when_synced(ctx, unsynced, results)
    return (wire.encode(ctx.version, results),)


async def _append_after_look_up(
    ctx: RequestContext, request: wire.ProduceRequest, kept: bytearray, refused: Refused | None, waiting: _Waiting
) -> Any:
    await ctx.broker.schemas.look_up(waiting.questions)
    answer = _append_all(ctx, request, kept, refused, waiting)
    return await answer if asyncio.iscoroutine(answer) else answer


async def _answer_when_synced(ctx: RequestContext, logs: list[Log], results: Results) -> Any:
    """With flush.messages reached, an acknowledgement means that the records are on the disk."""
    try:
        for log in logs:
            await ctx.broker.logs.flush(log)
    except OSError as error:
        failed = ErrorCode.kafka_storage_error
        results = [
            (topic, [wire.PartitionResult(answer.partition, failed, message=error.strerror) for answer in answers])
            for topic, answers in results
        ]
    return (wire.encode(ctx.version, results),)


def _append(
    ctx: RequestContext,
    name: str | None,
    topic: str | UUID,
    data: wire.PartitionData,
    request: wire.ProduceRequest,
    view: memoryview,
    unsynced: list[Log],
) -> Appended:
    broker = ctx.broker
    if name is None:
        raise KafkaError(ErrorCode.unknown_topic_id, f"no topic has the id {topic}")
    partition = broker.partition(name, data.partition)
    if partition is None:
        raise KafkaError(ErrorCode.unknown_topic_or_partition, f"{name}-{data.partition} does not exist")
    if data.start < 0:
        raise KafkaError(ErrorCode.invalid_record, "no records were sent")
    if request.acks == -1:
        if partition.log.config.min_insync_replicas > 1:
            raise KafkaError(ErrorCode.not_enough_replicas, f"{name} asks for more in-sync replicas than there are")
    elif request.acks not in (0, 1):
        raise KafkaError(ErrorCode.invalid_required_acks, f"acks={request.acks} is none of 0, 1 and -1")
    if is_internal(name) and ctx.client_id != "__admin_client":
        raise KafkaError(ErrorCode.invalid_topic_exception, f"{name} is written by the broker only")
    records = view[data.start : data.stop]
    if len(records) >= HEADER_SIZE:
        header = read_header(records)
        if header.codec == codecs.ZSTD and ctx.version < FIRST_WITH_ZSTD:
            raise KafkaError(ErrorCode.unsupported_compression_type, "zstd needs Produce version 7 or later")
        if header.is_transactional and not (
            request.transactional_id is not None
            and broker.transactions.is_ongoing(
                request.transactional_id, header.producer_id, header.producer_epoch, name, data.partition
            )
        ):
            raise KafkaError(ErrorCode.invalid_txn_state, f"{name}-{data.partition} is not part of an open transaction")
    implicit_add = request.transactional_id is not None and ctx.version >= wire.FIRST_WITH_IMPLICIT_ADD
    appended = partition.append(records, require_zero=implicit_add)
    if partition.log.flush_due:
        unsynced.append(partition.log)
    return appended


def _not_in_transaction(
    broker: Broker, request: wire.ProduceRequest, buffer: bytearray
) -> dict[tuple[int, int], list[tuple[str, int]]]:
    """The partitions that the coordinator does not yet count to the producer's open transaction, by producer."""
    missing: dict[tuple[int, int], list[tuple[str, int]]] = {}
    assert request.transactional_id is not None
    for topic, partitions in request.topics:
        name = _topic_name(broker, topic)
        for index, start, stop in partitions:
            if name is None or stop - start < HEADER_SIZE or broker.partition(name, index) is None:
                continue
            header = read_header(buffer, start)
            producer = (header.producer_id, header.producer_epoch)
            if header.is_transactional and not broker.transactions.is_ongoing(
                request.transactional_id, *producer, name, index
            ):
                missing.setdefault(producer, []).append((name, index))
    return missing


def _produce_after_check(
    ctx: RequestContext,
    kept: bytearray,
    transactional_id: str,
    missing: dict[tuple[int, int], list[tuple[str, int]]],
) -> Coroutine[Any, Any, Any]:
    async def check_then_append() -> Any:
        add = ctx.version >= wire.FIRST_WITH_IMPLICIT_ADD
        refused: Refused = {}
        for (producer_id, epoch), partitions in missing.items():
            outcome = await ctx.broker.transactions.verify_or_add(transactional_id, producer_id, epoch, partitions, add)
            refused.update(
                {
                    partition: transaction_errors.for_write(ApiKey.PRODUCE, ctx.version, code)
                    for partition, code in outcome.items()
                    if code != _NONE
                }
            )
        request = wire.parse(kept, 0, len(kept), ctx.version)
        answer = _append_all(ctx, request, kept, refused)
        return await answer if asyncio.iscoroutine(answer) else answer

    return check_then_append()


def _topic_name(broker: Broker, topic: str | UUID) -> str | None:
    if isinstance(topic, str):
        return topic
    info = broker.metadata.topic_ids.get(topic)
    return None if info is None else info.name
