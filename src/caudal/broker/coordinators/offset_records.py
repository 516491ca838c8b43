"""The records of ``__consumer_offsets`` in Kafka's published format: pure bytes in, values out, and back.

Written: OffsetCommitKey 1 with OffsetCommitValue 4 (1 when the client asked for its own retention), GroupMetadataKey
2 with GroupMetadataValue 3, as Kafka 4.3 writes them. Read: every older version of these too, for a folder that Kafka
wrote before. The keys of the newer group types (key versions 3 and above) are named but not decoded: those protocols
are not served yet.

Struct calls instead of `wire.primitives` because loading reads hundreds of thousands of these at start.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from struct import Struct
from typing import Any, NamedTuple
from uuid import UUID

from caudal.broker.coordinators.consumer_protocol import assigned_partitions, subscribed_topics

__all__ = [
    "GroupValue",
    "MemberValue",
    "OffsetValue",
    "decode",
    "group_key",
    "group_value",
    "key_version",
    "offset_key",
    "offset_value",
    "read_group_key",
    "read_group_value",
    "read_offset_key",
    "read_offset_value",
]

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_INT64 = Struct(">q")
_VALUE_4_HEAD = Struct(">hqi")
_NO_ID = bytes(16)
_SUPPORTED_GROUP_VALUE = range(5)
_SUPPORTED_OFFSET_VALUE = range(5)

# What the other key versions of this topic are called by Kafka; shown, not decoded.
_OTHER_KEYS = {
    3: "ConsumerGroupMetadata",
    4: "ConsumerGroupPartitionMetadata",
    5: "ConsumerGroupMemberMetadata",
    6: "ConsumerGroupTargetAssignmentMetadata",
    7: "ConsumerGroupTargetAssignmentMember",
    8: "ConsumerGroupCurrentMemberAssignment",
    9: "ShareGroupPartitionMetadata",
    10: "ShareGroupMemberMetadata",
    11: "ShareGroupMetadata",
    12: "ShareGroupTargetAssignmentMetadata",
    13: "ShareGroupTargetAssignmentMember",
    14: "ShareGroupCurrentMemberAssignment",
    15: "ShareGroupStatePartitionMetadata",
    16: "ConsumerGroupRegularExpression",
    17: "StreamsGroupMetadata",
    18: "StreamsGroupPartitionMetadata",
    19: "StreamsGroupMemberMetadata",
    20: "StreamsGroupTargetAssignmentMetadata",
    21: "StreamsGroupTargetAssignmentMember",
    22: "StreamsGroupCurrentMemberAssignment",
    23: "StreamsGroupTopology",
}


class OffsetValue(NamedTuple):
    """A committed offset as the topic keeps it; `expire_timestamp` is -1 unless the client asked for its own
    retention."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int
    topic_id: UUID | None


class MemberValue(NamedTuple):
    """One member inside a group's record."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


class GroupValue(NamedTuple):
    """A generation of a classic group as the topic keeps it."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_timestamp: int
    members: tuple[MemberValue, ...]


# ---------------------------------------------------------------- writing


def _string(text: str | None) -> bytes:
    if text is None:
        return b"\xff\xff"
    data = text.encode()
    return _INT16.pack(len(data)) + data


def _bytes(data: bytes) -> bytes:
    return _INT32.pack(len(data)) + data


def _uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def offset_key(group: str, topic: str, partition: int) -> bytes:
    """The key of a committed offset (OffsetCommitKey, version 1)."""
    return b"\x00\x01" + _string(group) + _string(topic) + _INT32.pack(partition)


def offset_value(value: OffsetValue) -> bytes:
    """The value of a committed offset: version 4, or 1 where the client set an expiry (only that version can say
    it)."""
    if value.expire_timestamp >= 0:
        head = _INT16.pack(1) + _INT64.pack(value.offset) + _string(value.metadata)
        return head + _INT64.pack(value.commit_timestamp) + _INT64.pack(value.expire_timestamp)
    metadata = value.metadata.encode()
    tags = b"\x00" if value.topic_id is None else b"\x01\x00\x10" + value.topic_id.bytes
    head = _VALUE_4_HEAD.pack(4, value.offset, value.leader_epoch)
    return head + _uvarint(len(metadata) + 1) + metadata + _INT64.pack(value.commit_timestamp) + tags


def group_key(group: str) -> bytes:
    """The key of a classic group's metadata (GroupMetadataKey, version 2)."""
    return b"\x00\x02" + _string(group)


def group_value(value: GroupValue) -> bytes:
    """The metadata of a classic group's generation (GroupMetadataValue, version 3)."""
    parts = [
        b"\x00\x03",
        _string(value.protocol_type),
        _INT32.pack(value.generation),
        _string(value.protocol),
        _string(value.leader),
        _INT64.pack(value.state_timestamp),
        _INT32.pack(len(value.members)),
    ]
    for member in value.members:
        parts += (
            _string(member.member_id),
            _string(member.instance_id),
            _string(member.client_id),
            _string(member.client_host),
            _INT32.pack(member.rebalance_timeout_ms),
            _INT32.pack(member.session_timeout_ms),
            _bytes(member.subscription),
            _bytes(member.assignment),
        )
    return b"".join(parts)


# ---------------------------------------------------------------- reading


class _Cursor:
    """Reads the plain and the flexible forms of strings and bytes in order; a short buffer raises ValueError."""

    __slots__ = ("data", "flexible", "position")

    def __init__(self, data: bytes, position: int, flexible: bool) -> None:
        self.data = data
        self.position = position
        self.flexible = flexible

    def take(self, size: int) -> bytes:
        start = self.position
        self.position = end = start + size
        if size < 0 or end > len(self.data):
            raise ValueError("the record ends before its last field")
        return self.data[start:end]

    def int16(self) -> int:
        return int.from_bytes(self.take(2), "big", signed=True)

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def int64(self) -> int:
        return int.from_bytes(self.take(8), "big", signed=True)

    def uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
            shift += 7
            if shift > 28:
                raise ValueError("a length field is longer than five bytes")

    def nullable_string(self) -> str | None:
        size = self.uvarint() - 1 if self.flexible else self.int16()
        return None if size < 0 else self.take(size).decode()

    def string(self) -> str:
        text = self.nullable_string()
        if text is None:
            raise ValueError("a text field that may not be null is null")
        return text

    def blob(self) -> bytes:
        size = self.uvarint() - 1 if self.flexible else self.int32()
        return self.take(max(size, 0))

    def count(self) -> int:
        return self.uvarint() - 1 if self.flexible else self.int32()

    def tags(self) -> dict[int, bytes]:
        if not self.flexible:
            return {}
        return {self.uvarint(): self.take(self.uvarint()) for _ in range(self.uvarint())}


def key_version(key: bytes) -> int:
    """The first two bytes of a key: they say what kind of record it is."""
    if len(key) < 2:
        raise ValueError("the key is too short to hold its version")
    return int.from_bytes(key[:2], "big", signed=True)


def read_offset_key(key: bytes) -> tuple[str, str, int]:
    """Group, topic and partition of an OffsetCommitKey (versions 0 and 1 are the same)."""
    # By hand, as this runs once per record at loading.
    middle = 4 + (key[2] << 8 | key[3])
    start = middle + 2
    end = start + (key[middle] << 8 | key[middle + 1])
    return key[4:middle].decode(), key[start:end].decode(), _INT32.unpack_from(key, end)[0]


@lru_cache(4096)
def _topic_id(raw: bytes) -> UUID | None:
    """One object per topic: the same id stands in every offset of it."""
    return None if raw == _NO_ID else UUID(bytes=raw)


def read_offset_value(value: bytes) -> OffsetValue:
    """An OffsetCommitValue of any published version."""
    # Version 4 with a short text and nothing but a topic id behind it, which is what there is by the hundred thousand,
    # is read by hand; the general way below takes all the rest.
    if value[:2] == b"\x00\x04" and len(value) > 24 and 0 < (size := value[14]) < 0x80:
        end = 14 + size
        tail = value[end + 8 : end + 11]
        if (tail == b"\x01\x00\x10" and len(value) == end + 27) or (tail == b"\x00" and len(value) == end + 9):
            _, offset, leader_epoch = _VALUE_4_HEAD.unpack_from(value)
            raw = value[end + 11 :]
            topic_id = _topic_id(raw) if raw else None
            timestamp = _INT64.unpack_from(value, end)[0]
            return OffsetValue(offset, leader_epoch, value[15:end].decode(), timestamp, -1, topic_id)
    version = key_version(value)
    if version not in _SUPPORTED_OFFSET_VALUE:
        raise ValueError(f"OffsetCommitValue version {version} is not known")
    cursor = _Cursor(value, 2, flexible=version >= 4)
    offset = cursor.int64()
    leader_epoch = cursor.int32() if version >= 3 else -1
    metadata = cursor.string()
    commit_timestamp = cursor.int64()
    expire_timestamp = cursor.int64() if version == 1 else -1
    tagged_id = cursor.tags().get(0)
    return OffsetValue(
        offset,
        leader_epoch,
        metadata,
        commit_timestamp,
        expire_timestamp,
        None if tagged_id is None else _topic_id(tagged_id),
    )


def read_group_key(key: bytes) -> str:
    """The group id of a GroupMetadataKey."""
    return _Cursor(key, 2, flexible=False).string()


def read_group_value(value: bytes) -> GroupValue:
    """A GroupMetadataValue of any published version; fields a version lacks get Kafka's defaults."""
    version = key_version(value)
    if version not in _SUPPORTED_GROUP_VALUE:
        raise ValueError(f"GroupMetadataValue version {version} is not known")
    cursor = _Cursor(value, 2, flexible=version >= 4)
    protocol_type = cursor.string()
    generation = cursor.int32()
    protocol = cursor.nullable_string()
    leader = cursor.nullable_string()
    state_timestamp = cursor.int64() if version >= 2 else -1
    members = []
    for _ in range(cursor.count()):
        member_id = cursor.string()
        instance_id = cursor.nullable_string() if version >= 3 else None
        client_id = cursor.string()
        client_host = cursor.string()
        rebalance_timeout = cursor.int32() if version >= 1 else -1
        session_timeout = cursor.int32()
        subscription, assignment = cursor.blob(), cursor.blob()
        cursor.tags()
        members.append(
            MemberValue(
                member_id,
                instance_id,
                client_id,
                client_host,
                # Version 0 had one time-out for both.
                session_timeout if rebalance_timeout < 0 else rebalance_timeout,
                session_timeout,
                subscription,
                assignment,
            )
        )
    return GroupValue(protocol_type, generation, protocol, leader, state_timestamp, tuple(members))


# ---------------------------------------------------------------- showing


def decode(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    """A record of ``__consumer_offsets`` as plain values for people; a tombstone has ``"value": None``.

    >>> decode(offset_key("g", "orders", 3), None)
    {'type': 'OffsetCommit', 'key': {'group': 'g', 'topic': 'orders', 'partition': 3}, 'value': None}
    """
    if key is None:
        raise ValueError("a record of __consumer_offsets has a key")
    version = key_version(key)
    if version in (0, 1):
        group, topic, partition = read_offset_key(key)
        shown = None if value is None else _shown_offset(read_offset_value(value))
        return {"type": "OffsetCommit", "key": {"group": group, "topic": topic, "partition": partition}, "value": shown}
    if version == 2:
        shown = None if value is None else _shown_group(read_group_value(value))
        return {"type": "GroupMetadata", "key": {"group": read_group_key(key)}, "value": shown}
    name = _OTHER_KEYS.get(version, "Unknown")
    return {"type": name, "key": key[2:].hex(), "value": None if value is None else value.hex()}


def _shown_offset(value: OffsetValue) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "offset": value.offset,
        "leader_epoch": value.leader_epoch,
        "metadata": value.metadata,
        "commit_timestamp": value.commit_timestamp,
    }
    if value.expire_timestamp >= 0:
        shown["expire_timestamp"] = value.expire_timestamp
    if value.topic_id is not None:
        shown["topic_id"] = str(value.topic_id)
    return shown


def _shown_group(value: GroupValue) -> dict[str, Any]:
    consumer = value.protocol_type == "consumer"
    return {
        "protocol_type": value.protocol_type,
        "generation": value.generation,
        "protocol": value.protocol,
        "leader": value.leader,
        "state_timestamp": value.state_timestamp,
        "members": [_shown_member(member, consumer) for member in value.members],
    }


def _shown_member(member: MemberValue, consumer: bool) -> dict[str, Any]:
    subscription: Iterable[str] | None = subscribed_topics(member.subscription) if consumer else None
    assignment = assigned_partitions(member.assignment) if consumer else None
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "session_timeout_ms": member.session_timeout_ms,
        "subscription": member.subscription.hex() if subscription is None else sorted(subscription),
        "assignment": member.assignment.hex() if assignment is None else [f"{t}-{p}" for t, p in assignment],
    }
