"""Finding a place in a partition: by offset, by time, at both ends, and after records were deleted."""

from __future__ import annotations

import time

import pytest

from .clients import Client, Outgoing

# not long ago: retention goes by the records' own timestamps and would delete older ones in the middle of a test
BASE = int(time.time() - 3600) * 1000


@pytest.fixture
def filled(client: Client, topic: str) -> str:
    """A hundred records, one a second from BASE, in ten batches of different codecs."""
    for batch in range(10):
        with client.producer(codec=("none", "gzip", "snappy", "lz4", "zstd")[batch % 5]) as producer:
            numbers = range(batch * 10, batch * 10 + 10)
            producer.send(Outgoing(topic, str(number).encode(), timestamp=BASE + number * 1000) for number in numbers)
    return topic


def test_a_seek_by_offset_starts_exactly_there(client: Client, filled: str) -> None:
    with client.consumer() as consumer:
        consumer.assign([(filled, 0)])
        for offset in (95, 37, 0):
            consumer.seek((filled, 0), offset)
            first = consumer.take(100 - offset)[0]
            assert (first.offset, first.value) == (offset, str(offset).encode())


def test_a_time_leads_to_the_first_record_at_or_after_it(client: Client, filled: str) -> None:
    with client.consumer() as consumer:
        consumer.assign([(filled, 0)])
        found = {
            at: consumer.offset_for_time((filled, 0), BASE + at) for at in (-5000, 0, 1, 41_000, 41_500, 98_999, 99_000)
        }
        assert found == {-5000: 0, 0: 0, 1: 1, 41_000: 41, 41_500: 42, 98_999: 99, 99_000: 99}
        assert consumer.offset_for_time((filled, 0), BASE + 99_001) in (None, 100)


def test_the_ends_are_the_first_and_the_next_offset(client: Client, filled: str) -> None:
    with client.consumer() as consumer:
        consumer.assign([(filled, 0)])
        assert consumer.bounds((filled, 0)) == (0, 100)


def test_latest_skips_what_is_there_and_earliest_does_not(client: Client, filled: str) -> None:
    with (
        client.consumer(start="latest") as late,
        client.consumer(start="earliest") as early,
        client.producer() as producer,
    ):
        late.assign([(filled, 0)])
        assert late.is_quiet(1.5)
        producer.send([Outgoing(filled, b"new")])
        assert late.take(1)[0].offset == 100
        early.assign([(filled, 0)])
        assert early.take(101)[0].offset == 0


def test_deleted_records_are_gone_and_the_rest_keeps_its_offsets(client: Client, filled: str) -> None:
    with client.admin() as admin, client.consumer() as consumer:
        admin.delete_records((filled, 0), 60)
        consumer.assign([(filled, 0)])
        assert consumer.bounds((filled, 0)) == (60, 100)
        assert [message.offset for message in consumer.take(40)] == list(range(60, 100))
        assert consumer.offset_for_time((filled, 0), BASE) == 60


def test_an_offset_out_of_range_falls_back_to_the_reset_rule(client: Client, filled: str) -> None:
    with client.consumer(start="earliest") as consumer:
        consumer.assign([(filled, 0)])
        consumer.seek((filled, 0), 5000)
        assert consumer.take(100)[0].offset == 0
