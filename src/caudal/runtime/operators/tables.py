"""Tables: from a topic or a stream, filter, map_values, transform_values, and back to a stream.

A table without a store passes changes on and, when it is read by key, computes from its parent. Updates that come out
of order replace the value like any other, as in Kafka Streams without versioned stores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from caudal.plan import steps
from caudal.runtime.context import ForwardlessContext
from caudal.runtime.errors import StreamsError
from caudal.runtime.operators.operator import NULL_KEY, Operator, Values, runs
from caudal.runtime.record import Change, Record, RecordContext


class TableOperator(Operator):
    """A table that may have a store of its own."""

    def use_store(self, name: str | None) -> None:
        self.store = None if name is None else self.task.store(name)

    def values(self) -> Values:
        if self.store is not None:
            return self.store.get  # type: ignore[no-any-return]
        return self.computed_values(self.parents[0].values())

    def computed_values(self, parent: Values) -> Values:
        raise StreamsError(f"The table {self.name} has no store and cannot be read by key.")

    def store_and_forward(self, record: Record, new: Any, old: Any) -> None:
        if self.store is not None:
            self.store.put(record.key, new, record.timestamp)
        self.forward(Record(record.key, Change(new, old), record.timestamp, record.headers))

    def stored_value(self, key: Any) -> Any:
        assert self.store is not None
        stored = self.store.get(key)
        return None if stored is None else stored[0]


@runs(steps.TableSource)
class TableSource(TableOperator):
    def prepare(self, step: steps.TableSource) -> None:
        self.use_store(step.store)

    def process(self, record: Record) -> None:
        key = record.key
        if key is None:
            self.task.dropped[NULL_KEY] += 1
            return
        old = None
        store = self.store
        if store is not None:
            if self.sends_old:
                stored = store.get(key)
                if stored is not None:
                    old = stored[0]
            store.put(key, record.value, record.timestamp)
        self.forward(Record(key, Change(record.value, old), record.timestamp, record.headers))

    def values(self) -> Values:
        if self.store is None:
            raise StreamsError(f"The table {self.name} has no store and cannot be read by key.")
        return self.store.get  # type: ignore[no-any-return]


@runs(steps.StreamToTable)
class StreamToTable(TableSource):
    """The same behind a stream."""


@runs(steps.TableFilter)
class TableFilter(TableOperator):
    def prepare(self, step: steps.TableFilter) -> None:
        self.use_store(step.store)
        self.predicate = step.predicate.direct
        self.negate = step.negate

    def kept(self, key: Any, value: Any) -> Any:
        return value if value is not None and bool(self.predicate(key, value)) is not self.negate else None

    def process(self, record: Record) -> None:
        key = record.key
        change: Change = record.value
        new = self.kept(key, change.new)
        old = None
        if self.sends_old:
            old = self.stored_value(key) if self.store is not None else self.kept(key, change.old)
            if new is None and old is None:
                return  # it was not there before either: a tombstone would tell nothing
        self.store_and_forward(record, new, old)

    def computed_values(self, parent: Values) -> Values:
        def read(key: Any) -> tuple[Any, int] | None:
            found = parent(key)
            return found if found is not None and self.kept(key, found[0]) is not None else None

        return read


@runs(steps.TableMapValues)
class TableMapValues(TableOperator):
    def prepare(self, step: steps.TableMapValues) -> None:
        self.use_store(step.store)
        self.function = step.function.direct

    def process(self, record: Record) -> None:
        key = record.key
        change: Change = record.value
        new = None if change.new is None else self.function(key, change.new)
        old = None
        if self.sends_old:
            if self.store is not None:
                old = self.stored_value(key)
            elif change.old is not None:
                old = self.function(key, change.old)
        self.store_and_forward(record, new, old)

    def computed_values(self, parent: Values) -> Values:
        def read(key: Any) -> tuple[Any, int] | None:
            found = parent(key)
            if found is None:
                return None
            value = self.function(key, found[0])
            return None if value is None else (value, found[1])

        return read


@runs(steps.TableTransformValues)
class TableTransformValues(TableOperator):
    """Unlike map_values the transformer sees deletions, too, and may keep stores. It may not forward."""

    def prepare(self, step: steps.TableTransformValues) -> None:
        self.use_store(step.store)
        self.supplier = step.supplier.direct
        self.transformers: list[Any] = []
        self.transform: Callable[[Any, Any], Any] = lambda key, value: value

    def open(self) -> None:
        self.transform = self.new_transformer()

    def new_transformer(self) -> Callable[[Any, Any], Any]:
        transformer = self.supplier()
        stores = {name: self.task.store(name) for name in self.store_names}
        init = getattr(transformer, "init", None)
        if init is not None:
            init(ForwardlessContext(self.task.context, self, {**self.task.global_stores, **stores}))
        self.transformers.append(transformer)
        return transformer.transform  # type: ignore[no-any-return]

    def process(self, record: Record) -> None:
        key = record.key
        change: Change = record.value
        new = self.transform(key, change.new)
        old = None
        if self.sends_old:
            old = self.stored_value(key) if self.store is not None else self.transform(key, change.old)
        self.store_and_forward(record, new, old)

    def computed_values(self, parent: Values) -> Values:
        # A transformer of its own, as in Kafka Streams: a read must not disturb what the other one is in the middle of.
        transform = self.new_transformer()
        context = self.task.context

        def read(key: Any) -> tuple[Any, int] | None:
            found = parent(key)
            value, timestamp = (None, -1) if found is None else found
            here = context.snapshot()
            context.restore(RecordContext(None, -1, -1, timestamp, ()))
            try:
                result = transform(key, value)
            finally:
                context.restore(here)
            return None if result is None else (result, timestamp)

        return read

    def close(self) -> None:
        for transformer in self.transformers:
            close = getattr(transformer, "close", None)
            if close is not None:
                close()


@runs(steps.TableToStream)
class TableToStream(Operator):
    def prepare(self, step: steps.TableToStream) -> None:
        self.select_key = step.select_key.direct if step.select_key is not None else None
        if self.select_key is not None:
            self.process = self.process_new_key  # type: ignore[method-assign]

    def process(self, record: Record) -> None:
        self.forward(Record(record.key, record.value[0], record.timestamp, record.headers))

    def process_new_key(self, record: Record) -> None:
        assert self.select_key is not None
        value = record.value[0]
        self.forward(Record(self.select_key(record.key, value), value, record.timestamp, record.headers))
