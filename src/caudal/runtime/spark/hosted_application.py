"""One application on a host, seen from the driver: its topics, its keeper, its state, its figures.

States: CREATED → STARTING → RUNNING ⇄ PAUSED, STANDBY while another instance owns the group, RESTARTING after a
failure that passes, STOPPED and ERROR at the end.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec

from caudal.plan.topology import Topology
from caudal.runtime.spark import offsets
from caudal.runtime.spark.keeper import Keeper
from caudal.runtime.spark.metrics import ApplicationMetrics
from caudal.runtime.spark.parcels import packed
from caudal.runtime.spark.settings import Cargo, Settings
from caudal.runtime.spark.slots import Slot
from caudal.runtime.spark.topics import ClusterTopics

log = logging.getLogger("caudal.streams")

STANDBY_SECONDS = 1.5  # a member of the group that got nothing for so long stands by
PURGE_SECONDS = 30.0
METRICS_SECONDS = 10.0
LATENESS_SECONDS = 30.0  # between two remarks on missed deadlines


class State(Enum):
    CREATED = "CREATED"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STANDBY = "STANDBY"
    RESTARTING = "RESTARTING"
    STOPPED = "STOPPED"
    ERROR = "ERROR"


FINAL = frozenset({State.STOPPED, State.ERROR})
Listener = Callable[[State, State], Any]  # new, old


class HostedApplication:
    def __init__(self, topology: Topology, settings: Settings, *, metrics_topic: str | None = None) -> None:
        self.id = topology.application_id
        self.settings = settings
        self.topology = topology
        self.metrics = ApplicationMetrics(self.id, settings.deadline)
        self.state = State.CREATED
        self.failure: str | None = None
        self.wanted = True  # False: being stopped
        self.paused = False
        self.listeners: list[Listener] = []
        self.host_changed: Callable[[], None] = lambda: None
        self._metrics_topic = metrics_topic
        self._metrics_producer: Any = None
        self._changed = threading.Condition(threading.RLock())
        self._closed = False
        self._joining_since = time.monotonic()
        self._last_purge = time.monotonic()
        self._last_metrics = time.monotonic()
        self._said: dict[tuple[str, str], float] = {}
        self._told_late, self._told_late_at = 0, 0.0
        self.topics = ClusterTopics(topology, settings)
        self.cargo: Cargo
        self.parcel: bytes  # the cargo for the workers
        self.keeper: Keeper

    def prepare(self) -> None:
        """Checks and makes topics. Raises StreamsError with one sentence."""
        self.become(State.STARTING)
        self.topics.prepare()
        self.cargo = Cargo(self.topology, self.settings, dict(self.topics.partitions), self.topics.compacted())
        self.parcel = packed(self.cargo)
        sources = sorted({topic for topic, _ in offsets.source_places(self.cargo)})
        self.keeper = Keeper(self.id, self.settings, sources, self._ownership_changed)

    def join(self) -> None:
        self._joining_since = time.monotonic()
        self.keeper.start()

    # -- state -------------------------------------------------------------------------------------------------------

    @property
    def is_wanted(self) -> bool:
        return self.wanted and self.state not in FINAL

    @property
    def should_run(self) -> bool:
        return self.is_wanted and not self.paused and self.keeper.settled

    def arriving(self, patience: float) -> bool:
        """Whether its keeper is about to own the group: it joins, or owns and waits for its partitions."""
        if not self.is_wanted or self.paused or self.keeper.settled:
            return False
        waited = time.monotonic() - self._joining_since
        return waited < (patience if self.keeper.owner or not self.keeper.joined else STANDBY_SECONDS)

    def become(self, state: State, why: str | None = None) -> None:
        with self._changed:
            before = self.state
            if before is state or before in FINAL:
                return
            self.state = state
            self._changed.notify_all()
        log.info("'%s' is %s%s", self.id, state.value, f" ({why})" if why else "")
        for listener in list(self.listeners):
            try:
                listener(state, before)
            except Exception:
                log.warning("a state listener of '%s' failed", self.id, exc_info=True)

    def fail(self, text: str) -> None:
        """Ends the application with a sentence."""
        with self._changed:
            if self.state in FINAL:
                return
            self.failure = text
        log.error("'%s' stops: %s", self.id, text)
        self.become(State.ERROR, text)
        self.host_changed()

    def wait(self, states: frozenset[State], timeout: float | None) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self.state in states, timeout)

    def _ownership_changed(self) -> None:
        if self.keeper.failed is not None:
            self.fail(self.keeper.failed)
        if not self.keeper.owner and self.state in (State.RUNNING, State.RESTARTING):
            log.warning("'%s' lost its place in the group, to another instance or to a broker that was away", self.id)
            self.become(State.STANDBY)
        self.host_changed()

    def running(self) -> None:
        """All tasks are open."""
        if self.wanted and not self.paused and self.keeper.owner:
            self.become(State.RUNNING)

    def not_running(self) -> None:
        """The query that carried it has ended."""
        if self.paused and self.wanted and self.keeper.owner:
            self.become(State.PAUSED)

    # -- start -------------------------------------------------------------------------------------------------------

    def take_over(self) -> dict[tuple[str, int], int]:
        """Fences every task and says where each partition begins."""
        if self.state is not State.RESTARTING:
            self.become(State.STARTING)
        offsets.fence(self.cargo)
        return offsets.starting_offsets(self.cargo, self.keeper, self.topics.admin)

    def records_ahead(self, begins: Mapping[tuple[str, int], int]) -> int:
        """How many records there are from these offsets on; 0 where the broker does not say."""
        try:
            ends = offsets.ends(self.topics.admin, begins, OffsetSpec.latest())
        except (KafkaException, TimeoutError):
            return 0
        return sum(max(0, end - begins[place]) for place, end in ends.items())

    def placed(self, slots: list[Slot]) -> None:
        places = {}
        for thread, slot in enumerate(slots):
            for task in slot.tasks:
                if task.application_id == self.id:
                    topics = self.cargo.topics_of(self.cargo.sub(task.sub), task.partition)
                    places[f"{task.sub}_{task.partition}"] = (thread, tuple(f"{t}-{task.partition}" for t in topics))
        self.metrics.place(places)

    def restoring(self, task: str, store: str, done: int, total: int) -> None:
        self.metrics.restoring(task, store, done, total)
        now = time.monotonic()
        if done >= total or now - self._said.get((task, store), 0) > 2:
            self._said[task, store] = now
            log.info("'%s', task %s: restoring %s, %d of %d", self.id, task, store, done, total)

    # -- while it runs -----------------------------------------------------------------------------------------------

    def watch(self) -> None:
        """Called every few seconds: standby, topics, lag, purge, metrics."""
        if self._closed or self.state in FINAL:
            return
        if (
            self.state is State.STARTING
            and self.keeper.joined
            and not self.keeper.owner
            and time.monotonic() - self._joining_since > STANDBY_SECONDS
        ):
            log.warning("another instance runs '%s'; this one stands by and takes over when it falls", self.id)
            self.become(State.STANDBY)
        if self.state in (State.RUNNING, State.RESTARTING, State.PAUSED):
            changed = self.topics.what_changed()
            if changed is not None:
                self.fail(changed)
                return
        if self.state not in (State.RUNNING, State.PAUSED):
            return
        self._tell_of_lateness()
        try:
            places = offsets.source_places(self.cargo)
            self.metrics.lag(offsets.ends(self.topics.admin, places, OffsetSpec.latest()))
            if self.state is State.RUNNING and time.monotonic() - self._last_purge > PURGE_SECONDS:
                self._last_purge = time.monotonic()
                self._purge()
        except KafkaException as error:
            log.debug("'%s': %s", self.id, error)
        if self._metrics_topic is not None and time.monotonic() - self._last_metrics > METRICS_SECONDS:
            self._last_metrics = time.monotonic()
            self.publish_metrics()

    def behind(self) -> int:
        """How many records of its topics are not committed yet, asked now; while its groups' offsets cannot be read,
        more than none."""
        places = offsets.source_places(self.cargo)
        try:
            # In this order: what was written to a repartition topic before a commit is seen in its end. The other way
            # round a step may end between the two questions, and what it passed on counts for nobody.
            committed = self.keeper.committed(places)
            ends = offsets.ends(self.topics.admin, places, OffsetSpec.latest())
        except KafkaException:
            return 1
        return sum(max(0, ends[place] - max(0, committed[place][0])) for place in places)

    def _purge(self) -> None:
        """Repartition topics keep everything until it was read; what is committed may go."""
        internal = self.topology.internal_topics
        places = [
            place
            for place in offsets.source_places(self.cargo)
            if place[0] in internal and internal[place[0]].kind == "repartition"
        ]
        done = [
            TopicPartition(topic, partition, offset)
            for (topic, partition), (offset, _) in self.keeper.committed(places).items()
            if offset > 0
        ]
        if done:
            for future in self.topics.admin.delete_records(done).values():
                try:
                    future.result(15)
                except KafkaException as error:
                    log.debug("'%s' cannot purge: %s", self.id, error)

    def _tell_of_lateness(self) -> None:
        """A near deadline is told of, once in a while; a soft one too, with its count."""
        deadline = self.metrics.snapshot()["deadline"]
        if deadline is None or deadline["late"] == self._told_late:
            return
        if time.monotonic() - self._told_late_at > LATENESS_SECONDS:
            more = deadline["late"] - self._told_late
            self._told_late, self._told_late_at = deadline["late"], time.monotonic()
            log.warning("'%s': %d results missed the %s", self.id, more, self.settings.deadline)

    def publish_metrics(self) -> None:
        """The snapshot as one JSON record, keyed by application."""
        assert self._metrics_topic is not None
        if self._metrics_producer is None:
            self._metrics_producer = Producer(self.settings.librdkafka(**{"client.id": f"{self.id}-metrics"}))
        snapshot = {"state": self.state.value, "time": int(time.time() * 1000), **self.metrics.snapshot()}
        try:
            self._metrics_producer.produce(self._metrics_topic, json.dumps(snapshot), self.id)
            self._metrics_producer.poll(0)
        except BufferError:
            pass  # the broker is away; the next snapshot says more

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._metrics_topic is not None:
            self.publish_metrics()
            self._metrics_producer.flush(5)
        if hasattr(self, "keeper"):
            self.keeper.close()
        self.topics.close()
        self.become(State.STOPPED)
