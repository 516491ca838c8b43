"""CreateTopics, DeleteTopics and CreatePartitions over the wire: every version and every error code."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.unit.broker.apis.topic_fakes import NONE, FakeBroker, call, versions

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey


def topic(
    name: str, partitions: int = 1, replication: int = 1, assignments: Any = (), **configs: Any
) -> dict[str, Any]:
    return {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": replication,
        "assignments": [{"partition_index": index, "broker_ids": nodes} for index, nodes in assignments],
        "configs": [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()],
    }


async def create(broker: FakeBroker, version: int, *topics: dict[str, Any], validate_only: bool = False) -> Any:
    return (
        await call(broker, ApiKey.CREATE_TOPICS, version, topics=topics, timeout=1000, validate_only=validate_only)
    ).topics


@pytest.mark.parametrize("version", versions(ApiKey.CREATE_TOPICS))
async def test_create_in_every_version(broker: FakeBroker, version: int) -> None:
    made, refused = await create(broker, version, topic("a", 3, -1, retention_ms="5"), topic("b c"))
    assert (made.name, made.error_code) == ("a", NONE)
    assert (refused.name, refused.error_code) == ("b c", ErrorCode.invalid_topic_exception)
    assert "b c" in refused.error_message
    if version >= 5:
        assert (made.num_partitions, made.replication_factor) == (3, 1)
        configs = {config.name: config for config in made.configs}
        assert len(configs) == 37
        assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == ("5", 1)
        assert (configs["segment.ms"].value, configs["segment.ms"].config_source) == ("604800000", 5)
    if version >= 7:
        assert made.topic_id == broker.metadata.topics["a"].topic_id
        assert refused.topic_id is None


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (topic("there"), ErrorCode.topic_already_exists),
        (topic(""), ErrorCode.invalid_topic_exception),
        (topic("a", 0), ErrorCode.invalid_partitions),
        (topic("a", 1, 3), ErrorCode.invalid_replication_factor),
        (topic("a", -1, -1, [(0, [2])]), ErrorCode.invalid_replica_assignment),
        (topic("a", -1, -1, [(0, [1]), (0, [1])]), ErrorCode.invalid_replica_assignment),
        (topic("a", 1, -1, [(0, [1])]), ErrorCode.invalid_request),
        (topic("a", retention_ms="soon"), ErrorCode.invalid_config),
        (topic("a", retention_ms=None), ErrorCode.invalid_config),
        (topic("a", no_such="1"), ErrorCode.invalid_config),
    ],
)
async def test_creations_that_are_refused(broker: FakeBroker, wanted: dict[str, Any], code: ErrorCode) -> None:
    await create(broker, 7, topic("there"))
    (result,) = await create(broker, 7, wanted)
    assert result.error_code is code
    assert result.error_message
    assert set(broker.metadata.topics) == {"there"}


async def test_a_name_twice_in_one_request(broker: FakeBroker) -> None:
    results = await create(broker, 7, topic("a"), topic("b"), topic("a"))
    assert [(r.name, r.error_code) for r in results] == [("a", ErrorCode.invalid_request), ("b", NONE)]
    assert set(broker.metadata.topics) == {"b"}


async def test_validate_only(broker: FakeBroker) -> None:
    (result,) = await create(broker, 7, topic("a", 4), validate_only=True)
    assert (result.error_code, result.num_partitions, result.topic_id) == (NONE, 4, None)
    assert not broker.metadata.topics


async def test_a_manual_assignment(broker: FakeBroker) -> None:
    (result,) = await create(broker, 7, topic("a", -1, -1, [(1, [1]), (0, [1])]))
    assert (result.error_code, result.num_partitions) == (NONE, 2)


# DeleteTopics


async def delete(broker: FakeBroker, version: int, *names: str, ids: Any = (), both: Any = ()) -> Any:
    if version < 6:
        request: dict[str, Any] = {"topic_names": names}
    else:
        states: list[tuple[Any, Any]] = [*((name, None) for name in names), *((None, item) for item in ids), *both]
        request = {"topics": [{"name": name, "topic_id": topic_id} for name, topic_id in states]}
    return (await call(broker, ApiKey.DELETE_TOPICS, version, timeout=1000, **request)).responses


@pytest.mark.parametrize("version", versions(ApiKey.DELETE_TOPICS))
async def test_delete_in_every_version(broker: FakeBroker, version: int) -> None:
    await create(broker, 7, topic("a"), topic("b"))
    results = await delete(broker, version, "a", "nope")
    assert [(r.name, r.error_code) for r in results] == [("a", NONE), ("nope", ErrorCode.unknown_topic_or_partition)]
    assert set(broker.metadata.topics) == {"b"}


async def test_delete_by_id(broker: FakeBroker) -> None:
    (made,) = await create(broker, 7, topic("a"))
    stranger = uuid4()
    found, missing = await delete(broker, 6, ids=[made.topic_id, stranger])
    assert (found.name, found.topic_id, found.error_code) == ("a", made.topic_id, NONE)
    assert (missing.name, missing.topic_id, missing.error_code) == (None, stranger, ErrorCode.unknown_topic_id)
    assert not broker.metadata.topics


async def test_deletions_that_contradict_themselves(broker: FakeBroker) -> None:
    (made,) = await create(broker, 7, topic("a"))
    results = await delete(broker, 6, both=[("a", made.topic_id), (None, None)])
    assert [r.error_code for r in results] == [ErrorCode.invalid_request] * 2
    results = await delete(broker, 6, "a", ids=[made.topic_id])
    assert [r.error_code for r in results] == [ErrorCode.invalid_request] * 2
    (result,) = await delete(broker, 6, "a", "a")
    assert result.error_code is ErrorCode.invalid_request
    assert set(broker.metadata.topics) == {"a"}


async def test_internal_topics_stay(broker: FakeBroker) -> None:
    await broker.ensure_internal_topic("__consumer_offsets")
    (result,) = await delete(broker, 6, "__consumer_offsets")
    assert result.error_code is ErrorCode.invalid_topic_exception


@pytest.mark.parametrize(("version", "code"), [(1, ErrorCode.invalid_request), (6, ErrorCode.topic_deletion_disabled)])
async def test_deletion_can_be_switched_off(tmp_path: Path, version: int, code: ErrorCode) -> None:
    broker = FakeBroker(tmp_path, {"delete.topic.enable": "false"})
    await broker.metadata.load()
    await create(broker, 7, topic("a"))
    (result,) = await delete(broker, version, "a")
    assert result.error_code is code
    assert "a" in broker.metadata.topics
    await broker.metadata.close()


# CreatePartitions


async def grow(broker: FakeBroker, version: int, *topics: tuple[str, int, Any], validate_only: bool = False) -> Any:
    wanted = [
        {
            "name": name,
            "count": count,
            "assignments": None if nodes is None else [{"broker_ids": ids} for ids in nodes],
        }
        for name, count, nodes in topics
    ]
    return (
        await call(broker, ApiKey.CREATE_PARTITIONS, version, topics=wanted, timeout=1000, validate_only=validate_only)
    ).results


@pytest.mark.parametrize("version", versions(ApiKey.CREATE_PARTITIONS))
async def test_grow_in_every_version(broker: FakeBroker, version: int) -> None:
    await create(broker, 7, topic("a"), topic("b", 2), topic("c"))
    results = await grow(
        broker, version, ("a", 3, None), ("b", 2, None), ("nope", 2, None), ("c", 2, [[9]]), ("c", 3, None)
    )
    assert [(r.name, r.error_code) for r in results] == [
        ("a", NONE),
        ("b", ErrorCode.invalid_partitions),
        ("nope", ErrorCode.unknown_topic_or_partition),
        ("c", ErrorCode.invalid_request),
    ]
    assert len(broker.metadata.topics["a"].partitions) == 3
    assert broker.partition("a", 2) is not None
    (assigned,) = await grow(broker, version, ("c", 2, [[9]]))
    assert assigned.error_code is ErrorCode.invalid_replica_assignment
    (fewer,) = await grow(broker, version, ("a", 1, None))
    assert fewer.error_code is ErrorCode.invalid_partitions
    (tried,) = await grow(broker, version, ("c", 2, [[1]]), validate_only=True)
    assert tried.error_code is NONE
    assert len(broker.metadata.topics["c"].partitions) == 1
