"""Windows for `windowed_by`: tumbling, hopping, sliding, session. Sizes and grace are durations ("1 minute", timedelta,
ms).

A record that comes after its window's end plus the grace period (by stream time) is late and dropped with a count.
"""

from __future__ import annotations

from caudal.plan.durations import Duration, milliseconds
from caudal.plan.errors import PlanError
from caudal.plan.steps import SessionWindows, SlidingWindows, TimeWindows

Windows = TimeWindows | SlidingWindows | SessionWindows


def tumbling(size: Duration, *, grace: Duration = 0) -> TimeWindows:
    """Windows of one size, side by side: each record is in exactly one.

    >>> tumbling("1 minute", grace="10 seconds")
    TimeWindows(size=60000, advance=60000, grace=10000)
    """
    length = _positive(size, "size of a window")
    return TimeWindows(length, length, milliseconds(grace, "grace period"))


def hopping(size: Duration, advance: Duration, *, grace: Duration = 0) -> TimeWindows:
    """Windows of one size that begin every `advance`: they overlap, and each record is in several.

    >>> hopping("1 minute", "20 seconds")
    TimeWindows(size=60000, advance=20000, grace=0)
    """
    length, step = _positive(size, "size of a window"), _positive(advance, "advance of a window")
    if step > length:
        raise PlanError(f"Windows of {length} ms cannot advance by {step} ms: records in between would be in none.")
    return TimeWindows(length, step, milliseconds(grace, "grace period"))


def sliding(difference: Duration, *, grace: Duration = 0) -> SlidingWindows:
    """A window for every set of records that lie no more than `difference` apart.

    >>> sliding("30 seconds", grace="5s")
    SlidingWindows(difference=30000, grace=5000)
    """
    return SlidingWindows(milliseconds(difference, "time difference"), milliseconds(grace, "grace period"))


def session(gap: Duration, *, grace: Duration = 0) -> SessionWindows:
    """Windows that last as long as records of a key come; a pause longer than `gap` ends one.

    >>> session("5 minutes")
    SessionWindows(gap=300000, grace=0)
    """
    return SessionWindows(_positive(gap, "gap of a session"), milliseconds(grace, "grace period"))


def window_size(windows: TimeWindows | SlidingWindows) -> int:
    return windows.size if isinstance(windows, TimeWindows) else windows.difference


def least_retention(windows: Windows) -> int:
    """How long a store must keep windows: until no record can change them."""
    if isinstance(windows, TimeWindows):
        return windows.size + windows.grace
    if isinstance(windows, SlidingWindows):
        return 2 * windows.difference + windows.grace
    return windows.gap + windows.grace


def closing_grace(windows: Windows) -> int:
    """How long after its end a window may still change (`until_window_closes`)."""
    return windows.gap + windows.grace if isinstance(windows, SessionWindows) else windows.grace


def _positive(duration: Duration, what: str) -> int:
    length = milliseconds(duration, what)
    if length == 0:
        raise PlanError(f"The {what} must be at least one millisecond.")
    return length
