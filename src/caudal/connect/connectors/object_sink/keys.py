"""The keys of the object sink. Those of Confluent's S3 sink have their names, so that its configurations work here."""

from __future__ import annotations

from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def
from caudal.connect.connectors.local_paths import ALLOWED_FOLDERS
from caudal.connect.connectors.object_sink.formats import FORMATS

_CLASSES = {
    "io.confluent.connect.s3.format.json.JsonFormat": "json",
    "io.confluent.connect.s3.format.avro.AvroFormat": "avro",
    "io.confluent.connect.s3.format.parquet.ParquetFormat": "parquet",
    "io.confluent.connect.s3.format.bytearray.ByteArrayFormat": "bytes",
    "io.confluent.connect.storage.partitioner.DefaultPartitioner": "default",
    "io.confluent.connect.storage.partitioner.FieldPartitioner": "field",
    "io.confluent.connect.storage.partitioner.TimeBasedPartitioner": "time",
    "io.confluent.connect.storage.partitioner.HourlyPartitioner": "hourly",
    "io.confluent.connect.storage.partitioner.DailyPartitioner": "daily",
}
_PARTITIONERS = ("default", "field", "time", "hourly", "daily")


def simple_name(given: str) -> str:
    """
    >>> simple_name("io.confluent.connect.s3.format.parquet.ParquetFormat"), simple_name("csv")
    ('parquet', 'csv')
    """
    return _CLASSES.get(given, given.lower())


def _named(names: tuple[str, ...]) -> Any:
    def validator(name: str, value: Any) -> None:
        if value and simple_name(value) not in names:
            raise ValueError(f"Expected one of {', '.join(names)}, or Confluent's class of that kind")

    return validator


def _one_character(name: str, value: Any) -> None:
    if value not in ("tab", "\\t", "comma", "semicolon", "pipe", "space") and len(value) != 1:
        raise ValueError("Expected one character, or tab, comma, semicolon, pipe or space")


KEYS: ConfigDef = config_def(
    Key(name="url", default="", importance=Importance.HIGH, group="Store",
        doc="Where files go: a local folder, s3://bucket/prefix, memory://… or any URL that fsspec writes to."),
    Key(name="s3.bucket.name", default="", importance=Importance.HIGH, group="Store", doc="Instead of url: a bucket."),
    Key(name="s3.region", default="", group="Store", doc="The region of the bucket; else the environment's."),
    Key(name="store.url", default="", group="Store", doc="The address of a store that speaks S3's protocol."),
    Key(name="aws.access.key.id", default="", group="Store", doc="Else the environment's credentials."),
    Key(name="aws.secret.access.key", type=Type.PASSWORD, default=None, group="Store", doc="Of aws.access.key.id."),
    Key(name="storage.options", type=Type.PASSWORD, default=None, group="Store",
        doc="Further options of the fsspec file system, as a JSON object."),
    Key(name="max.retries", type=Type.INT, default=10, minimum=0, group="Store",
        doc="How often in a row a store that fails is tried again, later and later, before the task fails."),
    Key(name="topics.dir", default="topics", group="Store", doc="The folder under which every topic has its own."),
    Key(name="format", default="json", choices=tuple(FORMATS), importance=Importance.HIGH, group="Format",
        doc="json (lines), csv, parquet, avro or bytes."),
    Key(name="format.class", default="", validator=_named(tuple(FORMATS)), group="Format",
        doc="The same by the class name of Confluent's sink; wins over format."),
    Key(name="compression.type", default="none", choices=("none", "gzip", "bzip2", "xz", "zstd"), group="Format",
        doc="Of json, csv and bytes."),
    Key(name="compression.level", type=Type.INT, default=None, group="Format", doc="Of compression.type."),
    Key(name="csv.header", type=Type.BOOLEAN, default=True, group="Format", doc="Whether files begin with the names."),
    Key(name="csv.delimiter", default=",", validator=_one_character, group="Format", doc="Between columns."),
    Key(name="parquet.codec", default="snappy", group="Format", doc="Compression of Parquet's pages.",
        choices=("none", "uncompressed", "snappy", "gzip", "zstd", "lz4")),
    Key(name="parquet.row.group.size", type=Type.INT, default=131_072, minimum=1, group="Format", doc="In records."),
    Key(name="avro.codec", default="null", choices=("null", "deflate", "bzip2", "snappy"), group="Format",
        doc="Compression of Avro's blocks."),
    Key(name="format.bytearray.extension", default="bin", group="Format", doc="Of files of format bytes."),
    Key(name="format.bytearray.separator", default="\\n", group="Format", doc="After each value of format bytes."),
    Key(name="flush.size", type=Type.INT, minimum=1, importance=Importance.HIGH, group="Files",
        doc="After how many records of a partition its files are written."),
    Key(name="rotate.interval.ms", type=Type.LONG, default=-1, group="Files",
        doc="Also when a record is this much later than the first of its files, by timestamp.extractor."),
    Key(name="rotate.schedule.interval.ms", type=Type.LONG, default=-1, group="Files",
        doc="Also by the clock. Then which records share a file is chance, though none is lost."),
    Key(name="schema.compatibility", default="NONE", choices=("NONE", "BACKWARD", "FORWARD", "FULL"), group="Files",
        doc="What a change of schema does: a new file (NONE), or a projection of older or newer records."),
    Key(name="behavior.on.null.values", default="fail", choices=("fail", "ignore"), group="Files",
        doc="What is done with tombstones."),
    Key(name="filename.offset.zero.pad.width", type=Type.INT, default=10, minimum=0, maximum=20, group="Files",
        doc="How many digits the offset in a file's name has at least."),
    Key(name="partitioner.class", default="default", validator=_named(_PARTITIONERS), group="Folders",
        doc="default (partition=N), field, time, hourly or daily, or Confluent's classes."),
    Key(name="partition.field.name", type=Type.LIST, default="", group="Folders", doc="The fields of field, in order."),
    Key(name="path.format", default="'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH", group="Folders",
        doc="The folders of time, by Joda's letters, words in quotes."),
    Key(name="partition.duration.ms", type=Type.LONG, default=3_600_000, minimum=1, group="Folders",
        doc="How long a folder of time lasts."),
    Key(name="timezone", default="UTC", group="Folders", doc="The zone of folders by time."),
    Key(name="locale", default="", group="Folders", doc="For Confluent's configurations; names of months are English."),
    Key(name="timestamp.extractor", default="Record", choices=("Record", "RecordField", "Wallclock"), group="Folders",
        doc="Which time counts: the record's, that of timestamp.field, or now (then no exactly once)."),
    Key(name="timestamp.field", default="timestamp", group="Folders", doc="The field of RecordField."),
    ALLOWED_FOLDERS,
)  # fmt: skip
