"""Whole batches as columns: the quick way from a converter that decodes many values at once to a sink that takes them.

It is a way beside the usual one, record by record. It is taken where nothing stands between (no transform, no headers)
and nothing is wrong: a batch with a null, with two schemas, or with bytes that do not fit goes record by record, where
errors have their place. So a sink that takes columns takes records, too, and writes the same of both.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from caudal.connect.data import Schema
from caudal.connect.records import SinkRecord, TopicPartition


class NotThisWay(Exception):
    """Record by record, please: only that can tell what is to be done, or what is wrong."""


class DecodedColumns(NamedTuple):
    """`columns` is a pyarrow.RecordBatch of the types of `arrow_columns(schema)`."""

    schema: Schema
    columns: Any


@dataclass(slots=True)
class ColumnRun:
    """Records of one partition, in the order of their offsets; a row for each in `columns`."""

    place: TopicPartition
    schema: Schema
    columns: Any
    _offsets: Sequence[int]
    _messages: Sequence[Any]
    _decode: Callable[[Any], SinkRecord | None]
    _begin: int = 0  # which of the messages is the first row

    def __len__(self) -> int:
        return len(self._offsets) - self._begin

    @property
    def offset(self) -> int:
        """Of the first."""
        return self._offsets[self._begin]

    @property
    def end(self) -> int:
        """Behind the last."""
        return self._offsets[-1] + 1

    def first(self) -> SinkRecord | None:
        """The first as a record; None where it is passed over."""
        return self._decode(self._messages[self._begin])

    def before(self, offset: int) -> int:
        """How many lie before this offset."""
        return bisect_left(self._offsets, offset, self._begin) - self._begin

    def after(self, count: int) -> ColumnRun:
        """Without so many of the first."""
        return replace(self, columns=self.columns.slice(count), _begin=self._begin + count)
