"""Consumer groups as the pages show them: a list with lag, one group with members and partitions, and its deletion.

The list of names is one request; members, coordinator and lag are asked for the groups of one page of the table only,
so that ten thousand groups stay usable. Moving offsets is `offset_reset.py`, share groups are `share_groups.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from caudal.cli.offset_reset import Place
from caudal.ui.services.errors import UiError
from caudal.ui.services.kafka import ANSWER_SECONDS, Kafka
from caudal.ui.words import t

STATES = ("stable", "empty", "preparing rebalancing", "completing rebalancing", "dead", "unknown")


@dataclass(frozen=True, slots=True)
class Listing:
    """What the brokers say of every group without being asked twice."""

    name: str
    state: str
    type: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A row of the list. `error`: why the rest is not known."""

    name: str
    state: str
    members: int = 0
    coordinator: int | None = None
    lag: int | None = None
    topics: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    member_id: str
    client_id: str
    host: str
    instance_id: str | None
    assigned: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """Of one partition that the group has committed or is assigned. None: not committed, or the partition is gone."""

    topic: str
    partition: int
    committed: int | None
    end: int | None
    member: Member | None

    @property
    def lag(self) -> int | None:
        return None if self.committed is None or self.end is None else max(0, self.end - self.committed)


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    state: str
    type: str
    assignor: str
    coordinator: tuple[int, str] | None  # id and address
    members: tuple[Member, ...]
    partitions: tuple[PartitionLag, ...]

    @property
    def lag(self) -> int | None:
        """None while nothing is committed."""
        return total_lag(self.partitions)

    @property
    def committed(self) -> dict[Place, int]:
        return {(row.topic, row.partition): row.committed for row in self.partitions if row.committed is not None}

    @property
    def topics(self) -> list[str]:
        return sorted({row.topic for row in self.partitions})


def total_lag(partitions: Iterable[PartitionLag]) -> int | None:
    known = [row.lag for row in partitions if row.lag is not None]
    return sum(known) if known else None


def lag_by_topic(partitions: Iterable[PartitionLag]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for row in partitions:
        sums[row.topic] = sums.get(row.topic, 0) + (row.lag or 0)
    return dict(sorted(sums.items()))


def partition_rows(
    committed: Mapping[Place, int], ends: Mapping[Place, int], members: Sequence[Member]
) -> tuple[PartitionLag, ...]:
    """Every partition that is committed or assigned, in order."""
    owners = {place: member for member in members for place in member.assigned}
    return tuple(
        PartitionLag(*place, committed.get(place), ends.get(place), owners.get(place))
        for place in sorted(committed.keys() | owners.keys())
    )


async def listings(kafka: Kafka) -> list[Listing]:
    """Every group by name."""
    return [Listing(str(found.group_id), word(found.state), word(found.type)) for found in await kafka.groups()]


async def summaries(kafka: Kafka, groups: Sequence[Listing]) -> list[Summary]:
    """The rows of one page: all groups described in one request, their offsets side by side, all ends in one."""
    if not groups:
        return []
    described, offsets = await asyncio.gather(
        _described(kafka, [group.name for group in groups]),
        asyncio.gather(*(committed_offsets(kafka, group.name) for group in groups), return_exceptions=True),
    )
    known = [found if isinstance(found, dict) else {} for found in offsets]
    ends = await kafka.end_offsets({place for found in known for place in found})
    rows = []
    for group, found, committed in zip(groups, offsets, known, strict=True):
        answer = described[group.name]
        failure = next((each for each in (answer, found) if isinstance(each, BaseException)), None)
        if isinstance(failure, BaseException) and not isinstance(failure, UiError):
            raise failure
        if failure is not None:
            rows.append(Summary(group.name, group.state, error=failure.message))
            continue
        lags = partition_rows(committed, ends, ())
        coordinator = answer.coordinator
        rows.append(
            Summary(
                group.name,
                word(answer.state),
                len(answer.members),
                coordinator.id if coordinator is not None else None,
                total_lag(lags),
                len({row.topic for row in lags}),
            )
        )
    return rows


async def group(kafka: Kafka, name: str) -> Group:
    """One group with everything; raises UiError if there is none of this name."""
    described, committed = await asyncio.gather(_described(kafka, [name]), committed_offsets(kafka, name))
    answer = described[name]
    if isinstance(answer, BaseException):
        raise answer
    members = tuple(_member(each) for each in answer.members)
    if word(answer.state) == "dead" and not committed and not members:
        raise UiError(t("There is no group {name}.", name=name))
    places = committed.keys() | {place for member in members for place in member.assigned}
    coordinator = answer.coordinator
    return Group(
        name,
        word(answer.state),
        word(answer.type),
        answer.partition_assignor or "",
        (coordinator.id, f"{coordinator.host}:{coordinator.port}") if coordinator is not None else None,
        members,
        partition_rows(committed, await kafka.end_offsets(places), members),
    )


async def committed_offsets(kafka: Kafka, name: str) -> dict[Place, int]:
    from confluent_kafka import ConsumerGroupTopicPartitions

    request = [ConsumerGroupTopicPartitions(name)]
    future = kafka.admin.list_consumer_group_offsets(request, request_timeout=ANSWER_SECONDS)[name]
    answer = await kafka.ask(future)
    return {(place.topic, place.partition): place.offset for place in answer.topic_partitions if place.offset >= 0}


async def member_count(kafka: Kafka, name: str) -> int:
    """Now; 0 also for a group that does not exist yet."""
    answer = (await _described(kafka, [name]))[name]
    if isinstance(answer, BaseException):
        raise answer
    return len(answer.members)


async def delete(kafka: Kafka, name: str) -> None:
    """The group and its committed offsets; refused by the broker while it has members."""
    await kafka.ask_all(kafka.admin.delete_consumer_groups([name], request_timeout=ANSWER_SECONDS))


async def _described(kafka: Kafka, names: list[str]) -> dict[str, Any]:
    """By name: ConsumerGroupDescription, or the error of this one group."""
    futures = kafka.admin.describe_consumer_groups(names, request_timeout=ANSWER_SECONDS)
    answers = await asyncio.gather(*(kafka.ask(future) for future in futures.values()), return_exceptions=True)
    return dict(zip(futures, answers, strict=True))


def _member(found: Any) -> Member:
    assigned = found.assignment.topic_partitions if found.assignment else ()
    return Member(
        found.member_id,
        found.client_id or "",
        (found.host or "").removeprefix("/"),
        found.group_instance_id or None,
        tuple(sorted((place.topic, place.partition) for place in assigned)),
    )


def word(value: Any) -> str:
    """An enum of confluent-kafka in lower case with blanks: `preparing rebalancing`."""
    return str(getattr(value, "name", None) or value).lower().replace("_", " ")
