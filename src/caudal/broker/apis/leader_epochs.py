"""OffsetForLeaderEpoch 2–4: where a leader epoch ended, so that a reader can tell whether its position still exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.router import RequestContext, handles
from caudal.broker.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from caudal.broker.partition import Partition


def check_leader_epoch(partition: Partition, current: int) -> None:
    """Refuses a client whose picture of the leader is older or newer than ours; -1 means it has none."""
    if current < 0 or current == partition.leader_epoch:
        return
    if current < partition.leader_epoch:
        raise KafkaError(ErrorCode.fenced_leader_epoch)
    raise KafkaError(ErrorCode.unknown_leader_epoch)


@handles(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 4)
def offset_for_leader_epoch(request: Any, ctx: RequestContext) -> dict[str, Any]:
    return {
        "topics": [
            {"topic": topic.topic, "partitions": [_answer(ctx, topic.topic, item) for item in topic.partitions]}
            for topic in request.topics
        ]
    }


def _answer(ctx: RequestContext, topic: str, item: Any) -> dict[str, Any]:
    code = ErrorCode.none
    epoch = end = -1
    try:
        partition = ctx.broker.partition(topic, item.partition)
        if partition is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition)
        check_leader_epoch(partition, item.current_leader_epoch)
        if item.leader_epoch == partition.leader_epoch:
            # The epoch under way, even if nothing has been written in it yet.
            epoch, end = item.leader_epoch, partition.log_end_offset
        else:
            epoch, end = partition.log.epochs.end_offset(item.leader_epoch, partition.log_end_offset)
    except KafkaError as error:
        code = error.code
    return {"error_code": code, "partition": item.partition, "leader_epoch": epoch, "end_offset": end}
