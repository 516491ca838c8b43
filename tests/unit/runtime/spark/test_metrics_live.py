"""The figures of an application from second to second, over workers that come and go."""

from __future__ import annotations

from typing import Any

from caudal.runtime.spark.metrics import ApplicationMetrics


def figures(records: int, **more: Any) -> dict[str, Any]:
    return {
        "records": records,
        "emitted": 0,
        "commits": records,
        "restored": 0,
        "positions": {"in": records},
        "read": {"in": records},
        "written": {"out": records // 2},
        "latency_ms": [5],
        **more,
    }


def placed() -> ApplicationMetrics:
    metrics = ApplicationMetrics("app")
    metrics.place({"0_0": (0, ("in-0",)), "0_1": (1, ("in-1",))})
    return metrics


def test_counts_by_topic_are_sums_of_tasks_and_outlive_a_worker() -> None:
    metrics = placed()
    metrics.report({}, {"0_0": figures(10), "0_1": figures(4)})
    assert metrics.live()["read"] == {"in": 14}
    metrics.report({}, {"0_0": figures(2)})  # another worker begins to count anew
    live = metrics.live()
    assert live["read"] == {"in": 16} and live["written"] == {"out": 8}


def test_latency_and_batches_are_those_since_the_last_call() -> None:
    metrics = placed()
    metrics.report({}, {"0_0": figures(1, latency_ms=[3, 9])})
    metrics.batch(0.5)
    live = metrics.live()
    assert live["latency_ms"]["max"] == 9 and live["batch_seconds"]["p50"] == 0.5
    live = metrics.live()
    assert live["latency_ms"] == {} and live["batch_seconds"] == {}
    assert metrics.snapshot()["latency_ms"]["max"] == 9  # others still see the recent ones


def test_state_stream_time_and_lag_by_topic_and_task() -> None:
    metrics = placed()
    assert metrics.live()["stream_time"] == -1
    metrics.report({}, {"0_0": figures(10, state_rows=3, stream_time=100), "0_1": figures(4, state_rows=2)})
    metrics.lag({("in", 0): 15, ("in", 1): 4})
    live = metrics.live()
    assert (live["state_rows"], live["stream_time"], live["lag_by_topic"]) == (5, 100, {"in": 5})
    assert live["tasks"] == {"0_0": [10, 3, 100, 5], "0_1": [4, 2, -1, 0]}
