"""What a partition lets in: each rule with the code that producers are told; a refusal leaves nothing behind."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterator
from pathlib import Path
from time import time
from typing import Any
from uuid import UUID

import pytest

from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.log.config import LogConfig
from caudal.broker.log.log import Log
from caudal.broker.partition import Partition
from caudal.broker.schemas.check import SchemaCheck, SchemasUnknown
from caudal.broker.schemas.subjects import TOPIC_NAME, SubjectRule
from caudal.broker.wire import codecs
from caudal.broker.wire.batch import Record, build_batch, iter_batches, read_header, records, seal

DAY_MS = 86_400_000


@pytest.fixture
def partition(tmp_path: Path) -> Iterator[Partition]:
    log = Log.open(tmp_path, "letters", 0, LogConfig())
    yield Partition("letters", 0, UUID(int=1), log, leader_epoch=4)
    log.close()


def configure(partition: Partition, **changes: object) -> None:
    partition.log.config = dataclasses.replace(partition.log.config, **changes)  # type: ignore[arg-type]


def batch(*values: bytes | None, key: bytes | None = b"k", **options: object) -> bytearray:
    now = int(time() * 1000)
    return build_batch([Record(i, now, key, value) for i, value in enumerate(values)], **options)  # type: ignore[arg-type]


def refused(partition: Partition, data: bytearray) -> ErrorCode:
    end, size = partition.log_end_offset, partition.log.size
    with pytest.raises(KafkaError) as caught:
        partition.append(memoryview(data))
    assert (partition.log_end_offset, partition.log.size) == (end, size)
    return caught.value.code


def stored(partition: Partition) -> list[Record]:
    return [record for _, items in partition.iter_records() for record in items]


def test_offsets_and_the_leader_epoch_are_stamped_without_touching_the_checksum(partition: Partition) -> None:
    assert partition.append(memoryview(batch(b"a", b"b"))).base_offset == 0
    appended = partition.append(memoryview(batch(b"c")))
    assert (appended.base_offset, appended.last_offset, appended.log_append_time) == (2, 2, -1)
    data = partition.log.read(0, 1 << 20, 3)
    assert [(header.base_offset, header.leader_epoch) for _, header in iter_batches(data)] == [(0, 4), (2, 4)]
    assert [record.value for record in stored(partition)] == [b"a", b"b", b"c"]
    assert partition.high_watermark == partition.last_stable_offset == 3


def test_schemas_that_are_not_known_yet_leave_nothing_behind(tmp_path: Path) -> None:
    """The registry has to be asked first; a retry of what is written already needs no registry."""
    log = Log.open(tmp_path, "letters", 0, LogConfig())
    partition = Partition("letters", 0, UUID(int=1), log, 0, SchemaCheck(["http://registry"]))
    sent = batch(b"\0\0\0\0\1 text", producer_id=5, producer_epoch=0, base_sequence=0)
    written = partition.append(memoryview(bytearray(sent)))
    configure(partition, value_subject_strategy=TOPIC_NAME)
    assert partition.append(memoryview(bytearray(sent))) == written, "a duplicate"
    with pytest.raises(SchemasUnknown) as caught:
        partition.append(memoryview(batch(b"\0\0\0\0\2 text")))
    assert caught.value.questions == {(2, SubjectRule(TOPIC_NAME, "letters", "value"))}
    assert refused(partition, batch(b"text")) is ErrorCode.invalid_record
    partition.append(memoryview(batch(None)))
    assert [record.value for record in stored(partition)] == [b"\0\0\0\0\1 text", None]
    log.close()


def test_a_batch_over_max_message_bytes_is_too_large(partition: Partition) -> None:
    configure(partition, max_message_bytes=200)
    assert refused(partition, batch(b"x" * 300)) is ErrorCode.message_too_large
    partition.append(memoryview(batch(b"x" * 50)))


def test_a_wrong_checksum_is_a_corrupt_message(partition: Partition) -> None:
    data = batch(b"value")
    data[-1] ^= 1
    assert refused(partition, data) is ErrorCode.corrupt_message


@pytest.mark.parametrize("cut", [0, 1, 60, 70])
def test_a_cut_batch_is_a_corrupt_message(partition: Partition, cut: int) -> None:
    assert refused(partition, batch(b"value" * 10)[:cut]) is ErrorCode.corrupt_message


def test_two_batches_for_one_partition_are_an_invalid_record(partition: Partition) -> None:
    assert refused(partition, batch(b"a") + batch(b"b")) is ErrorCode.invalid_record


def test_old_formats_are_refused_by_name(partition: Partition) -> None:
    data = batch(b"value")
    data[16] = 1
    assert refused(partition, data) is ErrorCode.invalid_record


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_batch_that_lies_about_its_records_is_invalid(partition: Partition, count: int) -> None:
    data = batch(b"a", b"b")
    struct.pack_into(">i", data, 57, count)
    seal(data)
    assert refused(partition, data) is ErrorCode.invalid_record


def test_clients_cannot_write_control_batches(partition: Partition) -> None:
    assert refused(partition, batch(b"a", control=True)) is ErrorCode.invalid_record


def test_a_compacted_topic_needs_keys(partition: Partition) -> None:
    configure(partition, cleanup_policy=frozenset({"compact"}))
    assert refused(partition, batch(b"a", key=None)) is ErrorCode.invalid_record
    partition.append(memoryview(batch(None)))


@pytest.mark.parametrize("distance", [-3 * DAY_MS, 3 * DAY_MS])
def test_timestamps_far_from_ours_are_refused(partition: Partition, distance: int) -> None:
    configure(partition, message_timestamp_before_max_ms=DAY_MS, message_timestamp_after_max_ms=DAY_MS)
    data = build_batch([Record(0, int(time() * 1000) + distance, None, b"v")])
    assert refused(partition, data) is ErrorCode.invalid_timestamp


def test_log_append_time_replaces_the_producers(partition: Partition) -> None:
    configure(partition, message_timestamp_type="LogAppendTime")
    before = int(time() * 1000)
    appended = partition.append(memoryview(build_batch([Record(0, 1000, None, b"v")])))
    (record,) = stored(partition)
    assert record.timestamp == appended.log_append_time >= before


@pytest.mark.parametrize("name", ["gzip", "snappy", "lz4", "zstd", "uncompressed"])
def test_the_topics_compression_type_is_honoured(partition: Partition, name: str) -> None:
    configure(partition, compression_type=name)
    partition.append(
        memoryview(batch(b"v" * 500, b"w" * 500, codec=codecs.GZIP, producer_id=9, producer_epoch=0, base_sequence=0))
    )
    header = read_header(partition.log.read(0, 1 << 20, 2))
    assert header.codec == (0 if name == "uncompressed" else codecs.BY_NAME[name])
    assert (header.producer_id, header.base_sequence) == (9, 0)
    assert [record.value for record in stored(partition)] == [b"v" * 500, b"w" * 500]


def test_a_codec_nobody_knows_is_refused_where_records_are_opened(partition: Partition) -> None:
    configure(partition, cleanup_policy=frozenset({"compact"}))
    data = batch(b"v")
    data[22] |= 7
    seal(data)
    assert refused(partition, data) is ErrorCode.unsupported_compression_type


def test_a_retried_batch_is_answered_with_its_first_offset_and_not_written_again(partition: Partition) -> None:
    options: dict[str, Any] = {"producer_id": 5, "producer_epoch": 0}
    partition.append(memoryview(batch(b"a", b"b", base_sequence=0, **options)))
    partition.append(memoryview(batch(b"c", base_sequence=2, **options)))
    assert partition.append(memoryview(batch(b"a", b"b", base_sequence=0, **options))).base_offset == 0
    assert refused(partition, batch(b"d", base_sequence=7, **options)) is ErrorCode.out_of_order_sequence_number
    assert partition.log_end_offset == 3


def test_an_open_transaction_holds_the_last_stable_offset_until_its_marker(partition: Partition) -> None:
    partition.append(memoryview(batch(b"plain")))
    partition.append(memoryview(batch(b"t", producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)))
    partition.append(memoryview(batch(b"plain")))
    assert (partition.last_stable_offset, partition.high_watermark) == (1, 3)
    partition.append_marker(5, 0, False, 0)
    assert partition.last_stable_offset == partition.high_watermark == 4
    assert partition.log.aborted_transactions(0, 4) == [(5, 1)]


def test_a_marker_of_an_older_epoch_is_refused(partition: Partition) -> None:
    partition.append(memoryview(batch(b"t", producer_id=5, producer_epoch=3, base_sequence=0, transactional=True)))
    with pytest.raises(KafkaError) as caught:
        partition.append_marker(5, 2, True, 0)
    assert caught.value.code is ErrorCode.invalid_producer_epoch


def test_the_coordinators_own_records_are_read_back(partition: Partition) -> None:
    partition.append_records([(b"k1", b"v1"), (b"k2", None)])
    assert [(record.key, record.value) for record in stored(partition)] == [(b"k1", b"v1"), (b"k2", None)]


def test_opening_a_batch_leaves_it_as_it_was(partition: Partition) -> None:
    data = batch(b"a", codec=codecs.ZSTD)
    assert [record.value for record in records(data, 0, read_header(data))] == [b"a"]
