"""Aggregates of streams without windows: count and aggregate, reduce.

Records with a null key or value are dropped with a count. The result carries the largest timestamp of the records in
it. `Change.old` is None for the first result of a key: Kafka Streams without its cache sends the initializer's value
there, and a table grouped by that would take away what nobody added; with its cache (its default) it sends none, as
here.
"""

from __future__ import annotations

from caudal.plan import steps
from caudal.runtime.operators.operator import NULL_KEY_OR_VALUE, Operator, Values, runs
from caudal.runtime.record import Change, Record
from caudal.runtime.stores.isolation import ATOMS


@runs(steps.Aggregate)
class Aggregate(Operator):
    def prepare(self, step: steps.Aggregate) -> None:
        store = self.task.store(step.store)
        self.get, self.put = store.get, store.put
        self.initializer, self.aggregator = step.initializer.direct, step.aggregator.direct

    def process(self, record: Record) -> None:
        key, value, timestamp = record.key, record.value, record.timestamp
        if key is None or value is None:
            self.task.dropped[NULL_KEY_OR_VALUE] += 1
            return
        stored = self.get(key)
        old = None
        if stored is None:
            new = self.aggregator(key, value, self.initializer())
        else:
            aggregate, before = stored
            if self.sends_old:
                # The aggregator may change the object it is given in place; downstream needs it as it was.
                old = aggregate if aggregate.__class__ in ATOMS else self.get(key)[0]
            new = self.aggregator(key, value, aggregate)
            if before > timestamp:
                timestamp = before
        self.put(key, new, timestamp)
        self.forward(Record(key, Change(new, old), timestamp, record.headers))

    def values(self) -> Values:
        return self.get  # type: ignore[no-any-return]


@runs(steps.Reduce)
class Reduce(Operator):
    def prepare(self, step: steps.Reduce) -> None:
        store = self.task.store(step.store)
        self.get, self.put = store.get, store.put
        self.reducer = step.reducer.direct

    def process(self, record: Record) -> None:
        key, new, timestamp = record.key, record.value, record.timestamp
        if key is None or new is None:
            self.task.dropped[NULL_KEY_OR_VALUE] += 1
            return
        stored = self.get(key)
        old = None
        if stored is not None:
            aggregate, before = stored
            if self.sends_old:
                old = aggregate if aggregate.__class__ in ATOMS else self.get(key)[0]
            new = self.reducer(aggregate, new)
            if before > timestamp:
                timestamp = before
        self.put(key, new, timestamp)
        self.forward(Record(key, Change(new, old), timestamp, record.headers))

    def values(self) -> Values:
        return self.get  # type: ignore[no-any-return]
