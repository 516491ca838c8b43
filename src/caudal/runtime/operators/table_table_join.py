"""Table-table joins on the primary key: inner, left, outer.

A change of one side is joined with the other side's current value, for its new value and, where somebody needs it, for
its old one. The result's timestamp is the larger one of both sides. A change that had no result before and has none
now is not sent on where Kafka Streams knows it: see each kind.
"""

from __future__ import annotations

from typing import Any

from caudal.plan import steps
from caudal.plan.steps import JoinType
from caudal.runtime.operators.operator import NULL_KEY, Operator, Values, runs
from caudal.runtime.operators.tables import TableOperator
from caudal.runtime.record import Change, Record


@runs(steps.TableTableJoin)
class TableTableJoin(Operator):
    lookup: Values

    def prepare(self, step: steps.TableTableJoin) -> None:
        self.left_side, self.type = step.left_side, step.type
        self.other_table, self.joiner = step.other_store, step.joiner.direct
        # Which side may be missing in a result: this one, the other one.
        self.needs_this = step.type is JoinType.INNER or (step.type is JoinType.LEFT and step.left_side)
        self.needs_other = step.type is JoinType.INNER or (step.type is JoinType.LEFT and not step.left_side)

    def open(self) -> None:
        self.lookup = self.task.values(self.other_table)

    def joined(self, key: Any, this: Any, other: Any) -> Any:
        """The result for one value of this side; None where there is none."""
        if this is None and (self.needs_this or other is None):
            return None
        return self.joiner(key, this, other) if self.left_side else self.joiner(key, other, this)

    def process(self, record: Record) -> None:
        key = record.key
        if key is None:
            self.task.dropped[NULL_KEY] += 1
            return
        change: Change = record.value
        found = self.lookup(key)
        other, timestamp = None, record.timestamp
        if found is not None:
            other = found[0]
            if found[1] > timestamp:
                timestamp = found[1]
        elif self.needs_other or (change.new is None and change.old is None):
            return  # no result before, none now
        new = self.joined(key, change.new, other)
        old = self.joined(key, change.old, other) if self.sends_old else None
        self.forward(Record(key, Change(new, old), timestamp, record.headers))


@runs(steps.TableTableMerge)
class TableTableMerge(TableOperator):
    def prepare(self, step: steps.TableTableMerge) -> None:
        self.use_store(step.store)

    def process(self, record: Record) -> None:
        change: Change = record.value
        if self.store is not None:
            self.store.put(record.key, change.new, record.timestamp)
        if change.old is not None and not self.sends_old:
            record = record.with_value(Change(change.new, None))
        self.forward(record)

    def values(self) -> Values:
        """Without a store: both sides are read and joined."""
        if self.store is not None:
            return self.store.get  # type: ignore[no-any-return]
        left = next(side for side in self.parents if isinstance(side, TableTableJoin) and side.left_side)
        right = next(side for side in self.parents if isinstance(side, TableTableJoin) and not side.left_side)
        # Each side looks up the other: the right one's lookup reads the left table, and the other way round.
        read_left, read_right = self.task.values(right.other_table), self.task.values(left.other_table)

        def read(key: Any) -> tuple[Any, int] | None:
            left_found, right_found = read_left(key), read_right(key)
            if (left_found is None and left.needs_this) or (right_found is None and left.needs_other):
                return None
            if left_found is None and right_found is None:
                return None
            left_value, left_time = left_found or (None, -1)
            right_value, right_time = right_found or (None, -1)
            result = left.joiner(key, left_value, right_value)
            return None if result is None else (result, max(left_time, right_time))

        return read
