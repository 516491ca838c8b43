"""lane=… of an application: the decision of plan/lane.py with the facts that the settings and the cluster give."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import ConfigResource, ResourceType

from caudal.plan.errors import PlanError
from caudal.plan.lane import Circumstances, Decision, Lane, decide
from caudal.plan.native import without_state
from caudal.plan.topology import Topology
from caudal.runtime.errors import StreamsError
from caudal.runtime.spark import offsets
from caudal.runtime.spark.hosted_application import HostedApplication, State
from caudal.runtime.spark.keeper import Keeper
from caudal.runtime.spark.settings import Cargo, Settings

CALL_SECONDS = 15.0


def chosen_lane(topology: Topology, lane: str, settings: Settings, own_host: bool = True) -> Decision:
    """What can be said before the cluster is asked. Raises StreamsError, with the step, where the lane that was asked
    for cannot run it.
    """
    known = [one.value for one in Lane]
    if lane not in known:
        raise StreamsError(f"lane takes {', '.join(repr(one) for one in known)}, not {lane!r}.")
    if not own_host and lane == "native":
        raise StreamsError(
            f"lane='native' has a query of its own: start '{topology.application_id}' without host=, beside the others."
        )
    return _decided(topology, lane if own_host else "task", settings)


def settled_lane(application: HostedApplication, lane: str, before: Decision, own_host: bool = True) -> Decision:
    """The last word, when its topics are known to be there."""
    if lane != "auto" or before.is_native or before.plan is None or not own_host:
        return before
    sinks = {topic for sub in application.topology.subtopologies for topic in sub.sink_topics}
    stamping = append_time_topics(application.topics.admin, sinks)
    return _decided(application.topology, lane, application.settings, stamping)


def _decided(topology: Topology, lane: str, settings: Settings, append_time: Collection[str] | None = None) -> Decision:
    handlers = settings.handlers
    given = Circumstances(
        settings.guarantee.value,
        handlers.deserialization.value,
        handlers.processing.value,
        handlers.production.value,
        append_time,
    )
    try:
        return decide(topology, Lane(lane), given)
    except PlanError as error:
        raise StreamsError(str(error)) from None


def append_time_topics(admin: Any, topics: Collection[str]) -> set[str]:
    """Those of the topics that stamp records with the time of their arrival. Nothing where the broker does not say."""
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    result = set()
    for resource, future in admin.describe_configs(resources).items() if resources else ():
        try:
            if future.result(CALL_SECONDS)["message.timestamp.type"].value == "LogAppendTime":
                result.add(resource.name)
        except KafkaException:
            continue  # it is not there, or may not be seen
    return result


class NativeApplication(HostedApplication):
    """An application that sends nothing to Python workers: a Column could not go there. It has no internal topics."""

    def __init__(self, topology: Topology, settings: Settings, *, metrics_topic: str | None = None) -> None:
        super().__init__(without_state(topology), settings, metrics_topic=metrics_topic)
        self.written = topology  # as the user wrote it

    def prepare(self) -> None:
        self.become(State.STARTING)
        self.topics.prepare()
        self.cargo = Cargo(self.topology, self.settings, dict(self.topics.partitions), self.topics.compacted())
        sources = sorted({topic for topic, _ in offsets.source_places(self.cargo)})
        self.keeper = Keeper(self.id, self.settings, sources, self._ownership_changed)
