"""Which value is in force: defaults, start-up properties, dynamic changes; and what is refused at the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from caudal.broker.config import BrokerConfig, ConfigError, Setting
from caudal.broker.config.broker_config import (
    DEFAULT,
    DYNAMIC_BROKER,
    DYNAMIC_DEFAULT_BROKER,
    DYNAMIC_TOPIC,
    STATIC_BROKER,
)


def test_values_are_typed() -> None:
    config = BrokerConfig({"num.partitions": "4", "auto.create.topics.enable": "false"})
    assert config["num.partitions"] == 4
    assert config["auto.create.topics.enable"] is False
    assert config["log.retention.hours"] == 168
    assert config.get("log.retention.ms", 5) == 5


def test_an_unknown_property_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"Unknown broker property num\.partition\. Did you mean num\.partitions"):
        BrokerConfig({"num.partition": "4"})
    with pytest.raises(ConfigError, match="Unknown broker property nonsense"):
        BrokerConfig()["nonsense"]


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"num.partitions": "0"}, "num.partitions"),
        ({"num.partitions": "many"}, "num.partitions"),
        ({"log.dirs": "a,b"}, "names 2 folders"),
        ({"node.id": "1", "broker.id": "2"}, "set only node.id"),
        ({"log.retention.ms": "0"}, "retention time is 0"),
        ({"log.retention.hours": "0"}, "retention time is 0"),
        ({"group.min.session.timeout.ms": "10", "group.max.session.timeout.ms": "5"}, "group.min.session.timeout.ms"),
        ({"log.cleaner.min.compaction.lag.ms": "9", "log.cleaner.max.compaction.lag.ms": "8"}, "compaction.lag"),
        ({"listeners": ""}, "listeners"),
    ],
)
def test_refused_at_the_start(properties: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        BrokerConfig(properties)


def test_identity_and_folder() -> None:
    assert BrokerConfig().node_id == 1
    assert BrokerConfig({"broker.id": "7"}).node_id == 7
    assert BrokerConfig({"node.id": "0"}).node_id == 0
    assert BrokerConfig().data_folder == Path("caudal-data")
    assert BrokerConfig({"log.dir": "/a", "log.dirs": "/b"}).data_folder == Path("/b")


@pytest.mark.parametrize(
    ("properties", "milliseconds"),
    [
        ({}, 7 * 24 * 3_600_000),
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.hours": "-1"}, -1),
    ],
)
def test_retention_in_the_preferred_unit_wins(properties: dict[str, str], milliseconds: int) -> None:
    assert BrokerConfig(properties).log_config({}).retention_ms == milliseconds


def test_log_config_of_a_topic() -> None:
    config = BrokerConfig({"log.segment.bytes": "2000000", "log.cleanup.policy": "compact"})
    plain = config.log_config({})
    assert (plain.segment_bytes, plain.cleanup_policy) == (2_000_000, frozenset({"compact"}))
    own = config.log_config(
        {"cleanup.policy": "compact,delete", "internal.segment.bytes": "100", "min.cleanable.dirty.ratio": "0.1"}
    )
    assert own.segment_bytes == 100
    assert own.cleanup_policy == {"compact", "delete"}
    assert own.min_cleanable_dirty_ratio == 0.1
    assert config.log_config({"flush.ms": "7", "compression.type": "zstd"}).flush_ms == 7


def test_dynamic_values_win_and_fall_back() -> None:
    config = BrokerConfig({"message.max.bytes": "1000"})
    changed = config.apply_dynamic(
        {"message.max.bytes": "3000"}, {"message.max.bytes": "2000", "log.retention.ms": "9"}
    )
    assert changed == {"message.max.bytes", "log.retention.ms"}
    assert config["message.max.bytes"] == 3000
    assert config.log_config({}).max_message_bytes == 3000
    assert config.log_config({}).retention_ms == 9
    assert config.apply_dynamic({}, {"message.max.bytes": "2000"}) == {"message.max.bytes", "log.retention.ms"}
    assert config["message.max.bytes"] == 2000
    config.apply_dynamic({}, {})
    assert config["message.max.bytes"] == 1000
    assert config.apply_dynamic({}, {}) == set()


@pytest.mark.parametrize(
    ("configs", "per_broker", "words"),
    [
        ({"num.partitions": "2"}, True, "Cannot update num.partitions dynamically"),
        ({"listeners": "PLAINTEXT://:1"}, False, "Cannot update listeners at default cluster level"),
        ({"listeners": "PLAINTEXT://:1"}, True, "listeners cannot change while this broker runs"),
        ({"message.max.bytes": "-1"}, False, "message.max.bytes"),
        ({"no.such": "1"}, True, "Unknown broker property"),
        ({"log.cleaner.max.compaction.lag.ms": "5", "log.cleaner.min.compaction.lag.ms": "6"}, False, "compaction.lag"),
    ],
)
def test_dynamic_changes_that_are_refused(configs: dict[str, str], per_broker: bool, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        BrokerConfig().check_dynamic(configs, per_broker=per_broker)


def test_dynamic_changes_that_are_taken() -> None:
    BrokerConfig().check_dynamic({"log.retention.ms": "-1"}, per_broker=False)
    BrokerConfig().check_dynamic({"listener.name.internal.ssl.keystore.location": "/k"}, per_broker=True)


def test_where_a_topic_value_comes_from() -> None:
    config = BrokerConfig({"log.retention.hours": "2", "log.retention.minutes": "3"})
    config.apply_dynamic({"log.retention.ms": "5"}, {"log.retention.ms": "6"})
    assert config.topic_settings("retention.ms", {"retention.ms": "4"}) == [
        Setting("retention.ms", "4", DYNAMIC_TOPIC),
        Setting("log.retention.ms", "5", DYNAMIC_BROKER),
        Setting("log.retention.ms", "6", DYNAMIC_DEFAULT_BROKER),
        Setting("log.retention.minutes", "3", STATIC_BROKER),
        Setting("log.retention.hours", "2", STATIC_BROKER),
        Setting("log.retention.hours", "168", DEFAULT),
    ]
    assert config.topic_value("retention.ms", {"retention.ms": " 4 "}) == "4"
    assert config.topic_value("retention.ms", {}) == "5"
    # Shown in the unit of the topic property, whatever the broker property's unit.
    assert BrokerConfig({"log.retention.hours": "2"}).topic_value("retention.ms", {}) == "7200000"


def test_a_listeners_prefix_is_understood() -> None:
    config = BrokerConfig({"listener.name.internal.ssl.keystore.password": "x"})
    assert config["listener.name.internal.ssl.keystore.password"] == "x"
    BrokerConfig({"listener.name.internal.plain.sasl.jaas.config": "x"})
    with pytest.raises(ConfigError, match="Unknown"):
        BrokerConfig({"listener.name.internal.nonsense": "x"})


def test_a_kraft_nodes_properties_start_here() -> None:
    """The file that comes with Apache Kafka names a listener of the controller; it is not ours to open."""
    config = BrokerConfig(
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": "localhost:9093",
            "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
            "inter.broker.listener.name": "PLAINTEXT",
            "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
            "controller.listener.names": "CONTROLLER",
            "num.network.threads": "3",
            "num.io.threads": "8",
            "log.dirs": "/tmp/kraft-combined-logs",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "log.retention.hours": "168",
        }
    )
    assert [listener.name for listener in config.listeners] == ["PLAINTEXT"]
    assert [listener.address for listener in config.advertised_listeners] == ["localhost:9092"]
