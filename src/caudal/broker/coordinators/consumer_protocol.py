"""What members of type ``consumer`` put inside JoinGroup and SyncGroup: which topics they want and which partitions
they got.

The coordinator treats both as opaque bytes; it looks inside only to know what a group is subscribed to (offset
deletion and expiry) and to show it to people. Only the prefix that all versions share is read, so future versions
stay readable.
"""

from __future__ import annotations

from struct import Struct, error

__all__ = ["assigned_partitions", "subscribed_topics"]

_INT16 = Struct(">h")
_INT32 = Struct(">i")


def subscribed_topics(subscription: bytes) -> list[str] | None:
    """The topics of a member's subscription; None when the bytes are not a consumer subscription."""
    try:
        position = 6
        topics = []
        for _ in range(_INT32.unpack_from(subscription, 2)[0]):
            topic, position = _string(subscription, position)
            topics.append(topic)
        return topics
    except (error, ValueError):
        return None


def assigned_partitions(assignment: bytes) -> list[tuple[str, int]] | None:
    """The partitions of a member's assignment; None when the bytes are not a consumer assignment; empty bytes hold
    none."""
    if not assignment:
        return []
    try:
        position = 6
        partitions: list[tuple[str, int]] = []
        for _ in range(_INT32.unpack_from(assignment, 2)[0]):
            topic, position = _string(assignment, position)
            count = _INT32.unpack_from(assignment, position)[0]
            position += 4
            for _ in range(count):
                partitions.append((topic, _INT32.unpack_from(assignment, position)[0]))
                position += 4
        return partitions
    except (error, ValueError):
        return None


def _string(data: bytes, position: int) -> tuple[str, int]:
    size = _INT16.unpack_from(data, position)[0]
    end = position + 2 + size
    if size < 0 or end > len(data):
        raise ValueError("the text runs past the end")
    return data[position + 2 : end].decode(), end
