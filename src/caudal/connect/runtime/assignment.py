"""Who runs what: the leader's decision, as a pure function of what everybody has and what is configured.

Incremental and cooperative (KIP-415). A worker keeps what it has. What nobody has goes to those who have least. Where
loads differ by more than one, the surplus is revoked in this round and, once its owners have let go, assigned in the
next. What a worker took with it when it vanished waits for `max_delay`: if a worker comes back under the same address
within that time, it gets its things back at once; what a worker gave back in good order waits for nothing.

Unlike Kafka Connect a returning worker is known by its address, so it need not wait until the delay is over.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from caudal.connect.runtime.group_protocol import NOTHING, Load
from caudal.connect.runtime.model import TaskId

T = TypeVar("T", bound=Hashable)


class Holder(NamedTuple):
    member: str
    url: str


@dataclass(frozen=True, slots=True)
class Memory:
    """What the leader remembers from its last decision. A new leader begins with none."""

    connectors: Mapping[str, Holder] = field(default_factory=dict)
    tasks: Mapping[TaskId, Holder] = field(default_factory=dict)
    deadline: float | None = None  # when what was lost is given to others


@dataclass(frozen=True, slots=True)
class Worker:
    url: str
    load: Load = NOTHING


@dataclass(frozen=True, slots=True)
class Decision:
    assigned: Mapping[str, Load]  # what comes, by member
    revoked: Mapping[str, Load]  # what goes
    memory: Memory
    delay: float = 0.0  # seconds until the leader should decide again


def decide(
    workers: Mapping[str, Worker],
    configured: Load,
    memory: Memory,
    now: float,
    max_delay: float,
    released: Load = NOTHING,
) -> Decision:
    """`released` is what its last owner stopped in good order before it left."""
    members = {member: worker.url for member, worker in workers.items()}
    deadline = memory.deadline if memory.deadline is not None else now + max_delay
    waits = now < deadline
    connectors = _Kind[str](
        members, {m: w.load.connectors for m, w in workers.items()}, configured.connectors, memory.connectors
    )
    tasks = _Kind[TaskId](members, {m: w.load.tasks for m, w in workers.items()}, configured.tasks, memory.tasks)
    connectors.place(released.connectors, waits)
    tasks.place(released.tasks, waits)
    held = bool(connectors.held or tasks.held)
    if not held:
        # While something is waited for, nothing is moved: it may come back to where it was.
        connectors.even_out(lambda name: name)
        tasks.even_out(lambda task: task.connector)
    return Decision(
        {m: Load(frozenset(connectors.assigned[m]), frozenset(tasks.assigned[m])) for m in members},
        {m: Load(frozenset(connectors.revoked[m]), frozenset(tasks.revoked[m])) for m in members},
        Memory(connectors.remembered(), tasks.remembered(), deadline if held else None),
        max(0.0, deadline - now) if held else 0.0,
    )


class _Kind(Generic[T]):
    """The decision for connectors, or for tasks: they are counted apart."""

    def __init__(
        self,
        members: Mapping[str, str],
        has: Mapping[str, frozenset[T]],
        configured: frozenset[T],
        before: Mapping[T, Holder],
    ) -> None:
        self._members = members
        self._before = before
        self._keeps: dict[str, set[T]] = {}
        self.assigned: dict[str, set[T]] = {member: set() for member in members}
        self.revoked: dict[str, set[T]] = {}
        self.held: set[T] = set()
        taken: set[T] = set()
        # Where two claim the same (one was cut off for a while), the one with less keeps it.
        for member in sorted(members, key=lambda m: (len(has[m]), m)):
            self._keeps[member] = set(has[member] & configured) - taken
            self.revoked[member] = set(has[member]) - self._keeps[member]
            taken |= self._keeps[member]
        self._free = configured - taken

    def place(self, released: frozenset[T], waits: bool) -> None:
        """Gives what nobody has to those who have least; or back to who had it; or to nobody yet."""
        by_url = {url: member for member, url in sorted(self._members.items(), reverse=True)}
        for item in _in_order(self._free):
            holder = self._before.get(item)
            lost = holder is not None and holder.member not in self._members and item not in released
            if holder is not None and lost and waits:
                if holder.url in by_url:
                    self.assigned[by_url[holder.url]].add(item)
                else:
                    self.held.add(item)
        for item in _in_order(self._free - self.held - set().union(*self.assigned.values())):
            if self._members:
                self.assigned[min(self._members, key=lambda m: (self._count(m), m))].add(item)

    def even_out(self, family: Callable[[T], str]) -> None:
        """Revokes the surplus of those who have too much, one of the largest family at a time."""
        counts = {member: self._count(member) for member in self._members}
        while counts:
            most = max(counts, key=lambda m: (counts[m], m))
            least = min(counts, key=lambda m: (counts[m], m))
            if counts[most] - counts[least] <= 1 or not self._keeps[most]:
                return
            item = self._surplus(self._keeps[most], family)
            self._keeps[most].remove(item)
            self.revoked[most].add(item)
            counts[most] -= 1
            counts[least] += 1  # in the next round

    def remembered(self) -> dict[T, Holder]:
        after = {item: self._before[item] for item in self.held}
        for member, url in self._members.items():
            after.update(dict.fromkeys(self._keeps[member] | self.assigned[member], Holder(member, url)))
        return after

    def _count(self, member: str) -> int:
        return len(self._keeps[member]) + len(self.assigned[member])

    def _surplus(self, items: Iterable[T], family: Callable[[T], str]) -> T:
        families: dict[str, list[T]] = {}
        for item in _in_order(items):
            families.setdefault(family(item), []).append(item)
        return max(families.values(), key=len)[-1]


def _in_order(items: Iterable[T]) -> list[T]:
    return sorted(items)  # type: ignore[type-var]
