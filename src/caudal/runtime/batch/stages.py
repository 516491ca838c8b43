"""What of a topology runs after what in a batch, and what can run side by side.

A sub-topology runs when all that write to its topics are through. What is left to run on its own is a *unit*: one task
(sub-topology and partition), or, where sub-topologies feed each other in a circle (a foreign-key join asks and is
answered), all their tasks together, because an answer must not be read before its question was asked. Units that do
not wait for each other make a *stage*, which is one Spark job.

Pure: neither Spark nor Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from caudal.plan.partitions import Partitions
from caudal.plan.topology import SubTopology, Topology


@dataclass(frozen=True, slots=True)
class Group:
    """Sub-topologies whose units are numbered together."""

    subs: tuple[int, ...]
    first: int  # number of its first unit
    partitions: int  # how many tasks wide
    together: bool  # one unit for all, since they feed each other

    @property
    def units(self) -> range:
        return range(self.first, self.first + (1 if self.together else self.partitions))

    def unit(self, partition: int) -> int:
        return self.first if self.together else self.first + partition


@dataclass(frozen=True, slots=True)
class Stage:
    groups: tuple[Group, ...]

    @property
    def units(self) -> range:
        return range(self.groups[0].units.start, self.groups[-1].units.stop)


@dataclass(frozen=True, slots=True)
class Stages:
    stages: tuple[Stage, ...]
    readers: Mapping[str, tuple[int, Group]]  # topic → sub-topology that reads it, and its group
    written: frozenset[str]  # topics that the application reads and writes itself

    def unit_of(self, topic: str, partition: int) -> int:
        return self.readers[topic][1].unit(partition)


def stages(topology: Topology, partitions: Partitions) -> Stages:
    """Every sub-topology in a stage after those that it reads from."""
    subs = {sub.id: sub for sub in topology.subtopologies}
    feeds = {sub.id: _fed_by(sub, subs.values()) for sub in subs.values()}
    circles = _circles(feeds)
    level = _levels(circles, feeds)
    made: list[Stage] = []
    number = 0
    for depth in range(max(level.values(), default=-1) + 1):
        groups = []
        for circle in (circle for circle in circles if level[circle] == depth):
            together = len(circle) > 1 or circle[0] in feeds[circle[0]]
            group = Group(circle, number, max(partitions.tasks[sub] for sub in circle), together)
            number = group.units.stop
            groups.append(group)
        made.append(Stage(tuple(groups)))
    groups_of = {sub: group for stage in made for group in stage.groups for sub in group.subs}
    readers = {topic: (sub.id, groups_of[sub.id]) for sub in subs.values() for topic in sub.source_topics}
    written = {topic for sub in subs.values() for topic in sub.sink_topics if topic in readers}
    return Stages(tuple(made), readers, frozenset(written))


def _fed_by(sub: SubTopology, others: Iterable[SubTopology]) -> list[int]:
    """The sub-topologies that read what this one writes."""
    return [other.id for other in others if not set(sub.sink_topics).isdisjoint(other.source_topics)]


def _circles(feeds: Mapping[int, list[int]]) -> list[tuple[int, ...]]:
    """The strongly connected sub-topologies, each in the order of numbers: two reach each other, or one is alone."""
    reach = {start: _reached(start, feeds) for start in feeds}
    circles = {tuple(sorted({one, *(other for other in reach[one] if one in reach[other])})) for one in feeds}
    return sorted(circles)


def _reached(start: int, feeds: Mapping[int, list[int]]) -> set[int]:
    seen: set[int] = set()
    waiting = list(feeds[start])
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += feeds[one]
    return seen


def _levels(circles: list[tuple[int, ...]], feeds: Mapping[int, list[int]]) -> dict[tuple[int, ...], int]:
    """How many stages come before each: one more than before the last of those that it waits for."""
    home = {sub: circle for circle in circles for sub in circle}
    before: dict[tuple[int, ...], set[tuple[int, ...]]] = {circle: set() for circle in circles}
    for sub, fed in feeds.items():
        for other in fed:
            if home[other] != home[sub]:
                before[home[other]].add(home[sub])
    level: dict[tuple[int, ...], int] = {}
    while len(level) < len(circles):
        for circle, needed in before.items():
            if circle not in level and needed <= level.keys():
                level[circle] = max((level[other] + 1 for other in needed), default=0)
    return level
