"""The Processor API: runs a user's `Processor` (process, process_values).

Every task makes its own processor with the supplier; `init` gets the context, which forwards to the children of this
node.
"""

from __future__ import annotations

from typing import Any

from caudal.plan import steps
from caudal.runtime.context import ProcessorContext
from caudal.runtime.errors import StreamsError
from caudal.runtime.operators.operator import Operator, runs
from caudal.runtime.record import Record


@runs(steps.Process)
class Process(Operator):
    def prepare(self, step: steps.Process) -> None:
        self.supplier = step.supplier.direct
        self.values_only = step.values_only
        self.key: Any = None
        self.processor: Any = None

    def open(self) -> None:
        processor = self.supplier()
        if not callable(getattr(processor, "process", None)):
            raise StreamsError(f"The supplier of {self.name} returned {processor!r}, which has no process(record).")
        self.processor = processor
        stores = {name: self.task.store(name) for name in self.store_names}
        context = ProcessorContext(self.task.context, self, {**self.task.global_stores, **stores})
        init = getattr(processor, "init", None)
        if init is not None:
            init(context)
        self.user_process = processor.process

    def process(self, record: Record) -> None:
        if self.values_only:
            outer, self.key = self.key, record.key
            try:
                self.user_process(record)
            finally:
                self.key = outer
        else:
            self.user_process(record)

    def forward_to(self, record: Record, child: str | None) -> None:
        if not isinstance(record, Record):
            raise StreamsError(
                f"{self.name} forwarded {type(record).__name__}: forward() takes a Record, for example "
                "record.with_value(…)."
            )
        # In a punctuator of process_values there is no input key to compare with, as in Kafka Streams.
        if self.values_only and self.task.context.topic is not None and record.key != self.key:
            raise StreamsError(
                f"{self.name} processes values: it forwarded the key {record.key!r} instead of {self.key!r}."
            )
        super().forward_to(record, child)

    def close(self) -> None:
        close = getattr(self.processor, "close", None)
        if close is not None:
            close()
