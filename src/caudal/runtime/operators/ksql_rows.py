"""What only SQL asks of a stream: pseudo columns and headers as columns, and a record's time from a column.

The planner puts these behind a source, where the task still knows where the record came from, and in front of a sink.
"""

from __future__ import annotations

from typing import Any

from caudal.plan import steps
from caudal.runtime.operators.operator import Operator, runs
from caudal.runtime.record import Headers, Record

NEGATIVE_TIMESTAMP = "negative timestamp"  # counted as where a source drops them (runtime/task.py)


@runs(steps.RecordColumns)
class RecordColumns(Operator):
    def prepare(self, step: steps.RecordColumns) -> None:
        self.appended, self.headers = step.appended, step.headers
        if step.appended == ("ROWTIME",) and not step.headers:
            self.process = self.process_time  # type: ignore[method-assign]

    def process_time(self, record: Record) -> None:
        """As `process`: most ask for the time only."""
        value = record.value
        if value is not None:
            timestamp = record.timestamp
            record = Record(record.key, (*value, timestamp), timestamp, record.headers)
        self.forward(record)

    def process(self, record: Record) -> None:
        value = record.value
        if value is not None:
            record = Record(record.key, self.completed(record, value), record.timestamp, record.headers)
        self.forward(record)

    def completed(self, record: Record, value: tuple[Any, ...]) -> tuple[Any, ...]:
        columns = list(value)
        for index, name in self.headers:
            columns[index] = all_headers(record.headers) if name is None else last_header(record.headers, name)
        origin = self.task.context
        for name in self.appended:
            if name == "ROWTIME":
                columns.append(record.timestamp)
            else:
                columns.append(origin.partition if name == "ROWPARTITION" else origin.offset)
        return tuple(columns)


def all_headers(headers: Headers) -> list[dict[str, Any]]:
    return [{"KEY": key, "VALUE": value} for key, value in headers]


def last_header(headers: Headers, name: str) -> bytes | None:
    """A header may be there several times: the last one counts."""
    return next((value for key, value in reversed(headers) if key == name), None)


@runs(steps.DropNulls)
class DropNulls(Operator):
    def prepare(self, step: steps.DropNulls) -> None:
        if step.keys:
            self.process = self.process_keys  # type: ignore[method-assign]

    def process(self, record: Record) -> None:
        if record.value is not None:
            self.forward(record)

    def process_keys(self, record: Record) -> None:
        if record.value is not None and record.key is not None and None not in record.key:
            self.forward(record)


@runs(steps.SetTimestamp)
class SetTimestamp(Operator):
    def prepare(self, step: steps.SetTimestamp) -> None:
        self.function = step.function.call

    def process(self, record: Record) -> None:
        timestamp = self.function(record.key, record.value, record.timestamp)
        if timestamp < 0:
            self.task.dropped[NEGATIVE_TIMESTAMP] += 1
            return
        self.forward(Record(record.key, record.value, timestamp, record.headers))
