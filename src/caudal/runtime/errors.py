"""What happens when a record cannot be read, processed or written: the choices, the error, the dead-letter record.

The header names of a dead-letter record are Kafka Streams' own, so that its tools read ours.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from caudal.runtime.record import Headers, RecordContext


class OnError(Enum):
    FAIL = "fail"  # stop the application
    SKIP = "skip"  # drop the record, with a count
    DEAD_LETTER = "dead letter"  # write it to the dead-letter topic with the reason in headers, with a count


# What failed, where the record comes from, why, and the bytes of its key and value.
Dropped = Callable[[str, RecordContext, BaseException, bytes | None, bytes | None], None]


@dataclass(frozen=True, slots=True)
class Handlers:
    """What to do with a record that does not parse, whose processing raises, or that cannot be written. `dropped` hears
    of each that is skipped or dead-lettered, in the process that drops it, so it travels with the plan."""

    deserialization: OnError = OnError.FAIL
    processing: OnError = OnError.FAIL
    production: OnError = OnError.FAIL
    dead_letter_topic: str | None = None
    dropped: Dropped | None = None

    def __post_init__(self) -> None:
        chosen = (self.deserialization, self.processing, self.production)
        if OnError.DEAD_LETTER in chosen and not self.dead_letter_topic:
            raise ValueError(
                "A handler sends records to a dead-letter topic, but none is named: set dead_letter_topic."
            )


class StreamsError(Exception):
    """An application stops because of this. Its text is one sentence for the user."""


class RecordError(StreamsError):
    """A record could not be read, processed or written; it says which one, and why."""

    def __init__(self, what: str, context: RecordContext, cause: BaseException) -> None:
        self.context = context
        where = (
            f"the record at offset {context.offset} of topic '{context.topic}', partition {context.partition}"
            if context.topic is not None
            else f"a punctuation at {context.timestamp}"
        )
        super().__init__(f"{what} failed for {where}: {describe(cause)}")


class Interrupted(BaseException):
    """The host cannot go on with this record for a reason that is not the record's: Kafka is away, the task is fenced.

    No Exception: neither a handler nor a user's `except` may take it for the record's failure.
    """

    def __init__(self, cause: Exception) -> None:
        super().__init__(cause)
        self.cause = cause


def describe(error: BaseException) -> str:
    """The cause in a few words: a bare KeyError('amount') would only say 'amount'."""
    if isinstance(error, StreamsError):
        return str(error)
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def dead_letter_headers(context: RecordContext, error: BaseException) -> Headers:
    """The headers of the record that failed, and after them why it did and where it came from."""
    trace = "".join(traceback.format_exception(error))
    reasons = {
        "__streams.errors.exception": f"{type(error).__module__}.{type(error).__qualname__}",
        "__streams.errors.message": str(error),
        "__streams.errors.stacktrace": trace,
        "__streams.errors.topic": str(context.topic),
        "__streams.errors.partition": str(context.partition),
        "__streams.errors.offset": str(context.offset),
    }
    return context.headers + tuple((name, text.encode()) for name, text in reasons.items())
