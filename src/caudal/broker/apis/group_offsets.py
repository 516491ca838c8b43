"""Offsets of groups on the wire: OffsetCommit 2-10, OffsetFetch 1-10, OffsetDelete 0, TxnOffsetCommit 0-5.

Translation, and the look-up of topics (by name, and by id from version 10 of commit and fetch on). The rules are in
`coordinators/offset_commits.py`. An error of a whole group goes to each of its partitions where the response has no
other place.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from caudal.broker.coordinators import transaction_errors
from caudal.broker.coordinators.offset_commits import Commit, Committer
from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.router import RequestContext, handles
from caudal.broker.wire.api_keys import ApiKey

_MILLISECOND = timedelta(milliseconds=1)


class _Topic(NamedTuple):
    """A topic of a request: how the client named it, and what the broker knows of it (name None: an id nobody has)."""

    said: dict[str, Any]
    name: str | None
    topic_id: UUID | None
    partitions: int

    def error_of(self, partition: int) -> ErrorCode:
        if self.name is None:
            return ErrorCode.unknown_topic_id
        return ErrorCode.none if 0 <= partition < self.partitions else ErrorCode.unknown_topic_or_partition


def _topic(entry: Any, ctx: RequestContext, by_id: bool) -> _Topic:
    metadata = ctx.broker.metadata
    info = metadata.topic_ids.get(entry.topic_id) if by_id else metadata.topics.get(entry.name)
    said = {"topic_id": entry.topic_id} if by_id else {"name": entry.name}
    if info is None:
        return _Topic(said, None if by_id else entry.name, None, 0)
    return _Topic(said, info.name, info.topic_id, len(info.partitions))


# ---------------------------------------------------------------- OffsetCommit, TxnOffsetCommit


def _commits(
    request: Any, ctx: RequestContext, by_id: bool
) -> tuple[list[dict[str, Any]], list[Commit], list[dict[str, Any]]]:
    """The response's topics with the errors known already; what is left to commit; the response's entry for each of
    that."""
    topics = []
    commits: list[Commit] = []
    waiting: list[dict[str, Any]] = []
    for entry in request.topics:
        topic = _topic(entry, ctx, by_id)
        partitions = []
        for partition in entry.partitions:
            index = partition.partition_index
            row = {"partition_index": index, "error_code": topic.error_of(index)}
            partitions.append(row)
            if row["error_code"] is ErrorCode.none and topic.name is not None:
                commits.append(
                    Commit(
                        topic.name,
                        topic.topic_id,
                        index,
                        partition.committed_offset,
                        getattr(partition, "committed_leader_epoch", -1),
                        partition.committed_metadata,
                    )
                )
                waiting.append(row)
        topics.append({**topic.said, "partitions": partitions})
    return topics, commits, waiting


@handles(ApiKey.OFFSET_COMMIT, 2, 10)
async def offset_commit(request: Any, ctx: RequestContext) -> dict[str, Any]:
    topics, commits, waiting = _commits(request, ctx, by_id=ctx.version >= 10)
    committer = Committer(
        request.member_id, getattr(request, "group_instance_id", None), request.generation_id_or_member_epoch
    )
    retention = getattr(request, "retention_time", None)
    try:
        results = await ctx.broker.groups.commits.commit(
            request.group_id,
            committer,
            commits,
            version=ctx.version,
            retention_ms=-1 if retention is None or retention < timedelta(0) else retention // _MILLISECOND,
        )
    except KafkaError as error:
        results = [error.code] * len(waiting)
    for row, code in zip(waiting, results, strict=True):
        row["error_code"] = code
    return {"throttle_time": 0, "topics": topics}


@handles(ApiKey.TXN_OFFSET_COMMIT, 0, 5)
async def txn_offset_commit(request: Any, ctx: RequestContext) -> dict[str, Any]:
    topics, commits, waiting = _commits(request, ctx, by_id=False)
    committer = Committer(
        getattr(request, "member_id", ""),
        getattr(request, "group_instance_id", None),
        getattr(request, "generation_id", -1),
    )
    try:
        results = await ctx.broker.groups.commits.commit_transactional(
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            request.group_id,
            committer,
            commits,
            add=ctx.version >= 5,
        )
    except KafkaError as error:
        results = [transaction_errors.for_write(ApiKey.TXN_OFFSET_COMMIT, ctx.version, error.code)] * len(waiting)
    for row, code in zip(waiting, results, strict=True):
        row["error_code"] = code
    return {"throttle_time": 0, "topics": topics}


# ---------------------------------------------------------------- OffsetFetch


@handles(ApiKey.OFFSET_FETCH, 1, 10)
def offset_fetch(request: Any, ctx: RequestContext) -> dict[str, Any]:
    require_stable = getattr(request, "require_stable", False)
    if ctx.version >= 8:
        groups = [
            {"group_id": asked.group_id, **_fetched(asked.group_id, asked.topics, require_stable, ctx)}
            for asked in request.groups
        ]
        return {"throttle_time": 0, "groups": groups}
    answer = _fetched(request.group_id, request.topics, require_stable, ctx)
    if ctx.version < 2 and answer["error_code"] is not ErrorCode.none:
        # Version 1 has no place for the group's error but its partitions.
        rows = [
            {
                "name": topic.name,
                "partitions": [_no_offset(index, answer["error_code"]) for index in topic.partition_indexes],
            }
            for topic in request.topics
        ]
        return {"topics": rows}
    return {"throttle_time": 0, **answer}


def _fetched(group_id: str, topics: Any, require_stable: bool, ctx: RequestContext) -> dict[str, Any]:
    """One group's offsets: of the asked partitions, or of all it has (`topics` None)."""
    groups = ctx.broker.groups
    by_id = ctx.version >= 10
    try:
        groups.check_loaded(group_id)
    except KafkaError as error:
        return {"topics": [], "error_code": error.code}
    answer: list[dict[str, Any]] = []
    if topics is None:
        known = ctx.broker.metadata.topics
        for name, partitions in groups.commits.partitions_of(group_id).items():
            info = known.get(name)
            if info is None and by_id:
                continue  # a topic that is being deleted has no id to be named by
            topic_id = None if info is None else info.topic_id
            rows = [_fetched_row(ctx, group_id, name, topic_id, index, require_stable) for index in partitions]
            # An offset that only an open transaction holds is not there for those who do not ask for stable ones.
            rows = [row for row in rows if row["committed_offset"] >= 0 or row["error_code"] is not ErrorCode.none]
            if rows:
                answer.append({"name": name, "topic_id": topic_id, "partitions": rows})
        return {"topics": answer, "error_code": ErrorCode.none}
    for entry in topics:
        topic = _topic(entry, ctx, by_id)
        if topic.name is None:
            rows = [_no_offset(index, ErrorCode.unknown_topic_id) for index in entry.partition_indexes]
        else:
            rows = [
                _fetched_row(ctx, group_id, topic.name, topic.topic_id, index, require_stable)
                for index in entry.partition_indexes
            ]
        answer.append({**topic.said, "partitions": rows})
    return {"topics": answer, "error_code": ErrorCode.none}


def _fetched_row(
    ctx: RequestContext, group_id: str, topic: str, topic_id: UUID | None, partition: int, require_stable: bool
) -> dict[str, Any]:
    entry, code = ctx.broker.groups.commits.fetch(group_id, topic, topic_id, partition, require_stable)
    if entry is None:
        return _no_offset(partition, code)
    return {
        "partition_index": partition,
        "committed_offset": entry.offset,
        "committed_leader_epoch": entry.leader_epoch,
        "metadata": entry.metadata,
        "error_code": code,
    }


def _no_offset(partition: int, code: ErrorCode) -> dict[str, Any]:
    return {
        "partition_index": partition,
        "committed_offset": -1,
        "committed_leader_epoch": -1,
        "metadata": "",
        "error_code": code,
    }


# ---------------------------------------------------------------- OffsetDelete


@handles(ApiKey.OFFSET_DELETE, 0, 0)
async def offset_delete(request: Any, ctx: RequestContext) -> dict[str, Any]:
    if not request.group_id:
        return {"error_code": ErrorCode.invalid_group_id, "throttle_time": 0, "topics": []}
    topics = []
    wanted: list[tuple[str, int]] = []
    waiting: list[dict[str, Any]] = []
    for entry in request.topics:
        topic = _topic(entry, ctx, by_id=False)
        rows = []
        for partition in entry.partitions:
            row = {
                "partition_index": partition.partition_index,
                "error_code": topic.error_of(partition.partition_index),
            }
            rows.append(row)
            if row["error_code"] is ErrorCode.none:
                wanted.append((entry.name, partition.partition_index))
                waiting.append(row)
        topics.append({"name": entry.name, "partitions": rows})
    try:
        results = await ctx.broker.groups.commits.delete(request.group_id, wanted)
    except KafkaError as error:
        return {"error_code": error.code, "throttle_time": 0, "topics": []}
    for row, code in zip(waiting, results, strict=True):
        row["error_code"] = code
    return {"error_code": ErrorCode.none, "throttle_time": 0, "topics": topics}
