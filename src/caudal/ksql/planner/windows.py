"""The WINDOW clause: windows of the Streams library, with ksqlDB's defaults.

Without GRACE PERIOD a window takes late rows until 24 hours after its start, as Kafka Streams' windows did by default
and ksqlDB's still do. RETENTION must cover size and grace; where only RETENTION is given, the grace gives way.
"""

from __future__ import annotations

from dataclasses import dataclass

from caudal.ksql.errors import KsqlError
from caudal.ksql.sources import Window, WindowKind
from caudal.ksql.syntax.statements import WindowClause
from caudal.plan.steps import SessionWindows, TimeWindows

DAY = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class PlannedWindow:
    windows: TimeWindows | SessionWindows
    window: Window  # of the result's keys
    retention: int
    shown: str


def default_grace(size: int) -> int:
    return max(DAY - size, 0)


def planned(clause: WindowClause) -> PlannedWindow:
    size, advance = clause.size, clause.advance
    if size <= 0:
        raise KsqlError("The size of a window must be at least one millisecond.", clause.at)
    if advance is not None and not 0 < advance <= size:
        raise KsqlError(
            f"A hopping window must advance by more than 0 and at most its size: {advance} ms of {size} ms.", clause.at
        )
    grace = clause.grace
    if grace is None:
        grace = default_grace(size)
        if clause.retention is not None:
            grace = max(min(grace, clause.retention - size), 0)
    least = size + grace
    if clause.retention is not None and clause.retention < least:
        raise KsqlError(
            "The retention period must be no smaller than the window size plus the grace period. "
            f"Got size {size} ms, grace {grace} ms, retention {clause.retention} ms.",
            clause.at,
        )
    retention = least if clause.retention is None else clause.retention
    if clause.kind is WindowKind.SESSION:
        return PlannedWindow(
            SessionWindows(size, grace), Window(WindowKind.SESSION), retention, f"SESSION({size} ms, grace {grace} ms)"
        )
    step = size if advance is None else advance
    shown = f"{clause.kind.value}({size} ms, advance {step} ms, grace {grace} ms)"
    return PlannedWindow(TimeWindows(size, step, grace), Window(clause.kind, size), retention, shown)
