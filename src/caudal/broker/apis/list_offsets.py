"""ListOffsets 1–11: where a partition begins and ends, and which offset belongs to a point in time.

The two ends are known; looking a time up reads the log and runs in a thread, partitions side by side. Consumers that
read committed records see the end at the last stable offset. There is no tiered storage, so "local" is everything and
"tiered" is nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from caudal.broker.apis.leader_epochs import check_leader_epoch
from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.router import RequestContext, handles
from caudal.broker.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from caudal.broker.broker import Broker
    from caudal.broker.partition import Partition

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6

# The first version that knows each of the special times.
_SINCE: Final = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
_READ_COMMITTED: Final = 1

Found = tuple[int, int, int]  # timestamp, offset, leader epoch
_NOTHING: Final[Found] = (-1, -1, -1)


@handles(ApiKey.LIST_OFFSETS, 1, 11)
async def list_offsets(request: Any, ctx: RequestContext) -> dict[str, Any]:
    committed = getattr(request, "isolation_level", 0) == _READ_COMMITTED
    counts = Counter((topic.name, item.partition_index) for topic in request.topics for item in topic.partitions)
    asked = [(topic.name, item) for topic in request.topics for item in topic.partitions]
    answers = iter(
        await asyncio.gather(
            *(_answer(ctx, name, item, committed, counts[name, item.partition_index] > 1) for name, item in asked)
        )
    )
    return {
        "topics": [
            {"name": topic.name, "partitions": [next(answers) for _ in topic.partitions]} for topic in request.topics
        ]
    }


async def _answer(ctx: RequestContext, topic: str, item: Any, committed: bool, duplicate: bool) -> dict[str, Any]:
    code = ErrorCode.none
    found = _NOTHING
    try:
        if duplicate:
            raise KafkaError(ErrorCode.invalid_request)
        if item.timestamp < 0 and ctx.version < _SINCE.get(item.timestamp, 1):
            raise KafkaError(ErrorCode.unsupported_version)
        partition = ctx.broker.partition(topic, item.partition_index)
        if partition is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition)
        check_leader_epoch(partition, getattr(item, "current_leader_epoch", -1))
        found = await _find(ctx.broker, partition, item.timestamp, committed)
    except KafkaError as error:
        code = error.code
    except OSError:
        code = ErrorCode.kafka_storage_error
    timestamp, offset, epoch = found
    return {
        "partition_index": item.partition_index,
        "error_code": code,
        "timestamp": timestamp,
        "offset": offset,
        "leader_epoch": epoch,
    }


async def _find(broker: Broker, partition: Partition, timestamp: int, committed: bool) -> Found:
    log = partition.log
    end = partition.last_stable_offset if committed else partition.high_watermark
    if timestamp == LATEST:
        return -1, end, partition.leader_epoch
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        start = partition.log_start_offset
        return -1, start, log.epochs.epoch_at(start)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return _NOTHING
    if timestamp == MAX_TIMESTAMP:
        return await broker.run_blocking(log.offset_of_max_timestamp, end) or _NOTHING
    return await broker.run_blocking(log.offset_for_timestamp, timestamp, end) or _NOTHING
