"""Requests that are well formed and wrong: Kafka's error code for each, and nothing of it reaches the log."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable

import pytest

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey
from caudal.broker.wire.batch import HEADER_SIZE, Record, build_batch, seal
from tests.chaos.process import BrokerProcess

from .conftest import new_topic
from .raw import Batch, Raw, batch_of

HOUR = 3_600_000


def patched(fmt: str, position: int, *values: int, batch: bytearray | None = None) -> bytearray:
    """A batch with some bytes of its header changed and a checksum that fits again."""
    made = batch_of(b"one", b"two") if batch is None else batch
    struct.pack_into(fmt, made, position, *values)
    seal(made)
    return made


def wrong_checksum() -> bytearray:
    batch = batch_of(b"one", b"two")
    batch[-1] ^= 1
    return batch


def old_format(magic: int) -> bytearray:
    batch = batch_of(b"one", b"two")
    batch[16] = magic
    return batch


MAGIC, ATTRIBUTES, LAST_DELTA, MAX_TIMESTAMP, PRODUCER, SEQUENCE, COUNT = 16, 21, 23, 35, 43, 53, 57

REFUSED: dict[str, tuple[Callable[[], Batch | None], ErrorCode]] = {
    "wrong checksum": (wrong_checksum, ErrorCode.corrupt_message),
    "no records at all": (lambda: None, ErrorCode.invalid_record),
    "empty": (lambda: b"", ErrorCode.corrupt_message),
    "less than a header": (lambda: bytes(batch_of(b"one"))[: HEADER_SIZE - 1], ErrorCode.corrupt_message),
    "cut off": (lambda: bytes(batch_of(b"one", b"two"))[:-1], ErrorCode.corrupt_message),
    "length too small": (lambda: patched(">i", 8, 10), ErrorCode.corrupt_message),
    "length negative": (lambda: patched(">i", 8, -1), ErrorCode.corrupt_message),
    "two batches": (lambda: batch_of(b"one") + batch_of(b"two"), ErrorCode.invalid_record),
    "format v0": (lambda: old_format(0), ErrorCode.invalid_record),
    "format v1": (lambda: old_format(1), ErrorCode.invalid_record),
    "format v3": (lambda: old_format(3), ErrorCode.invalid_record),
    "no record in the batch": (lambda: patched(">i", COUNT, 0), ErrorCode.invalid_record),
    "negative count": (lambda: patched(">i", COUNT, -1), ErrorCode.invalid_record),
    "count and offsets disagree": (lambda: patched(">i", COUNT, 3), ErrorCode.invalid_record),
    "offsets with a gap": (lambda: patched(">i", LAST_DELTA, 7), ErrorCode.invalid_record),
    "more records than fit in": (
        lambda: patched(">i", COUNT, 1 << 30, batch=patched(">i", LAST_DELTA, (1 << 30) - 1)),
        ErrorCode.invalid_record,
    ),
    "control records of a client": (lambda: patched(">h", ATTRIBUTES, 0x20), ErrorCode.invalid_record),
    "unknown codec": (lambda: patched(">h", ATTRIBUTES, 5), ErrorCode.unsupported_compression_type),
    "producer without sequence": (lambda: patched(">qhi", PRODUCER, 7, 0, -1), ErrorCode.invalid_record),
    "from the far future": (
        lambda: patched(">q", MAX_TIMESTAMP, int(time.time() * 1000) + 2 * HOUR),
        ErrorCode.invalid_timestamp,
    ),
    "transactional without a transaction": (lambda: patched(">h", ATTRIBUTES, 0x10), ErrorCode.invalid_txn_state),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_batch(client: Raw, topic: str, name: str) -> None:
    make, code = REFUSED[name]
    before = client.produce(topic, batch_of(b"before"))
    assert client.produce(topic, make()).error_code == code
    after = client.produce(topic, batch_of(b"after"))
    assert after.error_code == ErrorCode.none
    assert after.base_offset == before.base_offset + 1, "the refused batch took an offset"


def test_too_large(client: Raw) -> None:
    topic = new_topic(client)(max_message_bytes="2000")
    assert client.produce(topic, batch_of(b"x" * 2000)).error_code == ErrorCode.message_too_large
    assert client.produce(topic, batch_of(b"x" * 1800)).error_code == ErrorCode.none
    default = new_topic(client)()
    assert client.produce(default, batch_of(b"x" * (1 << 20) + b"y" * 100)).error_code == ErrorCode.message_too_large


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_compacted_topic_needs_keys(client: Raw, codec: int) -> None:
    topic = new_topic(client)(cleanup_policy="compact")
    without = batch_of(b"a", b"b", keys=[b"k", None], codec=codec)
    assert client.produce(topic, without).error_code == ErrorCode.invalid_record
    assert client.produce(topic, batch_of(b"a", b"b", keys=[b"k", b"l"], codec=codec)).error_code == ErrorCode.none


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_compressed_rubbish_where_the_broker_must_look_inside(client: Raw, codec: int) -> None:
    topic = new_topic(client)(cleanup_policy="compact")
    batch = batch_of(b"a" * 100, b"b" * 100, keys=[b"k", b"l"], codec=codec)
    for position in range(HEADER_SIZE, len(batch)):
        batch[position] ^= 0x5A
    seal(batch)
    assert client.produce(topic, batch).error_code == ErrorCode.corrupt_message


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_small_batch_that_opens_to_a_huge_one(broker: BrokerProcess, client: Raw, codec: int) -> None:
    """A compression bomb, where the broker opens batches: on a compacted topic, and when it looks for a timestamp."""
    bomb = bomb_of(codec)
    assert len(bomb) < 10 << 20
    assert client.produce(new_topic(client)(cleanup_policy="compact"), bomb).error_code in (
        ErrorCode.invalid_record,
        ErrorCode.message_too_large,
    )
    topic = new_topic(client)(max_message_bytes=str(20 << 20))
    assert client.produce(topic, bomb).error_code == ErrorCode.none  # opaque here, as every batch
    question = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": int(time.time() * 1000) - 60_000}
    topics = [{"name": topic, "partitions": [question]}]
    client.request(ApiKey.LIST_OFFSETS, 4, {"replica_id": -1, "isolation_level": 0, "topics": topics})
    assert broker.peak_bytes() < 600 << 20


def bomb_of(codec: int) -> bytearray:
    """A batch of one record of 150 MB of zeros."""
    now = int(time.time() * 1000)
    return build_batch([Record(0, now, b"key", bytes(150 << 20))], codec=codec)


@pytest.mark.parametrize("acks", [2, -2, 32767])
def test_unknown_acks(client: Raw, topic: str, acks: int) -> None:
    assert client.produce(topic, batch_of(b"a"), acks=acks).error_code == ErrorCode.invalid_required_acks


@pytest.mark.parametrize(("name", "partition"), [("nobody-made-this", 0), (None, 1), (None, -1), (None, 2**31 - 1)])
def test_unknown_topic_or_partition(client: Raw, topic: str, name: str | None, partition: int) -> None:
    wanted = name or topic
    assert client.produce(wanted, batch_of(b"a"), partition).error_code == ErrorCode.unknown_topic_or_partition
    assert client.fetch(wanted, 0, partition).error_code == ErrorCode.unknown_topic_or_partition


@pytest.mark.parametrize("offset", [2, 2**62, -5])
def test_offset_out_of_range(client: Raw, topic: str, offset: int) -> None:
    client.produce(topic, batch_of(b"a"))
    assert client.fetch(topic, offset).error_code == ErrorCode.offset_out_of_range


def test_acks_0_to_an_unknown_topic_closes(client: Raw) -> None:
    """The only way to tell a producer that does not listen."""
    client.send_produce("nobody-made-this", batch_of(b"a"), acks=0)
    assert client.is_closed()


def test_internal_topics_are_not_for_clients(client: Raw) -> None:
    client.request(ApiKey.FIND_COORDINATOR, 1, {"key": "group", "key_type": 0})
    answer = client.produce("__consumer_offsets", batch_of(b"a", keys=[b"k"]))
    assert answer.error_code == ErrorCode.invalid_topic_exception


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../escaped", "a b", "ñ", "new\nline", "null\0", "n" * 250, "%s", "a:b", "\\"]
)
def test_invalid_topic_name(client: Raw, name: str) -> None:
    assert client.create_topic(name) == ErrorCode.invalid_topic_exception


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("no.such.config", "1"),
        ("retention.ms", "soon"),
        ("retention.ms", "-2"),
        ("cleanup.policy", "shred"),
        ("segment.bytes", "0"),
        ("compression.type", "rar"),
        ("max.message.bytes", "99999999999999999999"),
        ("min.cleanable.dirty.ratio", "nan"),
        ("message.timestamp.type", ""),
    ],
)
def test_invalid_topic_config(client: Raw, key: str, value: str) -> None:
    assert client.create_topic(f"bad-{key}", {key: value}) == ErrorCode.invalid_config


def test_nonsense_partition_counts(client: Raw) -> None:
    for count in (0, -2, 2**31 - 1):
        assert client.create_topic("bad-count", partitions=count) == ErrorCode.invalid_partitions
