"""MirrorHeartbeat: writes a heartbeat every second; copied on, they show that mirrors run and how far behind."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from caudal.connect.configuration import ConfigDef
from caudal.connect.connector import SourceConnector, SourceTask
from caudal.connect.connectors.mirror.cluster import Cluster
from caudal.connect.connectors.mirror.formats import Heartbeat
from caudal.connect.connectors.mirror.policy import HEARTBEATS as TOPIC
from caudal.connect.connectors.mirror.settings import CLUSTERS, HEARTBEATS
from caudal.connect.connectors.mirror.source import check_aliases
from caudal.connect.data import BYTES
from caudal.connect.records import SourceRecord


class MirrorHeartbeatTask(SourceTask):
    def start(self, config: dict[str, Any]) -> None:
        self._source: str = config["source.cluster.alias"]
        self._target: str = config["target.cluster.alias"]
        self._interval: float = config["emit.heartbeats.interval.seconds"]
        self._due = time.monotonic()

    def poll(self) -> Sequence[SourceRecord] | None:
        if self.context.stopping.wait(max(self._due - time.monotonic(), 0.0)):
            return None
        self._due = time.monotonic() + self._interval
        now = int(time.time() * 1000)
        beat = Heartbeat(self._source, self._target, now)
        partition = {"sourceClusterAlias": self._source, "targetClusterAlias": self._target}
        return [SourceRecord(partition, {"offset": 0}, TOPIC, beat.value(), BYTES, beat.key(), BYTES, 0, now)]


class MirrorHeartbeat(SourceConnector):
    """Heartbeats of a mirror, in the target's topic `heartbeats`."""

    task = MirrorHeartbeatTask
    aliases = ("org.apache.kafka.connect.mirror.MirrorHeartbeatConnector",)
    converter = "ByteArray"

    @classmethod
    def config(cls) -> ConfigDef:
        return CLUSTERS + HEARTBEATS

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        return check_aliases(config)

    def start(self, config: dict[str, Any]) -> None:
        self._enabled: bool = config["emit.heartbeats.enabled"]
        if self._enabled:
            target = Cluster(self.context.config, "target")
            replicas = config["heartbeats.topic.replication.factor"]
            target.create_topic(TOPIC, 1, replicas, {"cleanup.policy": "compact"})

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [dict(self.context.config)] if self._enabled else []

    def exactly_once_support(self, config: Mapping[str, Any]) -> bool | None:
        return True
