"""TopologyTestDriver: runs a topology in process, without broker and Spark, record by record.

Every sub-topology is one task with partition 0, and every topic has one partition. `pipe_input` runs to its end: what
goes to a repartition topic, or to any topic the application reads itself, comes back in, the oldest first. Time stands
still except for `advance_time`, which runs the wall-clock punctuators that are due. State is in memory.

Left out: changelogs, restarts, several partitions (see the Spark host), and waiting of any kind.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from caudal.plan.columns import refuse_columns
from caudal.plan.durations import Duration, milliseconds
from caudal.plan.serdes import with_registry_of
from caudal.plan.topology import SinkNode, SourceNode, SubTopology, Topology
from caudal.runtime.errors import Handlers, Interrupted, StreamsError
from caudal.runtime.record import Headers, Record
from caudal.runtime.stores import TaskState
from caudal.runtime.task import Task


class Message(NamedTuple):
    """A record as it lies in a topic."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers


class TopologyTestDriver:
    """
    >>> from caudal.streams import StreamsBuilder
    >>> from caudal.serde import Long, String
    >>> builder = StreamsBuilder("count-words")
    >>> words = builder.stream("words", key=String(), value=String())
    >>> words.group_by_key().count().to("counts", value=Long())
    >>> with TopologyTestDriver(builder) as driver:
    ...     driver.pipe_input("words", "a", "x", timestamp=5)
    ...     driver.read_output("counts")
    Record('a', 1, timestamp=5)
    """

    def __init__(
        self,
        topology: Any,
        *,
        start_time: int | datetime | None = None,
        handlers: Handlers | None = None,
        registry: str | None = None,
    ) -> None:
        """`registry`: of serdes that were not given one, such as mock://name, which is inside this process."""
        self.topology: Topology = topology if isinstance(topology, Topology) else topology.build()
        if registry is not None:
            self.topology = with_registry_of(self.topology, registry)
        refuse_columns(self.topology)
        self._now = _epoch_milliseconds(start_time)
        self._outputs: dict[str, deque[Message]] = {}
        self._pending: dict[str, deque[tuple[int, Message]]] = {}  # with the order of arrival
        self._arrivals = 0
        self._offsets: Counter[str] = Counter()
        self._sources = {t: n for n in self.topology.nodes if isinstance(n, SourceNode) for t in n.topics}
        self._states: list[TaskState] = []
        self._global_stores: dict[str, Any] = {}
        self._stores: dict[str, Any] = {}
        self._tasks: list[Task] = []
        self._readers: dict[str, list[Task]] = {}
        self._handlers = handlers
        for sub in self.topology.global_subtopologies:
            self._add_task(sub, self._global_stores)
        for sub in self.topology.subtopologies:
            self._add_task(sub, {})
        self._run_pending()  # processors may have forwarded something in init

    def _add_task(self, sub: SubTopology, collect: dict[str, Any]) -> None:
        state = TaskState(None, sub.stores, 0)
        collect.update(state.stores)
        self._states.append(state)
        self._stores.update(state.stores)
        task = Task(
            self.topology,
            sub,
            0,
            state.stores,
            self._emit,
            global_stores=self._global_stores,
            handlers=self._handlers,
            wall_clock=lambda: self._now,
        )
        self._tasks.append(task)
        for topic in task.source_topics:
            self._readers.setdefault(topic, []).append(task)

    # -- input ---------------------------------------------------------------------------------------------------------

    def pipe_input(
        self,
        topic: str,
        key: Any = None,
        value: Any = None,
        timestamp: int | datetime | None = None,
        headers: Iterable[tuple[str, bytes | None]] | Mapping[str, bytes | None] = (),
        partition: int = 0,
    ) -> None:
        """One record, serialised with the serdes of the topic's source; without a timestamp it is of the driver's time.

        `partition` is there for likeness with a real topic; every topic has one partition here.
        """
        source = self._source(topic)
        key_bytes = None if key is None else source.key.serialize(key)
        value_bytes = None if value is None else source.value.serialize(value)
        self.pipe_bytes(topic, key_bytes, value_bytes, timestamp, headers)

    def pipe_bytes(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int | datetime | None = None,
        headers: Iterable[tuple[str, bytes | None]] | Mapping[str, bytes | None] = (),
    ) -> None:
        """One record as it would lie in the topic: also one that does not parse."""
        self._source(topic)
        when = self._now if timestamp is None else _epoch_milliseconds(timestamp)
        pairs = tuple(headers.items() if isinstance(headers, Mapping) else headers)
        self._enqueue(topic, Message(key, value, when, pairs))
        self._run_pending()

    def _source(self, topic: str) -> SourceNode:
        try:
            return self._sources[topic]
        except KeyError:
            known = ", ".join(sorted(self._sources))
            raise StreamsError(f"The topology does not read topic '{topic}' (it reads: {known}).") from None

    def _enqueue(self, topic: str, message: Message) -> None:
        self._arrivals += 1
        self._pending.setdefault(topic, deque()).append((self._arrivals, message))

    def _run_pending(self) -> None:
        pending = self._pending
        try:
            while pending:
                topic = min(pending, key=lambda name: (pending[name][0][1].timestamp, pending[name][0][0]))
                _, message = pending[topic].popleft()
                if not pending[topic]:
                    del pending[topic]
                offset = self._offsets[topic]
                self._offsets[topic] += 1
                for task in self._readers[topic]:
                    task.process(topic, offset, message.timestamp, message.key, message.value, message.headers)
        except Interrupted as interrupted:
            raise interrupted.cause from None  # a host would try again
        finally:
            pending.clear()  # a record that failed stops the rest of its own step, not the next one

    # -- time ----------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """The driver's wall clock, epoch milliseconds."""
        return self._now

    def advance_time(self, duration: Duration) -> None:
        """Moves the wall clock on and runs the punctuators that are due by it."""
        self._now += milliseconds(duration)
        for task in self._tasks:
            task.punctuate(self._now)
        self._run_pending()

    # -- output --------------------------------------------------------------------------------------------------------

    def _emit(
        self,
        topic: str,
        partition: int | None,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
    ) -> None:
        message = Message(key, value, timestamp, headers)
        self._outputs.setdefault(topic, deque()).append(message)
        if topic in self._sources:
            self._enqueue(topic, message)

    def read_output(self, topic: str) -> Record | None:
        """The next record of an output topic, read with the serdes of its sink; None when there is none."""
        message = self.read_message(topic)
        if message is None:
            return None
        read_key, read_value = self._readers_of(topic)
        return Record(
            None if message.key is None else read_key(message.key),
            None if message.value is None else read_value(message.value),
            message.timestamp,
            message.headers,
        )

    def read_message(self, topic: str) -> Message | None:
        """The next record of an output topic as bytes; None when there is none."""
        waiting = self._outputs.get(topic)
        return waiting.popleft() if waiting else None

    def read_outputs(self, topic: str) -> list[Record]:
        """All records of an output topic that were not read yet."""
        records = []
        while (record := self.read_output(topic)) is not None:
            records.append(record)
        return records

    @property
    def output_topics(self) -> list[str]:
        """The topics that hold records which were not read yet, repartition topics included."""
        return [topic for topic, waiting in self._outputs.items() if waiting]

    def _readers_of(self, topic: str) -> tuple[Callable[[bytes], Any], Callable[[bytes], Any]]:
        sinks = [node for node in self.topology.nodes if isinstance(node, SinkNode)]
        named = [sink for sink in sinks if sink.topic == topic]
        dynamic = [sink for sink in sinks if not isinstance(sink.topic, str)]
        if named:
            return named[0].key.deserialize, named[0].value.deserialize
        dead_letters = self._handlers is not None and topic == self._handlers.dead_letter_topic
        if len(dynamic) == 1 and not dead_letters:
            return dynamic[0].key.deserialize, dynamic[0].value.deserialize
        return _as_it_is, _as_it_is  # dead letters; or nobody can say which of several sinks wrote it

    # -- state ---------------------------------------------------------------------------------------------------------

    def store(self, name: str) -> Any:
        """A state store, to read from or to fill before a test."""
        try:
            return self._stores[name]
        except KeyError:
            known = ", ".join(sorted(self._stores)) or "none"
            raise StreamsError(f"The topology has no store '{name}' (it has: {known}).") from None

    def continue_from(self, other: TopologyTestDriver) -> None:
        """Takes over what the other driver's stores of the same names hold, and where it was in its topics: as an
        application that is started anew with another version of its topology. The other one can only be closed then."""
        records: dict[str, list[tuple[bytes, bytes | None, int]]] = {}
        for state in other._states:
            for store, key, value, timestamp in state.changes():
                records.setdefault(store, []).append((key, value, timestamp))
        for state in self._states:
            for store in state.stores.keys() & records.keys():
                state.restore_batch(store, records[store])
            state.commit({})
        self._offsets = other._offsets.copy()

    @property
    def dropped(self) -> Counter[str]:
        """Why records were dropped, and how many."""
        return sum((task.dropped for task in self._tasks), Counter())

    @property
    def tasks(self) -> list[Task]:
        return list(self._tasks)

    def close(self) -> None:
        for task in self._tasks:
            task.close()
        for state in self._states:
            state.close()
        self._tasks, self._states = [], []

    def __enter__(self) -> TopologyTestDriver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _as_it_is(data: bytes) -> bytes:
    return data


def _epoch_milliseconds(moment: int | datetime | None) -> int:
    if moment is None:
        return int(time.time() * 1000)
    return round(moment.timestamp() * 1000) if isinstance(moment, datetime) else moment
