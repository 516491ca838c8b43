"""The folder of logs: lock, checkpoints, clean stop, deletion, housekeeping."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from uuid import uuid4

import pytest
from tests.unit.broker.log.writing import append_values, offsets, open_log, produce, read_all

from caudal.broker.log import checkpoints
from caudal.broker.log.config import LogConfig, StoreConfig
from caudal.broker.log.store import FolderInUse, LogStore, parse_folder_name

CONFIG = LogConfig(segment_bytes=1000, retention_ms=-1, file_delete_delay_ms=0)
QUICK = StoreConfig(
    retention_check_interval_ms=20,
    checkpoint_interval_ms=20,
    flush_check_interval_ms=10,
    health_check_interval_ms=20,
    cleaner_enable=False,
    producer_id_expiration_check_interval_ms=20,
)


def open_store(folder: Path, config: LogConfig = CONFIG, settings: StoreConfig = QUICK) -> LogStore:
    return LogStore.open(folder, config, lambda _: config, settings=settings)


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[LogStore]:
    store = open_store(tmp_path)
    task = asyncio.create_task(store.run())
    yield store
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await store.close()


async def until(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        await asyncio.sleep(0.01)


def is_log(descriptor: int) -> bool:
    """Checkpoints are synced too."""
    return os.readlink(f"/proc/self/fd/{descriptor}").endswith(".log")


def test_folder_names() -> None:
    assert parse_folder_name("orders-0") == ("orders", 0)
    assert parse_folder_name("a-b-12") == ("a-b", 12)
    for name in ("orders", "-3", "a-b", "orders-1.0f-delete", "a-²"):
        assert parse_folder_name(name) is None


class TestLock:
    def test_a_second_broker_is_told_who_has_the_folder(self, tmp_path: Path) -> None:
        store = open_store(tmp_path)
        with pytest.raises(FolderInUse, match=f"process {os.getpid()}"):
            open_store(tmp_path)
        store.close_blocking()
        open_store(tmp_path).close_blocking()

    def test_the_lock_of_a_dead_process_is_gone(self, tmp_path: Path) -> None:
        code = (
            "import os, sys; from pathlib import Path\n"
            "from caudal.broker.log.store import LogStore\nfrom caudal.broker.log.config import LogConfig\n"
            "LogStore.open(Path(sys.argv[1]), LogConfig(), lambda _: LogConfig()); os._exit(9)"
        )
        assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 9
        open_store(tmp_path).close_blocking()


class TestStop:
    async def test_an_orderly_stop_needs_no_recovery(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        store = open_store(tmp_path)
        for partition in range(3):
            append_values(store.create("t", partition, uuid4(), CONFIG), 30)
        store.logs["t", 1].increment_log_start(7)
        await store.close()
        assert (tmp_path / ".kafka_cleanshutdown").exists()
        assert checkpoints.read_offsets(tmp_path / checkpoints.RECOVERY_POINT) == {("t", p): 30 for p in range(3)}
        assert checkpoints.read_offsets(tmp_path / checkpoints.REPLICATION) == {("t", p): 30 for p in range(3)}
        assert checkpoints.read_offsets(tmp_path / checkpoints.LOG_START) == {("t", 1): 7}
        again = open_store(tmp_path)
        assert not (tmp_path / ".kafka_cleanshutdown").exists()
        assert {key: log.log_end_offset for key, log in again.logs.items()} == {("t", p): 30 for p in range(3)}
        assert again.logs["t", 1].log_start_offset == 7
        assert "not orderly" not in caplog.text
        again.abandon()

    async def test_a_crash_is_noticed(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level("INFO")
        store = open_store(tmp_path)
        append_values(store.create("t", 0, uuid4(), CONFIG), 30)
        store.abandon()
        again = open_store(tmp_path)
        assert "not orderly" in caplog.text
        assert offsets(read_all(again.logs["t", 0])) == list(range(30))
        again.abandon()

    async def test_the_config_of_each_topic_is_asked_for(self, tmp_path: Path) -> None:
        store = open_store(tmp_path)
        for topic in ("a", "b"):
            store.create(topic, 0, uuid4(), CONFIG)
        await store.close()
        configs = {"a": LogConfig(segment_bytes=1), "b": LogConfig(segment_bytes=2)}
        seen: list[tuple[int, int]] = []
        again = LogStore.open(tmp_path, CONFIG, configs.__getitem__, lambda done, total: seen.append((done, total)))
        assert {key[0]: log.config.segment_bytes for key, log in again.logs.items()} == {"a": 1, "b": 2}
        assert seen == [(1, 2), (2, 2)]
        again.abandon()

    async def test_closing_while_cleaning_or_twice_is_harmless(self, tmp_path: Path) -> None:
        store = open_store(tmp_path)
        await store.close()
        await store.close()


class TestTopics:
    async def test_a_new_partition_has_kafkas_files(self, tmp_path: Path) -> None:
        store = open_store(tmp_path)
        topic_id = uuid4()
        log = store.create("t", 0, topic_id, CONFIG)
        assert sorted(os.listdir(log.folder)) == ["00000000000000000000.log", "partition.metadata"]
        append_values(log, 1)
        await store.flush(log)
        assert sorted(os.listdir(log.folder)) == [
            "00000000000000000000.index",
            "00000000000000000000.log",
            "00000000000000000000.timeindex",
            "leader-epoch-checkpoint",
            "partition.metadata",
        ]
        assert store.topic_id("t", 0) == topic_id
        assert store.create("t", 0, topic_id, CONFIG) is log
        await store.close()

    async def test_a_deleted_partition_is_renamed_at_once_and_removed_later(self, running: LogStore) -> None:
        log = running.create("t", 0, uuid4(), LogConfig(file_delete_delay_ms=10**9))
        append_values(log, 3)
        running.delete("t", 0)
        assert ("t", 0) not in running.logs
        (name,) = [name for name in os.listdir(running.folder) if name.endswith("-delete")]
        assert name.startswith("t-0.") and parse_folder_name(name) is None
        assert running.create("t", 0, uuid4(), CONFIG).log_end_offset == 0  # the name is free
        await asyncio.sleep(0.05)
        assert (running.folder / name).exists()
        await running.unlink_doomed(2**62)
        assert not (running.folder / name).exists()

    async def test_what_a_crash_left_of_a_deletion_is_removed(self, tmp_path: Path) -> None:
        (tmp_path / "t-0.0123-delete").mkdir(parents=True)
        store = open_store(tmp_path)
        await store.unlink_doomed()
        assert not (tmp_path / "t-0.0123-delete").exists()
        assert store.logs == {}
        await store.close()

    async def test_a_very_long_topic_name_can_be_deleted(self, tmp_path: Path) -> None:
        store = open_store(tmp_path)
        store.create("x" * 249, 0, uuid4(), CONFIG)
        store.delete("x" * 249, 0)
        assert not [name for name in os.listdir(tmp_path) if parse_folder_name(name)]
        await store.close()


class TestHousekeeping:
    async def test_retention_respects_the_high_watermark(self, running: LogStore) -> None:
        running.high_watermark_of = lambda _: 12
        log = running.create("t", 0, uuid4(), LogConfig(segment_bytes=500, retention_ms=1, file_delete_delay_ms=0))
        append_values(log, 30)  # timestamps of 1970
        await until(lambda: log.log_start_offset > 0)
        assert 0 < log.log_start_offset <= 12
        await until(lambda: not [name for name in os.listdir(log.folder) if name.endswith(".deleted")])

    async def test_rolled_segments_are_flushed_soon(self, running: LogStore) -> None:
        log = running.create("t", 0, uuid4(), CONFIG)
        append_values(log, 60)
        await until(lambda: log.recovery_point >= log.active.base_offset)
        path = running.folder / checkpoints.RECOVERY_POINT
        await until(lambda: checkpoints.read_offsets(path).get(("t", 0), 0) >= log.active.base_offset)

    async def test_flush_ms(self, running: LogStore) -> None:
        lazy = running.create("lazy", 0, uuid4(), CONFIG)
        prompt = running.create("prompt", 0, uuid4(), LogConfig(flush_ms=30))
        append_values(lazy, 3)
        append_values(prompt, 3)
        await until(lambda: prompt.recovery_point == 3)
        assert lazy.recovery_point == 0

    async def test_flush_messages_in_the_background(self, running: LogStore) -> None:
        log = running.create("t", 0, uuid4(), LogConfig(flush_messages=3, retention_ms=-1))
        append_values(log, 3)
        await until(lambda: log.recovery_point == 3)

    async def test_flush_messages_holds_for_what_comes_during_a_flush(
        self, running: LogStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With acks=0 nobody asks for it: the producer may be silent from then on."""
        log = running.create("t", 0, uuid4(), LogConfig(flush_messages=3, retention_ms=-1))
        syncing, go_on = threading.Event(), threading.Event()
        real = os.fsync

        def slow(fd: int) -> None:
            if is_log(fd):
                syncing.set()
                go_on.wait(60)
            real(fd)

        monkeypatch.setattr(os, "fsync", slow)
        append_values(log, 3)
        await until(syncing.is_set)
        append_values(log, 4)
        go_on.set()
        await until(lambda: log.recovery_point == 7)

    async def test_flush_messages_after_a_flush_that_failed(
        self, running: LogStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log = running.create("t", 0, uuid4(), LogConfig(flush_messages=1, retention_ms=-1))
        failed: list[int] = []
        real = os.fsync

        def full(fd: int) -> None:
            if is_log(fd):
                failed.append(fd)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(fd)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            append_values(log, 1)
            await until(lambda: failed and not running._flushes)
        append_values(log, 1)
        await until(lambda: log.recovery_point == 2)

    async def test_flushes_at_the_same_time_share_the_work(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        running = open_store(tmp_path)
        log = running.create("t", 0, uuid4(), LogConfig())
        append_values(log, 2)
        await running.flush(log)  # with the files that come but once
        append_values(log, 1)
        calls: list[int] = []
        go_on = threading.Event()
        real = os.fsync

        def slow(fd: int) -> None:
            calls.append(fd)
            go_on.wait(60)
            real(fd)

        monkeypatch.setattr(os, "fsync", slow)
        first = asyncio.ensure_future(running.flush(log))
        await until(lambda: calls)
        append_values(log, 1)
        others = [asyncio.ensure_future(running.flush(log)) for _ in range(20)]
        cancelled = others.pop()
        await asyncio.sleep(0)
        cancelled.cancel()
        go_on.set()
        await first
        await asyncio.gather(*others)
        monkeypatch.undo()
        assert log.recovery_point == 4
        assert len(calls) == 2
        await running.close()

    async def test_silent_producers_are_forgotten(self, running: LogStore) -> None:
        log = running.create("t", 0, uuid4(), CONFIG)
        produce(log, 5, 0, (None, b"x"))
        await until(lambda: len(log.producers) == 0)

    async def test_a_deleted_folder_takes_one_log_offline_and_the_rest_lives(self, running: LogStore) -> None:
        gone, other = (running.create(topic, 0, uuid4(), CONFIG) for topic in ("gone", "other"))
        failures: list[object] = []
        running.on_failure = lambda log, _: failures.append(log)
        append_values(gone, 3)
        shutil.rmtree(gone.folder)
        await until(lambda: failures)
        assert failures == [gone] and gone.failure is not None
        append_values(other, 3)
        await running.flush(other)
        assert other.recovery_point == 3

    async def test_a_deleted_data_folder_is_one_line(self, running: LogStore, caplog: pytest.LogCaptureFixture) -> None:
        logs = [running.create("t", partition, uuid4(), CONFIG) for partition in range(5)]
        shutil.rmtree(running.folder)
        await until(lambda: running.failure and all(log.failure for log in logs))
        assert len([record for record in caplog.records if record.levelname == "ERROR"]) == 1

    async def test_new_settings_count_from_the_next_turn(self, running: LogStore) -> None:
        running.settings = StoreConfig(checkpoint_interval_ms=10**18, flush_check_interval_ms=10)
        log = running.create("t", 0, uuid4(), LogConfig(flush_ms=1))
        await asyncio.sleep(0.1)
        append_values(log, 1)
        await until(lambda: log.recovery_point == 1)
        assert checkpoints.read_offsets(running.folder / checkpoints.RECOVERY_POINT).get(("t", 0), 0) == 0

    async def test_after_a_failure_the_stop_does_not_count_as_orderly(self, tmp_path: Path) -> None:
        store = open_store(tmp_path)
        log = store.create("t", 0, uuid4(), CONFIG)
        append_values(log, 1)
        shutil.rmtree(log.folder)
        log.check_files()
        await store.close()
        assert not (tmp_path / ".kafka_cleanshutdown").exists()

    async def test_descriptors_of_idle_segments_are_let_go(self, running: LogStore) -> None:
        log = running.create("t", 0, uuid4(), CONFIG)
        append_values(log, 60)
        await running.flush(log)
        read_all(log)
        assert any(segment.is_open for segment in log.segments[:-1])
        await until(lambda: not any(segment.is_open for segment in log.segments[:-1]))
        assert offsets(read_all(log)) == list(range(60))


def test_a_full_file_system_refuses_and_recovers(tmp_path: Path) -> None:
    """On a real, tiny file system where mounting is allowed."""
    mount = tmp_path / "tiny"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(mount)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        log = open_log(mount, LogConfig())
        with pytest.raises(OSError, match="No space left"):
            append_values(log, 1000, size=1000)
        end = log.log_end_offset
        assert offsets(read_all(log)) == list(range(end))
        subprocess.run(["mount", "-o", "remount,size=2m", str(mount)], check=True)
        append_values(log, 100, size=1000)
        assert offsets(read_all(log)) == list(range(end + 100))
        copy = shutil.copytree(log.folder, tmp_path / "t-0")
        log.close()
        again = open_log(copy.parent, LogConfig())
        assert again.log_end_offset == end + 100
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=False)
