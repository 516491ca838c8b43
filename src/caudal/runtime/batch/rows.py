"""The rows of a batch: what goes into a stage, what comes out of it, and chunks of them in a worker.

Into a stage go records, sorted by unit, topic, queue and offset. A *queue* is what is in order by itself: a Kafka
partition, or what one task of an earlier stage wrote. Out of it come records, table entries (keys and values as in a
changelog), figures and failures, all with the same columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from caudal.runtime.record import Headers

# kinds of rows
RECORD, TABLE, FIGURE, FAILURE = range(4)
# names of figures: value says of what, offset how many
READ, DROPPED, WALL_CLOCK = "read", "dropped", "wall clock"

HEADERS_TYPE = "array<struct<key string, value binary>>"
# unit: who reads the record, -1: nobody here; name: topic, store, figure or failure; offset: order within the queue
COLUMNS = ("unit", "name", "queue", "partition", "offset", "timestamp", "key", "value", "headers")
TYPES = ("int", "string", "int", "int", "bigint", "bigint", "binary", "binary", HEADERS_TYPE)
INPUT_SCHEMA = ", ".join(f"{name} {kind}" for name, kind in zip(COLUMNS, TYPES, strict=True))
OUTPUT_SCHEMA = f"kind int, {INPUT_SCHEMA}"

Row = tuple[int, str, int, int, bytes | None, bytes | None, Headers]  # timestamp, topic, partition, offset, …
PIECE = 2048  # rows made into Python objects at a time


class Chunk(NamedTuple):
    """Rows of one queue, in order."""

    unit: int
    topic: str
    queue: int
    batch: Any  # pyarrow.RecordBatch


def chunks(batch: Any) -> Iterator[Chunk]:
    """The runs of equal unit, topic and queue, without touching a row."""
    import numpy

    rows = batch.num_rows
    if rows == 0:
        return
    names = batch.column(1).dictionary_encode()
    topics = names.dictionary.to_pylist()
    codes, units, queues = (
        column.to_numpy(zero_copy_only=False) for column in (names.indices, batch.column(0), batch.column(2))
    )
    changed = (codes[1:] != codes[:-1]) | (units[1:] != units[:-1]) | (queues[1:] != queues[:-1])
    bounds = [0, *(numpy.flatnonzero(changed) + 1).tolist(), rows]
    for first, end in itertools.pairwise(bounds):
        part = batch.slice(first, end - first)
        yield Chunk(int(units[first]), topics[codes[first]], int(queues[first]), part)


def rows_of(topic: str, batch: Any) -> Iterator[Row]:
    for first in range(0, batch.num_rows, PIECE):
        part = batch.slice(first, PIECE)
        headers = part.column(8)
        pairs: Any = itertools.repeat(()) if headers.null_count == len(headers) else map(_pairs, headers.to_pylist())
        columns = [part.column(number).to_pylist() for number in (5, 3, 4, 6, 7)]
        for timestamp, partition, offset, key, value, head in zip(*columns, pairs, strict=False):
            yield timestamp, topic, partition, offset, key, value, head


def _pairs(row: list[dict[str, Any]] | None) -> Headers:
    return () if row is None else tuple((header["key"], header["value"]) for header in row)


class OutputRows:
    """Collects what a worker puts out; `take` gives an Arrow batch of it."""

    def __init__(self) -> None:
        import pyarrow

        self._arrow = pyarrow
        header = pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())])
        int32, int64 = pyarrow.int32(), pyarrow.int64()
        types = (int32, int32, pyarrow.string(), int32, int32, int64, int64, *[pyarrow.binary()] * 2)
        fields = [*zip(("kind", *COLUMNS[:-1]), types, strict=True), ("headers", pyarrow.list_(header))]
        self._schema = pyarrow.schema(fields)
        self._rows: list[tuple[Any, ...]] = []
        self.add = self._rows.append

    def __len__(self) -> int:
        return len(self._rows)

    def record(
        self,
        unit: int,
        topic: str,
        queue: int,
        partition: int,
        number: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
    ) -> None:
        pairs = [{"key": name, "value": content} for name, content in headers] if headers else None
        self.add((RECORD, unit, topic, queue, partition, number, timestamp, key, value, pairs))

    def entry(self, store: str, queue: int, partition: int, key: bytes, value: bytes, timestamp: int) -> None:
        self.add((TABLE, -1, store, queue, partition, 0, timestamp, key, value, None))

    def figure(self, name: str, of: str, count: int) -> None:
        self.add((FIGURE, -1, name, -1, -1, count, 0, None, of.encode(), None))

    def failure(self, sentence: str) -> None:
        self.add((FAILURE, -1, sentence, -1, -1, 0, 0, None, None, None))

    def take(self) -> Any:
        columns = zip(*self._rows, strict=True) if self._rows else [[] for _ in self._schema]
        arrays = [
            self._arrow.array(list(column), field.type) for column, field in zip(columns, self._schema, strict=True)
        ]
        self._rows.clear()
        return self._arrow.RecordBatch.from_arrays(arrays, schema=self._schema)
