"""Translated group offsets: never behind the first record that was not read, and exact wherever syncs prove it."""

from __future__ import annotations

import random

import pytest

from caudal.connect.connectors.mirror import offset_syncs
from caudal.connect.connectors.mirror.formats import OffsetSync
from caudal.connect.connectors.mirror.offset_syncs import OffsetSyncStore, PartitionSyncs, Sync

Copied = list[tuple[int, int]]  # upstream, downstream


def store_of(copied: Copied, lag: int = 100, finish: bool = True) -> OffsetSyncStore:
    store, syncs = OffsetSyncStore(), PartitionSyncs(lag)
    for upstream, downstream in copied:
        add(store, *syncs.on_record(upstream, downstream))
    if finish:
        add(store, *syncs.finish())
    return store


def add(store: OffsetSyncStore, *syncs: Sync) -> None:
    for sync in syncs:
        store.add(OffsetSync("t", 0, sync.upstream, sync.downstream), sync.run)


def missed_and_repeated(copied: Copied, upstream: int, downstream: int) -> tuple[int, int]:
    """Records that a consumer moving from `upstream` to `downstream` would miss, and would read twice."""
    missed = sum(1 for up, down in copied if up >= upstream and down < downstream)
    return missed, sum(1 for up, down in copied if up < upstream and down >= downstream)


def test_without_gaps_every_offset_is_exact() -> None:
    store = store_of([(offset, offset) for offset in range(1000)])
    assert [store.translate("t", 0, offset) for offset in range(1001)] == list(range(1001))


@pytest.mark.parametrize("lag", [0, 1, 100])
def test_with_markers_and_compaction_on_both_sides_every_offset_is_exact(lag: int) -> None:
    random.seed(lag)
    for _ in range(8):
        copied: Copied = []
        upstream = downstream = random.choice([0, 7])
        for _ in range(120):
            copied.append((upstream, downstream))
            upstream += 1 if random.random() < 0.8 else random.randint(2, 9)
            downstream += 1 if random.random() < 0.9 else 2
        store = store_of(copied, lag)
        for offset in range(copied[0][0], copied[-1][0] + 5):
            found = store.translate("t", 0, offset)
            assert found is not None
            assert missed_and_repeated(copied, offset, found) == (0, 0), offset


def test_what_is_read_again_from_an_earlier_place_is_translated_to_the_newer_copy() -> None:
    first = [(offset, offset) for offset in range(11)]
    again = [(offset, offset + 6) for offset in range(5, 21)]
    store, syncs = store_of(first), PartitionSyncs(100)
    for upstream, downstream in again:
        add(store, *syncs.on_record(upstream, downstream))
    add(store, *syncs.finish())
    assert store.translate("t", 0, 7) == 13
    assert store.translate("t", 0, 21) == 27
    for offset in range(22):
        found = store.translate("t", 0, offset)
        assert found is not None and missed_and_repeated(again, offset, found)[0] == 0


def test_a_sync_that_was_lost_makes_no_offset_too_large() -> None:
    """0–9 → 0–9, a gap to 20 → 10: without the syncs at the gap, 15 must not become 15."""
    syncs = PartitionSyncs(5)
    written: list[Sync] = []
    copied = [*((offset, offset) for offset in range(10)), *((offset, offset - 10) for offset in range(20, 60))]
    for upstream, downstream in copied:
        written += syncs.on_record(upstream, downstream)
    written += syncs.finish()
    for lost in range(1, len(written)):
        store = OffsetSyncStore()
        add(store, *written[:lost], *written[lost + 1 :])
        for offset in range(61):
            found = store.translate("t", 0, offset)
            assert found is not None and missed_and_repeated(copied, offset, found)[0] == 0, (lost, offset)


def test_syncs_of_mirrormaker_are_read_by_its_rule() -> None:
    store = OffsetSyncStore()
    for upstream, downstream in ((100, 10), (200, 110), (300, 210)):
        store.add(OffsetSync("t", 0, upstream, downstream))
    assert store.translate("t", 0, 100) == 10
    assert store.translate("t", 0, 150) == 11
    assert store.translate("t", 0, 250) == 111
    assert store.translate("t", 0, 999) == 211
    assert store.translate("t", 0, 99) is None
    assert store.translate("t", 1, 100) is None


def test_before_the_first_record_of_a_whole_copy_is_its_beginning() -> None:
    assert store_of([(50, 0), (51, 1)]).translate("t", 0, 3) == 0


def test_a_topic_made_anew_forgets_the_former_one() -> None:
    store = store_of([(offset, offset) for offset in range(100)])
    store.add(OffsetSync("t", 0, 0, 100))
    assert store.translate("t", 0, 0) == 100
    assert store.translate("t", 0, 50) == 101


def test_the_end_of_what_is_copied_is_never_passed() -> None:
    """A group may be further than the mirror: it then goes on where the copy ends."""
    store = store_of([(offset, offset) for offset in range(50)], finish=False)
    assert store.translate("t", 0, 500) == 1
    store = store_of([(offset, offset) for offset in range(50)])
    assert store.translate("t", 0, 500) == 50


def test_memory_is_bounded_and_old_offsets_stay_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_syncs, "MOST_SYNCS", 64)
    copied = [(2 * offset, offset) for offset in range(2000)]  # a marker after every record
    store = store_of(copied)
    assert len(store._known["t", 0].upstream) <= 65
    for offset in range(0, 4000, 31):
        found = store.translate("t", 0, offset)
        assert found is not None and missed_and_repeated(copied, offset, found)[0] == 0
    for offset in range(3980, 4001):
        found = store.translate("t", 0, offset)
        assert found is not None and missed_and_repeated(copied, offset, found) == (0, 0)


def test_one_run_is_two_syncs_however_long() -> None:
    assert len(store_of([(offset, offset) for offset in range(5000)], lag=10)._known["t", 0].upstream) == 2


def test_the_newest_sync_says_how_far_the_copy_is() -> None:
    store = store_of([(offset, offset + 5) for offset in range(7, 30)])
    assert store.last("t", 0) == (29, 34)
    assert store.ends() == {("t", 0): (29, 34)}
    assert store.last("t", 1) is None
