"""What the two topics of a foreign-key join carry, and the keys of its subscription store, in Kafka Streams' layout.

A subscription says: the row with this primary key now refers (or no longer refers) to the record's key. A response
brings the right table's value back, with the hash of the left value it was asked for, so that an outdated answer is
seen as such. The hash is BLAKE2 cut to 16 bytes where Kafka Streams has Murmur3: it is only ever compared with itself.
"""

from __future__ import annotations

import hashlib
import struct
from enum import IntEnum
from typing import Any, NamedTuple

from caudal.serde.serde import BuiltInSerde, Serde, cannot_read, cannot_write

_VERSION = 1
_RESPONSE_VERSION = 0
_NO_HASH = 0x80
_HASH_BYTES = 16
_int = struct.Struct(">i")


class Instruction(IntEnum):
    """What the right side does with a subscription."""

    DELETE_KEY_NO_PROPAGATE = 0
    DELETE_KEY_AND_PROPAGATE = 1
    PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE = 2
    PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE = 3


class Subscription(NamedTuple):
    hash: bytes | None  # of the left value's bytes, None when there is no value
    instruction: Instruction
    primary_key: Any
    primary_partition: int  # where the answer must go


class SubscriptionResponse(NamedTuple):
    hash: bytes | None
    value: Any
    primary_partition: int | None = None  # known to the sender only: it is the partition, not part of the bytes


def value_hash(data: bytes | None) -> bytes | None:
    """The hash of a left value's bytes; None for no value."""
    return None if data is None else hashlib.blake2b(data, digest_size=_HASH_BYTES).digest()


def foreign_key_prefix(foreign_key: bytes) -> bytes:
    """What all subscriptions to a foreign key begin with."""
    return _int.pack(len(foreign_key)) + foreign_key


def combined_key(foreign_key: bytes, primary_key: bytes) -> bytes:
    """The key of a subscription in its store."""
    return _int.pack(len(foreign_key)) + foreign_key + primary_key


def split_combined_key(data: bytes) -> tuple[bytes, bytes]:
    """The foreign key's and the primary key's bytes."""
    end = 4 + _int.unpack_from(data)[0]
    return data[4:end], data[end:]


class SubscriptionSerde(BuiltInSerde):
    """Version and hash flag, instruction, hash, primary key, primary partition."""

    __slots__ = ("primary_key",)
    settings = ("primary_key",)

    def __init__(self, primary_key: Serde) -> None:
        self.primary_key = primary_key

    def serialize(self, value: Any) -> bytes:
        if not isinstance(value, Subscription):
            raise cannot_write(self, value, "a Subscription is needed")
        flag = _VERSION if value.hash is not None else _VERSION | _NO_HASH
        key = self.primary_key.serialize(value.primary_key)
        return bytes((flag, value.instruction)) + (value.hash or b"") + key + _int.pack(value.primary_partition)

    def deserialize(self, data: bytes) -> Subscription:
        try:
            flag, instruction = data[0], Instruction(data[1])
        except (IndexError, ValueError) as error:
            raise cannot_read(self, data, error) from None
        if flag & 0x7F != _VERSION:
            raise cannot_read(self, data, f"version {flag & 0x7F} of subscriptions is not known")
        begin = 2 if flag & _NO_HASH else 2 + _HASH_BYTES
        if len(data) < begin + 4:
            raise cannot_read(self, data, "it ends too early")
        key = self.primary_key.deserialize(data[begin:-4])
        return Subscription(data[2:begin] or None, instruction, key, _int.unpack_from(data, len(data) - 4)[0])


class SubscriptionResponseSerde(BuiltInSerde):
    """Version and hash flag, hash, value (nothing where there is none)."""

    __slots__ = ("value",)
    settings = ("value",)

    def __init__(self, value: Serde) -> None:
        self.value = value

    def serialize(self, value: Any) -> bytes:
        if not isinstance(value, SubscriptionResponse):
            raise cannot_write(self, value, "a SubscriptionResponse is needed")
        flag = _RESPONSE_VERSION if value.hash is not None else _RESPONSE_VERSION | _NO_HASH
        return (
            bytes((flag,)) + (value.hash or b"") + (b"" if value.value is None else self.value.serialize(value.value))
        )

    def deserialize(self, data: bytes) -> SubscriptionResponse:
        if not data or data[0] & 0x7F != _RESPONSE_VERSION:
            raise cannot_read(self, data, "this version of responses is not known")
        begin = 1 if data[0] & _NO_HASH else 1 + _HASH_BYTES
        if len(data) < begin:
            raise cannot_read(self, data, "it ends too early")
        # As in Kafka Streams no bytes are no value: a serde whose values may be empty cannot be told apart here.
        value = self.value.deserialize(data[begin:]) if len(data) > begin else None
        return SubscriptionResponse(data[1:begin] or None, value)
