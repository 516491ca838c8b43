"""What only SQL asks of a stream: pseudo columns and headers as columns, tables whose rows expire, and a record's time
from a column.

The planner puts these behind a source, where the task still knows where the record came from, and in front of a sink.
"""

from __future__ import annotations

import struct
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


def _as_it_is(key: Any, row: Any) -> Any:
    return row


@runs(steps.TableToRows)
class TableToRows(Operator):
    def prepare(self, step: steps.TableToRows) -> None:
        self.columns = _as_it_is if step.columns is None else step.columns.call
        if step.results is not None:
            self.results = step.results.call
            self.process = self.process_state if step.columns is not None else self.process_results  # type: ignore[method-assign]

    def process(self, record: Record) -> None:
        key, row = record.key, record.value[0]
        if row is not None:
            row = self.columns(key, row)
        self.forward(Record(key, row, record.timestamp, record.headers))

    def process_results(self, record: Record) -> None:
        row = record.value[0]
        if row is not None:
            row = self.results(row)
        self.forward(Record(record.key, row, record.timestamp, record.headers))

    def process_state(self, record: Record) -> None:
        key, row = record.key, record.value[0]
        if row is not None:
            row = self.columns(key, self.results(row))
        self.forward(Record(key, row, record.timestamp, record.headers))


_TIME = struct.Struct(">q")


@runs(steps.ExpireRows)
class ExpireRows(Operator):
    """Time is stream time as this node sees it. The index is not cleared when a row changes: an entry whose row has
    another time by then says nothing."""

    def prepare(self, step: steps.ExpireRows) -> None:
        self.ttl = step.ttl
        self.index, self.table = self.task.store(step.index), self.task.store(step.table)
        self.serialize, self.deserialize = step.key.serialize, step.key.deserialize
        self.observed = self.task.remembered.get(f"{self.name}.observed", -1)
        self.oldest = -1  # no entry of the index is older

    def remember(self) -> dict[str, int]:
        return {"observed": self.observed}

    def process(self, record: Record) -> None:
        if record.timestamp > self.observed:
            self.observed = record.timestamp
            self.expire(record)
        if record.key is None or record.value is None:
            self.forward(record)
        elif record.timestamp > self.observed - self.ttl:  # else it is gone before it comes
            self.oldest = min(self.oldest, record.timestamp)
            self.index.put(_TIME.pack(record.timestamp) + self.serialize(record.key), b"")
            self.forward(record)

    def expire(self, record: Record) -> None:
        last = self.observed - self.ttl
        if last < 0 or last < self.oldest:
            return
        for entry, _ in list(self.index.range(None, _TIME.pack(last + 1))):
            (time,) = _TIME.unpack_from(entry)
            key = self.deserialize(entry[8:])
            self.index.delete(entry)
            stored = self.table.get(key)
            if stored is not None and stored[1] == time:
                self.forward(Record(key, None, self.observed, record.headers))
        first = next(iter(self.index.all()), None)
        self.oldest = self.observed if first is None else _TIME.unpack_from(first[0])[0]


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
