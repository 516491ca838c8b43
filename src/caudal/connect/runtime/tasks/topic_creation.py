"""Topics that a source writes to are made before the first record, as `topic.creation.…` says.

The first group of `topic.creation.groups` whose `include` matches the topic, and whose `exclude` does not, says how
many partitions and replicas it has and any further property of the topic; `default` is for the rest. Without such
properties a topic is made with the broker's defaults.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import NewTopic

from caudal.connect.errors import ConfigError, ConnectError

CALL_SECONDS = 30.0
PREFIX = "topic.creation."
_OWN = ("include", "exclude", "replication.factor", "partitions")


@dataclass(frozen=True, slots=True)
class TopicGroup:
    name: str
    include: tuple[re.Pattern[str], ...] = ()
    exclude: tuple[re.Pattern[str], ...] = ()
    partitions: int = -1
    replication: int = -1
    configs: Mapping[str, str] = field(default_factory=dict)

    def matches(self, topic: str) -> bool:
        return any(one.fullmatch(topic) for one in self.include) and not any(
            one.fullmatch(topic) for one in self.exclude
        )


def topic_groups(config: Mapping[str, str]) -> list[TopicGroup]:
    """In the order in which they are tried; the default group, which takes what is left, is the last."""
    names = [one.strip() for one in config.get("topic.creation.groups", "").split(",") if one.strip()]
    return [_group(name, config) for name in names if name != "default"] + [_group("default", config)]


def _group(name: str, config: Mapping[str, str]) -> TopicGroup:
    prefix = f"{PREFIX}{name}."
    given = {key[len(prefix) :]: value for key, value in config.items() if key.startswith(prefix)}
    default = name == "default"
    if not default and "include" not in given:
        raise ConfigError(f"Group {name} of topic.creation.groups needs {prefix}include.", f"{prefix}include")
    return TopicGroup(
        name,
        _patterns(prefix + "include", ".*" if default else given["include"]),
        () if default else _patterns(prefix + "exclude", given.get("exclude", "")),
        _number(prefix + "partitions", given.get("partitions") or _inherited("partitions", config)),
        _number(
            prefix + "replication.factor", given.get("replication.factor") or _inherited("replication.factor", config)
        ),
        {key: value for key, value in given.items() if key not in _OWN},
    )


def _inherited(name: str, config: Mapping[str, str]) -> str:
    return config.get(f"{PREFIX}default.{name}", "-1")


def _patterns(key: str, text: str) -> tuple[re.Pattern[str], ...]:
    try:
        return tuple(re.compile(one.strip()) for one in text.split(",") if one.strip())
    except re.error as error:
        raise ConfigError(f"{key} has a pattern that cannot be read: {error}.", key) from None


def _number(key: str, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1 and number != -1:
        raise ConfigError(f"{key} must be a number from 1, or -1 for the broker's default; it is {text!r}.", key)
    return number


class TopicCreation:
    """Each topic is looked at once."""

    def __init__(self, admin: Any, config: Mapping[str, str]) -> None:
        self._admin = admin
        self._groups = topic_groups(config)
        self._known: set[str] = set()
        self._lock = threading.Lock()

    def ensure(self, topic: str) -> None:
        with self._lock:
            if topic in self._known:
                return
            group = next(one for one in self._groups if one.matches(topic))
            create_topic(self._admin, NewTopic(topic, group.partitions, group.replication, config=dict(group.configs)))
            self._known.add(topic)


def create_topic(admin: Any, topic: NewTopic) -> None:
    """One that is there already stays as it is."""
    try:  # without asking first whether it is there: the question alone may make it
        admin.create_topics([topic], operation_timeout=CALL_SECONDS)[topic.topic].result(CALL_SECONDS)
    except KafkaException as error:
        reason = error.args[0]
        if reason.code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return
        if reason.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
            return  # not ours to make: writing to it will tell whether it is there
        raise ConnectError(f"Topic {topic.topic} cannot be made: {reason.str()}.") from error
