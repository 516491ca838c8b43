"""Messages of a topic as pages ask for them: a search that is read page by page, one message, what can be exported.

The reading itself is in `scanning.py`, following a topic in `tailing.py`, writing to it in `producing.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

from caudal.ui.services.decoding import Message, Readings, record_of
from caudal.ui.services.errors import UiError
from caudal.ui.services.filters import FilterError, Matching
from caudal.ui.services.message_query import OFFSET, TIME, Query, QueryError
from caudal.ui.services.scanning import CONSUMER_PROPERTIES, SILENCE_SECONDS, BrokerSilent, Scan, Span
from caudal.ui.services.schema_reading import SchemaReading
from caudal.ui.services.tailing import Tail
from caudal.ui.words import t

if TYPE_CHECKING:
    from confluent_kafka import Consumer

    from caudal.ui.services.kafka import Kafka

T = TypeVar("T")

# What one step of a search may cost; the visitor then decides whether to go on.
STEP_RECORDS = 200_000
STEP_SECONDS = 8.0
MOST_EXPORTED = 1_000_000
# Searches compute: more than a few at once would only take turns.
_threads = ThreadPoolExecutor(4, thread_name_prefix="messages")


class Search:
    """One search over a topic. Made by `begin`; `more` reads, `close` ends it. The consumer lives as long as a step."""

    def __init__(self, kafka: Kafka, topic: str, scan: Scan, consumer: Consumer, matching: Matching | None) -> None:
        self._kafka = kafka
        self._consumer = consumer
        self.topic = topic
        self.scan = scan
        self.matching = matching

    async def more(self, count: int) -> list[Message]:
        """Up to `count` further matches, or what one step found."""
        return await in_thread(self._kafka, self._step, count)

    def _step(self, count: int) -> list[Message]:
        found = self.scan.read(count, most=STEP_RECORDS, seconds=STEP_SECONDS)
        for message in found:
            # Read here and not when shown: a schema may have to be asked for.
            _ = message.key, message.value
        return found

    def every(self, most: int) -> Iterator[Message]:
        """All matches, for a thread that writes them somewhere. Closes the search."""
        try:
            yield from self.scan.every(most)
        finally:
            self._consumer.close()

    async def close(self) -> None:
        self.scan.cancel()
        await asyncio.get_running_loop().run_in_executor(_threads, self._consumer.close)


async def begin(kafka: Kafka, registry: str | None, topic: str, query: Query) -> Search:
    """QueryError for wrong input, UiError when the broker does not do it."""
    matching = _compiled(query)
    spans = await _spans(kafka, topic, query)
    consumer = await kafka.call(_consumer, kafka)
    scan = Scan(
        consumer,
        topic,
        spans,
        backward=query.is_backward,
        matches=matching,
        schemas=SchemaReading(registry),
        readings=query.readings,
    )
    return Search(kafka, topic, scan, consumer, matching)


def _compiled(query: Query) -> Matching | None:
    try:
        return None if query.filter.is_empty else query.filter.compiled()
    except FilterError as error:
        where = "" if error.position is None else t("Character {position}:", position=error.position) + " "
        raise QueryError("where", f"{where}{error.message}") from None


async def partitions_of(kafka: Kafka, topic: str) -> list[int]:
    found = (await kafka.cluster()).topics.get(topic) or (await kafka.cluster(fresh=True)).topics.get(topic)
    if found is None or not found.partitions:
        raise UiError(t("There is no topic {topic}.", topic=topic))
    return sorted(found.partitions)


async def bounds(kafka: Kafka, topic: str, partitions: list[int]) -> dict[int, Span]:
    """The first and the next offset of each partition; one whose leader is away is left out."""
    places = [(topic, one) for one in partitions]
    first, end = await asyncio.gather(kafka.first_offsets(places), kafka.end_offsets(places))
    if places and not end:
        raise kafka.silent()
    return {
        one: Span(first[topic, one], end[topic, one])
        for one in partitions
        if (topic, one) in end and (topic, one) in first
    }


async def _spans(kafka: Kafka, topic: str, query: Query) -> dict[int, Span]:
    existing = await partitions_of(kafka, topic)
    for one in query.partitions:
        if one not in existing:
            raise QueryError("partition", t("The last partition is {last}.", last=existing[-1]))
    limits = await bounds(kafka, topic, list(query.partitions) or existing)
    if query.cursor is not None:
        # A partition that is new since then has everything before it.
        cursor = query.cursor
        if query.is_backward:
            return {one: Span(span.low, min(span.high, cursor.get(one, span.high))) for one, span in limits.items()}
        return {one: Span(max(span.low, cursor.get(one, span.low)), span.high) for one, span in limits.items()}
    if query.start == OFFSET:
        return _from_offset(limits, query.start_offset)
    if query.start == TIME:
        return await _from_time(kafka, topic, limits, query.start_ms)
    return limits


def _from_offset(limits: dict[int, Span], offset: int) -> dict[int, Span]:
    if limits and not any(span.low <= offset <= span.high for span in limits.values()):
        low, high = min(span.low for span in limits.values()), max(span.high for span in limits.values())
        raise QueryError("offset", t("There are offsets from {low} to {high}.", low=low, high=high))
    return {one: Span(min(max(span.low, offset), span.high), span.high) for one, span in limits.items()}


async def _from_time(kafka: Kafka, topic: str, limits: dict[int, Span], moment: int) -> dict[int, Span]:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    found = await kafka.offsets({TopicPartition(topic, one): OffsetSpec.for_timestamp(moment) for one in limits})
    # -1: nothing is that late.
    starts = {one: found.get((topic, one), -1) for one in limits}
    return {one: Span(span.high if starts[one] < 0 else starts[one], span.high) for one, span in limits.items()}


async def follow(kafka: Kafka, registry: str | None, topic: str, query: Query) -> Tail:
    """What comes from now on; the tail runs until it is stopped."""
    matching = _compiled(query)
    existing = await partitions_of(kafka, topic)
    spans = await bounds(kafka, topic, list(query.partitions) or existing)
    tail = Tail(
        lambda: _consumer(kafka),
        topic,
        {one: span.high for one, span in spans.items()},
        matches=matching,
        schemas=SchemaReading(registry),
        readings=query.readings,
    )
    tail.start()
    return tail


async def one_message(
    kafka: Kafka, registry: str | None, topic: str, partition: int, offset: int, readings: Readings
) -> Message:
    """UiError where there is none: removed by retention or compaction, or not written yet."""
    limits = await bounds(kafka, topic, [partition])
    span = limits.get(partition)
    gone = UiError(
        t(
            "Partition {partition} of {topic} has no message at offset {offset}.",
            partition=partition,
            topic=topic,
            offset=offset,
        )
    )
    if span is None or not span.low <= offset < span.high:
        raise gone
    found = await in_thread(kafka, _read_one, kafka, registry, topic, partition, offset, readings)
    if found is None:
        raise gone
    return found


def _read_one(
    kafka: Kafka, registry: str | None, topic: str, partition: int, offset: int, readings: Readings
) -> Message | None:
    from confluent_kafka import KafkaError, KafkaException, TopicPartition

    with closing(_consumer(kafka)) as consumer:
        consumer.assign([TopicPartition(topic, partition, offset)])
        answer = consumer.poll(SILENCE_SECONDS)
        if answer is None:
            raise BrokerSilent
        error = answer.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                return None
            raise KafkaException(error)
        if answer.offset() != offset:
            return None
        message = Message(record_of(answer), SchemaReading(registry), readings)
        _ = message.key, message.value
        return message


def _consumer(kafka: Kafka) -> Consumer:
    from confluent_kafka import Consumer

    return Consumer({**kafka.config, **CONSUMER_PROPERTIES})


async def in_thread(kafka: Kafka, function: Callable[..., T], *arguments: Any) -> T:
    """A long blocking function in a thread of the messages' own, so that the rest of the pages is not held up."""
    from confluent_kafka import KafkaException

    try:
        return await asyncio.get_running_loop().run_in_executor(_threads, function, *arguments)
    except KafkaException as error:
        raise kafka.explain(error) from None
    except BrokerSilent:
        raise kafka.silent() from None
