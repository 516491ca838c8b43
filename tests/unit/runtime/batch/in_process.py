"""A batch without Spark: the same stages and the same workers, fed from lists. Rows are sorted as run.py has Spark sort
them."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow

from caudal.plan.partitions import resolve_partitions
from caudal.plan.topology import Topology
from caudal.runtime.batch import rows
from caudal.runtime.batch.stages import stages
from caudal.runtime.batch.worker import Freight, run_units
from caudal.runtime.errors import Handlers, StreamsError
from caudal.runtime.spark.parcels import packed
from caudal.runtime.spark.settings import Cargo, Settings

Input = tuple[bytes | None, bytes | None, int, tuple[tuple[str, bytes | None], ...]]

HEADER = pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())])
SCHEMA = pyarrow.schema(
    [
        ("unit", pyarrow.int32()),
        ("name", pyarrow.string()),
        ("queue", pyarrow.int32()),
        ("partition", pyarrow.int32()),
        ("offset", pyarrow.int64()),
        ("timestamp", pyarrow.int64()),
        ("key", pyarrow.binary()),
        ("value", pyarrow.binary()),
        ("headers", pyarrow.list_(HEADER)),
    ]
)


class Result:
    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def topic(self, name: str) -> list[dict[str, Any]]:
        found = [row for row in self.rows if row["kind"] == rows.RECORD and row["name"] == name]
        return sorted(found, key=lambda row: (row["queue"], row["offset"]))

    def table(self, name: str) -> dict[bytes, tuple[bytes, int]]:
        return {
            row["key"]: (row["value"], row["timestamp"])
            for row in self.rows
            if row["kind"] == rows.TABLE and row["name"] == name
        }

    def figures(self, name: str) -> Counter[str]:
        found: Counter[str] = Counter()
        for row in self.rows:
            if row["kind"] == rows.FIGURE and row["name"] == name:
                found[row["value"].decode()] += row["offset"]
        return found


def headers_of(row: dict[str, Any]) -> tuple[tuple[str, bytes | None], ...]:
    return tuple((header["key"], header["value"]) for header in row["headers"] or ())


def run(
    topology: Topology,
    inputs: Mapping[tuple[str, int], Sequence[Input]],
    partitions: int = 1,
    handlers: Handlers | None = None,
    batch_rows: int = 3,
) -> Result:
    """All topics have as many partitions. Small Arrow batches, so that queues are cut anywhere."""
    outside = {
        topic: partitions
        for sub in [*topology.subtopologies, *topology.global_subtopologies]
        for topic in sub.source_topics
        if topic not in topology.internal_topics
    }
    resolved = resolve_partitions(topology, outside)
    order = stages(topology, resolved)
    sinks = {topic: partitions for sub in topology.subtopologies for topic in sub.sink_topics}
    cargo = Cargo(topology, Settings(handlers=handlers or Handlers()), {**sinks, **resolved.topics}, frozenset())
    freight = pickle.dumps(Freight(packed(cargo), order, False, {}))
    result = Result()
    for stage in order.stages:
        waiting = [
            {
                "unit": order.unit_of(topic, partition),
                "name": topic,
                "queue": partition,
                "partition": partition,
                "offset": offset,
                "timestamp": timestamp,
                "key": key,
                "value": value,
                "headers": [{"key": name, "value": content} for name, content in headers] or None,
            }
            for (topic, partition), records in inputs.items()
            if topic in order.readers and topic not in order.written and order.readers[topic][1] in stage.groups
            for offset, (key, value, timestamp, headers) in enumerate(records)
        ]
        waiting += [row for row in result.rows if row["kind"] == rows.RECORD and row["unit"] in stage.units]
        waiting.sort(key=lambda row: (row["unit"], row["name"], row["queue"], row["offset"]))
        table = pyarrow.Table.from_pylist([{name: row[name] for name in SCHEMA.names} for row in waiting], SCHEMA)
        for batch in run_units(freight, iter(table.to_batches(max_chunksize=batch_rows))):
            result.rows += batch.to_pylist()
        failures = [row["name"] for row in result.rows if row["kind"] == rows.FAILURE]
        if failures:
            raise StreamsError(failures[0])
    return result
