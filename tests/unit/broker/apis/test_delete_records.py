"""DeleteRecords: where the log begins afterwards, and what may not be deleted."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.broker.apis.topic_fakes import NONE, FakeBroker, call, versions

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey


async def delete(broker: FakeBroker, offset: int, topic: str = "a", index: int = 0, version: int = 2) -> Any:
    partitions = [{"partition_index": index, "offset": offset}]
    answer = await call(
        broker, ApiKey.DELETE_RECORDS, version, topics=[{"name": topic, "partitions": partitions}], timeout=1000
    )
    result = answer.topics[0].partitions[0]
    return result.error_code, result.low_watermark


@pytest.fixture
async def records(broker: FakeBroker) -> FakeBroker:
    await broker.metadata.create_topic("a", 1, 1, {})
    broker.served["a", 0].high_watermark = 10
    return broker


@pytest.mark.parametrize("version", versions(ApiKey.DELETE_RECORDS))
async def test_the_log_begins_at_the_offset(records: FakeBroker, version: int) -> None:
    assert await delete(records, 4, version=version) == (NONE, 4)
    assert records.served["a", 0].log_start_offset == 4
    assert await delete(records, 2, version=version) == (NONE, 4), "it never goes back"
    assert await delete(records, -1, version=version) == (NONE, 10), "-1 is the high watermark"


async def test_refusals(records: FakeBroker) -> None:
    await records.metadata.create_topic("compacted", 1, 1, {"cleanup.policy": "compact"})
    await records.metadata.create_topic("both", 1, 1, {"cleanup.policy": "compact,delete"})
    await records.ensure_internal_topic("__consumer_offsets")
    assert await delete(records, 11) == (ErrorCode.offset_out_of_range, -1)
    assert await delete(records, -2) == (ErrorCode.offset_out_of_range, -1)
    assert await delete(records, 0, index=1) == (ErrorCode.unknown_topic_or_partition, -1)
    assert await delete(records, 0, "nope") == (ErrorCode.unknown_topic_or_partition, -1)
    assert await delete(records, 0, "compacted") == (ErrorCode.policy_violation, -1)
    assert await delete(records, 0, "both") == (NONE, 0)
    assert await delete(records, 0, "__consumer_offsets") == (ErrorCode.invalid_topic_exception, -1)
    assert records.served["a", 0].log_start_offset == 0
