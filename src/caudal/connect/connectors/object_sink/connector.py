"""The object sink as a connector: its keys, Confluent's names for them, and the task."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfoNotFoundError

from caudal.connect.columns import ColumnRun
from caudal.connect.configuration import ConfigDef
from caudal.connect.connector import SinkConnector, SinkTask
from caudal.connect.connectors.object_sink import partitioners
from caudal.connect.connectors.object_sink.formats import format_named
from caudal.connect.connectors.object_sink.keys import KEYS, simple_name
from caudal.connect.connectors.object_sink.partition_writer import PartitionWriter, Rules
from caudal.connect.connectors.object_sink.storage import Storage, open_storage
from caudal.connect.errors import ConfigError, ConnectError, RetriableError
from caudal.connect.records import SinkRecord, TopicPartition


class ObjectSinkTask(SinkTask):
    """Encoding is work for the processor: a process of its own."""

    isolation = "process"

    def start(self, config: dict[str, Any]) -> None:
        self._rules = rules_of(config)
        self.takes_columns = self._rules.takes_columns
        self._writers: dict[TopicPartition, PartitionWriter] = {}
        self._failures, self._most_failures = 0, config["max.retries"]

    def open(self, partitions: set[TopicPartition]) -> None:
        for partition in partitions:
            self._writers[partition] = PartitionWriter(partition, self._rules, self.context.report_error)

    def close(self, partitions: set[TopicPartition]) -> None:
        for partition in partitions:
            if (writer := self._writers.pop(partition, None)) is not None:
                writer.close()

    def put(self, records: Sequence[SinkRecord]) -> None:
        for partition, run in _by_partition(records).items():
            self._writer(partition).take(run)
        self._write()

    def put_columns(self, runs: Sequence[ColumnRun]) -> None:
        for run in runs:
            self._writer(run.place).take_columns(run)
        self._write()

    def _write(self) -> None:
        try:
            for writer in self._writers.values():
                writer.write()
        except RetriableError as error:
            self._failures += 1
            if self._failures > self._most_failures:
                raise ConnectError(f"{error} Tried {self._failures} times (max.retries).") from error
            raise
        self._failures = 0

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        known = {partition: writer.committable for partition, writer in self._writers.items()}
        return {partition: offset for partition, offset in known.items() if offset is not None}

    def stop(self) -> None:
        for writer in getattr(self, "_writers", {}).values():
            writer.close()

    def _writer(self, partition: TopicPartition) -> PartitionWriter:
        writer = self._writers.get(partition)
        if writer is None:
            raise ConnectError(f"Records of {partition.topic}-{partition.partition} came, which was not opened.")
        return writer


class ObjectSink(SinkConnector):
    """Topics as files in a folder or an object store."""

    task = ObjectSinkTask
    aliases = (
        "io.confluent.connect.s3.S3SinkConnector",
        "io.confluent.connect.gcs.GcsSinkConnector",
        "io.confluent.connect.azure.blob.AzureBlobStorageSinkConnector",
        "FileSink",
        "S3Sink",
    )
    delivery = "exactly once (at least once with a clock: rotate.schedule.interval.ms, when a suspended task wakes)"

    @classmethod
    def config(cls) -> ConfigDef:
        return KEYS

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        try:
            rules_of(config)
        except ConfigError as error:
            return {error.key or "url": [str(error)]}
        return {}

    def start(self, config: dict[str, Any]) -> None:
        storage_of(config).probe()

    def task_configs(self, most: int) -> list[dict[str, str]]:
        """All alike: which partitions a task gets, the group decides."""
        return [dict(self.context.config) for _ in range(most)]


def rules_of(config: Mapping[str, Any]) -> Rules:
    """Raises ConfigError."""
    timestamp_of = partitioners.timestamps(config["timestamp.extractor"], config["timestamp.field"])
    topics_dir = config["topics.dir"].strip("/")
    if any(step in (".", "..") for step in topics_dir.split("/")):
        raise ConfigError("topics.dir: a path below the store's root is expected, without dots.", "topics.dir")
    return Rules(
        storage=storage_of(config),
        format=format_named(_format_name(config), config),
        topics_dir=f"{topics_dir}/" if topics_dir else "",
        folder_of=_folder_of(config, timestamp_of),
        flush_size=config["flush.size"],
        rotate_ms=config["rotate.interval.ms"],
        schedule_ms=config["rotate.schedule.interval.ms"],
        timestamp_of=timestamp_of,
        offset_digits=config["filename.offset.zero.pad.width"],
        compatibility=config["schema.compatibility"],
        ignore_null=config["behavior.on.null.values"] == "ignore",
    )


def storage_of(config: Mapping[str, Any]) -> Storage:
    url, options = config["url"], dict[str, Any]()
    key = "url"
    if not url:
        if not config["s3.bucket.name"]:
            raise ConfigError("url: say where the files go, such as url=/data/archive or url=s3://bucket.", "url")
        url, key = f"s3://{config['s3.bucket.name']}", "s3.bucket.name"
    if url.startswith(("s3://", "s3a://")):
        options["client_kwargs"] = {"region_name": config["s3.region"]} if config["s3.region"] else {}
        if config["store.url"]:
            options["endpoint_url"] = config["store.url"]
        if config["aws.access.key.id"]:
            options |= {"key": config["aws.access.key.id"], "secret": str(config["aws.secret.access.key"] or "")}
    if config["storage.options"]:
        try:
            options |= json.loads(config["storage.options"])
        except (ValueError, TypeError):
            raise ConfigError("storage.options: a JSON object is expected.", "storage.options") from None
    return open_storage(url, options, config, key)


def _format_name(config: Mapping[str, Any]) -> str:
    return simple_name(config["format.class"]) if config["format.class"] else str(config["format"])


def _folder_of(config: Mapping[str, Any], timestamp_of: partitioners.TimestampOf) -> partitioners.FolderOf:
    name = simple_name(config["partitioner.class"])
    if name == "default":
        return partitioners.by_partition
    if name == "field":
        if not config["partition.field.name"]:
            raise ConfigError("partition.field.name: name the fields that folders are made of.", "partition.field.name")
        return partitioners.by_fields(config["partition.field.name"])
    try:
        zone = partitioners.zone_named(config["timezone"])
    except (ZoneInfoNotFoundError, ValueError):
        raise ConfigError(f"timezone: {config['timezone']} is not a known time zone.", "timezone") from None
    match name:
        case "hourly":
            return partitioners.by_time(partitioners.HOURLY, 3_600_000, zone, timestamp_of)
        case "daily":  # by hours too: a day of the zone need not begin where one of UTC does
            return partitioners.by_time(partitioners.DAILY, 3_600_000, zone, timestamp_of)
    try:
        return partitioners.by_time(config["path.format"], config["partition.duration.ms"], zone, timestamp_of)
    except ValueError as error:
        raise ConfigError(f"path.format: {error}.", "path.format") from None


def _by_partition(records: Sequence[SinkRecord]) -> dict[TopicPartition, list[SinkRecord]]:
    """By where they lie in the cluster, in order."""
    runs: dict[TopicPartition, list[SinkRecord]] = {}
    topic, partition = None, -1
    append = list[SinkRecord]().append
    for record in records:
        if record.original is not None:
            of_topic, of_partition = record.original[:2]
        else:
            of_topic, of_partition = record.topic, record.partition
        if of_partition != partition or of_topic != topic:
            topic, partition = of_topic, of_partition
            append = runs.setdefault(TopicPartition(topic, partition), []).append
        append(record)
    return runs
