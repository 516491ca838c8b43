"""ElectLeaders 0–2, AlterPartitionReassignments 0–1, ListPartitionReassignments 0: who holds and leads partitions.

On one broker every partition is where it can be: elections are not needed, a reassignment to this broker is done at
once, one to another broker is refused, and none is ever under way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from caudal.broker.errors import ErrorCode
from caudal.broker.router import RequestContext, handles
from caudal.broker.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from caudal.broker.broker import Broker


def _exists(broker: Broker, topic: str, index: int) -> bool:
    info = broker.metadata.topics.get(topic)
    return info is not None and 0 <= index < len(info.partitions)


@handles(ApiKey.ELECT_LEADERS, 0, 2)
def elect_leaders(request: Any, ctx: RequestContext) -> dict[str, Any]:
    if request.topic_partitions is None:
        # All partitions: only those that changed are reported, and none does.
        return {"error_code": ErrorCode.none, "replica_election_results": ()}

    def result(topic: str, index: int) -> dict[str, Any]:
        if _exists(ctx.broker, topic, index):
            code, message = ErrorCode.election_not_needed, "The leader is the preferred replica."
        else:
            code, message = ErrorCode.unknown_topic_or_partition, f"There is no partition {topic}-{index}."
        return {"partition_id": index, "error_code": code, "error_message": message}

    return {
        "error_code": ErrorCode.none,
        "replica_election_results": [
            {"topic": item.topic, "partition_result": [result(item.topic, index) for index in item.partitions]}
            for item in request.topic_partitions
        ],
    }


@handles(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, 1)
def alter_partition_reassignments(request: Any, ctx: RequestContext) -> dict[str, Any]:
    def result(topic: str, item: Any) -> dict[str, Any]:
        index, replicas = item.partition_index, item.replicas
        message: str | None = None
        if not _exists(ctx.broker, topic, index):
            code, message = ErrorCode.unknown_topic_or_partition, f"There is no partition {topic}-{index}."
        elif replicas is None:
            code, message = ErrorCode.no_reassignment_in_progress, "No reassignment of this partition is under way."
        elif not replicas:
            code, message = ErrorCode.invalid_replica_assignment, "The assignment names no broker."
        elif list(replicas) != [ctx.broker.node_id]:
            unknown = next((node for node in replicas if node != ctx.broker.node_id), ctx.broker.node_id)
            code, message = ErrorCode.invalid_replica_assignment, f"Broker {unknown} cannot be assigned here."
        else:
            code = ErrorCode.none
        return {"partition_index": index, "error_code": code, "error_message": message}

    return {
        "allow_replication_factor_change": getattr(request, "allow_replication_factor_change", True),
        "error_code": ErrorCode.none,
        "error_message": None,
        "responses": [
            {"name": topic.name, "partitions": [result(topic.name, item) for item in topic.partitions]}
            for topic in request.topics
        ],
    }


@handles(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0)
def list_partition_reassignments(request: Any, ctx: RequestContext) -> dict[str, Any]:
    return {"error_code": ErrorCode.none, "error_message": None, "topics": ()}
