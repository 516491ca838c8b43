"""The consumer of a sink task and the topics it reads: `topics`, or those that match `topics.regex`.

The pattern is a regular expression as Java and Python understand it, which librdkafka's is not: the topics that match
are looked up here, and again every few seconds, so that new ones are read soon.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka import TopicPartition as Place

from caudal.connect.errors import ConfigError
from caudal.connect.records import TopicPartition
from caudal.connect.runtime.model import TaskSpec
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.tasks.client_properties import make_consumer, overrides

REFRESH_SECONDS = 10.0
LIST_SECONDS = 10.0
COOPERATIVE = "cooperative-sticky"

Callback = Callable[[Any, list[Any]], None]


class Subscription:
    def __init__(self, spec: TaskSpec, settings: WorkerSettings) -> None:
        config = spec.connector_config
        topics, regex = config.get("topics"), config.get("topics.regex")
        if bool(topics) == bool(regex):
            raise ConfigError("A sink needs either topics or topics.regex, and not both.", "topics")
        self._topics = sorted({one.strip() for one in (topics or "").split(",") if one.strip()})
        try:
            self._pattern = re.compile(regex) if regex else None
        except re.error as error:
            raise ConfigError(f"topics.regex cannot be read: {error}.", "topics.regex") from None
        strategy = overrides("consumer", config).get("partition.assignment.strategy", COOPERATIVE)
        self._is_cooperative = strategy == COOPERATIVE
        self._look_at = 0.0
        self._callbacks: dict[str, Callback] = {}
        self.consumer: Any = make_consumer(
            settings,
            config,
            **{
                "group.id": f"connect-{spec.id.connector}",
                "client.id": f"connector-consumer-{spec.id}",
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "partition.assignment.strategy": COOPERATIVE,
                "session.timeout.ms": settings.session_timeout_ms,
                "heartbeat.interval.ms": settings.heartbeat_interval_ms,
                "fetch.wait.max.ms": 100,
                "topic.metadata.refresh.interval.ms": 10_000,  # topics and partitions that come later
            },
        )

    def begin(self, assigned: Callback, revoked: Callback, lost: Callback) -> None:
        self._callbacks = {"on_assign": assigned, "on_revoke": revoked, "on_lost": lost}
        if self._pattern is None:
            self.consumer.subscribe(self._topics, **self._callbacks)
        else:
            self.refresh()

    def refresh(self) -> None:
        """Topics that have come or gone, where they are named by a pattern."""
        if self._pattern is None or time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + REFRESH_SECONDS
        try:
            found = self.consumer.list_topics(timeout=LIST_SECONDS).topics
        except KafkaException:
            return  # no broker at the moment: at the next time
        matching = sorted(one for one in found if self._pattern.fullmatch(one) and not one.startswith("__"))
        if matching and matching != self._topics:
            self._topics = matching
            self.consumer.subscribe(matching, **self._callbacks)

    def lag(self, positions: Mapping[TopicPartition, int]) -> int:
        """How far the last of these is behind the end of its partition, as the last fetch has told it."""
        behind = [0]
        for place, offset in positions.items():
            try:
                _, end = self.consumer.get_watermark_offsets(Place(*place), cached=True)
            except KafkaException:
                continue  # it is going to another member just now
            behind.append(end - offset)
        return max(behind)

    def assign(self, places: list[Any]) -> None:
        if self._is_cooperative:
            self.consumer.incremental_assign(places)
        else:
            self.consumer.assign(places)
