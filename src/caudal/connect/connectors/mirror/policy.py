"""How a copied topic is named, which topics and groups are copied, and how a loop is seen: MirrorMaker 2's policies.

`DefaultReplicationPolicy` puts the source's alias before the name (`west.orders`), so that a name tells where a record
was written and two clusters can mirror each other. `IdentityReplicationPolicy` keeps names: the copy can take the
source's place without a change in any application. Pure: no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from caudal.connect.errors import ConfigError

HEARTBEATS = "heartbeats"
CHECKPOINTS = "checkpoints.internal"
_PACKAGE = "org.apache.kafka.connect.mirror."


class DefaultReplicationPolicy:
    def __init__(self, separator: str = ".", source: str | None = None) -> None:
        self.separator = separator

    def remote_topic(self, source: str, topic: str) -> str:
        return f"{source}{self.separator}{topic}"

    def topic_source(self, topic: str) -> str | None:
        """The alias of the cluster that `topic` was copied from; None: it was written here, as far as its name says."""
        source, separator, _ = topic.partition(self.separator)
        return source if separator and source else None

    def upstream_topic(self, topic: str) -> str | None:
        source = self.topic_source(topic)
        return None if source is None else topic[len(source) + len(self.separator) :]

    def original_topic(self, topic: str) -> str:
        upstream = self.upstream_topic(topic)
        return topic if upstream is None else self.original_topic(upstream)

    def is_cycle(self, topic: str, target: str) -> bool:
        """Whether `topic` has come from the target, over however many clusters."""
        source = self.topic_source(topic)
        if source is None:
            return False
        return source == target or self.is_cycle(topic[len(source) + len(self.separator) :], target)

    def checkpoints_topic(self, source: str) -> str:
        return f"{source}{self.separator}{CHECKPOINTS}"

    def is_heartbeats(self, topic: str) -> bool:
        return self.original_topic(topic) == HEARTBEATS


class IdentityReplicationPolicy(DefaultReplicationPolicy):
    """Names stay. Only heartbeats are renamed, because both clusters have their own. A loop cannot be seen by names:
    two such mirrors in opposite directions must not have topics in common."""

    def __init__(self, separator: str = ".", source: str | None = None) -> None:
        super().__init__(separator)
        self._source = source

    def remote_topic(self, source: str, topic: str) -> str:
        return super().remote_topic(source, topic) if self.is_heartbeats(topic) else topic

    def topic_source(self, topic: str) -> str | None:
        return super().topic_source(topic) if topic.endswith(HEARTBEATS) else self._source

    def upstream_topic(self, topic: str) -> str | None:
        return super().upstream_topic(topic) if self.is_heartbeats(topic) else topic

    def original_topic(self, topic: str) -> str:
        return HEARTBEATS if topic.endswith(self.separator + HEARTBEATS) else topic

    def is_cycle(self, topic: str, target: str) -> bool:
        return self.is_heartbeats(topic) and DefaultReplicationPolicy(self.separator).is_cycle(topic, target)


ReplicationPolicy = DefaultReplicationPolicy
_POLICIES = {one.__name__: one for one in (DefaultReplicationPolicy, IdentityReplicationPolicy)}


def replication_policy(name: str, separator: str, source: str) -> ReplicationPolicy:
    """By MirrorMaker's class name, with or without its package."""
    policy = _POLICIES.get(name.removeprefix(_PACKAGE))
    if policy is None:
        raise ConfigError(
            f"there is no replication policy {name}; there are {' and '.join(_POLICIES)}", "replication.policy.class"
        )
    return policy(separator, source)


def is_internal(topic: str) -> bool:
    """Topics that no mirror copies: a cluster's own, and those of mirrors and Streams applications."""
    return topic.startswith(("__", ".")) or topic.endswith((".internal", "-internal"))


class NameFilter:
    """Names that match one of `include` in full, and none of `exclude`; each is a name or a regular expression."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str] = (), key: str = "topics") -> None:
        self._include = _pattern(include, key)
        self._exclude = _pattern(exclude, f"{key}.exclude")

    def __call__(self, name: str) -> bool:
        return self._include.fullmatch(name) is not None and self._exclude.fullmatch(name) is None


def _pattern(expressions: Iterable[str], key: str) -> re.Pattern[str]:
    parts = [text.strip() for text in expressions if text.strip()]
    for part in parts:
        try:
            re.compile(part)
        except re.error as error:
            raise ConfigError(f"'{part}' is no regular expression: {error}", key) from None
    return re.compile("|".join(f"(?:{part})" for part in parts) if parts else r"(?!)")
