"""Aggregates of tables: group_by re-keys the changes, then reduce, aggregate and count with an adder and a subtractor.

Between the two is a repartition topic that carries both halves of a change. Within one change the old value is
subtracted first, then the new one added. A group whose aggregate becomes None is deleted.
"""

from __future__ import annotations

from typing import Any

from caudal.plan import steps
from caudal.runtime.errors import StreamsError
from caudal.runtime.operators.operator import Operator, Values, runs
from caudal.runtime.record import Change, Record
from caudal.runtime.stores.isolation import ATOMS


@runs(steps.TableGroupBy)
class TableGroupBy(Operator):
    def prepare(self, step: steps.TableGroupBy) -> None:
        self.function = step.function.direct

    def process(self, record: Record) -> None:
        key = record.key
        if key is None:
            raise StreamsError(f"{self.name} got a change of a table with a null key.")
        change: Change = record.value
        old_key, old = self.pair(key, change.old)
        new_key, new = self.pair(key, change.new)
        # One message where the group stays the same: nobody sees the state between removal and addition.
        if old is not None and new is not None and old_key == new_key:
            self.forward(Record(old_key, Change(new, old), record.timestamp, record.headers))
            return
        if old is not None:
            self.forward(Record(old_key, Change(None, old), record.timestamp, record.headers))
        if new is not None:
            self.forward(Record(new_key, Change(new, None), record.timestamp, record.headers))

    def pair(self, key: Any, value: Any) -> tuple[Any, Any]:
        """The group and the value in it; without either the half does not count."""
        if value is None:
            return None, None
        pair = self.function(key, value)
        if pair is None or pair[0] is None:
            return None, None
        return pair[0], pair[1]


class _GroupedTable(Operator):
    def use_store(self, name: str) -> None:
        store = self.task.store(name)
        self.get, self.put = store.get, store.put

    def subtract(self, key: Any, aggregate: Any, value: Any) -> Any:
        raise NotImplementedError

    def add(self, key: Any, aggregate: Any, value: Any) -> Any:
        raise NotImplementedError

    def process(self, record: Record) -> None:
        key, timestamp = record.key, record.timestamp
        if key is None:
            raise StreamsError(f"{self.name} got a change with a null key.")
        change: Change = record.value
        stored = self.get(key)
        aggregate, before = (None, -1) if stored is None else stored
        old = None
        if self.sends_old and aggregate is not None:
            old = aggregate if aggregate.__class__ in ATOMS else self.get(key)[0]
        touched = False
        if change.old is not None and aggregate is not None:
            aggregate = self.subtract(key, aggregate, change.old)
            touched = True
        if change.new is not None:
            aggregate = self.add(key, aggregate, change.new)
            touched = True
        if touched and before > timestamp:
            timestamp = before
        self.put(key, aggregate, timestamp)
        self.forward(Record(key, Change(aggregate, old), timestamp, record.headers))

    def values(self) -> Values:
        return self.get  # type: ignore[no-any-return]


@runs(steps.TableAggregate)
class TableAggregate(_GroupedTable):
    def prepare(self, step: steps.TableAggregate) -> None:
        self.use_store(step.store)
        self.initializer, self.adder, self.subtractor = (
            step.initializer.direct,
            step.adder.direct,
            step.subtractor.direct,
        )

    def subtract(self, key: Any, aggregate: Any, value: Any) -> Any:
        return self.subtractor(key, value, aggregate)

    def add(self, key: Any, aggregate: Any, value: Any) -> Any:
        return self.adder(key, value, self.initializer() if aggregate is None else aggregate)


@runs(steps.TableReduce)
class TableReduce(_GroupedTable):
    def prepare(self, step: steps.TableReduce) -> None:
        self.use_store(step.store)
        self.adder, self.subtractor = step.adder.direct, step.subtractor.direct

    def subtract(self, key: Any, aggregate: Any, value: Any) -> Any:
        return self.subtractor(aggregate, value)

    def add(self, key: Any, aggregate: Any, value: Any) -> Any:
        return value if aggregate is None else self.adder(aggregate, value)
