"""One log: appending, rolling, reading, time look-ups, retention, truncation."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.unit.broker.log.writing import (
    append,
    append_values,
    end_transaction,
    file_names,
    offsets,
    open_log,
    produce,
    read_all,
)

from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.log import segment as segment_module
from caudal.broker.log.config import LogConfig
from caudal.broker.log.log import Log
from caudal.broker.wire.batch import Record, iter_batches

SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=100, file_delete_delay_ms=0)


class TestAppendAndRead:
    def test_what_is_written_is_read_back(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig())
        append(log, (b"k", b"v1"), (None, None))
        append(log, (b"k", b"v2"))
        assert read_all(log) == [
            Record(0, 1000, b"k", b"v1"),
            Record(1, 1001, None, None),
            Record(2, 1000, b"k", b"v2"),
        ]
        assert log.log_end_offset == 3
        assert log.size == os.path.getsize(log.active.path())

    def test_the_end_reads_empty(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig())
        assert log.read(0, 1000, 0) == b""
        append_values(log, 2)
        assert log.read(2, 1000, 2) == b""

    def test_a_read_ends_at_a_batch_boundary(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(index_interval_bytes=100))
        append_values(log, 300)
        size = len(log.read(0, 1, 300, whole_batch=True))
        for max_bytes in (size, size + 1, 2 * size - 1, 250 * size + 7, 10**6):
            data = log.read(0, max_bytes, 300)
            assert len(data) == min(max_bytes // size, 300) * size
            assert [header.base_offset for _, header in iter_batches(data)] == list(range(len(data) // size))

    def test_a_batch_larger_than_the_limit_comes_only_when_asked_for_whole(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig())
        append(log, (None, b"x" * 5000))
        assert log.read(0, 100, 1) == b""
        assert log.read(0, 10, 1) == b""
        assert len(log.read(0, 100, 1, whole_batch=True)) > 5000
        assert len(log.read(0, 0, 1, whole_batch=True)) > 5000

    def test_nothing_at_or_above_the_upper_offset(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(index_interval_bytes=100))
        for _ in range(200):
            append(log, (None, b"1"), (None, b"2"))
        for upper in (0, 1, 2, 3, 4, 101, 398, 399, 400):
            data = log.read(0, 10**6, upper)
            assert sum(header.record_count for _, header in iter_batches(data)) == upper // 2 * 2

    def test_an_offset_inside_a_batch_gives_that_batch(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig())
        append(log, (None, b"0"), (None, b"1"), (None, b"2"))
        append(log, (None, b"3"))
        assert [header.base_offset for _, header in iter_batches(log.read(2, 1000, 4))] == [0, 3]

    def test_consumers_that_read_on_are_found_where_they_stopped(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, SMALL)
        append_values(log, 50)
        assert offsets(read_all(log, max_bytes=200)) == list(range(50))
        append_values(log, 50)
        assert offsets(read_all(log, start=50, max_bytes=200)) == list(range(50, 100))

    def test_a_reader_at_the_end_goes_on_over_a_roll(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig())
        append_values(log, 3)
        assert log.read(0, 10**6, 3)  # remembers offset 3 at the end of the segment
        log.roll()
        append_values(log, 2)
        assert [header.base_offset for _, header in iter_batches(log.read(3, 10**6, 5))] == [3, 4]

    def test_many_readers_do_not_grow_the_memory(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(index_interval_bytes=100))
        append_values(log, 500)
        for offset in range(499):
            log.read(offset, 100, 500, whole_batch=True)
        assert len(log._positions) <= 64

    def test_cold_pages_are_left_to_a_thread(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        log = open_log(tmp_path, LogConfig())
        append_values(log, 3)
        log.settle()  # from now on the bytes count as old

        def not_in_memory(*_: Any) -> int:
            raise BlockingIOError(errno.EAGAIN, "cold")

        monkeypatch.setattr(os, "preadv", not_in_memory)
        with pytest.raises(BlockingIOError):
            log.read(0, 1000, 3)
        assert len(log.read(0, 1000, 3, nowait=False)) == log.size

    def test_half_cold_data_comes_up_to_the_last_whole_batch(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log = open_log(tmp_path, LogConfig())
        append_values(log, 3)
        log.settle()
        real = os.preadv

        def half(fd: int, buffers: list[bytearray], offset: int, flags: int) -> int:
            return min(real(fd, buffers, offset, flags), 150)

        monkeypatch.setattr(os, "preadv", half)
        assert [header.base_offset for _, header in iter_batches(log.read(0, 10**6, 3))] == [0]

    def test_a_file_system_without_nowait_is_read_plainly(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log = open_log(tmp_path, LogConfig())
        append_values(log, 3)
        log.settle()
        monkeypatch.setattr(segment_module, "_nowait_flag", os.RWF_NOWAIT)

        def unsupported(*_: Any) -> int:
            raise OSError(errno.EOPNOTSUPP, "no")

        monkeypatch.setattr(os, "preadv", unsupported)
        assert len(log.read(0, 10**6, 3)) == log.size


class TestRolling:
    def test_by_size(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, SMALL)
        append_values(log, 40)
        assert len(log.segments) > 3
        assert all(segment.size <= 1000 for segment in log.segments)
        assert file_names(log, ".log") == [f"{segment.base_offset:020d}.log" for segment in log.segments]
        assert offsets(read_all(log)) == list(range(40))

    def test_a_batch_larger_than_a_segment_gets_one_of_its_own(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, SMALL)
        for _ in range(3):
            append(log, (None, b"x" * 3000))
        assert [segment.base_offset for segment in log.segments] == [0, 1, 2]

    def test_by_the_timestamps_of_the_records(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(segment_ms=1000))
        for timestamp in (5000, 5999, 6000, 6001, 6500):
            append(log, (None, b"v"), timestamp=timestamp)
        assert [segment.base_offset for segment in log.segments] == [0, 3]

    def test_a_compacted_topic_rolls_within_its_lag(self, tmp_path: Path) -> None:
        config = LogConfig(cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=100)
        log = open_log(tmp_path, config)
        append(log, (b"k", b"v"), timestamp=1000)
        append(log, (b"k", b"v"), timestamp=1101)
        assert len(log.segments) == 2

    def test_when_the_index_is_full(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(segment_index_bytes=120, index_interval_bytes=1))
        append_values(log, 100)
        assert len(log.segments) > 5
        log.close()
        for name in file_names(log, "index"):
            assert os.path.getsize(os.path.join(log.folder, name)) <= 120

    def test_when_the_offsets_do_not_fit_31_bits(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig())
        append_values(log, 1)
        log.log_end_offset = 2**31 - 1  # as after a compaction with a large hole
        append_values(log, 1)
        assert len(log.segments) == 1
        append_values(log, 1)
        assert [segment.base_offset for segment in log.segments] == [0, 2**31]

    def test_a_new_config_counts_from_the_next_append(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig())
        append_values(log, 20)
        log.config = SMALL
        append_values(log, 1)
        assert len(log.segments) == 2

    def test_jitter_rolls_earlier(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(segment_ms=1000, segment_jitter_ms=900))
        for timestamp in range(5000, 6001, 10):
            append(log, (None, b"v"), timestamp=timestamp)
        assert len(log.segments) > 1

    def test_rolled_segments_are_flushed_and_end_with_their_latest_time(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, SMALL)
        append_values(log, 40, timestamp=7000)
        log.flush()
        assert log.recovery_point == 40
        rolled = log.segments[0]
        rolled.release()
        assert rolled.time_index().last() == (7000 + log.segments[1].base_offset - 1, log.segments[1].base_offset - 1)


class TestTransactions:
    def test_aborted_transactions_of_a_range(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, SMALL)
        produce(log, 1, 0, (b"a", b"1"), transactional=True)
        produce(log, 2, 0, (b"b", b"1"), transactional=True)
        assert log.producers.first_unstable_offset() == 0
        marker = end_transaction(log, 1, commit=False)
        log.roll()
        end_transaction(log, 2, commit=True)
        produce(log, 1, 1, (b"a", b"2"), transactional=True)
        second = end_transaction(log, 1, commit=False)
        assert log.producers.first_unstable_offset() is None
        assert log.aborted_transactions(0, log.log_end_offset) == [(1, 0), (1, 4)]
        assert log.aborted_transactions(0, 1) == [(1, 0)]
        assert log.aborted_transactions(marker, marker + 1) == [(1, 0)]
        assert log.aborted_transactions(marker + 1, 4) == []
        assert log.aborted_transactions(second, second + 1) == [(1, 4)]
        log.flush()
        assert len(file_names(log, ".txnindex")) == 2


class TestTime:
    def filled(self, folder: Path, **config: Any) -> Log:
        log = open_log(folder, LogConfig(segment_bytes=1000, index_interval_bytes=100, **config))
        for number in range(60):
            append(log, (None, b"x" * 30), (None, b"y" * 30), timestamp=10_000 + 10 * number, leader_epoch=number // 30)
        return log

    def test_the_first_record_at_or_after_a_time(self, tmp_path: Path) -> None:
        log = self.filled(tmp_path)
        assert log.offset_for_timestamp(0, 120) == (10_000, 0, 0)
        assert log.offset_for_timestamp(10_001, 120) == (10_001, 1, 0)
        assert log.offset_for_timestamp(10_002, 120) == (10_010, 2, 0)
        assert log.offset_for_timestamp(10_405, 120) == (10_410, 82, 1)
        assert log.offset_for_timestamp(10_591, 120) == (10_591, 119, 1)
        assert log.offset_for_timestamp(10_592, 120) is None

    def test_only_between_log_start_and_upper_offset(self, tmp_path: Path) -> None:
        log = self.filled(tmp_path)
        log.increment_log_start(50)
        assert log.offset_for_timestamp(0, 120) == (10_250, 50, 0)
        assert log.offset_for_timestamp(10_500, 100) is None

    def test_times_out_of_order(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(index_interval_bytes=1))
        for timestamp in (100, 500, 200, 600, 300):
            append(log, (None, b"v"), timestamp=timestamp)
        assert log.offset_for_timestamp(150, 5) == (500, 1, 0)
        assert log.offset_for_timestamp(501, 5) == (600, 3, 0)
        assert log.offset_of_max_timestamp(5) == (600, 3, 0)
        assert log.offset_of_max_timestamp(3) == (500, 1, 0)

    def test_the_latest_time(self, tmp_path: Path) -> None:
        log = self.filled(tmp_path)
        assert log.offset_of_max_timestamp(120) == (10_591, 119, 1)
        assert open_log(tmp_path / "empty", LogConfig()).offset_of_max_timestamp(0) is None

    def test_after_a_restart(self, tmp_path: Path) -> None:
        self.filled(tmp_path).close()
        log = open_log(tmp_path, SMALL, clean=True)
        assert log.offset_for_timestamp(10_405, 120) == (10_410, 82, 1)
        assert log.offset_of_max_timestamp(120) == (10_591, 119, 1)


class TestRetention:
    def test_by_time_whole_segments_go(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(segment_bytes=1000, retention_ms=1000))
        append_values(log, 40, timestamp=10_000)
        bases = [segment.base_offset for segment in log.segments]
        latest_of_first = 10_000 + bases[1] - 1
        assert log.delete_old_segments(latest_of_first + 1000, 40) == 0
        assert log.delete_old_segments(latest_of_first + 1001, 40) == 1
        assert log.log_start_offset == bases[1]
        assert offsets(read_all(log)) == list(range(bases[1], 40))
        assert not [name for name in file_names(log, ".log") if name.startswith("0" * 20)]
        assert log.size == sum(segment.size for segment in log.segments)

    def test_an_expired_log_ends_empty_with_its_offsets(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(segment_bytes=1000, retention_ms=1000))
        append_values(log, 40, timestamp=10_000)
        log.delete_old_segments(10**9, 40)
        assert (log.log_start_offset, log.log_end_offset, log.size) == (40, 40, 0)
        append_values(log, 1)
        assert offsets(read_all(log)) == [40]

    def test_by_size_the_limit_is_never_undercut(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(segment_bytes=1000, retention_bytes=2500, retention_ms=-1))
        append_values(log, 100)
        log.delete_old_segments(0, 100)
        assert 2500 <= log.size < 2500 + 1000

    def test_nothing_above_the_high_watermark_goes(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(segment_bytes=1000, retention_ms=0))
        append_values(log, 40)
        bases = [segment.base_offset for segment in log.segments]
        log.delete_old_segments(10**9, bases[2] - 1)
        assert log.log_start_offset == bases[1]

    def test_delete_records_hides_at_once_and_deletes_later(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(segment_bytes=1000, cleanup_policy=frozenset({"compact"})))
        append_values(log, 40)
        bases = [segment.base_offset for segment in log.segments]
        log.increment_log_start(bases[2] + 1)
        assert log.log_start_offset == bases[2] + 1 and len(log.segments) == len(bases)
        assert log.delete_old_segments(0, 40) == 2
        assert log.log_start_offset == bases[2] + 1
        assert read_all(log)[0].offset == bases[2] + 1

    def test_a_reader_finishes_on_deleted_files(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(segment_bytes=1000, retention_ms=0))
        append_values(log, 40)
        old = log.segments[0]
        log.delete_old_segments(10**9, 40)
        for _, path in log.doomed:
            if os.path.exists(path):
                os.unlink(path)
        data, _ = old.read(0, old.size, 10**6, 40, False, False)
        assert len(data) == old.size


class TestTruncation:
    def test_to_an_offset(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, SMALL)
        append_values(log, 40)
        produce(log, 5, 0, (None, b"x"))
        log.truncate_to(17)
        assert log.log_end_offset == 17
        assert offsets(read_all(log)) == list(range(17))
        assert log.producers.describe() == []
        assert log.size == sum(os.path.getsize(segment.path()) for segment in log.segments)
        append_values(log, 3)
        assert offsets(read_all(log)) == list(range(20))
        log.close()
        assert open_log(tmp_path, SMALL, clean=True).log_end_offset == 20

    def test_the_producer_state_is_that_of_the_new_end(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, SMALL)
        for number in range(30):
            produce(log, 5, number, (None, b"x" * 30))
        log.truncate_to(11)
        assert log.producers.describe()[0].last_sequence == 10

    def test_fully(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, SMALL)
        append_values(log, 40)
        log.truncate_fully(100)
        assert (log.log_start_offset, log.log_end_offset, log.size) == (100, 100, 0)
        append_values(log, 2)
        assert offsets(read_all(log)) == [100, 101]


class TestTrouble:
    def test_a_full_disk_refuses_the_write_and_works_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log = open_log(tmp_path, LogConfig())
        append_values(log, 3)
        size, real = log.size, os.pwrite

        def half_then_full(fd: int, data: Any, position: int) -> int:
            if len(data) > 30:
                return real(fd, bytes(data)[:30], position)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        for fault in (half_then_full, lambda *_: _raise(OSError(errno.ENOSPC, "full"))):
            monkeypatch.setattr(os, "pwrite", fault)
            with pytest.raises(OSError, match=r"full|space"):
                produce(log, 4, 0, (None, b"y" * 40))
            monkeypatch.setattr(os, "pwrite", real)
            assert (log.log_end_offset, log.size) == (3, size)
            assert os.path.getsize(log.active.path()) == size
            assert log.failure is None
            assert len(log.producers) == 0
        append_values(log, 1)
        assert offsets(read_all(log)) == [0, 1, 2, 3]

    def test_a_short_write_is_completed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        log = open_log(tmp_path, LogConfig())
        append_values(log, 1)
        real = os.pwrite
        monkeypatch.setattr(os, "pwrite", lambda fd, data, position: real(fd, bytes(data)[:7], position))
        append_values(log, 1)
        monkeypatch.setattr(os, "pwrite", real)
        assert offsets(read_all(log)) == [0, 1]

    def test_a_full_disk_at_a_roll(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        log = open_log(tmp_path, SMALL)
        append_values(log, 5)
        log.config = LogConfig(segment_bytes=1)
        real = os.open

        def full(path: Any, flags: int, *args: Any) -> int:
            if flags & os.O_CREAT:
                raise OSError(errno.ENOSPC, "full")
            return real(path, flags, *args)

        monkeypatch.setattr(os, "open", full)
        with pytest.raises(OSError, match="full"):
            append_values(log, 1)
        monkeypatch.setattr(os, "open", real)
        assert log.failure is None
        append_values(log, 1)
        assert offsets(read_all(log)) == list(range(6))

    def test_a_deleted_folder_takes_the_log_offline_and_is_said_once(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        log = open_log(tmp_path, LogConfig())
        noticed: list[OSError] = []
        log.on_failure = lambda _, error: noticed.append(error)
        append_values(log, 1)
        for name in os.listdir(log.folder):
            os.unlink(os.path.join(log.folder, name))
        os.rmdir(log.folder)
        log.check_files()
        log.check_files()
        for _ in range(2):
            with pytest.raises(KafkaError) as caught:
                append_values(log, 1)
            assert caught.value.code is ErrorCode.kafka_storage_error
        assert len(noticed) == 1
        assert len([record for record in caplog.records if "offline" in record.getMessage()]) == 1
        log.close()

    def test_a_deleted_folder_is_noticed_at_a_roll(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(segment_bytes=100))
        append_values(log, 1)
        for name in os.listdir(log.folder):
            os.unlink(os.path.join(log.folder, name))
        os.rmdir(log.folder)
        with pytest.raises(OSError, match="No such file"):
            append_values(log, 1)
        assert log.failure is not None

    def test_a_closed_log_refuses(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig())
        append_values(log, 1)
        log.close()
        with pytest.raises(KafkaError):
            append_values(log, 1)
        with pytest.raises(KafkaError):
            log.read(0, 100, 1)

    def test_files_are_preallocated_and_trimmed(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(segment_bytes=1000, preallocate=True))
        append_values(log, 30)
        log.flush()
        assert all(os.path.getsize(s.path()) == s.size for s in log.segments[:-1])
        assert os.path.getsize(log.active.path()) == 1000
        log.close()
        assert os.path.getsize(log.active.path()) == log.active.size
        assert open_log(tmp_path, LogConfig(), clean=True).log_end_offset == 30


class TestIndexOfTheActiveSegment:
    def test_a_wrong_entry_in_use_by_the_writer_costs_a_scan_and_no_wrong_answer(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(index_interval_bytes=100))
        append_values(log, 50)
        log.active.index().positions[3] += 5
        for offset in range(50):
            assert read_all(log, start=offset)[0].offset == offset
        append_values(log, 50)
        assert offsets(read_all(log)) == list(range(100))


class TestThreads:
    def test_reads_in_threads_while_the_log_rolls_and_shrinks(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(segment_bytes=3000, index_interval_bytes=200, retention_bytes=20_000))
        append_values(log, 10)
        stop = threading.Event()
        faults: list[object] = []

        def consume() -> None:
            offset = 0
            while not stop.is_set():
                end = log.log_end_offset
                offset = max(offset, log.log_start_offset)
                data = log.read(offset, 2000, end, nowait=False)
                batches = list(iter_batches(data))
                if batches and (batches[-1][1].last_offset >= end or batches[0][1].last_offset < offset):
                    faults.append((offset, end, batches))
                for _, header in batches:
                    if header.magic != 2 or header.record_count != 1:
                        faults.append(header)
                offset = batches[-1][1].last_offset + 1 if batches else max(end - 40, 0)

        threads = [threading.Thread(target=consume, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for number in range(1000):  # each waits its turn behind three threads that never rest
                append_values(log, 1)
                if number % 100 == 0:
                    log.delete_old_segments(0, log.log_end_offset)
                    log.settle()
                if number % 333 == 0:
                    log.flush()
        finally:
            stop.set()
            for thread in threads:
                thread.join(10)
        assert not faults


class TestFlush:
    def test_flush_messages_is_due_when_reached(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(flush_messages=3))
        wanted: list[Log] = []
        log.on_flush_wanted = wanted.append
        append_values(log, 2)
        assert (log.flush_due, wanted) == (False, [])
        append_values(log, 1)
        assert (log.flush_due, wanted) == (True, [log])
        log.flush()
        assert (log.flush_due, log.recovery_point) == (False, 3)
        append_values(log, 3)
        assert (log.flush_due, len(wanted)) == (True, 2)

    def test_an_ordinary_append_needs_no_other_system_call(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log = open_log(tmp_path, LogConfig())
        append_values(log, 1)
        calls: list[str] = []
        for name in ("open", "stat", "fstat", "fsync", "ftruncate", "rename", "replace", "write", "pread"):
            monkeypatch.setattr(os, name, lambda *_, name=name: calls.append(name))
        for number in range(500):
            produce(log, 1, number, (None, b"x" * 100))
        monkeypatch.undo()
        assert calls == []


def _raise(error: Exception) -> int:
    raise error
