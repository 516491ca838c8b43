"""Record batches: what is built is read back, in every codec, and damage is found."""

from __future__ import annotations

from typing import Any

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.wire import codecs
from caudal.broker.wire.batch import (
    HEADER_SIZE,
    EndTxnMarker,
    Record,
    all_have_keys,
    build_batch,
    build_marker,
    crc_is_valid,
    iter_batches,
    leading_bytes,
    read_header,
    read_marker,
    records,
)

some_bytes = st.none() | st.binary(max_size=60)
headers = st.lists(st.tuples(st.text(max_size=8), some_bytes), max_size=3).map(tuple)
payloads = st.lists(st.tuples(st.integers(0, 2**41), some_bytes, some_bytes, headers), min_size=1, max_size=12)


@given(payloads, st.sampled_from(range(5)), st.integers(0, 2**50))
def test_a_batch_reads_back_as_it_was_built(payload: list[Any], codec: int, base: int) -> None:
    items = [Record(base + delta, *fields) for delta, fields in enumerate(payload)]
    batch = build_batch(items, codec=codec, producer_id=7, producer_epoch=1, base_sequence=3)
    header = read_header(batch)
    assert crc_is_valid(batch, 0, header)
    assert list(records(batch, 0, header)) == items
    assert (header.size, header.codec, header.last_offset) == (len(batch), codec, items[-1].offset)
    assert header.max_timestamp == max(item.timestamp for item in items)


@given(st.integers(21, 90), st.integers(1, 255))
def test_any_flipped_byte_behind_the_checksum_is_noticed(position: int, flip: int) -> None:
    batch = build_batch([Record(0, 1, b"key", b"v" * 40)])
    if position < len(batch):
        batch[position] ^= flip
        assert not crc_is_valid(batch, 0, read_header(batch))


def keys_or_error(batch: bytearray) -> bool | str:
    try:
        keys = [record.key for record in records(batch, 0, read_header(batch))]
    except KafkaError as error:
        return error.code.name
    return None not in keys


@given(payload=payloads, changes=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=3))
def test_looking_for_keys_says_what_reading_records_says(payload: list[Any], changes: list[tuple[int, int]]) -> None:
    batch = build_batch([Record(index, *fields) for index, fields in enumerate(payload)])
    for position, byte in changes:
        if HEADER_SIZE + position < len(batch):
            batch[HEADER_SIZE + position] = byte
    try:
        found: bool | str = all_have_keys(batch, 0, read_header(batch))
    except KafkaError as error:
        found = error.code.name
    assert found == keys_or_error(batch)


@given(payloads, st.sampled_from(range(5)), st.lists(st.tuples(st.integers(0, 300), st.integers(0, 255)), max_size=3))
def test_leading_bytes_are_those_of_the_records_read(
    payload: list[Any], codec: int, damage: list[tuple[int, int]]
) -> None:
    items = [Record(delta, *fields) for delta, fields in enumerate(payload)]
    batch = build_batch(items, codec=codec)
    for position, byte in damage:
        if HEADER_SIZE + position < len(batch):
            batch[HEADER_SIZE + position] = byte
    header = read_header(batch)
    try:
        found: Any = leading_bytes(batch, 0, header, 5, 100, keys=True, values=True)
    except KafkaError as error:
        found = error.code
    try:
        read = list(records(batch, 0, header))
        expected: Any = tuple(
            {content[:5] for content in side if content is not None}
            for side in ([record.key for record in read], [record.value for record in read])
        )
    except KafkaError as error:
        expected = error.code
    assert found == expected


def test_only_the_leading_bytes_that_are_asked_for_are_kept_and_not_too_many() -> None:
    batch = build_batch([Record(i, 1, b"%05d" % i, b"%06d" % (i // 10)) for i in range(1000)])
    header = read_header(batch)
    assert leading_bytes(batch, 0, header, 5, 10, keys=False, values=True) == (set(), {b"%05d" % i for i in range(10)})
    keys, values = leading_bytes(batch, 0, header, 5, 10, keys=True, values=False)
    assert (keys, values) == ({b"%05d" % i for i in range(11)}, set())


def test_librdkafkas_raw_snappy_and_javas_framed_snappy_are_both_read() -> None:
    text = b"the same words " * 9000
    assert codecs.decompress(codecs.SNAPPY, bytes(cramjam.snappy.compress_raw(text))) == text
    assert codecs.decompress(codecs.SNAPPY, codecs.compress(codecs.SNAPPY, text)) == text


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_bytes_that_do_not_decompress_are_a_corrupt_message(codec: int) -> None:
    with pytest.raises(KafkaError) as caught:
        codecs.decompress(codec, b"\x82SNAPPY\0\0\0\0\1\0\0\0\1\x7f\xff\xff\xff not compressed")
    assert caught.value.code is ErrorCode.corrupt_message


def test_a_record_that_claims_more_than_there_is_is_a_corrupt_message() -> None:
    batch = build_batch([Record(0, 1, b"key", b"value")])
    batch[61] = 0x7E
    with pytest.raises(KafkaError) as caught:
        list(records(batch, 0, read_header(batch)))
    assert caught.value.code is ErrorCode.corrupt_message


def test_a_cut_off_batch_at_the_end_is_left_out() -> None:
    first = build_batch([Record(0, 1, None, b"a")])
    second = build_batch([Record(1, 1, None, b"b")])
    data = bytes(first + second)
    assert [header.base_offset for _, header in iter_batches(data)] == [0, 1]
    assert [header.base_offset for _, header in iter_batches(data[:-1])] == [0]


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_says_how_the_transaction_ended(commit: bool) -> None:
    batch = build_marker(9, 1000, 77, 3, EndTxnMarker(commit, 5), leader_epoch=2)
    header = read_header(batch)
    assert header.is_control and header.is_transactional and header.leader_epoch == 2
    (record,) = records(batch, 0, header)
    assert read_marker(record) == EndTxnMarker(commit, 5)


def test_an_emptied_batch_keeps_its_range_of_offsets() -> None:
    header = read_header(build_batch([], base_offset=10, last_offset=19, producer_id=4))
    assert (header.base_offset, header.last_offset, header.record_count) == (10, 19, 0)
