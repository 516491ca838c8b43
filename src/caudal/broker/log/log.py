"""One partition's log: the list of segments and everything that happens to it.

The event loop alone appends, rolls, truncates, deletes and replaces; reading (reader.py) and `flush` may run in any
thread at the same time. The list of segments is never changed in place: a reader takes it once and keeps to it.
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
from collections.abc import Callable
from pathlib import Path

from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.log import checkpoints, producer_state, recovery, retention
from caudal.broker.log.config import FOREVER, LogConfig
from caudal.broker.log.indexes import MAX_RELATIVE_OFFSET, OFFSET_ENTRY, TIME_ENTRY
from caudal.broker.log.reader import LogReader, floor
from caudal.broker.log.segment import CLEANED, COLD, DELETED, FILE_KINDS, SWAP, ScannedBatch, Segment
from caudal.broker.wire.batch import CONTROL, LENGTH_OVERHEAD, BatchHeader

logger = logging.getLogger(__name__)

_snapshot_lock = threading.Lock()
# What tells that the files are gone or the device is broken, as opposed to full.
_FATAL = {errno.ENOENT, errno.EIO, errno.EROFS, errno.ENODEV, errno.ENXIO, errno.ESTALE, errno.EBADF}


class Log(LogReader):
    __slots__ = (
        "_config",
        "_fd",
        "_flush_at",
        "_flush_lock",
        "_folder_changed",
        "_folder_is_new",
        "_index_interval",
        "_latest_epoch",
        "_pending",
        "_roll_bytes",
        "_roll_offset",
        "_roll_timestamp",
        "_snapshots",
        "doomed",
        "epochs",
        "folder",
        "generation",
        "last_flush_ms",
        "on_flush_wanted",
        "producers",
        "recovery_point",
        "size",
    )

    def __init__(self, folder: str, topic: str, partition: int, config: LogConfig, loaded: recovery.LoadedLog) -> None:
        self.folder = folder
        super().__init__(topic, partition, loaded.segments, loaded.log_start_offset, loaded.log_end_offset)
        self.recovery_point = loaded.recovery_point
        self.producers = loaded.producers
        self.epochs = loaded.epochs
        self.size = sum(segment.size for segment in loaded.segments)
        self.on_flush_wanted: Callable[[Log], None] | None = None  # rolled, or flush.messages reached
        self.doomed: list[tuple[int, str]] = []  # (when in ms, path): files renamed to .deleted
        self.last_flush_ms = 0
        self._latest_epoch = loaded.epochs.latest
        self._pending: set[Segment] = set()  # rolled, not yet flushed
        self._snapshots: list[tuple[int, bytes]] = []  # of the producers at each roll, to be written by the next flush
        # A segment that was created, not loaded, is open: then the folder is new as well.
        self._folder_changed = self._folder_is_new = self._active.is_open
        self.generation = 0  # counts truncations: what was begun before one must not be finished after it
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
        if not segment.is_written_to:
            segment.warm_from = segment.size
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
        self._snapshots.append((end, self.producers.encode()))
        self.producers.snapshot_offset = self.producers.end_offset = end
        preallocate = self._config.segment_bytes if self._config.preallocate else 0
        new = Segment.create(self.folder, end, self._index_interval, preallocate=preallocate)
        self._pending.add(old)
        self._folder_changed = True
        self._segments = [*self._segments, new]
        self._active = new
        self._fd = new.file().fd
        self._set_limits()
        if self.on_flush_wanted is not None:
            self.on_flush_wanted(self)

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
        generation = self.generation
        end = self.log_end_offset
        segments = self._segments
        try:
            if self.epochs.persist():
                self._folder_changed = True
            self._write_snapshots()
            first = floor(segments, self.recovery_point) if end > self.recovery_point else len(segments)
            # A rolled segment below the recovery point has its records on disk, but its indexes not yet.
            for segment in [*(s for s in segments[:first] if s in self._pending), *segments[first:]]:
                self._sync(segment)
            if self._folder_is_new:
                checkpoints.sync_partition_metadata(self.folder)
            if self._folder_changed:
                self._folder_changed = False
                checkpoints.sync_folder(self.folder)
            if self._folder_is_new:
                self._folder_is_new = False
                checkpoints.sync_folder(os.path.dirname(self.folder))
        except OSError as error:
            self._flush_at = self._next_flush()  # the next append asks again
            self._consider_failure(error)
            raise
        self.last_flush_ms = int(time.time() * 1000)
        if generation == self.generation:
            self.recovery_point = max(self.recovery_point, end)
            self._flush_at = self._next_flush()

    def folder_renewed(self) -> None:
        """Somebody wrote a file beside the segments: the next flush makes it durable with them."""
        self._folder_changed = self._folder_is_new = True

    def _write_snapshots(self) -> None:
        waiting = self._snapshots  # only ever appended to elsewhere
        if waiting:
            with _snapshot_lock:  # the event loop and a flush in a thread may both come here
                while waiting:
                    offset, data = waiting[0]
                    checkpoints.replace_file(producer_state.snapshot_path(self.folder, offset), data, sync=False)
                    del waiting[0]

    def _sync(self, segment: Segment) -> None:
        if segment.dead:
            return
        file = segment.file()
        if segment in self._pending:
            if self._config.preallocate:
                os.ftruncate(file.fd, segment.size)
            segment.persist_indexes(final=True, sync=True)
            os.fsync(file.fd)
            segment.warm_from = COLD
            self._pending.discard(segment)
        else:
            os.fsync(file.fd)
            segment.persist_indexes()

    def settle(self) -> None:
        """Called now and then: what was written since the last call counts as warm, and idle segments are let go."""
        segments = self._segments
        active = segments[-1]
        if active.warm_from < COLD:
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
                changed = self._fd >= 0 or self.recovery_point < self.log_end_offset
                if self.failure is None and changed:
                    self._flush()
                    self._active.persist_indexes(final=True, sync=True)
                    if self._config.preallocate and self._active.is_open:
                        os.ftruncate(self._active.file().fd, self._active.size)
                    if self.log_end_offset > 0:
                        # Not synced: should it not survive a power loss, its checksum tells and the log is read again.
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

    def fail(self, error: OSError, *, quiet: bool = False) -> None:
        super().fail(error, quiet=quiet)
        self._roll_bytes = -1  # the next append looks and finds out

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

    def load_timestamps(self, now_ms: int) -> None:
        """Reads what `delete_old_segments` will want to know, so that it need not wait for the disk. Blocking."""
        for segment in self._segments[:-1]:
            timestamp = segment.largest_timestamp()
            if timestamp < 0 or now_ms - timestamp <= self._config.retention_ms:
                return

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
        self._write_snapshots()  # without the records they are all that is known of their producers
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
            self._pending.discard(segment)
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
            self.generation += 1
            segments = self._segments
            keep = floor(segments, offset) + 1
            self._segments, gone = segments[:keep], segments[keep:]
            self._forget(gone, 0)
            active = self._active = self._segments[-1]
            self._pending.discard(active)
            self._activate()
            position = active.locate(offset, active.size)
            if position is not None:
                self.size -= active.size - position
                active.size = position
                os.ftruncate(self._fd, position)
            relative = offset - active.base_offset
            active.index().truncate(relative)
            active.time_index().truncate(relative)
            active.rebuild_indexes()
            active.set_aborted([entry for entry in active.aborted() if entry.last_offset < offset])
            active.warm_from = min(active.warm_from, active.size)
            self._ends_at(offset)

    def truncate_fully(self, start_offset: int) -> None:
        """Drops everything and begins anew at the offset. Blocking."""
        with self._flush_lock:
            self.generation += 1
            gone, self._segments = self._segments, []
            self._forget(gone, 0)
            for name in os.listdir(self.folder):
                if name.endswith(producer_state.SUFFIX):
                    os.unlink(os.path.join(self.folder, name))
            self._active = Segment.create(self.folder, start_offset, self._index_interval)
            self._segments = [self._active]
            self.log_start_offset = start_offset
            self.producers.clear(start_offset)
            self._ends_at(start_offset)

    def _ends_at(self, offset: int) -> None:
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.recovery_point = min(self.recovery_point, offset)
        self._positions = {}
        self._snapshots = []
        self._roll_bytes = -1
        self._flush_at = self._next_flush()
        self.epochs.truncate_from_end(offset)
        self._latest_epoch = self.epochs.latest
        recovery.rebuild_producers(self.folder, self._segments, self.producers, offset)

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
        new = Segment(self.folder, base_offset, self._index_interval)
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
