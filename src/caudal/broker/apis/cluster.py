"""DescribeCluster 0–2, DescribeQuorum 0–2, UpdateFeatures 0–2: the cluster as a whole.

One broker that is its own controller: the quorum has one voter, and the features are what `controller/features.py`
says. Changing them is refused, except to what they already are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from caudal.broker.controller import features
from caudal.broker.controller.internal_topics import CLUSTER_METADATA
from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.router import RequestContext, handles
from caudal.broker.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from caudal.broker.broker import Broker

# Bit fields of ACL operations; without an authorizer everybody may do everything the resource knows.
_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE = 3, 4, 5, 6, 7, 8
_CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE = 9, 10, 11, 12
TOPIC_OPERATIONS: Final = sum(
    1 << bit for bit in (_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS)
)
CLUSTER_OPERATIONS: Final = sum(
    1 << bit
    for bit in (_CREATE, _ALTER, _DESCRIBE, _CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE)
)
_NOT_ASKED: Final = -(2**31)
_BROKERS, _CONTROLLERS = 1, 2


def live_brokers(broker: Broker) -> list[dict[str, Any]]:
    """Brokers that clients can reach, with the addresses they are told."""
    return [
        {
            "broker_id": broker.node_id,
            "host": broker.host,
            "port": broker.port,
            "rack": broker.config["broker.rack"],
            "is_fenced": False,
        }
    ]


@handles(ApiKey.DESCRIBE_CLUSTER, 0, 2)
def describe_cluster(request: Any, ctx: RequestContext) -> dict[str, Any]:
    endpoint = getattr(request, "endpoint_type", _BROKERS)
    if endpoint == _CONTROLLERS:
        code, message = ErrorCode.mismatched_endpoint_type, "This is a broker's listener; it does not list controllers."
    elif endpoint != _BROKERS:
        code, message = ErrorCode.unsupported_endpoint_type, f"Endpoint type {endpoint} is not known."
    else:
        code, message = ErrorCode.none, None
    return {
        "error_code": code,
        "error_message": message,
        "endpoint_type": _BROKERS,
        "cluster_id": ctx.broker.cluster_id,
        "controller_id": ctx.broker.node_id,
        "brokers": live_brokers(ctx.broker) if message is None else (),
        "cluster_authorized_operations": CLUSTER_OPERATIONS
        if request.include_cluster_authorized_operations
        else _NOT_ASKED,
    }


@handles(ApiKey.DESCRIBE_QUORUM, 0, 2)
def describe_quorum(request: Any, ctx: RequestContext) -> dict[str, Any]:
    broker = ctx.broker
    end = broker.metadata.version
    voter = {"replica_id": broker.node_id, "replica_directory_id": None, "log_end_offset": end}

    def partition(topic: str, index: int) -> dict[str, Any]:
        known = topic == CLUSTER_METADATA and index == 0
        return {
            "partition_index": index,
            "error_code": ErrorCode.none if known else ErrorCode.unknown_topic_or_partition,
            "error_message": None,
            "leader_id": broker.node_id if known else -1,
            "leader_epoch": 1 if known else -1,
            "high_watermark": end if known else -1,
            "current_voters": [voter] if known else (),
            "observers": (),
        }

    return {
        "error_code": ErrorCode.none,
        "error_message": None,
        "topics": [
            {
                "topic_name": topic.topic_name,
                "partitions": [partition(topic.topic_name, item.partition_index) for item in topic.partitions],
            }
            for topic in request.topics
        ],
        "nodes": [
            {
                "node_id": broker.node_id,
                "listeners": [{"name": "PLAINTEXT", "host": broker.host, "port": broker.port}],
            }
        ],
    }


@handles(ApiKey.UPDATE_FEATURES, 0, 2)
def update_features(request: Any, ctx: RequestContext) -> dict[str, Any]:
    faults = {update.feature: _feature_fault(update) for update in request.feature_updates}
    failed = [fault for fault in faults.values() if fault is not None]
    if not request.feature_updates:
        failed = [KafkaError(ErrorCode.invalid_request, "The request names no feature.")]
    return {
        "error_code": failed[0].code if failed else ErrorCode.none,
        "error_message": failed[0].message if failed else None,
        # Up to version 1 each feature has its own result.
        "results": [
            {
                "feature": name,
                "error_code": fault.code if fault else ErrorCode.none,
                "error_message": fault.message if fault else None,
            }
            for name, fault in faults.items()
        ],
    }


def _feature_fault(update: Any) -> KafkaError | None:
    if update.feature not in features.supported():
        return KafkaError(ErrorCode.invalid_update_version, f"This broker has no feature {update.feature}.")
    level = features.finalized().get(update.feature, 0)
    if update.max_version_level == level:
        return None
    return KafkaError(
        ErrorCode.invalid_update_version,
        f"{update.feature} stays at level {level}; this broker does not change it.",
    )
