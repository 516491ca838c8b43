"""The broker's own topics are created as Kafka creates them, capped by the brokers there are."""

from __future__ import annotations

import pytest

from caudal.broker.config import BrokerConfig
from caudal.broker.controller.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE, internal_topic, is_internal


def test_consumer_offsets() -> None:
    plan = internal_topic(CONSUMER_OFFSETS, BrokerConfig())
    assert (plan.partitions, plan.replication_factor) == (50, 1)
    assert plan.configs == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "104857600",
    }


def test_transaction_state() -> None:
    plan = internal_topic(TRANSACTION_STATE, BrokerConfig())
    assert (plan.partitions, plan.replication_factor) == (50, 1)
    assert plan.configs["cleanup.policy"] == "compact"
    assert plan.configs["min.insync.replicas"] == "1"
    assert plan.configs["unclean.leader.election.enable"] == "false"
    assert internal_topic(TRANSACTION_STATE, BrokerConfig(), brokers=5).configs["min.insync.replicas"] == "2"
    assert internal_topic(TRANSACTION_STATE, BrokerConfig(), brokers=5).replication_factor == 3


@pytest.mark.parametrize("name", [CONSUMER_OFFSETS, TRANSACTION_STATE])
@pytest.mark.parametrize("size", ["1", "104857600"])
def test_their_configs_are_valid_topic_configs(name: str, size: str) -> None:
    config = BrokerConfig({"offsets.topic.segment.bytes": size, "transaction.state.log.segment.bytes": size})
    configs = internal_topic(name, config).configs
    config.check_topic(configs)
    assert config.log_config(configs).segment_bytes == int(size)


def test_which_are_internal() -> None:
    assert is_internal("__consumer_offsets")
    assert not is_internal("__mine")
    with pytest.raises(KeyError):
        internal_topic("mine", BrokerConfig())
