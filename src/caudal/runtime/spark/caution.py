"""Finding the record that a broker refuses.

A broker takes or refuses whole batches, so one bad record brings good ones down with it, and a transaction falls as a
whole. After a refusal the task begins anew with caution: it commits every few rows; where that fails, it takes these
few one by one, with every result in a batch of its own. Then the input record is known, and the handler of produce
errors can act on exactly the result that was refused. What was done before it is committed: no row is tried for long.
"""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka import KafkaError

from caudal.runtime.record import RecordContext
from caudal.runtime.spark.rows import Chunk

FEW_ROWS = 256
# Which result: input topic and offset (None: a punctuator's), output topic, and the how-manieth of that input record.
Result = tuple[str | None, int | None, str, int]


class Caution:
    """Of one task, from the first refusal until its batch is committed."""

    def __init__(self) -> None:
        self.step = FEW_ROWS  # rows per commit
        self.refused: dict[Result, KafkaError] = {}
        self._left = 0  # rows to go one by one
        self._place: tuple[str | None, int | None] = (None, None)
        self._number = 0

    @property
    def one_by_one(self) -> bool:
        return self.step == 1

    def narrow(self) -> bool:
        """The next few rows one by one; False where that was so already."""
        if self.one_by_one:
            return False
        self.step, self._left = 1, FEW_ROWS
        return True

    def committed(self) -> None:
        """So many rows as `step` says are committed."""
        if self.one_by_one:
            self._left -= 1
            if self._left == 0:
                self.step = FEW_ROWS

    def pieces(self, chunk: Chunk) -> Iterator[Chunk]:
        """As many rows at a time as `step` says then."""
        first, rows = 0, chunk.batch.num_rows
        while first < rows:
            count = self.step
            yield chunk._replace(batch=chunk.batch.slice(first, count))
            first += count

    def result(self, context: RecordContext, topic: str) -> Result:
        """Names the result that is about to be written. A function may give another value when it is called again."""
        place = (context.topic, context.offset)
        self._number = self._number + 1 if place == self._place else 0
        self._place = place
        return *place, topic, self._number

    def begin(self) -> None:
        """The rows come once more."""
        self._place, self._number = (None, None), 0
