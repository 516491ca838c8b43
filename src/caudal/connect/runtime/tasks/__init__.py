"""How one task is run: `start_task` begins it, in a thread or in a process of its own, and never blocks.

    task = start_task(spec, settings, listener, TargetState.STARTED)
    task.stop(); task.wait(5) or task.abandon()

The listener is told RUNNING, PAUSED, and at the end UNASSIGNED or FAILED with the trace; after `abandon` nothing. Where
offsets are kept is `runtime/offset_store.py`; the leader's part of exactly once is `fence` (`fencing.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from caudal.connect.runtime.model import Listener, RunningTask, TargetState, TaskSpec
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.tasks.fencing import fence
from caudal.connect.runtime.tasks.hosting import start_in_thread

__all__ = ["fence", "start_task"]


def start_task(
    spec: TaskSpec,
    settings: WorkerSettings,
    listener: Listener,
    target: TargetState,
    check: Callable[[], None] | None = None,
) -> RunningTask:
    """`check` is for exactly-once sources: asked before and after the producer takes its transactional id, it raises
    when the cluster has a newer generation of this task, so that a late one does not fence it."""
    return start_in_thread(spec, settings, listener, target, check)
