"""How many partitions each topic and each sub-topology has, once the cluster has said how many the outside topics have.

A sub-topology has as many tasks as its widest source. A repartition topic gets as many partitions as the widest
sub-topology that writes to it, unless `repartition(partitions=)` or a join says otherwise. Topics that are joined must
have equally many: our own repartition topics are made so, for others it is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from caudal.plan.errors import PlanError
from caudal.plan.naming import changelog_topic
from caudal.plan.topology import Topology


@dataclass(frozen=True, slots=True)
class Partitions:
    topics: dict[str, int]  # sources, repartition topics and changelogs
    tasks: dict[int, int]  # number of tasks by sub-topology


def resolve_partitions(topology: Topology, counts: Mapping[str, int]) -> Partitions:
    """Settles all counts. `counts` has the topics that exist; internal topics among them must be as wide as needed."""
    known = _outside(topology, counts)
    repartitions = [topic for topic in topology.internal_topics.values() if topic.kind == "repartition"]
    known.update({topic.name: topic.partitions for topic in repartitions if topic.partitions is not None})
    _check_equal(topology, known)
    # What is joined with an outside topic has that topic's width, whoever writes it.
    for group in topology.copartitioned:
        width = next((known[topic] for topic in sorted(group) if topic in known), None)
        if width is not None:
            known.update(dict.fromkeys(group, width))
    _widen(topology, [topic.name for topic in repartitions if topic.name not in known], known)
    tasks = {sub.id: max(known[topic] for topic in sub.source_topics) for sub in topology.subtopologies}
    for sub in topology.subtopologies:
        for store in sub.stores:
            name = changelog_topic(topology.application_id, store.name)
            if name in topology.internal_topics:
                known[name] = tasks[sub.id]
    _check_existing(topology, counts, known)
    return Partitions(known, tasks)


def _outside(topology: Topology, counts: Mapping[str, int]) -> dict[str, int]:
    known: dict[str, int] = {}
    missing: set[str] = set()
    for sub in [*topology.subtopologies, *topology.global_subtopologies]:
        for topic in sub.source_topics:
            if topic in topology.internal_topics:
                continue
            if topic not in counts:
                missing.add(topic)
                continue
            known[topic] = counts[topic]
    if missing:
        raise PlanError(
            f"Source topic {_names(missing)} does not exist; create it (caudal topic create {min(missing)}) before "
            f"'{topology.application_id}' starts."
        )
    return known


def _check_equal(topology: Topology, known: dict[str, int]) -> None:
    for group in topology.copartitioned:
        given = {topic: known[topic] for topic in sorted(group) if topic in known}
        if len(set(given.values())) > 1:
            shown = ", ".join(f"'{topic}' has {count}" for topic, count in given.items())
            raise PlanError(
                f"Topics that are joined need equally many partitions, but {shown}: "
                "call repartition(partitions=…) on one side, or create the topics alike."
            )


def _widen(topology: Topology, open_topics: list[str], known: dict[str, int]) -> None:
    """The others become as wide as their widest writer and as what they are joined with; widths only grow: it ends."""
    changed = True
    while changed:
        changed = False
        for topic in open_topics:
            together = next((group for group in topology.copartitioned if topic in group), frozenset((topic,)))
            widths = [known[other] for other in together if other in known]
            for sub in topology.subtopologies:
                if topic in sub.sink_topics:
                    widths += [known[source] for source in sub.source_topics if source in known]
            if widths and max(widths) != known.get(topic):
                known[topic] = max(widths)
                changed = True
    if missing := [topic for topic in open_topics if topic not in known]:
        raise PlanError(f"Nothing says how many partitions {_names(missing)} should have: give one partitions=.")


def _check_existing(topology: Topology, counts: Mapping[str, int], known: dict[str, int]) -> None:
    for name in topology.internal_topics:
        if name in counts and counts[name] != known[name]:
            raise PlanError(
                f"Internal topic '{name}' has {counts[name]} partitions, but {known[name]} are needed: the source "
                "topics or the program changed since it was made. Undo that; or stop all instances, delete the "
                f"application's internal topics, reset its offsets (caudal group reset {topology.application_id}), "
                "and start again."
            )


def _names(topics: Iterable[str]) -> str:
    return ", ".join(f"'{topic}'" for topic in sorted(topics))
