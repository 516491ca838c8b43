"""An application's table as a DataFrame, from its changelog: the last value of each key, whoever runs it or ran it.

Read up to the last committed record. Tombstones are gone, and so are windows that the store does not show any more.
"""

from __future__ import annotations

from typing import Any

from caudal.plan.naming import changelog_topic
from caudal.plan.topology import StoreKind, StoreSpec, Topology
from caudal.runtime.batch import frames, jobs, tables
from caudal.runtime.batch.bounds import EARLIEST, LATEST, Offsets
from caudal.runtime.batch.jobs import SparkSettings
from caudal.runtime.errors import StreamsError
from caudal.runtime.spark import session
from caudal.runtime.spark.settings import Settings
from caudal.runtime.spark.topics import ClusterTopics


def table_df(
    topology: Topology,
    settings: Settings,
    spark_settings: SparkSettings,
    name: str,
    key_schema: Any = None,
    value_schema: Any = None,
) -> Any:
    """Raises StreamsError where there is no such table, or where it has no changelog."""
    spec = _spec(topology, name)
    topic = spec.changelog or changelog_topic(topology.application_id, name)
    topics = ClusterTopics(topology, settings)
    try:
        count = topics.look().get(topic)
        if count is None:
            raise StreamsError(
                f"Table '{name}' has no changelog topic '{topic}' on the cluster yet: start "
                f"'{topology.application_id}' first, or use run_batch(), which needs none."
            )
        places = [(topic, partition) for partition in range(count)]
        ranges = Offsets(topics.admin).ranges(places, EARLIEST, LATEST)
    finally:
        topics.close()
    spark = spark_settings.open()
    if not ranges:
        columns = "key binary, value binary, timestamp bigint"
        return frames.table_frame(spark.createDataFrame([], columns), spec, key_schema, value_schema)
    changes = jobs.kafka_rows(spark, settings, ranges)
    return frames.table_frame(_last_values(changes, spec), spec, key_schema, value_schema)


def _spec(topology: Topology, name: str) -> StoreSpec:
    found = {spec.name: spec for spec in topology.stores.values() if tables.is_table(spec)}
    spec = found.get(name)
    if spec is None:
        raise StreamsError(
            f"'{topology.application_id}' has no table '{name}' (it has: {', '.join(sorted(found)) or 'none'})."
        )
    if not spec.logged and spec.changelog is None:
        raise StreamsError(
            f"Table '{name}' of '{topology.application_id}' has no changelog, so only its tasks know it: "
            "leave out logged=False, or use run_batch()."
        )
    return spec


def _last_values(changes: Any, spec: StoreSpec) -> Any:
    from pyspark.sql import functions

    width = session.parallelism(changes.sparkSession.sparkContext)
    last = functions.max_by(functions.struct("value", "timestamp"), "offset").alias("last")
    kept = changes.repartition(width, "partition", "key").groupBy("partition", "key").agg(last)
    if spec.kind in (StoreKind.WINDOW, StoreKind.SESSION):
        kept = _without_expired(changes, kept, spec)
    kept = kept.select("partition", "key", "last.value", "last.timestamp")
    return kept.filter(functions.col("key").isNotNull() & functions.col("value").isNotNull())


def _without_expired(changes: Any, kept: Any, spec: StoreSpec) -> Any:
    """A store shows what is younger than its newest time less its retention, in each partition for itself."""
    from pyspark.sql import functions

    # The time stands behind the key: window start and sequence (8 + 4 bytes), or session end and start (8 + 8).
    tail = 12 if spec.kind is StoreKind.WINDOW else 16
    time = f"conv(hex(substring(key, length(key) - {tail - 1}, 8)), 16, 10)"
    timed = changes.selectExpr("partition AS of", f"cast({time} AS bigint) AS time")
    newest = timed.groupBy("of").agg(functions.max("time").alias("newest"))
    retention = max(spec.retention, 1)
    live = kept.withColumn("time", functions.expr(f"cast({time} AS bigint)")).join(
        functions.broadcast(newest), kept["partition"] == newest["of"]
    )
    return live.filter(f"time > newest - {retention}").select("partition", "key", "last")
