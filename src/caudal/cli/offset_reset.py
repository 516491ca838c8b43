"""Where a reset moves a group's committed offsets: the plan, before anything is changed.

Pure: what is committed, where the logs begin and end, and what Kafka found for a point in time are passed in. Shared by
`caudal group reset` and the control center, which each ask their broker and apply the plan in their own way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Place = tuple[str, int]  # topic and partition
Kind = Literal["earliest", "latest", "offset", "time", "shift"]


@dataclass(frozen=True, slots=True)
class Target:
    """`value`: the offset, the time in epoch milliseconds, or by how many to shift; unused for the two ends."""

    kind: Kind
    value: int = 0


@dataclass(frozen=True, slots=True)
class Move:
    """One partition of a plan. `wanted` is what was asked for; `new` is that, kept within the log."""

    topic: str
    partition: int
    committed: int | None
    wanted: int
    new: int

    @property
    def change(self) -> int | None:
        return None if self.committed is None else self.new - self.committed

    @property
    def bounded(self) -> bool:
        """Whether the log does not reach as far as was asked."""
        return self.wanted != self.new


def plan_moves(
    target: Target,
    places: Iterable[Place],
    *,
    committed: Mapping[Place, int],
    earliest: Mapping[Place, int],
    latest: Mapping[Place, int],
    at_time: Mapping[Place, int],
) -> list[Move]:
    """A move for each place; one whose partition is gone (it has no ends) is left out.

    >>> plan_moves(Target("shift", -9), [("t", 0)], committed={("t", 0): 6}, earliest={("t", 0): 0},
    ...            latest={("t", 0): 10}, at_time={})
    [Move(topic='t', partition=0, committed=6, wanted=-3, new=0)]
    """
    moves = []
    for place in places:
        if place not in earliest or place not in latest:
            continue
        first, end, current = earliest[place], latest[place], committed.get(place)
        match target.kind:
            case "earliest":
                wanted = first
            case "latest":
                wanted = end
            case "offset":
                wanted = target.value
            case "time":
                found = at_time.get(place, -1)
                wanted = found if found >= 0 else end  # Kafka answers -1 when no record is that young
            case "shift":
                wanted = (first if current is None else current) + target.value
        moves.append(Move(*place, current, wanted, min(max(wanted, first), end)))
    return moves
