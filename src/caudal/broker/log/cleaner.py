"""Compaction, the broker's side: which log is dirtiest, which offsets may be cleaned, and putting the result in place.

The records themselves are read and copied by cleaner_process.py in a process of its own: a Python loop over records
would hold up every request. It leaves `.cleaned` files; the swap is a few renames in the event loop. The rules (dirty
ratio, compaction lags, never the active segment, never past the last stable offset) are Kafka's. One log at a time.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from caudal.broker.log import checkpoints
from caudal.broker.log.config import FOREVER
from caudal.broker.log.log import Log
from caudal.broker.log.segment import CLEANED, FILE_KINDS, Segment

if TYPE_CHECKING:
    from caudal.broker.log.store import LogStore

logger = logging.getLogger(__name__)

TopicPartition = tuple[str, int]
_RETRY_AFTER_ERROR_S = 600.0


class CleaningFailed(Exception):
    """The cleaner process could not clean a log."""


class DirtyLog(NamedTuple):
    key: TopicPartition
    log: Log
    first_dirty: int
    upper: int  # base offset of the first segment that must not be cleaned
    clean_bytes: int
    dirty_bytes: int
    overdue: bool  # max.compaction.lag.ms has passed

    @property
    def ratio(self) -> float:
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0


class Cleaner:
    def __init__(self, store: LogStore) -> None:
        self._store = store
        self._first_dirty: dict[TopicPartition, int] = {}
        self._failed: dict[TopicPartition, float] = {}
        self._cleaning: TopicPartition | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="caudal-cleaner")
        self._stopped = False
        self.cleaned_logs = 0  # counters for metrics
        self.cleaned_bytes = 0

    # -- choosing

    def load_checkpoint(self) -> None:
        self._first_dirty = checkpoints.read_offsets(self._checkpoint_path)

    @property
    def _checkpoint_path(self) -> Path:
        return self._store.folder / checkpoints.CLEANER

    def is_cleaning(self, key: TopicPartition) -> bool:
        return self._cleaning == key

    def forget(self, key: TopicPartition) -> None:
        """The log is being deleted: an ongoing cleaning of it is broken off."""
        self._first_dirty.pop(key, None)
        self._failed.pop(key, None)
        if self._cleaning == key:
            self.kill()

    def choose(self, now_ms: int) -> DirtyLog | None:
        """The dirtiest log that is due. May read old segments' timestamps: blocking."""
        due = [
            dirty
            for key, log in list(self._store.logs.items())
            if log.config.compact and log.failure is None and not log.closed and not self._is_failed(key)
            for dirty in [self.measure(key, log, now_ms)]
            if dirty.dirty_bytes > 0 and (dirty.overdue or dirty.ratio > log.config.min_cleanable_dirty_ratio)
        ]
        return max(due, key=lambda dirty: dirty.ratio, default=None)

    def _is_failed(self, key: TopicPartition) -> bool:
        return time.monotonic() - self._failed.get(key, float("-inf")) < _RETRY_AFTER_ERROR_S

    def measure(self, key: TopicPartition, log: Log, now_ms: int) -> DirtyLog:
        """What of a log could be cleaned now."""
        segments, config = log.segments, log.config
        first_dirty = self._first_dirty.get(key, log.log_start_offset)
        if not log.log_start_offset <= first_dirty <= log.log_end_offset:
            first_dirty = log.log_start_offset
        limit = min(self._store.last_stable_offset_of(key), segments[-1].base_offset)
        dirty_segments = [s for s in _from_offset(segments, first_dirty) if s is not segments[-1]]
        if config.min_compaction_lag_ms > 0:
            for segment in dirty_segments:
                if segment.largest_timestamp() > now_ms - config.min_compaction_lag_ms:
                    limit = min(limit, segment.base_offset)
                    break
        limit = max(limit, first_dirty)
        # Segments are cleaned whole: the limit moves down to the base of the segment that it lies in.
        upper = next((s.base_offset for s in reversed(segments) if s.base_offset <= limit), segments[0].base_offset)
        overdue = False
        if config.max_compaction_lag_ms < FOREVER:
            stamps = [s.first_batch_timestamp() for s in dirty_segments]
            earliest = min((stamp for stamp in stamps if stamp > 0), default=FOREVER)
            overdue = earliest < now_ms - max(config.max_compaction_lag_ms, 0)
        return DirtyLog(
            key,
            log,
            first_dirty,
            upper,
            sum(s.size for s in segments if s.base_offset < first_dirty),
            sum(s.size for s in _from_offset(segments, first_dirty) if s.base_offset < upper),
            overdue,
        )

    # -- cleaning

    async def clean_all(self) -> int:
        """Cleans logs until none is due; how many."""
        loop = asyncio.get_running_loop()
        count = 0
        try:
            while not self._stopped:
                dirty = await loop.run_in_executor(self._thread, self.choose, _now_ms())
                if dirty is None:
                    break
                try:
                    await self.clean(dirty)
                    count += 1
                except (CleaningFailed, OSError) as error:
                    if dirty.key in self._store.logs and not self._stopped:
                        self._failed[dirty.key] = time.monotonic()
                        logger.error("compaction of %s-%d failed: %s", *dirty.key, error)
        finally:
            self._end_process()
        return count

    async def clean(self, dirty: DirtyLog, now_ms: int | None = None) -> int:
        """Cleans one log; the offset up to which it is clean now."""
        log, now = dirty.log, _now_ms() if now_ms is None else now_ms
        await self._store.flush(log)
        self._cleaning = dirty.key
        generation = log.generation
        try:
            request = self._request(dirty, now)
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(self._thread, self._ask, request)
            if log.closed or log.failure is not None or log.generation != generation:
                _remove_cleaned(log)
                raise CleaningFailed("the log was closed or truncated meanwhile")
            for item in answer["replacements"]:
                log.replace_segments(item["base"], item["sources"], now_ms=now)
        finally:
            self._cleaning = None
        end = int(answer["end_offset"])
        self._first_dirty[dirty.key] = end
        await loop.run_in_executor(self._thread, self._write_checkpoint)
        self.cleaned_logs += 1
        self.cleaned_bytes += answer["bytes_read"]
        logger.info(
            "compacted %s-%d up to offset %d: %d of %d bytes kept, %d of %d records",
            *dirty.key,
            end,
            answer["bytes_kept"],
            answer["bytes_read"],
            answer["records_kept"],
            answer["records_read"],
        )
        return end

    def _request(self, dirty: DirtyLog, now_ms: int) -> dict[str, Any]:
        log, config = dirty.log, dirty.log.config
        segments = [segment for segment in log.segments if segment.base_offset < dirty.upper]
        aborted = [entry for segment in log.segments for entry in segment.aborted() if entry.first_offset < dirty.upper]
        return {
            "folder": log.folder,
            "segments": [[segment.base_offset, segment.size] for segment in segments],
            "first_dirty": dirty.first_dirty,
            "upper": dirty.upper,
            "now_ms": now_ms,
            "delete_retention_ms": config.delete_retention_ms,
            "segment_bytes": config.segment_bytes,
            "segment_index_bytes": config.segment_index_bytes,
            "index_interval_bytes": config.index_interval_bytes,
            "dedupe_bytes": self._store.settings.cleaner_dedupe_buffer_bytes,
            "io_bytes_per_second": min(self._store.settings.cleaner_io_max_bytes_per_second, 1e18),
            "aborted": aborted,
            "producers": [[p.producer_id, p.last_data_offset, p.epoch] for p in log.producers.entries()],
        }

    def _write_checkpoint(self) -> None:
        known = {key: offset for key, offset in list(self._first_dirty.items()) if key in self._store.logs}
        checkpoints.write_offsets(self._checkpoint_path, known)

    # -- the process

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """One request and its answer; blocking, in the cleaner's thread."""
        process = self._process
        if process is None or process.poll() is not None:
            process = self._process = _start_process()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except (OSError, ValueError) as error:
            raise CleaningFailed(f"the cleaner process is gone: {error}") from error
        if not line:
            raise CleaningFailed("the cleaner process ended without an answer")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise CleaningFailed(answer["error"])
        return answer

    def _end_process(self) -> None:
        """Without work the process goes, and its memory with it."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.close()
        except OSError:
            pass
        self._thread.submit(_reap, process)

    def kill(self) -> None:
        """Breaks off what the process is doing."""
        process = self._process
        if process is not None and process.poll() is None:
            process.kill()

    async def stop(self) -> None:
        self._stopped = True
        self.kill()
        self._end_process()
        await asyncio.get_running_loop().run_in_executor(None, self._thread.shutdown)


def _start_process() -> subprocess.Popen[bytes]:
    root = str(Path(__file__).resolve().parents[3])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        [sys.executable, "-m", "caudal.broker.log.cleaner_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C in the terminal is for the broker to handle
    )


def _reap(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _from_offset(segments: Sequence[Segment], offset: int) -> list[Segment]:
    """The segments from the one that holds the offset on."""
    first = max((i for i, segment in enumerate(segments) if segment.base_offset <= offset), default=0)
    return list(segments[first:])


def _remove_cleaned(log: Log) -> None:
    try:
        names = os.listdir(log.folder)
    except FileNotFoundError:
        return
    for name in names:
        if name.endswith(tuple(kind + CLEANED for kind in FILE_KINDS)):
            os.unlink(os.path.join(log.folder, name))


def _now_ms() -> int:
    return int(time.time() * 1000)
