"""What the framework gives to connectors and tasks, for tests that call them one by one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from caudal.connect.connector import OffsetReader, SinkTask, SourceConnector
from caudal.connect.records import SinkRecord, SourceRecord, TopicPartition


class SinkSide:
    """A SinkContext. Errors are collected, or raised when none are tolerated."""

    def __init__(self, config: Mapping[str, str], tolerates: bool = True) -> None:
        self.config = config
        self.stopping = threading.Event()
        self.reported: list[tuple[SinkRecord, Exception]] = []
        self.waits: list[float] = []
        self.positions: dict[TopicPartition, int] = {}
        self._tolerates = tolerates

    def assignment(self) -> set[TopicPartition]:
        return set()

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.positions.update(offsets)

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
    """The offsets of committed records, through JSON as in the offsets topic."""

    def __init__(self) -> None:
        self._stored: dict[str, str] = {}

    def commit(self, records: Iterable[SourceRecord]) -> None:
        for record in records:
            self.store(record.partition, record.offset)

    def store(self, partition: Mapping[str, Any], offset: Mapping[str, Any]) -> None:
        self._stored[json.dumps(dict(partition), sort_keys=True)] = json.dumps(dict(offset))

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        found = self._stored.get(json.dumps(dict(partition), sort_keys=True))
        return None if found is None else json.loads(found)

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        return [self.offset(each) for each in partitions]


class SourceSide:
    """A SourceContext. Errors are collected, or raised when none are tolerated."""

    def __init__(self, config: Mapping[str, str], offsets: Offsets, tolerates: bool = True) -> None:
        self.config = config
        self.stopping = threading.Event()
        self.offsets: OffsetReader = offsets
        self.reported: list[Exception] = []
        self._tolerates = tolerates

    def report_error(self, record: SourceRecord | None, error: Exception) -> None:
        if not self._tolerates:
            raise error
        self.reported.append(error)


class ConnectorSide:
    """A ConnectorContext."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self.config = config
        self.reconfigured = threading.Event()

    def request_task_reconfiguration(self) -> None:
        self.reconfigured.set()

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
        task: Any = connector.task()
        task.context = side = SourceSide(given, offsets if offsets is not None else Offsets())
        task.start(connector.config().parse(given))
        running.append((task, side))
    return running


class SourceRun:
    """A source with one task, run by hand. `again()` is a restart: from the stored offsets."""

    def __init__(
        self,
        connector: type[SourceConnector],
        given: Mapping[str, str],
        offsets: Offsets | None = None,
        tolerates: bool = False,
    ) -> None:
        self._given = given
        self._tolerates = tolerates
        self.offsets = offsets or Offsets()
        self.connector = connector()
        self.connector.name = "source"
        self.connector.context = ConnectorSide(given)
        self.connector.start(self.connector.config().parse(given))
        (config,) = self.connector.task_configs(1)
        self.context = SourceSide(config, self.offsets, tolerates)
        self.task: Any = connector.task()
        self.task.context = self.context
        self.task.start(connector.config().parse(config))

    def poll(self, commit: bool = True) -> list[SourceRecord]:
        records = list(self.task.poll() or ())
        if commit:
            self.offsets.commit(records)
            self.task.commit()
        return records

    def read(self, count: int, polls: int = 2000) -> list[SourceRecord]:
        """Polls until there are so many records."""
        found: list[SourceRecord] = []
        for _ in range(polls):
            if len(found) >= count:
                return found
            found += self.poll()
        raise AssertionError(f"{len(found)} of {count} records came: {found[-3:]}")

    def idle(self, polls: int = 3) -> list[SourceRecord]:
        """What comes although nothing should."""
        return [record for _ in range(polls) for record in self.poll()]

    def again(self) -> SourceRun:
        self.stop()
        return SourceRun(type(self.connector), self._given, self.offsets, self._tolerates)

    def stop(self) -> None:
        self.task.stop()
        self.connector.stop()
