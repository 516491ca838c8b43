"""One partition's log: the list of segments and everything that happens to it.

The event loop alone appends, rolls, truncates, deletes and replaces; `read`, the look-ups by time and `flush` may run
in any thread at the same time. The list of segments is never changed in place: a reader takes it once and works on that.
Validation, offsets, the high watermark and who may write are partition.py's; when to flush, delete or compact is
store.py's. On disk full a write is undone and raised; when the folder is gone the log goes offline and says so once.
"""

from __future__ import annotations

import errno
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.log import checkpoints, producer_state, recovery, retention
from caudal.broker.log.config import FOREVER, LogConfig
from caudal.broker.log.indexes import MAX_RELATIVE_OFFSET, OFFSET_ENTRY, TIME_ENTRY
from caudal.broker.log.segment import CLEANED, DELETED, FILE_KINDS, SWAP, ScannedBatch, Segment
from caudal.broker.wire.batch import CONTROL, LENGTH_OVERHEAD, BatchHeader, records

logger = logging.getLogger(__name__)

_REMEMBERED_READS = 64
# What tells that the files are gone or the device is broken, as opposed to full.
_FATAL = {errno.ENOENT, errno.EIO, errno.EROFS, errno.ENODEV, errno.ENXIO, errno.ESTALE, errno.EBADF}

TimestampedOffset = tuple[int, int, int]


class Log:
    __slots__ = (
        "_active",
        "_config",
        "_fd",
        "_flush_at",
        "_flush_lock",
        "_folder_changed",
        "_generation",
        "_index_interval",
        "_latest_epoch",
        "_pending",
        "_positions",
        "_roll_bytes",
        "_roll_offset",
        "_roll_timestamp",
        "_segments",
        "closed",
        "doomed",
        "epochs",
        "failure",
        "folder",
        "last_flush_ms",
        "log_end_offset",
        "log_start_offset",
        "on_failure",
        "on_flush_wanted",
        "partition",
        "producers",
        "recovery_point",
        "size",
        "topic",
    )

    def __init__(self, folder: str, topic: str, partition: int, config: LogConfig, loaded: recovery.LoadedLog) -> None:
        self.folder = folder
        self.topic = topic
        self.partition = partition
        self._segments = loaded.segments
        self._active = loaded.segments[-1]
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.recovery_point = loaded.recovery_point
        self.producers = loaded.producers
        self.epochs = loaded.epochs
        self.size = sum(segment.size for segment in loaded.segments)
        self.closed = False
        self.failure: OSError | None = None
        self.on_failure: Callable[[Log, OSError], None] | None = None
        self.on_flush_wanted: Callable[[Log], None] | None = None  # rolled, or flush.messages reached
        self.doomed: list[tuple[int, str]] = []  # (when in ms, path): files renamed to .deleted
        self.last_flush_ms = 0
        self._latest_epoch = loaded.epochs.latest
        self._positions: dict[int, tuple[Segment, int]] = {}
        self._pending: list[Segment] = []  # rolled, not yet flushed
        self._folder_changed = False
        self._generation = 0
        self._flush_lock = threading.Lock()
        self._fd = -1
        self._index_interval = 0
        self._roll_bytes = self._roll_timestamp = self._roll_offset = -1  # the first append opens the segment
        self._flush_at = FOREVER
        self._config = config
        self.config = config

    @classmethod
    def open(
        cls,
        folder: str | Path,
        topic: str,
        partition: int,
        config: LogConfig,
        *,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        clean: bool = False,
    ) -> Log:
        """The log in a folder that exists; an empty folder becomes an empty log. Blocking."""
        path = str(folder)
        loaded = recovery.load(
            path, config, recovery_point=recovery_point, log_start_offset=log_start_offset, clean=clean
        )
        return cls(path, topic, partition, config, loaded)

    @property
    def path(self) -> Path:
        return Path(self.folder)

    @property
    def config(self) -> LogConfig:
        return self._config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self._config = config
        self._index_interval = config.index_interval_bytes
        self._flush_at = self._next_flush()
        self._roll_bytes = -1  # the next append works out the limits

    @property
    def segments(self) -> list[Segment]:
        """All segments, oldest first; a value of this moment."""
        return self._segments

    @property
    def active(self) -> Segment:
        return self._active

    # -- appending

    def append(self, data: memoryview | bytes | bytearray, header: BatchHeader) -> None:
        """Writes one stamped, validated batch whose base offset is the log's end offset."""
        base_offset, length, epoch, _, _, attributes, delta, _, max_timestamp, producer_id, _, _, count = header
        size = length + LENGTH_OVERHEAD
        segment = self._active
        position = segment.size
        last_offset = base_offset + delta
        if (
            position + size > self._roll_bytes
            or max_timestamp > self._roll_timestamp
            or last_offset > self._roll_offset
        ):
            segment = self._prepare(size, max_timestamp, last_offset)
            position = segment.size
        try:
            written = os.pwrite(self._fd, data, position)
        except OSError as error:
            self._undo_write(position, error)
            raise
        if written != size:
            self._write_rest(data, position, written)
        # Indexes before size before end offset: a reader in another thread never finds less than it was promised.
        if max_timestamp > segment.max_timestamp and count:  # type: ignore[operator]  # known once it is active
            segment.max_timestamp = max_timestamp
            segment.max_timestamp_offset = last_offset
        since = segment.bytes_since_index
        if since > self._index_interval:
            self._add_index_entry(segment, last_offset, position)
            since = 0
        segment.bytes_since_index = since + size
        segment.size = position + size
        self.size += size
        self.log_end_offset = last_offset + 1
        if position == 0:
            self._begin_segment(segment, max_timestamp)
        if epoch != self._latest_epoch:
            self._latest_epoch = max(epoch, self._latest_epoch)
            self.epochs.assign(epoch, base_offset)
        if producer_id >= 0:
            if attributes & CONTROL:
                self._end_transaction(segment, data, header)
            else:
                self.producers.update(header)
        if last_offset >= self._flush_at:
            self._flush_at = FOREVER
            if self.on_flush_wanted is not None:
                self.on_flush_wanted(self)

    def _prepare(self, size: int, max_timestamp: int, last_offset: int) -> Segment:
        """The segment to write to, opened or rolled as needed."""
        if self.failure is not None or self.closed:
            reason = str(self.failure) if self.failure else "the log is closed"
            raise KafkaError(ErrorCode.kafka_storage_error, f"{self.topic}-{self.partition} is offline: {reason}")
        try:
            segment = self._activate()
            self._set_limits()
            full = (
                segment.size + size > self._roll_bytes
                or max_timestamp > self._roll_timestamp
                or last_offset > self._roll_offset
            )
            if full and segment.size:
                self.roll()
        except OSError as error:
            self._roll_bytes = -1
            self._consider_failure(error)
            raise
        return self._active

    def _activate(self) -> Segment:
        """Opens the last segment for writing: its descriptor and what an append needs to know of it."""
        segment = self._active
        self._fd = segment.file().fd
        segment.index()
        segment.time_index()
        segment.largest_timestamp()
        segment.first_batch_timestamp()
        return segment

    def _set_limits(self) -> None:
        segment, config = self._active, self._config
        self._roll_bytes = config.segment_bytes
        index_entries = config.segment_index_bytes // OFFSET_ENTRY
        time_entries = config.segment_index_bytes // TIME_ENTRY
        if len(segment.index()) >= index_entries or len(segment.time_index()) >= time_entries - 1:
            self._roll_bytes = 0
        self._roll_offset = segment.base_offset + MAX_RELATIVE_OFFSET
        self._set_roll_timestamp(segment.first_batch_timestamp())

    def _begin_segment(self, segment: Segment, max_timestamp: int) -> None:
        segment.first_timestamp = max_timestamp
        self._set_roll_timestamp(max_timestamp)

    def _set_roll_timestamp(self, first_timestamp: int) -> None:
        if first_timestamp < 0:
            self._roll_timestamp = FOREVER
            return
        config = self._config
        # One jitter per segment, or each look at the limits would draw again and the smallest would win.
        jitter = min(config.segment_jitter_ms, config.segment_ms)
        if jitter > 0:
            jitter = random.Random(f"{self.folder}/{self._active.base_offset}").randrange(jitter)
        self._roll_timestamp = first_timestamp + config.roll_ms - max(jitter, 0)

    def _add_index_entry(self, segment: Segment, last_offset: int, position: int) -> None:
        base_offset = segment.base_offset
        index, time_index = segment.index(), segment.time_index()
        index.append(last_offset - base_offset, position)
        time_index.append(segment.largest_timestamp(), segment.max_timestamp_offset - base_offset)
        if (len(index) + 1) * OFFSET_ENTRY > self._config.segment_index_bytes or (
            len(time_index) + 2
        ) * TIME_ENTRY > self._config.segment_index_bytes:
            self._roll_bytes = 0

    def _write_rest(self, data: memoryview | bytes | bytearray, position: int, written: int) -> None:
        """A short write: the rest, or an error (a full disk shows up here)."""
        view = memoryview(data)
        try:
            while written < len(view):
                count = os.pwrite(self._fd, view[written:], position + written)
                if count == 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._active.path())
                written += count
        except OSError as error:
            self._undo_write(position, error)
            raise

    def _undo_write(self, position: int, error: OSError) -> None:
        """Takes away what a failed write left. Should that fail too, the next write overwrites it."""
        try:
            os.ftruncate(self._fd, position)
        except OSError:
            pass
        self._consider_failure(error)

    def _end_transaction(self, segment: Segment, data: memoryview | bytes | bytearray, header: BatchHeader) -> None:
        completed = recovery.apply(self.producers, ScannedBatch(0, header, bytes(data), 0))
        if completed is not None and completed.aborted:
            segment.add_aborted(completed.transaction)

    def roll(self) -> None:
        """Closes the active segment and begins a new one at the end offset; an empty one stays."""
        old = self._active
        if old.size == 0:
            return
        self._activate()
        end = self.log_end_offset
        self.producers.write_snapshot(self.folder, end)
        preallocate = self._config.segment_bytes if self._config.preallocate else 0
        new = Segment.create(self.folder, end, preallocate=preallocate)
        self._pending.append(old)
        self._folder_changed = True
        self._segments = [*self._segments, new]
        self._active = new
        self._fd = new.file().fd
        self._set_limits()
        if self.on_flush_wanted is not None:
            self.on_flush_wanted(self)

    # -- reading

    def read(
        self, offset: int, max_bytes: int, upper_offset: int, *, whole_batch: bool = False, nowait: bool = True
    ) -> bytes:
        """Whole batches from the one with `offset` on, below `upper_offset`, of one segment.

        `nowait` is for the event loop: BlockingIOError when the disk would have to be waited for. In a thread call it
        with nowait=False. The caller has checked the offset against start and end of the log.
        """
        end_offset = self.log_end_offset
        if offset >= end_offset or offset >= upper_offset:
            return b""
        try:
            return self._read(offset, max_bytes, upper_offset, end_offset, whole_batch, nowait)
        except FileNotFoundError as error:
            if not self.closed:
                self.fail(error)
            raise KafkaError(ErrorCode.kafka_storage_error, f"{self.topic}-{self.partition} is offline") from error

    def _read(
        self, offset: int, max_bytes: int, upper_offset: int, end_offset: int, whole_batch: bool, nowait: bool
    ) -> bytes:
        found = self._positions.pop(offset, None)
        if found is None or found[0].dead or (found[1] >= found[0].size and found[0] is not self._active):
            found = self._find(offset, nowait)
            if found is None:
                return b""
        segment, position = found
        size = segment.size
        if nowait and upper_offset >= end_offset and segment is self._active and size - position <= max_bytes:
            # The tail, in the event loop, where size and end offset agree: no boundary to look for.
            data, next_offset = segment.pread(size - position, position, True), end_offset
            if len(data) != size - position:
                data, next_offset = segment.read(position, size, max_bytes, upper_offset, whole_batch, nowait)
        else:
            data, next_offset = segment.read(position, size, max_bytes, upper_offset, whole_batch, nowait)
        if data:
            self._remember(next_offset, segment, position + len(data))
        else:
            self._remember(offset, segment, position)
        return data

    def _find(self, offset: int, nowait: bool) -> tuple[Segment, int] | None:
        """Segment and position of the first batch that ends at or after the offset."""
        segments = self._segments
        number = len(segments) - 1
        while number > 0 and segments[number].base_offset > offset:
            number = _floor(segments, offset)
        while number < len(segments):
            segment = segments[number]
            position = segment.locate(offset, segment.size, nowait)
            if position is not None:
                return segment, position
            number += 1  # the offsets up to the end of the segment were compacted away
        return None

    def _remember(self, offset: int, segment: Segment, position: int) -> None:
        positions = self._positions
        if position >= segment.size and segment is not self._active:
            return  # the next read begins in another segment
        positions[offset] = (segment, position)
        if len(positions) > _REMEMBERED_READS:
            try:
                del positions[next(iter(positions))]
            except (KeyError, RuntimeError, StopIteration):
                pass  # another thread was faster; it is only a cache

    def batches(self, start_offset: int, end_offset: int | None = None) -> Iterator[ScannedBatch]:
        """All batches that reach into the range, across segments. Blocking."""
        end = self.log_end_offset if end_offset is None else end_offset
        segments = self._segments
        for segment in segments[_floor(segments, start_offset) :]:
            size = segment.size
            if segment.base_offset >= end:
                return
            position = segment.locate(start_offset, size)
            if position is None:
                continue
            for batch in segment.batches(position, size):
                if batch.header.base_offset >= end:
                    return
                yield batch

    def aborted_transactions(self, start: int, end: int) -> list[tuple[int, int]]:
        """(producer id, first offset) of the aborted transactions with records in [start, end)."""
        found = []
        segments = self._segments
        for segment in segments[_floor(segments, start) :]:
            for entry in segment.aborted():
                if entry.last_offset >= start and entry.first_offset < end:
                    found.append((entry.producer_id, entry.first_offset))
                if entry.last_stable_offset >= end:
                    return found  # all that can matter below the end was decided by then
        return found

    def offset_for_timestamp(self, timestamp: int, upper_offset: int) -> TimestampedOffset | None:
        """(timestamp, offset, leader epoch) of the first record at or after the timestamp. Blocking."""
        start = self.log_start_offset
        for segment in list(self._segments):
            if segment.largest_timestamp() < timestamp:
                continue
            first = max(segment.base_offset + segment.time_index().offset_before(timestamp), start)
            size = segment.size
            position = segment.locate(first, size)
            if position is None:
                continue
            for batch in segment.batches(position, size):
                if batch.header.base_offset >= upper_offset:
                    return None
                if batch.header.max_timestamp < timestamp:
                    continue
                for record in records(batch.buffer, batch.start, batch.header):
                    if record.timestamp >= timestamp and start <= record.offset < upper_offset:
                        return record.timestamp, record.offset, batch.header.leader_epoch
        return None

    def offset_of_max_timestamp(self, upper_offset: int) -> TimestampedOffset | None:
        """The first record with the latest timestamp of the log. Blocking."""
        best: ScannedBatch | None = None
        for segment in self._segments:
            if segment.base_offset >= upper_offset:
                break
            if best is not None and segment.largest_timestamp() <= best.header.max_timestamp:
                continue
            largest = segment.largest_timestamp()
            first = max(segment.base_offset + segment.time_index().offset_before(largest), self.log_start_offset)
            size = segment.size
            position = segment.locate(first, size)
            for batch in segment.batches(position, size) if position is not None else ():
                if batch.header.last_offset >= upper_offset:
                    break
                later = best is None or batch.header.max_timestamp > best.header.max_timestamp
                if later and batch.header.record_count:
                    best = batch
        if best is None:
            return None
        header = best.header
        for record in records(best.buffer, best.start, header):
            if record.timestamp == header.max_timestamp:
                return record.timestamp, record.offset, header.leader_epoch
        return header.max_timestamp, header.last_offset, header.leader_epoch

    # -- durability

    @property
    def flush_due(self) -> bool:
        """Whether flush.messages asks for an fsync before the last append is acknowledged."""
        return self.log_end_offset - self.recovery_point >= self._config.flush_messages

    def _next_flush(self) -> int:
        wanted = self._config.flush_messages
        return FOREVER if wanted >= FOREVER else self.recovery_point + wanted - 1

    def flush(self) -> None:
        """Makes everything up to the present end durable and moves the recovery point there. Blocking."""
        with self._flush_lock:
            if self.closed:
                return
            self._flush()

    def _flush(self) -> None:
        generation = self._generation
        end = self.log_end_offset
        segments = self._segments
        try:
            if end > self.recovery_point:
                for segment in segments[_floor(segments, self.recovery_point) :]:
                    self._sync(segment)
            if self._folder_changed:
                self._folder_changed = False
                checkpoints.sync_folder(self.folder)
        except OSError as error:
            self._consider_failure(error)
            raise
        self.last_flush_ms = int(time.time() * 1000)
        if generation == self._generation:
            self.recovery_point = max(self.recovery_point, end)
            self._flush_at = self._next_flush()

    def _sync(self, segment: Segment) -> None:
        if segment.dead:
            return
        file = segment.file()
        if segment in self._pending:
            if self._config.preallocate:
                os.ftruncate(file.fd, segment.size)
            segment.persist_indexes(final=True, sync=True)
            os.fsync(file.fd)
            segment.warm_from = 2**63
            self._pending.remove(segment)
        else:
            os.fsync(file.fd)
            segment.persist_indexes()

    def settle(self) -> None:
        """Called now and then: what was written since the last call counts as warm, and idle segments are let go."""
        segments = self._segments
        active = segments[-1]
        if active.warm_from < 2**63:
            active.warm_from = max(active.warm_from, active.size)
        for segment in segments[:-1]:
            if segment.idle and segment not in self._pending:
                segment.release()
            segment.idle = True

    def close(self) -> None:
        """Flushes, writes indexes and the producer snapshot of the end, lets go of the files. Blocking."""
        with self._flush_lock:
            if self.closed:
                return
            try:
                if self.failure is None:
                    self._flush()
                    self._active.persist_indexes(final=True)
                    if self._config.preallocate and self._active.is_open:
                        os.ftruncate(self._active.file().fd, self._active.size)
                    if self.log_end_offset > self.producers.snapshot_offset and self.log_end_offset > 0:
                        self.producers.write_snapshot(self.folder, self.log_end_offset)
            finally:
                self.abandon()

    def abandon(self) -> None:
        """Lets go of the files without writing anything: the folder is being deleted, or a crash is played."""
        self.closed = True
        self._roll_bytes = -1
        for segment in self._segments:
            segment.dead = True
            segment.release()
        self._positions = {}

    # -- trouble

    def _consider_failure(self, error: OSError) -> None:
        if error.errno in _FATAL:
            self.fail(error)

    def fail(self, error: OSError) -> None:
        """Takes the log offline, with one line in the log."""
        if self.failure is not None or self.closed:
            return
        self.failure = error
        self._roll_bytes = -1
        logger.error("partition %s-%d is offline: %s", self.topic, self.partition, error)
        if self.on_failure is not None:
            self.on_failure(self, error)

    def check_files(self) -> None:
        """Notices that someone deleted the folder, which writes to an open file do not. Blocking, quick."""
        if self.failure is not None or self.closed:
            return
        try:
            segment = self._active
            if segment.is_open and os.fstat(segment.file().fd).st_nlink == 0:
                raise FileNotFoundError(errno.ENOENT, "the file was deleted", segment.path())
            os.stat(self.folder)
        except OSError as error:
            if not self.closed:
                self.fail(error)

    # -- shortening

    def increment_log_start(self, offset: int) -> None:
        """Hides the records below the offset; whole segments below it are deleted with the next retention check."""
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self.epochs.truncate_from_start(offset)

    def delete_old_segments(self, now_ms: int, high_watermark: int) -> int:
        """Applies retention; how many segments went."""
        segments = self._segments
        count = retention.expired(
            segments,
            self._config,
            now_ms=now_ms,
            size=self.size,
            log_start_offset=self.log_start_offset,
            log_end_offset=self.log_end_offset,
            high_watermark=high_watermark,
        )
        if not count:
            return 0
        if count == len(segments):
            self.roll()
        gone = segments[:count]
        self._segments = self._segments[count:]
        self._forget(gone, now_ms + self._config.file_delete_delay_ms)
        start = self._segments[0].base_offset
        if start > self.log_start_offset:
            self.log_start_offset = start
            self.epochs.truncate_from_start(start)
        logger.info("%s-%d: deleted %d segments, now starts at %d", self.topic, self.partition, count, start)
        return count

    def _forget(self, segments: list[Segment], when_ms: int, *, snapshots: bool = True) -> None:
        """Removes segments that are no longer in the list: renamed now, unlinked later. Readers may hold them still."""
        for segment in segments:
            segment.retire()
            self.size -= segment.size
            if segment in self._pending:
                self._pending.remove(segment)
            segment.rename("", DELETED)
            self.doomed += ((when_ms, segment.path(kind, DELETED)) for kind in FILE_KINDS)
            if snapshots:
                producer_state.remove_snapshot(self.folder, segment.base_offset)
        self._positions = {}  # they hold on to the segments, and so to their descriptors

    def truncate_to(self, offset: int) -> None:
        """Drops everything from the offset on. Blocking: for followers and recovery."""
        if offset >= self.log_end_offset:
            return
        if offset <= self._segments[0].base_offset:
            self.truncate_fully(offset)
            return
        with self._flush_lock:
            self._generation += 1
            segments = self._segments
            keep = _floor(segments, offset) + 1
            self._segments, gone = segments[:keep], segments[keep:]
            self._forget(gone, 0)
            active = self._active = self._segments[-1]
            if active in self._pending:
                self._pending.remove(active)
            self._activate()
            position = active.locate(offset, active.size)
            if position is not None:
                self.size -= active.size - position
                active.size = position
                os.ftruncate(self._fd, position)
            relative = offset - active.base_offset
            active.index().truncate(relative)
            active.time_index().truncate(relative)
            active.rebuild_indexes(self._config.index_interval_bytes)
            active.set_aborted([entry for entry in active.aborted() if entry.last_offset < offset])
            active.warm_from = min(active.warm_from, active.size)
            self._ends_at(offset)

    def truncate_fully(self, start_offset: int) -> None:
        """Drops everything and begins anew at the offset. Blocking."""
        with self._flush_lock:
            self._generation += 1
            gone, self._segments = self._segments, []
            self._forget(gone, 0)
            for name in os.listdir(self.folder):
                if name.endswith(producer_state.SUFFIX):
                    os.unlink(os.path.join(self.folder, name))
            self._active = Segment.create(self.folder, start_offset)
            self._segments = [self._active]
            self.log_start_offset = start_offset
            self.producers.clear(start_offset)
            self._ends_at(start_offset)

    def _ends_at(self, offset: int) -> None:
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.recovery_point = min(self.recovery_point, offset)
        self._positions = {}
        self._roll_bytes = -1
        self._flush_at = self._next_flush()
        self.epochs.truncate_from_end(offset)
        self._latest_epoch = self.epochs.latest
        recovery.rebuild_producers(self.folder, self._segments, self.producers, self.log_start_offset, offset)

    # -- compaction

    def replace_segments(self, base_offset: int, sources: list[int], *, now_ms: int) -> None:
        """Puts the cleaned segment `base_offset` (files with suffix .cleaned) in the place of `sources`.

        The order of the renames is Kafka's: at every moment a crash leaves either the originals or the replacement.
        """
        wanted = set(sources)
        segments = self._segments
        gone = [segment for segment in segments if segment.base_offset in wanted]
        if len(gone) != len(wanted) or self._active in gone or any(segment in self._pending for segment in gone):
            raise ValueError(f"the segments {sources} of {self.folder} are not there to be replaced")
        new = Segment(self.folder, base_offset)
        new.size = os.stat(new.path(suffix=CLEANED)).st_size
        new.rename(CLEANED, SWAP)
        first = segments.index(gone[0])
        self._forget(gone, now_ms + self._config.file_delete_delay_ms, snapshots=False)
        new.rename(SWAP, "")
        self.size += new.size
        self._segments = [*segments[:first], new, *segments[first + len(gone) :]]
        self._folder_changed = True
        for segment in gone:
            if segment.base_offset != base_offset:
                producer_state.remove_snapshot(self.folder, segment.base_offset)


def _floor(segments: list[Segment], offset: int) -> int:
    """Number of the segment that holds the offset (the first one for offsets below all)."""
    low, high = 0, len(segments)
    while low < high:
        middle = (low + high) // 2
        if segments[middle].base_offset <= offset:
            low = middle + 1
        else:
            high = middle
    return max(low - 1, 0)
