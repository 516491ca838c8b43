"""DescribeLogDirs 1–5: how much each partition takes in the data folder, and how much room is left.
AlterReplicaLogDirs 1–2: there is one folder, so a partition can only be moved to where it is.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from caudal.broker.errors import ErrorCode
from caudal.broker.router import RequestContext, handles
from caudal.broker.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from caudal.broker.broker import Broker


@handles(ApiKey.DESCRIBE_LOG_DIRS, 1, 5)
async def describe_log_dirs(request: Any, ctx: RequestContext) -> dict[str, Any]:
    broker = ctx.broker
    folder = broker.config.data_folder.absolute()
    try:
        usage = await broker.run_blocking(shutil.disk_usage, folder)
    except OSError:
        failed = {"error_code": ErrorCode.kafka_storage_error, "log_dir": str(folder), "topics": ()}
        return {"error_code": ErrorCode.none, "results": [failed]}
    return {
        "error_code": ErrorCode.none,
        "results": [
            {
                "error_code": ErrorCode.none,
                "log_dir": str(folder),
                "topics": _topics(broker, request.topics),
                "total_bytes": usage.total,
                "usable_bytes": usage.free,
                "is_cordoned": False,
            }
        ],
    }


def _topics(broker: Broker, asked: Any) -> list[dict[str, Any]]:
    """Sizes of the partitions asked for (all of them for None); what is not here is left out, as Kafka does."""
    if asked is None:
        wanted = {topic.name: range(len(topic.partitions)) for topic in broker.metadata.topics.values()}
    else:
        wanted = {topic.topic: topic.partitions for topic in asked}
    found = []
    for name, indexes in wanted.items():
        partitions = [partition for index in indexes if (partition := broker.partition(name, index)) is not None]
        if partitions:
            found.append(
                {
                    "name": name,
                    "partitions": [
                        {
                            "partition_index": partition.index,
                            "partition_size": partition.log.size,
                            "offset_lag": 0,
                            "is_future_key": False,
                        }
                        for partition in partitions
                    ],
                }
            )
    return found


@handles(ApiKey.ALTER_REPLICA_LOG_DIRS, 1, 2)
def alter_replica_log_dirs(request: Any, ctx: RequestContext) -> dict[str, Any]:
    folder = str(ctx.broker.config.data_folder.absolute())

    def code(path: str, topic: str, index: int) -> ErrorCode:
        if path != folder:
            return ErrorCode.log_dir_not_found
        known = ctx.broker.partition(topic, index) is not None
        return ErrorCode.none if known else ErrorCode.unknown_topic_or_partition

    return {
        "results": [
            {
                "topic_name": topic.name,
                "partitions": [
                    {"partition_index": index, "error_code": code(item.path, topic.name, index)}
                    for index in topic.partitions
                ],
            }
            for item in request.dirs
            for topic in item.topics
        ]
    }
