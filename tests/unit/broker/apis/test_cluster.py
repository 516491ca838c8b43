"""DescribeCluster, DescribeQuorum and UpdateFeatures of a cluster of one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.broker.apis.topic_fakes import NONE, FakeBroker, call, versions

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey


async def cluster(broker: FakeBroker, version: int, *, operations: bool = False, endpoint: int = 1) -> Any:
    return await call(
        broker,
        ApiKey.DESCRIBE_CLUSTER,
        version,
        include_cluster_authorized_operations=operations,
        endpoint_type=endpoint,
        include_fenced_brokers=False,
    )


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_CLUSTER))
async def test_describe_cluster(broker: FakeBroker, version: int) -> None:
    answer = await cluster(broker, version)
    assert (answer.error_code, answer.cluster_id, answer.controller_id) == (NONE, broker.cluster_id, 1)
    assert [(b.broker_id, b.host, b.port, b.rack) for b in answer.brokers] == [(1, "kafka.example", 9092, None)]
    assert answer.cluster_authorized_operations == -(2**31)
    assert (await cluster(broker, version, operations=True)).cluster_authorized_operations == 0b1111110100000


async def test_controllers_are_not_listed_here(broker: FakeBroker) -> None:
    assert (await cluster(broker, 1, endpoint=2)).error_code is ErrorCode.mismatched_endpoint_type
    assert (await cluster(broker, 1, endpoint=9)).error_code is ErrorCode.unsupported_endpoint_type


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_QUORUM))
async def test_a_quorum_of_one(broker: FakeBroker, version: int) -> None:
    await broker.metadata.create_topic("a", 1, 1, {})
    topics = [
        {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]},
        {"topic_name": "a", "partitions": [{"partition_index": 0}]},
    ]
    answer = await call(broker, ApiKey.DESCRIBE_QUORUM, version, topics=topics)
    (metadata,), (other,) = (topic.partitions for topic in answer.topics)
    assert (metadata.error_code, metadata.leader_id, metadata.high_watermark) == (NONE, 1, broker.metadata.version)
    assert [voter.replica_id for voter in metadata.current_voters] == [1]
    assert other.error_code is ErrorCode.unknown_topic_or_partition


@pytest.mark.parametrize("version", versions(ApiKey.UPDATE_FEATURES))
async def test_features_stay_what_they_are(broker: FakeBroker, version: int) -> None:
    async def update(name: str, level: int) -> Any:
        change = {"feature": name, "max_version_level": level, "allow_downgrade": False, "upgrade_type": 1}
        return await call(
            broker, ApiKey.UPDATE_FEATURES, version, timeout=1000, feature_updates=[change], validate_only=False
        )

    assert (await update("transaction.version", 2)).error_code is NONE
    assert (await update("transaction.version", 1)).error_code is ErrorCode.invalid_update_version
    refused = await update("no.such", 1)
    assert refused.error_code is ErrorCode.invalid_update_version
    if version < 2:
        assert [(r.feature, r.error_code) for r in refused.results] == [("no.such", ErrorCode.invalid_update_version)]
    none = await call(broker, ApiKey.UPDATE_FEATURES, version, timeout=1000, feature_updates=[], validate_only=False)
    assert none.error_code is ErrorCode.invalid_request
