"""Elections and reassignments where there is one broker."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.broker.apis.topic_fakes import NONE, FakeBroker, call, versions

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey


@pytest.mark.parametrize("version", versions(ApiKey.ELECT_LEADERS))
async def test_no_election_is_needed(broker: FakeBroker, version: int) -> None:
    await broker.metadata.create_topic("a", 1, 1, {})

    async def elect(topics: Any) -> Any:
        return await call(broker, ApiKey.ELECT_LEADERS, version, election_type=0, topic_partitions=topics, timeout=1000)

    answer = await elect([{"topic": "a", "partitions": [0, 1]}])
    (topic,) = answer.replica_election_results
    assert [(p.partition_id, p.error_code) for p in topic.partition_result] == [
        (0, ErrorCode.election_not_needed),
        (1, ErrorCode.unknown_topic_or_partition),
    ]
    assert (await elect(None)).replica_election_results == ()


@pytest.mark.parametrize("version", versions(ApiKey.ALTER_PARTITION_REASSIGNMENTS))
@pytest.mark.parametrize(
    ("index", "replicas", "code"),
    [
        (0, [1], NONE),
        (0, [2], ErrorCode.invalid_replica_assignment),
        (0, [1, 1], ErrorCode.invalid_replica_assignment),
        (0, [], ErrorCode.invalid_replica_assignment),
        (0, None, ErrorCode.no_reassignment_in_progress),
        (1, [1], ErrorCode.unknown_topic_or_partition),
    ],
)
async def test_reassignments(broker: FakeBroker, version: int, index: int, replicas: Any, code: ErrorCode) -> None:
    await broker.metadata.create_topic("a", 1, 1, {})
    partitions = [{"partition_index": index, "replicas": replicas}]
    answer = await call(
        broker,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        version,
        timeout=1000,
        allow_replication_factor_change=True,
        topics=[{"name": "a", "partitions": partitions}],
    )
    assert answer.responses[0].partitions[0].error_code is code


async def test_none_is_under_way(broker: FakeBroker) -> None:
    answer = await call(broker, ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, timeout=1000, topics=None)
    assert (answer.error_code, answer.topics) == (NONE, ())
