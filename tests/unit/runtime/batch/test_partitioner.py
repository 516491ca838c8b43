"""Kafka's default partitioner. The hashes are those that Kafka's own test of Utils.murmur2 expects."""

from __future__ import annotations

import pytest

from caudal.runtime.batch.partitioner import murmur2, partition_of

KNOWN = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"abc": 479470107,
}


@pytest.mark.parametrize(("data", "expected"), KNOWN.items())
def test_the_hash_is_javas(data: bytes, expected: int) -> None:
    assert murmur2(data) == expected & 0xFFFFFFFF


def test_partitions_are_those_of_another_client() -> None:
    from kafka.partitioner.default import murmur2 as theirs

    for number in range(200):
        key = bytes(range(number % 50)) + str(number).encode()
        assert partition_of(key, 7) == (theirs(key) & 0x7FFFFFFF) % 7
    assert partition_of(b"any", 1) == 0
