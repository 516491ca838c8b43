"""The few things that every batch job asks of Spark: a session, Kafka as a source, Python workers that find Caudal."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from caudal.runtime.batch.bounds import Place, Range
from caudal.runtime.errors import StreamsError
from caudal.runtime.spark import query, session
from caudal.runtime.spark.settings import Settings

_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Where batches run, unless there is a session already."""

    master: str | None = None
    threads: int | None = None
    spark_config: Mapping[str, str] = field(default_factory=dict)
    py_files: Sequence[str] = ()

    def open(self) -> Any:
        """The session of this process. It stays open: results live in it."""
        opened, _ = session.open_session(self.master, self.threads or os.cpu_count() or 1, dict(self.spark_config))
        session.send_modules(opened, self.py_files)
        return opened


def map_in_arrow(frame: Any, function: Callable[[Any], Any], schema: str) -> Any:
    """`mapInArrow` in workers that import what this process imports."""
    spark = frame.sparkSession
    with _lock:
        environment = spark.sparkContext.environment
        former = environment.get("PYTHONPATH")
        if session.is_local(spark.sparkContext.master):
            environment["PYTHONPATH"] = session.python_path()
        try:
            return frame.mapInArrow(function, schema)
        finally:
            if former is None:
                environment.pop("PYTHONPATH", None)
            else:
                environment["PYTHONPATH"] = former


def kafka_rows(spark: Any, settings: Settings, ranges: Mapping[Place, Range]) -> Any:
    """The committed records of these offsets, one Spark partition for each Kafka partition; time in milliseconds."""
    from pyspark.sql import functions

    assign: dict[str, list[int]] = {}
    first: dict[str, dict[str, int]] = {}
    end: dict[str, dict[str, int]] = {}
    for (topic, partition), (begin, stop) in sorted(ranges.items()):
        assign.setdefault(topic, []).append(partition)
        first.setdefault(topic, {})[str(partition)] = begin
        end.setdefault(topic, {})[str(partition)] = stop
    reader = spark.read.format("kafka")
    for name, value in settings.java().items():
        reader = reader.option(f"kafka.{name}", value)
    return (
        reader.option("kafka.isolation.level", "read_committed")
        .option("kafka.max.poll.records", "100000")
        .option("kafka.max.partition.fetch.bytes", str(8 << 20))
        .option("assign", json.dumps(assign))
        .option("startingOffsets", json.dumps(first))
        .option("endingOffsets", json.dumps(end))
        .option("failOnDataLoss", "true")
        .option("includeHeaders", "true")
        .load()
        .withColumn("timestamp", functions.unix_millis("timestamp"))
    )


def failed(what: str, error: Exception) -> StreamsError:
    return StreamsError(f"{what} failed in Spark: {query.permanent_cause(error) or query.reason(error)}")
