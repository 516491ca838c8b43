"""What `KTable.suppress` waits for, and how much it may hold meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

from caudal.plan.durations import Duration, milliseconds
from caudal.plan.errors import PlanError


@dataclass(frozen=True, slots=True)
class Suppressed:
    until_window_closes: bool
    time_limit: int
    max_records: int | None
    max_bytes: int | None
    emit_early_when_full: bool


def until_window_closes(*, max_records: int | None = None, max_bytes: int | None = None) -> Suppressed:
    """One result per window, when no record can change it any more. A full buffer stops the application.

    >>> until_window_closes().max_records is None
    True
    """
    _check_limits(max_records, max_bytes)
    return Suppressed(True, 0, max_records, max_bytes, emit_early_when_full=False)


def until_time_limit(
    limit: Duration, *, max_records: int | None = None, max_bytes: int | None = None, when_full: str = "emit"
) -> Suppressed:
    """At most one update per key in this time (by stream time). `when_full`: "emit" the oldest early, or "stop".

    >>> until_time_limit("1 minute", max_records=1000).time_limit
    60000
    """
    _check_limits(max_records, max_bytes)
    if when_full not in ("emit", "stop"):
        raise PlanError(f"when_full must be 'emit' or 'stop', not {when_full!r}.")
    return Suppressed(False, milliseconds(limit, "time limit"), max_records, max_bytes, when_full == "emit")


def _check_limits(max_records: int | None, max_bytes: int | None) -> None:
    for name, limit in (("max_records", max_records), ("max_bytes", max_bytes)):
        if limit is not None and limit < 0:
            raise PlanError(f"{name} must not be negative, but is {limit}.")
