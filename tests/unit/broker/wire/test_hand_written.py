"""Produce and Fetch by hand agree with kio's schemas in every served version, and survive any bytes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caudal.broker.errors import ErrorCode
from caudal.broker.wire import fetch, messages, produce
from caudal.broker.wire.api_keys import ApiKey

TOPIC_ID = UUID("01234567-89ab-cdef-0123-456789abcdef")
PRODUCE_VERSIONS = range(3, 14)
FETCH_VERSIONS = range(4, 19)


def produce_request(version: int) -> dict[str, Any]:
    return {
        "transactional_id": "tx" if version % 2 else None,
        "acks": -1,
        "timeout": 1500,
        "topic_data": [
            {
                "name": "letters",
                "topic_id": TOPIC_ID,
                "partition_data": [{"index": 0, "records": b"x" * 200}, {"index": 7, "records": None}],
            }
        ],
    }


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
def test_a_produce_request_is_read_as_kio_wrote_it(version: int) -> None:
    raw = bytearray(b"??" + messages.encode_request(ApiKey.PRODUCE, version, produce_request(version)))
    request = produce.parse(raw, 2, len(raw), version)
    assert (request.transactional_id, request.acks, request.timeout_ms) == ("tx" if version % 2 else None, -1, 1500)
    ((topic, (first, second)),) = request.topics
    assert topic == (TOPIC_ID if version >= 13 else "letters")
    assert raw[first.start : first.stop] == b"x" * 200
    assert (second.partition, second.start) == (7, -1)


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
def test_a_produce_response_is_read_by_kio_as_it_was_written(version: int) -> None:
    topic: str | UUID = TOPIC_ID if version >= 13 else "letters"
    results = [
        produce.PartitionResult(3, ErrorCode.none, 42, -1, 5),
        produce.PartitionResult(
            4, ErrorCode.message_too_large, message="too large", record_errors=[(0, "a"), (7, "b")]
        ),
    ]
    answer = messages.decode_response(ApiKey.PRODUCE, version, produce.encode(version, [(topic, results)]))
    (entry,) = answer.responses
    good, bad = entry.partition_responses
    assert (good.index, good.error_code, good.base_offset) == (3, ErrorCode.none, 42)
    assert bad.error_code is ErrorCode.message_too_large
    if version >= 8:
        assert bad.error_message == "too large"
        assert [(e.batch_index, e.batch_index_error_message) for e in bad.record_errors] == [(0, "a"), (7, "b")]
        assert list(good.record_errors) == []


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
def test_what_stands_behind_the_request_in_the_buffer_is_not_read(version: int) -> None:
    good = messages.encode_request(ApiKey.PRODUCE, version, produce_request(version))
    for end in range(len(good)):
        with pytest.raises(messages.Malformed):
            produce.parse(bytearray(good), 0, end, version)


def fetch_request(version: int) -> dict[str, Any]:
    partition = {
        "partition": 2,
        "current_leader_epoch": 4,
        "fetch_offset": 99,
        "last_fetched_epoch": 3,
        "log_start_offset": -1,
        "partition_max_bytes": 1000,
    }
    return {
        "replica_id": -1,
        "max_wait": 500,
        "min_bytes": 1,
        "max_bytes": 5000,
        "isolation_level": 1,
        "session_id": 11,
        "session_epoch": 2,
        "topics": [{"topic": "letters", "topic_id": TOPIC_ID, "partitions": [partition]}],
        "forgotten_topics_data": [{"topic": "letters", "topic_id": TOPIC_ID, "partitions": [8, 9]}],
        "rack_id": "north",
    }


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_a_fetch_request_is_read_as_kio_wrote_it(version: int) -> None:
    raw = bytearray(messages.encode_request(ApiKey.FETCH, version, fetch_request(version)))
    request = fetch.parse(raw, 0, len(raw), version)
    (item,) = request.partitions
    assert item.topic == (TOPIC_ID if version >= 13 else "letters")
    assert (item.partition, item.fetch_offset, item.max_bytes) == (2, 99, 1000)
    assert (request.max_wait_ms, request.min_bytes, request.max_bytes, request.isolation_level) == (500, 1, 5000, 1)
    if version >= 7:
        assert (request.session_id, request.session_epoch, len(request.forgotten)) == (11, 2, 2)
    if version >= 9:
        assert item.current_leader_epoch == 4
    if version >= 11:
        assert request.rack_id == "north"


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_a_fetch_response_is_read_by_kio_as_it_was_written(version: int) -> None:
    one: str | UUID = TOPIC_ID if version >= 13 else "letters"
    items = [
        fetch.PartitionResponse(one, 0, ErrorCode.none, 10, 9, 1, [(5, 3)], b"records"),
        fetch.PartitionResponse(one, 1, ErrorCode.none, 10, 9, 1, None, b"", (2, 7)),
    ]
    raw = b"".join(fetch.encode(version, ErrorCode.none, 77, items))
    answer = messages.decode_response(ApiKey.FETCH, version, raw)
    first, second = answer.responses[0].partitions
    assert (first.high_watermark, first.last_stable_offset, bytes(first.records)) == (10, 9, b"records")
    assert [(a.producer_id, a.first_offset) for a in first.aborted_transactions] == [(5, 3)]
    assert second.aborted_transactions is None and not second.records
    if version >= 12:
        assert (second.diverging_epoch.epoch, second.diverging_epoch.end_offset) == (2, 7)


@given(st.sampled_from(PRODUCE_VERSIONS), st.binary(max_size=300), st.integers(0, 400))
def test_produce_takes_any_bytes_without_a_crash(version: int, noise: bytes, cut: int) -> None:
    good = bytearray(messages.encode_request(ApiKey.PRODUCE, version, produce_request(version)))
    for raw in (bytearray(noise), good[:cut], good[:cut] + noise):
        try:
            request = produce.parse(raw, 0, len(raw), version)
        except messages.Malformed:
            continue
        for _, partitions in request.topics:
            assert all(item.stop <= len(raw) for item in partitions)


@given(st.sampled_from(FETCH_VERSIONS), st.binary(max_size=300), st.integers(0, 400))
def test_fetch_takes_any_bytes_without_a_crash(version: int, noise: bytes, cut: int) -> None:
    good = bytearray(messages.encode_request(ApiKey.FETCH, version, fetch_request(version)))
    for raw in (bytearray(noise), good[:cut], good[:cut] + noise):
        try:
            fetch.parse(raw, 0, len(raw), version)
        except messages.Malformed:
            continue
