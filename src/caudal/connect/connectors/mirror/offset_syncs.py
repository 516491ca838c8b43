"""Which offset of the copy is which of the source: what the source task notes and group offsets are translated by.

A sync says that the record at `upstream` lies at `downstream`. Between two syncs MirrorMaker 2 can only say "not before
the first": it translates every offset behind a sync to one past it, so a group that moves reads again what lies
between. Ours carry a header with the upstream offset of the previous sync, when every record in between has kept its
distance (no transaction marker, no compacted record, nobody else's record): then offsets in between are exact. Syncs
stand at both ends of every gap, so the whole log is covered and a translation is exact wherever we have copied.
MirrorMaker's own syncs have no such header and are read by its rule; it does not see ours.

Pure: no I/O, no clock.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from caudal.connect.connectors.mirror.formats import OffsetSync

RUN = "caudal.mirror.run"  # header: the upstream offset of the sync before, in decimal
MOST_SYNCS = 50_000  # kept for one partition


@dataclass(frozen=True, slots=True)
class Sync:
    """A sync to write. `run` is the previous sync's upstream offset when all between the two is of one distance."""

    upstream: int
    downstream: int
    run: int | None


@dataclass(slots=True)
class PartitionSyncs:
    """Decides, for one partition in one life of the task, after which records a sync is due."""

    lag: int
    _synced: tuple[int, int] | None = None
    _last: tuple[int, int] | None = None

    def on_record(self, upstream: int, downstream: int) -> Sequence[Sync]:
        """A record was acknowledged; in the order of the source."""
        last = self._last
        if last is None or self._synced is None:
            return (self._sync(upstream, downstream, None),)
        if upstream - last[0] == 1 and downstream - last[1] == 1:
            if downstream - (self._synced[1] + 1) < self.lag:
                self._last = (upstream, downstream)
                return ()
            return (self._sync(upstream, downstream, self._synced[0]),)
        return (*self.finish(), self._sync(upstream, downstream, None))

    def finish(self) -> Sequence[Sync]:
        """A sync for the last record, where it has none: at the end of a run, and when nothing comes for a while."""
        if self._last is None or self._synced is None or self._last == self._synced:
            return ()
        return (self._sync(*self._last, self._synced[0]),)

    def _sync(self, upstream: int, downstream: int, run: int | None) -> Sync:
        self._synced = self._last = (upstream, downstream)
        return Sync(upstream, downstream, run)


@dataclass(slots=True)
class _Known:
    """The syncs of one partition, ascending in both offsets."""

    upstream: list[int] = field(default_factory=list)
    downstream: list[int] = field(default_factory=list)
    exact: list[bool] = field(default_factory=list)  # whether all between the one before and this is of one distance

    def add(self, upstream: int, downstream: int, run: int | None) -> None:
        # The source was read again from an earlier place, or one of the topics was made anew: what was known from
        # there on is not so any more.
        while self.upstream and (self.upstream[-1] >= upstream or self.downstream[-1] >= downstream):
            self.upstream.pop(), self.downstream.pop(), self.exact.pop()
        exact = bool(self.upstream) and run == self.upstream[-1]
        exact = exact and upstream - self.upstream[-1] == downstream - self.downstream[-1]
        if exact and self.exact[-1]:  # the last one is the middle of a run: its two ends say as much
            self.upstream[-1], self.downstream[-1] = upstream, downstream
            return
        self.upstream.append(upstream)
        self.downstream.append(downstream)
        self.exact.append(exact)
        if len(self.upstream) > MOST_SYNCS:
            self._thin()

    def _thin(self) -> None:
        """Every second sync of the older half goes: old offsets become less exact, and none is lost."""
        half = len(self.upstream) // 2
        kept = [*range(0, half, 2), *range(half, len(self.upstream))]
        self.exact = [self.exact[at] and (at > half or at == 0) for at in kept]
        self.upstream = [self.upstream[at] for at in kept]
        self.downstream = [self.downstream[at] for at in kept]

    def translate(self, upstream: int) -> int | None:
        at = bisect_right(self.upstream, upstream) - 1
        if at < 0:
            # Before everything that is known: the beginning, if the copy begins there.
            return 0 if self.downstream[:1] == [0] else None
        distance = upstream - self.upstream[at]
        if at + 1 < len(self.upstream) and self.exact[at + 1]:
            return self.downstream[at] + distance
        return self.downstream[at] + min(distance, 1)


class OffsetSyncStore:
    """All syncs of an offset-syncs topic, in the order they were written."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], _Known] = {}

    def add(self, sync: OffsetSync, run: int | None = None) -> None:
        known = self._known.get((sync.topic, sync.partition))
        if known is None:
            known = self._known[sync.topic, sync.partition] = _Known()
        known.add(sync.upstream, sync.downstream, run)

    def last(self, topic: str, partition: int) -> tuple[int, int] | None:
        """The newest sync of a partition: upstream and downstream."""
        known = self._known.get((topic, partition))
        return None if known is None else (known.upstream[-1], known.downstream[-1])

    def ends(self) -> dict[tuple[str, int], tuple[int, int]]:
        """The newest sync of every partition."""
        return {place: (known.upstream[-1], known.downstream[-1]) for place, known in self._known.items()}

    def translate(self, topic: str, partition: int, upstream: int) -> int | None:
        """The offset of the copy at which a group goes on that is at `upstream` in the source: never behind the first
        record that it has not read. None where nothing is known of that part of the log."""
        known = self._known.get((topic, partition))
        return None if known is None else known.translate(upstream)
