"""What a partition remembers of each producer: epoch, last five batches, open transaction. Kafka's rules.

`check` decides before a write (duplicate, out of order, fenced), `update` and `complete` record what was written. The
state is rebuilt from the latest snapshot plus the batches after it, so it survives restarts; snapshots are kept one per
segment, named after the offset they stand for (`<offset>.snapshot`): int16 version 1, crc32c of the rest, an array of
46-byte entries, all big-endian. A snapshot keeps only the last batch of a producer, as Kafka's does.

Left out until replication: transactions that are complete but not yet below the high watermark (on one broker none is).
"""

from __future__ import annotations

import logging
import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

import crc32c

from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.log.aborted import AbortedTransaction
from caudal.broker.log.checkpoints import replace_file
from caudal.broker.wire.batch import CONTROL, TRANSACTIONAL, BatchHeader

logger = logging.getLogger(__name__)

SUFFIX = ".snapshot"
BATCHES_KEPT = 5
NONE = -1
_MAX_SEQUENCE = 2**31 - 1

_HEAD = struct.Struct(">hIi")  # version, crc, number of entries
_ENTRY = struct.Struct(">qhiqiqiq")
_VERSION = 1
_CRC_END = 6
_COUNT = struct.Struct(">i")


class CorruptSnapshot(Exception):
    """The snapshot file is not what a writer left behind."""


class BatchEntry(NamedTuple):
    """One batch of an idempotent producer, remembered to answer a retry with the offsets of the first try."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class ProducerEntry:
    __slots__ = ("batches", "coordinator_epoch", "epoch", "last_timestamp", "producer_id", "txn_first_offset")

    def __init__(self, producer_id: int, epoch: int = NONE) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.coordinator_epoch = NONE
        self.last_timestamp = NONE
        self.txn_first_offset = NONE
        self.batches: list[BatchEntry] = []

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NONE

    @property
    def last_data_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else NONE


class ProducerRow(NamedTuple):
    """A line of DescribeProducers."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_start_offset: int


class CompletedTransaction(NamedTuple):
    transaction: AbortedTransaction  # its fields are right for a committed one too
    aborted: bool


class ProducerStates:
    __slots__ = ("_entries", "_open", "end_offset", "snapshot_offset")

    def __init__(self) -> None:
        self._entries: dict[int, ProducerEntry] = {}
        # producer id → first offset, in order of the first offset: transactions begin in log order
        self._open: dict[int, int] = {}
        self.end_offset = 0  # the state covers everything below; the log keeps it at the end when it takes a snapshot
        self.snapshot_offset = NONE

    def __len__(self) -> int:
        return len(self._entries)

    # -- before a write

    def check(self, header: BatchHeader, *, from_client: bool, require_zero: bool = False) -> BatchEntry | None:
        """The earlier write if this batch is a retry of one of the last five; None if it may be written.

        `require_zero`: the producer bumps its own epoch (transaction version 2), so without state here its sequence
        must begin at 0. Batches of coordinators carry no sequence: only their epoch is checked.
        """
        entry = self._entries.get(header.producer_id)
        if entry is None:
            if from_client and require_zero and header.base_sequence != 0:
                raise KafkaError(
                    ErrorCode.out_of_order_sequence_number,
                    f"producer {header.producer_id} is new here and must begin with sequence 0",
                )
            return None
        epoch = header.producer_epoch
        if from_client and epoch == entry.epoch and header.base_sequence >= 0:
            last_sequence = header.last_sequence
            for batch in entry.batches:
                if batch.base_sequence == header.base_sequence and batch.last_sequence == last_sequence:
                    return batch
        if epoch < entry.epoch:
            raise KafkaError(
                ErrorCode.invalid_producer_epoch,
                f"epoch {epoch} of producer {header.producer_id} is older than the last seen, {entry.epoch}",
            )
        if header.attributes & CONTROL:
            return None
        if from_client:
            self._check_sequence(entry, header)
        if entry.txn_first_offset != NONE and not header.attributes & TRANSACTIONAL:
            raise KafkaError(
                ErrorCode.invalid_txn_state,
                f"producer {header.producer_id} has an open transaction and must write transactionally",
            )
        return None

    def _check_sequence(self, entry: ProducerEntry, header: BatchHeader) -> None:
        first = header.base_sequence
        if header.producer_epoch != entry.epoch:
            if first != 0 and entry.epoch != NONE:
                raise KafkaError(
                    ErrorCode.out_of_order_sequence_number,
                    f"the first sequence of a new epoch of producer {entry.producer_id} must be 0, not {first}",
                )
            return
        last = entry.last_sequence
        if entry.epoch == NONE:
            return
        if first != last + 1 and not (first == 0 and last == _MAX_SEQUENCE):
            raise KafkaError(
                ErrorCode.out_of_order_sequence_number,
                f"sequence {first} of producer {entry.producer_id} does not follow {last}",
            )

    def check_marker(
        self, producer_id: int, epoch: int, coordinator_epoch: int, *, transaction_version: int = 0
    ) -> None:
        """Refuses a marker of a fenced coordinator or of an epoch that is over.

        From transaction version 2 on the coordinator bumps the epoch before the marker, so an equal epoch is a late
        marker, unless nothing is open: then it is a harmless repetition.
        """
        entry = self._entries.get(producer_id)
        if entry is None:
            return
        stale = epoch < entry.epoch or (
            transaction_version >= 2 and epoch == entry.epoch and entry.txn_first_offset != NONE
        )
        if stale:
            raise KafkaError(
                ErrorCode.invalid_producer_epoch,
                f"marker epoch {epoch} of producer {producer_id} is not newer than the last seen, {entry.epoch}",
            )
        if entry.coordinator_epoch > coordinator_epoch:
            raise KafkaError(
                ErrorCode.transaction_coordinator_fenced,
                f"coordinator epoch {coordinator_epoch} is older than the last seen, {entry.coordinator_epoch}",
            )

    # -- after a write

    def update(self, header: BatchHeader) -> None:
        """A data batch of a producer was written (or found in the log during recovery)."""
        base_offset, _, _, _, _, attributes, delta, _, max_timestamp, producer_id, epoch, sequence, _ = header
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerEntry(producer_id, epoch)
        elif entry.epoch != epoch:
            entry.epoch = epoch
            entry.batches = []
        last_sequence = (sequence + delta) & _MAX_SEQUENCE if sequence >= 0 else NONE
        batches = entry.batches
        if len(batches) == BATCHES_KEPT:
            del batches[0]
        batches.append(BatchEntry(sequence, last_sequence, base_offset, base_offset + delta, max_timestamp))
        entry.last_timestamp = max_timestamp
        if attributes & TRANSACTIONAL and entry.txn_first_offset == NONE:
            entry.txn_first_offset = base_offset
            self._open[producer_id] = base_offset

    def complete(
        self,
        producer_id: int,
        epoch: int,
        marker_offset: int,
        commit: bool,
        coordinator_epoch: int,
        timestamp: int = NONE,
    ) -> CompletedTransaction | None:
        """A marker was written. What it ended, or None: a marker without data changes no last stable offset."""
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerEntry(producer_id, epoch)
        elif entry.epoch != epoch:
            entry.epoch = epoch
            entry.batches = []
        entry.coordinator_epoch = coordinator_epoch
        if timestamp != NONE:
            entry.last_timestamp = timestamp
        first_offset, entry.txn_first_offset = entry.txn_first_offset, NONE
        if first_offset == NONE:
            return None
        self._open.pop(producer_id, None)
        stable = self.first_unstable_offset()
        transaction = AbortedTransaction(
            producer_id, first_offset, marker_offset, marker_offset + 1 if stable is None else stable
        )
        return CompletedTransaction(transaction, not commit)

    # -- questions

    def first_unstable_offset(self) -> int | None:
        """Where the oldest open transaction begins."""
        for offset in self._open.values():
            return offset
        return None

    def ongoing(self, producer_id: int) -> int | None:
        """The first offset of the producer's open transaction here."""
        return self._open.get(producer_id)

    def get(self, producer_id: int) -> ProducerEntry | None:
        return self._entries.get(producer_id)

    def entries(self) -> Iterator[ProducerEntry]:
        return iter(list(self._entries.values()))

    def describe(self) -> list[ProducerRow]:
        return [
            ProducerRow(
                entry.producer_id,
                entry.epoch,
                entry.last_sequence,
                entry.last_timestamp,
                entry.coordinator_epoch,
                entry.txn_first_offset,
            )
            for entry in self._entries.values()
        ]

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forgets producers that have been silent for that long and have no open transaction."""
        gone = [
            entry.producer_id
            for entry in self._entries.values()
            if entry.txn_first_offset == NONE and now_ms - entry.last_timestamp >= expiration_ms
        ]
        for producer_id in gone:
            del self._entries[producer_id]
        return len(gone)

    def clear(self, end_offset: int) -> None:
        self._entries = {}
        self._open = {}
        self.end_offset = end_offset
        self.snapshot_offset = NONE

    # -- snapshots

    def encode(self) -> bytes:
        parts = [_COUNT.pack(len(self._entries))]
        for entry in self._entries.values():
            last = entry.batches[-1] if entry.batches else None
            parts.append(
                _ENTRY.pack(
                    entry.producer_id,
                    entry.epoch,
                    last.last_sequence if last else NONE,
                    last.last_offset if last else NONE,
                    last.last_offset - last.base_offset if last else 0,
                    entry.last_timestamp,
                    entry.coordinator_epoch,
                    entry.txn_first_offset,
                )
            )
        body = b"".join(parts)
        return struct.pack(">hI", _VERSION, crc32c.crc32c(body)) + body

    def decode(self, data: bytes) -> None:
        """Replaces the state by a snapshot's; raises CorruptSnapshot."""
        if len(data) < _HEAD.size:
            raise CorruptSnapshot("it is too short")
        version, crc, count = _HEAD.unpack_from(data)
        if version != _VERSION:
            raise CorruptSnapshot(f"it has version {version}")
        if crc32c.crc32c(data[_CRC_END:]) != crc:
            raise CorruptSnapshot("its checksum does not match")
        if len(data) != _HEAD.size + count * _ENTRY.size:
            raise CorruptSnapshot(f"it announces {count} entries in {len(data)} bytes")
        self._entries = {}
        opened: list[tuple[int, int]] = []
        for fields in _ENTRY.iter_unpack(data[_HEAD.size :]):
            producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, txn_first = fields
            entry = self._entries[producer_id] = ProducerEntry(producer_id, epoch)
            entry.coordinator_epoch = coordinator_epoch
            entry.last_timestamp = timestamp
            if last_offset >= 0:
                base_sequence = (last_sequence - delta) & _MAX_SEQUENCE if last_sequence >= 0 else NONE
                entry.batches.append(
                    BatchEntry(base_sequence, last_sequence, last_offset - delta, last_offset, timestamp)
                )
            if txn_first >= 0:
                entry.txn_first_offset = txn_first
                opened.append((txn_first, producer_id))
        self._open = {producer_id: first for first, producer_id in sorted(opened)}

    def write_snapshot(self, folder: str, offset: int, *, sync: bool = False) -> None:
        """Writes the state as that of everything below `offset`, unless the last snapshot says so already."""
        self.end_offset = offset
        if offset > self.snapshot_offset:
            replace_file(snapshot_path(folder, offset), self.encode(), sync=sync)
            self.snapshot_offset = offset

    def load_snapshot(self, folder: str, offset: int) -> bool:
        """Whether the snapshot at that offset could be loaded; a damaged one is removed."""
        path = snapshot_path(folder, offset)
        try:
            with open(path, "rb") as file:
                self.decode(file.read())
        except FileNotFoundError:
            return False
        except CorruptSnapshot as error:
            logger.warning("producer snapshot %s is damaged (%s); removed", path, error)
            os.unlink(path)
            self.clear(offset)
            return False
        self.end_offset = self.snapshot_offset = offset
        return True


def snapshot_path(folder: str, offset: int) -> str:
    return os.path.join(folder, f"{offset:020d}{SUFFIX}")


def remove_snapshot(folder: str, offset: int) -> None:
    try:
        os.unlink(snapshot_path(folder, offset))
    except FileNotFoundError:
        pass
