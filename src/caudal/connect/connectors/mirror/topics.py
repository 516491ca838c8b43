"""The copy's topics: made with the source's partitions and settings, and kept like them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from caudal.connect.connectors.mirror.cluster import Cluster
from caudal.connect.connectors.mirror.policy import NameFilter, is_internal
from caudal.connect.connectors.mirror.settings import policy_of
from caudal.connect.errors import ConnectError

log = logging.getLogger("caudal.connect.mirror")


class TopicCopier:
    def __init__(
        self, config: Mapping[str, Any], source: Cluster, target: Cluster, chosen: Callable[[str], bool] | None = None
    ) -> None:
        self._source, self._target = source, target
        self._policy = policy_of(config)
        self._chosen = chosen or NameFilter(config["topics"], config["topics.exclude"])
        self._excluded = NameFilter(config["config.properties.exclude"], key="config.properties.exclude")
        self._heartbeats = bool(config.get("heartbeats.replication.enabled"))
        self._with_settings = config["sync.topic.configs.enabled"]
        self._replicas = config["replication.factor"]

    def is_copied(self, topic: str) -> bool:
        if is_internal(topic) or self._policy.is_cycle(topic, self._target.name):
            return False
        return self._chosen(topic) or (self._heartbeats and self._policy.is_heartbeats(topic))

    def find(self) -> dict[str, int]:
        """The source's topics that are copied, with their partitions."""
        return {name: count for name, count in self._source.topics().items() if self.is_copied(name)}

    def create(self, topics: Mapping[str, int]) -> None:
        """The copies that are missing, and the partitions that are."""
        there = self._target.topics()
        copies = {name: self._policy.remote_topic(self._source.name, name) for name in topics}
        missing = [name for name, copy in copies.items() if copy not in there]
        settings = self._wanted(missing) if self._with_settings else {}
        for name in missing:
            if self._target.create_topic(copies[name], topics[name], self._replicas, settings.get(name, {})):
                log.info("Created the topic %s with %d partitions.", copies[name], topics[name])
        for name, copy in copies.items():
            if there.get(copy, topics[name]) < topics[name]:
                self._target.add_partitions(copy, topics[name])
                log.info("The topic %s has %d partitions now.", copy, topics[name])

    def sync_settings(self, topics: Mapping[str, int]) -> None:
        """Settings of the copies as the source's are now. What one topic's refuses hinders no other."""
        wanted = self._wanted(list(topics))
        copies = {name: self._policy.remote_topic(self._source.name, name) for name in topics}
        present = self._target.settings(copies.values())
        for name, copy in copies.items():
            now = present.get(copy, {})
            put = {key: value for key, value in wanted.get(name, {}).items() if now.get(key) != value}
            remove = [key for key in now if key not in wanted.get(name, {}) and not self._excluded(key)]
            if put or remove:
                try:
                    self._target.change_settings(copy, put, remove)
                except ConnectError as error:
                    log.warning("%s", error)

    def _wanted(self, topics: list[str]) -> dict[str, dict[str, str]]:
        return {
            topic: {key: value for key, value in settings.items() if not self._excluded(key)}
            for topic, settings in self._source.settings(topics, of_brokers=True).items()
        }
