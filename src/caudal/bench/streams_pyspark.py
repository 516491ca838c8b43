"""Hand-written PySpark as a peer of `caudal bench streams`: what somebody who knows Spark would write without Caudal.

- map: `mapInArrow` with orjson, Kafka to Kafka.
- sql-map: the same as Spark SQL, `from_json` and `to_json` with the schema, no Python per record.
- count, emit "defaults": Spark's own `groupBy(key).count()` in update mode: one row per key and batch.
- count, emit "updates": `mapInArrow` with a dict that lives as long as its batch. Every update is emitted, no state is
  kept: the least that any count in Python inside Spark can cost, not something to use.

Spark's Kafka sink is at least once. Windowed sums and joins with a changing table are not expressed here: Spark's have
another meaning (watermarks, no table that changes under a stream).
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from caudal.bench.streams_job import PATIENT, Job, job_of, serve
from caudal.runtime.spark.session import open_session

THREADS = 2
ORDERS = "id BIGINT, user STRING, amount BIGINT, region STRING"
REWRITTEN = "struct(o.id, o.user, o.amount * 2 AS total, upper(o.region) AS region)"


def rewrite(batches: Iterable[Any]) -> Iterator[Any]:
    import orjson
    import pyarrow as pa

    for batch in batches:
        results = []
        for value in batch.column(1).to_pylist():
            order = orjson.loads(value)
            results.append(
                orjson.dumps(
                    {
                        "id": order["id"],
                        "user": order["user"],
                        "total": order["amount"] * 2,
                        "region": order["region"].upper(),
                    }
                )
            )
        yield pa.RecordBatch.from_arrays([batch.column(0), pa.array(results, pa.binary())], names=["key", "value"])


def count_in_batch(batches: Iterable[Any]) -> Iterator[Any]:
    import struct

    import pyarrow as pa

    pack = struct.Struct(">q").pack
    counts: dict[bytes, int] = {}
    for batch in batches:
        results = []
        for key in batch.column(0).to_pylist():
            counts[key] = count = counts.get(key, 0) + 1
            results.append(pack(count))
        yield pa.RecordBatch.from_arrays([batch.column(0), pa.array(results, pa.binary())], names=["key", "value"])


class Peer:
    def __init__(self) -> None:
        begin = time.perf_counter()
        # The same session settings as Caudal's own: the peer gets the quick checkpoint files too.
        self.session, _ = open_session(None, THREADS, PATIENT)
        self.seconds = time.perf_counter() - begin
        self.query: Any = None
        self.checkpoint = ""
        self.rows: dict[int, int] = {}

    def begin(self, command: Mapping[str, Any]) -> None:
        job = job_of(command)
        self.checkpoint = tempfile.mkdtemp(prefix="caudal-bench-")
        self.rows = {}
        self.session.conf.set("spark.sql.shuffle.partitions", str(job.threads))
        frame = self.transformed(job)
        writer = frame.writeStream.format("kafka").option("kafka.bootstrap.servers", job.bootstrap)
        writer = writer.option("topic", job.output).option("checkpointLocation", self.checkpoint)
        if job.topology == "count" and job.emit == "defaults":
            writer = writer.outputMode("update")
        self.query = writer.start()

    def transformed(self, job: Job) -> Any:
        source = self.session.readStream.format("kafka").option("kafka.bootstrap.servers", job.bootstrap)
        source = source.option("subscribe", job.input).option("startingOffsets", "earliest")
        rows = source.load().select("key", "value")
        if job.topology == "map":
            return rows.mapInArrow(rewrite, "key binary, value binary")
        if job.topology == "sql-map":
            orders = rows.selectExpr("key", f"from_json(CAST(value AS STRING), '{ORDERS}') AS o")
            return orders.selectExpr("key", f"to_json({REWRITTEN}) AS value")
        if job.topology == "count" and job.emit == "updates":
            return rows.mapInArrow(count_in_batch, "key binary, value binary")
        if job.topology == "count":
            return rows.groupBy("key").count().selectExpr("key", "CAST(count AS STRING) AS value")
        raise ValueError(f"hand-written PySpark does not express {job.topology}")

    def processed(self, _command: Mapping[str, Any]) -> dict[str, Any]:
        if self.query.exception() is not None:
            raise RuntimeError(str(self.query.exception())[:300])
        for progress in self.query.recentProgress:
            self.rows[progress["batchId"]] = max(self.rows.get(progress["batchId"], 0), progress["numInputRows"])
        return {"processed": sum(self.rows.values())}

    def end(self, _command: Mapping[str, Any]) -> None:
        self.query.stop()
        shutil.rmtree(self.checkpoint, ignore_errors=True)


def main() -> None:
    peer = Peer()
    handlers = {"begin": peer.begin, "processed": peer.processed, "end": peer.end}
    serve(handlers, {"session_seconds": peer.seconds})
    peer.session.stop()


if __name__ == "__main__":
    main()
