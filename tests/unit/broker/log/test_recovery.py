"""Opening a log again: after an orderly stop, after a crash, with damaged files, in the middle of a replacement."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.unit.broker.log.writing import (
    append,
    append_values,
    as_if_crashed,
    end_transaction,
    file_names,
    offsets,
    open_log,
    produce,
    read_all,
)

from caudal.broker.log.config import LogConfig
from caudal.broker.log.log import Log
from caudal.broker.log.producer_state import snapshot_path
from caudal.broker.log.segment import CLEANED, FILE_KINDS, INDEX, SWAP, TIME_INDEX, TXN_INDEX

CONFIG = LogConfig(segment_bytes=1000, index_interval_bytes=100)


def filled(folder: Path, count: int = 40) -> Log:
    log = open_log(folder, CONFIG)
    append_values(log, count)
    return log


def index_bytes(log: Log) -> dict[str, bytes]:
    return {
        name: Path(log.folder, name).read_bytes()
        for name in file_names(log)
        if name.endswith((INDEX, TIME_INDEX, TXN_INDEX))
    }


class TestOrderlyStop:
    def test_everything_is_there_again(self, tmp_path: Path) -> None:
        log = filled(tmp_path)
        produce(log, 7, 0, (b"k", b"v"), transactional=True)
        log.close()
        again = open_log(tmp_path, CONFIG, clean=True)
        assert (again.log_start_offset, again.log_end_offset, again.size) == (0, 41, log.size)
        assert again.recovery_point == 41
        assert again.producers.describe() == log.producers.describe()
        assert again.producers.first_unstable_offset() == 40
        assert again.epochs.entries == [(0, 0)]
        assert offsets(read_all(again)) == list(range(41))
        append_values(again, 20)
        assert offsets(read_all(again)) == list(range(61))

    def test_an_untouched_log_is_left_alone(self, tmp_path: Path) -> None:
        filled(tmp_path).close()
        path = tmp_path / "t-0"
        before = {p.name: (p.stat().st_mtime_ns, p.stat().st_size) for p in path.iterdir()}
        open_log(tmp_path, CONFIG, clean=True).close()
        assert {p.name: (p.stat().st_mtime_ns, p.stat().st_size) for p in path.iterdir()} == before

    def test_an_empty_log(self, tmp_path: Path) -> None:
        open_log(tmp_path, CONFIG).close()
        assert open_log(tmp_path, CONFIG, clean=True).log_end_offset == 0

    def test_the_log_start_comes_from_the_checkpoint(self, tmp_path: Path) -> None:
        filled(tmp_path).close()
        again = open_log(tmp_path, CONFIG, clean=True, log_start_offset=13)
        assert offsets(read_all(again)) == list(range(13, 40))

    def test_one_snapshot_a_segment_and_one_of_the_end(self, tmp_path: Path) -> None:
        log = filled(tmp_path)
        log.close()
        again = open_log(tmp_path, CONFIG, clean=True)
        append_values(again, 40)
        again.close()
        again = open_log(tmp_path, CONFIG, clean=True)
        bases = [segment.base_offset for segment in again.segments]
        snapshots = [int(name.split(".")[0]) for name in file_names(again, ".snapshot")]
        assert snapshots == [*bases[1:], 80]

    def test_a_lost_snapshot_is_made_up_from_the_log(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, CONFIG)
        for number in range(30):
            produce(log, 7, number, (None, b"x" * 30))
        log.close()
        os.unlink(snapshot_path(log.folder, 30))
        again = open_log(tmp_path, CONFIG, clean=True)
        assert again.producers.describe() == log.producers.describe()


class TestCrash:
    def test_nothing_written_is_lost(self, tmp_path: Path) -> None:
        log = filled(tmp_path)
        for number in range(20):
            produce(log, 7, number, (b"k", b"v"))
        copy = as_if_crashed(log, tmp_path / "copy")
        again = Log.open(copy, "t", 0, CONFIG)
        assert again.log_end_offset == 60
        assert offsets(read_all(again)) == list(range(60))
        assert again.producers.describe() == log.producers.describe()

    @pytest.mark.parametrize("cut", [1, 30, 60, 61, 75])
    def test_a_torn_tail_is_cut_off(self, tmp_path: Path, cut: int) -> None:
        log = filled(tmp_path, 41)
        copy = as_if_crashed(log, tmp_path / "copy")
        last = copy / f"{log.active.base_offset:020d}.log"
        with last.open("r+b") as file:
            file.truncate(last.stat().st_size - cut)
        again = Log.open(copy, "t", 0, CONFIG)
        assert again.log_end_offset == 40
        assert last.stat().st_size == again.active.size
        append_values(again, 2)
        assert offsets(read_all(again)) == list(range(42))

    @pytest.mark.parametrize("garbage", [b"\x00" * 500, b"\xff" * 500, b"x"])
    def test_garbage_at_the_end_is_cut_off(self, tmp_path: Path, garbage: bytes) -> None:
        log = filled(tmp_path)
        copy = as_if_crashed(log, tmp_path / "copy")
        with (copy / f"{log.active.base_offset:020d}.log").open("ab") as file:
            file.write(garbage)
        assert Log.open(copy, "t", 0, CONFIG).log_end_offset == 40

    def test_a_flipped_bit_ends_the_log_there(self, tmp_path: Path) -> None:
        log = filled(tmp_path)
        produce(log, 7, 0, (None, b"x"))
        copy = as_if_crashed(log, tmp_path / "copy")
        victim = log.segments[1]
        data = bytearray((copy / os.path.basename(victim.path())).read_bytes())
        data[-1] ^= 1  # the last batch of the second segment
        (copy / os.path.basename(victim.path())).write_bytes(data)
        again = Log.open(copy, "t", 0, CONFIG)
        assert again.log_end_offset == log.segments[2].base_offset - 1
        assert len(again.segments) == 2
        assert offsets(read_all(again)) == list(range(again.log_end_offset))
        assert again.producers.describe() == []

    def test_below_the_recovery_point_checksums_are_not_read_again(self, tmp_path: Path) -> None:
        log = filled(tmp_path)
        copy = as_if_crashed(log, tmp_path / "copy")
        first = copy / os.path.basename(log.segments[0].path())
        data = bytearray(first.read_bytes())
        data[-1] ^= 1
        first.write_bytes(data)
        again = Log.open(copy, "t", 0, CONFIG, recovery_point=log.segments[2].base_offset)
        assert again.log_end_offset == 40

    def test_indexes_are_built_as_they_were(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, CONFIG)
        for number in range(60):
            produce(log, number % 3, number // 3, (None, b"x" * (number % 50)), transactional=True)
            if number % 10 == 9:
                for producer in range(3):
                    end_transaction(log, producer, commit=producer == 1)
        copy = as_if_crashed(log, tmp_path / "copy")
        log.close()
        again = Log.open(copy, "t", 0, CONFIG)
        assert again.aborted_transactions(0, 1000) == log_aborted(tmp_path)
        again.close()
        assert index_bytes(again) == index_bytes(log)
        assert again.producers.describe() == log.producers.describe()

    def test_recovery_from_the_recovery_point_gives_the_same(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, CONFIG)
        for number in range(25):
            produce(log, 1, number, (None, b"x" * 30), transactional=True)
        log.flush()
        point = log.recovery_point
        end_transaction(log, 1, commit=False)
        for number in range(25, 40):
            produce(log, 1, number, (None, b"x" * 30), transactional=True)
        copy = as_if_crashed(log, tmp_path / "copy")
        log.close()
        again = Log.open(copy, "t", 0, CONFIG, recovery_point=point)
        assert again.aborted_transactions(0, 1000) == [(1, 0)]
        assert again.producers.describe() == log.producers.describe()
        assert again.producers.first_unstable_offset() == 26
        again.close()
        assert index_bytes(again) == index_bytes(log)

    def test_leader_epochs_are_found_again(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, CONFIG)
        for epoch in (0, 0, 3, 3, 4):
            append(log, (None, b"v"), leader_epoch=epoch)
        copy = as_if_crashed(log, tmp_path / "copy")
        assert not (copy / "leader-epoch-checkpoint").exists()
        assert Log.open(copy, "t", 0, CONFIG).epochs.entries == [(0, 0), (3, 2), (4, 4)]

    def test_unsynced_bytes_thrown_away_cost_nothing_below_the_recovery_point(self, tmp_path: Path) -> None:
        log = filled(tmp_path, 25)
        log.flush()
        sizes = {s.base_offset: s.size for s in log.segments}
        append_values(log, 25)
        copy = as_if_crashed(log, tmp_path / "copy")
        for path in copy.glob("*.log"):  # what the disk is sure to have: the bytes of the flush
            with path.open("r+b") as file:
                file.truncate(sizes.get(int(path.stem), 0))
        again = Log.open(copy, "t", 0, CONFIG, recovery_point=log.recovery_point)
        assert log.recovery_point == 25
        assert offsets(read_all(again)) == list(range(25))


def log_aborted(folder: Path) -> list[tuple[int, int]]:
    return open_log(folder, CONFIG, clean=True).aborted_transactions(0, 1000)


class TestDamagedIndexes:
    @pytest.mark.parametrize("kind", [INDEX, TIME_INDEX])
    @pytest.mark.parametrize("damage", ["missing", "odd", "garbage", "empty"])
    def test_after_an_orderly_stop(self, tmp_path: Path, kind: str, damage: str) -> None:
        log = filled(tmp_path)
        log.close()
        good = index_bytes(log)
        for name in file_names(log, kind):
            path = Path(log.folder, name)
            if damage == "missing":
                path.unlink()
            elif damage == "odd":
                path.write_bytes(path.read_bytes() + b"\x00")
            elif damage == "garbage":
                path.write_bytes(b"\x00\x00\x00\x05\x00\x00\x00\x07" * (3 * (path.stat().st_size // 24) + 3))
            else:
                path.write_bytes(b"")
        again = open_log(tmp_path, CONFIG, clean=True)
        assert again.log_end_offset == 40
        for offset in range(40):
            assert read_all(again, start=offset)[0].offset == offset
        for number in range(40):
            assert again.offset_for_timestamp(1000 + number, 40) == (1000 + number, number, 0)
        append_values(again, 1)
        again.close()
        assert good

    def test_an_entry_that_points_into_a_batch_is_noticed(self, tmp_path: Path) -> None:
        log = filled(tmp_path)
        log.close()
        path = Path(log.segments[0].path(INDEX))
        data = bytearray(path.read_bytes())
        good = bytes(data)
        data[-1] += 3
        path.write_bytes(data)
        again = open_log(tmp_path, CONFIG, clean=True)
        assert offsets(read_all(again)) == list(range(40))
        for offset in range(40):
            assert read_all(again, start=offset)[0].offset == offset
        assert path.read_bytes() == good

    def test_an_orphaned_index_is_removed(self, tmp_path: Path) -> None:
        log = filled(tmp_path)
        log.close()
        orphan = Path(log.folder, "00000000000000000003.index")
        orphan.write_bytes(b"")
        open_log(tmp_path, CONFIG, clean=True)
        assert not orphan.exists()


class TestInterruptedReplacement:
    """The renames of a replacement, stopped after each step."""

    def prepared(self, folder: Path) -> Log:
        """A log whose first two segments have a compacted `.cleaned` copy: only every second record."""
        log = filled(folder)
        log.flush()
        other = open_log(folder / "other", LogConfig(index_interval_bytes=100))
        end = log.segments[2].base_offset
        for record in read_all(log):
            if record.offset < end and (record.offset % 2 == 0 or record.offset == end - 1):
                other.log_end_offset = record.offset
                append(other, (record.key, record.value), timestamp=record.timestamp)
        other.close()
        for kind in FILE_KINDS:
            source = Path(other.segments[0].path(kind))
            if source.exists():
                shutil.copy(source, log.segments[0].path(kind, CLEANED))
        return log

    def expect(self, path: Path, replaced: bool) -> None:
        log = Log.open(path, "t", 0, CONFIG, recovery_point=40)
        assert log.log_end_offset == 40
        assert not [name for name in os.listdir(path) if name.endswith((CLEANED, SWAP, ".deleted"))]
        found = offsets(read_all(log))
        assert (found == list(range(40))) is not replaced
        assert found[-1] == 39

    def test_before_it_began(self, tmp_path: Path) -> None:
        log = self.prepared(tmp_path)
        self.expect(as_if_crashed(log, tmp_path / "copy"), replaced=False)

    def test_in_the_renaming_to_swap(self, tmp_path: Path) -> None:
        log = self.prepared(tmp_path)
        os.rename(log.segments[0].path(suffix=CLEANED), log.segments[0].path(suffix=SWAP))
        self.expect(as_if_crashed(log, tmp_path / "copy"), replaced=False)

    def test_after_the_renaming_to_swap(self, tmp_path: Path) -> None:
        log = self.prepared(tmp_path)
        log.segments[0].rename(CLEANED, SWAP)
        self.expect(as_if_crashed(log, tmp_path / "copy"), replaced=True)

    def test_after_half_of_the_originals_went(self, tmp_path: Path) -> None:
        log = self.prepared(tmp_path)
        log.segments[0].rename(CLEANED, SWAP)
        log.segments[0].rename("", ".deleted")
        self.expect(as_if_crashed(log, tmp_path / "copy"), replaced=True)

    def test_in_the_renaming_to_the_final_name(self, tmp_path: Path) -> None:
        log = self.prepared(tmp_path)
        first, second = log.segments[:2]
        first.rename(CLEANED, SWAP)
        first.rename("", ".deleted")
        second.rename("", ".deleted")
        os.rename(first.path(suffix=SWAP), first.path())
        self.expect(as_if_crashed(log, tmp_path / "copy"), replaced=True)

    def test_in_full(self, tmp_path: Path) -> None:
        log = self.prepared(tmp_path)
        held = log.segments[0]
        log.replace_segments(0, [segment.base_offset for segment in log.segments[:2]], now_ms=0)
        assert offsets(read_all(log)) != list(range(40))
        assert log.size == sum(os.path.getsize(segment.path()) for segment in log.segments)
        # A reader that held the old segment goes on with the old bytes.
        assert held.dead and len(held.read(0, held.size, 10**6, 40, False, False)[0]) == held.size
        self.expect(as_if_crashed(log, tmp_path / "copy"), replaced=True)
        log.close()
        self.expect(Path(log.folder), replaced=True)
