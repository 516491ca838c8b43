"""Writes the results of a batch to Kafka, from Spark's workers: at least once, each task's records in their order.

With librdkafka and not with Spark's own sink, which cannot write a record's timestamp.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from caudal.runtime.batch import jobs, rows
from caudal.runtime.errors import StreamsError
from caudal.runtime.spark.settings import Settings

FLUSH_SECONDS = 120.0


def publish(frames: list[Any], settings: Settings, topics: list[str]) -> dict[str, int]:
    """How many records each topic got."""
    from pyspark.sql import functions

    found: Counter[str] = Counter(dict.fromkeys(topics, 0))
    freight = pickle.dumps(settings)
    for frame in frames:
        wanted = (frame["kind"] == rows.RECORD) & frame["name"].isin(topics)
        columns = frame.filter(wanted).select("name", "partition", "timestamp", "key", "value", "headers")
        written = jobs.map_in_arrow(columns, _writing(freight), "topic string, n bigint, failure string")
        try:
            counts = written.groupBy("topic").agg(functions.sum("n").alias("n"), functions.max("failure").alias("f"))
            for row in counts.collect():
                if row["f"] is not None:
                    raise StreamsError(row["f"])
                found[row["topic"]] += row["n"]
        except StreamsError:
            raise
        except Exception as error:
            raise jobs.failed("Writing the results of the batch", error) from error
    return dict(found)


def _writing(freight: bytes) -> Callable[[Any], Any]:
    def write(batches: Any) -> Any:
        from caudal.runtime.batch import publishing

        return publishing.write(freight, batches)

    return write


def write(freight: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    """In a worker: what was written to each topic, or the sentence that says why it was not."""
    import pyarrow
    from confluent_kafka import KafkaException, Producer

    settings: Settings = pickle.loads(freight)
    refused: list[str] = []

    def delivered(error: Any, message: Any) -> None:
        if error is not None:
            refused.append(f"Topic '{message.topic()}' did not take a record of the batch: {error.str()}.")

    producer: Any = None
    counts: Counter[str] = Counter()
    for batch in batches:
        if producer is None:
            producer = Producer(
                settings.librdkafka(
                    **{"linger.ms": 5, "partitioner": "murmur2_random", "enable.idempotence": True, "acks": "all"}
                )
            )
        for row in batch.to_pylist() if not refused else ():
            headers = [(header["key"], header["value"]) for header in row["headers"] or ()]
            # librdkafka takes timestamp 0 for "now".
            arguments = (row["name"], row["value"], row["key"], row["partition"], delivered, None)
            _produce(producer, KafkaException, refused, (*arguments, row["timestamp"] or 1, headers or None))
            counts[row["name"]] += 1
    if producer is not None and producer.flush(FLUSH_SECONDS) and not refused:
        refused.append(f"Kafka did not acknowledge the batch's records within {FLUSH_SECONDS:.0f} s.")
    failure = refused[0] if refused else None
    yield pyarrow.RecordBatch.from_pydict(
        {"topic": list(counts), "n": list(counts.values()), "failure": [failure] * len(counts)},
        schema=pyarrow.schema([("topic", pyarrow.string()), ("n", pyarrow.int64()), ("failure", pyarrow.string())]),
    )


def _produce(producer: Any, kafka_exception: Any, refused: list[str], arguments: tuple[Any, ...]) -> None:
    while True:
        try:
            producer.produce(*arguments)
            producer.poll(0)
            return
        except BufferError:
            producer.poll(0.1)
        except kafka_exception as error:
            refused.append(f"Topic '{arguments[0]}' did not take a record of the batch: {error.args[0].str()}.")
            return
