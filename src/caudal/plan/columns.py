"""PySpark Columns in a plan: which nodes have one, and the refusal of hosts that cannot run them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from caudal.plan.errors import PlanError
from caudal.plan.functions import Function
from caudal.plan.topology import ProcessorNode, Topology


def columns_of(topology: Topology) -> Iterator[tuple[str, Any]]:
    """The nodes that have a PySpark Column, with it."""
    for node in topology.nodes:
        if not isinstance(node, ProcessorNode):
            continue
        step: Any = node.step
        functions = [getattr(step, name, None) for name in ("predicate", "function")]
        for function in [*functions, *getattr(step, "predicates", ())]:
            if isinstance(function, Function) and function.column is not None:
                yield node.name, function.column


def refuse_columns(topology: Topology) -> None:
    """For hosts that are not the native lane."""
    for node, _ in columns_of(topology):
        raise PlanError(
            f"{node} has a PySpark Column, which runs in the native lane only: give a Python function or a SQL string "
            "('amount > 0') there."
        )
