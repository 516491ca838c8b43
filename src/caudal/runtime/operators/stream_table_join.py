"""Joins of a stream with a table or a global table: each record is looked up when it comes; table changes send
nothing.

Records with a null value are dropped with a count, and so are those without a key for the table, unless it is a left
join: then they go on with None (KIP-962). The result keeps the stream record's timestamp and headers.
"""

from __future__ import annotations

from caudal.plan import steps
from caudal.runtime.errors import StreamsError
from caudal.runtime.operators.operator import NULL_KEY_OR_VALUE, Operator, Values, runs
from caudal.runtime.record import Record


@runs(steps.StreamTableJoin)
class StreamTableJoin(Operator):
    lookup: Values

    def prepare(self, step: steps.StreamTableJoin) -> None:
        if step.grace is not None:
            raise StreamsError(
                f"{self.name} joins with a grace period: that needs a versioned table, which there is not yet."
            )
        self.table, self.left, self.joiner = step.store, step.left, step.joiner.direct

    def open(self) -> None:
        self.lookup = self.task.values(self.table)

    def process(self, record: Record) -> None:
        key, value = record.key, record.value
        if value is None or (key is None and not self.left):
            self.task.dropped[NULL_KEY_OR_VALUE] += 1
            return
        found = None if key is None else self.lookup(key)
        if found is not None:
            self.forward(Record(key, self.joiner(key, value, found[0]), record.timestamp, record.headers))
        elif self.left:
            self.forward(Record(key, self.joiner(key, value, None), record.timestamp, record.headers))


@runs(steps.GlobalTableJoin)
class GlobalTableJoin(Operator):
    lookup: Values

    def prepare(self, step: steps.GlobalTableJoin) -> None:
        self.table, self.left, self.joiner = step.store, step.left, step.joiner.direct
        self.key_selector = step.key_selector.direct

    def open(self) -> None:
        self.lookup = self.task.values(self.table)

    def process(self, record: Record) -> None:
        key, value = record.key, record.value
        if value is None:
            self.task.dropped[NULL_KEY_OR_VALUE] += 1
            return
        table_key = self.key_selector(key, value)
        if table_key is None and not self.left:
            self.task.dropped[NULL_KEY_OR_VALUE] += 1
            return
        found = None if table_key is None else self.lookup(table_key)
        if found is not None:
            self.forward(Record(key, self.joiner(key, value, found[0]), record.timestamp, record.headers))
        elif self.left:
            self.forward(Record(key, self.joiner(key, value, None), record.timestamp, record.headers))
