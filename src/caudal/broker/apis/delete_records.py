"""DeleteRecords 0–2: everything below an offset is gone; the log now begins there.

The new start is in force at once; files of whole segments below it go with the next retention run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from caudal.broker.controller.internal_topics import INTERNAL_TOPICS
from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.router import RequestContext, handles
from caudal.broker.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from caudal.broker.broker import Broker

HIGH_WATERMARK: Final = -1


@handles(ApiKey.DELETE_RECORDS, 0, 2)
def delete_records(request: Any, ctx: RequestContext) -> dict[str, Any]:
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": [_result(ctx.broker, topic.name, item) for item in topic.partitions],
            }
            for topic in request.topics
        ]
    }


def _result(broker: Broker, topic: str, item: Any) -> dict[str, Any]:
    code, low_watermark = ErrorCode.none, -1
    try:
        low_watermark = _delete(broker, topic, item.partition_index, item.offset)
    except KafkaError as error:
        code = error.code
    except OSError:
        code = ErrorCode.kafka_storage_error
    return {"partition_index": item.partition_index, "low_watermark": low_watermark, "error_code": code}


def _delete(broker: Broker, topic: str, index: int, offset: int) -> int:
    if topic in INTERNAL_TOPICS:
        raise KafkaError(ErrorCode.invalid_topic_exception)
    partition = broker.partition(topic, index)
    if partition is None:
        raise KafkaError(ErrorCode.unknown_topic_or_partition)
    if "delete" not in partition.log.config.cleanup_policy:
        # A compacted topic promises the last value of every key.
        raise KafkaError(ErrorCode.policy_violation)
    wanted = partition.high_watermark if offset == HIGH_WATERMARK else offset
    if not 0 <= wanted <= partition.high_watermark:
        raise KafkaError(ErrorCode.offset_out_of_range)
    if wanted > partition.log_start_offset:
        partition.log.increment_log_start(wanted)
    return partition.log_start_offset
