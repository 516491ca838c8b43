"""The Processor API: what `process`, `process_values` and `transform_values` run. One object per task, used by one
thread.

The context that `init` gets is the runtime's; `ProcessorContext` here says what it offers.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Protocol

from caudal.runtime.punctuation import PunctuationType
from caudal.runtime.record import Record, RecordContext


class Cancellable(Protocol):
    """A scheduled punctuator."""

    def cancel(self) -> None:
        """It will not be called again."""
        ...


class ProcessorContext(Protocol):
    """What a processor may do."""

    @property
    def application_id(self) -> str: ...

    @property
    def task_id(self) -> str:
        """Sub-topology and partition: 0_3."""
        ...

    @property
    def record_metadata(self) -> RecordContext | None:
        """Topic, partition, offset, timestamp and headers of the record being processed; None inside a punctuator."""
        ...

    def forward(self, record: Record, child: str | None = None) -> None:
        """Sends a record to all nodes behind, or to the one of that name."""
        ...

    def schedule(
        self,
        interval: str | int | timedelta,
        type: PunctuationType | str,
        callback: Callable[[int], Any],
        *,
        start: int | None = None,
    ) -> Cancellable:
        """Calls `callback(timestamp)` every interval, by stream time or by the wall clock."""
        ...

    def get_state_store(self, name: str) -> Any:
        """A store that was named in `stores=`."""
        ...

    def current_stream_time(self) -> int: ...

    def current_system_time(self) -> int: ...


class Processor:
    """The base of processors: override `process`, and `init` and `close` where there is something to do.

    >>> class Above(Processor):
    ...     def process(self, record):
    ...         if record.value["amount"] > 100:
    ...             self.context.forward(record)
    >>> orders.process(Above, name="above").to("large")
    >>> show(order("ana", 3), order("eva", 300))
    large: eva {'user': 'eva', 'amount': 300}
    """

    context: ProcessorContext

    def init(self, context: ProcessorContext) -> None:
        """The task begins. Overriding it, call `super().init(context)` or keep the context yourself."""
        self.context = context

    def process(self, record: Record) -> None:
        """One record. Send on what should go on with `self.context.forward(record)`."""
        raise NotImplementedError(f"{type(self).__name__} must have a process(record) method.")

    def close(self) -> None:
        """The task ends."""


class ValueTransformer:
    """The base of table transformers (`KTable.transform_values`): override `transform`; the key stays, nothing is
    forwarded.

    >>> class Length(ValueTransformer):
    ...     def transform(self, key, value):
    ...         return len(value)
    >>> builder.table("words", key=String(), value=String()).transform_values(Length, value=Long()).to("lengths")
    >>> show(("words", "a", "abc"))
    lengths: a 3
    """

    context: ProcessorContext

    def init(self, context: ProcessorContext) -> None:
        """The task begins."""
        self.context = context

    def transform(self, key: Any, value: Any) -> Any:
        """The new value of a row."""
        raise NotImplementedError(f"{type(self).__name__} must have a transform(key, value) method.")

    def close(self) -> None:
        """The task ends."""
