"""A connector in a test, without a broker: its tasks are run in this process, against plain lists.

    records = run_source(LinesSource, {"file": "lines.txt", "topic": "lines"})
    again = run_source(LinesSource, config, after=records)             # goes on where those records end
    failed = run_sink(LinesSink, {"file": "out.txt"}, ["a", "b"])      # what the task has reported with report_error

They do what a worker does, in its order: check the configuration, start the connector, ask for its tasks, start them,
poll or put, commit, stop. Not here: converters, transforms, retries and the asking for new tasks; for those, a worker
and `embedded_broker`.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from caudal.connect.connector import Connector, OffsetReader, SinkConnector, SinkTask, SourceConnector, SourceTask
from caudal.connect.errors import ConfigError
from caudal.connect.records import RecordMetadata, SinkRecord, SourceRecord, TopicPartition

C = TypeVar("C", bound=Connector)


class Reported(NamedTuple):
    """What a task could not read or write, and why."""

    record: Any
    error: Exception


def run_source(
    connector: type[SourceConnector],
    config: Mapping[str, str],
    *,
    after: Iterable[SourceRecord] = (),
    most: int | None = None,
    tasks: int = 1,
    reported: list[Reported] | None = None,
) -> list[SourceRecord]:
    """The records of all tasks, one task after the other, each until a `poll` brings nothing or `most` are there.

    With `reported`, records that cannot be read are noted in it; without, they raise."""
    found: list[SourceRecord] = []
    with _started(connector, config) as (made, calls):
        for given in _task_configs(made, calls, tasks):
            task = connector.task()
            if not isinstance(task, SourceTask):
                raise TypeError(f"{connector.__name__} has jobs: run them with a worker")
            task.context = _SourceContext(given, _Offsets([*after, *found]), reported)
            calls.run(task.start, connector.config().parse(given))
            try:
                while most is None or len(found) < most:
                    batch = calls.run(task.poll)
                    if not batch:
                        break
                    found += batch
                    for number, record in enumerate(batch):
                        calls.run(task.commit_record, record, RecordMetadata(record.topic, 0, number))
                    calls.run(task.commit)
            finally:
                task.context.stopping.set()
                calls.run(task.stop)
    return found if most is None else found[:most]


def run_sink(
    connector: type[SinkConnector],
    config: Mapping[str, str],
    records: Sequence[Any],
    *,
    topic: str = "test",
    tasks: int = 1,
) -> list[Reported]:
    """The records are put and flushed. What is no SinkRecord is the value of one, in `topic`, partition 0."""
    given = [each if isinstance(each, SinkRecord) else SinkRecord(topic, 0, n, each) for n, each in enumerate(records)]
    reported: list[Reported] = []
    with _started(connector, {"topics": topic, **config}) as (made, calls):
        configs = _task_configs(made, calls, tasks)
        partitions = sorted({TopicPartition(each.topic, each.partition) for each in given})
        for number, task_config in enumerate(configs):
            own = set(partitions[number :: len(configs)])
            task = connector.task()
            if not isinstance(task, SinkTask):
                raise TypeError(f"{connector.__name__} has jobs: run them with a worker")
            task.context = _SinkContext(task_config, own, reported)
            calls.run(task.start, connector.config().parse(task_config))
            try:
                calls.run(task.open, own)
                start = task.context.positions
                mine = [
                    each
                    for each in given
                    if (where := TopicPartition(each.topic, each.partition)) in own
                    and each.offset >= start.get(where, 0)
                ]
                calls.run(task.put, mine)
                ends = {TopicPartition(each.topic, each.partition): each.offset + 1 for each in mine}
                calls.run(task.pre_commit, ends)
                calls.run(task.close, own)
            finally:
                task.context.stopping.set()
                calls.run(task.stop)
    return reported


class _Calls:
    """Plain methods are called, `async` ones run on a loop of their own."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def run(self, method: Any, *given: Any) -> Any:
        result = method(*given)
        if not inspect.isawaitable(result):
            return result

        async def answer() -> Any:
            return await result

        return self._runner.run(answer())

    def close(self) -> None:
        self._runner.close()


@contextmanager
def _started(connector: type[C], config: Mapping[str, str]) -> Any:
    definition = connector.config()
    wrong = [error for line in definition.validate(config) for error in line.errors]
    if not wrong:
        wrong = [error for errors in connector.check(definition.parse(config)).values() for error in errors]
    if wrong:
        raise ConfigError(" ".join(wrong))
    calls = _Calls()
    made = connector()
    made.name = config.get("name", "test")
    made.context = _ConnectorContext(config)
    try:
        calls.run(made.start, definition.parse(config))
        try:
            yield made, calls
        finally:
            calls.run(made.stop)
    finally:
        calls.close()


def _task_configs(connector: Connector, calls: _Calls, most: int) -> list[dict[str, str]]:
    configs: list[dict[str, str]] = calls.run(connector.task_configs, most)
    if len(configs) > most:
        raise AssertionError(f"task_configs({most}) gave {len(configs)} configurations")
    for config in configs:
        for key, value in config.items():
            if not isinstance(value, str):
                raise AssertionError(f"the task's property {key} must be a text, not {value!r}")
    return configs


class _ConnectorContext:
    def __init__(self, config: Mapping[str, str]) -> None:
        self.config = config

    def request_task_reconfiguration(self) -> None: ...

    def raise_error(self, error: Exception) -> None:
        raise error


class _Offsets:
    def __init__(self, records: Iterable[SourceRecord]) -> None:
        self._known = {_identity(each.partition): dict(each.offset) for each in records}

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return self._known.get(_identity(partition))

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        return [self.offset(each) for each in partitions]


def _identity(partition: Mapping[str, Any]) -> str:
    return repr(sorted(partition.items()))


class _Impatient(threading.Event):
    """Nobody waits in a test: a source that has nothing new says so at once."""

    def wait(self, timeout: float | None = None) -> bool:
        return self.is_set()


class _SourceContext:
    offsets: OffsetReader

    def __init__(self, config: Mapping[str, str], offsets: OffsetReader, reported: list[Reported] | None) -> None:
        self.config = config
        self.offsets = offsets
        self.stopping = _Impatient()
        self._reported = reported

    def report_error(self, record: SourceRecord | None, error: Exception) -> None:
        if self._reported is None:
            raise error
        self._reported.append(Reported(record, error))


class _SinkContext:
    def __init__(self, config: Mapping[str, str], partitions: set[TopicPartition], reported: list[Reported]) -> None:
        self.config = config
        self.stopping = _Impatient()
        self.positions: dict[TopicPartition, int] = {}
        self._partitions = partitions
        self._reported = reported

    def assignment(self) -> set[TopicPartition]:
        return set(self._partitions)

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.positions.update(offsets)

    def pause(self, *partitions: TopicPartition) -> None: ...

    def resume(self, *partitions: TopicPartition) -> None: ...

    def request_commit(self) -> None: ...

    def retry_after(self, seconds: float) -> None: ...

    def report_error(self, record: SinkRecord, error: Exception) -> None:
        self._reported.append(Reported(record, error))
