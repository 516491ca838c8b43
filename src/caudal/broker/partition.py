"""One partition as its leader sees it: what may be appended, what may be read, and who waits for what.

Everything here runs on the event loop and is synchronous: an append is validated, stamped, written and visible before
the next request is looked at, so no lock exists. The order of checks in `append` is the contract with producers:
size, checksum, shape, the producer's epoch and sequence, keys of compacted topics, schema ids where the topic asks for
them, timestamps; only then is anything written. The log below (`log/`) knows files and offsets, not rules.

One replica for now: the high watermark follows the log's end.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from time import time
from typing import NamedTuple, Protocol
from uuid import UUID

from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.log.config import LogConfig
from caudal.broker.log.log import Log
from caudal.broker.schemas.check import SchemaCheck
from caudal.broker.schemas.subjects import SubjectRule
from caudal.broker.wire import codecs
from caudal.broker.wire.batch import (
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    MAGIC,
    MIN_RECORD_SIZE,
    TIMESTAMP_TYPE,
    BatchHeader,
    EndTxnMarker,
    Record,
    all_have_keys,
    build_batch,
    build_marker,
    crc_is_valid,
    iter_batches,
    read_header,
    records,
    seal,
)

_INT64 = struct.Struct(">q")
_INT32 = struct.Struct(">i")
_INT16 = struct.Struct(">h")
_LOAD_CHUNK = 1 << 20

# The logs that the request under way wrote the coordinators' records to and that flush.messages wants on the disk
# before it is answered. The server looks at it; Produce has its own way.
UNSYNCED: ContextVar[set[Log] | None] = ContextVar("unsynced", default=None)


class Appended(NamedTuple):
    base_offset: int
    last_offset: int
    log_append_time: int  # -1 where the topic keeps the producer's time
    log_start_offset: int


class Waiter(Protocol):
    """A fetch that waits for more bytes."""

    def on_append(self, partition: Partition, size: int) -> None: ...


class Partition:
    """The leader's side of one partition."""

    __slots__ = (
        "_config",
        "_plain",
        "bytes_in",
        "bytes_out",
        "high_watermark",
        "index",
        "leader_epoch",
        "log",
        "messages_in",
        "schema_rules",
        "schemas",
        "topic",
        "topic_id",
        "waiters",
    )

    def __init__(
        self,
        topic: str,
        index: int,
        topic_id: UUID,
        log: Log,
        leader_epoch: int = 0,
        schemas: SchemaCheck | None = None,
    ) -> None:
        self.topic = topic
        self.index = index
        self.topic_id = topic_id
        self.log = log
        self.leader_epoch = leader_epoch
        self.high_watermark = log.log_end_offset
        self.waiters: set[Waiter] = set()
        self.bytes_in = self.bytes_out = self.messages_in = 0
        self.schemas = schemas
        self.schema_rules: list[SubjectRule] = []
        self._config: LogConfig | None = None
        self._plain = False

    # -- offsets -------------------------------------------------------------------------------------------------

    @property
    def log_start_offset(self) -> int:
        return self.log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        return self.log.log_end_offset

    @property
    def last_stable_offset(self) -> int:
        """Below it every transaction has ended: as far as a read_committed consumer may see."""
        unstable = self.log.producers.first_unstable_offset()
        return self.high_watermark if unstable is None or unstable > self.high_watermark else unstable

    # -- appending -----------------------------------------------------------------------------------------------

    def append(self, data: memoryview, *, require_zero: bool = False) -> Appended:
        """Validates one producer's batch, stamps it in place and writes it; raises KafkaError and leaves the log as is.
        SchemasUnknown likewise: the registry has to be asked first, then the batch may be appended again.

        `require_zero`: a producer that this partition does not know has to begin at sequence 0 (transaction version 2).
        """
        size = len(data)
        if size < HEADER_SIZE:
            raise KafkaError(ErrorCode.corrupt_message, "a record batch is shorter than its header")
        header = read_header(data)
        log = self.log
        config = log.config
        if header.magic != MAGIC:
            raise KafkaError(ErrorCode.invalid_record, f"record format v{header.magic} is not supported")
        if header.length + LENGTH_OVERHEAD != size:
            self._refuse_shape(header, size)
        if size > config.max_message_bytes:
            raise KafkaError(
                ErrorCode.message_too_large,
                f"the batch has {size} bytes, max.message.bytes of {self.topic} is {config.max_message_bytes}",
            )
        if not crc_is_valid(data, 0, header):
            raise KafkaError(ErrorCode.corrupt_message, "the checksum of a record batch does not match")
        if header.record_count <= 0 or header.last_offset_delta != header.record_count - 1 or header.is_control:
            raise KafkaError(ErrorCode.invalid_record, "a batch with no records, gaps or control records")
        codec = header.codec
        if codec > codecs.ZSTD:
            raise KafkaError(ErrorCode.unsupported_compression_type, f"compression codec {codec} is not known")
        if not codec and header.record_count * MIN_RECORD_SIZE > size - HEADER_SIZE:
            raise KafkaError(ErrorCode.invalid_record, f"{header.record_count} records cannot be in {size} bytes")
        if header.producer_id >= 0:
            if header.base_sequence < 0:
                raise KafkaError(ErrorCode.invalid_record, "a batch with a producer id needs a sequence number")
            duplicate = log.producers.check(header, from_client=True, require_zero=require_zero)
            if duplicate is not None:
                return Appended(duplicate.base_offset, duplicate.last_offset, -1, log.log_start_offset)
        if config is not self._config:
            self._config = config
            self.schema_rules = _schema_rules(self.topic, config)
            self._plain = (
                config.message_timestamp_type == "CreateTime"
                and config.compression_type == "producer"
                and "compact" not in config.cleanup_policy
                and not self.schema_rules
            )
        append_time = -1
        if not self._plain:
            data, header, append_time = self._convert(data, header, config)
        now = int(time() * 1000)
        if append_time < 0 and (
            header.max_timestamp > now + config.message_timestamp_after_max_ms
            or (0 <= header.base_timestamp < now - config.message_timestamp_before_max_ms)
        ):
            raise KafkaError(ErrorCode.invalid_timestamp, f"timestamps of {self.topic} must be nearer to the broker's")
        return self._write(data, header, append_time)

    def append_records(
        self,
        items: Sequence[tuple[bytes | None, bytes | None]],
        *,
        producer_id: int = -1,
        producer_epoch: int = -1,
        transactional: bool = False,
    ) -> Appended:
        """Writes the broker's own records (the coordinators' state) as one batch, timestamped now."""
        now = int(time() * 1000)
        offset = self.log.log_end_offset
        batch = build_batch(
            [Record(offset + delta, now, key, value) for delta, (key, value) in enumerate(items)],
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transactional=transactional,
        )
        return self._write_own(batch)

    def append_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        commit: bool,
        coordinator_epoch: int,
        transaction_version: int = 0,
    ) -> Appended:
        """Ends the producer's open transaction on this partition."""
        now = int(time() * 1000)
        marker = EndTxnMarker(commit, coordinator_epoch)
        offset = self.log.log_end_offset
        batch = build_marker(offset, now, producer_id, producer_epoch, marker, self.leader_epoch)
        self.log.producers.check_marker(
            producer_id, producer_epoch, coordinator_epoch, transaction_version=transaction_version
        )
        return self._write_own(batch)

    def _write_own(self, batch: bytearray) -> Appended:
        appended = self._write(memoryview(batch), read_header(batch), -1)
        if self.log.flush_due and (unsynced := UNSYNCED.get()) is not None:
            unsynced.add(self.log)
        return appended

    def _write(self, data: memoryview, header: BatchHeader, append_time: int) -> Appended:
        log = self.log
        offset = log.log_end_offset
        _INT64.pack_into(data, 0, offset)
        _INT32.pack_into(data, 12, self.leader_epoch)
        header = header._replace(base_offset=offset, leader_epoch=self.leader_epoch)
        try:
            log.append(data, header)
        except OSError as error:
            raise KafkaError(ErrorCode.kafka_storage_error, f"{self.topic}-{self.index}: {error.strerror}") from error
        size = len(data)
        self.bytes_in += size
        self.messages_in += header.record_count
        self.high_watermark = log.log_end_offset
        if self.waiters:
            for waiter in self.waiters:
                waiter.on_append(self, size)
        return Appended(offset, offset + header.last_offset_delta, append_time, log.log_start_offset)

    def _refuse_shape(self, header: BatchHeader, size: int) -> None:
        """Says why the record data is not exactly one batch."""
        if HEADER_SIZE <= header.length + LENGTH_OVERHEAD < size:
            raise KafkaError(ErrorCode.invalid_record, "a produce request carries one batch per partition")
        raise KafkaError(ErrorCode.corrupt_message, "the length of a record batch does not match its bytes")

    def _convert(self, data: memoryview, header: BatchHeader, config: LogConfig) -> tuple[memoryview, BatchHeader, int]:
        """The slow road of topics that check keys or schemas, stamp the time of arrival or choose the codec."""
        target = header.codec if config.compression_type == "producer" else _codec_number(config.compression_type)
        compacted = "compact" in config.cleanup_policy
        if compacted and not header.is_control and not all_have_keys(data, 0, header):
            raise KafkaError(ErrorCode.invalid_record, f"records of the compacted topic {self.topic} need a key")
        if self.schema_rules:
            checker = self.schemas or SchemaCheck()
            new = header.producer_id >= 0 and self.log.producers.get(header.producer_id) is None
            checker.check((self.topic, self.index), data, header, self.schema_rules, new)
        append_time = int(time() * 1000) if config.message_timestamp_type == "LogAppendTime" else -1
        if target != header.codec:
            batch = build_batch(
                list(records(data, 0, header)),
                codec=target,
                level=_level(config, target),
                producer_id=header.producer_id,
                producer_epoch=header.producer_epoch,
                base_sequence=header.base_sequence,
                transactional=header.is_transactional,
                base_timestamp=header.base_timestamp,
                max_timestamp=header.max_timestamp,
            )
            data = memoryview(batch)
            header = read_header(batch)
        if append_time >= 0:
            _INT16.pack_into(data, 21, header.attributes | TIMESTAMP_TYPE)
            _INT64.pack_into(data, 35, append_time)
            seal(data)
            header = read_header(data)
        return data, header, append_time

    async def replicated(self, offset: int) -> None:
        """Returns when every in-sync replica has the record at `offset`: at once, with one replica."""
        assert self.high_watermark > offset

    # -- reading -------------------------------------------------------------------------------------------------

    def iter_records(self, start: int | None = None) -> Iterator[tuple[BatchHeader, list[Record]]]:
        """Every batch from `start` on, opened. Blocks on the disk: for loading, in a thread."""
        offset = self.log.log_start_offset if start is None else start
        end = self.log.log_end_offset
        while offset < end:
            data = self.log.read(offset, _LOAD_CHUNK, end, whole_batch=True, nowait=False)
            if not data:
                return
            for position, header in iter_batches(data):
                if header.last_offset >= offset:
                    yield header, list(records(data, position, header))
                    offset = header.last_offset + 1


def _schema_rules(topic: str, config: LogConfig) -> list[SubjectRule]:
    chosen = (("key", config.key_subject_strategy), ("value", config.value_subject_strategy))
    return [SubjectRule(strategy, topic, field) for field, strategy in chosen if strategy is not None]


def _codec_number(name: str) -> int:
    return codecs.NONE if name == "uncompressed" else codecs.BY_NAME[name]


def _level(config: LogConfig, codec: int) -> int | None:
    levels = {
        codecs.GZIP: config.compression_gzip_level,
        codecs.LZ4: config.compression_lz4_level,
        codecs.ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)
