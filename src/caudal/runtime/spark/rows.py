"""Arrow batches of a slot cut into chunks of one source, topic and partition, without touching a row.

Rows come from Spark's Kafka source in runs: one partition after the other. A chunk is a slice of the batch (no copy).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

# The columns of the query's rows, in this order.
COLUMNS = ("source", "topic", "partition", "offset", "timestamp", "key", "value", "headers")
ECHO = -1  # the source of a row that only pushes the one before it out of Spark


class Chunk(NamedTuple):
    """Rows of one partition, in offset order. The lists are made when they are asked for."""

    source: int
    topic: str
    partition: int
    batch: Any  # pyarrow.RecordBatch

    def offsets(self) -> list[int]:
        return self.batch.column(3).to_pylist()  # type: ignore[no-any-return]

    def timestamps(self) -> list[int]:
        return self.batch.column(4).to_pylist()  # type: ignore[no-any-return]

    def keys(self) -> list[bytes | None]:
        return self.batch.column(5).to_pylist()  # type: ignore[no-any-return]

    def values(self) -> list[bytes | None]:
        return self.batch.column(6).to_pylist()  # type: ignore[no-any-return]

    def headers(self) -> list[tuple[tuple[str, bytes | None], ...]] | None:
        """None where no row has any, which is the usual case and costs nothing."""
        column = self.batch.column(7)
        if column.null_count == len(column):
            return None
        return [
            () if row is None else tuple((header["key"], header["value"]) for header in row)
            for row in column.to_pylist()
        ]


def chunks(batch: Any) -> Iterator[Chunk]:
    """The runs of equal source, topic and partition."""
    import numpy

    rows = batch.num_rows
    if rows == 0:
        return
    if rows == 1:  # real-time mode
        source, topic, partition = (batch.column(index)[0].as_py() for index in range(3))
        yield Chunk(source, topic, partition, batch)
        return
    topics = batch.column(1).dictionary_encode()
    names = topics.dictionary.to_pylist()
    codes = topics.indices.to_numpy(zero_copy_only=False)
    partitions = batch.column(2).to_numpy(zero_copy_only=False)
    sources = batch.column(0).to_numpy(zero_copy_only=False)
    changed = (codes[1:] != codes[:-1]) | (partitions[1:] != partitions[:-1]) | (sources[1:] != sources[:-1])
    bounds = [0, *(numpy.flatnonzero(changed) + 1).tolist(), rows]
    for first, end in itertools.pairwise(bounds):
        yield Chunk(int(sources[first]), names[codes[first]], int(partitions[first]), batch.slice(first, end - first))
