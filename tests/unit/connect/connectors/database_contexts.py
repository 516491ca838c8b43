"""Contexts that stand in for the framework, so that connectors' tasks can be run by hand."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from caudal.connect.connector import OffsetReader, SourceConnector, SourceTask
from caudal.connect.records import SinkRecord, SourceRecord, TopicPartition


class StoredOffsets:
    """The offsets of committed records, through JSON as in the offsets topic."""

    def __init__(self) -> None:
        self._stored: dict[str, str] = {}

    def store(self, records: Iterable[SourceRecord]) -> None:
        for record in records:
            self._stored[json.dumps(dict(record.partition), sort_keys=True)] = json.dumps(dict(record.offset))

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        found = self._stored.get(json.dumps(dict(partition), sort_keys=True))
        return None if found is None else json.loads(found)

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        return [self.offset(partition) for partition in partitions]


class FakeSourceContext:
    offsets: OffsetReader

    def __init__(self, config: Mapping[str, str], offsets: StoredOffsets, tolerant: bool = False) -> None:
        self.config = config
        self.offsets = offsets
        self.stopping = threading.Event()
        self.errors: list[Exception] = []
        self._tolerant = tolerant

    def report_error(self, record: SourceRecord | None, error: Exception) -> None:
        if not self._tolerant:
            raise error
        self.errors.append(error)


class FakeSinkContext:
    def __init__(self, config: Mapping[str, str], tolerant: bool = False) -> None:
        self.config = config
        self.stopping = threading.Event()
        self.errors: list[tuple[SinkRecord, Exception]] = []
        self.positions: dict[TopicPartition, int] = {}
        self._tolerant = tolerant

    def assignment(self) -> set[TopicPartition]:
        return set()

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.positions.update(offsets)

    def pause(self, *partitions: TopicPartition) -> None: ...

    def resume(self, *partitions: TopicPartition) -> None: ...

    def request_commit(self) -> None: ...

    def retry_after(self, seconds: float) -> None: ...

    def report_error(self, record: SinkRecord, error: Exception) -> None:
        if not self._tolerant:
            raise error
        self.errors.append((record, error))


class FakeConnectorContext:
    def __init__(self) -> None:
        self.reconfigured = threading.Event()
        self.failures: list[Exception] = []

    def request_task_reconfiguration(self) -> None:
        self.reconfigured.set()

    def raise_error(self, error: Exception) -> None:
        self.failures.append(error)


class SourceRun:
    """A source with one task, run by hand. `again()` is a restart: from the stored offsets."""

    def __init__(
        self,
        connector: type[SourceConnector],
        given: Mapping[str, str],
        offsets: StoredOffsets | None = None,
        tolerant: bool = False,
    ) -> None:
        self._given = given
        self._tolerant = tolerant
        self.offsets = offsets or StoredOffsets()
        self.connector = connector()
        self.connector.name = "source"
        self.connector.context = FakeConnectorContext()
        self.connector.start(self.connector.config().parse(given))
        (config,) = self.connector.task_configs(1)
        self.context = FakeSourceContext(config, self.offsets, tolerant)
        self.task: SourceTask = connector.task()
        self.task.context = self.context
        self.task.start(connector.config().parse(config))

    def poll(self, commit: bool = True) -> list[SourceRecord]:
        records = list(self.task.poll() or ())
        if commit:
            self.offsets.store(records)
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
        return SourceRun(type(self.connector), self._given, self.offsets, self._tolerant)

    def stop(self) -> None:
        self.task.stop()
        self.connector.stop()
