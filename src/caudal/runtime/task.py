"""A task: one sub-topology times one partition number. Takes the bytes of input records, calls `emit` with output
records.

Pure: it opens nothing (but the files of static tables, once per process) and reads no clock but the one it was given;
state is in the stores it was given. The host decides which records come (in the order of `ordering.in_task_order`), and
when state and offsets are committed.

What must outlive a Task object besides its stores (stream time and what operators know of it, such as up to which time
closed windows were emitted) is in `metadata()`: the host commits it with the offsets and passes it to the next object.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from caudal.plan.topology import ProcessorNode, SinkNode, SourceNode, SubTopology, Topology
from caudal.runtime.context import TaskContext
from caudal.runtime.errors import Handlers, Interrupted, OnError, RecordError, StreamsError, dead_letter_headers
from caudal.runtime.operators.operator import Operator, Process, TaskParts, failing_node, fan_out, operator_for
from caudal.runtime.operators.sink import Emit, Sink
from caudal.runtime.punctuation import Schedule
from caudal.runtime.record import Headers, Record, RecordContext
from caudal.runtime.stores.static import static_tables
from caudal.serde import SchemasUnavailable

__all__ = ["Emit", "Task"]

DESERIALIZATION_ERROR = "deserialization error"
PROCESSING_ERROR = "processing error"
PRODUCTION_ERROR = "production error"
NEGATIVE_TIMESTAMP = "negative timestamp"


class _Source:
    """A source node of this task, ready to read."""

    __slots__ = ("extract", "forward", "name", "read_key", "read_value")

    def __init__(self, node: SourceNode, forward: Process) -> None:
        self.name = node.name
        self.read_key = node.key.deserialize
        self.read_value = node.value.deserialize
        self.extract = node.timestamp.call if node.timestamp is not None else None
        self.forward = forward


class _NoStores:
    timestamp = 0


def _now() -> int:
    return int(time.time() * 1000)


def _one_partition(topic: str) -> int:
    return 1


class Task:
    def __init__(
        self,
        topology: Topology,
        sub: SubTopology,
        partition: int,
        stores: Mapping[str, Any],
        emit: Emit,
        *,
        global_stores: Mapping[str, Any] | None = None,
        handlers: Handlers | None = None,
        wall_clock: Callable[[], int] = _now,
        partitions_of: Callable[[str], int] = _one_partition,
        metadata: Mapping[str, int] | None = None,
    ) -> None:
        self.partition = partition
        self.dropped: Counter[str] = Counter()
        self._emit = emit
        self._handlers = handlers or Handlers()
        self._context = TaskContext(topology.application_id, sub.id, partition, wall_clock)
        self._parts = TaskParts(
            context=self._context,
            stores=stores,
            global_stores={**(global_stores or {}), **static_tables(topology.stores, sub)},
            specs=topology.stores,
            partition=partition,
            dropped=self.dropped,
            remembered=dict(metadata or {}),
        )
        self._context.stream_time = self._parts.remembered.get("stream_time", -1)
        # What the stores of this task stamp their changelog records with; they all share one object.
        self._stamp: Any = next((store.context for store in stores.values()), None) or _NoStores()
        self._operators: list[Operator] = []
        self._sources: dict[str, _Source] = {}
        self._build(sub, partitions_of)
        for operator in self._operators:
            operator.open()

    # -- building ------------------------------------------------------------------------------------------------------

    def _build(self, sub: SubTopology, partitions_of: Callable[[str], int]) -> None:
        operators = self._parts.operators
        children: dict[str, list[str]] = {node.name: [] for node in sub.nodes}
        for node in sub.nodes:
            if isinstance(node, SourceNode):
                continue
            for parent in node.parents:
                children[parent].append(node.name)
            parents = [operators[parent] for parent in node.parents if parent in operators]
            if isinstance(node, SinkNode):
                sink = Sink(node.name, node, parents, self._parts)
                sink.emit, sink.on_failure, sink.partitions_of = self._emit, self._not_serialised, partitions_of
                operators[node.name] = sink
            elif isinstance(node, ProcessorNode):
                kind = operator_for(node.step)
                operators[node.name] = kind(node.name, node.step, parents, self._parts, node.stores, node.sends_old)
        # From the leaves up: what a node takes as its child's `process` must already be final.
        for operator in reversed(list(operators.values())):
            operator.link({name: self._entry(operators[name]) for name in children[operator.name]})
        self._operators = list(operators.values())
        for node in sub.nodes:
            if isinstance(node, SourceNode):
                forward = fan_out([self._entry(operators[name]) for name in children[node.name]])
                for topic in node.topics:
                    self._sources[topic] = _Source(node, forward)

    def _entry(self, operator: Operator) -> Process:
        """How parents call a node: directly; behind a guard only where a failing record does not stop the application,
        because then the node's siblings still get it."""
        process = operator.process
        if self._handlers.processing is OnError.FAIL:
            return process

        def guarded(record: Record) -> None:
            try:
                process(record)
            except StreamsError as error:
                if isinstance(error, RecordError):
                    raise
                self._not_processed(error, operator.name)
            except Exception as error:
                self._not_processed(error, operator.name)

        return guarded

    # -- records -------------------------------------------------------------------------------------------------------

    @property
    def stream_time(self) -> int:
        return self._context.stream_time

    @property
    def record_at_hand(self) -> RecordContext:
        """Where the record comes from that is being processed, or was last."""
        return self._context.snapshot()

    @property
    def source_topics(self) -> tuple[str, ...]:
        return tuple(self._sources)

    def process(
        self,
        topic: str,
        offset: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
    ) -> None:
        """Runs one input record through the nodes. The hot path: no allocation but the Record."""
        context = self._context
        context.topic = topic
        context.partition = self.partition
        context.offset = offset
        context.timestamp = timestamp
        context.headers = headers
        context.raw_key = key
        context.raw_value = value
        try:
            source = self._sources[topic]
        except KeyError:
            raise StreamsError(
                f"This task does not read topic '{topic}' (it reads: {', '.join(self._sources)})."
            ) from None
        try:
            typed_key = None if key is None else source.read_key(key)
            typed_value = None if value is None else source.read_value(value)
        except Exception as error:
            self._not_deserialised(error)
            return
        if source.extract is not None:
            try:
                timestamp = source.extract(typed_key, typed_value, timestamp)
            except Exception as error:
                raise RecordError("Extracting the timestamp", context.snapshot(), error) from error
            context.timestamp = timestamp
        if timestamp < 0:
            self.dropped[NEGATIVE_TIMESTAMP] += 1
            return
        if timestamp > context.stream_time:
            context.stream_time = timestamp
        self._stamp.timestamp = timestamp
        try:
            source.forward(Record(typed_key, typed_value, timestamp, headers))
        except RecordError:
            raise
        except SchemasUnavailable as error:
            raise Interrupted(error) from error
        except Exception as error:
            raise RecordError(
                f"Processing in {failing_node(error) or source.name}", context.snapshot(), error
            ) from error
        if context.stream_time >= context.stream_punctuations.next_due:
            context.stream_punctuations.run(context.stream_time, self._punctuate)

    def timestamp_of(self, topic: str, timestamp: int, key: bytes | None, value: bytes | None) -> int:
        """The event time of a record, for `ordering`: the record's own unless the source has an extractor.

        A record that does not parse counts with its own timestamp: `process` says what is wrong with it.
        """
        source = self._sources[topic]
        if source.extract is None:
            return timestamp
        try:
            typed_key = None if key is None else source.read_key(key)
            typed_value = None if value is None else source.read_value(value)
            return int(source.extract(typed_key, typed_value, timestamp))
        except Exception:
            return timestamp

    @property
    def has_extractors(self) -> bool:
        """Whether ordering must ask `timestamp_of`; else the records' own timestamps do."""
        return any(source.extract is not None for source in self._sources.values())

    # -- time ----------------------------------------------------------------------------------------------------------

    def punctuate(self, now_ms: int) -> None:
        """Runs the wall-clock punctuators that are due. Those of stream time run inside `process`."""
        if now_ms >= self._context.wall_clock_punctuations.next_due:
            self._context.wall_clock_punctuations.run(now_ms, self._punctuate)

    @property
    def next_wall_clock_punctuation(self) -> int | None:
        """When `punctuate` has something to do next; None when it never has."""
        queue = self._context.wall_clock_punctuations
        return queue.next_due if queue.next_due != queue.NEVER else None

    def _punctuate(self, schedule: Schedule, now: int) -> None:
        context = self._context
        context.clear(now)
        self._stamp.timestamp = now
        try:
            schedule.callback(now)
        except RecordError:
            raise
        except Exception as error:
            if isinstance(error, SchemasUnavailable):
                raise Interrupted(error) from error
            if self._handlers.processing is OnError.FAIL:
                raise RecordError(f"Punctuation in {schedule.owner.name}", context.snapshot(), error) from error
            self._not_processed(error, schedule.owner.name)

    # -- failures ------------------------------------------------------------------------------------------------------

    def _not_deserialised(self, error: Exception) -> None:
        self.handle_failure(self._handlers.deserialization, DESERIALIZATION_ERROR, "Deserialising", error)

    def _not_processed(self, error: Exception, node: str) -> None:
        self.handle_failure(self._handlers.processing, PROCESSING_ERROR, f"Processing in {node}", error)

    def _not_serialised(self, topic: str, record: Record, error: Exception) -> None:
        what = (
            f"Serialising key {type(record.key).__name__} and value {type(record.value).__name__} for topic '{topic}'"
        )
        self.handle_failure(self._handlers.production, PRODUCTION_ERROR, what, error)

    def handle_failure(self, choice: OnError, count_as: str, what: str, error: Exception) -> None:
        """Does with the record at hand what `choice` says; also for failures that only the host sees."""
        if isinstance(error, SchemasUnavailable):
            raise Interrupted(error) from error  # it says nothing about the record
        context = self._context.snapshot()
        if choice is OnError.FAIL:
            raise RecordError(what, context, error) from error
        self.dropped[count_as] += 1
        if self._handlers.dropped is not None:
            self._handlers.dropped(what, context, error, self._context.raw_key, self._context.raw_value)
        # A punctuator has no input record that could be kept.
        if choice is OnError.DEAD_LETTER and context.topic is not None:
            letters = self._handlers.dead_letter_topic
            assert letters is not None  # Handlers checks it
            raw_key, raw_value = self._context.raw_key, self._context.raw_value
            headers = dead_letter_headers(context, error)
            self._emit(letters, None, raw_key, raw_value, max(0, context.timestamp), headers)

    # -- life ----------------------------------------------------------------------------------------------------------

    def metadata(self) -> dict[str, int]:
        """What to commit with the offsets, for the next Task object of this partition."""
        result = {"stream_time": self._context.stream_time}
        for operator in self._operators:
            for what, number in operator.remember().items():
                result[f"{operator.name}.{what}"] = number
        return result

    def close(self) -> None:
        """Closes the processors, all of them even when one raises; the stores are the host's."""
        self._context.stream_punctuations.clear()
        self._context.wall_clock_punctuations.clear()
        failed: Exception | None = None
        for operator in self._operators:
            try:
                operator.close()
            except Exception as error:
                failed = failed or error
        if failed is not None:
            raise StreamsError(f"Closing a processor failed: {type(failed).__name__}: {failed}") from failed
