"""Topics as their pages show them: the list, sorted and cut on the server, and one topic's partitions and consumers.

Changing them is in `topic_changes.py`.

A list of 2,000 topics asks for offsets and configurations of the visible ones only, unless it is sorted by them; what
was asked for all topics is kept for some seconds, so that turning a page does not ask again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from caudal.ui.services.errors import UiError
from caudal.ui.services.log_dirs import Sizes, partition_sizes
from caudal.ui.words import t

if TYPE_CHECKING:
    from caudal.ui.services.kafka import Kafka

KEPT_SECONDS = 5.0
UNLIMITED = -1

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TopicQuery:
    """What the list shows. `sort` is a number's column of TopicRow, but for retention: asking 2,000 topics for their
    configurations takes seconds. `page` counts from 1."""

    search: str = ""
    internal: bool = False
    sort: str = "name"
    descending: bool = False
    page: int = 1
    size: int = 50


@dataclass(frozen=True, slots=True)
class TopicRow:
    """None: not known (nobody could be asked). Retention is in milliseconds, -1 for ever."""

    name: str
    partitions: int
    replicas: int
    under_replicated: int
    messages: int | None = None
    size: int | None = None
    retention: int | None = None
    cleanup: str = ""


@dataclass(frozen=True, slots=True)
class TopicPage:
    rows: list[TopicRow]
    total: int  # that match the search


def is_internal(name: str) -> bool:
    """Kafka's own begin with two underscores; those of the platform (`_schemas`, …) with one."""
    return name.startswith("_")


def matching(rows: Iterable[TopicRow], query: TopicQuery) -> list[TopicRow]:
    """Every word of the search is somewhere in the name."""
    words = query.search.casefold().split()
    return [
        row
        for row in rows
        if (query.internal or not is_internal(row.name)) and all(word in row.name.casefold() for word in words)
    ]


def ordered(rows: Iterable[TopicRow], query: TopicQuery) -> list[TopicRow]:
    """By the column, then by name; what is not known comes last in both directions."""
    by_name = sorted(rows, key=lambda row: row.name)
    if query.sort == "name":
        return by_name[::-1] if query.descending else by_name

    known = [row for row in by_name if getattr(row, query.sort) is not None]
    unknown = [row for row in by_name if getattr(row, query.sort) is None]
    return sorted(known, key=lambda row: int(getattr(row, query.sort)), reverse=query.descending) + unknown


class Topics:
    """Questions about topics; one object per process keeps what was asked for all of them."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._kept: dict[str, tuple[float, Any]] = {}

    def forget(self) -> None:
        """A topic was changed."""
        self._kept.clear()
        self._kafka.forget()

    async def page(self, query: TopicQuery) -> TopicPage:
        rows = matching(await self._rows(), query)
        if query.sort in ("messages", "size"):
            rows = await self._filled(rows, (query.sort,), keep=True)
        begin = (query.page - 1) * query.size
        shown = ordered(rows, query)[begin : begin + query.size]
        return TopicPage(await self._filled(shown, ("messages", "size", "retention")), len(rows))

    async def _rows(self) -> list[TopicRow]:
        return [
            TopicRow(
                name,
                len(topic.partitions),
                max((len(partition.replicas) for partition in topic.partitions.values()), default=0),
                sum(len(partition.isrs) < len(partition.replicas) for partition in topic.partitions.values()),
            )
            for name, topic in (await self._kafka.cluster()).topics.items()
        ]

    async def _filled(self, rows: list[TopicRow], columns: Iterable[str], keep: bool = False) -> list[TopicRow]:
        fill = {"messages": self._with_messages, "size": self._with_sizes, "retention": self._with_retention}
        for column in columns:
            if all(getattr(row, column) is None for row in rows):
                rows = await fill[column](rows, keep)
        return rows

    async def _with_messages(self, rows: list[TopicRow], keep: bool) -> list[TopicRow]:
        names = [row.name for row in rows]
        if keep:
            counts = await self._remembered("messages", self._all_counts)
            if any(name not in counts for name in names):  # made since then
                counts |= await self.message_counts(name for name in names if name not in counts)
        else:
            counts = await self.message_counts(names)
        return [replace(row, messages=counts.get(row.name)) for row in rows]

    async def _all_counts(self) -> dict[str, int]:
        return await self.message_counts((await self._kafka.cluster()).topics)

    async def _with_sizes(self, rows: list[TopicRow], keep: bool) -> list[TopicRow]:
        totals = await self._topic_sizes()
        if any(row.name not in totals for row in rows):
            totals = await self._topic_sizes(fresh=True)
        return [replace(row, size=totals.get(row.name)) for row in rows]

    async def _topic_sizes(self, fresh: bool = False) -> dict[str, int]:
        totals: dict[str, int] = {}
        for (topic, _), size in (await self.sizes(fresh) or {}).items():
            totals[topic] = totals.get(topic, 0) + size
        return totals

    async def _with_retention(self, rows: list[TopicRow], keep: bool) -> list[TopicRow]:
        found = await self._retentions([row.name for row in rows])
        return [
            replace(row, retention=found[row.name][0], cleanup=found[row.name][1]) if row.name in found else row
            for row in rows
        ]

    async def _remembered(self, name: str, ask: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        kept = self._kept.get(name)
        if kept is None or time.monotonic() - kept[0] > KEPT_SECONDS:
            kept = self._kept[name] = (time.monotonic(), await ask(*arguments))
        answer: T = kept[1]
        return answer

    async def message_counts(self, topics: Iterable[str]) -> dict[str, int]:
        """Offsets in use; compaction and transactions make them more than there are messages."""
        known = (await self._kafka.cluster()).topics
        places = [(name, index) for name in topics if name in known for index in known[name].partitions]
        first, end = await asyncio.gather(self._kafka.first_offsets(places), self._kafka.end_offsets(places))
        counts: dict[str, int] = {}
        for place in places:
            if place in first and place in end:
                counts[place[0]] = counts.get(place[0], 0) + end[place] - first[place]
        return counts

    async def sizes(self, fresh: bool = False) -> Sizes | None:
        """Bytes of every partition, of one replica each."""

        async def ask() -> Sizes | None:
            brokers = (await self._kafka.cluster()).brokers.values()
            return await partition_sizes(((broker.host, broker.port) for broker in brokers), self._kafka.config)

        if fresh:
            self._kept.pop("sizes", None)
        return await self._remembered("sizes", ask)

    async def _retentions(self, topics: list[str]) -> dict[str, tuple[int, str]]:
        from confluent_kafka.admin import ConfigResource, ResourceType

        if not topics:
            return {}
        asked = self._kafka.admin.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in topics])
        answers = await asyncio.gather(*(self._kafka.ask(one) for one in asked.values()), return_exceptions=True)
        found = {}
        for resource, answer in zip(asked, answers, strict=True):
            # A topic that has just been deleted, or that we may not describe, has a dash there.
            if isinstance(answer, dict) and "retention.ms" in answer:
                found[resource.name] = int(answer["retention.ms"].value), str(answer["cleanup.policy"].value)
        return found

    # ------------------------------------------------------------------ one topic

    async def partitions(self, topic: str) -> list[PartitionRow]:
        metadata = await self.metadata(topic)
        places = [(topic, index) for index in metadata.partitions]
        first, end, sizes = await asyncio.gather(
            self._kafka.first_offsets(places), self._kafka.end_offsets(places), self.sizes(fresh=True)
        )
        return [
            PartitionRow(
                index,
                partition.leader,
                tuple(partition.replicas),
                tuple(partition.isrs),
                first.get((topic, index)),
                end.get((topic, index)),
                None if sizes is None else sizes.get((topic, index)),
            )
            for index, partition in sorted(metadata.partitions.items())
        ]

    async def metadata(self, topic: str) -> Any:
        """Of an existing topic."""
        found = (await self._kafka.cluster()).topics.get(topic) or (await self._kafka.cluster(fresh=True)).topics.get(
            topic
        )
        if found is None or not found.partitions:
            raise UiError(t("There is no topic {topic}.", topic=topic))
        return found

    async def consumers(self, topic: str) -> list[ConsumerRow]:
        """The groups that have committed offsets of the topic."""
        from confluent_kafka import ConsumerGroupTopicPartitions

        groups = await self._kafka.groups()
        asked = [
            next(
                iter(
                    self._kafka.admin.list_consumer_group_offsets(
                        [ConsumerGroupTopicPartitions(group.group_id)]
                    ).values()
                )
            )
            for group in groups
        ]
        answers = await asyncio.gather(*(self._kafka.ask(one) for one in asked), return_exceptions=True)
        committed: dict[str, dict[int, int]] = {}
        for group, answer in zip(groups, answers, strict=True):
            if not isinstance(answer, BaseException):
                committed[group.group_id] = {
                    place.partition: place.offset
                    for place in answer.topic_partitions
                    if place.topic == topic and place.offset >= 0
                }
        indexes = {index for offsets in committed.values() for index in offsets}
        ends = await self._kafka.end_offsets((topic, index) for index in indexes)
        return [
            ConsumerRow(
                group.group_id,
                group.state.name.lower().replace("_", " ") if group.state is not None else "",
                len(offsets),
                sum(max(0, ends[topic, index] - offset) for index, offset in offsets.items() if (topic, index) in ends),
            )
            for group in groups
            if (offsets := committed.get(group.group_id))
        ]


@dataclass(frozen=True, slots=True)
class PartitionRow:
    index: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    first: int | None
    end: int | None
    size: int | None


@dataclass(frozen=True, slots=True)
class ConsumerRow:
    group: str
    state: str
    partitions: int
    lag: int
