"""What the framework gives to connectors and tasks, for tests that call them one by one."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from caudal.connect.connector import OffsetReader, SinkTask, SourceConnector, SourceTask
from caudal.connect.records import SinkRecord, SourceRecord, TopicPartition


class SinkSide:
    """A SinkContext. Errors are collected, or raised when none are tolerated."""

    def __init__(self, config: Mapping[str, str], tolerates: bool = True) -> None:
        self.config = config
        self.stopping = threading.Event()
        self.reported: list[tuple[SinkRecord, Exception]] = []
        self.waits: list[float] = []
        self._tolerates = tolerates

    def assignment(self) -> set[TopicPartition]:
        raise NotImplementedError

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        raise NotImplementedError

    def pause(self, *partitions: TopicPartition) -> None: ...

    def resume(self, *partitions: TopicPartition) -> None: ...

    def request_commit(self) -> None: ...

    def retry_after(self, seconds: float) -> None:
        self.waits.append(seconds)

    def report_error(self, record: SinkRecord, error: Exception) -> None:
        if not self._tolerates:
            raise error
        self.reported.append((record, error))


class Offsets:
    def __init__(self) -> None:
        self.stored: list[tuple[Mapping[str, Any], dict[str, Any]]] = []

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return next((offset for known, offset in reversed(self.stored) if known == partition), None)

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        return [self.offset(each) for each in partitions]

    def commit(self, records: Iterable[SourceRecord]) -> None:
        self.stored += [(record.partition, dict(record.offset)) for record in records]


class SourceSide:
    """A SourceContext."""

    def __init__(self, config: Mapping[str, str], offsets: Offsets) -> None:
        self.config = config
        self.stopping = threading.Event()
        self.offsets: OffsetReader = offsets
        self.reported: list[Exception] = []

    def report_error(self, record: SourceRecord | None, error: Exception) -> None:
        self.reported.append(error)


class ConnectorSide:
    """A ConnectorContext."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self.config = config

    def request_task_reconfiguration(self) -> None: ...

    def raise_error(self, error: Exception) -> None:
        raise error


def start_sink(
    connector: Any, config: Mapping[str, str], partitions: Iterable[TopicPartition] = (), tolerates: bool = True
) -> tuple[Any, SinkSide]:
    task: SinkTask = connector.task()
    task.context = side = SinkSide(config, tolerates)
    task.start(connector.config().parse(config))
    task.open(set(partitions))
    return task, side


def start_source(
    connector: type[SourceConnector], config: Mapping[str, str], offsets: Offsets | None = None
) -> tuple[Any, SourceSide]:
    """The first of the connector's tasks, as the connector configures it."""
    return start_sources(connector, {**config, "tasks.max": "1"}, offsets)[0]


def start_sources(
    connector: type[SourceConnector], config: Mapping[str, str], offsets: Offsets | None = None
) -> list[tuple[Any, SourceSide]]:
    made = connector()
    made.name = "test"
    made.context = ConnectorSide(config)
    made.start(connector.config().parse(config))
    running = []
    for given in made.task_configs(int(config.get("tasks.max", "1"))):
        task: SourceTask = connector.task()
        task.context = side = SourceSide(given, offsets if offsets is not None else Offsets())
        task.start(connector.config().parse(given))
        running.append((task, side))
    return running
