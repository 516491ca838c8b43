"""Which task runs in which slot, and which Kafka source feeds it.

A slot is one Python worker process for the life of a query: its own Kafka sources, one partition behind them
(coalesce), and an environment variable that makes Spark keep a pool of workers for it alone. So a task stays where
its producer and its cached state are; without that, tasks would fence each other from batch to batch.

Pure: the assignment depends on nothing but the tasks and the number of slots, so that a restart finds everything again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from caudal.runtime.spark.settings import Cargo, keeper_topic


class TaskId(NamedTuple):
    application_id: str
    sub: int
    partition: int

    def __str__(self) -> str:
        return f"{self.application_id} {self.sub}_{self.partition}"


@dataclass(slots=True)
class SourceSpec:
    """One Kafka source of a slot: applications that have no topic partition in common share it, except those that catch
    up. Spark deals a batch's records out by how many each partition has, so that they would leave nothing to others.
    """

    applications: set[str] = field(default_factory=set)
    partitions: dict[str, set[int]] = field(default_factory=dict)  # topic → partitions
    owners: dict[str, str] = field(default_factory=dict)  # topic → application
    catches_up: bool = False

    def takes(self, topics: Mapping[str, set[int]]) -> bool:
        return not self.catches_up and not any(topic in self.partitions for topic in topics)


@dataclass(slots=True)
class Slot:
    number: int
    tasks: list[TaskId] = field(default_factory=list)
    sources: list[SourceSpec] = field(default_factory=list)


def slot_count(cargoes: Sequence[Cargo], threads: int) -> int:
    """More slots than tasks would stay idle."""
    return max(1, min(threads, sum(len(cargo.tasks()) for cargo in cargoes)))


def assign(cargoes: Sequence[Cargo], slots: int, *, ticks: bool = True, behind: Collection[str] = ()) -> list[Slot]:
    """Deals the tasks out in turn: those of one sub-topology go to different slots as far as there are any.

    `ticks`: the slots also read the keeper topics, whose records wake them. `behind` are applications that have much to
    catch up on while others have not.
    """
    result = [Slot(number) for number in range(slots)]
    turn = 0
    for cargo in sorted(cargoes, key=lambda cargo: cargo.application_id):
        for sub, partition in cargo.tasks():
            result[turn % slots].tasks.append(TaskId(cargo.application_id, sub, partition))
            turn += 1
    by_id = {cargo.application_id: cargo for cargo in cargoes}
    for slot in result:
        slot.sources = _sources(slot, by_id, ticks, behind)
    return [slot for slot in result if slot.tasks]


def partitions_read(cargoes: Sequence[Cargo]) -> int:
    """How many partitions all tasks read together. In real-time mode each has a Spark task of its own."""
    return sum(len(cargo.topics_of(cargo.sub(sub), partition)) for cargo in cargoes for sub, partition in cargo.tasks())


def _sources(slot: Slot, cargoes: Mapping[str, Cargo], ticks: bool, behind: Collection[str]) -> list[SourceSpec]:
    topics: dict[str, dict[str, set[int]]] = {}
    for task in slot.tasks:
        cargo = cargoes[task.application_id]
        tick_topic: dict[str, set[int]] = {keeper_topic(task.application_id): {0}} if ticks else {}
        of_application = topics.setdefault(task.application_id, tick_topic)
        for topic in cargo.topics_of(cargo.sub(task.sub), task.partition):
            of_application.setdefault(topic, set()).add(task.partition)
    sources: list[SourceSpec] = []
    for application_id, partitions in topics.items():
        is_behind = application_id in behind
        source = None if is_behind else next((known for known in sources if known.takes(partitions)), None)
        if source is None:
            source = SourceSpec(catches_up=is_behind)
            sources.append(source)
        source.applications.add(application_id)
        source.partitions.update(partitions)
        source.owners.update(dict.fromkeys(partitions, application_id))
    return sources
