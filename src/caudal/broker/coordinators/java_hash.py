"""Java's ``String.hashCode``: it decides which partition of an internal topic holds a group or a transactional id.

Clients and Kafka's tools compute the same number to find that partition, so it must agree bit for bit.
"""

from __future__ import annotations

__all__ = ["java_hash", "partition_for"]


def java_hash(text: str) -> int:
    """The signed 32-bit hash that Java gives `text`; it runs over UTF-16 code units, not over code points."""
    value = 0
    if text.isascii():
        for unit in text.encode("ascii"):
            value = (value * 31 + unit) & 0xFFFFFFFF
    else:
        units = memoryview(text.encode("utf-16-le", "surrogatepass"))
        for low, high in zip(units[::2], units[1::2], strict=True):
            value = (value * 31 + (low | high << 8)) & 0xFFFFFFFF
    return value - 0x100000000 if value & 0x80000000 else value


def partition_for(text: str, partitions: int) -> int:
    """The partition of an internal topic with so many `partitions` that keeps `text` (a group or transactional id)."""
    value = java_hash(text)
    # Kafka takes the magnitude (and 0 for the one number that has none), not the lower 31 bits.
    return 0 if value == -0x80000000 else abs(value) % partitions
