"""DescribeLogDirs and AlterReplicaLogDirs: one folder, with sizes and free room."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.broker.apis.topic_fakes import NONE, FakeBroker, call, versions

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_LOG_DIRS))
async def test_sizes(broker: FakeBroker, tmp_path: Path, version: int) -> None:
    await broker.metadata.create_topic("a", 2, 1, {})
    await broker.metadata.create_topic("b", 1, 1, {})
    broker.served["a", 1].log.size = 77

    async def ask(topics: Any) -> Any:
        (result,) = (await call(broker, ApiKey.DESCRIBE_LOG_DIRS, version, topics=topics)).results
        sizes = {(t.name, p.partition_index): p.partition_size for t in result.topics for p in t.partitions}
        return result, sizes

    result, sizes = await ask(None)
    assert (result.error_code, result.log_dir) == (NONE, str(tmp_path))
    assert sizes == {("a", 0): 0, ("a", 1): 77, ("b", 0): 0}
    if version >= 4:
        assert 0 < result.usable_bytes < result.total_bytes
    _, some = await ask([{"topic": "a", "partitions": [1, 9]}, {"topic": "nope", "partitions": [0]}])
    assert some == {("a", 1): 77}


async def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    broker = FakeBroker(tmp_path / "gone")
    (result,) = (await call(broker, ApiKey.DESCRIBE_LOG_DIRS, 4, topics=None)).results
    assert result.error_code is ErrorCode.kafka_storage_error


@pytest.mark.parametrize("version", versions(ApiKey.ALTER_REPLICA_LOG_DIRS))
async def test_moving(broker: FakeBroker, tmp_path: Path, version: int) -> None:
    await broker.metadata.create_topic("a", 1, 1, {})
    answer = await call(
        broker,
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        version,
        dirs=[
            {"path": str(tmp_path), "topics": [{"name": "a", "partitions": [0, 1]}]},
            {"path": "/elsewhere", "topics": [{"name": "a", "partitions": [0]}]},
        ],
    )
    codes = [[p.error_code for p in result.partitions] for result in answer.results]
    assert codes == [[NONE, ErrorCode.unknown_topic_or_partition], [ErrorCode.log_dir_not_found]]
