"""One segment: the file of record batches and, beside it, offset index, time index and transaction index.

Only the event loop changes a segment; any thread may read it meanwhile. What makes that safe without locks: bytes
below `size` never change, `size` is raised after the bytes are written, indexes only grow, and a descriptor is closed
when the last reader lets go of its LogFile. A segment that is deleted or replaced opens its file first and is `dead`
before its files are renamed: readers finish on the old bytes, and never open the new ones under the old name.

The index of the segment being written lives in memory and reaches its file when the log is flushed or rolled; after a
crash it is rebuilt. Indexes of older segments are loaded at the first read and dropped again when idle.
"""

from __future__ import annotations

import errno
import logging
import os
import struct
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

from caudal.broker.log import aborted
from caudal.broker.log.aborted import AbortedTransaction
from caudal.broker.log.indexes import OFFSET_ENTRY, TIME_ENTRY, CorruptIndex, OffsetIndex, TimeIndex
from caudal.broker.wire.batch import HEADER, HEADER_SIZE, LENGTH_OVERHEAD, MAGIC, BatchHeader

logger = logging.getLogger(__name__)

LOG, INDEX, TIME_INDEX, TXN_INDEX = ".log", ".index", ".timeindex", ".txnindex"
FILE_KINDS = (LOG, INDEX, TIME_INDEX, TXN_INDEX)
CLEANED, SWAP, DELETED = ".cleaned", ".swap", ".deleted"

NO_TIMESTAMP = -1
COLD = 2**63
_SCAN_BYTES = 8192
_CHUNK_BYTES = 1 << 20
_MIN_LENGTH = HEADER_SIZE - LENGTH_OVERHEAD
_MISSING_NOWAIT = {errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}

# base offset, length, magic, last offset delta: what it takes to step from batch to batch
STEP = struct.Struct(">qi4xb6xi")
_load_lock = threading.Lock()
_nowait_flag = os.RWF_NOWAIT


class ScannedBatch(NamedTuple):
    position: int  # in the file
    header: BatchHeader
    buffer: bytes
    start: int  # in the buffer


class LogFile:
    """A descriptor that lives as long as someone holds it."""

    __slots__ = ("fd",)

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __del__(self) -> None:
        os.close(self.fd)


def file_name(base_offset: int, kind: str, suffix: str = "") -> str:
    return f"{base_offset:020d}{kind}{suffix}"


def scan(fd: int, position: int, end: int, chunk_bytes: int = _CHUNK_BYTES) -> Iterator[ScannedBatch]:
    """The whole batches of a file from `position` to `end`; stops at the first thing that is none. Blocking."""
    while position + HEADER_SIZE <= end:
        buffer = os.pread(fd, min(chunk_bytes, end - position), position)
        if len(buffer) < HEADER_SIZE:
            return
        size = HEADER.unpack_from(buffer)[1] + LENGTH_OVERHEAD
        if size > len(buffer) and position + size <= end:
            buffer = os.pread(fd, size, position)
        start, got = 0, len(buffer)
        while start + HEADER_SIZE <= got:
            header = BatchHeader._make(HEADER.unpack_from(buffer, start))
            if header.length < _MIN_LENGTH or header.magic != MAGIC or header.last_offset_delta < 0:
                return
            size = header.length + LENGTH_OVERHEAD
            if start + size > got:
                break
            yield ScannedBatch(position + start, header, buffer, start)
            start += size
        if start == 0:
            return  # a batch that the file does not hold in full
        position += start


class Segment:
    __slots__ = (
        "_aborted",
        "_file",
        "_index",
        "_persisted_aborted",
        "_persisted_entries",
        "_persisted_time_entries",
        "_time_index",
        "base_offset",
        "bytes_since_index",
        "created_ms",
        "dead",
        "first_timestamp",
        "folder",
        "idle",
        "index_interval",
        "max_timestamp",
        "max_timestamp_offset",
        "size",
        "warm_from",
    )

    def __init__(self, folder: str, base_offset: int, index_interval: int = 4096) -> None:
        self.folder = folder
        self.base_offset = base_offset
        self.index_interval = index_interval
        self.size = 0
        self.dead = False  # deleted or replaced: remembered positions in it are void
        self.idle = False  # not read since the last look of the housekeeper
        self.warm_from = COLD  # bytes from here on were written moments ago: reading them cannot wait for the disk
        self.bytes_since_index = 0
        self.created_ms = NO_TIMESTAMP
        self.first_timestamp: int | None = None  # None: not looked up; of the first batch, rules rolling by time
        self.max_timestamp: int | None = None  # None: not looked up
        self.max_timestamp_offset = base_offset
        self._file: LogFile | None = None
        self._index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._aborted: list[AbortedTransaction] | None = None
        self._persisted_aborted = 0
        self._persisted_entries = 0
        self._persisted_time_entries = 0

    def __repr__(self) -> str:
        return f"Segment({self.path()}, {self.size} bytes)"

    def path(self, kind: str = LOG, suffix: str = "") -> str:
        return f"{self.folder}/{self.base_offset:020d}{kind}{suffix}"

    @classmethod
    def create(cls, folder: str, base_offset: int, index_interval: int = 4096, *, preallocate: int = 0) -> Segment:
        """A new, empty segment. Leftovers of the same name (a roll that failed half-way) are overwritten.

        The index files come with the first flush: creating files is what costs when thousands of partitions begin.
        """
        segment = cls(folder, base_offset, index_interval)
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        segment._file = LogFile(os.open(segment.path(), flags, 0o644))
        if preallocate:
            os.posix_fallocate(segment._file.fd, 0, preallocate)
        segment._index, segment._time_index, segment._aborted = OffsetIndex(), TimeIndex(), []
        segment.warm_from = 0
        segment.created_ms = int(time.time() * 1000)
        segment.first_timestamp = segment.max_timestamp = NO_TIMESTAMP
        return segment

    # -- files

    def file(self) -> LogFile:
        """The log file, opened at the first use. Hold the result while using its descriptor."""
        self.idle = False
        file = self._file
        if file is None:
            if self.dead:
                raise FileNotFoundError(errno.ENOENT, "the segment was deleted", self.path())
            file = self._file = LogFile(os.open(self.path(), os.O_RDWR | os.O_CLOEXEC))
        return file

    def retire(self) -> None:
        """To be called before the files are renamed or replaced: from now on nothing is opened by name."""
        self.file()
        self.aborted()
        with _load_lock:
            if self._index is None or self._time_index is None:
                self._index, self._time_index = OffsetIndex(), TimeIndex()  # reads scan; there will be few
        self.dead = True

    def release(self) -> None:
        """Lets go of descriptor and indexes of a segment that is no longer written; readers keep what they hold."""
        self._file = self._index = self._time_index = self._aborted = None

    def close_file(self) -> None:
        """Lets go of the descriptor only; the next use opens it again."""
        self._file = None

    @property
    def is_open(self) -> bool:
        return self._file is not None

    def pread(self, count: int, position: int, nowait: bool) -> bytes | bytearray:
        """`nowait`: only what is in memory, possibly less than asked; BlockingIOError when nothing is."""
        global _nowait_flag
        file = self.file()
        if not nowait or position >= self.warm_from or not _nowait_flag:
            return os.pread(file.fd, count, position)
        buffer = bytearray(count)
        try:
            got = os.preadv(file.fd, [buffer], position, _nowait_flag)
        except BlockingIOError:
            raise
        except OSError as error:
            if error.errno not in _MISSING_NOWAIT:
                raise
            _nowait_flag = 0  # this file system cannot tell; better a short wait than no reads
            return os.pread(file.fd, count, position)
        del buffer[got:]
        return buffer

    # -- indexes

    def index(self, nowait: bool = False) -> OffsetIndex:
        if self._index is None:
            self._load_indexes(nowait)
        assert self._index is not None
        return self._index

    def time_index(self, nowait: bool = False) -> TimeIndex:
        if self._time_index is None:
            self._load_indexes(nowait)
        assert self._time_index is not None
        return self._time_index

    def _load_indexes(self, nowait: bool) -> None:
        if nowait and self.size > _SCAN_BYTES:
            raise BlockingIOError(errno.EAGAIN, "the index is not in memory")
        if not self.size:
            with _load_lock:
                if self._index is None or self._time_index is None:
                    self._index, self._time_index = OffsetIndex(), TimeIndex()
            return
        try:
            with open(self.path(INDEX), "rb") as file:
                index = OffsetIndex.decode(file.read(), self.size)
            with open(self.path(TIME_INDEX), "rb") as file:
                time_index = TimeIndex.decode(file.read())
        except (CorruptIndex, FileNotFoundError) as error:
            logger.warning("rebuilding the indexes of %s: %s", self.path(), error)
            self.rebuild_indexes(only_if_missing=True)
            return
        with _load_lock:
            # Two threads may have loaded at once; the first wins, since the writer may have added to it already.
            if self._index is None or self._time_index is None:
                self._persisted_entries, self._persisted_time_entries = len(index), len(time_index)
                self._index, self._time_index = index, time_index

    @property
    def is_written_to(self) -> bool:
        """Whether this process has been appending here: then the indexes in memory are the writer's own."""
        return self.warm_from < COLD

    def rebuild_indexes(self, *, only_if_missing: bool = False) -> None:
        """Reads the batches again, and writes the index files. Blocking."""
        builder = IndexBuilder(self.base_offset, self.index_interval)
        file = self.file()
        for batch in scan(file.fd, 0, self.size):
            builder.add(batch.header, batch.position)
        if self.adopt(builder, only_if_missing):
            self.persist_indexes(final=True)

    def adopt(self, builder: IndexBuilder, only_if_missing: bool = False) -> bool:
        """Takes over indexes that were built by reading the file."""
        with _load_lock:
            if only_if_missing and self._index is not None and self._time_index is not None:
                return False  # another thread was faster, and the writer may have added to its indexes already
            self._index, self._time_index = builder.index, builder.time_index
            self._persisted_entries = self._persisted_time_entries = 0
            self.max_timestamp, self.max_timestamp_offset = builder.max_timestamp, builder.max_timestamp_offset
            self.bytes_since_index = builder.bytes_since_index
        return True

    def persist_indexes(self, *, final: bool = False, sync: bool = False) -> None:
        """Brings the index files up to date. `final`: the segment is complete, its latest timestamp is entered."""
        index, time_index = self._index, self._time_index
        if index is None or time_index is None or self.dead:
            return
        if final and self.largest_timestamp() >= 0:
            time_index.append(self.largest_timestamp(), self.max_timestamp_offset - self.base_offset)
        count, time_count = len(index), len(time_index)
        _extend(
            self.path(INDEX), index.encode(self._persisted_entries, count), self._persisted_entries * OFFSET_ENTRY, sync
        )
        self._persisted_entries = count
        data = time_index.encode(self._persisted_time_entries, time_count)
        _extend(self.path(TIME_INDEX), data, self._persisted_time_entries * TIME_ENTRY, sync)
        self._persisted_time_entries = time_count
        entries = self._aborted
        if entries is not None and len(entries) != self._persisted_aborted:
            self._persisted_aborted = len(entries)
            aborted.write(self.path(TXN_INDEX), entries[: self._persisted_aborted])

    def largest_timestamp(self) -> int:
        """The latest timestamp of a record here, or -1. Looked up in the time index after a restart."""
        known = self.max_timestamp
        if known is None:
            last = self._last_time_entry()
            if last is None and self.size and self.max_timestamp is None:
                self.rebuild_indexes()  # a complete segment has an entry; this index was lost
            elif self.max_timestamp is None:
                self.max_timestamp, relative = last if last else (NO_TIMESTAMP, 0)
                self.max_timestamp_offset = self.base_offset + relative
            known = self.max_timestamp
        return NO_TIMESTAMP if known is None else known

    def _last_time_entry(self) -> tuple[int, int] | None:
        if self._time_index is None:
            try:
                with open(self.path(TIME_INDEX), "rb") as file:
                    size = file.seek(0, os.SEEK_END)
                    if size >= TIME_ENTRY and size % TIME_ENTRY == 0:
                        file.seek(size - TIME_ENTRY)
                        return TimeIndex.decode(file.read()).last()
            except (CorruptIndex, FileNotFoundError):
                pass  # loading it whole finds and mends this
        return self.time_index().last()

    def first_batch_timestamp(self) -> int:
        """The timestamp that rules rolling by time, or -1. Blocking the first time after a restart."""
        if self.first_timestamp is None:
            self.first_timestamp = NO_TIMESTAMP
            file = self.file()
            for batch in scan(file.fd, 0, self.size, _SCAN_BYTES):
                self.first_timestamp = batch.header.max_timestamp
                break
        return self.first_timestamp

    # -- the transaction index

    def aborted(self) -> list[AbortedTransaction]:
        known = self._aborted
        if known is None:
            loaded = aborted.read(self.path(TXN_INDEX))
            with _load_lock:
                if self._aborted is None:
                    self._aborted, self._persisted_aborted = loaded, len(loaded)
                known = self._aborted
        return known

    def add_aborted(self, entry: AbortedTransaction) -> None:
        """Like an index entry, it reaches the file with the next flush; recovery finds it again before that."""
        self.aborted().append(entry)

    def set_aborted(self, entries: list[AbortedTransaction]) -> None:
        self._aborted, self._persisted_aborted = entries, len(entries)
        aborted.write(self.path(TXN_INDEX), entries)

    # -- reading

    def locate(self, offset: int, size: int, nowait: bool = False) -> int | None:
        """Position of the first batch that ends at or after the offset; None: it lies beyond this segment."""
        index = self.index(nowait)
        entry = index.entry_for_offset(offset - self.base_offset) if offset >= self.base_offset else -1
        position, expected = 0, None
        if entry >= 0:
            position, expected = index.positions[entry], self.base_offset + index.offsets[entry]
        while position + HEADER_SIZE <= size:
            buffer = self.pread(min(_SCAN_BYTES, size - position), position, nowait)
            start, got = 0, len(buffer)
            if got < HEADER_SIZE:
                raise BlockingIOError(errno.EAGAIN, "the header is not in memory")
            while start + HEADER_SIZE <= got:
                base, length, magic, delta = STEP.unpack_from(buffer, start)
                if expected is not None and (base + delta != expected or magic != MAGIC):
                    if self.is_written_to:
                        # Its indexes belong to the writer; they are rebuilt after it has moved on. Scan meanwhile.
                        return self._scan_for(offset, size)
                    if nowait:
                        raise BlockingIOError(errno.EAGAIN, "the index must be rebuilt")
                    logger.warning("an entry of %s points to a wrong position; rebuilding it", self.path(INDEX))
                    self.rebuild_indexes()
                    return self.locate(offset, size)
                expected = None
                if base + delta >= offset:
                    return position + start
                start += max(length, _MIN_LENGTH) + LENGTH_OVERHEAD
            position += start
        return None

    def _scan_for(self, offset: int, size: int) -> int | None:
        for batch in self.batches(0, size):
            if batch.header.last_offset >= offset:
                return batch.position
        return None

    def read(
        self, position: int, size: int, max_bytes: int, upper_offset: int, whole_batch: bool, nowait: bool
    ) -> tuple[bytes | bytearray, int]:
        """Whole batches from `position` that end below `upper_offset`, and the offset after them."""
        want = min(max_bytes, size - position)
        if want < HEADER_SIZE:
            if not whole_batch:
                return b"", 0
            want = HEADER_SIZE
        data = self.pread(want, position, nowait)
        got = len(data)
        if got < HEADER_SIZE:
            raise BlockingIOError(errno.EAGAIN, "the header is not in memory")
        base, length, _, delta = STEP.unpack_from(data)
        if base + delta >= upper_offset:
            return b"", 0
        first_size = length + LENGTH_OVERHEAD
        if first_size > got:
            if first_size > max_bytes and not whole_batch:
                return b"", 0
            data = self.pread(first_size, position, nowait)
            if len(data) < first_size:
                raise BlockingIOError(errno.EAGAIN, "the batch is not in memory")
            return data, base + delta + 1
        end, next_offset = self._last_boundary(data, position, upper_offset)
        return (data if end == got else data[:end]), next_offset

    def _last_boundary(self, data: bytes | bytearray, position: int, upper_offset: int) -> tuple[int, int]:
        """Where the last wanted whole batch of `data` ends. The index spares stepping through all of them."""
        got, start, next_offset = len(data), 0, 0
        index = self._index
        if index is not None and got > _SCAN_BYTES:
            entry = index.entry_for_position(position + got - HEADER_SIZE)
            if upper_offset - self.base_offset < 2**31:
                entry = min(entry, index.entry_for_offset(upper_offset - self.base_offset - 1))
            if entry >= 0:
                hint = index.positions[entry] - position
                if hint > 0:
                    base, _, magic, delta = STEP.unpack_from(data, hint)
                    if base + delta == self.base_offset + index.offsets[entry] and magic == MAGIC:
                        start, next_offset = hint, base
        while start + HEADER_SIZE <= got:
            base, length, _, delta = STEP.unpack_from(data, start)
            end = start + length + LENGTH_OVERHEAD
            if end > got or base + delta >= upper_offset or length < _MIN_LENGTH:
                break
            start, next_offset = end, base + delta + 1
        return start, next_offset

    def batches(self, position: int = 0, size: int | None = None) -> Iterator[ScannedBatch]:
        """All batches from a position on. Blocking."""
        file = self.file()
        yield from scan(file.fd, position, self.size if size is None else size)

    def next_offset(self) -> int:
        """The offset after the last batch. Reads from the last index entry on."""
        if self.size == 0:
            return self.base_offset
        index = self.index() if self.size > self.index_interval else OffsetIndex()
        position = index.positions[-1] if len(index) else 0
        last = self._last_batch(position)
        if last is None and position:
            self.rebuild_indexes()
            last = self._last_batch(0)
        self.release()  # of thousands of partitions few will be used soon
        return last.header.last_offset + 1 if last else self.base_offset

    def _last_batch(self, position: int) -> ScannedBatch | None:
        last = None
        for batch in self.batches(position):
            last = batch
        return last

    # -- going away

    def rename(self, old_suffix: str, new_suffix: str) -> None:
        for kind in FILE_KINDS:
            try:
                os.rename(self.path(kind, old_suffix), self.path(kind, new_suffix))
            except FileNotFoundError:
                if kind == LOG:
                    raise


class IndexBuilder:
    """Builds both indexes from batches in order, with the rules of an append. Used by recovery and the cleaner."""

    __slots__ = (
        "base_offset",
        "bytes_since_index",
        "index",
        "interval_bytes",
        "max_timestamp",
        "max_timestamp_offset",
        "time_index",
    )

    def __init__(self, base_offset: int, interval_bytes: int) -> None:
        self.base_offset = base_offset
        self.interval_bytes = interval_bytes
        self.bytes_since_index = 0
        self.index = OffsetIndex()
        self.time_index = TimeIndex()
        self.max_timestamp = NO_TIMESTAMP
        self.max_timestamp_offset = base_offset

    def add(self, header: BatchHeader, position: int) -> None:
        last_offset = header.base_offset + header.last_offset_delta
        # A batch that compaction emptied has a timestamp but no record that bears it.
        if header.max_timestamp > self.max_timestamp and header.record_count:
            self.max_timestamp, self.max_timestamp_offset = header.max_timestamp, last_offset
        if self.bytes_since_index > self.interval_bytes:
            self.index.append(last_offset - self.base_offset, position)
            self.time_index.append(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
            self.bytes_since_index = 0
        self.bytes_since_index += header.length + LENGTH_OVERHEAD

    def finish(self) -> None:
        """Enters the latest timestamp, as a segment that is closed does."""
        self.time_index.append(self.max_timestamp, self.max_timestamp_offset - self.base_offset)


def _extend(path: str, data: bytes, position: int, sync: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        if data or os.fstat(descriptor).st_size != position:
            os.pwrite(descriptor, data, position)
            os.ftruncate(descriptor, position + len(data))
        if sync and position + len(data):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
