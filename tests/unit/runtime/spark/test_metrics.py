"""Figures of an application over the lives of its workers."""

from __future__ import annotations

from typing import Any

from caudal.runtime.spark.metrics import ApplicationMetrics


def figures(records: int, **dropped: int) -> dict[str, Any]:
    return {"records": records, "emitted": records, "commits": records, "restored": 0, "dropped": dropped}


def test_what_a_lost_worker_counted_is_kept() -> None:
    metrics = ApplicationMetrics("orders")
    metrics.place({"0_0": (0, ("orders-0",))})
    metrics.report({0: 1}, {"0_0": figures(5, late=2)})
    metrics.place({"0_0": (0, ("orders-0",))})  # the query starts anew
    metrics.report({0: 2}, {"0_0": figures(0)})
    metrics.report({0: 2}, {"0_0": figures(3, late=1, null_key=1)})
    told = metrics.snapshot()
    assert (told["records"], told["dropped"]) == (8, {"late": 3, "null_key": 1})
