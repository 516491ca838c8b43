"""Which lane runs an application, and why: a pure decision.

The task lane (the interpreter) runs everything. The native lane (one Spark SQL plan, no Python) is chosen by itself
only where nobody could tell the difference but by the clock: the shape is recognised, the guarantee is at least once,
the handlers are ones that Spark's plan can follow, and the topics it writes stamp records themselves
(message.timestamp.type=LogAppendTime), because Spark's Kafka sink cannot pass a record's time on. Asked for by name it
also runs where results would have another time, and counts, whose state Spark keeps.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from caudal.plan.columns import columns_of
from caudal.plan.errors import PlanError
from caudal.plan.native import NativePlan, NotNative, native_plan
from caudal.plan.topology import Topology


class Lane(Enum):
    AUTO = "auto"
    TASK = "task"
    NATIVE = "native"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the decision depends on besides the topology; handlers by their names (fail, skip, dead letter)."""

    guarantee: str = "exactly_once"
    on_bad_record: str = "fail"
    on_processing_error: str = "fail"
    on_produce_error: str = "fail"
    append_time: Collection[str] | None = None  # topics that stamp records themselves; None: not asked yet


@dataclass(frozen=True, slots=True)
class Decision:
    lane: Lane  # TASK or NATIVE
    reason: str
    plan: NativePlan | None = None  # also where the task lane runs what could run natively

    @property
    def is_native(self) -> bool:
        return self.lane is Lane.NATIVE

    def __str__(self) -> str:
        return f"Lane: {self.lane.value} ({self.reason})"


def decide(topology: Topology, wanted: Lane, given: Circumstances) -> Decision:
    """Raises PlanError, with the step, where the wanted lane cannot run it."""
    try:
        plan, obstacle = _natively(topology, given, counts=wanted is Lane.NATIVE), None
    except NotNative as error:
        plan, obstacle = None, str(error)
    column = next(iter(columns_of(topology)), None)
    if column is not None and (wanted is Lane.TASK or plan is None):
        cause = f"; here it cannot: {obstacle}" if obstacle is not None else ""
        raise PlanError(
            f"{column[0]} has a PySpark Column, which runs in the native lane only{cause}: give a Python function or a "
            "SQL string ('amount > 0') there."
        )
    if wanted is Lane.TASK:
        return Decision(Lane.TASK, "as asked for", plan)
    if wanted is Lane.NATIVE:
        if plan is None:
            raise PlanError(f"'{topology.application_id}' cannot run in the native lane: {obstacle}.")
        state = "" if plan.count is None else "; the state is in Spark's checkpoint, without changelog and queries"
        return Decision(Lane.NATIVE, f"as asked for; results have the time of writing{state}", plan)
    if plan is None:
        return Decision(Lane.TASK, str(obstacle))
    if column is not None:
        return Decision(Lane.NATIVE, f"{column[0]} has a PySpark Column", plan)
    stamped = _own_time(plan, given.append_time)
    if stamped is not None:
        return Decision(Lane.TASK, stamped, plan)
    return Decision(Lane.NATIVE, "every step has a Spark form of the same meaning", plan)


def _natively(topology: Topology, given: Circumstances, counts: bool) -> NativePlan:
    if given.guarantee == "exactly_once":
        raise NotNative("exactly_once always means the task lane: Spark's Kafka sink has no transactions")
    if given.guarantee == "at_most_once":
        raise NotNative("at_most_once commits before it processes, which Spark's queries do not")
    plan = native_plan(topology, counts)
    if plan.count is not None and given.on_bad_record == "dead letter":
        raise NotNative("on_bad_record='dead letter' needs results beside the counts")
    if plan.by_id is not None and given.on_bad_record != "fail":
        raise NotNative(f"{plan.by_id} reads Avro, where a record of a newer schema would be taken for a bad one")
    if given.on_produce_error != "fail":
        raise NotNative(
            f"on_produce_error='{given.on_produce_error}' needs to see each result, and Spark's sink does not"
        )
    if given.on_processing_error != "fail" and plan.may_fail is not None:
        raise NotNative(
            f"on_processing_error='{given.on_processing_error}' needs to go on when {plan.may_fail} fails for a record"
        )
    return plan


def _own_time(plan: NativePlan, append_time: Collection[str] | None) -> str | None:
    """Why results would have another time than in the task lane; None where they have not."""
    topics = dict.fromkeys(output.topic for source in plan.sources for output in source.outputs)
    if append_time is None:
        return (
            "every step has a Spark form, but Spark's sink gives results the time of writing: native where the topics "
            "have message.timestamp.type=LogAppendTime, or with lane='native'"
        )
    for topic in topics:
        if topic not in append_time:
            return (
                f"Spark's sink gives results the time of writing, and '{topic}' keeps the time that it is given: "
                "set its message.timestamp.type=LogAppendTime, or ask for lane='native'"
            )
    return None
