"""The records between a connector and its topics. Transforms make new ones (`replace`), and never change one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from caudal.connect.data import Schema


class Header(NamedTuple):
    key: str
    value: Any
    schema: Schema | None = None


Headers = tuple[Header, ...]


@dataclass(slots=True)
class SourceRecord:
    """What a source task has read. `partition` names the thing it was read from (a file, a table), `offset` where to go
    on after this record; both are JSON objects. `kafka_partition` of None leaves the choice to the producer."""

    partition: Mapping[str, Any]
    offset: Mapping[str, Any]
    topic: str
    value: Any = None
    value_schema: Schema | None = None
    key: Any = None
    key_schema: Schema | None = None
    kafka_partition: int | None = None
    timestamp: int | None = None  # milliseconds; None is now
    headers: Headers = ()


@dataclass(slots=True)
class SinkRecord:
    """What a sink task is to write. topic, partition and offset are those of the transformed record, `original` where
    it lies: sinks that keep offsets (exactly once) keep those of `original`."""

    topic: str
    partition: int
    offset: int
    value: Any = None
    value_schema: Schema | None = None
    key: Any = None
    key_schema: Schema | None = None
    timestamp: int | None = None
    timestamp_type: str = "CreateTime"  # or LogAppendTime, NoTimestampType
    headers: Headers = ()
    original: tuple[str, int, int] | None = None  # set by the framework when a transform changed the topic


Record = SourceRecord | SinkRecord


class TopicPartition(NamedTuple):
    topic: str
    partition: int


class RecordMetadata(NamedTuple):
    """Where an acknowledged record lies."""

    topic: str
    partition: int
    offset: int
