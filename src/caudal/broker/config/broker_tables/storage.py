"""Broker properties of logs: where they are, and the defaults of topics that do not say otherwise."""

from __future__ import annotations

from typing import Final

from caudal.broker.config.broker_tables.rows import (
    CLUSTER_WIDE,
    HIGH,
    LOW,
    PER_BROKER,
    boolean,
    class_name,
    double,
    integer,
    items,
    long,
    string,
)
from caudal.broker.config.definition import LONG_MAX, at_least, between, items_of, not_empty, one_of
from caudal.broker.config.topic_table import COMPRESSION_TYPES, GZIP_LEVEL, LZ4_LEVEL, ZSTD_LEVEL

_HOUR: Final = 3_600_000

STORAGE: Final = (
    items("log.dirs", None, "Folder of the data; when not set, log.dir is used.", not_empty(), importance=HIGH),
    items("log.dir", ["caudal-data"], "Folder of the data, secondary to log.dirs.", not_empty(), importance=HIGH),
    string(
        "metadata.log.dir", None, "Folder of the metadata; the data folder when not set.", importance=HIGH, idle=True
    ),
    items("cordoned.log.dirs", [], "Folders that take no new partitions.", scope=PER_BROKER, idle=True),
    integer("num.partitions", 1, "Partitions of a topic created without a number.", at_least(1)),
    boolean("auto.create.topics.enable", True, "Creates a topic when a client first asks for it.", importance=HIGH),
    boolean("delete.topic.enable", True, "Lets clients delete topics.", importance=HIGH),
    integer(
        "message.max.bytes",
        1_048_588,
        "Largest record batch accepted, for topics without max.message.bytes.",
        at_least(0),
        scope=CLUSTER_WIDE,
        importance=HIGH,
    ),
    string(
        "compression.type",
        "producer",
        "Codec in which topics store records, unless they say otherwise.",
        one_of(*COMPRESSION_TYPES),
        scope=CLUSTER_WIDE,
        importance=HIGH,
    ),
    integer("compression.gzip.level", -1, "Level for topics stored as gzip.", GZIP_LEVEL, scope=CLUSTER_WIDE),
    integer("compression.lz4.level", 9, "Level for topics stored as lz4.", LZ4_LEVEL, scope=CLUSTER_WIDE),
    integer("compression.zstd.level", 3, "Level for topics stored as zstd.", ZSTD_LEVEL, scope=CLUSTER_WIDE),
    integer(
        "min.insync.replicas",
        1,
        "Replicas that must be in sync for acks=all, for topics that do not say otherwise.",
        at_least(1),
        scope=CLUSTER_WIDE,
        importance=HIGH,
    ),
    # Segments.
    integer(
        "log.segment.bytes",
        1 << 30,
        "Size at which a new segment begins.",
        at_least(1 << 20),
        scope=CLUSTER_WIDE,
        importance=HIGH,
    ),
    long(
        "log.roll.ms",
        None,
        "Age at which a new segment begins; log.roll.hours when not set.",
        at_least(1),
        scope=CLUSTER_WIDE,
        importance=HIGH,
    ),
    integer("log.roll.hours", 168, "Age in hours at which a new segment begins.", at_least(1), importance=HIGH),
    long(
        "log.roll.jitter.ms",
        None,
        "Random time taken off log.roll.ms; log.roll.jitter.hours when not set.",
        at_least(0),
        scope=CLUSTER_WIDE,
        importance=HIGH,
    ),
    integer("log.roll.jitter.hours", 0, "Random hours taken off the roll age.", at_least(0), importance=HIGH),
    integer(
        "log.index.size.max.bytes", 10 << 20, "Largest offset index of a segment.", at_least(4), scope=CLUSTER_WIDE
    ),
    integer("log.index.interval.bytes", 4096, "Bytes of records per index entry.", at_least(0), scope=CLUSTER_WIDE),
    boolean("log.preallocate", False, "Reserves a segment's size when it is created.", scope=CLUSTER_WIDE),
    long(
        "log.segment.delete.delay.ms",
        60_000,
        "Time between dropping a segment and removing its files.",
        at_least(0),
        scope=CLUSTER_WIDE,
        importance=HIGH,
    ),
    # Retention.
    long(
        "log.retention.ms",
        None,
        "Age at which segments are dropped; log.retention.minutes when not set, -1 for never.",
        scope=CLUSTER_WIDE,
        importance=HIGH,
    ),
    integer("log.retention.minutes", None, "The same in minutes; log.retention.hours when not set.", importance=HIGH),
    integer("log.retention.hours", 168, "The same in hours.", importance=HIGH),
    long(
        "log.retention.bytes",
        -1,
        "Size of a partition above which its oldest segments are dropped; -1 for no limit.",
        scope=CLUSTER_WIDE,
        importance=HIGH,
    ),
    long("log.retention.check.interval.ms", 300_000, "Time between two looks for segments to drop.", at_least(1)),
    items(
        "log.cleanup.policy",
        ["delete"],
        "What happens to old segments of topics that do not say: delete, compact, or both.",
        items_of("compact", "delete", allow_empty=True),
        scope=CLUSTER_WIDE,
    ),
    long("log.local.retention.ms", -2, "Local age of tiered topics.", at_least(-2), scope=CLUSTER_WIDE, idle=True),
    long("log.local.retention.bytes", -2, "Local size of tiered topics.", at_least(-2), scope=CLUSTER_WIDE, idle=True),
    # Flushing.
    long(
        "log.flush.interval.messages",
        LONG_MAX,
        "Records after which a log is forced to the device.",
        at_least(1),
        scope=CLUSTER_WIDE,
        importance=HIGH,
    ),
    long(
        "log.flush.interval.ms",
        None,
        "Time after which a log is forced to the device; log.flush.scheduler.interval.ms when not set.",
        at_least(0),
        scope=CLUSTER_WIDE,
        importance=HIGH,
    ),
    long("log.flush.scheduler.interval.ms", LONG_MAX, "Time between two looks for logs to flush.", importance=HIGH),
    integer(
        "log.flush.offset.checkpoint.interval.ms",
        60_000,
        "Time between two notes of how far logs are safely on disk.",
        at_least(0),
        importance=HIGH,
    ),
    integer(
        "log.flush.start.offset.checkpoint.interval.ms",
        60_000,
        "Time between two notes of where logs begin.",
        at_least(0),
        importance=HIGH,
        idle=True,
    ),
    long("log.initial.task.delay.ms", 30_000, "Wait before log tasks begin.", at_least(0), importance=LOW, idle=True),
    integer(
        "num.recovery.threads.per.data.dir",
        2,
        "Threads that recover logs at the start.",
        at_least(1),
        scope=CLUSTER_WIDE,
        importance=HIGH,
        idle=True,
    ),
    long(
        "log.dir.failure.timeout.ms",
        30_000,
        "Wait before giving up on a failed folder.",
        at_least(1),
        importance=LOW,
        idle=True,
    ),
    # Timestamps.
    string(
        "log.message.timestamp.type",
        "CreateTime",
        "Whose clock records carry: the producer's (CreateTime) or the broker's (LogAppendTime).",
        one_of("CreateTime", "LogAppendTime"),
        scope=CLUSTER_WIDE,
    ),
    long(
        "log.message.timestamp.before.max.ms",
        LONG_MAX,
        "How far behind the broker's clock a record may be stamped.",
        at_least(0),
        scope=CLUSTER_WIDE,
    ),
    long(
        "log.message.timestamp.after.max.ms",
        _HOUR,
        "How far ahead of the broker's clock a record may be stamped.",
        at_least(0),
        scope=CLUSTER_WIDE,
    ),
    # Compaction.
    boolean("log.cleaner.enable", True, "Runs the cleaner of compacted topics."),
    integer("log.cleaner.threads", 1, "Cleaners at work at one time.", at_least(0), scope=CLUSTER_WIDE, idle=True),
    double(
        "log.cleaner.io.max.bytes.per.second",
        1.7976931348623157e308,
        "Bytes per second the cleaner may read and write.",
        scope=CLUSTER_WIDE,
    ),
    long("log.cleaner.dedupe.buffer.size", 128 << 20, "Memory of the cleaner's key map.", scope=CLUSTER_WIDE),
    integer(
        "log.cleaner.io.buffer.size", 512 << 10, "Buffers of the cleaner.", at_least(0), scope=CLUSTER_WIDE, idle=True
    ),
    double("log.cleaner.io.buffer.load.factor", 0.9, "How full the key map may get.", scope=CLUSTER_WIDE, idle=True),
    long(
        "log.cleaner.backoff.ms",
        15_000,
        "Rest of the cleaner when nothing is dirty.",
        at_least(0),
        scope=CLUSTER_WIDE,
    ),
    double(
        "log.cleaner.min.cleanable.ratio",
        0.5,
        "Dirty share of a log at which it is cleaned.",
        between(0, 1),
        scope=CLUSTER_WIDE,
    ),
    long(
        "log.cleaner.delete.retention.ms",
        24 * _HOUR,
        "How long tombstones outlive a cleaning.",
        at_least(0),
        scope=CLUSTER_WIDE,
    ),
    long(
        "log.cleaner.min.compaction.lag.ms",
        0,
        "Shortest time a record stays uncleaned.",
        at_least(0),
        scope=CLUSTER_WIDE,
    ),
    long(
        "log.cleaner.max.compaction.lag.ms",
        LONG_MAX,
        "Longest time a record stays uncleaned.",
        at_least(1),
        scope=CLUSTER_WIDE,
    ),
    # Policies.
    class_name(
        "create.topic.policy.class.name", None, "Java class asked before a topic is created.", importance=LOW, idle=True
    ),
    class_name(
        "alter.config.policy.class.name", None, "Java class asked before a config changes.", importance=LOW, idle=True
    ),
)
