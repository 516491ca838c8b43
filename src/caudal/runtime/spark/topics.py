"""The topics of an application on the cluster: source topics checked, internal ones made, all watched while it runs.

How many partitions each needs is said by the plan (plan/partitions.py).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from caudal.plan.errors import PlanError
from caudal.plan.partitions import resolve_partitions
from caudal.plan.topology import SourceNode, Topology
from caudal.runtime.errors import StreamsError
from caudal.runtime.spark.kafka_errors import kafka_error, reason
from caudal.runtime.spark.settings import Settings, keeper_topic

CALL_SECONDS = 20.0
REACH_SECONDS = 5.0  # the first question to a cluster
APPEAR_SECONDS = 20.0
_KEEPER_CONFIGS = {"cleanup.policy": "delete", "retention.ms": "3600000", "segment.bytes": "1048576"}


class ClusterTopics:
    """What the cluster has, for one application."""

    def __init__(self, topology: Topology, settings: Settings) -> None:
        self.topology = topology
        self.settings = settings
        self.admin: Any = AdminClient(settings.librdkafka(**{"client.id": "caudal-streams"}))
        self.partitions: dict[str, int] = {}
        self.ids: dict[str, str] = {}

    # -- before the start --------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Checks and creates; afterwards `partitions` knows every topic that the plan names."""
        existing = self._existing()
        try:
            self.partitions = resolve_partitions(self.topology, existing).topics
        except PlanError as error:
            raise StreamsError(str(error)) from None
        wanted = {name: (self.partitions[name], topic.configs) for name, topic in self.topology.internal_topics.items()}
        wanted[keeper_topic(self.topology.application_id)] = (1, _KEEPER_CONFIGS)
        self._create({name: spec for name, spec in wanted.items() if name not in existing})
        self._note_sinks(existing)
        self.ids = {name: id for name, (_, id) in self._describe(self._watched()).items()}

    def look(self) -> dict[str, int]:
        """The partitions of those of the plan's topics that are there; nothing is checked or made."""
        return self._existing()

    def _source_topics(self) -> set[str]:
        return {topic for node in self.topology.nodes if isinstance(node, SourceNode) for topic in node.topics}

    def _existing(self) -> dict[str, int]:
        """Those of the plan's topics that are there, with their partitions. Asked by name: a cluster may have many."""
        named = {*self._watched(), keeper_topic(self.topology.application_id)}
        named.update(topic for sub in self.topology.subtopologies for topic in sub.sink_topics)
        try:
            return {name: count for name, (count, _) in self._describe(named, REACH_SECONDS).items()}
        except KafkaException as error:
            cause = kafka_error(error)
            words = reason(cause) if cause is not None else str(error)
            raise StreamsError(
                f"No broker answers at {self.settings.bootstrap} ({words}): start one with `caudal broker`, "
                "or give its address with --bootstrap."
            ) from None

    def _describe(self, topics: Iterable[str], seconds: float = CALL_SECONDS) -> dict[str, tuple[int, str]]:
        """Partitions and id of each topic that is there and may be seen. Raises where no broker answers."""
        found = {}
        wanted = TopicCollection(sorted(topics))
        for name, future in self.admin.describe_topics(wanted, request_timeout=seconds).items():
            try:
                topic = future.result(seconds + 5)
                found[name] = (len(topic.partitions), str(topic.topic_id))
            except KafkaException as error:
                cause = kafka_error(error)
                if cause is None or cause.code() < 0:  # the client's own: no broker, no answer in time
                    raise
        return found

    def _create(self, wanted: Mapping[str, tuple[int, Mapping[str, str]]]) -> None:
        if not wanted:
            return
        factor = self.settings.replication_factor
        topics = [NewTopic(name, count, factor, config=dict(configs)) for name, (count, configs) in wanted.items()]
        for name, future in self.admin.create_topics(topics, operation_timeout=CALL_SECONDS).items():
            try:
                future.result(CALL_SECONDS)
            except KafkaException as error:
                cause = kafka_error(error)
                if cause is None or cause.code() != KafkaError.TOPIC_ALREADY_EXISTS:  # another instance was quicker
                    raise StreamsError(f"Internal topic '{name}' cannot be created: {reason(error.args[0])}.") from None
        deadline = time.monotonic() + APPEAR_SECONDS
        while missing := wanted.keys() - self._existing().keys():
            if time.monotonic() > deadline:
                raise StreamsError(f"Internal topic {_names(sorted(missing))} was created but does not appear.")
            time.sleep(0.05)

    def _note_sinks(self, existing: Mapping[str, int]) -> None:
        for sub in self.topology.subtopologies:
            for topic in sub.sink_topics:
                if topic in existing:
                    self.partitions.setdefault(topic, existing[topic])

    def compacted(self) -> frozenset[str]:
        """Source topics whose offsets have holes for another reason than transactions."""
        topics = sorted(self._source_topics() - self.topology.internal_topics.keys())
        resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
        result = set()
        for resource, future in self.admin.describe_configs(resources).items() if resources else ():
            try:
                policy = future.result(CALL_SECONDS)["cleanup.policy"].value
            except KafkaException:
                continue  # not allowed to look: a hole then needs another explanation
            if "compact" in policy:
                result.add(resource.name)
        return frozenset(result)

    # -- while it runs -----------------------------------------------------------------------------------------------

    def _watched(self) -> list[str]:
        return sorted(self._source_topics() | self.topology.internal_topics.keys())

    def what_changed(self) -> str | None:
        """One sentence, where a topic was deleted or has other partitions; None as long as all is as it was."""
        try:
            existing = self._describe(self._watched())
        except KafkaException:
            return None  # the broker is away: that is waited for
        application_id = self.topology.application_id
        for topic in self._watched():
            internal = topic in self.topology.internal_topics
            what = "Internal topic" if internal else "Source topic"
            if topic not in existing:
                hint = (
                    "reset the application's offsets (caudal group reset) and delete its other internal topics"
                    if internal
                    else f"create it again (caudal topic create {topic})"
                )
                return f"{what} '{topic}' was deleted while '{application_id}' was running; {hint}, then start again."
            if existing[topic][0] != self.partitions[topic]:
                hint = (
                    "internal topics must not be altered: delete them, reset the offsets and start again"
                    if internal
                    else "start the application again to read them all (with state: delete its internal topics and "
                    "reset its offsets first, since keys move between partitions)"
                )
                return (
                    f"{what} '{topic}' has {existing[topic][0]} partitions now and had {self.partitions[topic]} when "
                    f"'{application_id}' started; {hint}."
                )
        for topic, id in self.ids.items():
            if existing[topic][1] != id:
                return (
                    f"Topic '{topic}' was deleted and created again while '{application_id}' was running; "
                    "reset the application's offsets (caudal group reset) and start again."
                )
        return None

    def close(self) -> None:
        """Lets the client go."""
        self.admin = None


def _names(topics: list[str]) -> str:
    return ", ".join(f"'{topic}'" for topic in topics)
