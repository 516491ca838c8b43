"""Our tables against Apache Kafka 4.3.0's: every property is there, with its type, default, importance, update mode
and numeric limits. `kafka_4_3_0.tsv` was printed from the ConfigDefs of its jars; differences on purpose are listed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from caudal.broker.config.broker_tables import BROKER_DEFS
from caudal.broker.config.definition import ConfigDef, ConfigError
from caudal.broker.config.topic_table import TOPIC_DEFS

ROWS = [
    line.split("\t")
    for line in (Path(__file__).parent / "kafka_4_3_0.tsv").read_text().splitlines()
    if not line.startswith("#")
]

# Java class names mean nothing here; the rest are Caudal's own defaults.
OTHER_DEFAULTS = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "listeners": "PLAINTEXT://127.0.0.1:9092",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
    "log.dir": "caudal-data",
    "controller.listener.names": "null",
    "metric.reporters": "",
    "principal.builder.class": "null",
    "sasl.oauthbearer.jwt.retriever.class": "null",
    "sasl.oauthbearer.jwt.validator.class": "null",
    "remote.log.metadata.manager.class.name": "null",
}
# Accepted although 4.3.0 does not define them: older files have them, and tools and authorizers use some.
BEYOND_KAFKA = {
    "allow.everyone.if.no.acl.found",
    "auto.include.jmx.reporter",
    "broker.id.generation.enable",
    "controlled.shutdown.max.retries",
    "controlled.shutdown.retry.backoff.ms",
    "follower.replication.throttled.rate",
    "inter.broker.protocol.version",
    "leader.imbalance.per.broker.percentage",
    "leader.replication.throttled.rate",
    "password.encoder.keyfactory.algorithm",
    "password.encoder.secret",
    "replica.alter.log.dirs.io.max.bytes.per.second",
    "reserved.broker.max.id",
    "super.users",
    "zookeeper.connect",
    "zookeeper.connection.timeout.ms",
    "zookeeper.session.timeout.ms",
    "confluent.schema.registry.url",  # Confluent Server's
    # Defined by Kafka, but kept out of its documentation.
    "group.consumer.regex.refresh.interval.ms",
    "log.initial.task.delay.ms",
    "producer.id.expiration.check.interval.ms",
    "server.max.startup.time.ms",
    "unclean.leader.election.interval.ms",
}


def ours(scope: str, name: str) -> ConfigDef:
    return (TOPIC_DEFS if scope == "topic" else BROKER_DEFS)[name]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_a_property_is_as_in_kafka(row: list[str]) -> None:
    scope, name, type_, default, importance, mode, limits = row
    definition = ours(scope, name)
    expected = OTHER_DEFAULTS.get(name, default) if scope == "broker" else default
    shown = "null" if definition.default is None else definition.format(definition.default)
    assert (definition.type.name, shown, definition.importance.value) == (type_, expected, importance)
    if mode != "-":
        assert definition.scope.value == mode
    low_high = re.fullmatch(r"\[(-?[\d.]+),\.\.\.(?:,(-?[\d.]+))?\]", limits)
    if low_high:
        low, high = low_high.groups()
        definition.parse(low)
        with pytest.raises(ConfigError):
            definition.parse(str(int(low) - 1))
        if high is not None:
            definition.parse(high)
            with pytest.raises(ConfigError):
                definition.parse(f"{float(high) + 1:g}" if "." in high else str(int(high) + 1))


def test_there_is_nothing_kafka_does_not_have() -> None:
    theirs = {name for scope, name, *_ in ROWS if scope == "broker"}
    assert BROKER_DEFS.keys() - theirs == BEYOND_KAFKA
    topics = {name for name, d in TOPIC_DEFS.items() if not d.internal and not name.startswith("confluent.")}
    assert topics == {n for scope, n, *_ in ROWS if scope == "topic"}
