"""From a native plan to a streaming query: Kafka's source, expressions, Kafka's sink; nothing in Python per record.

The query has a session of its own, because the plan's text relies on settings: ANSI mode, case-sensitive names, and an
optimizer that does not push conditions below the parsing (it would parse twice).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caudal.plan.native import Count, NativePlan, NativeSource, Output
from caudal.plan.typed_sql import text_literal
from caudal.runtime.errors import Handlers, OnError
from caudal.runtime.spark.session import CHECKPOINT_MANAGER
from caudal.runtime.spark.settings import Mode, Settings

BAD_RECORD = "caudal-bad-record"
COUNTED = "caudal-dropped"  # the name of the observed metrics
UNREADABLE = "unreadable"
REAL_TIME_BATCH = "5 seconds"
_SESSION = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.json.enablePartialResults": "true",
    "spark.sql.optimizer.excludedRules": ",".join(
        f"org.apache.spark.sql.catalyst.optimizer.{rule}"
        for rule in ("PushDownPredicates", "PushPredicateThroughNonJoin", "InferFiltersFromGenerate")
    ),
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINT_MANAGER,
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.numRecentProgressUpdates": "20",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}
Begins = Mapping[tuple[str, int], int]  # topic and partition → offset


def native_session(spark: Any) -> Any:
    """A session beside the given one, in the same Spark, with the settings that the plans rely on."""
    session = spark.newSession()
    for name, value in _SESSION.items():
        session.conf.set(name, value)
    return session


def start(session: Any, plan: NativePlan, settings: Settings, begins: Begins, checkpoint: Path, mode: Mode) -> Any:
    """Starts the query that reads from `begins` on."""
    frame = None
    for source in plan.sources:
        rows = _source_rows(session, source, settings, begins, mode)
        results = results_of(rows, source, settings.handlers, timed=plan.count is not None)
        frame = results if frame is None else frame.union(results)
    assert frame is not None
    if plan.count is not None:
        frame = counted(frame, plan.count)
    writer = frame.writeStream.format("kafka").option("checkpointLocation", checkpoint.as_uri())
    for name, value in settings.java().items():
        writer = writer.option(f"kafka.{name}", value)
    writer = writer.option("kafka.batch.size", str(1 << 17))
    if plan.count is not None:
        writer = writer.outputMode("update").option("kafka.linger.ms", "5")
    elif mode is Mode.REAL_TIME:
        writer = writer.outputMode("update").trigger(realTime=REAL_TIME_BATCH)
    else:
        writer = writer.outputMode("append").option("kafka.linger.ms", "5")
    return writer.start()


def _source_rows(session: Any, source: NativeSource, settings: Settings, begins: Begins, mode: Mode) -> Any:
    """Topic, partition, offset and headers of each record, and its bytes as `_key` and `_value`."""
    places = {topic: sorted(number for name, number in begins if name == topic) for topic in source.topics}
    offsets = {topic: {str(number): begins[topic, number] for number in places[topic]} for topic in source.topics}
    reader = session.readStream.format("kafka")
    for name, value in settings.java().items():
        reader = reader.option(f"kafka.{name}", value)
    reader = (
        reader.option("kafka.isolation.level", settings.isolation_level)
        # After every poll Spark asks the broker twice how far the log reaches: few, large polls.
        .option("kafka.max.poll.records", "100000")
        .option("kafka.max.partition.fetch.bytes", str(8 << 20))
        .option("assign", json.dumps(places))
        .option("startingOffsets", json.dumps(offsets))
        .option("failOnDataLoss", "true")
        .option("includeHeaders", "true")
    )
    if mode is not Mode.REAL_TIME:
        reader = reader.option("kafka.fetch.max.wait.ms", "2")  # a batch ends at a known offset: never wait for more
        reader = reader.option("maxOffsetsPerTrigger", str(settings.max_records_per_batch))
    # Records of a negative time are dropped, as in the task lane.
    timed = reader.load().where("timestamp >= timestamp_millis(0)")
    return timed.selectExpr(
        "topic AS _topic",
        "partition AS _partition",
        "offset AS _offset",
        "headers AS _headers",
        "key AS _key",
        "value AS _value",
        "timestamp AS _timestamp",
    )


def counted(frame: Any, count: Count) -> Any:
    """How often each key was seen, by window where there are any: one row for each that a batch changed."""
    from pyspark.sql import functions

    key = "key"
    groups: list[Any] = ["topic", "key"]
    if count.windows is not None:
        size, advance, grace = (
            f"{ms} milliseconds" for ms in (count.windows.size, count.windows.advance, count.windows.grace)
        )
        frame = frame.withWatermark("timestamp", grace)
        groups.append(functions.window("timestamp", size, advance))
        key = "concat(key, unhex(lpad(hex(unix_millis(window.start)), 16, '0')))"
    counts = frame.groupBy(*groups).count()
    return counts.selectExpr("topic", f"{key} AS key", "unhex(lpad(hex(count), 16, '0')) AS value")


def results_of(rows: Any, source: NativeSource, handlers: Handlers, timed: bool = False) -> Any:
    """What is written for these rows: topic, key, value, headers; the record's time too where `timed`. Works on any
    DataFrame of such rows.
    """
    passed = {"headers": "_headers", **({"timestamp": "_timestamp"} if timed else {})}
    for name, sql in source.parsed:
        rows = rows.selectExpr("*", f"{sql} AS {name}")
    rows = rows.selectExpr("*", f"{source.bad or 'FALSE'} AS _bad")
    on_bad = handlers.deserialization
    if source.bad is not None and on_bad is not OnError.FAIL:
        from pyspark.sql import functions

        rows = rows.observe(f"{COUNTED} {source.node}", functions.expr("count_if(_bad)").alias(UNREADABLE))
    for bound in source.columns:
        rows = rows.selectExpr("*", f"{bound.key} AS key", f"{bound.value} AS value")
        rows = rows.withColumn(bound.name, bound.column).drop("key", "value")
    readable = "NOT _bad" if on_bad is not OnError.FAIL else f"IF(_bad, {_complaint()}, TRUE)"
    outputs = source.outputs
    if on_bad is OnError.DEAD_LETTER and source.bad is not None:
        letter = _letter(source, handlers)
        return _several(rows, [letter, *(_result(output, passed, "NOT _bad") for output in outputs)])
    if len(outputs) == 1:
        output = outputs[0]
        kept = rows.where(readable if output.where is None else f"{readable} AND {output.where}")
        return kept.selectExpr(*(f"{sql} AS {name}" for name, sql in _columns(output, passed).items()))
    return _several(rows.where(readable), [_result(output, passed) for output in outputs])


def _several(rows: Any, results: list[str]) -> Any:
    """One row for each result that is not null, in this order; the record is read and parsed once."""
    return rows.selectExpr(f"inline(array({', '.join(results)}))").where("topic IS NOT NULL")


def _columns(output: Output, passed: Mapping[str, str]) -> dict[str, str]:
    return {"topic": text_literal(output.topic), "key": output.key, "value": output.value, **passed}


def _result(output: Output, passed: Mapping[str, str], condition: str | None = None) -> str:
    fields = ", ".join(f"'{name}', {sql}" for name, sql in _columns(output, passed).items())
    made = f"named_struct({fields})"
    conditions = " AND ".join(one for one in (condition, output.where) if one is not None)
    return f"CASE WHEN {conditions} THEN {made} END" if conditions else made


def _complaint() -> str:
    """Fails the query with the place of the record; the driver then says what is wrong with it."""
    place = "to_json(named_struct('topic', _topic, 'partition', _partition, 'offset', _offset))"
    return f"CAST(raise_error(concat('{BAD_RECORD} ', {place})) AS BOOLEAN)"


def _letter(source: NativeSource, handlers: Handlers) -> str:
    """A dead letter: the record as it came, with the reason in headers of Kafka Streams' names."""
    reasons = {
        "__streams.errors.exception": text_literal("caudal.serde.serde.SerdeError"),
        "__streams.errors.message": text_literal(f"{source.node} cannot read it with {source.reads}."),
        "__streams.errors.topic": "_topic",
        "__streams.errors.partition": "CAST(_partition AS STRING)",
        "__streams.errors.offset": "CAST(_offset AS STRING)",
    }
    added = ", ".join(
        f"named_struct('key', {text_literal(name)}, 'value', CAST({sql} AS BINARY))" for name, sql in reasons.items()
    )
    headers = f"concat(coalesce(_headers, array()), array({added}))"
    topic = text_literal(handlers.dead_letter_topic or "")
    return f"CASE WHEN _bad THEN named_struct('topic', {topic}, 'key', _key, 'value', _value, 'headers', {headers}) END"
