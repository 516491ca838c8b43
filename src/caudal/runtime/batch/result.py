"""What a batch gave: output topics and tables as DataFrames, and figures. It lives in the session that made it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from caudal.plan.topology import SinkNode, StoreSpec
from caudal.runtime.batch import frames, publishing, rows, tables
from caudal.runtime.errors import StreamsError
from caudal.runtime.spark.settings import Cargo, task_name
from caudal.serde import Bytes, Serde

_MORE = (("headers", rows.HEADERS_TYPE), ("partition", "int"), ("task", "string"), ("number", "bigint"))


class Figures:
    """How many records were read, written and dropped, and how many rows each table has."""

    def __init__(self) -> None:
        self.read: Counter[str] = Counter()
        self.written: Counter[str] = Counter()
        self.tables: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.wall_clock = 0

    def add(self, found: Iterable[tuple[int, str, str | None, int, int]]) -> None:
        """(kind, name, of what, count of rows, sum of their numbers) of a stage."""
        for kind, name, of, count, total in found:
            if kind == rows.RECORD:
                self.written[name] += count
            elif kind == rows.TABLE:
                self.tables[name] += count
            elif name == rows.WALL_CLOCK:
                self.wall_clock += total
            else:
                (self.read if name == rows.READ else self.dropped)[str(of)] += total


class BatchResult:
    """
    result = builder.run_batch(bootstrap="localhost:9092")
    result.topic("orders-enriched").show()
    result.table("orders-per-user").where("value > 10")

    `with` or `close()` lets go of the rows that Spark keeps for it.
    """

    def __init__(self, cargo: Cargo, spark: Any) -> None:
        self.spark = spark
        self.frames: list[Any] = []  # the rows of each stage
        self.figures = Figures()
        self._cargo = cargo

    # -- frames --------------------------------------------------------------------------------------------------------

    @property
    def topics(self) -> list[str]:
        """The topics that an application writes for others; also those that only this batch knows (dead letters)."""
        internal = self._cargo.topology.internal_topics
        named = {topic for sub in self._cargo.topology.subtopologies for topic in sub.sink_topics}
        return sorted((named | self.figures.written.keys()) - internal.keys())

    @property
    def tables(self) -> list[str]:
        return sorted(spec.name for spec in self._specs().values())

    def topic(self, name: str, *, raw: bool = False, key_schema: Any = None, value_schema: Any = None) -> Any:
        """What the batch put out to a topic: key, value, timestamp, headers, partition, task, number.

        `task` and `number` give the order in which a task wrote. With `raw`, key and value are the bytes that Kafka
        would get; a schema ("user string, amount double") makes columns of JSON.
        """
        if name not in self.topics:
            raise StreamsError(
                f"The topology writes no topic '{name}' (it writes: {', '.join(self.topics) or 'none'})."
            )
        key, value = (Bytes(), Bytes()) if raw else self._serdes(name)
        picked = self._picked(rows.RECORD, name).selectExpr(
            "key", "value", "timestamp", "headers", "nullif(partition, -1) AS partition", self._task_names(), "offset"
        )
        return frames.decoded(picked, frames.Decoding(key, value, more=_MORE), key_schema, value_schema)

    def table(self, name: str, *, key_schema: Any = None, value_schema: Any = None) -> Any:
        """The rows of a store at the end of the batch: key, value, and times where the store has them."""
        spec = self._specs().get(name)
        if spec is None:
            raise StreamsError(f"The topology has no table '{name}' (it has: {', '.join(self.tables) or 'none'}).")
        return frames.table_frame(self._picked(rows.TABLE, name), spec, key_schema, value_schema)

    def _specs(self) -> dict[str, StoreSpec]:
        return {
            spec.name: spec
            for sub in self._cargo.topology.subtopologies
            for spec in sub.stores
            if tables.is_table(spec)
        }

    def _picked(self, kind: int, name: str) -> Any:
        from pyspark.sql import functions

        picked = None
        for frame in self.frames:
            part = frame.filter((frame["kind"] == kind) & (frame["name"] == functions.lit(name)))
            picked = part if picked is None else picked.union(part)
        return self.spark.createDataFrame([], rows.OUTPUT_SCHEMA) if picked is None else picked

    def _task_names(self) -> str:
        """SQL for the name of the task that wrote a row; `queue` is its number."""
        names = ", ".join(f"'{task_name(*task)}'" for task in self._cargo.tasks())
        return f"element_at(array({names}), queue + 1) AS task"

    def _serdes(self, topic: str) -> tuple[Serde, Serde]:
        sinks = [node for node in self._cargo.topology.nodes if isinstance(node, SinkNode)]
        named = [sink for sink in sinks if sink.topic == topic]
        dynamic = [sink for sink in sinks if not isinstance(sink.topic, str)]
        if named:
            return named[0].key, named[0].value
        if len(dynamic) == 1 and topic != self._cargo.settings.handlers.dead_letter_topic:
            return dynamic[0].key, dynamic[0].value
        return Bytes(), Bytes()  # dead letters; or nobody can say which of several sinks wrote it

    # -- Kafka -------------------------------------------------------------------------------------------------------

    def write(self, *topics: str) -> dict[str, int]:
        """Writes output topics to Kafka, all where none is named; says how many records each got. At least once: a
        Spark task that fails is tried again, and what it had written is there twice then."""
        chosen = topics or tuple(topic for topic in self.topics if self.figures.written[topic])
        for topic in chosen:
            if topic not in self.topics:
                raise StreamsError(f"The topology writes no topic '{topic}'.")
        return publishing.publish(self.frames, self._cargo.settings, list(chosen))

    # -- people ------------------------------------------------------------------------------------------------------

    def summary(self) -> str:
        """The figures as lines for people."""
        figures, internal = self.figures, self._cargo.topology.internal_topics
        lines = [f"read     {topic}: {count}" for topic, count in sorted(figures.read.items()) if topic not in internal]
        lines += [f"output   {topic}: {figures.written[topic]}" for topic in self.topics]
        lines += [f"table    {name}: {figures.tables[name]} rows" for name in self.tables]
        lines += [f"dropped  {why}: {count}" for why, count in sorted(figures.dropped.items())]
        return "\n".join(lines)

    def close(self) -> None:
        kept, self.frames = self.frames, []
        for frame in kept:
            frame.unpersist()

    def __enter__(self) -> BatchResult:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
