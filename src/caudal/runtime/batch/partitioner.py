"""Kafka's default partitioner: murmur2 of the key, as Java and librdkafka (murmur2_random) compute it.

For records that never reach Kafka: a batch hands them from stage to stage itself.
"""

from __future__ import annotations

import struct

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The 32-bit hash, unsigned.

    >>> murmur2(b"21") == -973932308 & 0xFFFFFFFF
    True
    """
    length = len(data)
    h = _SEED ^ length
    whole = length & ~3
    for (k,) in struct.iter_unpack("<I", data[:whole]):
        k = (k * _M) & _MASK
        k = ((k ^ (k >> 24)) * _M) & _MASK
        h = ((h * _M) & _MASK) ^ k
    if whole < length:
        h = ((h ^ int.from_bytes(data[whole:], "little")) * _M) & _MASK
    h = ((h ^ (h >> 13)) * _M) & _MASK
    return h ^ (h >> 15)


def partition_of(key: bytes, partitions: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partitions if partitions > 1 else 0
