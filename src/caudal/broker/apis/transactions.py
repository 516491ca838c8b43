"""The transaction APIs: InitProducerId 0–6, AddPartitionsToTxn 0–5, AddOffsetsToTxn 0–4, EndTxn 0–5,
WriteTxnMarkers 1–2, DescribeProducers 0, DescribeTransactions 0, ListTransactions 0–2.

Each handler takes its request apart, asks the coordinator and says the answer in the words of the version. Produce and
TxnOffsetCommit, which also take part in transactions, are with their own families. Left out: authorisation, and
two-phase commit unless `transaction.two.phase.commit.enable` allows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from time import time
from typing import Any

from caudal.broker.coordinators import transaction_errors, transaction_markers
from caudal.broker.coordinators.transaction_markers import Marker
from caudal.broker.coordinators.transaction_records import (
    STATES_BY_TITLE,
    TopicPartition,
    TransactionState,
    by_topic,
)
from caudal.broker.coordinators.transaction_state import EPOCH_BUMPING_CLIENT, LEGACY_CLIENT, ProducerIdentity
from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.router import RequestContext, handles
from caudal.broker.wire.api_keys import ApiKey

_FIRST_BATCHED_ADD = 4  # from here on AddPartitionsToTxn comes from brokers, for many transactions at once
_FIRST_EPOCH_BUMP = 5  # from here on EndTxn returns a new epoch
_MOST_REPEATS = 5

Errors = dict[TopicPartition, ErrorCode]


@handles(ApiKey.INIT_PRODUCER_ID, 0, 6)
async def init_producer_id(request: Any, ctx: RequestContext) -> dict[str, Any]:
    try:
        identity = await ctx.broker.transactions.init_producer_id(
            request.transactional_id,
            _milliseconds(request.transaction_timeout),
            _expected(getattr(request, "producer_id", -1), getattr(request, "producer_epoch", -1)),
            two_phase_commit=getattr(request, "enable2_pc", False),
            keep_prepared=getattr(request, "keep_prepared_txn", False),
        )
    except KafkaError as error:
        code = transaction_errors.for_client(ApiKey.INIT_PRODUCER_ID, ctx.version, error.code)
        return {"throttle_time": 0, "error_code": code, "producer_id": -1, "producer_epoch": -1}
    return {"throttle_time": 0, "error_code": ErrorCode.none, **identity._asdict()}


def _expected(producer_id: int, producer_epoch: int) -> ProducerIdentity | None:
    if producer_id == -1 and producer_epoch == -1:
        return None
    if producer_id == -1 or producer_epoch == -1:
        raise KafkaError(ErrorCode.invalid_request, "a producer id needs its epoch and an epoch its producer id")
    return ProducerIdentity(producer_id, producer_epoch)


@handles(ApiKey.ADD_PARTITIONS_TO_TXN, 0, 5)
async def add_partitions_to_txn(request: Any, ctx: RequestContext) -> dict[str, Any]:
    if ctx.version < _FIRST_BATCHED_ADD:
        errors = await _add(
            ctx,
            request.v3_and_below_transactional_id,
            ProducerIdentity(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch),
            _partitions(request.v3_and_below_topics),
            verify_only=False,
        )
        return {"throttle_time": 0, "results_by_topic_v3_and_below": _add_results(errors)}
    results = []
    for transaction in request.transactions:
        errors = await _add(
            ctx,
            transaction.transactional_id,
            ProducerIdentity(transaction.producer_id, transaction.producer_epoch),
            _partitions(transaction.topics),
            verify_only=transaction.verify_only,
        )
        results.append({"transactional_id": transaction.transactional_id, "topic_results": _add_results(errors)})
    return {"throttle_time": 0, "error_code": ErrorCode.none, "results_by_transaction": results}


async def _add(
    ctx: RequestContext,
    transactional_id: str,
    identity: ProducerIdentity,
    partitions: list[TopicPartition],
    *,
    verify_only: bool,
) -> Errors:
    coordinator = ctx.broker.transactions
    unknown = {partition for partition in partitions if ctx.broker.partition(*partition) is None}
    if unknown:  # all or nothing: the others are not even tried
        errors = dict.fromkeys(partitions, ErrorCode.operation_not_attempted)
        return errors | dict.fromkeys(unknown, ErrorCode.unknown_topic_or_partition)
    if verify_only:
        errors = await coordinator.verify_or_add(transactional_id, *identity, partitions, add=False)
    else:
        version = LEGACY_CLIENT if ctx.version < _FIRST_BATCHED_ADD else EPOCH_BUMPING_CLIENT
        code = ErrorCode.none
        try:
            await coordinator.add_partitions(transactional_id, identity, partitions, version)
        except KafkaError as error:
            code = error.code
        errors = dict.fromkeys(partitions, code)
    return {
        partition: transaction_errors.for_client(ApiKey.ADD_PARTITIONS_TO_TXN, ctx.version, code)
        for partition, code in errors.items()
    }


def _add_results(errors: Errors) -> list[dict[str, Any]]:
    return [
        {
            "name": topic,
            "results_by_partition": [
                {"partition_index": index, "partition_error_code": errors[topic, index]} for index in indexes
            ],
        }
        for topic, indexes in by_topic(errors).items()
    ]


@handles(ApiKey.ADD_OFFSETS_TO_TXN, 0, 4)
async def add_offsets_to_txn(request: Any, ctx: RequestContext) -> dict[str, Any]:
    code = ErrorCode.none
    try:
        identity = ProducerIdentity(request.producer_id, request.producer_epoch)
        await ctx.broker.transactions.add_offsets(request.transactional_id, identity, request.group_id)
    except KafkaError as error:
        code = transaction_errors.for_client(ApiKey.ADD_OFFSETS_TO_TXN, ctx.version, error.code)
    return {"throttle_time": 0, "error_code": code}


@handles(ApiKey.END_TXN, 0, 5)
async def end_txn(request: Any, ctx: RequestContext) -> dict[str, Any]:
    version = LEGACY_CLIENT if ctx.version < _FIRST_EPOCH_BUMP else EPOCH_BUMPING_CLIENT
    identity = ProducerIdentity(request.producer_id, request.producer_epoch)
    try:
        identity = await ctx.broker.transactions.end_txn(request.transactional_id, identity, request.committed, version)
    except KafkaError as error:
        code = transaction_errors.for_client(ApiKey.END_TXN, ctx.version, error.code)
        return {"throttle_time": 0, "error_code": code, "producer_id": -1, "producer_epoch": -1}
    return {"throttle_time": 0, "error_code": ErrorCode.none, **identity._asdict()}


@handles(ApiKey.WRITE_TXN_MARKERS, 1, 2)
async def write_txn_markers(request: Any, ctx: RequestContext) -> dict[str, Any]:
    results = []
    for asked in request.markers:
        marker = Marker(asked.producer_id, asked.producer_epoch, asked.transaction_result, asked.coordinator_epoch)
        partitions = [(topic.name, index) for topic in asked.topics for index in topic.partition_indexes]
        errors = await transaction_markers.deliver(ctx.broker, marker, partitions)
        topics = [
            {
                "name": topic,
                "partitions": [{"partition_index": index, "error_code": errors[topic, index]} for index in indexes],
            }
            for topic, indexes in by_topic(errors).items()
        ]
        results.append({"producer_id": marker.producer_id, "topics": topics})
    return {"markers": results}


@handles(ApiKey.DESCRIBE_PRODUCERS, 0, 0)
def describe_producers(request: Any, ctx: RequestContext) -> dict[str, Any]:
    topics = [
        {"name": topic.name, "partitions": [_producers(ctx, topic.name, index) for index in topic.partition_indexes]}
        for topic in request.topics
    ]
    return {"throttle_time": 0, "topics": topics}


def _producers(ctx: RequestContext, topic: str, index: int) -> dict[str, Any]:
    partition = ctx.broker.partition(topic, index)
    if partition is None:
        code = ErrorCode.unknown_topic_or_partition
        return {"partition_index": index, "error_code": code, "error_message": None, "active_producers": []}
    rows = [row._asdict() for row in partition.log.producers.describe()]
    return {"partition_index": index, "error_code": ErrorCode.none, "error_message": None, "active_producers": rows}


@handles(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0)
def describe_transactions(request: Any, ctx: RequestContext) -> dict[str, Any]:
    return {
        "throttle_time": 0,
        "transaction_states": [_description(ctx, transactional_id) for transactional_id in request.transactional_ids],
    }


def _description(ctx: RequestContext, transactional_id: str) -> dict[str, Any]:
    try:
        value, partitions = ctx.broker.transactions.describe(transactional_id)
    except KafkaError as error:
        return {
            "error_code": error.code,
            "transactional_id": transactional_id,
            "transaction_state": "",
            "transaction_timeout": 0,
            "transaction_start_time": 0,
            "producer_id": 0,
            "producer_epoch": 0,
            "topics": [],
        }
    return {
        "error_code": ErrorCode.none,
        "transactional_id": transactional_id,
        "transaction_state": value.state.title,
        "transaction_timeout": value.timeout_ms,
        "transaction_start_time": value.start_ms,
        "producer_id": value.producer_id,
        "producer_epoch": value.producer_epoch,
        "topics": [{"topic": topic, "partitions": indexes} for topic, indexes in by_topic(partitions).items()],
    }


@handles(ApiKey.LIST_TRANSACTIONS, 0, 2)
def list_transactions(request: Any, ctx: RequestContext) -> dict[str, Any]:
    states = {STATES_BY_TITLE[title] for title in request.state_filters if title in STATES_BY_TITLE}
    producers = set(request.producer_id_filters)
    longer_than = getattr(request, "duration_filter", -1)
    pattern = _pattern(getattr(request, "transactional_id_pattern", None))
    now = int(time() * 1000)
    found = [
        {"transactional_id": id_, "producer_id": value.producer_id, "transaction_state": value.state.title}
        for id_, value in ctx.broker.transactions.list()
        if (not request.state_filters or value.state in states)
        and (not producers or value.producer_id in producers)
        and (longer_than < 0 or _runs_longer(value.state, value.start_ms, now, longer_than))
        and (pattern is None or pattern.fullmatch(id_))
    ]
    return {
        "throttle_time": 0,
        "error_code": ErrorCode.none,
        "unknown_state_filters": [title for title in request.state_filters if title not in STATES_BY_TITLE],
        "transaction_states": found,
    }


def _runs_longer(state: TransactionState, start_ms: int, now_ms: int, duration_ms: int) -> bool:
    runs = state in (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
    return runs and now_ms - start_ms > duration_ms


def _pattern(text: str | None) -> re.Pattern[str] | None:
    """The expression, if it is one that Python can match in reasonable time.

    Kafka's engine needs linear time whatever the pattern; Python's can need exponential time for repeated groups and
    back references, and would stop the whole broker meanwhile. Those are refused.
    """
    if not text:
        return None
    bare = re.sub(r"\\[^1-9]|\[\^?\]?(?:\\.|[^\]\\])*\]", "x", text)
    if re.search(r"\)[*+?{]|\(\?|\\[1-9]", bare) or len(re.findall(r"[*+{]", bare)) > _MOST_REPEATS:
        raise KafkaError(ErrorCode.invalid_regular_expression, "repeated groups and back references are not supported")
    try:
        return re.compile(text)
    except re.error as error:
        raise KafkaError(ErrorCode.invalid_regular_expression, str(error)) from None


def _partitions(topics: Iterable[Any]) -> list[TopicPartition]:
    return [(topic.name, index) for topic in topics for index in topic.partitions]


def _milliseconds(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)
