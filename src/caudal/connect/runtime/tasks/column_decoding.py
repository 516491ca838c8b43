"""From what a consumer has read to columns, where task and converter can have it so, and nothing is wrong with it.

Whatever is wrong is met again, and dealt with, record by record (`decoding.py`): here it only ends the try.
"""

from __future__ import annotations

from typing import Any

from caudal.connect.columns import ColumnRun
from caudal.connect.records import SinkRecord, TopicPartition
from caudal.connect.runtime.tasks.assembly import Parts
from caudal.connect.runtime.tasks.decoding import Batch, Decoder

MOST_PASSES = 64  # batches that are not tried, after others that were in vain


class ColumnDecoder:
    def __init__(self, parts: Parts, decoder: Decoder) -> None:
        self._parts = parts
        self._decoder = decoder
        self._passes = 0  # how many are not tried after the next failure
        self._to_pass = 0

    def decode(self, messages: list[Any]) -> Batch | None:
        """None: one by one, please."""
        if not messages or not self._parts.task.takes_columns or self._parts.transform is not None:
            return None
        if self._to_pass:
            self._to_pass -= 1
            return None
        try:
            batch = self._decoded(messages)
        except Exception:  # the record that it came from says it again, by itself
            batch = None
        if batch is None:
            self._passes = self._to_pass = min(2 * self._passes + 1, MOST_PASSES)
        else:
            self._passes = 0
        return batch

    def _decoded(self, messages: list[Any]) -> Batch | None:
        found: dict[TopicPartition, list[Any]] = {}
        append = list[Any]().append
        topic, partition = "", -1
        decode_key = self._parts.key.decode
        for message in messages:
            if message.error() is not None or message.headers() is not None:
                return None
            if message.partition() != partition or message.topic() != topic:
                topic, partition = message.topic(), message.partition()
                append = found.setdefault(TopicPartition(topic, partition), []).append
            if (key := message.key()) is not None:
                decode_key(topic, key)  # no sink of columns has a use for it, but it has to be right
            append(message)
        batch = Batch(read=len(messages))
        for place, some in found.items():
            values = [message.value() for message in some]
            if None in values:
                return None
            decoded = self._parts.value.decode_columns(place.topic, values)
            offsets = [message.offset() for message in some]
            batch.runs.append(ColumnRun(place, decoded.schema, decoded.columns, offsets, some, self._one))
            batch.firsts[place] = offsets[0]
            batch.ends[place] = offsets[-1] + 1
            batch.topics.add(place.topic)
        return batch

    def _one(self, message: Any) -> SinkRecord | None:
        records = self._decoder.decode([message]).records
        return records[0] if records else None
