"""All logs of one data folder: opening, creating, deleting, and the housekeeping that goes on beside the requests.

One process owns a folder (`.lock`, flock). Housekeeping runs as one task of the event loop that hands everything that
may wait for the disk to threads, and compaction to a separate process (cleaner.py): retention, flushes, checkpoints,
unlinking of deleted files, expiry of producers, and a look whether the files are still there.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import logging
import os
import resource
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from caudal.broker.log import checkpoints
from caudal.broker.log.cleaner import Cleaner
from caudal.broker.log.config import FOREVER, LogConfig, StoreConfig
from caudal.broker.log.log import Log

logger = logging.getLogger(__name__)

LOCK_FILE = ".lock"
DELETE_SUFFIX = "-delete"
TopicPartition = tuple[str, int]
_MAX_FOLDER_NAME = 255
_IO_THREADS = 4
_CLOSE_THREADS = 16
_LONGEST_SLEEP_S = 86_400.0
_YIELD_EVERY = 100  # logs looked at before the event loop gets its turn


class FolderInUse(RuntimeError):
    """Another process has the data folder open."""


class LogStore:
    def __init__(self, folder: Path, defaults: LogConfig, settings: StoreConfig, lock: int) -> None:
        self.folder = folder
        self.defaults = defaults
        self.settings = settings
        self.logs: dict[TopicPartition, Log] = {}
        self.failure: OSError | None = None  # of the folder as a whole
        self.on_failure: Callable[[Log | None, OSError], None] | None = None
        # Set by the broker. Until then: everything in the log is confirmed and decided.
        self.high_watermark_of: Callable[[TopicPartition], int] = self._end_of
        self.last_stable_offset_of: Callable[[TopicPartition], int] = self._stable_end_of
        self.cleaner = Cleaner(self)
        self._lock = lock
        self._threads = ThreadPoolExecutor(_IO_THREADS, thread_name_prefix="caudal-log")
        self._doomed_folders: list[tuple[int, Path]] = []
        self._wake: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wanting_flush: set[Log] = set()
        self._flushes: dict[Log, asyncio.Future[None]] = {}
        self._closed = False

    # -- opening and closing

    @classmethod
    def open(
        cls,
        folder: Path,
        defaults: LogConfig,
        config_for: Callable[[str], LogConfig],
        on_progress: Callable[[int, int], None] | None = None,
        *,
        settings: StoreConfig | None = None,
        lock: int | None = None,
    ) -> LogStore:
        """Locks the folder (unless the caller has: `take_lock`) and loads every log in it; `on_progress(done, total)`.

        Blocking. A lock that the caller took is released by the store's closing, but not by an error here.
        """
        ours = lock is None
        if lock is None:
            lock = take_lock(folder)
        try:
            _raise_open_files_limit()
            store = cls(folder, defaults, settings or StoreConfig(), lock)
            store._load(config_for, on_progress)
        except BaseException:
            if ours:
                os.close(lock)
            raise
        return store

    def _load(self, config_for: Callable[[str], LogConfig], on_progress: Callable[[int, int], None] | None) -> None:
        clean = checkpoints.take_clean_shutdown(self.folder)
        recovery_points = checkpoints.read_offsets(self.folder / checkpoints.RECOVERY_POINT)
        log_starts = checkpoints.read_offsets(self.folder / checkpoints.LOG_START)
        self.cleaner.load_checkpoint()
        found: list[tuple[str, TopicPartition]] = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if not entry.is_dir():
                    continue
                if entry.name.endswith(DELETE_SUFFIX):
                    self._doomed_folders.append((0, Path(entry.path)))
                elif (key := parse_folder_name(entry.name)) is not None:
                    found.append((entry.path, key))
        if found and not clean:
            logger.info("the last stop of %s was not orderly; checking %d logs", self.folder, len(found))
        for number, (path, key) in enumerate(sorted(found, key=lambda item: item[1]), 1):
            log = Log.open(
                path,
                *key,
                config_for(key[0]),
                recovery_point=recovery_points.get(key, 0),
                log_start_offset=log_starts.get(key, 0),
                clean=clean,
            )
            self._add(log)
            if on_progress is not None:
                on_progress(number, len(found))

    def _add(self, log: Log) -> None:
        log.on_flush_wanted = self._flush_soon
        log.on_failure = self._log_failed
        self.logs[log.topic, log.partition] = log

    async def close(self) -> None:
        """An orderly stop: everything flushed, checkpoints and the clean-shutdown marker written, folder unlocked."""
        if self._closed:
            return
        self._closed = True
        await self.cleaner.stop()
        await asyncio.gather(*self._flushes.values(), return_exceptions=True)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self.close_blocking)

    def close_blocking(self) -> None:
        """What `close` does, for callers without an event loop."""
        self._closed = True
        orderly = True
        self._threads.shutdown(wait=True)
        # Many at once: the syncs of one file system share their journal commits.
        with ThreadPoolExecutor(_CLOSE_THREADS, thread_name_prefix="caudal-close") as threads:
            for error in threads.map(_close_log, list(self.logs.values())):
                orderly = orderly and error is None
        try:
            self._write_checkpoints()
            if orderly and self.failure is None:
                checkpoints.write_clean_shutdown(self.folder)
        except OSError as error:
            logger.error("could not write the checkpoints of %s: %s", self.folder, error)
        os.close(self._lock)

    def abandon(self) -> None:
        """Lets go of everything without writing: for tests that play a crash in the same process."""
        self._closed = True
        self.cleaner.kill()
        for log in list(self.logs.values()):
            log.abandon()
        self._threads.shutdown(wait=True)
        os.close(self._lock)

    # -- topics come and go

    def create(self, topic: str, partition: int, topic_id: UUID, config: LogConfig) -> Log:
        """The log of a new partition; an existing one is returned as it is."""
        existing = self.logs.get((topic, partition))
        if existing is not None:
            return existing
        path = self.folder / f"{topic}-{partition}"
        path.mkdir(exist_ok=True)
        checkpoints.write_partition_metadata(path, topic_id)
        log = Log.open(path, topic, partition, config)
        self._add(log)
        return log

    def delete(self, topic: str, partition: int) -> None:
        """Takes the log away at once; its files are unlinked after file.delete.delay.ms."""
        key = (topic, partition)
        log = self.logs.pop(key, None)
        if log is None:
            return
        self.cleaner.forget(key)
        self._wanting_flush.discard(log)
        log.abandon()
        target = self.folder / _delete_name(topic, partition)
        try:
            os.rename(log.folder, target)
        except OSError as error:
            logger.warning("could not rename the folder of deleted %s-%d: %s", topic, partition, error)
            return
        self._doomed_folders.append((_now_ms() + log.config.file_delete_delay_ms, target))

    def topic_id(self, topic: str, partition: int) -> UUID | None:
        """The id in the partition's folder."""
        log = self.logs.get((topic, partition))
        return checkpoints.read_partition_metadata(log.folder) if log else None

    # -- flushing

    def flush(self, log: Log) -> Awaitable[None]:
        """Makes the log durable up to its present end. Callers at the same time share one fsync."""
        current = self._flushes.get(log)
        if current is not None:
            # The one under way may have begun before our append: the next one is ours.
            return self._flush_after(current, log)
        future = asyncio.ensure_future(self._in_thread(log.flush))
        self._flushes[log] = future
        future.add_done_callback(lambda done: self._flush_done(log, done))
        return asyncio.shield(future)  # a caller that is cancelled must not take the others' flush with it

    def _flush_done(self, log: Log, done: asyncio.Future[None]) -> None:
        self._flushes.pop(log, None)
        # The exception is taken note of: whoever waits gets it, and nobody may.
        if not done.cancelled() and done.exception() is None and log.flush_due and not log.closed:
            self._flush_soon(log)  # appended while this flush ran, perhaps with acks=0: nobody else asks for them

    async def _flush_after(self, current: asyncio.Future[None], log: Log) -> None:
        await asyncio.wait([current])
        end = log.log_end_offset
        while log.recovery_point < end and log.failure is None and not log.closed:
            await self.flush(log)
        if log.recovery_point < end:  # the caller is about to say that it is on the disk
            raise log.failure or OSError(errno.EIO, f"{log.topic}-{log.partition} was closed before it was flushed")

    def _flush_soon(self, log: Log) -> None:
        self._wanting_flush.add(log)
        if self._wake is not None:
            self._wake.set()

    def _log_failed(self, log: Log, error: OSError) -> None:
        """Called in whichever thread noticed."""
        callback = self.on_failure
        if callback is None:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(callback, log, error)
        else:
            callback(log, error)

    # -- housekeeping

    async def run(self) -> None:
        """Runs until cancelled. A job that fails is logged and tried again at its next turn."""
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        jobs: list[tuple[str, Callable[[], Awaitable[Any]]]] = [
            ("flush_check_interval_ms", self._flush_overdue),
            ("health_check_interval_ms", self._look_after_files),
            ("retention_check_interval_ms", self.apply_retention),
            ("checkpoint_interval_ms", self.checkpoint),
            ("producer_id_expiration_check_interval_ms", self._expire_producers),
            ("cleaner_backoff_ms", self._clean),
        ]
        tasks = [asyncio.create_task(self._every(interval, job)) for interval, job in jobs]
        tasks.append(asyncio.create_task(self._flush_wanted()))
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _every(self, interval: str, job: Callable[[], Awaitable[Any]]) -> None:
        while True:
            # Looked up each time: `settings` may be replaced while we run.
            await asyncio.sleep(min(getattr(self.settings, interval) / 1000, _LONGEST_SLEEP_S))
            try:
                await job()
            except Exception:
                logger.exception("housekeeping of %s failed", self.folder)

    async def _clean(self) -> None:
        if self.settings.cleaner_enable:
            await self.cleaner.clean_all()

    async def _flush_wanted(self) -> None:
        """Rolled segments and logs over their flush.messages, as they come."""
        assert self._wake is not None
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._wanting_flush:
                await self._flush_quietly(self._wanting_flush.pop())

    async def _flush_quietly(self, log: Log) -> None:
        try:
            await self.flush(log)
        except OSError as error:
            if log.failure is None and not log.closed:
                logger.warning("could not flush %s-%d: %s", log.topic, log.partition, error)

    async def _flush_overdue(self) -> None:
        """flush.ms, and the rolled segments of a crash that nobody has flushed since."""
        now = _now_ms()
        for log in list(self.logs.values()):
            overdue = log.config.flush_ms < FOREVER and now - log.last_flush_ms >= log.config.flush_ms
            behind = log.recovery_point < log.active.base_offset
            if log.recovery_point < log.log_end_offset and (overdue or behind):
                await self._flush_quietly(log)

    async def _look_after_files(self) -> None:
        logs = [log for log in list(self.logs.values()) if log.failure is None]
        for log in logs:
            log.settle()
        await self._in_thread(self._check_files, logs)
        await self.unlink_doomed()

    def _check_files(self, logs: list[Log]) -> None:
        try:
            os.stat(self.folder)
        except OSError as error:
            self._folder_failed(error)
            for log in logs:
                log.fail(error, quiet=True)
            return
        for log in logs:
            log.check_files()

    def _folder_failed(self, error: OSError) -> None:
        if self.failure is None:
            self.failure = error
            logger.error("the data folder %s is gone, all its partitions are offline: %s", self.folder, error)
            if self.on_failure is not None:
                self.on_failure(None, error)

    async def apply_retention(self) -> int:
        """Deletes what retention allows to delete; how many segments went."""
        count, now = 0, _now_ms()
        logs = [log for log in list(self.logs.values()) if log.failure is None]
        # Timestamps of old segments come from their time indexes: read in a thread, so that the loop never waits.
        await self._in_thread(_load_timestamps, logs, now)
        for number, log in enumerate(logs):
            key = (log.topic, log.partition)
            if number % _YIELD_EVERY == 0:
                await asyncio.sleep(0)
            if log.closed or self.cleaner.is_cleaning(key):
                continue
            try:
                count += log.delete_old_segments(now, self.high_watermark_of(key))
            except OSError as error:
                logger.warning("retention of %s-%d failed: %s", log.topic, log.partition, error)
        return count

    async def unlink_doomed(self, now_ms: int | None = None) -> None:
        """Unlinks files and folders whose time has come."""
        now = _now_ms() if now_ms is None else now_ms
        files: list[str] = []
        for log in list(self.logs.values()):
            if log.doomed:
                files += [path for when, path in log.doomed if when <= now]
                log.doomed = [item for item in log.doomed if item[0] > now]
        folders = [path for when, path in self._doomed_folders if when <= now]
        self._doomed_folders = [item for item in self._doomed_folders if item[0] > now]
        if files or folders:
            await self._in_thread(_unlink, files, folders)

    async def checkpoint(self) -> None:
        """Writes the checkpoint files; recovery after a crash begins there."""
        await self._in_thread(self._write_checkpoints)

    def _write_checkpoints(self) -> None:
        recovery_points, starts, high_watermarks = {}, {}, {}
        for key, log in list(self.logs.items()):
            try:
                high_watermarks[key] = log.log_end_offset if log.closed else self.high_watermark_of(key)
            except KeyError:
                continue  # deleted this moment
            recovery_points[key] = log.recovery_point
            if log.log_start_offset > log.segments[0].base_offset:
                starts[key] = log.log_start_offset
        try:
            checkpoints.write_offsets(self.folder / checkpoints.RECOVERY_POINT, recovery_points)
            checkpoints.write_offsets(self.folder / checkpoints.LOG_START, starts)
            checkpoints.write_offsets(self.folder / checkpoints.REPLICATION, high_watermarks)
        except FileNotFoundError as error:
            self._folder_failed(error)

    async def _expire_producers(self) -> None:
        now = _now_ms()
        for log in list(self.logs.values()):
            log.producers.expire(now, self.settings.producer_id_expiration_ms)

    def _in_thread(self, function: Callable[..., Any], *args: Any) -> Awaitable[Any]:
        return asyncio.get_running_loop().run_in_executor(self._threads, function, *args)

    def _end_of(self, key: TopicPartition) -> int:
        return self.logs[key].log_end_offset

    def _stable_end_of(self, key: TopicPartition) -> int:
        unstable = self.logs[key].producers.first_unstable_offset()
        end = self.high_watermark_of(key)
        return end if unstable is None else min(unstable, end)


# -- the folder


def parse_folder_name(name: str) -> TopicPartition | None:
    """`topic-3` → ("topic", 3); None for folders that are no partition."""
    topic, dash, number = name.rpartition("-")
    if not dash or not topic or not number.isdecimal() or not number.isascii():
        return None
    return topic, int(number)


def _delete_name(topic: str, partition: int) -> str:
    suffix = f"-{partition}.{uuid4().hex}{DELETE_SUFFIX}"
    return topic[: _MAX_FOLDER_NAME - len(suffix)] + suffix


def take_lock(folder: Path) -> int:
    """The descriptor that holds the folder for this process; FolderInUse says who has it otherwise."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(descriptor, 64, 0).decode(errors="replace").strip()
        os.close(descriptor)
        who = f"process {holder}" if holder else "another process"
        raise FolderInUse(f"the data folder {folder} is in use by {who}; stop it or choose another folder") from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def _raise_open_files_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard or soft < 0:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError) as error:
            logger.warning("could not raise the limit of open files from %d to %d: %s", soft, hard, error)


def _close_log(log: Log) -> OSError | None:
    try:
        log.close()
    except OSError as error:
        logger.error("closing %s-%d: %s", log.topic, log.partition, error)
        return error
    return log.failure


def _load_timestamps(logs: list[Log], now_ms: int) -> None:
    for log in logs:
        try:
            log.load_timestamps(now_ms)
        except OSError as error:
            if not log.closed:
                logger.warning("reading the timestamps of %s-%d: %s", log.topic, log.partition, error)


def _unlink(files: list[str], folders: list[Path]) -> None:
    for path in files:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _now_ms() -> int:
    return int(time.time() * 1000)


def iter_partition_folders(folder: Path) -> Iterator[tuple[Path, TopicPartition]]:
    """The partition folders of a data folder, without opening it: for tools that look at a stopped broker's files."""
    for path in sorted(folder.iterdir()):
        key = parse_folder_name(path.name)
        if key is not None and path.is_dir():
            yield path, key
