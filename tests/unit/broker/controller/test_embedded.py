"""The embedded controller: its rules, its error codes, what survives a restart, and what a change costs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from caudal.broker.config import BrokerConfig, ConfigError
from caudal.broker.controller import ChangeKind, MetadataChange
from caudal.broker.controller.embedded import MAX_PARTITIONS, EmbeddedMetadata
from caudal.broker.errors import ErrorCode, KafkaError


async def opened(folder: Path, properties: Mapping[str, str] | None = None) -> EmbeddedMetadata:
    metadata = EmbeddedMetadata(folder, BrokerConfig(properties or {}))
    await metadata.load()
    return metadata


@pytest.fixture
async def metadata(tmp_path: Path) -> AsyncIterator[EmbeddedMetadata]:
    metadata = await opened(tmp_path)
    yield metadata
    await metadata.close()


async def code_of(change: Any) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        await change
    assert caught.value.message, "a refusal says why"
    return caught.value.code


async def test_create_and_see(metadata: EmbeddedMetadata) -> None:
    topic = await metadata.create_topic("orders", 3, 1, {"retention.ms": "5"})
    assert metadata.topics["orders"] is topic
    assert metadata.topic_ids[topic.topic_id] is topic
    assert [(p.index, p.leader, p.replicas, p.isr) for p in topic.partitions] == [(i, 1, [1], [1]) for i in range(3)]
    assert topic.configs == {"retention.ms": "5"}
    assert not topic.internal
    assert (await metadata.create_topic("__consumer_offsets", 1, 1, {})).internal


async def test_defaults(tmp_path: Path) -> None:
    metadata = await opened(tmp_path, {"num.partitions": "7"})
    assert len((await metadata.create_topic("a", -1, -1, {})).partitions) == 7
    await metadata.close()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("", 1, 1, {}), ErrorCode.invalid_topic_exception),
        (("a b", 1, 1, {}), ErrorCode.invalid_topic_exception),
        (("x" * 250, 1, 1, {}), ErrorCode.invalid_topic_exception),
        (("__cluster_metadata", 1, 1, {}), ErrorCode.invalid_topic_exception),
        (("there.is", 1, 1, {}), ErrorCode.topic_already_exists),
        (("there_is", 1, 1, {}), ErrorCode.invalid_topic_exception),
        (("a", 0, 1, {}), ErrorCode.invalid_partitions),
        (("a", -2, 1, {}), ErrorCode.invalid_partitions),
        (("a", MAX_PARTITIONS + 1, 1, {}), ErrorCode.invalid_partitions),
        (("a", 1, 0, {}), ErrorCode.invalid_replication_factor),
        (("a", 1, -3, {}), ErrorCode.invalid_replication_factor),
        (("a", 1, 3, {}), ErrorCode.invalid_replication_factor),
        (("a", 1, 1, {"no.such": "1"}), ErrorCode.invalid_config),
        (("a", 1, 1, {"retention.ms": "soon"}), ErrorCode.invalid_config),
        (("a", 1, -1, {}, {0: [1]}), ErrorCode.invalid_request),
        (("a", -1, 1, {}, {0: [1]}), ErrorCode.invalid_request),
        (("a", -1, -1, {}, {1: [1]}), ErrorCode.invalid_replica_assignment),
        (("a", -1, -1, {}, {0: [1], 2: [1]}), ErrorCode.invalid_replica_assignment),
        (("a", -1, -1, {}, {0: []}), ErrorCode.invalid_replica_assignment),
        (("a", -1, -1, {}, {0: [1, 1]}), ErrorCode.invalid_replica_assignment),
        (("a", -1, -1, {}, {0: [2]}), ErrorCode.invalid_replica_assignment),
    ],
)
async def test_creations_that_are_refused(metadata: EmbeddedMetadata, arguments: Any, code: ErrorCode) -> None:
    await metadata.create_topic("there.is", 1, 1, {})
    version = metadata.version
    assert await code_of(metadata.create_topic(*arguments)) is code
    assert (set(metadata.topics), metadata.version) == ({"there.is"}, version)


async def test_a_manual_assignment(metadata: EmbeddedMetadata) -> None:
    assert len((await metadata.create_topic("a", -1, -1, {}, {1: [1], 0: [1]})).partitions) == 2


async def test_validate_only_changes_nothing(metadata: EmbeddedMetadata) -> None:
    told: list[MetadataChange] = []
    metadata.subscribe(told.append)
    assert len((await metadata.create_topic("a", 2, 1, {}, validate_only=True)).partitions) == 2
    assert not metadata.topics
    await metadata.create_topic("a", 2, 1, {})
    told.clear()
    assert len((await metadata.create_partitions("a", 5, validate_only=True)).partitions) == 5
    await metadata.set_topic_configs("a", {"retention.ms": "1"}, validate_only=True)
    await metadata.set_broker_configs(None, {"log.retention.ms": "1"}, validate_only=True)
    assert len(metadata.topics["a"].partitions) == 2
    assert metadata.topics["a"].configs == {}
    assert metadata.default_broker_configs == {}
    assert told == []


async def test_a_name_that_collided_is_free_after_deletion(metadata: EmbeddedMetadata) -> None:
    first = await metadata.create_topic("a.b", 1, 1, {})
    await metadata.delete_topic("a.b")
    second = await metadata.create_topic("a_b", 1, 1, {})
    assert first.topic_id not in metadata.topic_ids
    assert list(metadata.topic_ids) == [second.topic_id]


async def test_partitions_only_grow(metadata: EmbeddedMetadata) -> None:
    await metadata.create_topic("a", 3, 1, {"retention.ms": "5"})
    assert await code_of(metadata.create_partitions("a", 3)) is ErrorCode.invalid_partitions
    assert await code_of(metadata.create_partitions("a", 2)) is ErrorCode.invalid_partitions
    assert await code_of(metadata.create_partitions("a", MAX_PARTITIONS + 1)) is ErrorCode.invalid_partitions
    assert await code_of(metadata.create_partitions("b", 4)) is ErrorCode.unknown_topic_or_partition
    assert await code_of(metadata.create_partitions("a", 5, [[1]])) is ErrorCode.invalid_replica_assignment
    assert await code_of(metadata.create_partitions("a", 4, [[2]])) is ErrorCode.invalid_replica_assignment
    grown = await metadata.create_partitions("a", 5, [[1], [1]])
    assert len(grown.partitions) == 5
    assert grown.configs == {"retention.ms": "5"}


async def test_configs_and_their_refusals(metadata: EmbeddedMetadata) -> None:
    await metadata.create_topic("a", 1, 1, {"retention.ms": "5", "flush.ms": "1"})
    await metadata.set_topic_configs("a", {"retention.ms": "6"})
    assert metadata.topics["a"].configs == {"retention.ms": "6"}
    assert await code_of(metadata.set_topic_configs("b", {})) is ErrorCode.unknown_topic_or_partition
    assert await code_of(metadata.set_topic_configs("a", {"x": "1"})) is ErrorCode.invalid_config
    await metadata.set_broker_configs(1, {"log.retention.ms": "7"})
    await metadata.set_broker_configs(None, {"log.retention.ms": "8"})
    assert (metadata.broker_configs, metadata.default_broker_configs) == (
        {"log.retention.ms": "7"},
        {"log.retention.ms": "8"},
    )
    assert await code_of(metadata.set_broker_configs(2, {})) is ErrorCode.invalid_request
    assert await code_of(metadata.set_broker_configs(1, {"node.id": "2"})) is ErrorCode.invalid_config


async def test_subscribers_see_each_change_once_and_when_it_is_durable(tmp_path: Path) -> None:
    metadata = await opened(tmp_path)
    told: list[tuple[ChangeKind, str | None, int]] = []

    def on_change(change: MetadataChange) -> None:
        if change.topic is not None and change.kind is not ChangeKind.TOPIC_DELETED:
            assert metadata.topics[change.topic.name] is change.topic
        assert (tmp_path / "metadata.jsonl").stat().st_size > 0
        told.append((change.kind, change.topic.name if change.topic else None, change.first_partition))

    metadata.subscribe(on_change)
    await metadata.create_topic("a", 2, 1, {})
    await metadata.create_partitions("a", 4)
    await metadata.set_topic_configs("a", {})
    await metadata.set_broker_configs(None, {})
    await metadata.delete_topic("a")
    assert told == [
        (ChangeKind.TOPIC_CREATED, "a", 0),
        (ChangeKind.PARTITIONS_ADDED, "a", 2),
        (ChangeKind.TOPIC_CONFIGS, "a", 0),
        (ChangeKind.BROKER_CONFIGS, None, 0),
        (ChangeKind.TOPIC_DELETED, "a", 0),
    ]
    await metadata.close()


async def test_everything_survives_a_restart(tmp_path: Path) -> None:
    first = await opened(tmp_path)
    kept = await first.create_topic("kept", 2, 1, {"retention.ms": "5"})
    await first.create_partitions("kept", 3)
    await first.create_topic("gone", 1, 1, {})
    await first.delete_topic("gone")
    await first.set_topic_configs("kept", {"retention.ms": "6"})
    await first.set_broker_configs(1, {"log.retention.ms": "7"})
    block = await first.next_producer_id_block()
    cluster = first.cluster_id
    # No close: a killed broker does not get to it.
    second = await opened(tmp_path)
    assert set(second.topics) == {"kept"}
    assert second.topics["kept"].topic_id == kept.topic_id
    assert len(second.topics["kept"].partitions) == 3
    assert second.topics["kept"].configs == {"retention.ms": "6"}
    assert second.broker_configs == {"log.retention.ms": "7"}
    assert (await second.next_producer_id_block()).start == block.stop
    assert second.cluster_id == cluster
    for item in (first, second):
        await item.close()


async def test_a_grown_journal_is_rewritten_at_the_start_with_the_same_state(tmp_path: Path) -> None:
    first = await opened(tmp_path)
    topic = await first.create_topic("a", 1, 1, {})
    await first.set_broker_configs(None, {"log.retention.ms": "8"})
    await first.next_producer_id_block()
    for number in range(1000):
        # Written past the lock: 1,000 awaited fsyncs would be slow, and the file is what matters here.
        first._journal._write(_line({"type": "topic_configs", "name": "a", "configs": {"retention.ms": str(number)}}))
    await first.close()
    size = (tmp_path / "metadata.jsonl").stat().st_size
    second = await opened(tmp_path)
    assert (tmp_path / "metadata.jsonl").stat().st_size < size / 100
    await second.close()
    third = await opened(tmp_path)
    assert third.topics["a"].configs == {"retention.ms": "999"}
    assert third.topics["a"].topic_id == topic.topic_id
    assert third.default_broker_configs == {"log.retention.ms": "8"}
    assert (await third.next_producer_id_block()).start == 1000
    await third.close()


def _line(record: dict[str, Any]) -> bytes:
    from caudal.broker.controller.journal import encode_line

    return encode_line([record])


async def test_a_record_of_the_future_is_not_ignored(tmp_path: Path) -> None:
    first = await opened(tmp_path)
    first._journal._write(_line({"type": "acl"}))
    await first.close()
    with pytest.raises(ConfigError, match="unknown type 'acl'"):
        await opened(tmp_path)


async def test_a_folder_of_another_broker(tmp_path: Path) -> None:
    await (await opened(tmp_path)).close()
    with pytest.raises(ConfigError, match="holds the data of broker 1"):
        await opened(tmp_path, {"node.id": "2"})


async def test_two_creations_of_one_name_at_once(metadata: EmbeddedMetadata) -> None:
    results = await asyncio.gather(
        *(metadata.create_topic(name, 1, 1, {}) for name in ("a.b", "a.b", "a_b")), return_exceptions=True
    )
    assert len(metadata.topics) == 1
    assert [getattr(result, "code", None) for result in results] == [
        None,
        ErrorCode.topic_already_exists,
        ErrorCode.invalid_topic_exception,
    ]
    assert metadata._locks == {}, "locks live only while they are used"


async def test_a_caller_that_goes_away_does_not_leave_a_change_half_done(metadata: EmbeddedMetadata) -> None:
    """The router cancels a handler when its client disconnects; the journal and the memory must still agree."""
    told: list[MetadataChange] = []
    metadata.subscribe(told.append)
    caller = asyncio.create_task(metadata.create_topic("a", 1, 1, {}))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await metadata.create_topic("b", 1, 1, {})
    assert set(metadata.topics) == {"a", "b"}
    assert len(told) == 2


async def test_a_full_disk_is_a_storage_error_and_changes_nothing(
    metadata: EmbeddedMetadata, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pwrite

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    assert await code_of(metadata.create_topic("a", 1, 1, {})) is ErrorCode.kafka_storage_error
    assert not metadata.topics
    monkeypatch.setattr(os, "pwrite", real)
    await metadata.create_topic("a", 1, 1, {})


async def test_a_topic_whose_logs_cannot_be_made_is_taken_back(tmp_path: Path) -> None:
    metadata = await opened(tmp_path)
    told: list[ChangeKind] = []

    def no_room(change: MetadataChange) -> None:
        told.append(change.kind)
        if change.kind is ChangeKind.TOPIC_CREATED:
            raise KafkaError(ErrorCode.kafka_storage_error, "no room")

    metadata.subscribe(no_room)
    assert await code_of(metadata.create_topic("a", 1, 1, {})) is ErrorCode.kafka_storage_error
    assert told == [ChangeKind.TOPIC_CREATED, ChangeKind.TOPIC_DELETED]
    assert (metadata.topics, metadata.topic_ids) == ({}, {})
    await metadata.close()
    again = await opened(tmp_path)
    assert again.topics == {}
    await again.close()


async def test_producer_id_blocks_never_overlap(metadata: EmbeddedMetadata) -> None:
    blocks = await asyncio.gather(*(metadata.next_producer_id_block() for _ in range(5)))
    ids = [number for block in blocks for number in block]
    assert len(set(ids)) == len(ids) == 5000


async def test_the_cost_of_a_creation_does_not_grow_with_the_topics(tmp_path: Path) -> None:
    """Bytes written per creation: the same for the first topic and the thousandth."""
    metadata = await opened(tmp_path)
    path = tmp_path / "metadata.jsonl"
    await metadata.create_topic("t0000", 1, 1, {})
    first = path.stat().st_size
    await asyncio.gather(*(metadata.create_topic(f"t{number:04}", 1, 1, {}) for number in range(1, 1000)))
    before = path.stat().st_size
    await metadata.create_topic("t9999", 1, 1, {})
    assert path.stat().st_size - before == first
    await metadata.close()
