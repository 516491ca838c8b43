"""Client properties behind MirrorMaker's prefixes."""

from __future__ import annotations

import pytest

from caudal.connect.connectors.mirror.cluster import Cluster
from caudal.connect.connectors.mirror.settings import client_properties, offset_syncs_topic
from caudal.connect.connectors.mirror.source import MirrorSource
from caudal.connect.errors import ConfigError

GIVEN = {
    "source.cluster.alias": "west",
    "target.cluster.alias": "east",
    "source.cluster.bootstrap.servers": "a:9092",
    "target.cluster.bootstrap.servers": "b:9092",
    "source.cluster.security.protocol": "SASL_SSL",
    "source.cluster.sasl.jaas.config": 'x.PlainLoginModule required username="me" password="a\\"b";',
    "consumer.fetch.max.bytes": "1",
    "source.consumer.fetch.max.bytes": "2",
    "consumer.poll.timeout.ms": "50",
}


def test_the_more_particular_prefix_wins() -> None:
    assert client_properties(GIVEN, "source", "consumer") == {
        "bootstrap.servers": "a:9092",
        "security.protocol": "SASL_SSL",
        "sasl.username": "me",
        "sasl.password": 'a"b',
        "fetch.max.bytes": "2",
    }
    assert client_properties(GIVEN, "target", "admin") == {"bootstrap.servers": "b:9092"}


def test_an_unknown_client_property_is_named() -> None:
    with pytest.raises(ConfigError, match=r"'west' are wrong: .*no\.such\.thing"):
        Cluster({**GIVEN, "source.cluster.no.such.thing": "1"}, "source").producer()


def test_where_offset_syncs_lie() -> None:
    config = MirrorSource.config().parse(GIVEN)
    assert offset_syncs_topic(config) == ("source", "mm2-offset-syncs.east.internal")
    moved = MirrorSource.config().parse({**GIVEN, "offset-syncs.topic.location": "target"})
    assert offset_syncs_topic(moved) == ("target", "mm2-offset-syncs.west.internal")


def test_both_sides_may_not_have_one_name() -> None:
    config = MirrorSource.config().parse({**GIVEN, "target.cluster.alias": "west"})
    assert "target.cluster.alias" in MirrorSource.check(config)


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ConfigError, match="replication policy"):
        MirrorSource.config().parse({**GIVEN, "replication.policy.class": "Mine"})
