"""Metadata 0–13 and DescribeTopicPartitions 0: which brokers, topics and partitions there are.

Metadata is what every client asks first and again every few minutes, so its topics are encoded once per version and
kept on the `TopicInfo` (which is replaced when the topic changes): a request costs a join of bytes, whatever the number
of partitions, and looks only at the topics it names. Topics a client may create are created on the way.

Left out: leaderless partitions, offline replicas and listeners per connection, until there is more than one broker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from caudal.broker.apis.cluster import CLUSTER_OPERATIONS, TOPIC_OPERATIONS, live_brokers
from caudal.broker.controller import PartitionInfo, TopicInfo
from caudal.broker.controller.internal_topics import INTERNAL_TOPICS
from caudal.broker.controller.topic_names import name_fault
from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.router import RequestContext, handles
from caudal.broker.wire.api_keys import ApiKey
from caudal.broker.wire.primitives import Writer

if TYPE_CHECKING:
    from caudal.broker.broker import Broker

FLEXIBLE: Final = 9
NOT_ASKED: Final = -(2**31)  # the bit field of authorized operations when the client did not ask for it
CLUSTER_OPERATIONS_FROM: Final = 8
CLUSTER_OPERATIONS_TO: Final = 10


@handles(ApiKey.METADATA, 0, 13)
async def metadata(request: Any, ctx: RequestContext) -> bytes:
    version = ctx.version
    operations = bool(getattr(request, "include_topic_authorized_operations", False))
    asked = request.topics
    if asked is None or (version == 0 and not asked):
        topics = [_encoded(topic, version, operations) for topic in ctx.broker.metadata.topics.values()]
    else:
        topics = await _named(request, ctx, asked, operations)
    cluster_operations = bool(getattr(request, "include_cluster_authorized_operations", False))
    return _encode_response(ctx.broker, version, topics, cluster_operations)


async def _named(request: Any, ctx: RequestContext, asked: Sequence[Any], operations: bool) -> list[bytes]:
    """The encoded topics a request names, by name or by id, in its order and each once."""
    broker, version = ctx.broker, ctx.version
    by_name, by_id = broker.metadata.topics, broker.metadata.topic_ids
    create = getattr(request, "allow_auto_topic_creation", True) and broker.config["auto.create.topics.enable"]
    found: dict[str | UUID, bytes] = {}
    missing: list[str] = []
    for item in asked:
        topic_id = getattr(item, "topic_id", None)
        if topic_id is not None:
            topic = by_id.get(topic_id)
            found[topic_id] = (
                _encoded(topic, version, operations)
                if topic is not None
                else encode_topic(version, ErrorCode.unknown_topic_id, None, topic_id, False, (), operations)
            )
        elif item.name is not None:
            topic = by_name.get(item.name)
            found[item.name] = b""
            if topic is not None:
                found[item.name] = _encoded(topic, version, operations)
            elif item.name not in missing:
                missing.append(item.name)
    if missing:
        results = await asyncio.gather(*(_find_or_create(broker, name, create) for name in missing))
        for name, result in zip(missing, results, strict=True):
            found[name] = (
                _encoded(result, version, operations)
                if isinstance(result, TopicInfo)
                else encode_topic(version, result, name, None, name in INTERNAL_TOPICS, (), operations)
            )
    return list(found.values())


async def _find_or_create(broker: Broker, name: str, create: bool) -> TopicInfo | ErrorCode:
    if name_fault(name) is not None:
        return ErrorCode.invalid_topic_exception
    if not create:
        return ErrorCode.unknown_topic_or_partition
    try:
        if name in INTERNAL_TOPICS:
            await broker.ensure_internal_topic(name)
        else:
            return await broker.metadata.create_topic(name, -1, -1, {})
    except KafkaError as error:
        if error.code is not ErrorCode.topic_already_exists:
            return error.code
    except KeyError:  # an internal topic that this broker does not keep
        return ErrorCode.unknown_topic_or_partition
    return broker.metadata.topics.get(name) or ErrorCode.unknown_topic_or_partition


# Encoding: by hand, because the parts are kept.


def _encoded(topic: TopicInfo, version: int, operations: bool) -> bytes:
    key = (version, operations)
    encoded = topic.encodings.get(key)
    if encoded is None:
        encoded = topic.encodings[key] = encode_topic(
            version, ErrorCode.none, topic.name, topic.topic_id, topic.internal, topic.partitions, operations
        )
    return encoded


def encode_topic(
    version: int,
    error: ErrorCode,
    name: str | None,
    topic_id: UUID | None,
    internal: bool,
    partitions: Sequence[PartitionInfo],
    operations: bool,
) -> bytes:
    """One element of the response's `topics`."""
    out = Writer()
    flexible = version >= FLEXIBLE
    out.int16(error)
    if flexible:
        out.compact_nullable_string(name if version >= 12 or name is not None else "")
    else:
        out.string(name or "")
    if version >= 10:
        out.uuid(topic_id)
    if version >= 1:
        out.boolean(internal)
    _length(out, len(partitions), flexible)
    for partition in partitions:
        out.int16(0).int32(partition.index).int32(partition.leader)
        if version >= 7:
            out.int32(partition.leader_epoch)
        _nodes(out, partition.replicas, flexible)
        _nodes(out, partition.isr, flexible)
        if version >= 5:
            _nodes(out, (), flexible)
        if flexible:
            out.tagged_fields()
    if version >= 8:
        out.int32(TOPIC_OPERATIONS if operations else NOT_ASKED)
    if flexible:
        out.tagged_fields()
    return bytes(out)


def _encode_response(broker: Broker, version: int, topics: Sequence[bytes], cluster_operations: bool) -> bytes:
    out = Writer()
    flexible = version >= FLEXIBLE
    if version >= 3:
        out.int32(0)
    brokers = live_brokers(broker)
    _length(out, len(brokers), flexible)
    for item in brokers:
        out.int32(item["broker_id"])
        (out.compact_string if flexible else out.string)(item["host"])
        out.int32(item["port"])
        if version >= 1:
            (out.compact_nullable_string if flexible else out.nullable_string)(item["rack"])
        if flexible:
            out.tagged_fields()
    if version >= 2:
        (out.compact_nullable_string if flexible else out.nullable_string)(broker.cluster_id)
    if version >= 1:
        out.int32(broker.node_id)
    _length(out, len(topics), flexible)
    out.raw(b"".join(topics))
    if CLUSTER_OPERATIONS_FROM <= version <= CLUSTER_OPERATIONS_TO:
        out.int32(CLUSTER_OPERATIONS if cluster_operations else NOT_ASKED)
    if version >= 13:
        out.int16(0)
    if flexible:
        out.tagged_fields()
    return bytes(out)


def _length(out: Writer, count: int, flexible: bool) -> None:
    if flexible:
        out.uvarint(count + 1)
    else:
        out.int32(count)


def _nodes(out: Writer, nodes: Sequence[int], flexible: bool) -> None:
    _length(out, len(nodes), flexible)
    for node in nodes:
        out.int32(node)


# The paged variant, which the newer admin clients use.


@handles(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, 0)
def describe_topic_partitions(request: Any, ctx: RequestContext) -> dict[str, Any]:
    """Topics in the order of their names, cut after a number of partitions; the cursor says where to go on."""
    known = ctx.broker.metadata.topics
    everything = not request.topics
    names = sorted(known) if everything else sorted({topic.name for topic in request.topics})
    first_partition = 0
    if request.cursor is not None:
        if request.cursor.partition_index < 0:
            raise KafkaError(ErrorCode.invalid_request, "The cursor's partition must not be negative.")
        names = [name for name in names if name >= request.cursor.topic_name]
        if names and names[0] == request.cursor.topic_name:
            first_partition = request.cursor.partition_index
    room = min(max(request.response_partition_limit, 1), ctx.broker.config["max.request.partition.size.limit"])
    topics: list[dict[str, Any]] = []
    for name in names:
        topic = known.get(name)
        if topic is None:
            fault = name_fault(name)
            code = ErrorCode.invalid_topic_exception if fault else ErrorCode.unknown_topic_or_partition
            topics.append({"error_code": code, "name": name, "topic_id": None, "partitions": ()})
            continue
        if room == 0:
            return {"topics": topics, "next_cursor": {"topic_name": name, "partition_index": 0}}
        shown = topic.partitions[first_partition : first_partition + room]
        topics.append(_described(topic, shown))
        room -= len(shown)
        if first_partition + len(shown) < len(topic.partitions):
            cursor = {"topic_name": name, "partition_index": first_partition + len(shown)}
            return {"topics": topics, "next_cursor": cursor}
        first_partition = 0
    return {"topics": topics, "next_cursor": None}


def _described(topic: TopicInfo, partitions: Sequence[PartitionInfo]) -> dict[str, Any]:
    return {
        "error_code": ErrorCode.none,
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": topic.internal,
        "topic_authorized_operations": TOPIC_OPERATIONS,
        "partitions": [
            {
                "error_code": ErrorCode.none,
                "partition_index": partition.index,
                "leader_id": partition.leader,
                "leader_epoch": partition.leader_epoch,
                "replica_nodes": partition.replicas,
                "isr_nodes": partition.isr,
                "eligible_leader_replicas": (),
                "last_known_elr": (),
                "offline_replicas": (),
            }
            for partition in partitions
        ],
    }
