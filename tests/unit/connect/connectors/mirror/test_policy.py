"""Names of copies, loops, and which names a mirror copies."""

from __future__ import annotations

import pytest

from caudal.connect.connectors.mirror.policy import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    NameFilter,
    is_internal,
    replication_policy,
)
from caudal.connect.errors import ConfigError


def test_the_default_policy_puts_the_alias_before_the_name() -> None:
    policy = DefaultReplicationPolicy()
    assert policy.remote_topic("west", "orders") == "west.orders"
    assert policy.topic_source("west.orders") == "west"
    assert policy.topic_source("orders") is None
    assert policy.upstream_topic("west.north.orders") == "north.orders"
    assert policy.original_topic("west.north.orders") == "orders"
    assert policy.checkpoints_topic("west") == "west.checkpoints.internal"


def test_a_topic_that_came_from_the_target_is_a_loop_over_any_number_of_clusters() -> None:
    policy = DefaultReplicationPolicy()
    assert policy.is_cycle("east.orders", "east")
    assert policy.is_cycle("north.east.orders", "east")
    assert not policy.is_cycle("north.orders", "east")
    assert not policy.is_cycle("orders", "east")


def test_another_separator() -> None:
    policy = DefaultReplicationPolicy("__")
    assert policy.remote_topic("west", "my.orders") == "west__my.orders"
    assert policy.original_topic("west__my.orders") == "my.orders"
    assert policy.topic_source("my.orders") is None


def test_the_identity_policy_keeps_names_but_of_heartbeats() -> None:
    policy = IdentityReplicationPolicy(source="west")
    assert policy.remote_topic("west", "my.orders") == "my.orders"
    assert policy.remote_topic("west", "heartbeats") == "west.heartbeats"
    assert policy.original_topic("my.orders") == "my.orders"
    assert not policy.is_cycle("east.orders", "east")
    assert policy.is_cycle("east.heartbeats", "east")
    assert policy.checkpoints_topic("west") == "west.checkpoints.internal"


def test_policies_by_javas_name() -> None:
    found = replication_policy("org.apache.kafka.connect.mirror.IdentityReplicationPolicy", ".", "west")
    assert isinstance(found, IdentityReplicationPolicy)
    with pytest.raises(ConfigError, match="DefaultReplicationPolicy and IdentityReplicationPolicy"):
        replication_policy("Mine", ".", "west")


def test_names_match_in_full() -> None:
    chosen = NameFilter(["orders", " pay.*"], ["payroll"])
    assert [name for name in ("orders", "orders2", "my-orders", "payments", "payroll") if chosen(name)] == [
        "orders",
        "payments",
    ]
    assert not NameFilter([])("orders")
    with pytest.raises(ConfigError, match=r"'\(' is no regular expression"):
        NameFilter(["("])


def test_internal_topics() -> None:
    internal = ["__consumer_offsets", "mm2-offset-syncs.b.internal", "a.checkpoints.internal", "mm2-configs-internal"]
    assert all(map(is_internal, internal))
    assert not is_internal("orders")
