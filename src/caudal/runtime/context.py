"""The two contexts: what a task knows about the record at hand, and what a user's processor may do with it.

`TaskContext` belongs to one task and is changed for every record; operators read it where Kafka Streams would read its
record context. `ProcessorContext` is what `Processor.init` gets: forward, stores, punctuators, metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from caudal.plan.durations import Duration, milliseconds
from caudal.runtime.errors import StreamsError
from caudal.runtime.punctuation import PunctuationQueue, PunctuationType, Punctuator, Schedule
from caudal.runtime.record import Headers, Record, RecordContext

if TYPE_CHECKING:
    from caudal.runtime.operators.operator import Operator


class TaskContext:
    """Where the task is: the source of the record being processed, and stream time."""

    __slots__ = (
        "application_id",
        "headers",
        "offset",
        "partition",
        "raw_key",
        "raw_value",
        "stream_punctuations",
        "stream_time",
        "subtopology",
        "task_partition",
        "timestamp",
        "topic",
        "wall_clock",
        "wall_clock_punctuations",
    )

    def __init__(self, application_id: str, subtopology: int, partition: int, wall_clock: Callable[[], int]) -> None:
        self.application_id = application_id
        self.subtopology = subtopology
        self.task_partition = partition
        self.wall_clock = wall_clock
        self.stream_time = -1
        self.stream_punctuations = PunctuationQueue()
        self.wall_clock_punctuations = PunctuationQueue()
        self.clear(-1)

    def clear(self, timestamp: int) -> None:
        """No source record: in a punctuator, or between records."""
        self.topic: str | None = None
        self.partition = -1
        self.offset = -1
        self.timestamp = timestamp
        self.headers: Headers = ()
        self.raw_key: bytes | None = None
        self.raw_value: bytes | None = None

    def snapshot(self) -> RecordContext:
        return RecordContext(self.topic, self.partition, self.offset, self.timestamp, self.headers)

    def restore(self, context: RecordContext) -> None:
        """Goes back to another record's origin: a buffered record is sent on under its own."""
        self.topic, self.partition, self.offset, self.timestamp, self.headers = context


class ProcessorContext:
    """What a processor may do. Made once per processor and task."""

    __slots__ = ("_operator", "_stores", "_task", "_values_only")

    def __init__(
        self, task: TaskContext, operator: Operator, stores: Mapping[str, Any], values_only: bool = False
    ) -> None:
        self._task = task
        self._operator = operator
        self._stores = stores
        self._values_only = values_only

    @property
    def application_id(self) -> str:
        return self._task.application_id

    @property
    def task_id(self) -> str:
        return f"{self._task.subtopology}_{self._task.task_partition}"

    @property
    def record_metadata(self) -> RecordContext | None:
        """Topic, partition, offset, timestamp and headers of the input record; None inside a punctuator."""
        return self._task.snapshot() if self._task.topic is not None else None

    def current_stream_time(self) -> int:
        return self._task.stream_time

    def current_system_time(self) -> int:
        return self._task.wall_clock()

    def get_state_store(self, name: str) -> Any:
        try:
            return self._stores[name]
        except KeyError:
            known = ", ".join(sorted(self._stores)) or "none"
            raise StreamsError(
                f"Processor {self._operator.name} has no access to store '{name}' (it has: {known}); "
                "name the store in stores= where the processor is added."
            ) from None

    def forward(self, record: Record, child: str | None = None) -> None:
        """Sends a record to all children, or to the one of that name."""
        self._operator.forward_to(record, child)

    def schedule(
        self,
        interval: Duration,
        type: PunctuationType | str,
        callback: Punctuator,
        *,
        start: int | None = None,
    ) -> Schedule:
        """Calls `callback(timestamp)` every `interval` (milliseconds, timedelta or text such as "10 seconds").

        By stream time the first turn comes with the first record; by the wall clock, after one interval. With `start`
        (epoch milliseconds) turns lie on the grid of start and interval. The schedule returned can be cancelled.
        """
        every = milliseconds(interval, "interval of a punctuator")
        if every < 1:
            raise ValueError("The interval of a punctuator must be at least 1 millisecond.")
        kind = _punctuation_type(type)
        by_stream_time = kind is PunctuationType.STREAM_TIME
        task = self._task
        now = task.stream_time if by_stream_time else task.wall_clock()
        if start is None:
            schedule = Schedule(self._operator, 0 if by_stream_time else now + every, every, callback)
        else:
            if start < 0:
                raise ValueError("The start of a punctuator must not be before the epoch.")
            schedule = Schedule(self._operator, start, every, callback)
            if start < now:
                schedule.advance(now)
        (task.stream_punctuations if by_stream_time else task.wall_clock_punctuations).add(schedule)
        return schedule


class ForwardlessContext(ProcessorContext):
    """For transformers of table values: they return their result and may not forward."""

    __slots__ = ()

    def forward(self, record: Record, child: str | None = None) -> None:
        raise StreamsError(
            f"{self._operator.name} transforms values: it must return the new value, forward() is not allowed."
        )


def _punctuation_type(given: PunctuationType | str) -> PunctuationType:
    if isinstance(given, PunctuationType):
        return given
    name = given.strip().upper().replace(" ", "_").replace("-", "_")
    name = {"WALL_CLOCK": "WALL_CLOCK_TIME", "STREAM": "STREAM_TIME"}.get(name, name)
    try:
        return PunctuationType[name]
    except KeyError:
        raise ValueError(f"'{given}' is no kind of punctuation: use 'stream_time' or 'wall_clock_time'.") from None
