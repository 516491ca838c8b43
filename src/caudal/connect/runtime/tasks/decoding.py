"""From what a consumer has read to the records that a sink task is given: decoded, transformed, batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from confluent_kafka import KafkaError

from caudal.connect.columns import ColumnRun
from caudal.connect.converter import Decoded
from caudal.connect.errors import ConnectError
from caudal.connect.records import Header, SinkRecord, TopicPartition
from caudal.connect.runtime.tasks.assembly import Parts
from caudal.connect.runtime.tasks.error_policy import SKIPPED, ErrorPolicy, Failure, Stage, log

_TIMESTAMP_TYPES = ("NoTimestampType", "CreateTime", "LogAppendTime")
# What the client reports and mends by itself.
_PASSING = {
    KafkaError._PARTITION_EOF,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TRANSPORT,
    KafkaError._RESOLVE,
    KafkaError._MAX_POLL_EXCEEDED,
    KafkaError._TIMED_OUT,
}
_MISSING = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}


@dataclass(slots=True)
class DeliveredRecord(SinkRecord):
    """With what was read from the topic: the bytes go to the dead-letter topic if the task reports the record.
    Copies that are made by `replace` have it too."""

    message: Any = field(default=None, repr=False, compare=False)


@dataclass(slots=True)
class Batch:
    records: list[SinkRecord] = field(default_factory=list)
    read: int = 0
    firsts: dict[TopicPartition, int] = field(default_factory=dict)  # the lowest offset read
    ends: dict[TopicPartition, int] = field(default_factory=dict)  # behind the last offset read
    topics: set[str] = field(default_factory=set)
    runs: list[ColumnRun] = field(default_factory=list)  # in the place of records: the quick way
    came_too_late: bool = False  # max.poll.interval.ms was exceeded: the partitions are another's by now

    def without(self, gone: set[TopicPartition]) -> Batch:
        """What is left when partitions have gone to another."""
        kept = [one for one in self.records if _origin(one) not in gone]
        ends = {place: end for place, end in self.ends.items() if place not in gone}
        runs = [run for run in self.runs if run.place not in gone]
        return Batch(kept, self.read, self.firsts, ends, self.topics, runs)

    @property
    def size(self) -> int:
        return len(self.records) + sum(map(len, self.runs))


def is_too_late(error: Any) -> bool:
    return bool(error.code() == KafkaError._MAX_POLL_EXCEEDED)


def _origin(record: SinkRecord) -> tuple[str, int]:
    return record.original[:2] if record.original is not None else (record.topic, record.partition)


class Decoder:
    def __init__(self, parts: Parts, errors: ErrorPolicy) -> None:
        self._parts = parts
        self._errors = errors
        self._warned: set[str] = set()

    def decode(self, messages: list[Any]) -> Batch:
        """Records that fail and are tolerated, or are dropped by a transform, are passed over: `ends` counts them."""
        batch = Batch()
        if not messages:
            return batch
        parts, records = self._parts, batch.records
        decode_key, decode_value, transform = parts.key.decode, parts.value.decode, parts.transform
        topic, partition, end = "", -1, -1
        types = _TIMESTAMP_TYPES
        for message in messages:
            if (report := message.error()) is not None:
                batch.came_too_late = batch.came_too_late or is_too_late(report)
                self._client_error(report)
                continue
            offset = message.offset()
            if message.partition() != partition or message.topic() != topic:
                if end >= 0:
                    batch.ends[TopicPartition(topic, partition)] = end
                topic, partition = message.topic(), message.partition()
                batch.firsts.setdefault(TopicPartition(topic, partition), offset)
                batch.topics.add(topic)
            end = offset + 1
            batch.read += 1
            try:
                key_schema, key = decode_key(topic, message.key())
            except Exception as error:
                recovered = self._recover(Stage.KEY_CONVERTER, parts.key, error, message, decode_key, message.key())
                if recovered is SKIPPED:
                    continue
                key_schema, key = recovered
            try:
                value_schema, value = decode_value(topic, message.value())
            except Exception as error:
                recovered = self._recover(
                    Stage.VALUE_CONVERTER, parts.value, error, message, decode_value, message.value()
                )
                if recovered is SKIPPED:
                    continue
                value_schema, value = recovered
            headers: Any = ()
            if (given := message.headers()) is not None:
                headers = self._headers(topic, given, message)
                if headers is SKIPPED:
                    continue
            kind, timestamp = message.timestamp()
            record: Any = DeliveredRecord(
                topic, partition, offset, value, value_schema, key, key_schema,
                timestamp if kind else None, types[kind], headers, None, message,
            )  # fmt: skip
            if transform is not None:
                record = self._transform(transform, record, message)
                if record is None:
                    continue
            records.append(record)
        if end >= 0:
            batch.ends[TopicPartition(topic, partition)] = end
        return batch

    def _recover(
        self, stage: Stage, executing: Any, error: Exception, message: Any, decode: Callable[..., Decoded], data: Any
    ) -> Any:
        again = partial(decode, message.topic(), data)
        return self._errors.recover(Failure(stage, _class_name(executing), error, message), again)

    def _headers(self, topic: str, given: list[tuple[str, bytes | None]], message: Any) -> Any:
        decode = self._parts.header.decode

        def decoded() -> tuple[Header, ...]:
            found = []
            for name, data in given:
                schema, value = decode(topic, data)
                found.append(Header(name, value, schema))
            return tuple(found)

        try:
            return decoded()
        except Exception as error:
            executing = _class_name(self._parts.header)
            return self._errors.recover(Failure(Stage.HEADER_CONVERTER, executing, error, message), decoded)

    def _transform(self, transform: Callable[[Any], Any], record: DeliveredRecord, message: Any) -> Any:
        try:
            changed = transform(record)
        except Exception as error:
            failure = Failure(Stage.TRANSFORMATION, self._parts.failed_transform(), error, message)
            changed = self._errors.recover(failure, partial(transform, record))
        if changed is None or changed is SKIPPED:
            return None
        if changed is record:
            return record
        if type(changed) is not DeliveredRecord:  # a transform that made a plain record
            changed = DeliveredRecord(
                changed.topic, changed.partition, changed.offset, changed.value, changed.value_schema, changed.key,
                changed.key_schema, changed.timestamp, changed.timestamp_type, changed.headers,
            )  # fmt: skip
        changed.message = message
        if changed.topic != record.topic or changed.partition != record.partition:
            changed.original = (record.topic, record.partition, record.offset)
        return changed

    def _client_error(self, error: Any) -> None:
        if error.code() in _MISSING:
            if error.str() not in self._warned:
                self._warned.add(error.str())
                log.warning("A topic that the sink is to read is not there (yet): %s", error.str())
        elif error.fatal() or not (error.code() in _PASSING or error.retriable()):
            raise ConnectError(f"The sink's topics cannot be read: {error.str()}.")


def _class_name(executing: Any) -> str:
    kind = type(executing)
    return f"{kind.__module__}.{kind.__qualname__}"
