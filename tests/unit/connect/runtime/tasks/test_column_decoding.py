"""When a sink's batch goes as columns, and when it goes record by record."""

from __future__ import annotations

from typing import Any

import pytest

from caudal.connect.connector import SinkTask
from caudal.connect.converters.json import JsonConverter
from caudal.connect.records import TopicPartition
from caudal.connect.runtime.tasks.assembly import Parts
from caudal.connect.runtime.tasks.column_decoding import ColumnDecoder
from caudal.connect.runtime.tasks.decoding import Decoder
from caudal.connect.runtime.tasks.error_policy import ErrorPolicy
from caudal.connect.transform_chain import Stage, TransformChain

CONTENT = '{"type": "struct", "fields": [{"field": "id", "type": "int64"}]}'


class Columns(SinkTask):
    takes_columns = True


class Message:
    def __init__(self, offset: int, value: bytes | None, **more: Any) -> None:
        self._offset, self._value, self._more = offset, value, more

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return int(self._more.get("partition", 0))

    def offset(self) -> int:
        return self._offset

    def value(self) -> bytes | None:
        return self._value

    def key(self) -> bytes | None:
        key: bytes | None = self._more.get("key")
        return key

    def headers(self) -> Any:
        return self._more.get("headers")

    def error(self) -> Any:
        return None

    def timestamp(self) -> tuple[int, int]:
        return 1, 0


def decoder(task: SinkTask | None = None, chain: TransformChain | None = None) -> ColumnDecoder:
    value, other = JsonConverter(), JsonConverter()
    value.configure(JsonConverter.config().parse({"schema.content": CONTENT}), False)
    other.configure(JsonConverter.config().parse({"schemas.enable": "false"}), True)
    parts = Parts(task or Columns(), {}, other, value, other, chain=chain or TransformChain())
    errors: Any = ErrorPolicy
    return ColumnDecoder(parts, Decoder(parts, errors))


def message(offset: int, **more: Any) -> Message:
    return Message(offset, b'{"id": %d}' % offset, **more)


def test_a_run_for_each_partition() -> None:
    batch = decoder().decode([message(3), message(8, partition=1), message(4), message(6)])
    assert batch is not None and not batch.records and batch.size == batch.read == 4
    first, second = batch.runs
    assert first.place == TopicPartition("t", 0) and first.columns["id"].to_pylist() == [3, 4, 6]
    assert (first.offset, first.end, len(first), first.before(5)) == (3, 7, 3, 2)
    assert second.place == TopicPartition("t", 1) and second.columns["id"].to_pylist() == [8]
    assert batch.firsts == {first.place: 3, second.place: 8} and batch.ends == {first.place: 7, second.place: 9}
    rest = first.after(2)
    assert (rest.offset, len(rest), rest.columns["id"].to_pylist()) == (6, 1, [6])
    record = rest.first()
    assert record is not None and record.value == {"id": 6} and record.offset == 6
    assert batch.without({first.place}).runs == [second]


@pytest.mark.parametrize(
    "odd",
    [
        Message(1, None), Message(1, b'{"id": "x"}'), Message(1, b"{"), message(1, key=b"{"),
        message(1, headers=[("a", b"1")]),
    ],
)  # fmt: skip
def test_what_is_odd_goes_record_by_record(odd: Message) -> None:
    assert decoder().decode([message(0), odd]) is None


def test_a_task_that_takes_records_and_a_transform_get_records() -> None:
    assert decoder(SinkTask()).decode([message(0)]) is None
    chain = TransformChain([Stage("same", "Same", lambda record: record, ())])
    assert decoder(chain=chain).decode([message(0)]) is None
    assert decoder().decode([]) is None


def test_what_was_in_vain_is_tried_less_often() -> None:
    made = decoder()
    odd, good = [Message(1, None)], [message(0)]
    assert made.decode(odd) is None
    assert [made.decode(good) is None for _ in range(2)] == [True, False]
    for _ in range(300):
        made.decode(odd)
    tries = [made.decode(good) is not None for _ in range(200)]
    assert tries.index(True) <= 64 and all(tries[tries.index(True) :])
