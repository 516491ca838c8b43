"""Which group of topic.creation.… a topic belongs to."""

from __future__ import annotations

import pytest

from caudal.connect import ConfigError
from caudal.connect.runtime.tasks.topic_creation import topic_groups

CONFIG = {
    "topic.creation.groups": "compacted, wide",
    "topic.creation.compacted.include": r"state\..*, table-.*",
    "topic.creation.compacted.exclude": ".*-raw",
    "topic.creation.compacted.cleanup.policy": "compact",
    "topic.creation.wide.include": ".*-wide",
    "topic.creation.wide.partitions": "12",
    "topic.creation.default.partitions": "3",
    "topic.creation.default.replication.factor": "2",
}


@pytest.mark.parametrize(
    ("topic", "group"),
    [
        ("state.a", "compacted"),
        ("table-x-wide", "compacted"),
        ("table-x-raw", "default"),
        ("orders-wide", "wide"),
        ("my-table-x", "default"),
        ("orders", "default"),
    ],
)
def test_the_first_group_that_matches(topic: str, group: str) -> None:
    assert next(one.name for one in topic_groups(CONFIG) if one.matches(topic)) == group


def test_what_a_group_does_not_say_is_the_defaults() -> None:
    groups = {one.name: one for one in topic_groups(CONFIG)}
    assert (groups["compacted"].partitions, groups["compacted"].replication) == (3, 2)
    assert groups["compacted"].configs == {"cleanup.policy": "compact"}
    assert groups["wide"].partitions == 12
    assert groups["default"].configs == {}


def test_without_properties_the_broker_decides() -> None:
    [group] = topic_groups({})
    assert (group.partitions, group.replication, group.configs) == (-1, -1, {})


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"topic.creation.groups": "g"}, "topic.creation.g.include"),
        ({"topic.creation.groups": "g", "topic.creation.g.include": "("}, "topic.creation.g.include"),
        ({"topic.creation.default.partitions": "0"}, "topic.creation.default.partitions"),
        ({"topic.creation.default.replication.factor": "two"}, "topic.creation.default.replication.factor"),
    ],
)
def test_what_is_wrong_is_named(config: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        topic_groups(config)
    assert caught.value.key == key
