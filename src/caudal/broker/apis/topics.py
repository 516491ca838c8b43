"""CreateTopics 2–7, DeleteTopics 1–6, CreatePartitions 0–3.

The rules are the controller's; here requests are taken apart, duplicates refused, and results put in the order of the
request. The topics of one request are changed side by side, so that they share the controller's writes.

Left out: the time-out of the request (a change is durable in milliseconds or fails), topic policies.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from caudal.broker.config.broker_config import DEFAULT
from caudal.broker.controller import TopicInfo
from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.router import RequestContext, handles
from caudal.broker.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from caudal.broker.broker import Broker


async def _outcome(change: Awaitable[Any]) -> tuple[Any, KafkaError | None]:
    try:
        return await change, None
    except KafkaError as error:
        return None, error


def _failure(error: KafkaError | None) -> dict[str, Any]:
    if error is None:
        return {"error_code": ErrorCode.none, "error_message": None}
    return {"error_code": error.code, "error_message": error.message}


# CreateTopics


@handles(ApiKey.CREATE_TOPICS, 2, 7)
async def create_topics(request: Any, ctx: RequestContext) -> dict[str, Any]:
    counts = Counter(topic.name for topic in request.topics)
    wanted = {topic.name: topic for topic in request.topics}
    outcomes = await asyncio.gather(
        *(
            _outcome(_create(ctx.broker, topic, duplicate=counts[name] > 1, validate_only=request.validate_only))
            for name, topic in wanted.items()
        )
    )
    return {
        "topics": [
            {"name": name, **_created(ctx.broker, created, request.validate_only), **_failure(error)}
            for name, (created, error) in zip(wanted, outcomes, strict=True)
        ]
    }


async def _create(broker: Broker, topic: Any, *, duplicate: bool, validate_only: bool) -> TopicInfo:
    if duplicate:
        raise KafkaError(ErrorCode.invalid_request, "Duplicate topic name.")
    assignments: dict[int, tuple[int, ...]] = {}
    for item in topic.assignments:
        if item.partition_index in assignments:
            raise KafkaError(
                ErrorCode.invalid_replica_assignment, f"Partition {item.partition_index} is assigned more than once."
            )
        assignments[item.partition_index] = item.broker_ids
    configs: dict[str, str] = {}
    for config in topic.configs:
        if config.value is None:
            raise KafkaError(ErrorCode.invalid_config, f"Null value not supported for topic config {config.name}.")
        if config.name in configs:
            raise KafkaError(ErrorCode.invalid_config, f"The topic config {config.name} is given more than once.")
        configs[config.name] = config.value
    return await broker.metadata.create_topic(
        topic.name, topic.num_partitions, topic.replication_factor, configs, assignments or None, validate_only
    )


def _created(broker: Broker, topic: TopicInfo | None, validate_only: bool) -> dict[str, Any]:
    if topic is None:
        return {"topic_id": None, "num_partitions": -1, "replication_factor": -1, "configs": ()}
    configs = []
    for name, definition in sorted(broker.config.topic_defs.items()):
        if definition.internal and name not in topic.configs:
            continue
        settings = broker.config.topic_settings(name, topic.configs)
        configs.append(
            {
                "name": name,
                "value": broker.config.topic_value(name, topic.configs),
                "read_only": False,
                "config_source": settings[0].source if settings else DEFAULT,
                "is_sensitive": definition.sensitive,
            }
        )
    return {
        "topic_id": None if validate_only else topic.topic_id,
        "num_partitions": len(topic.partitions),
        "replication_factor": len(topic.partitions[0].replicas),
        "configs": configs,
    }


# DeleteTopics


@handles(ApiKey.DELETE_TOPICS, 1, 6)
async def delete_topics(request: Any, ctx: RequestContext) -> dict[str, Any]:
    broker = ctx.broker
    states = getattr(request, "topics", None)
    asked: list[tuple[str | None, UUID | None]] = (
        [(state.name, state.topic_id) for state in states]
        if states is not None
        else [(name, None) for name in request.topic_names]
    )
    if not broker.config["delete.topic.enable"]:
        code = ErrorCode.topic_deletion_disabled if ctx.version >= 3 else ErrorCode.invalid_request
        refusal = KafkaError(code, "Topic deletion is switched off by delete.topic.enable.")
        return {"responses": [{"name": name, "topic_id": id_, **_failure(refusal)} for name, id_ in asked]}
    counts = Counter(_target(broker, name, id_) for name, id_ in asked)
    unique = list(dict.fromkeys(asked))
    outcomes = await asyncio.gather(
        *(_outcome(_delete(broker, name, id_, counts[_target(broker, name, id_)] > 1)) for name, id_ in unique)
    )
    responses = []
    for (name, id_), (deleted, error) in zip(unique, outcomes, strict=True):
        found = deleted or TopicInfo(name or "", id_ or UUID(int=0), [], {}, False)
        responses.append({"name": found.name or None, "topic_id": found.topic_id, **_failure(error)})
    return {"responses": responses}


def _target(broker: Broker, name: str | None, topic_id: UUID | None) -> str | UUID | None:
    """What two entries of a request have in common when they mean the same topic, one by name and one by id."""
    topic = broker.metadata.topic_ids.get(topic_id) if topic_id is not None else None
    return topic.name if topic is not None else (topic_id or name)


async def _delete(broker: Broker, name: str | None, topic_id: UUID | None, duplicate: bool) -> TopicInfo:
    if name is not None and topic_id is not None:
        raise KafkaError(ErrorCode.invalid_request, "You may not specify both topic name and topic id.")
    if name is None and topic_id is None:
        raise KafkaError(ErrorCode.invalid_request, "Neither topic name nor id were specified.")
    if duplicate:
        raise KafkaError(ErrorCode.invalid_request, "Duplicate topic name or id.")
    if topic_id is not None:
        topic = broker.metadata.topic_ids.get(topic_id)
        if topic is None:
            raise KafkaError(ErrorCode.unknown_topic_id, "There is no topic with this id.")
    else:
        topic = broker.metadata.topics.get(name or "")
        if topic is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition, f"There is no topic '{name}'.")
    if topic.internal:
        # Its coordinator holds this topic's state in memory; Kafka would let an administrator break it.
        raise KafkaError(ErrorCode.invalid_topic_exception, f"The internal topic '{topic.name}' cannot be deleted.")
    await broker.metadata.delete_topic(topic.name)
    return topic


# CreatePartitions


@handles(ApiKey.CREATE_PARTITIONS, 0, 3)
async def create_partitions(request: Any, ctx: RequestContext) -> dict[str, Any]:
    counts = Counter(topic.name for topic in request.topics)
    wanted = {topic.name: topic for topic in request.topics}
    outcomes = await asyncio.gather(
        *(
            _outcome(_grow(ctx.broker, topic, duplicate=counts[name] > 1, validate_only=request.validate_only))
            for name, topic in wanted.items()
        )
    )
    return {"results": [{"name": name, **_failure(error)} for name, (_, error) in zip(wanted, outcomes, strict=True)]}


async def _grow(broker: Broker, topic: Any, *, duplicate: bool, validate_only: bool) -> TopicInfo:
    if duplicate:
        raise KafkaError(ErrorCode.invalid_request, "Duplicate topic name.")
    assignments = None if topic.assignments is None else [item.broker_ids for item in topic.assignments]
    return await broker.metadata.create_partitions(topic.name, topic.count, assignments, validate_only)
