"""Operators of streams that keep nothing: filter, map and its kin, peek, print, branch, merge.

None of them changes timestamp or headers. `repartition` has no operator: it is a sink and a source.
"""

from __future__ import annotations

from typing import Any

from caudal.plan import steps
from caudal.runtime.errors import StreamsError
from caudal.runtime.operators.operator import Operator, Process, nowhere, runs
from caudal.runtime.record import Record


@runs(steps.Filter)
class Filter(Operator):
    def prepare(self, step: steps.Filter) -> None:
        self.predicate = step.predicate.direct
        if step.negate:
            self.process = self.process_not  # type: ignore[method-assign]

    def process(self, record: Record) -> None:
        if self.predicate(record.key, record.value):
            self.forward(record)

    def process_not(self, record: Record) -> None:
        if not self.predicate(record.key, record.value):
            self.forward(record)


@runs(steps.Map)
class Map(Operator):
    def prepare(self, step: steps.Map) -> None:
        self.function = step.function.direct

    def process(self, record: Record) -> None:
        pair = self.function(record.key, record.value)
        if pair is None:
            raise StreamsError(f"The function of {self.name} returned None: map must return a (key, value) pair.")
        key, value = pair
        self.forward(Record(key, value, record.timestamp, record.headers))


@runs(steps.SelectKey)
class SelectKey(Operator):
    def prepare(self, step: steps.SelectKey) -> None:
        self.function = step.function.direct

    def process(self, record: Record) -> None:
        value = record.value
        self.forward(Record(self.function(record.key, value), value, record.timestamp, record.headers))


@runs(steps.MapValues)
class MapValues(Operator):
    def prepare(self, step: steps.MapValues) -> None:
        self.function = step.function.direct

    def process(self, record: Record) -> None:
        key = record.key
        self.forward(Record(key, self.function(key, record.value), record.timestamp, record.headers))


@runs(steps.FlatMap)
class FlatMap(Operator):
    def prepare(self, step: steps.FlatMap) -> None:
        self.function = step.function.direct

    def process(self, record: Record) -> None:
        pairs = self.function(record.key, record.value)
        if pairs is None:
            raise StreamsError(f"The function of {self.name} returned None: flat_map must return an iterable.")
        timestamp, headers = record.timestamp, record.headers
        for key, value in pairs:
            self.forward(Record(key, value, timestamp, headers))


@runs(steps.FlatMapValues)
class FlatMapValues(Operator):
    def prepare(self, step: steps.FlatMapValues) -> None:
        self.function = step.function.direct

    def process(self, record: Record) -> None:
        key, timestamp, headers = record.key, record.timestamp, record.headers
        values = self.function(key, record.value)
        if values is None:
            raise StreamsError(f"The function of {self.name} returned None: flat_map_values must return an iterable.")
        for value in values:
            self.forward(Record(key, value, timestamp, headers))


@runs(steps.Peek)
class Peek(Operator):
    def prepare(self, step: steps.Peek) -> None:
        self.function = step.function.direct

    def process(self, record: Record) -> None:
        self.function(record.key, record.value)
        self.forward(record)  # foreach has no children


@runs(steps.Print)
class Print(Operator):
    def prepare(self, step: steps.Print) -> None:
        self.label = step.label

    def process(self, record: Record) -> None:
        print(f"[{self.label}]: {record.key}, {record.value}")
        self.forward(record)


@runs(steps.Branch)
class Branch(Operator):
    def prepare(self, step: steps.Branch) -> None:
        self.step = step
        self.routes: list[tuple[Any, Process]] = []
        self.default: Process = nowhere

    def link(self, children: dict[str, Process]) -> None:
        super().link(children)
        names = self.step.children
        # A branch that nobody uses has no node behind it: its records end there, they do not try the next one.
        targets = [children.get(name, nowhere) for name in names]
        self.routes = list(zip([predicate.direct for predicate in self.step.predicates], targets, strict=False))
        self.default = targets[len(self.routes)] if len(targets) > len(self.routes) else nowhere

    def process(self, record: Record) -> None:
        key, value = record.key, record.value
        for predicate, target in self.routes:
            if predicate(key, value):
                target(record)
                return
        self.default(record)


@runs(steps.PassThrough)
class PassThrough(Operator):
    def process(self, record: Record) -> None:
        self.forward(record)

    def link(self, children: dict[str, Process]) -> None:
        super().link(children)
        self.process = self.forward  # type: ignore[assignment, method-assign]  # parents call what comes after
