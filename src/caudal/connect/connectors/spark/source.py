"""SparkSource: any Spark data source into a topic.

What Spark can stream (files of a folder, rate, …) runs as a Structured Streaming query. What it can only read (jdbc) is
read again and again, by a column that grows. Exactly once either way: a batch's records, and its number or last value,
go to the cluster in one transaction; the number is kept as an offset of the group `connect-NAME`, so that a batch that
is repeated after a failure is left out. Rows become values by the connector's converters, with the table's schema.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Mapping
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, as_text, config_def
from caudal.connect.connector import JobTask, SourceConnector
from caudal.connect.connector_config import worker_settings
from caudal.connect.connectors.spark.columns import connect_schema
from caudal.connect.connectors.spark.following import follow
from caudal.connect.connectors.spark.jdbc import query_id
from caudal.connect.connectors.spark.settings import (
    SHARED,
    checkpoint_location,
    options,
    spark_session,
    trigger_arguments,
    why,
)
from caudal.connect.connectors.spark.sink import check_places
from caudal.connect.connectors.spark.topic_writer import TopicWriter
from caudal.connect.errors import ConfigError, ConnectError


class SparkSourceTask(JobTask):
    def start(self, config: dict[str, Any]) -> None:
        self._config = config
        self._texts = {name: text for name, value in config.items() if (text := as_text(value)) is not None}

    def run(self) -> None:
        self.context.report_topic(self._config["topic"])
        with spark_session(self._config) as spark:
            writer = TopicWriter(self._texts, worker_settings(self._config), self._config)
            try:
                if self._config["incrementing.column"]:
                    self._read_again_and_again(spark, writer)
                else:
                    self._stream(spark, writer)
            finally:
                writer.close()

    def _stream(self, spark: Any, writer: TopicWriter) -> None:
        config = self._config
        try:
            reader = spark.readStream.format(config["format"]).options(**options(config))
            if config["schema"]:
                reader = reader.schema(config["schema"])
            else:
                spark.conf.set("spark.sql.streaming.schemaInference", "true")
            rows = reader.load(config["path"]) if config["path"] else reader.load()
        except Exception as error:
            raise ConnectError(f"Spark cannot read {config['path'] or config['format']}: {why(error)}") from None
        schema = connect_schema(rows.schema, config["topic"])
        writer.use(schema)
        checkpoint = checkpoint_location(config)

        def write(batch: Any, number: int) -> None:
            life = query_id(spark, checkpoint)
            done = writer.position()
            if done is not None and done[1].get("query") == life and done[0] > number:
                return
            written = writer.write(batch.toArrow().to_batches(), number + 1, {"query": life})
            self.context.report_progress(written)

        query = (
            rows.writeStream.foreachBatch(write)
            .queryName(f"connect-{config['name']}")
            .option("checkpointLocation", checkpoint)
            .trigger(**trigger_arguments(config["trigger"]))
            .start()
        )
        follow(query, self.context, config, tell=False, writes=[config["topic"]])

    def _read_again_and_again(self, spark: Any, writer: TopicWriter) -> None:
        from pyspark.sql import functions

        config, column = self._config, self._config["incrementing.column"]
        seconds = _seconds(config["trigger"])
        while not self.context.stopping.is_set():
            try:
                reader = spark.read.format(config["format"]).options(**options(config))
                rows = reader.load(config["path"]) if config["path"] else reader.load()
                # Other databases fold names to their own case; Spark finds a column in any.
                name = next((one for one in rows.columns if one.lower() == column.lower()), None)
                if name is None:
                    raise ConfigError(f"there is no column {column}; there are {', '.join(rows.columns)}")
                position = writer.position()
                if position is not None:
                    rows = rows.filter(functions.col(name) > functions.lit(_restored(position[1]["last"])))
                rows = rows.filter(functions.col(name).isNotNull()).orderBy(name).limit(config["max.rows.per.batch"])
                table = rows.toArrow()
            except ConnectError:
                raise
            except Exception as error:
                raise ConnectError(f"Spark cannot read {config['path'] or config['format']}: {why(error)}") from None
            if table.num_rows:
                writer.use(connect_schema(rows.schema, config["topic"]))
                last = _kept(table.column(name)[-1].as_py())
                number = 1 if position is None else position[0] + 1
                self.context.report_progress(writer.write(table.to_batches(), number, {"last": last}))
            elif seconds is None:
                return
            else:
                self.context.stopping.wait(seconds)


def _seconds(trigger: str) -> float | None:
    """
    >>> _seconds("500 milliseconds"), _seconds("2 minutes"), _seconds("available now")
    (0.5, 120.0, None)
    """
    if trigger.replace("-", " ").lower() == "available now":
        return None
    count, unit = trigger.split()
    return int(count) * {"millisecond": 0.001, "second": 1.0, "minute": 60.0, "hour": 3600.0}[unit.removesuffix("s")]


def _kept(value: Any) -> Any:
    """JSON that tells its type: the last value is compared with the column again."""
    if isinstance(value, datetime.datetime):
        return {"time": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    if isinstance(value, decimal.Decimal):
        return {"decimal": str(value)}
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        return value
    raise ConfigError(f"values of the type {type(value).__name__} do not grow", "incrementing.column")


def _restored(kept: Any) -> Any:
    if not isinstance(kept, dict):
        return kept
    ((kind, text),) = kept.items()
    if kind == "decimal":
        return decimal.Decimal(text)
    return datetime.datetime.fromisoformat(text) if kind == "time" else datetime.date.fromisoformat(text)


class SparkSource(SourceConnector):
    """Any Spark data source into a topic."""

    task = SparkSourceTask

    @classmethod
    def config(cls) -> ConfigDef:
        return SHARED + config_def(
            Key(name="topic", importance=Importance.HIGH, doc="Where the rows go."),
            Key(
                name="schema",
                default=None,
                doc="Of the rows, as Spark writes it: id BIGINT, name STRING. Else guessed.",
            ),
            Key(name="key.column", default=None, doc="The column that becomes the records' key."),
            Key(
                name="incrementing.column",
                default=None,
                importance=Importance.HIGH,
                doc="For formats that Spark cannot stream (jdbc): a column whose values are unique and only grow.",
            ),
            Key(
                name="max.rows.per.batch",
                type=Type.INT,
                default=100_000,
                minimum=1,
                importance=Importance.LOW,
                doc="With incrementing.column: how many rows one transaction has, at most.",
            ),
        )

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        errors = check_places(config) if not config["incrementing.column"] else {}
        if str(config["format"]).lower() == "jdbc" and not config["incrementing.column"]:
            errors = {"incrementing.column": ["format=jdbc cannot be streamed; name a column that only grows"]}
        return errors

    def task_configs(self, most: int) -> list[dict[str, str]]:
        """One: Spark itself divides the work."""
        return [dict(self.context.config)]

    def exactly_once_support(self, config: Mapping[str, Any]) -> bool | None:
        return True
