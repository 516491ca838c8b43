"""Metadata and DescribeTopicPartitions: every version, the rules of who sees what, and what a request costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.unit.broker.apis.topic_fakes import NONE, FakeBroker, call, versions

from caudal.broker.apis import metadata as api
from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey

KEY = ApiKey.METADATA
ALL = object()


async def ask(
    broker: FakeBroker, version: int, names: Any = ALL, *, ids: Any = (), create: bool = False, **more: Any
) -> Any:
    if names is ALL:
        topics: Any = () if version == 0 else None
    else:
        topics = [{"name": name, "topic_id": None} for name in names]
        topics += [{"name": None, "topic_id": topic_id} for topic_id in ids]
    flags = {"include_cluster_authorized_operations": False, "include_topic_authorized_operations": False}
    return await call(broker, KEY, version, topics=topics, allow_auto_topic_creation=create, **{**flags, **more})


@pytest.fixture
def encodings(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Names of the topics that were encoded, in order."""
    done: list[str | None] = []
    real = api.encode_topic

    def counted(version: int, error: ErrorCode, name: str | None, *rest: Any) -> bytes:
        done.append(name)
        return real(version, error, name, *rest)

    monkeypatch.setattr(api, "encode_topic", counted)
    return done


@pytest.mark.parametrize("version", versions(KEY))
async def test_every_version_tells_the_same(broker: FakeBroker, version: int) -> None:
    topic = await broker.metadata.create_topic("orders", 2, 1, {})
    await broker.metadata.create_topic("__consumer_offsets", 1, 1, {})
    answer = await ask(broker, version)
    (node,) = answer.brokers
    assert (node.node_id, node.host, node.port) == (1, "kafka.example", 9092)
    if version >= 1:
        assert answer.controller_id == 1
        assert node.rack is None
    if version >= 2:
        assert answer.cluster_id == broker.cluster_id
    orders, internal = answer.topics
    assert (orders.name, orders.error_code) == ("orders", NONE)
    assert [(p.partition_index, p.leader_id) for p in orders.partitions] == [(0, 1), (1, 1)]
    assert [(p.replica_nodes, p.isr_nodes) for p in orders.partitions] == [((1,), (1,))] * 2
    if version >= 1:
        assert (orders.is_internal, internal.is_internal) == (False, True)
    if version >= 5:
        assert orders.partitions[0].offline_replicas == ()
    if version >= 7:
        assert orders.partitions[0].leader_epoch == 0
    if version >= 10:
        assert orders.topic_id == topic.topic_id


@pytest.mark.parametrize("version", versions(KEY))
async def test_named_unknown_and_invalid_topics(broker: FakeBroker, version: int) -> None:
    await broker.metadata.create_topic("a", 1, 1, {})
    await broker.metadata.create_topic("b", 1, 1, {})
    answer = await ask(broker, version, ["b", "nope", "no way"], create=False)
    codes = {topic.name: topic.error_code for topic in answer.topics}
    if version < 4:
        # These versions cannot say no to auto-creation.
        assert codes == {"b": NONE, "nope": NONE, "no way": ErrorCode.invalid_topic_exception}
    else:
        assert codes == {
            "b": NONE,
            "nope": ErrorCode.unknown_topic_or_partition,
            "no way": ErrorCode.invalid_topic_exception,
        }


@pytest.mark.parametrize("version", range(1, 14))
async def test_no_topics_and_all_topics_are_told_apart(broker: FakeBroker, version: int) -> None:
    await broker.metadata.create_topic("a", 1, 1, {})
    assert (await ask(broker, version, [])).topics == ()
    assert len((await ask(broker, version)).topics) == 1


async def test_an_empty_list_is_everything_in_version_0(broker: FakeBroker) -> None:
    await broker.metadata.create_topic("a", 1, 1, {})
    assert len((await ask(broker, 0, [])).topics) == 1


async def test_auto_creation(broker: FakeBroker) -> None:
    answer = await ask(broker, 9, ["new", "new", "__consumer_offsets"], create=True)
    assert [(t.name, t.error_code, len(t.partitions)) for t in answer.topics] == [
        ("new", NONE, 1),
        ("__consumer_offsets", NONE, 50),
    ]
    assert broker.metadata.topics["__consumer_offsets"].configs["cleanup.policy"] == "compact"
    again = await ask(broker, 9, ["a.b", "a_b"], create=True)
    assert sorted(t.error_code for t in again.topics) == [NONE, ErrorCode.invalid_topic_exception]


async def test_auto_creation_can_be_switched_off(tmp_path: Path) -> None:
    broker = FakeBroker(tmp_path, {"auto.create.topics.enable": "false"})
    await broker.metadata.load()
    for version in (0, 9):
        answer = await ask(broker, version, ["new"], create=True)
        assert answer.topics[0].error_code is ErrorCode.unknown_topic_or_partition
    assert not broker.metadata.topics
    await broker.metadata.close()


@pytest.mark.parametrize("version", [12, 13])
async def test_by_topic_id(broker: FakeBroker, version: int) -> None:
    topic = await broker.metadata.create_topic("a", 1, 1, {})
    stranger = uuid4()
    answer = await ask(broker, version, [], ids=[topic.topic_id, stranger])
    found, missing = answer.topics
    assert (found.name, found.topic_id, found.error_code) == ("a", topic.topic_id, NONE)
    assert (missing.name, missing.topic_id, missing.error_code) == (None, stranger, ErrorCode.unknown_topic_id)


async def test_authorized_operations_only_when_asked(broker: FakeBroker) -> None:
    await broker.metadata.create_topic("a", 1, 1, {})
    silent = await ask(broker, 8)
    assert silent.topics[0].topic_authorized_operations == silent.cluster_authorized_operations == -(2**31)
    told = await ask(broker, 8, include_cluster_authorized_operations=True, include_topic_authorized_operations=True)
    assert told.topics[0].topic_authorized_operations == 0b110111111000
    assert told.cluster_authorized_operations == 0b1111110100000


async def test_a_topic_is_encoded_once(broker: FakeBroker, encodings: list[str | None]) -> None:
    await broker.metadata.create_topic("a", 1000, 1, {})
    for _ in range(5):
        await ask(broker, 12, ["a"])
        await ask(broker, 12)
    assert encodings == ["a"]
    await ask(broker, 9, ["a"])
    assert encodings == ["a", "a"], "each version has its own bytes"


async def test_a_request_for_one_topic_does_not_look_at_the_others(
    broker: FakeBroker, encodings: list[str | None]
) -> None:
    """The cost of a request depends on what it names, not on what there is."""
    for number in range(300):
        await broker.metadata.create_topic(f"t{number}", 1, 1, {})
    await ask(broker, 12, ["t7"])
    assert encodings == ["t7"]
    # Another topic's change leaves what is kept of this one alone.
    await broker.metadata.create_partitions("t8", 2)
    await ask(broker, 12, ["t7"])
    assert encodings == ["t7"]


async def test_a_change_is_seen_at_once(broker: FakeBroker) -> None:
    await broker.metadata.create_topic("a", 1, 1, {})
    assert len((await ask(broker, 12, ["a"])).topics[0].partitions) == 1
    await broker.metadata.create_partitions("a", 3)
    assert len((await ask(broker, 12, ["a"])).topics[0].partitions) == 3
    await broker.metadata.delete_topic("a")
    assert (await ask(broker, 12, ["a"])).topics[0].error_code is ErrorCode.unknown_topic_or_partition


# DescribeTopicPartitions


async def describe(broker: FakeBroker, names: list[str], limit: int = 2000, cursor: Any = None) -> Any:
    return await call(
        broker,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        0,
        topics=[{"name": name} for name in names],
        response_partition_limit=limit,
        cursor=cursor and {"topic_name": cursor[0], "partition_index": cursor[1]},
    )


async def test_pages_put_together_are_everything_once(broker: FakeBroker) -> None:
    for name, partitions in (("c", 5), ("a", 3), ("b", 1)):
        await broker.metadata.create_topic(name, partitions, 1, {})
    seen = []
    cursor = None
    pages = 0
    while True:
        answer = await describe(broker, [], 2, cursor)
        pages += 1
        for topic in answer.topics:
            assert topic.error_code is NONE
            seen += [(topic.name, p.partition_index) for p in topic.partitions]
        if answer.next_cursor is None:
            break
        cursor = (answer.next_cursor.topic_name, answer.next_cursor.partition_index)
    assert seen == [("a", 0), ("a", 1), ("a", 2), ("b", 0), *(("c", i) for i in range(5))]
    assert pages == 5


async def test_named_topics_of_which_one_is_missing(broker: FakeBroker) -> None:
    topic = await broker.metadata.create_topic("a", 1, 1, {})
    answer = await describe(broker, ["zzz", "a"])
    assert [(t.name, t.topic_id, t.error_code) for t in answer.topics] == [
        ("a", topic.topic_id, NONE),
        ("zzz", None, ErrorCode.unknown_topic_or_partition),
    ]
    assert answer.next_cursor is None


async def test_a_cursor_on_a_topic_that_is_gone_goes_on_with_the_next(broker: FakeBroker) -> None:
    await broker.metadata.create_topic("b", 2, 1, {})
    answer = await describe(broker, [], 10, ("a", 5))
    assert [(t.name, len(t.partitions)) for t in answer.topics] == [("b", 2)]
