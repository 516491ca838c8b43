"""The connector API: what a connector and its tasks are, and what the framework tells them.

    class Lines(SourceConnector):
        task = LinesTask
        @classmethod
        def config(cls) -> ConfigDef: ...
        def task_configs(self, most: int) -> list[dict[str, str]]: ...

The framework makes the connector with no argument, sets `context`, calls `start(config)` and asks for `task_configs`.
For each it makes a task, somewhere in the cluster, and runs it until it is stopped or fails. Calls to one object never
overlap. A task's methods may be plain or `async def`: plain ones run in a thread of the task's own, or in a process of
its own when `isolation` says so (what computes or blocks in C); `async` ones run as jobs of one event loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol

from caudal.connect.columns import ColumnRun
from caudal.connect.configuration import ConfigDef
from caudal.connect.records import RecordMetadata, SinkRecord, SourceRecord, TopicPartition

Isolation = Literal["thread", "process"]


class ConnectorContext(Protocol):
    config: Mapping[str, str]  # as given, with what no key of the connector names (`source.cluster.ssl.ca.location`)

    def request_task_reconfiguration(self) -> None:
        """The thing outside has changed (a table came): `task_configs` is asked for anew, tasks are restarted."""

    def raise_error(self, error: Exception) -> None:
        """The connector fails with this error."""


class OffsetReader(Protocol):
    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        """Where to go on in this partition: the offset of its last committed record; None at the first start."""

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]: ...


class SourceContext(Protocol):
    config: Mapping[str, str]  # of the task, as given
    offsets: OffsetReader
    stopping: Any  # a threading.Event: a task that waits in `poll` should wait on this

    def report_error(self, record: SourceRecord | None, error: Exception) -> None:
        """A record that could not be read: counts against `errors.tolerance`, and raises when none are tolerated."""


class SinkContext(Protocol):
    config: Mapping[str, str]
    stopping: Any

    def assignment(self) -> set[TopicPartition]: ...

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Where to go on reading: for sinks that keep offsets with their data. From `open`, best."""

    def pause(self, *partitions: TopicPartition) -> None: ...

    def resume(self, *partitions: TopicPartition) -> None: ...

    def request_commit(self) -> None: ...

    def retry_after(self, seconds: float) -> None:
        """How long the framework waits before it repeats a `put` that raised RetriableError."""

    def report_error(self, record: SinkRecord, error: Exception) -> None:
        """This record cannot be written: to the dead-letter topic, if there is one; raises when none are tolerated."""


class Task:
    isolation: ClassVar[Isolation] = "thread"

    def start(self, config: dict[str, Any]) -> None:
        """`config` is what the connector's ConfigDef made of the task's configuration, typed, with defaults."""

    def stop(self) -> None:
        """Always the last call, also after a failure. Must not wait for long."""


class SourceTask(Task):
    context: SourceContext

    def poll(self) -> Sequence[SourceRecord] | None:
        """The next records, or None (after waiting a little, on `context.stopping`) when there are none."""
        raise NotImplementedError

    def commit(self) -> None:
        """The records that `poll` had returned are acknowledged, and their offsets are stored."""

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        """One record is acknowledged and lies where `metadata` says; None: a transform, or tolerance, dropped it.
        In the order of `poll` for each partition; exactly once: after the transaction. Only called where overridden."""


class SinkTask(Task):
    context: SinkContext
    takes_columns: bool = False  # `put_columns` is called where it can be, and `put` otherwise; `start` may set it

    def open(self, partitions: set[TopicPartition]) -> None:
        """These are read from now on."""

    def close(self, partitions: set[TopicPartition]) -> None:
        """These are not any more; `flush` was called before, unless they were lost to another."""

    def put(self, records: Sequence[SinkRecord]) -> None:
        """May keep them until `flush`. May be called with none, so that time-based work gets done."""
        raise NotImplementedError

    def put_columns(self, runs: Sequence[ColumnRun]) -> None:
        """As `put`, with whole batches as columns."""
        raise NotImplementedError

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Everything below these offsets is written safely when this returns; they are committed then."""

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Which offsets to commit. A sink that is done with less than `offsets` says so here; flushes by default."""
        self.flush(offsets)
        return offsets


class JobContext(Protocol):
    config: Mapping[str, str]  # of the task, as given
    stopping: Any  # a threading.Event

    def report_progress(self, records: int) -> None:
        """So many records more are safely where they belong: for the metrics, and the end of a restart's back-off."""

    def report_topic(self, topic: str) -> None:
        """This topic is read or written: for `/connectors/{c}/topics`."""


class JobTask(Task):
    """A task that moves the records itself, with an engine of its own (a Spark query): the framework neither polls nor
    converts nor commits for it, and transforms and `errors.*` do not apply. Where it goes on after a restart is its own
    affair. It runs in a process of its own, which ends with it; `stop` is called in that process, after `run`.

    A paused job is stopped, and a resumed one is a new object."""

    isolation: ClassVar[Isolation] = "process"
    context: JobContext

    def run(self) -> None:
        """Works until `context.stopping` is set, then ends in good order. Returning before that is an end too: the
        task stays RUNNING with nothing to do until it is stopped (a bounded input). What it raises fails the task."""
        raise NotImplementedError


class Connector:
    """`name` and `context` are set by the framework before `start`."""

    name: str
    context: ConnectorContext
    version: ClassVar[str] = "1.0"
    aliases: ClassVar[tuple[str, ...]] = ()  # other names that `connector.class` may have, Java's above all
    converter: ClassVar[str | None] = None  # of keys, values and headers where the configuration names none

    @classmethod
    def config(cls) -> ConfigDef:
        """The keys of this connector only: the framework adds its own (tasks.max, converters, transforms, errors)."""
        return ConfigDef()

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        """Errors by key that need several keys or the thing outside; asked when each key is right by itself."""
        return {}

    def start(self, config: dict[str, Any]) -> None:
        """`config` typed, with defaults."""

    def task_configs(self, most: int) -> list[dict[str, str]]:
        """At most `most` configurations of tasks; what the tasks share of the connector's is included."""
        raise NotImplementedError

    def stop(self) -> None:
        """Always the last call."""

    def on_failure(self, error: Exception, task: int | None) -> None:
        """This connector (task None) or one of its tasks has failed with `error`: to tell somebody, or to clean up."""


class SourceConnector(Connector):
    task: ClassVar[type[SourceTask] | type[JobTask]]

    def exactly_once_support(self, config: Mapping[str, Any]) -> bool | None:
        """Whether offsets tell exactly what was read, so that transactions make it exactly once; None: not known."""
        return None

    def alter_offsets(self, offsets: Mapping[str, Any]) -> bool:
        """Somebody changes the stored offsets; ConfigError refuses. True when things outside were changed too."""
        return False


class SinkConnector(Connector):
    task: ClassVar[type[SinkTask] | type[JobTask]]
    delivery: ClassVar[str] = "at least once"  # said by `caudal connector plugins` and the documentation

    def alter_offsets(self, offsets: Mapping[TopicPartition, int | None]) -> bool:
        return False
