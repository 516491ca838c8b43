"""The broker properties: those people set are there, with Kafka's defaults and update modes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import caudal
from caudal.broker.config.broker_tables import BROKER_DEFS
from caudal.broker.config.definition import ConfigDef, ConfigType, Scope
from caudal.broker.config.topic_table import TOPIC_DEFS

SOURCE = Path(caudal.__file__).parent


@pytest.mark.parametrize("definition", BROKER_DEFS.values(), ids=lambda d: d.name)
def test_every_property_is_documented_and_its_default_allowed(definition: ConfigDef) -> None:
    assert re.fullmatch(r"[A-Z].*\.", definition.doc)
    if definition.default is not None:
        text = definition.format(definition.default)
        assert text is not None
        assert definition.parse(text) == definition.default


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("auto.create.topics.enable", True),
        ("connections.max.idle.ms", 600000),
        ("default.replication.factor", 1),
        ("fetch.max.bytes", 57671680),
        ("group.initial.rebalance.delay.ms", 3000),
        ("group.min.session.timeout.ms", 6000),
        ("group.max.session.timeout.ms", 1800000),
        ("log.retention.hours", 168),
        ("log.retention.ms", None),
        ("log.retention.check.interval.ms", 300000),
        ("log.segment.bytes", 1 << 30),
        ("message.max.bytes", 1048588),
        ("num.partitions", 1),
        ("offset.metadata.max.bytes", 4096),
        ("offsets.retention.minutes", 10080),
        ("offsets.topic.num.partitions", 50),
        ("offsets.topic.segment.bytes", 104857600),
        ("queued.max.requests", 500),
        ("socket.request.max.bytes", 104857600),
        ("transaction.max.timeout.ms", 900000),
        ("transaction.state.log.num.partitions", 50),
        ("transaction.state.log.min.isr", 2),
        ("transactional.id.expiration.ms", 604800000),
        ("producer.id.expiration.ms", 86400000),
    ],
)
def test_defaults_are_kafkas(name: str, default: object) -> None:
    assert BROKER_DEFS[name].default == default


def test_defaults_of_our_own() -> None:
    """Where Caudal differs on purpose: it listens to this machine only, and keeps its data where it is started."""
    assert BROKER_DEFS["listeners"].default == ["PLAINTEXT://127.0.0.1:9092"]
    assert BROKER_DEFS["log.dir"].default == ["caudal-data"]


def test_the_first_broker_property_behind_a_topic_property_is_dynamic() -> None:
    for definition in TOPIC_DEFS.values():
        for position, (synonym, _) in enumerate(definition.synonyms):
            expected = Scope.CLUSTER_WIDE if position == 0 else Scope.READ_ONLY
            assert BROKER_DEFS[synonym].scope is expected, synonym


def test_secrets_are_passwords() -> None:
    for name, definition in BROKER_DEFS.items():
        if name.endswith((".password", ".secret", ".jaas.config", "secret.key", "keystore.key")):
            assert definition.type is ConfigType.PASSWORD, name


def _named_in_code() -> set[str]:
    """Broker properties that some part of the broker reads by name."""
    config = SOURCE / "broker" / "config"
    code = "\n".join(path.read_text() for path in (SOURCE / "broker").rglob("*.py") if config not in path.parents)
    config_code = (config / "broker_config.py").read_text()
    return {name for name in BROKER_DEFS if f'"{name}"' in code or f'"{name}"' in config_code}


def test_a_property_acts_exactly_if_it_is_used() -> None:
    """`idle` is kept honest both ways: a property that acts is read somewhere (or is the default of a topic property),
    and whoever begins to use an idle one takes the mark off."""
    behind_topics = {s for d in TOPIC_DEFS.values() if d.acted_on for s, _ in d.synonyms}
    used = _named_in_code() | behind_topics
    assert [name for name, d in BROKER_DEFS.items() if d.acted_on and name not in used] == []
    assert [name for name, d in BROKER_DEFS.items() if not d.acted_on and name in used] == []
