"""How often Python looks for cycles in a process that moves records: seldom."""

from __future__ import annotations

import gc

COLLECT_AFTER = 50_000  # objects


def calm_collector() -> None:
    """Records come and go by thousands, and none is part of a cycle. For processes that are a worker's or a task's own.

    Measured with 200,000 JSON records of 5 fields, three times each, CPU of the task's thread for a record: a sink to
    JSON lines 11.9 µs with Python's 700 objects and 8.3 µs with these, datagen 12.3 µs and 11.1 µs.
    """
    if gc.get_threshold()[0] < COLLECT_AFTER:
        gc.set_threshold(COLLECT_AFTER, 20, 50)
