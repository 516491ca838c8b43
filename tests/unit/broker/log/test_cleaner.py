"""Compaction: what stays, what goes, when, and that nobody notices but by the records."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.unit.broker.log.writing import (
    KeyValue,
    append,
    end_transaction,
    headers,
    offsets,
    open_log,
    produce,
    read_all,
)

from caudal.broker.log import checkpoints, cleaner_process
from caudal.broker.log.batch_rewrite import body_of, raw_records
from caudal.broker.log.cleaner import Cleaner, CleaningFailed, DirtyLog
from caudal.broker.log.config import LogConfig, StoreConfig
from caudal.broker.log.log import Log
from caudal.broker.log.store import LogStore
from caudal.broker.wire.batch import HEADER_SIZE, Record, records

COMPACT = LogConfig(
    segment_bytes=2000,
    index_interval_bytes=100,
    cleanup_policy=frozenset({"compact"}),
    delete_retention_ms=1000,
    min_cleanable_dirty_ratio=0.01,
    file_delete_delay_ms=0,
)
NOW = 1_000_000


class InProcess(Cleaner):
    """The same cleaner with its process's work done here: for the many small cases."""

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return cleaner_process.Job(request).run()
        except Exception as error:
            raise CleaningFailed(str(error)) from error


def open_store(folder: Path, config: LogConfig = COMPACT, **settings: Any) -> tuple[LogStore, Log]:
    store = LogStore.open(folder, config, lambda _: config, settings=StoreConfig(**settings))
    store.cleaner = InProcess(store)
    store.cleaner.load_checkpoint()
    return store, store.logs.get(("t", 0)) or store.create("t", 0, uuid4(), config)


async def clean(store: LogStore, now_ms: int = NOW) -> int:
    """Cleans all that may be cleaned of t-0."""
    log = store.logs["t", 0]
    dirty = store.cleaner.measure(("t", 0), log, now_ms)
    return await store.cleaner.clean(dirty, now_ms)


def latest(items: Iterable[Record]) -> dict[bytes | None, bytes | None]:
    return {item.key: item.value for item in items}


def write(log: Log, *items: KeyValue, **fields: Any) -> None:
    """Each record in a segment of its own batch."""
    for item in items:
        append(log, item, **fields)


class TestWhatStays:
    async def test_the_last_record_of_each_key_at_its_offset(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        for number in range(200):
            append(log, (b"key-%d" % (number % 7), b"v%d" % number))
        before = {record.offset: record for record in read_all(log)}
        log.roll()
        assert await clean(store) == 200
        assert log.log_end_offset == 200
        after = read_all(log)
        assert offsets(after) == list(range(193, 200))
        assert all(before[record.offset] == record for record in after)
        assert read_all(log, start=57)[0].offset == 193
        assert log.size == sum(os.stat(segment.path()).st_size for segment in log.segments)
        await clean(store)  # what the first round emptied, the second joins
        assert len(log.segments) == 2
        assert offsets(read_all(log)) == list(range(193, 200))
        await store.close()

    @pytest.mark.parametrize("codec", range(5))
    async def test_batches_keep_range_sequence_and_codec(self, tmp_path: Path, codec: int) -> None:
        store, log = open_store(tmp_path)
        fields = {"codec": codec, "producer_id": 3, "producer_epoch": 1}
        append(log, (b"a", b"1" * 50), (b"b", b"1"), (b"a", b"2" * 50), base_sequence=10, **fields)
        append(log, (b"b", b"2"), (b"c", b"1"), base_sequence=13, **fields)
        whole = log.read(3, 10**6, 5)
        log.roll()
        await clean(store)
        first, second = headers(log)
        assert (first.base_offset, first.last_offset, first.base_sequence, first.codec) == (0, 2, 10, codec)
        assert (first.record_count, first.max_timestamp) == (1, 1002)
        assert log.read(3, 10**6, 5) == whole  # nothing to drop: byte for byte
        assert read_all(log)[0] == Record(2, 1002, b"a", b"2" * 50)
        assert second.base_sequence == 13
        await store.close()

    async def test_lz4_is_written_in_the_frames_that_java_reads(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        append(log, (b"a", b"1"), (b"a", b"2"), codec=3)
        log.roll()
        await clean(store)
        (batch,) = log.batches(0)
        flags = batch.buffer[batch.start + HEADER_SIZE + 4]
        assert flags & 0x20  # blocks do not depend on each other
        await store.close()

    async def test_the_active_segment_is_never_touched(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        write(log, (b"a", b"1"), (b"a", b"2"))
        log.roll()
        write(log, (b"a", b"3"), (b"a", b"4"))
        await clean(store)
        assert offsets(read_all(log)) == [1, 2, 3]
        await store.close()

    async def test_nothing_past_the_last_stable_offset(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        write(log, (b"a", b"1"), (b"a", b"2"))
        log.roll()
        produce(log, 1, 0, (b"a", b"3"), transactional=True)
        log.roll()
        write(log, (b"a", b"4"))
        log.roll()
        await clean(store)
        assert offsets(read_all(log)) == [1, 2, 3]
        end_transaction(log, 1, commit=True)
        log.roll()
        await clean(store)
        assert offsets(read_all(log)) == [3]
        await store.close()

    async def test_the_high_watermark_holds_cleaning_back(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        for _ in range(3):
            write(log, (b"a", b"1"), (b"a", b"2"))
            log.roll()
        store.last_stable_offset_of = lambda _: 3
        await clean(store)
        assert offsets(read_all(log)) == [1, 2, 3, 4, 5]
        await store.close()

    async def test_a_second_round_knows_where_the_first_ended(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        write(log, (b"a", b"1"), (b"b", b"1"))
        log.roll()
        await clean(store)
        write(log, (b"a", b"2"))
        log.roll()
        assert await clean(store) == 3
        assert latest(read_all(log)) == {b"a": b"2", b"b": b"1"}
        await store.close()
        assert checkpoints.read_offsets(tmp_path / checkpoints.CLEANER) == {("t", 0): 3}
        store, log = open_store(tmp_path)
        assert store.cleaner.measure(("t", 0), log, NOW).first_dirty == 3
        assert offsets(read_all(log)) == [1, 2]
        await store.close()

    async def test_small_segments_are_joined(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        for number in range(20):
            write(log, (b"k%d" % number, b"v"))
            log.roll()
        assert len(log.segments) == 21
        await clean(store)
        assert len(log.segments) == 2
        assert offsets(read_all(log)) == list(range(20))
        names = os.listdir(log.folder)
        assert not [name for name in names if name.endswith((".cleaned", ".swap"))]
        await store.close()

    async def test_records_without_key_go(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        write(log, (None, b"x"), (b"a", b"1"))
        log.roll()
        await clean(store)
        assert offsets(read_all(log)) == [1]
        await store.close()

    async def test_long_keys_are_told_apart(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path, LogConfig(cleanup_policy=frozenset({"compact"}), index_interval_bytes=100))
        keys = [b"x" * 40 + b"%d" % number for number in range(30)] + [b"x" * n for n in range(20)]
        write(log, *((key, b"1") for key in keys), *((key, b"2") for key in keys))
        log.roll()
        await clean(store)
        assert latest(read_all(log)) == dict.fromkeys(keys, b"2")
        assert len(read_all(log)) == len(keys)
        await store.close()

    async def test_a_map_that_is_too_small_cleans_in_rounds(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path, cleaner_dedupe_buffer_bytes=150 * 10)
        for number in range(60):
            append(log, (b"k%d" % (number % 30), b"%d" % number))
        log.roll()
        ends = [await clean(store) for _ in range(7)]
        assert ends == sorted(ends) and ends[0] < 60 and ends[-1] == 60
        assert offsets(read_all(log)) == list(range(30, 60))
        await store.close()

    async def test_time_look_ups_and_indexes_after_it(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path, LogConfig(cleanup_policy=frozenset({"compact"}), index_interval_bytes=100))
        for number in range(300):
            append(log, (b"k%d" % (number % 100), b"%d" % number), timestamp=1000 + number)
        log.roll()
        await clean(store)
        for number in range(0, 300, 7):
            expected = max(number, 200)
            assert log.offset_for_timestamp(1000 + number, 300) == (1000 + expected, expected, 0)
            assert read_all(log, start=number)[0].offset == expected
        assert len(log.segments[0].index()) > 10
        await store.close()


class TestTombstones:
    async def test_they_stay_for_the_delete_retention_and_hide_at_once(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        write(log, (b"a", b"1"), (b"a", None), (b"b", b"1"))
        log.roll()
        await clean(store, NOW)
        assert read_all(log) == [Record(1, 1000, b"a", None), Record(2, 1000, b"b", b"1")]
        tombstone = headers(log)[0]
        assert tombstone.has_delete_horizon and tombstone.base_timestamp == NOW + 1000
        await clean(store, NOW + 999)
        assert offsets(read_all(log)) == [1, 2]
        await clean(store, NOW + 1000)
        assert offsets(read_all(log)) == [2]
        await store.close()

    async def test_other_records_of_the_batch_keep_their_times(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        append(log, (b"a", None), (b"b", b"1"), (b"c", b"1"), timestamp=777)
        append(log, (b"c", b"2"))
        log.roll()
        await clean(store, NOW)
        assert [(r.offset, r.timestamp) for r in read_all(log)] == [(0, 777), (1, 778), (3, 1000)]
        assert headers(log)[0].max_timestamp == 778
        await clean(store, NOW + 5000)
        assert [(r.offset, r.timestamp) for r in read_all(log)] == [(1, 778), (3, 1000)]
        await store.close()

    async def test_a_value_after_the_tombstone_wins(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        write(log, (b"a", b"1"), (b"a", None), (b"a", b"2"))
        log.roll()
        await clean(store)
        assert latest(read_all(log)) == {b"a": b"2"}
        await store.close()


class TestProducers:
    async def test_the_last_sequence_survives_in_an_empty_batch(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        produce(log, 5, 0, (b"a", b"1"))
        produce(log, 5, 1, (b"a", b"2"))
        write(log, (b"a", b"3"), (b"b", b"1"))
        log.roll()
        await clean(store)
        assert [(h.base_offset, h.record_count) for h in headers(log)] == [(1, 0), (2, 1), (3, 1)]
        await store.close()
        for name in os.listdir(log.folder):
            if name.endswith(".snapshot"):
                os.unlink(os.path.join(log.folder, name))
        store, log = open_store(tmp_path)
        assert log.producers.describe()[0].last_sequence == 1
        assert offsets(read_all(log)) == [2, 3]
        await store.close()

    async def test_an_expired_producer_leaves_nothing(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        produce(log, 5, 0, (b"a", b"1"))
        write(log, (b"a", b"3"))
        log.producers.expire(10**15, 1)
        log.roll()
        await clean(store)
        assert [h.base_offset for h in headers(log)] == [1]
        await store.close()

    async def test_the_last_batch_of_the_round_stays_so_that_the_end_is_known(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        write(log, (b"a", b"1"))
        log.roll()
        write(log, (b"b", b"2"))
        produce(log, 9, 0, (None, b"no key"))
        log.producers.expire(10**15, 1)
        log.roll()
        await clean(store)
        last = headers(log)[-1]
        assert (last.last_offset, last.record_count) == (2, 0)
        await store.close()


class TestTransactions:
    async def test_aborted_records_go_and_the_marker_follows_later(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        write(log, (b"a", b"kept"))
        produce(log, 5, 0, (b"a", b"aborted"), (b"z", b"aborted"), transactional=True)
        end_transaction(log, 5, commit=False)
        write(log, (b"b", b"1"))
        log.producers.expire(10**15, 1)
        log.roll()
        await clean(store, NOW)
        # The first round removes the records; the marker stays while the index names the transaction.
        assert latest(read_all(log)) == {b"a": b"kept", b"b": b"1"}
        assert [h.base_offset for h in headers(log) if h.is_control] == [3]
        assert log.aborted_transactions(0, 10) == [(5, 1)]
        await clean(store, NOW + 10)
        # The second finds a marker without records: it gets a horizon, and its entry in the index goes.
        (marker,) = [h for h in headers(log) if h.is_control]
        assert marker.has_delete_horizon and marker.base_timestamp == NOW + 10 + 1000
        assert log.aborted_transactions(0, 10) == []
        await clean(store, NOW + 2000)
        assert not [h for h in headers(log) if h.is_control]
        assert latest(read_all(log)) == {b"a": b"kept", b"b": b"1"}
        await store.close()

    async def test_a_commit_marker_stays_as_long_as_its_records(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        produce(log, 5, 0, (b"a", b"1"), transactional=True)
        end_transaction(log, 5, commit=True)
        write(log, (b"b", b"1"))
        log.producers.expire(10**15, 1)
        log.roll()
        for step in range(3):
            await clean(store, NOW + step * 10_000)
        assert [h.is_control for h in headers(log)] == [False, True, False]
        write(log, (b"a", b"2"))
        log.roll()
        for step in range(3, 6):
            await clean(store, NOW + step * 10_000)
        assert [h.is_control for h in headers(log)] == [False, False]
        await store.close()

    async def test_an_abort_whose_marker_is_in_the_active_segment(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        write(log, (b"a", b"kept"))
        produce(log, 5, 0, (b"a", b"aborted"), transactional=True)
        log.roll()
        end_transaction(log, 5, commit=False)
        await clean(store)
        assert latest(read_all(log)) == {b"a": b"kept"}
        assert log.aborted_transactions(0, 10) == [(5, 1)]
        await store.close()

    async def test_the_index_of_a_cleaned_segment_names_its_aborted_transactions(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        for number in range(6):
            produce(log, number, 0, (b"k", b"%d" % number), transactional=True)
            end_transaction(log, number, commit=number % 2 == 0)
            log.roll()
        await clean(store)
        assert len(log.segments) == 2
        assert log.aborted_transactions(0, 100) == [(1, 2), (3, 6), (5, 10)]
        await store.close()
        store, log = open_store(tmp_path)
        assert log.aborted_transactions(0, 100) == [(1, 2), (3, 6), (5, 10)]
        await store.close()


class TestChoice:
    def fill(self, store: LogStore, topic: str, config: LogConfig, duplicates: int) -> Log:
        log = store.create(topic, 0, uuid4(), config)
        for number in range(duplicates):
            append(log, (b"k", b"%d" % number), timestamp=NOW)
        log.roll()
        return log

    async def test_the_dirtiest_first_and_only_above_the_ratio(self, tmp_path: Path) -> None:
        store, _ = open_store(tmp_path)
        half = LogConfig(cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0.5)
        for topic, dirty_records in (("a", 5), ("b", 20), ("c", 15)):
            log = self.fill(store, topic, half, 10)
            store.cleaner._first_dirty[topic, 0] = 10
            for number in range(dirty_records):
                append(log, (b"k", b"%d" % number))
            log.roll()
        self.fill(store, "deleted", LogConfig(), 50)
        for topic in ("b", "c"):
            chosen = store.cleaner.choose(NOW)
            assert chosen is not None and chosen.key == (topic, 0)
            store.cleaner._first_dirty[topic, 0] = chosen.log.log_end_offset
        assert store.cleaner.choose(NOW) is None  # a has too little to gain
        await store.close()

    async def test_min_compaction_lag_keeps_young_segments(self, tmp_path: Path) -> None:
        config = LogConfig(
            cleanup_policy=frozenset({"compact"}), min_compaction_lag_ms=1000, min_cleanable_dirty_ratio=0
        )
        store, _ = open_store(tmp_path)
        self.fill(store, "a", config, 10)
        assert store.cleaner.choose(NOW + 999) is None
        assert store.cleaner.choose(NOW + 1000) is not None
        await store.close()

    async def test_max_compaction_lag_overrides_the_ratio(self, tmp_path: Path) -> None:
        config = LogConfig(
            cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=5000, min_cleanable_dirty_ratio=1.0
        )
        store, _ = open_store(tmp_path)
        self.fill(store, "a", config, 10)
        assert store.cleaner.choose(NOW + 5000) is None
        assert store.cleaner.choose(NOW + 5001) is not None
        await store.close()

    async def test_a_checkpoint_outside_the_log_is_not_believed(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        write(log, (b"a", b"1"), (b"a", b"2"))
        log.roll()
        store.cleaner._first_dirty["t", 0] = 99
        assert store.cleaner.measure(("t", 0), log, NOW).first_dirty == 0
        await store.close()


class TestTrouble:
    async def test_a_damaged_batch_stops_the_cleaning_and_loses_nothing(self, tmp_path: Path) -> None:
        store, log = open_store(tmp_path)
        for number in range(20):
            append(log, (b"k", b"%d" % number))
        log.roll()
        await store.flush(log)
        os.pwrite(log.segments[0].file().fd, b"\xff", log.segments[0].size - 1)
        with pytest.raises(CleaningFailed, match="damaged"):
            await clean(store)
        assert not [name for name in os.listdir(log.folder) if name.endswith(".cleaned")]
        assert len(headers(log)) == 20
        assert await store.cleaner.clean_all() == 0  # tries, says so, and does not try again at once
        assert store.cleaner.choose(NOW) is None
        await store.close()

    async def test_a_truncation_meanwhile_voids_the_result(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store, log = open_store(tmp_path)
        write(log, *((b"a", b"%d" % number) for number in range(20)))
        log.roll()
        write(log, (b"b", b"1"))
        real = InProcess._ask

        def slow(self: InProcess, request: dict[str, Any]) -> dict[str, Any]:
            answer = real(self, request)
            log.truncate_to(20)
            return answer

        monkeypatch.setattr(InProcess, "_ask", slow)
        with pytest.raises(CleaningFailed):
            await clean(store)
        assert offsets(read_all(log)) == list(range(20))
        assert not [name for name in os.listdir(log.folder) if name.endswith(".cleaned")]
        await store.close()

    async def test_retention_waits_for_the_cleaner(self, tmp_path: Path) -> None:
        config = LogConfig(segment_bytes=500, cleanup_policy=frozenset({"compact", "delete"}), retention_ms=1)
        store, log = open_store(tmp_path, config)
        write(log, *((b"a%d" % number, b"x" * 50) for number in range(20)))
        store.cleaner._cleaning = ("t", 0)
        assert await store.apply_retention() == 0
        store.cleaner._cleaning = None
        assert await store.apply_retention() > 0  # compact,delete does both
        assert log.log_start_offset > 0
        await store.close()


class TestProcess:
    """The real process."""

    async def test_it_cleans_in_the_background(self, tmp_path: Path) -> None:
        settings = StoreConfig(cleaner_backoff_ms=20)
        store = LogStore.open(tmp_path, COMPACT, lambda _: COMPACT, settings=settings)
        log = store.create("t", 0, uuid4(), COMPACT)
        for number in range(300):
            append(log, (b"k%d" % (number % 5), b"%d" % number))
        log.roll()
        task = asyncio.create_task(store.run())
        deadline = time.monotonic() + 20
        while len(read_all(log)) > 5:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)
        assert offsets(read_all(log)) == list(range(295, 300))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await store.close()

    async def test_deleting_the_topic_ends_it(self, tmp_path: Path) -> None:
        settings = StoreConfig(cleaner_io_max_bytes_per_second=1000)  # would take for ever
        store = LogStore.open(tmp_path, COMPACT, lambda _: COMPACT, settings=settings)
        log = store.create("t", 0, uuid4(), LogConfig(cleanup_policy=frozenset({"compact"})))
        append(log, *((b"k", b"x" * 1000) for _ in range(100)))
        for _ in range(30):
            append(log, *((b"k", b"x" * 1000) for _ in range(100)))
        log.roll()
        dirty = store.cleaner.choose(NOW)
        assert dirty is not None
        cleaning = asyncio.create_task(store.cleaner.clean(dirty))
        await asyncio.sleep(0.5)
        store.delete("t", 0)
        with pytest.raises(CleaningFailed):
            await asyncio.wait_for(cleaning, 60)
        await store.close()


def test_stepping_over_raw_records_agrees_with_the_decoder(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig())
    append(log, (b"k" * 200, b"v" * 20000), (None, None), (b"", b""), (b"x", None), timestamp=10**12)
    (batch,) = log.batches(0)
    raw = list(raw_records(body_of(batch), 4))
    full = list(records(batch.buffer, batch.start, batch.header))
    assert [(r.offset_delta, r.key, r.is_tombstone) for r in raw] == [(r.offset, r.key, r.value is None) for r in full]
    assert [batch.header.base_timestamp + r.timestamp_delta for r in raw] == [r.timestamp for r in full]
    assert DirtyLog(("t", 0), log, 0, 0, 0, 0, False).ratio == 0
