"""How one task is run: `start_task` begins it, in a thread or in a process of its own, and never blocks.

    task = start_task(spec, settings, listener, TargetState.STARTED)
    task.stop(); task.wait(5) or task.abandon()

The listener is told RUNNING, PAUSED, and at the end UNASSIGNED or FAILED with the trace; after `abandon` nothing. Where
offsets are kept is `runtime/offset_store.py`; the leader's part of exactly once is `fence` (`fencing.py`).
"""

from caudal.connect.runtime.tasks.fencing import fence
from caudal.connect.runtime.tasks.hosting import start_task

__all__ = ["fence", "start_task"]
