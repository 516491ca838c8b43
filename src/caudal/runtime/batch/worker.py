"""What a Python worker of Spark does in a batch: runs units through the interpreter, record by record.

Rows come sorted by unit. A unit that reads one queue is processed as its rows come; others are put down first
(spool.py) and taken oldest head first, as a task does it. State is on the worker's disk and goes with the unit, after
its tables were put out. A failure that the handlers do not take ends the unit's Spark task with a row that says it:
raised, it would be tried again, with the same end. Not here: Spark (run.py) and what runs when (stages.py).
"""

from __future__ import annotations

import functools
import pickle
import shutil
import tempfile
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from caudal.plan.steps import GlobalTableJoin, Process, TableTransformValues
from caudal.plan.topology import ProcessorNode, SourceNode, SubTopology
from caudal.runtime.batch import rows
from caudal.runtime.batch.bounds import Place, Range
from caudal.runtime.batch.global_tables import GlobalTables
from caudal.runtime.batch.partitioner import partition_of
from caudal.runtime.batch.rows import Chunk, OutputRows, Row
from caudal.runtime.batch.spool import Spool
from caudal.runtime.batch.stages import Group, Stages
from caudal.runtime.batch.tables import entries, is_table
from caudal.runtime.errors import Interrupted, StreamsError
from caudal.runtime.ordering import in_task_order
from caudal.runtime.record import Headers
from caudal.runtime.spark.settings import Cargo, task_name
from caudal.runtime.stores import TaskState
from caudal.runtime.stores.engines import StateError
from caudal.runtime.task import Task

OUTPUT_ROWS = 4096  # of an Arrow batch
LOOK_ROWS = 4000  # between two looks at how much the stores hold in memory
PENDING = 50_000


@dataclass(frozen=True, slots=True)
class Freight:
    """What a worker gets: the application as bytes, and the order of the batch."""

    parcel: bytes  # Cargo
    stages: Stages
    direct: bool  # rows of a unit come in its order already: nothing is to be put down
    global_ranges: Mapping[Place, Range]


def run_units(data: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    """The rows of one Spark partition: unit after unit."""
    freight: Freight = pickle.loads(data)
    waiting = iter(batches)
    first = next(waiting, None)
    if first is None:
        return
    with tempfile.TemporaryDirectory(prefix="caudal-batch-") as folder:
        worker = _Worker(freight, Path(folder))
        try:
            yield from worker.run(_chunks(first, waiting))
        except (StreamsError, StateError) as error:
            worker.output.failure(str(error))
        except Interrupted as error:
            raise error.cause from None  # not the record's fault: Spark tries again
        finally:
            worker.close()
        yield worker.output.take()
        for _ in waiting:
            pass  # Spark wants its rows taken, also after a failure


@functools.lru_cache(maxsize=2)
def _unpacked(parcel: bytes) -> Cargo:
    """A worker process runs many Spark tasks of one application."""
    cargo: Cargo = pickle.loads(parcel)
    return cargo


def _chunks(first: Any, rest: Iterator[Any]) -> Iterator[Chunk]:
    yield from rows.chunks(first)
    for batch in rest:
        yield from rows.chunks(batch)


class _Worker:
    def __init__(self, freight: Freight, folder: Path) -> None:
        self.output = OutputRows()
        self.cargo = _unpacked(freight.parcel)
        self.stages = freight.stages
        self._direct = freight.direct
        self._folder = folder
        self._globals: GlobalTables | None = None
        self._groups = {unit: group for stage in self.stages.stages for group in stage.groups for unit in group.units}
        self._global_ranges = freight.global_ranges

    def global_stores(self, sub: SubTopology) -> Mapping[str, Any]:
        """All of them, read to their end; nothing for a sub-topology that cannot look into them."""
        if not self.cargo.topology.global_subtopologies or not _sees_global_tables(sub):
            return {}
        if self._globals is None:
            self._globals = GlobalTables(self.cargo, self._folder)
            self._globals.read(self._global_ranges)
        return self._globals.stores

    def run(self, chunks: Iterator[Chunk]) -> Iterator[Any]:
        unit: _Unit | None = None
        try:
            for chunk in chunks:
                if unit is None or unit.number != chunk.unit:
                    if unit is not None:
                        yield from self._full(unit.finish())
                        unit = None
                    unit = _Unit(chunk.unit, self._groups[chunk.unit], self, self._direct)
                yield from self._full(unit.feed(chunk))
            if unit is not None:
                yield from self._full(unit.finish())
        finally:
            if unit is not None:
                unit.close()

    def _full(self, steps: Iterator[None]) -> Iterator[Any]:
        """Batches of output, as soon as they are full."""
        for _ in steps:
            if len(self.output) >= OUTPUT_ROWS:
                yield self.output.take()

    def folder(self, name: str) -> Path:
        folder = self._folder / name
        folder.mkdir()
        return folder

    def close(self) -> None:
        if self._globals is not None:
            self._globals.close()


class _Unit:
    """One task, or several that feed each other."""

    def __init__(self, number: int, group: Group, worker: _Worker, direct: bool) -> None:
        self.number = number
        self._group = group
        self._worker = worker
        self._folder = worker.folder(f"unit-{number}")
        self._spool = None if direct else Spool(self._folder)
        self._tasks: dict[tuple[int, int], _UnitTask] = {}
        self._looping: dict[Place, deque[tuple[int, Row]]] = {}  # what the unit wrote to itself, with the arrival
        self._arrived = 0
        self._offsets: Counter[Place] = Counter()  # of topics that never were in Kafka
        self._read: Counter[str] = Counter()
        self._since = 0

    def feed(self, chunk: Chunk) -> Iterator[None]:
        """Steps of work: after each, output may be taken."""
        if self._spool is not None:
            self._spool.add(chunk)
            return
        for row in rows.rows_of(chunk.topic, chunk.batch):
            self._process(row)
            yield

    def finish(self) -> Iterator[None]:
        if self._spool is not None:
            for _, row in in_task_order(self._spool.queues(), self._age()):
                self._process(row)
                yield
        for task in self._tasks.values():
            yield from task.finish()
        for topic, count in self._read.items():
            self._worker.output.figure(rows.READ, topic, count)
        self.close()
        yield

    def _age(self) -> Any:
        """How old a row is for the order: by the source's extractor where there is one."""
        nodes = [node for sub in self._group.subs for node in self._worker.cargo.sub(sub).nodes]
        if not any(isinstance(node, SourceNode) and node.timestamp is not None for node in nodes):
            return itemgetter(0)
        return lambda row: self._task(row[1], row[2]).task.timestamp_of(row[1], row[0], row[4], row[5])

    def _task(self, topic: str, partition: int) -> _UnitTask:
        sub = self._worker.stages.readers[topic][0]
        found = self._tasks.get((sub, partition))
        if found is None:
            found = self._tasks[sub, partition] = _UnitTask(sub, partition, self, self._worker, self._folder)
        return found

    def _process(self, row: Row) -> None:
        self._process_one(row)
        looping = self._looping
        while looping:  # the oldest head first, then in the order of arrival
            place = min(looping, key=lambda place: (looping[place][0][1][0], looping[place][0][0]))
            _, written = looping[place].popleft()
            if not looping[place]:
                del looping[place]
            self._process_one(written)
        self._since += 1
        if self._since >= LOOK_ROWS:
            self._since = 0
            for task in self._tasks.values():
                task.relieve()

    def _process_one(self, row: Row) -> None:
        timestamp, topic, partition, offset, key, value, headers = row
        if topic in self._worker.stages.written:
            # In Kafka it would have one order; here what several tasks wrote is put in order while it is read.
            offset = self._offsets[topic, partition]
            self._offsets[topic, partition] += 1
        self._read[topic] += 1
        self._task(topic, partition).task.process(topic, offset, timestamp, key, value, headers)

    def takes(self, topic: str, partition: int) -> bool:
        """Whether this unit itself reads that partition."""
        return self._group.together and self._worker.stages.unit_of(topic, partition) == self.number

    def loop(self, row: Row) -> None:
        self._arrived += 1
        self._looping.setdefault((row[1], row[2]), deque()).append((self._arrived, row))

    def close(self) -> None:
        tasks, self._tasks = self._tasks, {}
        for task in tasks.values():
            task.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class _UnitTask:
    """The interpreter of one sub-topology and partition, with its state and its output."""

    def __init__(self, sub: int, partition: int, unit: _Unit, worker: _Worker, folder: Path) -> None:
        cargo = worker.cargo
        self._unit, self._worker, self._cargo = unit, worker, cargo
        self._sub = cargo.sub(sub)
        self._partition = partition
        self._queue = _task_number(cargo, sub, partition)
        self._written: Counter[str] = Counter()
        self._readers = worker.stages.readers
        place = folder / task_name(sub, partition) if self._sub.stores else None
        self._state = TaskState(place, self._sub.stores, partition, engine=cargo.settings.engine)
        self.task = Task(
            cargo.topology,
            self._sub,
            partition,
            self._state.stores,
            self._emit,
            global_stores=worker.global_stores(self._sub),
            handlers=cargo.settings.handlers,
            partitions_of=self._partitions_of,
        )

    def _partitions_of(self, topic: str) -> int:
        return self._cargo.partitions.get(topic, 1)

    def _emit(
        self,
        topic: str,
        partition: int | None,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
    ) -> None:
        number = self._written[topic]
        self._written[topic] = number + 1
        if partition is None:
            width = self._cargo.partitions.get(topic)
            if width is None:
                partition = -1  # the topic does not exist yet
            else:  # without a key one is as good as another: in turn
                partition = number % width if key is None else partition_of(key, width)
        unit = -1
        if topic in self._readers:
            if topic not in self._worker.stages.written:
                raise StreamsError(
                    f"A function sends a record to topic '{topic}', which the application also reads: a batch "
                    f"must know that before. Write it with to('{topic}')."
                )
            if self._unit.takes(topic, partition):
                self._unit.loop((timestamp, topic, partition, 0, key, value, headers))
                if topic in self._cargo.topology.internal_topics:
                    return
            else:
                unit = self._worker.stages.unit_of(topic, partition)
        self._worker.output.record(unit, topic, self._queue, partition, number, timestamp, key, value, headers)

    def relieve(self) -> None:
        """Writes what the stores hold in memory to disk, where it has become much."""
        if self._state.pending > PENDING:
            self._state.commit({})

    def finish(self) -> Iterator[None]:
        output, task = self._worker.output, self.task
        for why, count in task.dropped.items():
            output.figure(rows.DROPPED, why, count)
        if task.next_wall_clock_punctuation is not None:
            output.figure(rows.WALL_CLOCK, task_name(self._sub.id, self._partition), 1)
        for spec in self._sub.stores:
            if is_table(spec):
                for key, value, timestamp in entries(spec, self._state.stores[spec.name]):
                    output.entry(spec.name, self._queue, self._partition, key, value, timestamp)
                    yield

    def close(self) -> None:
        try:
            self.task.close()
        finally:
            self._state.close()


def _sees_global_tables(sub: SubTopology) -> bool:
    """By a join, or from a user's processor, which need not name the store."""
    steps = (GlobalTableJoin, Process, TableTransformValues)
    return any(isinstance(node, ProcessorNode) and isinstance(node.step, steps) for node in sub.nodes)


def _task_number(cargo: Cargo, sub: int, partition: int) -> int:
    """Tells the tasks of an application apart."""
    return cargo.tasks().index((sub, partition))
