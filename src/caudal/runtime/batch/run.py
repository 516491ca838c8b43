"""Runs a topology over bounded input: one Spark job per stage, the rows of a stage kept for those after it.

What the application writes for itself (repartition topics, and topics that it both writes and reads) never goes through
Kafka: the rows that one stage puts out are the next one's input. Nothing is committed, no group is touched, no topic is
made. In a task the order is the oldest head first over all its queues (ordering.py), which is exact here: everything
that will ever come is there.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from caudal.plan.errors import PlanError
from caudal.plan.partitions import resolve_partitions
from caudal.plan.topology import Topology
from caudal.runtime.batch import bounds, jobs, rows
from caudal.runtime.batch.bounds import Bound, Offsets, Place, Range
from caudal.runtime.batch.jobs import SparkSettings
from caudal.runtime.batch.result import BatchResult
from caudal.runtime.batch.stages import Group, Stage, Stages, stages
from caudal.runtime.batch.worker import Freight
from caudal.runtime.errors import StreamsError
from caudal.runtime.spark import session
from caudal.runtime.spark.parcels import packed
from caudal.runtime.spark.settings import Cargo, Settings
from caudal.runtime.spark.topics import ClusterTopics

log = logging.getLogger("caudal.streams")

TASKS_PER_CORE = 4


def run_batch(
    topology: Topology, settings: Settings, spark_settings: SparkSettings, starting: Bound, ending: Bound
) -> BatchResult:
    """Raises StreamsError with one sentence where the batch cannot begin, or where a record stops it."""
    batch = _Batch(topology, settings)
    batch.look(starting, ending)
    return batch.run(spark_settings.open())


class _Batch:
    def __init__(self, topology: Topology, settings: Settings) -> None:
        self._topology = topology
        self._settings = settings
        self._ranges: dict[Place, Range] = {}
        self._global_ranges: dict[Place, Range] = {}
        self._cargo: Cargo
        self._stages: Stages
        self._parcel = b""

    # -- before ------------------------------------------------------------------------------------------------------

    def look(self, starting: Bound, ending: Bound) -> None:
        """What there is to read."""
        topology = self._topology
        topics = ClusterTopics(topology, self._settings)
        try:
            existing = topics.look()
            outside = {name: count for name, count in existing.items() if name not in topology.internal_topics}
            partitions = resolve_partitions(topology, outside)
            self._stages = stages(topology, partitions)
            self._cargo = Cargo(topology, self._settings, {**outside, **partitions.topics}, frozenset())
            self._parcel = packed(self._cargo)
            read = sorted(self._stages.readers.keys() - self._stages.written)
            whole = sorted(topic for sub in topology.global_subtopologies for topic in sub.source_topics)
            bounds.check(starting, "starting", [*read, *whole])
            bounds.check(ending, "ending", [*read, *whole])
            offsets = Offsets(topics.admin)
            self._ranges = offsets.ranges(self._places(read), starting, ending)
            # A global table is what it is at the end, wherever the streams begin.
            self._global_ranges = offsets.ranges(self._places(whole), bounds.EARLIEST, ending)
        except PlanError as error:
            raise StreamsError(str(error)) from None
        finally:
            topics.close()

    def _places(self, topics: list[str]) -> list[Place]:
        return [(topic, partition) for topic in topics for partition in range(self._cargo.partitions[topic])]

    # -- stage after stage -------------------------------------------------------------------------------------------

    def run(self, spark: Any) -> BatchResult:
        for topic in sorted(self._stages.written - self._topology.internal_topics.keys()):
            log.warning("The application writes topic '%s' itself: the batch reads only what it writes there.", topic)
        result = BatchResult(self._cargo, spark)
        try:
            for stage in self._stages.stages:
                frame = self._stage_frame(spark, stage, result.frames)
                if frame is not None:
                    self._perform(frame, result)
        except BaseException:
            result.close()
            raise
        if result.figures.wall_clock:
            log.warning(
                "'%s' schedules punctuators by the wall clock: they do not run in a batch.",
                self._topology.application_id,
            )
        return result

    def _perform(self, frame: Any, result: BatchResult) -> None:
        """Runs one stage, and keeps its rows."""
        from pyspark import StorageLevel
        from pyspark.sql import functions

        kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
        result.frames.append(kept)
        of = functions.when(kept["kind"] == rows.FIGURE, kept["value"].cast("string")).alias("of")
        counted = kept.groupBy("kind", "name", of).agg(
            functions.count("*").alias("n"), functions.sum("offset").alias("s")
        )
        try:
            found = counted.collect()
        except Exception as error:
            raise jobs.failed(f"The batch of '{self._topology.application_id}'", error) from error
        failures = sorted(row["name"] for row in found if row["kind"] == rows.FAILURE)
        if failures:
            raise StreamsError(failures[0])
        result.figures.add((row["kind"], row["name"], row["of"], row["n"], row["s"]) for row in found)

    def _stage_frame(self, spark: Any, stage: Stage, former: list[Any]) -> Any:
        """What a stage puts out; None where it has nothing to read."""
        direct: dict[Place, Range] = {}
        mixed: dict[Place, Range] = {}
        for place, offsets in self._ranges.items():
            _, group = self._stages.readers[place[0]]
            if group in stage.groups:
                (direct if self._is_direct(group) else mixed)[place] = offsets
        parts = []
        if direct:
            # Several partitions one after the other in a Spark task, where there are many: a task has its price.
            width = TASKS_PER_CORE * session.parallelism(spark.sparkContext)
            rows_in_order = self._from_kafka(spark, direct).coalesce(width)
            parts.append(self._worked(rows_in_order, direct=True))
        inputs = [self._from_kafka(spark, mixed)] if mixed else []
        inputs += [self._from_stage(frame, stage) for frame in former]
        if inputs and any(not self._is_direct(group) for group in stage.groups):
            parts.append(self._worked(self._dealt(_united(inputs), stage), direct=False))
        return _united(parts) if parts else None

    def _is_direct(self, group: Group) -> bool:
        """Whether each task reads one Kafka partition and nothing else: its rows come in order by themselves."""
        (sub, *others) = group.subs
        topics = self._cargo.sub(sub).source_topics
        return not others and not group.together and len(topics) == 1 and topics[0] not in self._stages.written

    def _from_kafka(self, spark: Any, ranges: Mapping[Place, Range]) -> Any:
        frame = jobs.kafka_rows(spark, self._settings, ranges)
        groups = {topic: self._stages.readers[topic][1] for topic, _ in ranges}
        first = _by_topic(frame, {topic: group.first for topic, group in groups.items()})
        step = _by_topic(frame, {topic: 0 if group.together else 1 for topic, group in groups.items()})
        unit, topic, queue = first + step * frame["partition"], frame["topic"], frame["partition"]
        return frame.select(unit.alias("unit"), topic.alias("name"), queue.alias("queue"), *rows.COLUMNS[3:])

    def _from_stage(self, frame: Any, stage: Stage) -> Any:
        """What an earlier stage wrote to topics that this one reads."""
        units = stage.units
        wanted = (frame["kind"] == rows.RECORD) & frame["unit"].between(units.start, units.stop - 1)
        return frame.filter(wanted).select(*rows.COLUMNS)

    def _dealt(self, frame: Any, stage: Stage) -> Any:
        """Each unit in one Spark partition, its rows sorted by queue."""
        from pyspark.sql import functions

        width = max(1, min(len(stage.units), session.parallelism(frame.sparkSession.sparkContext)))
        spread = functions.expr(f"cast(pmod(unit, {width}) as int)")
        return frame.repartitionById(width, spread).sortWithinPartitions("unit", "name", "queue", "offset")

    def _worked(self, frame: Any, direct: bool) -> Any:
        freight = pickle.dumps(Freight(self._parcel, self._stages, direct, self._global_ranges))
        return jobs.map_in_arrow(frame, _worker_function(freight), rows.OUTPUT_SCHEMA)


def _worker_function(freight: bytes) -> Callable[[Any], Any]:
    """Pickled by value, so it does nothing but call an importable module."""

    def run_units(batches: Any) -> Any:
        from caudal.runtime.batch import worker

        return worker.run_units(freight, batches)

    return run_units


def _united(frames: list[Any]) -> Any:
    united = frames[0]
    for frame in frames[1:]:
        united = united.union(frame)
    return united


def _by_topic(frame: Any, numbers: Mapping[str, int]) -> Any:
    """A number that depends on the topic, as a column."""
    from pyspark.sql import functions

    if len(set(numbers.values())) == 1:
        return functions.lit(next(iter(numbers.values())))
    pairs = [functions.lit(part) for pair in numbers.items() for part in pair]
    return functions.create_map(*pairs)[frame["topic"]]
