"""OffsetForLeaderEpoch: where epochs end, and who is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.broker.apis.topic_fakes import NONE, FakeBroker, FakeEpochs, call, versions

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey


@pytest.fixture
async def epochs(broker: FakeBroker) -> FakeBroker:
    await broker.metadata.create_topic("a", 1, 1, {})
    partition = broker.served["a", 0]
    partition.high_watermark, partition.leader_epoch = 10, 5
    partition.log.epochs = FakeEpochs([(1, 0), (3, 6)])
    return broker


async def ask(broker: FakeBroker, epoch: int, current: int = -1, index: int = 0, version: int = 4) -> Any:
    item = {"partition": index, "current_leader_epoch": current, "leader_epoch": epoch}
    answer = await call(
        broker,
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        version,
        replica_id=-2,
        topics=[{"topic": "a", "partitions": [item]}],
    )
    result = answer.topics[0].partitions[0]
    return result.error_code, result.leader_epoch, result.end_offset


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FOR_LEADER_EPOCH))
async def test_where_epochs_end(epochs: FakeBroker, version: int) -> None:
    assert await ask(epochs, 1, version=version) == (NONE, 1, 6)
    assert await ask(epochs, 3, version=version) == (NONE, 3, 10)
    assert await ask(epochs, 5, 5, version=version) == (NONE, 5, 10), "the epoch under way ends at the log's end"
    assert await ask(epochs, 9, version=version) == (NONE, -1, -1)


async def test_refusals(epochs: FakeBroker) -> None:
    assert await ask(epochs, 1, current=4) == (ErrorCode.fenced_leader_epoch, -1, -1)
    assert await ask(epochs, 1, current=6) == (ErrorCode.unknown_leader_epoch, -1, -1)
    assert await ask(epochs, 1, index=3) == (ErrorCode.unknown_topic_or_partition, -1, -1)
