"""Compaction, the work: `python -m caudal.broker.log.cleaner_process`, JSON requests in, JSON answers out, a line each.

Two passes, as in Kafka. The first maps each key of the dirty part to its last offset (the key itself when it is shorter
than a digest, else its 16-byte md5: no answer depends on a shorter hash), as many as the memory allows. The second
copies the segments into fewer, keeping of each key the last record. Offsets never change; a batch that is kept whole is
copied byte for byte, one that loses records keeps its offset range, sequence and codec. Tombstones and markers of
transactions without records stay for delete.retention.ms after the first cleaning that found them (the delete horizon
in the batch header, KIP-534). An emptied batch stays when it is a producer's last or the last of the round.

It reads whole segments and writes `.cleaned` files; putting them in place is the broker's business (cleaner.py).
"""

from __future__ import annotations

import ctypes
import heapq
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from hashlib import md5
from typing import Any

from caudal.broker.log import aborted as txn_index
from caudal.broker.log.aborted import AbortedTransaction
from caudal.broker.log.batch_rewrite import (
    RawRecord,
    body_of,
    empty_batch,
    raw_records,
    with_horizon,
    with_records,
)
from caudal.broker.log.indexes import MAX_RELATIVE_OFFSET, OFFSET_ENTRY, TIME_ENTRY
from caudal.broker.log.segment import (
    CLEANED,
    FILE_KINDS,
    INDEX,
    LOG,
    TIME_INDEX,
    TXN_INDEX,
    IndexBuilder,
    ScannedBatch,
    file_name,
    scan,
)
from caudal.broker.wire.batch import (
    CONTROL,
    TRANSACTIONAL,
    BatchHeader,
    crc_is_valid,
    read_header,
    read_marker,
    records,
)

logger = logging.getLogger(__name__)

_DIGEST_SIZE = 16
_BYTES_PER_KEY = 150  # a dict entry with its bytes and its int, measured
_WRITE_BYTES = 1 << 20
_SYNC_BYTES = 16 << 20  # dirty pages are written back in small portions: a burst would stall the broker's appends
_PR_SET_PDEATHSIG = 1
_NICENESS = 15


class Job:
    """One request, with its counters."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.folder: str = request["folder"]
        self.segments: list[tuple[int, int]] = [(base, size) for base, size in request["segments"]]
        self.first_dirty: int = request["first_dirty"]
        self.upper: int = request["upper"]
        self.now_ms: int = request["now_ms"]
        self.delete_retention_ms: int = request["delete_retention_ms"]
        self.segment_bytes: int = request["segment_bytes"]
        self.segment_index_bytes: int = request["segment_index_bytes"]
        self.index_interval_bytes: int = request["index_interval_bytes"]
        self.max_keys = max(request["dedupe_bytes"] // _BYTES_PER_KEY, 1)
        self.aborted = [AbortedTransaction(*entry) for entry in request["aborted"]]
        # producer id → (last data offset or -1, epoch)
        self.producers = {pid: (last_offset, epoch) for pid, last_offset, epoch in request["producers"]}
        self.throttle = Throttle(request["io_bytes_per_second"])
        self.latest = self.first_dirty - 1  # last offset that the map covers
        self.offsets: dict[bytes, int] = {}
        self.records_read = self.records_kept = self.bytes_read = self.bytes_kept = 0

    def run(self) -> dict[str, Any]:
        self.build_map()
        transactions = Transactions(self.aborted)
        replacements = [
            {"base": group[0][0], "sources": [base for base, _ in group]}
            for group in self.groups(self.latest + 1)
            if self.clean_group(group, transactions)
        ]
        return {
            "end_offset": self.latest + 1,
            "replacements": replacements,
            "records_read": self.records_read,
            "records_kept": self.records_kept,
            "bytes_read": self.bytes_read,
            "bytes_kept": self.bytes_kept,
        }

    # -- first pass

    def build_map(self) -> None:
        transactions = Transactions(self.aborted)
        for number, (base, size) in enumerate(self.segments):
            following = self.segments[number + 1][0] if number + 1 < len(self.segments) else self.upper
            if following <= self.first_dirty:
                continue
            for batch in self.read_segment(base, size):
                if batch.header.last_offset < self.first_dirty:
                    transactions.discards(batch)
                    continue
                if not self.map_batch(batch, transactions):
                    if self.latest < self.first_dirty:
                        raise MemoryError("log.cleaner.dedupe.buffer.size is too small for one batch")
                    return
                self.latest = batch.header.last_offset
            self.latest = max(self.latest, following - 1)  # offsets at the end may have been compacted away

    def map_batch(self, batch: ScannedBatch, transactions: Transactions) -> bool:
        """Enters the keys of a batch; False when the map is full."""
        header = batch.header
        discarded = transactions.discards(batch)
        if discarded or header.attributes & CONTROL:
            return True
        offsets, base = self.offsets, header.base_offset
        for record in raw_records(body_of(batch), header.record_count):
            if record.key is not None and base + record.offset_delta >= self.first_dirty:
                digest = digest_of(record.key)
                if len(offsets) >= self.max_keys and digest not in offsets:
                    return False
                offsets[digest] = base + record.offset_delta
        return True

    # -- second pass

    def groups(self, end_offset: int) -> list[list[tuple[int, int]]]:
        """Neighbouring segments that fit into one: of the log, of its indexes, and of their 31-bit offsets."""
        result: list[list[tuple[int, int]]] = []
        segments = [segment for segment in self.segments if segment[0] < end_offset]
        sizes = [0, 0, 0]
        for number, (base, size) in enumerate(segments):
            following = segments[number + 1][0] if number + 1 < len(segments) else self.upper
            more = [size, self.file_size(base, INDEX), self.file_size(base, TIME_INDEX)]
            total = [have + add for have, add in zip(sizes, more, strict=True)]
            fits = (
                bool(result)
                and total[0] <= self.segment_bytes
                and total[1] <= self.segment_index_bytes - OFFSET_ENTRY
                and total[2] <= self.segment_index_bytes - TIME_ENTRY
                and following - 1 - result[-1][0][0] <= MAX_RELATIVE_OFFSET
            )
            if fits:
                result[-1].append((base, size))
                sizes = total
            else:
                result.append([(base, size)])
                sizes = more
        return result

    def file_size(self, base: int, kind: str) -> int:
        try:
            return os.stat(os.path.join(self.folder, file_name(base, kind))).st_size
        except FileNotFoundError:
            return 0

    def clean_group(self, group: list[tuple[int, int]], transactions: Transactions) -> bool:
        """Writes the cleaned segment of a group; False if it would be no different from the original."""
        writer = CleanedSegment(self.folder, group[0][0], self.index_interval_bytes)
        transactions.retained = []
        unchanged = len(group) == 1
        try:
            for base, size in group:
                for batch in self.read_segment(base, size):
                    self.bytes_read += batch.header.size
                    self.records_read += batch.header.record_count
                    kept = self.filter(batch, transactions)
                    if kept is None:
                        unchanged = False
                        continue
                    header, data, original = kept
                    unchanged = unchanged and original
                    self.bytes_kept += header.size
                    self.records_kept += header.record_count
                    self.throttle.count(header.size)
                    writer.add(header, data)
            if unchanged:
                writer.discard()
                return False
            last = os.path.join(self.folder, file_name(group[-1][0], LOG))
            writer.finish(transactions.retained, os.stat(last).st_mtime)
        except BaseException:
            writer.discard()
            raise
        return True

    def filter(
        self, batch: ScannedBatch, transactions: Transactions
    ) -> tuple[BatchHeader, bytes | bytearray | memoryview, bool] | None:
        """What stays of a batch (header, bytes, whether untouched), or None."""
        header = batch.header
        is_control = bool(header.attributes & CONTROL)
        discardable = transactions.discards(batch)
        discard = discardable
        if is_control:
            # A marker without records is deleted like a tombstone: not before its horizon.
            discard = discardable and header.has_delete_horizon
            discard = discard and header.base_timestamp <= self.now_ms
        stays_empty = self.is_last_of_producer(header) or header.last_offset + 1 == self.upper
        if discard and not stays_empty:
            return None
        body = body_of(batch) if header.record_count else b""
        all_records = list(raw_records(body, header.record_count))
        if discard:
            kept = []
        elif is_control:
            kept = all_records
        else:
            horizon_open = not header.has_delete_horizon or self.now_ms < header.base_timestamp
            base = header.base_offset
            kept = [record for record in all_records if self.retains(record, base + record.offset_delta, horizon_open)]
        if not kept:
            if stays_empty:
                empty = empty_batch(header)
                return read_header(empty), empty, header.record_count == 0
            return None
        has_tombstones = not is_control and any(record.is_tombstone for record in kept)
        sets_horizon = (has_tombstones or (is_control and discardable)) and not header.has_delete_horizon
        if len(kept) == len(all_records) and not sets_horizon:
            end = batch.start + header.size
            return header, memoryview(batch.buffer)[batch.start : end], True
        if sets_horizon:
            rebuilt = with_horizon(
                batch, {record.offset_delta for record in kept}, self.now_ms + self.delete_retention_ms
            )
        else:
            rebuilt = with_records(header, body, kept)
        return read_header(rebuilt), rebuilt, False

    def retains(self, record: RawRecord, offset: int, horizon_open: bool) -> bool:
        if offset > self.latest:
            return True
        if record.key is None:
            return False  # cannot be in a compacted topic; kept, it would stay for ever
        if offset < self.offsets.get(digest_of(record.key), -1):
            return False
        return not record.is_tombstone or horizon_open

    def is_last_of_producer(self, header: BatchHeader) -> bool:
        """Whether sequence or epoch of a live producer would be forgotten with this batch."""
        known = self.producers.get(header.producer_id) if header.producer_id >= 0 else None
        if known is None:
            return False
        last_offset, epoch = known
        if last_offset >= 0:
            return bool(header.last_offset == last_offset)
        return header.is_control and header.producer_epoch == epoch

    def read_segment(self, base: int, size: int) -> Iterator[ScannedBatch]:
        """All batches of a segment; a damaged one stops the cleaning, since dropping it would be silent loss."""
        descriptor = os.open(os.path.join(self.folder, file_name(base, LOG)), os.O_RDONLY | os.O_CLOEXEC)
        end = 0
        try:
            for batch in scan(descriptor, 0, size):
                if not crc_is_valid(batch.buffer, batch.start, batch.header):
                    break
                end = batch.position + batch.header.size
                self.throttle.count(batch.header.size)
                yield batch
        finally:
            os.close(descriptor)
        if end != size:
            raise ValueError(f"{file_name(base, LOG)} has a damaged batch at position {end}")


class Transactions:
    """Tells, in log order, which batches belong to aborted transactions and which markers have outlived theirs."""

    def __init__(self, aborted: list[AbortedTransaction]) -> None:
        self._waiting = [(entry.first_offset, entry) for entry in aborted]
        heapq.heapify(self._waiting)
        self._aborted: dict[int, AbortedTransaction] = {}  # producer id → its aborted transaction, now under way
        self._seen_aborted: set[int] = set()
        self._seen_committed: set[int] = set()
        self.retained: list[AbortedTransaction] = []  # the index of the segment being written

    def discards(self, batch: ScannedBatch) -> bool:
        header = batch.header
        last_offset = header.last_offset
        while self._waiting and self._waiting[0][0] <= last_offset:
            entry = heapq.heappop(self._waiting)[1]
            self._aborted.setdefault(entry.producer_id, entry)
        if header.attributes & CONTROL:
            return self._discards_marker(batch)
        if not header.attributes & TRANSACTIONAL:
            return False
        if header.producer_id in self._aborted:
            self._seen_aborted.add(header.producer_id)
            return True
        self._seen_committed.add(header.producer_id)
        return False

    def _discards_marker(self, batch: ScannedBatch) -> bool:
        producer_id = batch.header.producer_id
        for record in records(batch.buffer, batch.start, batch.header):
            marker = read_marker(record)
            if marker is None:
                return False
            if marker.commit:
                seen = producer_id in self._seen_committed
                self._seen_committed.discard(producer_id)
                return not seen
            entry = self._aborted.pop(producer_id, None)
            if entry is not None and producer_id in self._seen_aborted:
                self._seen_aborted.discard(producer_id)
                self.retained.append(entry)
                return False
            return True
        return True  # emptied by an earlier cleaning


class CleanedSegment:
    """The `.cleaned` files of one new segment."""

    def __init__(self, folder: str, base_offset: int, interval_bytes: int) -> None:
        self._paths = {kind: os.path.join(folder, file_name(base_offset, kind, CLEANED)) for kind in FILE_KINDS}
        self.discard()
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        self._fd = os.open(self._paths[LOG], flags, 0o644)
        self._builder = IndexBuilder(base_offset, interval_bytes)
        self._buffer = bytearray()
        self._size = self._unsynced = 0

    def add(self, header: BatchHeader, data: bytes | bytearray | memoryview) -> None:
        self._builder.add(header, self._size)
        self._buffer += data
        self._size += header.size
        if len(self._buffer) >= _WRITE_BYTES:
            self._write()

    def _write(self) -> None:
        view = memoryview(self._buffer)
        while view:
            view = view[os.write(self._fd, view) :]
        self._unsynced += len(self._buffer)
        self._buffer = bytearray()
        if self._unsynced >= _SYNC_BYTES:
            os.fdatasync(self._fd)
            self._unsynced = 0

    def finish(self, aborted: list[AbortedTransaction], modified: float) -> None:
        self._write()
        os.fsync(self._fd)
        os.utime(self._fd, (modified, modified))
        os.close(self._fd)
        self._fd = -1
        self._builder.finish()
        for kind, data in (
            (INDEX, self._builder.index.encode()),
            (TIME_INDEX, self._builder.time_index.encode()),
            (TXN_INDEX, txn_index.encode(aborted)),
        ):
            if data or kind != TXN_INDEX:
                with open(self._paths[kind], "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())

    def discard(self) -> None:
        fd = getattr(self, "_fd", -1)
        if fd >= 0:
            os.close(fd)
            self._fd = -1
        for path in self._paths.values():
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass


class Throttle:
    """log.cleaner.io.max.bytes.per.second; also notices that the broker is gone."""

    def __init__(self, bytes_per_second: float) -> None:
        self._rate = bytes_per_second
        self._parent = os.getppid()
        self._begin = time.monotonic()
        self._total = 0
        self._next_look = _WRITE_BYTES

    def count(self, size: int) -> None:
        self._total += size
        if self._total < self._next_look:
            return
        self._next_look = self._total + _WRITE_BYTES
        if os.getppid() != self._parent:
            sys.exit("the broker is gone")
        ahead = self._total / self._rate - (time.monotonic() - self._begin)
        if ahead > 0:
            time.sleep(ahead)


def digest_of(key: bytes) -> bytes:
    # A shorter key stands for itself and can equal no digest, which has another length.
    return key if len(key) < _DIGEST_SIZE else md5(key, usedforsecurity=False).digest()


def _die_with_the_broker() -> None:
    """A broker that was killed may be started again at once: two cleaners must never write the same files."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def main() -> None:
    _die_with_the_broker()
    os.nice(_NICENESS)
    for line in sys.stdin:
        try:
            answer = Job(json.loads(line)).run()
        except Exception as error:  # whatever it is, the broker must hear of it
            answer = {"error": f"{type(error).__name__}: {error}"}
        try:
            print(json.dumps(answer), flush=True)
        except BrokenPipeError:
            os._exit(1)  # nobody is left to tell


if __name__ == "__main__":
    main()
