"""What the state machine of groups needs from outside: a clock, timers, a pen, two settings. Tests bring their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from caudal.broker.coordinators.group import Group, Timer
from caudal.broker.coordinators.offset_records import GroupValue
from caudal.broker.errors import ErrorCode

__all__ = ["Host"]


class Host(Protocol):
    """What the state machine needs from outside."""

    def now_ms(self) -> int:
        """Wall clock, for what is written."""

    def time(self) -> float:
        """Seconds that only go forward, for time-outs."""

    def call_later(self, delay: float, callback: Callable[..., None], *args: Any) -> Timer: ...

    def store(self, group: Group, value: GroupValue, done: Callable[[ErrorCode], None]) -> None:
        """Writes the group's record and calls `done` when it is safe (or could not be)."""

    @property
    def initial_rebalance_delay_ms(self) -> int: ...

    @property
    def max_group_size(self) -> int: ...
