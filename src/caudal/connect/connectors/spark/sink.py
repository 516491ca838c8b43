"""SparkSink: topics into any Spark data sink, as a Structured Streaming query.

Columns are the fields of the values, by the connector's converter. Exactly once for files (Spark's own log of them,
`_spark_metadata`: what reads the folder must honour it, as Spark does) and for JDBC (`jdbc.py`); other formats give
what Spark's sink of that name gives. The query's checkpoint is its position: with a new one it begins anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, as_text, config_def
from caudal.connect.connector import JobTask, SinkConnector
from caudal.connect.connector_config import worker_settings
from caudal.connect.connectors.spark.decoding import CHANGED, decoder, union, with_metadata
from caudal.connect.connectors.spark.following import follow
from caudal.connect.connectors.spark.jdbc import JdbcBatches
from caudal.connect.connectors.spark.peeking import peek
from caudal.connect.connectors.spark.settings import (
    SHARED,
    check_local_places,
    checkpoint_location,
    options,
    spark_session,
    trigger_arguments,
)
from caudal.connect.data import Schema
from caudal.connect.errors import ConfigError, ConnectError

SCHEMA_CHANGES = 100  # in one run


class SparkSinkTask(JobTask):
    def start(self, config: dict[str, Any]) -> None:
        self._config = config
        # For the workers: everything as text, so that they can make the same converter.
        self._texts = {name: text for name, value in config.items() if (text := as_text(value)) is not None}

    def run(self) -> None:
        schema: Schema | None = None
        with spark_session(self._config) as spark:
            for _ in range(SCHEMA_CHANGES):
                found = peek(self._config, self._texts, self.context)
                if found is None:
                    return
                schema = union(schema, found)
                query = self._start(spark, schema)
                try:
                    follow(query, self.context, self._config, reads=self._topics())
                    return
                except ConnectError as error:
                    if CHANGED not in str(error):
                        raise
            raise ConnectError(f"{CHANGED} {SCHEMA_CHANGES} times in this run; restart the task if that is meant.")

    def _start(self, spark: Any, schema: Schema) -> Any:
        from caudal.connect.connectors.spark.columns import spark_type

        config = self._config
        rows = self._rows(spark)
        metadata = config["metadata.columns"]
        columns = with_metadata(spark_type(schema), metadata)
        table = rows.mapInArrow(decoder(self._texts, schema, metadata), columns)
        given = options(config)
        writer = (
            table.writeStream.outputMode("append")
            .queryName(f"connect-{config['name']}")
            .option("checkpointLocation", checkpoint_location(config))
            .trigger(**trigger_arguments(config["trigger"]))
        )
        partitioned = list(config["partition.by"] or ())
        if missing := [name for name in partitioned if name not in columns.names]:
            raise ConfigError(f"there is no column {missing[0]}; there are {', '.join(columns.names)}", "partition.by")
        if config["format"].lower() == "jdbc":
            return writer.foreachBatch(JdbcBatches(spark, config["name"], given, checkpoint_location(config))).start()
        if config["write.mode"] == "batch":

            def write(batch: Any, number: int) -> None:
                one = batch.write.format(config["format"]).options(**given).mode("append")
                one = one.partitionBy(*partitioned) if partitioned else one
                one.save(config["path"]) if config["path"] else one.save()

            return writer.foreachBatch(write).start()
        writer = writer.format(config["format"]).options(**given)
        writer = writer.partitionBy(*partitioned) if partitioned else writer
        return writer.start(config["path"]) if config["path"] else writer.start()

    def _topics(self) -> list[str]:
        """By name; a pattern has none."""
        topics = self._config.get("topics") or ()
        return [name.strip() for name in (topics.split(",") if isinstance(topics, str) else topics)]

    def _rows(self, spark: Any) -> Any:
        from caudal.runtime.spark.settings import java_client

        config, worker = self._config, worker_settings(self._config)
        reader = spark.readStream.format("kafka")
        for name, value in java_client(worker.bootstrap, worker.client).items():
            reader = reader.option(f"kafka.{name}", value)
        if config.get("topics.regex"):
            reader = reader.option("subscribePattern", config["topics.regex"])
        else:
            for name in self._topics():
                self.context.report_topic(name)
            reader = reader.option("subscribe", ",".join(self._topics()))
        return (
            reader.option("kafka.isolation.level", "read_committed")
            .option("startingOffsets", "earliest")
            .option("failOnDataLoss", "true")
            .option("maxOffsetsPerTrigger", str(config["max.records.per.batch"]))
            .load()
            .select("topic", "partition", "offset", "timestamp", "value")
        )


class SparkSink(SinkConnector):
    """Topics into any Spark data sink."""

    task = SparkSinkTask
    delivery = "exactly once for files (Spark's log of them) and JDBC (by batch number); else as the format's sink"

    @classmethod
    def config(cls) -> ConfigDef:
        return SHARED + config_def(
            Key(
                name="partition.by",
                type=Type.LIST,
                default=[],
                importance=Importance.MEDIUM,
                doc="Columns whose values become folders.",
            ),
            Key(
                name="metadata.columns",
                type=Type.BOOLEAN,
                default=False,
                importance=Importance.LOW,
                doc="Adds kafka_topic, kafka_partition, kafka_offset and kafka_timestamp.",
            ),
            Key(
                name="write.mode",
                default="stream",
                choices=("stream", "batch"),
                importance=Importance.LOW,
                doc="batch: for formats that Spark cannot stream to; each batch is written at least once.",
            ),
            Key(
                name="max.records.per.batch",
                type=Type.LONG,
                default=500_000,
                minimum=1,
                importance=Importance.LOW,
                doc="How many records a batch reads, at most.",
            ),
        )

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        return check_places(config)

    def task_configs(self, most: int) -> list[dict[str, str]]:
        """One: Spark itself divides the work."""
        return [dict(self.context.config)]


def check_places(config: Mapping[str, Any]) -> dict[str, list[str]]:
    errors: dict[str, list[str]] = {}
    kind = str(config["format"]).lower()
    if kind in ("parquet", "json", "csv", "orc", "text") and not config["path"]:
        errors["path"] = [f"format={kind} needs the folder"]
    elif not config["path"] and not config["checkpoint.location"]:
        errors["checkpoint.location"] = ["a folder for the query's position is needed where there is no path"]
    try:
        check_local_places(config)
    except ConfigError as error:
        errors.setdefault(error.key or "path", []).append(str(error))
    return errors
