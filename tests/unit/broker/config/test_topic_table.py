"""The topic properties: complete, and with Kafka 4.3's defaults and limits."""

from __future__ import annotations

import pytest

from caudal.broker.config import BrokerConfig, ConfigError
from caudal.broker.config.broker_tables import BROKER_DEFS
from caudal.broker.config.topic_table import TOPIC_DEFS

# Name → default as DescribeConfigs of Apache Kafka 4.3 shows it.
KAFKA = {
    "cleanup.policy": "delete",
    "compression.gzip.level": "-1",
    "compression.lz4.level": "9",
    "compression.type": "producer",
    "compression.zstd.level": "3",
    "delete.retention.ms": "86400000",
    "file.delete.delay.ms": "60000",
    "flush.messages": "9223372036854775807",
    "flush.ms": "9223372036854775807",
    "follower.replication.throttled.replicas": "",
    "index.interval.bytes": "4096",
    "leader.replication.throttled.replicas": "",
    "local.retention.bytes": "-2",
    "local.retention.ms": "-2",
    "max.compaction.lag.ms": "9223372036854775807",
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": "9223372036854775807",
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "1",
    "preallocate": "false",
    "remote.log.copy.disable": "false",
    "remote.log.delete.on.disable": "false",
    "remote.storage.enable": "false",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.index.bytes": "10485760",
    "segment.jitter.ms": "0",
    "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}
CONFLUENT = {
    "confluent.key.schema.validation": "false",
    "confluent.key.subject.name.strategy": "io.confluent.kafka.serializers.subject.TopicNameStrategy",
    "confluent.value.schema.validation": "false",
    "confluent.value.subject.name.strategy": "io.confluent.kafka.serializers.subject.TopicNameStrategy",
}


def test_names_and_defaults_are_kafkas() -> None:
    ours = {name: d.format(d.default) for name, d in TOPIC_DEFS.items() if not d.internal}
    assert ours == KAFKA | CONFLUENT


@pytest.mark.parametrize("definition", TOPIC_DEFS.values(), ids=lambda d: d.name)
def test_every_property_is_documented_and_its_default_allowed(definition) -> None:  # type: ignore[no-untyped-def]
    assert definition.doc.endswith(".")
    if definition.default is not None:
        definition.parse(definition.format(definition.default))


def test_defaults_agree_with_the_broker_property_behind_them() -> None:
    """A topic without overrides on a broker without properties has the topic table's defaults."""
    config = BrokerConfig()
    assert {name: config.topic_value(name, {}) for name in KAFKA} == KAFKA
    for definition in TOPIC_DEFS.values():
        assert all(synonym in BROKER_DEFS for synonym, _ in definition.synonyms)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("cleanup.policy", "delete,shrink"),
        ("compression.type", "brotli"),
        ("compression.gzip.level", "0"),
        ("compression.lz4.level", "18"),
        ("compression.zstd.level", "23"),
        ("segment.bytes", "1000"),
        ("segment.ms", "0"),
        ("retention.ms", "-2"),
        ("max.message.bytes", "-1"),
        ("min.insync.replicas", "0"),
        ("min.cleanable.dirty.ratio", "1.1"),
        ("message.timestamp.type", "createtime"),
        ("max.compaction.lag.ms", "0"),
        ("flush.messages", "0"),
        ("leader.replication.throttled.replicas", "0:1,x"),
        ("remote.storage.enable", "true"),
        ("preallocate", "1"),
    ],
)
def test_values_that_kafka_refuses(name: str, bad: str) -> None:
    with pytest.raises(ConfigError, match=name):
        BrokerConfig().check_topic({name: bad})


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("cleanup.policy", "compact, delete"),
        ("cleanup.policy", ""),
        ("compression.type", "uncompressed"),
        ("retention.ms", "-1"),
        ("retention.bytes", "-1"),
        ("leader.replication.throttled.replicas", "*"),
        ("leader.replication.throttled.replicas", "0:1,1:2"),
        ("internal.segment.bytes", "100"),
    ],
)
def test_values_that_kafka_takes(name: str, good: str) -> None:
    BrokerConfig().check_topic({name: good})


def test_the_schema_check_needs_a_registry_and_a_strategy_that_exists() -> None:
    with pytest.raises(ConfigError, match=r"start the broker with confluent\.schema\.registry\.url\.$"):
        BrokerConfig().check_topic({"confluent.value.schema.validation": "true"})
    with_registry = BrokerConfig({"confluent.schema.registry.url": "http://a:8081, https://b"})
    with_registry.check_topic({"confluent.value.schema.validation": "true"})
    with pytest.raises(ConfigError, match=r"Value must be one of io\.confluent"):
        with_registry.check_topic({"confluent.value.subject.name.strategy": "TopicNameStrategy"})
    with pytest.raises(ConfigError, match="without user names"):
        BrokerConfig({"confluent.schema.registry.url": "http://me:secret@a"})
    assert BrokerConfig().log_config().value_subject_strategy is None
    checked = with_registry.log_config({"confluent.key.schema.validation": "true"})
    assert (checked.key_subject_strategy, checked.value_subject_strategy) == (
        "io.confluent.kafka.serializers.subject.TopicNameStrategy",
        None,
    )


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"Unknown topic config name: retention\.mss\. Did you mean retention\.ms"):
        BrokerConfig().check_topic({"retention.mss": "1"})


def test_compaction_lags_must_not_cross() -> None:
    with pytest.raises(ConfigError, match=r"above max\.compaction\.lag\.ms"):
        BrokerConfig().check_topic({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"})
    with pytest.raises(ConfigError, match=r"above max\.compaction\.lag\.ms"):
        BrokerConfig({"log.cleaner.min.compaction.lag.ms": "10"}).check_topic({"max.compaction.lag.ms": "5"})
