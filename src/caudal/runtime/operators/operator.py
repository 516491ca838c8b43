"""What an operator is, and how operators are found and linked.

A node of the plan becomes one `Operator` object per task. Objects are made in the plan's order (parents first), linked
from the leaves up (each gets `forward`, which calls its children's `process` directly), then opened. After that a
record travels by plain method calls: nothing is looked up by type or name per record.

Tables. A table node sends `Change(new, old)`. Filling `old` costs a store read, so it is filled only where the plan
says that somebody downstream needs it (`sends_old`). A table that has no store of its own can still be read by key
(`values`): it computes the value from its parent's.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from caudal.plan.steps import Step
from caudal.plan.topology import StoreSpec
from caudal.runtime.context import TaskContext
from caudal.runtime.errors import StreamsError
from caudal.runtime.record import Record

Process = Callable[[Record], None]
Values = Callable[[Any], tuple[Any, int] | None]  # key → value and timestamp

_OPERATORS: dict[type[Step], Callable[..., Operator]] = {}
_Maker = TypeVar("_Maker", bound="Callable[..., Operator]")

# Why a record was dropped: the keys of `Task.dropped`.
NULL_KEY = "null key"
NULL_KEY_OR_VALUE = "null key or value"
LATE = "late record"
NULL_FOREIGN_KEY = "null foreign key"
OUTDATED_RESPONSE = "outdated foreign-key response"


def runs(step: type[Step]) -> Callable[[_Maker], _Maker]:
    """Registers the class that runs a step (or a function that chooses one)."""

    def register(operator: _Maker) -> _Maker:
        _OPERATORS[step] = operator
        return operator

    return register


def operator_for(step: Step) -> Callable[..., Operator]:
    """What runs this step."""
    _read_modules()
    try:
        return _OPERATORS[type(step)]
    except KeyError:
        raise StreamsError(f"There is no operator that runs the step {type(step).__name__}.") from None


@functools.cache
def _read_modules() -> None:
    """Reads the modules of this package, at the first question. Threads that ask together wait for each other's
    imports, so all find the table complete."""
    package = importlib.import_module("caudal.runtime.operators")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")


@dataclass(slots=True)
class TaskParts:
    """What the operators of one task share."""

    context: TaskContext
    stores: Mapping[str, Any]
    global_stores: Mapping[str, Any]
    specs: Mapping[str, StoreSpec]
    partition: int
    dropped: Counter[str]
    operators: dict[str, Operator] = field(default_factory=dict)
    shared: dict[str, Any] = field(default_factory=dict)  # what two sides of a join have in common, by their store
    remembered: Mapping[str, int] = field(default_factory=dict)  # from the last commit of an earlier Task object

    def store(self, name: str) -> Any:
        for stores in (self.stores, self.global_stores):
            if name in stores:
                return stores[name]
        raise StreamsError(f"The task has no store '{name}'.")

    def values(self, name: str) -> Values:
        """Reads a table by key: `name` is its store, or its node where it has no store."""
        for stores in (self.stores, self.global_stores):
            if name in stores:
                return stores[name].get  # type: ignore[no-any-return]
        if name in self.operators:
            return self.operators[name].values()
        raise StreamsError(f"The task has no table or store '{name}'.")


def nowhere(record: Record) -> None:
    """The end of a stream."""


class Operator:
    """One node in one task."""

    def __init__(
        self,
        name: str,
        step: Any,
        parents: Sequence[Operator],
        task: TaskParts,
        stores: tuple[str, ...] = (),
        sends_old: bool = False,
    ) -> None:
        self.name = name
        self.parents = parents
        self.task = task
        self.store_names = stores
        self.forward: Process = nowhere
        self.children: dict[str, Process] = {}
        self.sends_old = sends_old
        self.prepare(step)

    # -- for subclasses ------------------------------------------------------------------------------------------------

    def prepare(self, step: Any) -> None:
        """Takes what it needs from its step; the parents exist, the children do not."""

    def process(self, record: Record) -> None:
        raise NotImplementedError

    def open(self) -> None:
        """All nodes are linked."""

    def close(self) -> None:
        """The task ends."""

    def remember(self) -> dict[str, int]:
        """Times that must outlive this object: committed with the offsets, given back as `task.remembered`."""
        return {}

    def values(self) -> Values:
        """Reads this table by key."""
        raise StreamsError(f"{self.name} is not a table.")

    # -- linking -------------------------------------------------------------------------------------------------------

    def link(self, children: dict[str, Process]) -> None:
        self.children = children
        self.forward = fan_out(list(children.values()))

    def forward_to(self, record: Record, child: str | None) -> None:
        if child is None:
            self.forward(record)
            return
        target = self.children.get(child)
        if target is None:
            known = ", ".join(self.children) or "none"
            raise StreamsError(f"{self.name} has no child '{child}' (it has: {known}).")
        target(record)


def fan_out(targets: list[Process]) -> Process:
    """One call for all children; one child is called directly."""
    if not targets:
        return nowhere
    if len(targets) == 1:
        return targets[0]
    if len(targets) == 2:
        first, second = targets

        def forward_two(record: Record) -> None:
            first(record)
            second(record)

        return forward_two
    every = tuple(targets)

    def forward_all(record: Record) -> None:
        for target in every:
            target(record)

    return forward_all


def failing_node(error: BaseException) -> str | None:
    """The innermost node in an error's traceback. Cheaper than to note the current node for every record."""
    name = None
    trace = error.__traceback__
    while trace is not None:
        owner = trace.tb_frame.f_locals.get("self")
        if isinstance(owner, Operator):
            name = owner.name
        trace = trace.tb_next
    return name
