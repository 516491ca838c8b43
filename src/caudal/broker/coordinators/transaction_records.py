"""Records of `__transaction_state`: one key per transactional id, the latest value is its state.

Pure: bytes in, values out, in Kafka's published layout (TransactionLogKey 0, TransactionLogValue 0 and 1), so that
Kafka's own dump tool reads what we write and we load what Kafka wrote. Version 1 is written, as Kafka does from
`transaction.version=1` on. `decode` gives a plain dict for the CLI. The epoch before the current one is not in the
format: it lives in memory only, here as in Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from caudal.broker.wire.primitives import Buffer, Reader, Writer

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_TIMESTAMP = -1

TopicPartition = tuple[str, int]

_KEY_VERSION = 0
_VALUE_VERSION = 1
_TAG_PREVIOUS_PRODUCER_ID = 0
_TAG_NEXT_PRODUCER_ID = 1
_TAG_CLIENT_TRANSACTION_VERSION = 2
_NULL_ARRAY = 0  # compact arrays store their length plus one


class TransactionState(IntEnum):
    """The states by their numbers in the log. The last two are never written: they only exist while pending."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def title(self) -> str:
        """The name that DescribeTransactions and ListTransactions show (`PrepareCommit`)."""
        return _TITLES[self]


_TITLES = {state: state.name.title().replace("_", "") for state in TransactionState}
STATES_BY_TITLE = {title: state for state, title in _TITLES.items()}


class UnknownRecord(ValueError):
    """A record of a version that this code does not know, for example after a downgrade."""


@dataclass(frozen=True, slots=True)
class TransactionValue:
    """Everything the coordinator knows of one transactional id at one moment; a change makes a new one."""

    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = NO_TIMESTAMP
    last_update_ms: int = NO_TIMESTAMP
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    client_version: int = 0
    last_producer_epoch: int = NO_PRODUCER_EPOCH  # not in the record


def encode_key(transactional_id: str) -> bytes:
    return bytes(Writer().int16(_KEY_VERSION).string(transactional_id))


def encode_value(value: TransactionValue) -> bytes:
    writer = Writer().int16(_VALUE_VERSION).int64(value.producer_id).int16(value.producer_epoch)
    writer.int32(value.timeout_ms).int8(value.state)
    if value.state is TransactionState.EMPTY:
        writer.uvarint(_NULL_ARRAY)
    else:
        topics = by_topic(value.partitions)
        writer.uvarint(len(topics) + 1)
        for topic, indexes in topics.items():
            writer.compact_string(topic).uvarint(len(indexes) + 1)
            for index in indexes:
                writer.int32(index)
            writer.tagged_fields()
    writer.int64(value.last_update_ms).int64(value.start_ms)
    tags: dict[int, bytes] = {}
    if value.previous_producer_id != NO_PRODUCER_ID:
        tags[_TAG_PREVIOUS_PRODUCER_ID] = value.previous_producer_id.to_bytes(8, "big", signed=True)
    if value.next_producer_id != NO_PRODUCER_ID:
        tags[_TAG_NEXT_PRODUCER_ID] = value.next_producer_id.to_bytes(8, "big", signed=True)
    if value.client_version:
        tags[_TAG_CLIENT_TRANSACTION_VERSION] = value.client_version.to_bytes(2, "big", signed=True)
    return bytes(writer.tagged_fields(tags))


def decode_key(key: Buffer) -> str:
    reader = Reader(key)
    version = reader.int16()
    if version != _KEY_VERSION:
        raise UnknownRecord(f"a key of version {version} in __transaction_state")
    return reader.string()


def decode_value(value: Buffer) -> TransactionValue:
    reader = Reader(value)
    version = reader.int16()
    if version not in (0, 1):
        raise UnknownRecord(f"a value of version {version} in __transaction_state")
    producer_id, producer_epoch = reader.int64(), reader.int16()
    timeout_ms, status = reader.int32(), reader.int8()
    try:
        state = TransactionState(status)
    except ValueError:
        raise UnknownRecord(f"a transaction state of number {status} in __transaction_state") from None
    partitions = frozenset(_read_partitions(reader, flexible=version == 1))
    last_update_ms, start_ms = reader.int64(), reader.int64()
    tags = reader.tagged_fields() if version == 1 else {}
    return TransactionValue(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        timeout_ms=timeout_ms,
        state=state,
        partitions=partitions,
        start_ms=start_ms,
        last_update_ms=last_update_ms,
        previous_producer_id=_tagged_int(tags, _TAG_PREVIOUS_PRODUCER_ID, NO_PRODUCER_ID),
        next_producer_id=_tagged_int(tags, _TAG_NEXT_PRODUCER_ID, NO_PRODUCER_ID),
        client_version=_tagged_int(tags, _TAG_CLIENT_TRANSACTION_VERSION, 0),
    )


def decode(key: Buffer, value: Buffer | None) -> dict[str, Any]:
    """A record as the CLI shows it; a tombstone has `value: None`."""
    shown: dict[str, Any] = {"transactional_id": decode_key(key), "value": None}
    if value is not None:
        decoded = decode_value(value)
        shown["value"] = {
            "producer_id": decoded.producer_id,
            "producer_epoch": decoded.producer_epoch,
            "transaction_timeout_ms": decoded.timeout_ms,
            "state": decoded.state.title,
            "partitions": by_topic(decoded.partitions),
            "last_update_ms": decoded.last_update_ms,
            "start_ms": decoded.start_ms,
            "previous_producer_id": decoded.previous_producer_id,
            "next_producer_id": decoded.next_producer_id,
            "client_transaction_version": decoded.client_version,
        }
    return shown


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Partitions grouped and sorted, so that equal sets give equal bytes."""
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, []).append(index)
    return topics


def _read_partitions(reader: Reader, *, flexible: bool) -> Iterable[TopicPartition]:
    def one_topic() -> list[TopicPartition]:
        if not flexible:
            topic = reader.string()
            return [(topic, index) for index in reader.array(reader.int32)]
        topic = reader.compact_string()
        found = [(topic, index) for index in reader.compact_array(reader.int32)]
        reader.tagged_fields()
        return found

    # A null array (an Empty transaction) reads as no elements in both forms.
    topics = reader.compact_array(one_topic) if flexible else reader.array(one_topic)
    return (partition for topic in topics for partition in topic)


def _tagged_int(tags: dict[int, bytes], tag: int, default: int) -> int:
    return int.from_bytes(tags[tag], "big", signed=True) if tag in tags else default
