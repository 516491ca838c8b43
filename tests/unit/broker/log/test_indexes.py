"""The index files: Kafka's bytes, and look-ups that find the last entry at or before what is asked."""

from __future__ import annotations

import struct

import pytest

from caudal.broker.log.indexes import CorruptIndex, OffsetIndex, TimeIndex


def offset_index(*entries: tuple[int, int]) -> OffsetIndex:
    index = OffsetIndex()
    for entry in entries:
        index.append(*entry)
    return index


def test_the_offset_index_has_kafkas_bytes() -> None:
    index = offset_index((7, 4200), (19, 9000))
    assert index.encode() == struct.pack(">iiii", 7, 4200, 19, 9000)
    again = OffsetIndex.decode(index.encode(), log_size=10000)
    assert list(again.offsets) == [7, 19] and list(again.positions) == [4200, 9000]


def test_the_time_index_has_kafkas_bytes() -> None:
    index = TimeIndex()
    index.append(1_700_000_000_123, 5)
    index.append(1_700_000_000_456, 9)
    assert index.encode() == struct.pack(">qiqi", 1_700_000_000_123, 5, 1_700_000_000_456, 9)
    again = TimeIndex.decode(index.encode())
    assert list(again.timestamps) == [1_700_000_000_123, 1_700_000_000_456] and list(again.offsets) == [5, 9]


def test_only_the_new_entries_can_be_encoded() -> None:
    index = offset_index((1, 10), (2, 20), (3, 30))
    assert index.encode(1, 3) == index.encode()[8:]
    times = TimeIndex()
    for number in range(3):
        times.append(number, number)
    assert times.encode(2) == times.encode()[24:]


@pytest.mark.parametrize(("offset", "entry"), [(0, -1), (6, -1), (7, 0), (18, 0), (19, 1), (400, 1)])
def test_an_offset_is_found_at_the_last_entry_before_it(offset: int, entry: int) -> None:
    assert offset_index((7, 4200), (19, 9000)).entry_for_offset(offset) == entry


def test_a_time_is_looked_for_behind_the_last_entry_that_is_older() -> None:
    index = TimeIndex()
    for timestamp, offset in ((100, 10), (200, 20), (300, 30)):
        index.append(timestamp, offset)
    assert [index.offset_before(t) for t in (50, 100, 101, 200, 250, 1000)] == [0, 0, 10, 10, 20, 30]


def test_the_time_index_takes_only_later_times() -> None:
    index = TimeIndex()
    for timestamp, offset in ((100, 1), (90, 2), (100, 3), (101, 4), (-1, 5)):
        index.append(timestamp, offset)
    assert (list(index.timestamps), list(index.offsets)) == ([100, 101], [1, 4])


def test_truncation_drops_entries_from_the_offset_on() -> None:
    index = offset_index((1, 10), (5, 50), (9, 90))
    index.truncate(5)
    assert list(index.offsets) == [1]


@pytest.mark.parametrize(
    "data",
    [
        b"\x00" * 7,
        struct.pack(">ii", 3, 5000),  # past the end of the log
        struct.pack(">iiii", 9, 10, 3, 20),  # backwards
        b"\xff" * 16,
    ],
)
def test_damage_is_noticed(data: bytes) -> None:
    with pytest.raises(CorruptIndex):
        OffsetIndex.decode(data, log_size=5000)


def test_damage_of_the_time_index_is_noticed() -> None:
    with pytest.raises(CorruptIndex):
        TimeIndex.decode(b"\x00" * 13)
    with pytest.raises(CorruptIndex):
        TimeIndex.decode(struct.pack(">qiqi", 200, 1, 100, 2))
