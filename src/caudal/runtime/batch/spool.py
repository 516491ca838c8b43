"""The queues of a unit, kept until all are there: in memory while they are small, then in a file.

Rows come from Spark one queue after the other, and must be processed oldest head first across queues. So they are put
down once, without touching a row, and read again side by side; in memory is only a piece of each queue.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from caudal.runtime.batch.rows import Chunk, Row, rows_of

MEMORY_BYTES = 32 << 20

Queue = tuple[str, int]  # topic, number


class Spool:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "queues.arrow"
        self._kept: list[Any] = []
        self._bytes = 0
        self._writer: Any = None
        self._written = 0
        self._queues: dict[Queue, list[int]] = {}  # numbers of batches

    def add(self, chunk: Chunk) -> None:
        self._queues.setdefault((chunk.topic, chunk.queue), []).append(self._written + len(self._kept))
        self._kept.append(chunk.batch)
        self._bytes += chunk.batch.nbytes
        if self._bytes > MEMORY_BYTES:
            self._write()

    def _write(self) -> None:
        import pyarrow

        if self._writer is None:
            self._writer = pyarrow.ipc.new_file(str(self._path), self._kept[0].schema)
        for batch in self._kept:
            self._writer.write_batch(batch)
        self._written += len(self._kept)
        self._kept, self._bytes = [], 0

    def queues(self) -> dict[Queue, Iterator[Row]]:
        """All rows of each queue, in order. Once, at the end."""
        read = self._kept.__getitem__
        if self._writer is not None:
            import pyarrow

            self._write()
            self._writer.close()
            read = pyarrow.ipc.open_file(pyarrow.memory_map(str(self._path))).get_batch
        return {queue: _rows(queue[0], numbers, read) for queue, numbers in self._queues.items()}


def _rows(topic: str, numbers: list[int], read: Any) -> Iterator[Row]:
    for number in numbers:
        yield from rows_of(topic, read(number))
