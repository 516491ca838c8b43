"""EXPLAIN: what a query does, as text: its logical steps, its topology, the sub-topologies with what they read, keep
and write, and the lane that runs it."""

from __future__ import annotations

from dataclasses import dataclass

from caudal.ksql.planner.logical import LogicalStep
from caudal.ksql.planner.planned import PlannedQuery
from caudal.plan.lane import Circumstances, Lane, decide
from caudal.plan.topology import Topology


@dataclass(frozen=True, slots=True)
class Explanation:
    execution_plan: str
    topology: str
    subtopologies: tuple[str, ...]
    lane: str

    def __str__(self) -> str:
        parts = "\n".join(self.subtopologies)
        return f"{self.execution_plan}\n{parts}\n{self.lane}\n\n{self.topology}"


def explain(planned: PlannedQuery, query_id: str = "") -> Explanation:
    steps = "" if planned.logical is None else "\n".join(_lines(planned.logical, query_id, 0))
    topology = planned.topology
    return Explanation(
        steps,
        topology.describe(),
        tuple(_subtopologies(topology)),
        str(decide(topology, Lane.AUTO, Circumstances())),
    )


def _lines(step: LogicalStep, query_id: str, depth: int) -> list[str]:
    """The last step first, what it is made of further in, as ksqlDB prints it."""
    logger = ".".join(part for part in (query_id, step.name) if part)
    detail = f" | {step.detail}" if step.detail else ""
    lines = ["\t" * depth + f" > [ {step.kind} ] | Schema: {step.schema} | Logger: {logger}{detail}"]
    for parent in step.parents:
        lines.extend(_lines(parent, query_id, depth + 1))
    return lines


def _subtopologies(topology: Topology) -> list[str]:
    shown = []
    for sub in topology.subtopologies:
        stores = ", ".join(store.name for store in sub.stores) or "nothing"
        shown.append(
            f"Sub-topology {sub.id}: reads {', '.join(sub.source_topics)}; keeps {stores}; "
            f"writes {', '.join(sub.sink_topics) or 'nothing'}"
        )
    equal = (", ".join(sorted(group)) for group in topology.copartitioned)
    return shown + [f"These topics need the same number of partitions: {topics}" for topics in equal]
