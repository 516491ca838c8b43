"""The topic properties of Kafka 4.3, with Kafka's names, defaults and limits; the sentences are ours.

Four more are Confluent Server's (`confluent.…`): the check that records carry a registered schema.

Tiered storage does not exist here: its properties are accepted at their defaults only where they would change
something (`remote.storage.enable=true` is refused when a topic is created or altered).
"""

from __future__ import annotations

from typing import Final

from caudal.broker.config.definition import (
    INT_MAX,
    LONG_MAX,
    ConfigDef,
    ConfigType,
    Limit,
    at_least,
    between,
    items_of,
    one_of,
    table,
)
from caudal.broker.schemas.subjects import STRATEGIES, TOPIC_NAME

_HOUR: Final = 3_600_000
_MINUTE: Final = 60_000
_DAY: Final = 24 * _HOUR

COMPRESSION_TYPES: Final = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
GZIP_LEVEL: Final = Limit(lambda level: level == -1 or 1 <= level <= 9, "-1 or between 1 and 9")
LZ4_LEVEL: Final = between(1, 17)
ZSTD_LEVEL: Final = between(-131072, 22)
SUBJECT_STRATEGY: Final = one_of(*STRATEGIES)


def _throttled(value: list[str]) -> bool:
    """`*`, nothing, or partition:broker pairs, as reassignment tools write them."""
    if value in ([], ["*"]):
        return True
    return all(len(pair) == 2 and all(part.isdigit() for part in pair) for pair in (item.split(":") for item in value))


_THROTTLED: Final = Limit(_throttled, "* or a list of partition:broker pairs")

TOPIC_DEFS: Final = table(
    [
        ConfigDef(
            name="cleanup.policy",
            type=ConfigType.LIST,
            default=["delete"],
            limit=items_of("compact", "delete", allow_empty=True),
            synonyms=(("log.cleanup.policy", 1),),
            doc="What happens to old segments: 'delete' drops them by age and size, 'compact' keeps the last value of "
            "every key, and both together do both. An empty list keeps everything.",
        ),
        ConfigDef(
            name="compression.gzip.level",
            type=ConfigType.INT,
            default=-1,
            limit=GZIP_LEVEL,
            synonyms=(("compression.gzip.level", 1),),
            doc="Level used when this topic is stored as gzip; -1 leaves the choice to the library.",
        ),
        ConfigDef(
            name="compression.lz4.level",
            type=ConfigType.INT,
            default=9,
            limit=LZ4_LEVEL,
            synonyms=(("compression.lz4.level", 1),),
            doc="Level used when this topic is stored as lz4.",
        ),
        ConfigDef(
            name="compression.type",
            type=ConfigType.STRING,
            default="producer",
            limit=one_of(*COMPRESSION_TYPES),
            synonyms=(("compression.type", 1),),
            doc="Codec in which records are stored. 'producer' stores each batch as it arrives; 'uncompressed' or a "
            "codec's name recompresses batches that arrive otherwise.",
        ),
        ConfigDef(
            name="compression.zstd.level",
            type=ConfigType.INT,
            default=3,
            limit=ZSTD_LEVEL,
            synonyms=(("compression.zstd.level", 1),),
            doc="Level used when this topic is stored as zstd.",
        ),
        ConfigDef(
            name="confluent.key.schema.validation",
            type=ConfigType.BOOLEAN,
            default=False,
            doc="Takes a record only if its key begins with the id of a schema that is registered under the topic's "
            "subject. A null is taken.",
        ),
        ConfigDef(
            name="confluent.key.subject.name.strategy",
            type=ConfigType.STRING,
            default=TOPIC_NAME,
            limit=SUBJECT_STRATEGY,
            doc="Under which subject the schema of a key must be registered, when it is checked.",
        ),
        ConfigDef(
            name="confluent.value.schema.validation",
            type=ConfigType.BOOLEAN,
            default=False,
            doc="Takes a record only if its value begins with the id of a schema that is registered under the topic's "
            "subject. A null is taken.",
        ),
        ConfigDef(
            name="confluent.value.subject.name.strategy",
            type=ConfigType.STRING,
            default=TOPIC_NAME,
            limit=SUBJECT_STRATEGY,
            doc="Under which subject the schema of a value must be registered, when it is checked.",
        ),
        ConfigDef(
            name="delete.retention.ms",
            type=ConfigType.LONG,
            default=_DAY,
            limit=at_least(0),
            synonyms=(("log.cleaner.delete.retention.ms", 1),),
            doc="How long a compacted topic keeps a tombstone after cleaning, so that a reader which started before "
            "still learns that the key is gone.",
        ),
        ConfigDef(
            name="file.delete.delay.ms",
            type=ConfigType.LONG,
            default=_MINUTE,
            limit=at_least(0),
            synonyms=(("log.segment.delete.delay.ms", 1),),
            doc="Time between dropping a segment from the log and removing its files.",
        ),
        ConfigDef(
            name="flush.messages",
            type=ConfigType.LONG,
            default=LONG_MAX,
            limit=at_least(1),
            synonyms=(("log.flush.interval.messages", 1),),
            doc="Forces written records to the device after this many of them; the default leaves it to the "
            "operating system.",
        ),
        ConfigDef(
            name="flush.ms",
            type=ConfigType.LONG,
            default=LONG_MAX,
            limit=at_least(0),
            synonyms=(("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1)),
            doc="Forces written records to the device after this time; the default leaves it to the operating system.",
        ),
        ConfigDef(
            name="follower.replication.throttled.replicas",
            type=ConfigType.LIST,
            default=[],
            limit=_THROTTLED,
            acted_on=False,
            doc="Replicas whose fetching as a follower counts against the follower throttle.",
        ),
        ConfigDef(
            name="index.interval.bytes",
            type=ConfigType.INT,
            default=4096,
            limit=at_least(0),
            synonyms=(("log.index.interval.bytes", 1),),
            doc="One entry goes into the offset index for about this many bytes of records: smaller finds offsets "
            "faster, larger keeps indexes small.",
        ),
        ConfigDef(
            name="leader.replication.throttled.replicas",
            type=ConfigType.LIST,
            default=[],
            limit=_THROTTLED,
            acted_on=False,
            doc="Replicas whose serving as a leader counts against the leader throttle.",
        ),
        ConfigDef(
            name="local.retention.bytes",
            type=ConfigType.LONG,
            default=-2,
            limit=at_least(-2),
            synonyms=(("log.local.retention.bytes", 1),),
            acted_on=False,
            doc="Size of the part kept on local disk when a topic is tiered; -2 means retention.bytes.",
        ),
        ConfigDef(
            name="local.retention.ms",
            type=ConfigType.LONG,
            default=-2,
            limit=at_least(-2),
            synonyms=(("log.local.retention.ms", 1),),
            acted_on=False,
            doc="Age of the part kept on local disk when a topic is tiered; -2 means retention.ms.",
        ),
        ConfigDef(
            name="max.compaction.lag.ms",
            type=ConfigType.LONG,
            default=LONG_MAX,
            limit=at_least(1),
            synonyms=(("log.cleaner.max.compaction.lag.ms", 1),),
            doc="Longest time a record of a compacted topic may stay uncleaned.",
        ),
        ConfigDef(
            name="max.message.bytes",
            type=ConfigType.INT,
            default=1_048_588,
            limit=at_least(0),
            synonyms=(("message.max.bytes", 1),),
            doc="Largest record batch accepted, after compression.",
        ),
        ConfigDef(
            name="message.timestamp.after.max.ms",
            type=ConfigType.LONG,
            default=_HOUR,
            limit=at_least(0),
            synonyms=(("log.message.timestamp.after.max.ms", 1),),
            doc="How far ahead of the broker's clock a record's own timestamp may be before the batch is refused. "
            "Without effect when the broker stamps the records.",
        ),
        ConfigDef(
            name="message.timestamp.before.max.ms",
            type=ConfigType.LONG,
            default=LONG_MAX,
            limit=at_least(0),
            synonyms=(("log.message.timestamp.before.max.ms", 1),),
            doc="How far behind the broker's clock a record's own timestamp may be before the batch is refused. "
            "Without effect when the broker stamps the records.",
        ),
        ConfigDef(
            name="message.timestamp.type",
            type=ConfigType.STRING,
            default="CreateTime",
            limit=one_of("CreateTime", "LogAppendTime"),
            synonyms=(("log.message.timestamp.type", 1),),
            doc="Whose clock a record carries: the producer's (CreateTime) or the broker's (LogAppendTime).",
        ),
        ConfigDef(
            name="min.cleanable.dirty.ratio",
            type=ConfigType.DOUBLE,
            default=0.5,
            limit=between(0, 1),
            synonyms=(("log.cleaner.min.cleanable.ratio", 1),),
            doc="A compacted log is cleaned once its uncleaned part is at least this share of it.",
        ),
        ConfigDef(
            name="min.compaction.lag.ms",
            type=ConfigType.LONG,
            default=0,
            limit=at_least(0),
            synonyms=(("log.cleaner.min.compaction.lag.ms", 1),),
            doc="Shortest time a record of a compacted topic stays uncleaned.",
        ),
        ConfigDef(
            name="min.insync.replicas",
            type=ConfigType.INT,
            default=1,
            limit=at_least(1),
            synonyms=(("min.insync.replicas", 1),),
            doc="Replicas that must be in sync for a write with acks=all to be taken; with fewer the producer gets "
            "an error.",
        ),
        ConfigDef(
            name="preallocate",
            type=ConfigType.BOOLEAN,
            default=False,
            synonyms=(("log.preallocate", 1),),
            doc="Reserves a segment's whole size on disk when it is created.",
        ),
        ConfigDef(
            name="remote.log.copy.disable",
            type=ConfigType.BOOLEAN,
            default=False,
            acted_on=False,
            doc="Stops copying new segments of a tiered topic.",
        ),
        ConfigDef(
            name="remote.log.delete.on.disable",
            type=ConfigType.BOOLEAN,
            default=False,
            acted_on=False,
            doc="Drops the tiered part of a topic when tiering is switched off.",
        ),
        ConfigDef(
            name="remote.storage.enable",
            type=ConfigType.BOOLEAN,
            default=False,
            limit=Limit(lambda value: not value, "false: this broker has no tiered storage"),
            acted_on=False,
            doc="Tiers the topic to remote storage.",
        ),
        ConfigDef(
            name="retention.bytes",
            type=ConfigType.LONG,
            default=-1,
            synonyms=(("log.retention.bytes", 1),),
            doc="Size of a partition above which its oldest segments are dropped, when cleanup.policy has 'delete'; "
            "-1 sets no limit.",
        ),
        ConfigDef(
            name="retention.ms",
            type=ConfigType.LONG,
            default=7 * _DAY,
            limit=at_least(-1),
            synonyms=(("log.retention.ms", 1), ("log.retention.minutes", _MINUTE), ("log.retention.hours", _HOUR)),
            doc="Age above which segments are dropped, when cleanup.policy has 'delete'; -1 sets no limit.",
        ),
        ConfigDef(
            name="segment.bytes",
            type=ConfigType.INT,
            default=1 << 30,
            limit=at_least(1 << 20),
            synonyms=(("log.segment.bytes", 1),),
            doc="Size at which a new segment file is begun. Retention and cleaning work on whole segments.",
        ),
        ConfigDef(
            name="segment.index.bytes",
            type=ConfigType.INT,
            default=10 << 20,
            limit=at_least(4),
            synonyms=(("log.index.size.max.bytes", 1),),
            doc="Largest size of a segment's offset index.",
        ),
        ConfigDef(
            name="segment.jitter.ms",
            type=ConfigType.LONG,
            default=0,
            limit=at_least(0),
            synonyms=(("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", _HOUR)),
            doc="Random time taken off segment.ms, so that many partitions do not roll together.",
        ),
        ConfigDef(
            name="segment.ms",
            type=ConfigType.LONG,
            default=7 * _DAY,
            limit=at_least(1),
            synonyms=(("log.roll.ms", 1), ("log.roll.hours", _HOUR)),
            doc="Age at which a new segment file is begun even if the old one is not full.",
        ),
        ConfigDef(
            name="unclean.leader.election.enable",
            type=ConfigType.BOOLEAN,
            default=False,
            synonyms=(("unclean.leader.election.enable", 1),),
            doc="Lets a replica that is not in sync become leader when no other is left, at the price of lost records.",
        ),
        ConfigDef(
            name="internal.segment.bytes",
            type=ConfigType.INT,
            default=None,
            limit=between(1, INT_MAX),
            internal=True,
            doc="Overrides segment.bytes without its lower limit, for tests that need tiny segments.",
        ),
    ]
)
