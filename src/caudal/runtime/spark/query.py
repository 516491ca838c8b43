"""The Structured Streaming query of a host: one Kafka source or more per slot, one Python worker behind it, all slots
united (in real-time mode: a query for each).

Nothing is written by Spark: workers write to Kafka themselves, so the sink is none. Trigger: as soon as possible, or
real-time mode, where all stages of a long batch run at once and rows come to the worker one by one.
"""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from caudal.runtime.spark import session
from caudal.runtime.spark.lane import Freight
from caudal.runtime.spark.rows import COLUMNS, ECHO
from caudal.runtime.spark.settings import Cargo, Mode
from caudal.runtime.spark.slots import Slot, SourceSpec

CATCHING_UP = 6_000  # records of a batch, for an application that catches up while others wait for the batch's end
SLOT_VARIABLE = "CAUDAL_SLOT"
Begins = Mapping[str, Mapping[tuple[str, int], int]]  # application → topic and partition → offset

# Slot numbers in use in this process: two hosts in one session must not share a pool of workers.
_taken: set[int] = set()
_lock = threading.Lock()


def take_slot_number() -> int:
    """The lowest that is free: the worker pool of an ended run is used again."""
    with _lock:
        number = next(number for number in range(1 << 16) if number not in _taken)
        _taken.add(number)
        return number


def give_back_slot_number(number: int) -> None:
    with _lock:
        _taken.discard(number)


def start(
    spark: Any,
    run: str,
    slots: Sequence[Slot],
    cargoes: Sequence[Cargo],
    parcels: Mapping[str, bytes],
    begins: Begins,
    checkpoint: Path,
    address: tuple[str, int],
    token: str,
    mode: Mode = Mode.MICRO_BATCH,
    batch_duration: str = "",
) -> Any:
    """Starts the query; workers call the driver at `address`. `batch_duration` is of real-time mode's long batches."""
    if mode is Mode.REAL_TIME:
        spark = session.real_time(spark)
    frames = {}
    for slot in slots:
        needed = {task.application_id for task in slot.tasks}
        carried = {cargo.application_id: cargo for cargo in cargoes if cargo.application_id in needed}
        freight = pickle.dumps(Freight(run, slot, {name: parcels[name] for name in carried}, address, token, mode))
        frames[slot.number] = _slot_frame(spark, run, slot, freight, carried, begins, len(slots), mode)
    if mode is Mode.MICRO_BATCH:
        united = reduce(lambda left, right: left.union(right), frames.values())
        return _writer(united, f"caudal-{run[:8]}", checkpoint).outputMode("append").start()
    # A query for each slot: behind a union the reader of a second shuffle gets nothing in real-time mode (Spark 4.3).
    started = QueryGroup()
    try:
        for number, frame in frames.items():
            writer = _writer(frame, f"caudal-{run[:8]}-{number}", checkpoint / str(number)).outputMode("update")
            started.queries.append(writer.trigger(realTime=batch_duration).start())
    except BaseException:
        started.stop()
        raise
    return started


def _writer(frame: Any, name: str, checkpoint: Path) -> Any:
    return frame.writeStream.format("noop").queryName(name).option("checkpointLocation", checkpoint.as_uri())


def _slot_frame(
    spark: Any,
    run: str,
    slot: Slot,
    freight: bytes,
    cargoes: Mapping[str, Cargo],
    begins: Begins,
    slots: int,
    mode: Mode,
) -> Any:
    """The rows of a slot: its sources united, in one partition, in front of its own Python worker."""
    rows = None
    for number, source in enumerate(slot.sources):
        frame = _source_frame(spark, number, source, cargoes, begins, slots, mode)
        rows = frame if rows is None else rows.union(frame)
    assert rows is not None
    # One partition after the other, or, where none ever ends, all at once.
    rows = _echoed(rows.repartition(1)) if mode is Mode.REAL_TIME else rows.coalesce(1)
    with _lock:
        # What is in the environment when the function is made belongs to the function, and Spark keeps a pool of
        # workers for each environment.
        environment = spark.sparkContext.environment
        environment[SLOT_VARIABLE] = str(slot.number)
        if session.is_local(spark.sparkContext.master):
            environment["PYTHONPATH"] = session.python_path()
        try:
            return rows.mapInArrow(_lane_function(run, slot.number, freight), "nothing int")
        finally:
            del environment[SLOT_VARIABLE]


def _lane_function(run: str, number: int, freight: bytes) -> Callable[[Any], Any]:
    """Pickled by value, so it must do nothing but call an importable module: caches live there."""

    def run_lane(batches: Any) -> Any:
        try:
            from caudal.runtime.spark import lane
        except ImportError as error:
            import platform
            import sys

            raise RuntimeError(
                f"{sys.executable} on {platform.node()}, a worker of Spark, cannot import Caudal ({error}): "
                "install 'caudal[spark]' there, or set PYSPARK_PYTHON to a Python that has it."
            ) from None

        return lane.run_slot(run, number, freight, batches)

    return run_lane


def _echoed(rows: Any) -> Any:
    """Spark's Arrow writer keeps a row back until the next one comes, so each row gets an empty one behind it."""
    from pyspark.sql import functions

    twice = rows.withColumn("source", functions.explode(functions.array("source", functions.lit(ECHO))))
    columns = [functions.when(functions.col("source") != ECHO, twice[name]).alias(name) for name in COLUMNS[5:]]
    return twice.select(*COLUMNS[:5], *columns)


def _source_frame(
    spark: Any,
    number: int,
    source: SourceSpec,
    cargoes: Mapping[str, Cargo],
    begins: Begins,
    slots: int,
    mode: Mode,
) -> Any:
    from pyspark.sql import functions

    settings = cargoes[next(iter(source.applications))].settings
    begin: dict[str, dict[str, int]] = {}
    for topic, partitions in source.partitions.items():
        known = begins[source.owners[topic]]
        begin[topic] = {str(partition): known.get((topic, partition), -1) for partition in partitions}
    limit = max(1, min(cargoes[name].settings.max_records_per_batch for name in source.applications) // slots)
    if source.catches_up:
        limit = min(limit, CATCHING_UP // slots)
    reader = spark.readStream.format("kafka")
    for name, value in settings.java().items():
        reader = reader.option(f"kafka.{name}", value)
    if mode is Mode.MICRO_BATCH:
        reader = (
            reader.option("maxOffsetsPerTrigger", str(limit))
            .option("kafka.fetch.max.wait.ms", "2")  # a batch ends at a known offset: never wait for more
            # After every poll Spark asks the broker twice how far the log reaches: few, large polls.
            .option("kafka.max.poll.records", "100000")
            .option("kafka.max.partition.fetch.bytes", str(8 << 20))
        )
    rows = (
        reader.option("kafka.isolation.level", settings.isolation_level)
        .option("assign", json.dumps({topic: sorted(partitions) for topic, partitions in source.partitions.items()}))
        .option("startingOffsets", json.dumps(begin))
        .option("failOnDataLoss", "true")
        .option("includeHeaders", "true")
        .load()
        .withColumn("timestamp", functions.unix_millis("timestamp"))
        .withColumn("source", functions.lit(number))
    )
    return rows.select(*COLUMNS)


class QueryGroup:
    """Several queries that live and die together."""

    def __init__(self) -> None:
        self.queries: list[Any] = []

    @property
    def isActive(self) -> bool:
        return all(query.isActive for query in self.queries)

    def exception(self) -> Any:
        return next((error for query in self.queries if (error := query.exception()) is not None), None)

    def stop(self) -> None:
        for query in self.queries:
            query.stop()


class NeverStarted:
    """Stands for a query that Spark refused."""

    isActive = False

    def __init__(self, error: Exception) -> None:
        self._error = error

    def exception(self) -> Exception:
        return self._error

    def stop(self) -> None:
        pass


# What fails a worker in the same way every time, as Spark's text says it.
_PERMANENT = (
    "PYTHON_VERSION_MISMATCH",
    "ModuleNotFoundError: ",
    "ImportError: ",
    "error=2, No such file",  # PYSPARK_PYTHON; other numbers are a machine short of memory or processes
    "ClassNotFoundException",
    "NoClassDefFoundError",
    "NoSuchMethodError",
)


def permanent_cause(error: Any) -> str | None:
    """The line of a Spark failure that no repetition mends; None where another start may help."""
    for line in str(error or "").splitlines():
        if any(sign in line for sign in _PERMANENT):
            return line.strip().removeprefix("Caused by: ")[:300]
    return None


def reason(error: Any) -> str:
    """The one line of a Spark failure that says something."""
    if error is None:
        return "it was stopped"
    text = str(error).partition("=== Streaming Query ===")[0]  # the plan follows, which says nothing
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by:") or "Exception: " in line or "Error: " in line]
    chosen = (causes or lines or ["no reason given"])[-1].removeprefix("Caused by: ")
    return chosen[:300]
