"""ListOffsets: both ends, points in time, what readers of committed records see, and the refusals."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.broker.apis.topic_fakes import NONE, FakeBroker, FakeEpochs, FakePartition, call, versions

from caudal.broker.apis.list_offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)
from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey


@pytest.fixture
async def partition(broker: FakeBroker) -> FakePartition:
    await broker.metadata.create_topic("a", 1, 1, {})
    partition = broker.served["a", 0]
    partition.high_watermark, partition.last_stable_offset, partition.leader_epoch = 10, 7, 3
    partition.log.log_start_offset = 2
    partition.log.epochs = FakeEpochs([(1, 0), (3, 5)])
    # The record with the latest time is not the last one.
    partition.log.records = [(100 + 10 * offset, offset) for offset in range(2, 9)] + [(105, 9)]
    return partition


async def ask(
    broker: FakeBroker, timestamp: int, *, version: int = 11, isolation: int = 0, epoch: int = -1, index: int = 0
) -> Any:
    item = {"partition_index": index, "current_leader_epoch": epoch, "timestamp": timestamp}
    answer = await call(
        broker,
        ApiKey.LIST_OFFSETS,
        version,
        replica_id=-1,
        isolation_level=isolation,
        topics=[{"name": "a", "partitions": [item]}],
        timeout=0,
    )
    return answer.topics[0].partitions[0]


@pytest.mark.parametrize("version", versions(ApiKey.LIST_OFFSETS))
async def test_the_ends_in_every_version(broker: FakeBroker, partition: FakePartition, version: int) -> None:
    first = await ask(broker, EARLIEST, version=version)
    last = await ask(broker, LATEST, version=version)
    assert (first.error_code, first.offset, first.timestamp) == (NONE, 2, -1)
    assert (last.error_code, last.offset, last.timestamp) == (NONE, 10, -1)
    if version >= 4:
        assert (first.leader_epoch, last.leader_epoch) == (1, 3)
    if version >= 2:
        assert (await ask(broker, LATEST, version=version, isolation=1)).offset == 7


@pytest.mark.parametrize(
    ("timestamp", "isolation", "found"),
    [
        (0, 0, (120, 2)),
        (145, 0, (150, 5)),
        (150, 0, (150, 5)),
        (180, 0, (180, 8)),
        (181, 0, (-1, -1)),
        (170, 0, (170, 7)),
        (170, 1, (-1, -1)),
        (MAX_TIMESTAMP, 0, (180, 8)),
        (MAX_TIMESTAMP, 1, (160, 6)),
        (EARLIEST_LOCAL, 0, (-1, 2)),
        (LATEST_TIERED, 0, (-1, -1)),
        (EARLIEST_PENDING_UPLOAD, 0, (-1, -1)),
    ],
)
async def test_times(
    broker: FakeBroker, partition: FakePartition, timestamp: int, isolation: int, found: tuple[int, int]
) -> None:
    answer = await ask(broker, timestamp, isolation=isolation)
    assert (answer.error_code, answer.timestamp, answer.offset) == (NONE, *found)


async def test_an_empty_partition_has_no_latest_time(broker: FakeBroker, partition: FakePartition) -> None:
    partition.log.records = []
    answer = await ask(broker, MAX_TIMESTAMP)
    assert (answer.error_code, answer.offset) == (NONE, -1)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"index": 5, "timestamp": LATEST}, ErrorCode.unknown_topic_or_partition),
        ({"epoch": 2, "timestamp": LATEST}, ErrorCode.fenced_leader_epoch),
        ({"epoch": 4, "timestamp": LATEST}, ErrorCode.unknown_leader_epoch),
        ({"epoch": 3, "timestamp": LATEST}, NONE),
        ({"version": 6, "timestamp": MAX_TIMESTAMP}, ErrorCode.unsupported_version),
        ({"version": 7, "timestamp": EARLIEST_LOCAL}, ErrorCode.unsupported_version),
        ({"version": 8, "timestamp": LATEST_TIERED}, ErrorCode.unsupported_version),
        ({"version": 10, "timestamp": EARLIEST_PENDING_UPLOAD}, ErrorCode.unsupported_version),
    ],
)
async def test_refusals(
    broker: FakeBroker, partition: FakePartition, arguments: dict[str, int], code: ErrorCode
) -> None:
    answer = await ask(broker, **arguments)
    assert answer.error_code is code
    if code is not NONE:
        assert (answer.offset, answer.timestamp) == (-1, -1)


async def test_a_disk_that_fails(broker: FakeBroker, partition: FakePartition) -> None:
    partition.log.broken = True
    assert (await ask(broker, 100)).error_code is ErrorCode.kafka_storage_error


async def test_a_partition_asked_twice_and_the_order_of_answers(broker: FakeBroker, partition: FakePartition) -> None:
    await broker.metadata.create_topic("b", 2, 1, {})
    broker.served["b", 1].high_watermark = 4

    def item(index: int, timestamp: int = LATEST) -> dict[str, int]:
        return {"partition_index": index, "current_leader_epoch": -1, "timestamp": timestamp}

    answer = await call(
        broker,
        ApiKey.LIST_OFFSETS,
        5,
        replica_id=-1,
        isolation_level=0,
        topics=[
            {"name": "a", "partitions": [item(0), item(0, EARLIEST)]},
            {"name": "b", "partitions": [item(1), item(0)]},
        ],
    )
    a, b = answer.topics
    assert [p.error_code for p in a.partitions] == [ErrorCode.invalid_request] * 2
    assert [(p.partition_index, p.offset) for p in b.partitions] == [(1, 4), (0, 0)]
