"""Creates, changes, empties, clones and deletes topics.

Input is checked before it is sent, so that what is wrong can be said beside its field; what only the broker knows, it
says.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from caudal.broker.config.definition import ConfigDef, ConfigError, did_you_mean
from caudal.broker.config.topic_table import TOPIC_DEFS
from caudal.ui.services.errors import UiError
from caudal.ui.services.message_query import QueryError
from caudal.ui.services.messages import bounds, in_thread, partitions_of
from caudal.ui.services.scanning import CONSUMER_PROPERTIES, SILENCE_SECONDS, BrokerSilent, Span
from caudal.ui.words import t

if TYPE_CHECKING:
    from confluent_kafka.admin import ConfigEntry

    from caudal.ui.services.kafka import Kafka

LONGEST_NAME = 249
MOST_PARTITIONS = 10_000
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_TOPIC_CONFIG = 1  # the source of a configuration that was set on the topic, in the protocol's numbers
_SOURCES = {1: "topic", 2: "broker", 3: "cluster", 4: "broker file", 5: "default", 6: "default"}


@dataclass(frozen=True, slots=True)
class NewTopicForm:
    """As typed; empty numbers ask for the broker's defaults."""

    name: str = ""
    partitions: str = ""
    replicas: str = ""
    configs: Mapping[str, str] = field(default_factory=dict)

    def problems(self) -> dict[str, str]:
        """Sentences by field."""
        found = {"name": name_problem(self.name)}
        found["partitions"] = number_problem(self.partitions, MOST_PARTITIONS)
        found["replicas"] = number_problem(self.replicas, 32767)
        for name, value in self.configs.items():
            found[name] = config_problem(name, value)
        return {where: sentence for where, sentence in found.items() if sentence}


def name_problem(name: str) -> str:
    """Why a topic cannot have this name; empty where it can."""
    if not name:
        return t("A topic needs a name.")
    if name in (".", ".."):
        return t("A topic cannot be called '{name}'.", name=name)
    if len(name) > LONGEST_NAME:
        return t("A name has at most {most} characters; this one has {count}.", most=LONGEST_NAME, count=len(name))
    if not _NAME.fullmatch(name):
        wrong = next(sign for sign in name if not _NAME.fullmatch(sign))
        shown = t("a space") if wrong == " " else f"'{wrong}'"
        return t("A name has letters, digits, '.', '_' and '-', but not {sign}.", sign=shown)
    return ""


def number_problem(text: str, most: int) -> str:
    if not text.strip():
        return ""
    if not (text.strip().isascii() and text.strip().isdigit()) or not 1 <= int(text) <= most:
        return t("Give a whole number from 1 to {most}.", most=most)
    return ""


def config_problem(name: str, value: str) -> str:
    """Checked by the same table that the broker has. What is not in it (another broker's own) the broker checks."""
    definition = TOPIC_DEFS.get(name)
    if definition is None:
        return ""
    try:
        definition.parse(value)
    except ConfigError as error:
        return str(error).partition(": ")[2] or str(error)
    return ""


def unknown_config(name: str) -> str:
    """A hint for a name that no broker of ours knows; empty for known ones."""
    if name in TOPIC_DEFS:
        return ""
    return t("There is no such setting.") + did_you_mean(name, TOPIC_DEFS)


@dataclass(frozen=True, slots=True)
class ConfigRow:
    """`default` is what the topic has without its own value, as far as the broker says."""

    name: str
    value: str
    source: str
    is_set: bool
    default: str | None
    documentation: str
    read_only: bool
    sensitive: bool


def config_rows(entries: Mapping[str, ConfigEntry]) -> list[ConfigRow]:
    """Those that were set first, then by name."""
    rows = []
    for name, entry in entries.items():
        definition = TOPIC_DEFS.get(name)
        source = int(entry.source)
        rows.append(
            ConfigRow(
                name=name,
                value="" if entry.value is None else str(entry.value),
                source=_SOURCES.get(source, "default"),
                is_set=source == _TOPIC_CONFIG,
                default=_inherited(entry, definition),
                documentation=definition.documentation if definition else "",
                read_only=bool(entry.is_read_only),
                sensitive=bool(entry.is_sensitive),
            )
        )
    return sorted(rows, key=lambda row: (not row.is_set, row.name))


def _inherited(entry: ConfigEntry, definition: ConfigDef | None) -> str | None:
    """What would be in force without the topic's own value. Broker properties may be in another unit (hours)."""
    factors = dict(definition.synonyms) if definition else {}
    for name, synonym in (entry.synonyms or {}).items():
        if int(synonym.source) != _TOPIC_CONFIG and synonym.value is not None:
            factor = factors.get(name, 1)
            return str(synonym.value) if factor == 1 else str(int(synonym.value) * factor)
    return definition.format(definition.default) if definition else None


async def create(kafka: Kafka, form: NewTopicForm) -> None:
    """QueryError beside the name when it is taken, UiError for everything else that the broker says."""
    from confluent_kafka import KafkaError
    from confluent_kafka.admin import NewTopic

    # -1 asks the broker for its own default of either number.
    new = NewTopic(form.name, int(form.partitions or -1), int(form.replicas or -1), config=dict(form.configs))
    try:
        await kafka.ask_all(kafka.admin.create_topics([new]))
    except UiError as error:
        if error.code in (KafkaError.TOPIC_ALREADY_EXISTS, KafkaError.TOPIC_EXCEPTION):
            raise QueryError("name", error.message) from None
        if error.code == KafkaError.INVALID_REPLICATION_FACTOR:
            raise QueryError("replicas", error.message) from None
        raise
    finally:
        kafka.forget()


async def change_config(kafka: Kafka, topic: str, name: str, value: str | None) -> None:
    """None: back to the default."""
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    entry = ConfigEntry(name, value, incremental_operation=operation)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    await kafka.ask_all(kafka.admin.incremental_alter_configs([resource]))


async def add_partitions(kafka: Kafka, topic: str, total: int) -> None:
    from confluent_kafka.admin import NewPartitions

    await kafka.ask_all(kafka.admin.create_partitions([NewPartitions(topic, total)]))
    kafka.forget()


async def empty(kafka: Kafka, topic: str) -> int:
    """Deletes all records that are there now; how many offsets that were."""
    from confluent_kafka import TopicPartition

    spans = await bounds(kafka, topic, await partitions_of(kafka, topic))
    await kafka.ask_all(
        kafka.admin.delete_records([TopicPartition(topic, one, span.high) for one, span in spans.items()])
    )
    return sum(span.high - span.low for span in spans.values())


async def delete(kafka: Kafka, topic: str) -> None:
    await kafka.ask_all(kafka.admin.delete_topics([topic]))
    kafka.forget()


# ---------------------------------------------------------------------- cloning


async def clone_form(kafka: Kafka, topic: str, name: str) -> NewTopicForm:
    """A topic like this one: as many partitions and replicas, and what was set on it."""
    metadata = (await kafka.cluster(fresh=True)).topics.get(topic)
    if metadata is None:
        raise UiError(t("There is no topic {topic}.", topic=topic))
    replicas = max(len(partition.replicas) for partition in metadata.partitions.values())
    rows = config_rows(await kafka.topic_configs(topic))
    return NewTopicForm(
        name, str(len(metadata.partitions)), str(replicas), {row.name: row.value for row in rows if row.is_set}
    )


class Copying:
    """Records of one topic written to another: same partition, key, value, headers and timestamp, in order. Offsets and
    transactions are not kept."""

    def __init__(self, kafka: Kafka, source: str, target: str) -> None:
        self._kafka = kafka
        self._source = source
        self._target = target
        self._cancelled = False
        self.copied = 0
        self.total = 0

    def cancel(self) -> None:
        self._cancelled = True

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled

    async def run(self) -> None:
        spans = await bounds(self._kafka, self._source, await partitions_of(self._kafka, self._source))
        self.total = sum(span.high - span.low for span in spans.values())
        await in_thread(self._kafka, self._copy, {one: span for one, span in spans.items() if span.high > span.low})

    def _copy(self, spans: dict[int, Span]) -> None:
        from confluent_kafka import Consumer, KafkaException, TopicPartition

        consumer = Consumer({**self._kafka.config, **CONSUMER_PROPERTIES})
        producer = self._kafka.producer(linger_ms=20, enable_idempotence=True)
        failures: list[Any] = []

        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                failures.append(error)

        try:
            consumer.assign([TopicPartition(self._source, one, span.low) for one, span in spans.items()])
            waiting = {one: span.high for one, span in spans.items()}
            while waiting and not self._cancelled and not failures:
                first = consumer.poll(SILENCE_SECONDS)
                if first is None:
                    raise BrokerSilent
                for message in (first, *consumer.consume(1000, 0)):
                    self._copy_one(message, waiting, lambda **record: _queue(producer, delivered, record))
                producer.poll(0)
            producer.flush(SILENCE_SECONDS)
            if failures:
                raise KafkaException(failures[0])
        finally:
            consumer.close()

    def _copy_one(self, message: Any, waiting: dict[int, int], write: Callable[..., None]) -> None:
        from confluent_kafka import KafkaError, KafkaException

        error, partition = message.error(), message.partition()
        if error is not None:
            if error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            waiting.pop(partition, None)
            return
        end = waiting.get(partition)
        if end is None:
            return
        if message.offset() < end:
            kind, timestamp = message.timestamp()
            moment = {"timestamp": timestamp} if kind else {}
            write(
                topic=self._target,
                value=message.value(),
                key=message.key(),
                headers=message.headers() or [],
                partition=partition,
                **moment,
            )
            self.copied += 1
        if message.offset() >= end - 1:
            del waiting[partition]


def _queue(producer: Any, delivered: Callable[[Any, Any], None], record: dict[str, Any]) -> None:
    while True:
        try:
            producer.produce(**record, on_delivery=delivered)
            return
        except BufferError:
            producer.poll(0.5)


async def clone(kafka: Kafka, topic: str, form: NewTopicForm, with_data: bool) -> Copying | None:
    """The new topic; with data, a copying that is under way as soon as it is run."""
    await create(kafka, form)
    if not with_data:
        return None
    # The new topic's leaders may take a moment to be known.
    for _ in range(20):
        found = (await kafka.cluster(fresh=True)).topics.get(form.name)
        if found is not None and all(one.leader >= 0 for one in found.partitions.values()) and found.partitions:
            break
        await asyncio.sleep(0.1)
    return Copying(kafka, topic, form.name)
