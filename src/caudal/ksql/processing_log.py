"""The processing log: what went wrong with a record while a query runs on. Everybody calls `report`; the host says
where the lines go, and by default they go to Python's log, at most so many of a kind per minute.

A line is the object that ksqlDB writes to its processing log's topic: `type` with its number, one of the messages
`recordProcessingError`, `deserializationError`, `serializationError`, and the time.
"""

from __future__ import annotations

import base64
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Line = dict[str, Any]
Sink = Callable[[Line], None]

DESERIALIZATION_ERROR = 0
RECORD_PROCESSING_ERROR = 1
PRODUCTION_ERROR = 2
SERIALIZATION_ERROR = 3

logger = logging.getLogger("caudal.ksql.processing")


class LogSink:
    """Warnings in Python's log. A query over bad data fails for every record: of one text, `limit` lines per minute are
    written, and how many were left out with the first of the next minute."""

    def __init__(self, limit: int = 10, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = limit
        self._clock = clock
        self._seen: dict[str, tuple[float, int]] = {}
        self._lock = threading.Lock()

    def __call__(self, line: Line) -> None:
        what = str(line.get("logger", ""))
        now = self._clock()
        left_out = 0
        with self._lock:
            since, count = self._seen.get(what, (now, 0))
            if now - since >= 60:
                left_out = max(count - self.limit, 0)
                since, count = now, 0
            if what not in self._seen and len(self._seen) >= 1000:
                self._seen.clear()  # texts of queries that are long gone
            self._seen[what] = (since, count + 1)
        if count < self.limit:
            more = f" ({left_out} more like this were left out)" if left_out else ""
            logger.warning("%s: %s%s", what, message_of(line), more)


_sink: Sink = LogSink()


def set_sink(sink: Sink) -> Sink:
    """Where lines go from now on, in this process; gives what it was before."""
    global _sink
    before, _sink = _sink, sink
    return before


@contextmanager
def collected() -> Iterator[list[Line]]:
    """The lines that are reported meanwhile, as a list: for tests and for EXPLAIN-like answers.

    >>> with collected() as lines:
    ...     report("projection", ValueError("no number"))
    >>> lines[0]["message"]["recordProcessingError"]["errorMessage"]
    'no number'
    """
    lines: list[Line] = []
    before = set_sink(lines.append)
    try:
        yield lines
    finally:
        set_sink(before)


def report(what: str, error: BaseException, record: Any = None) -> None:
    """An error while a record was processed; `what` names the query and the step or expression."""
    _send(what, RECORD_PROCESSING_ERROR, "recordProcessingError", error, {"record": record})


def report_deserialization(
    what: str, error: BaseException, *, topic: str, target: str = "value", data: bytes | None = None
) -> None:
    """Bytes that are no key or value of their format (`target`)."""
    shown = None if data is None else base64.b64encode(data).decode()
    fields = {"target": target, "topic": topic, "recordB64": shown}
    _send(what, DESERIALIZATION_ERROR, "deserializationError", error, fields)


def report_serialization(what: str, error: BaseException, *, topic: str, target: str = "value") -> None:
    _send(what, SERIALIZATION_ERROR, "serializationError", error, {"target": target, "topic": topic})


def message_of(line: Line) -> str:
    """The one sentence of a line."""
    for part in line["message"].values():
        if isinstance(part, dict):
            return str(part.get("errorMessage", ""))
    return ""


def _send(what: str, kind: int, name: str, error: BaseException, fields: dict[str, Any]) -> None:
    cause: list[str] = []
    inner = error.__cause__
    while inner is not None and len(cause) < 10:
        cause.append(str(inner))
        inner = inner.__cause__
    message = {"errorMessage": str(error) or type(error).__name__, "cause": cause, **fields}
    line: Line = {
        "level": "ERROR",
        "logger": what,
        "time": int(time.time() * 1000),
        "message": {"type": kind, name: message},
    }
    try:
        _sink(line)
    except Exception:
        logger.exception("A line of the processing log could not be written.")
