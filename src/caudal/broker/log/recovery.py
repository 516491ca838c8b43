"""Opening a partition's folder: finishing what a crash interrupted, and finding where the log ends.

After an orderly stop nothing is read but the last few batches and the producer snapshot. Otherwise every segment from
the one that holds the recovery point on is read: structure and order of all batches, checksums of those that were not
known to be on disk. The first batch that fails ends the log: it and all after it go. Indexes, transaction index, leader
epochs and producer state of what was read are built anew. The steps for `.cleaned`, `.swap` and `.deleted` files are
Kafka's, so that either broker can pick up the folder of the other.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from typing import NamedTuple

from caudal.broker.errors import KafkaError
from caudal.broker.log import producer_state
from caudal.broker.log.aborted import AbortedTransaction, CorruptTransactionIndex
from caudal.broker.log.config import LogConfig
from caudal.broker.log.indexes import MAX_RELATIVE_OFFSET
from caudal.broker.log.leader_epochs import LeaderEpochs
from caudal.broker.log.producer_state import CompletedTransaction, ProducerStates
from caudal.broker.log.segment import (
    CLEANED,
    DELETED,
    FILE_KINDS,
    LOG,
    SWAP,
    TXN_INDEX,
    IndexBuilder,
    ScannedBatch,
    Segment,
    scan,
)
from caudal.broker.wire.batch import CONTROL, crc_is_valid, read_marker, records

logger = logging.getLogger(__name__)

_NAME_DIGITS = 20


class LoadedLog(NamedTuple):
    segments: list[Segment]
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    producers: ProducerStates
    epochs: LeaderEpochs


def load(folder: str, config: LogConfig, *, recovery_point: int, log_start_offset: int, clean: bool) -> LoadedLog:
    """Reads a partition's folder; `clean`: the last stop was orderly. Blocking."""
    names = _finish_interrupted_swaps(folder)
    segments, snapshots = _open_segments(folder, names, config.index_interval_bytes)
    if not segments:
        clean = True  # a new folder: nothing to recover
        segments = [Segment.create(folder, log_start_offset, config.index_interval_bytes)]
    epochs = LeaderEpochs(folder)
    epochs.load()
    producers = ProducerStates()
    start = max(log_start_offset, segments[0].base_offset)
    if clean:
        end = segments[-1].next_offset()
        recovery_point = end
        _load_producers(folder, segments, producers, snapshots, segments[0].base_offset, end)
        _remove_stray_snapshots(folder, segments, snapshots)
    else:
        end = _recover(folder, segments, config, producers, snapshots, epochs, recovery_point)
        recovery_point = min(recovery_point, end)
    _check_transaction_indexes(folder, names, segments, end)
    if epochs.entries:
        epochs.truncate_from_end(end)
        epochs.truncate_from_start(start)
    return LoadedLog(segments, min(start, end), end, recovery_point, producers, epochs)


# -- the files of the folder


def offset_of(name: str) -> int | None:
    """The offset that begins a file's name, if one does."""
    digits, dot = name[:_NAME_DIGITS], name[_NAME_DIGITS : _NAME_DIGITS + 1]
    return int(digits) if dot == "." and digits.isdigit() else None


def _finish_interrupted_swaps(folder: str) -> list[str]:
    """Removes or completes what a segment replacement left behind; the names that remain."""
    names = os.listdir(folder)
    if not any(name.endswith((CLEANED, SWAP, DELETED)) for name in names):
        return names
    cleaned = [offset_of(name) for name in names if name.endswith(CLEANED)]
    # A replacement whose renaming to .swap did not finish has both kinds: then the originals are still all there.
    unfinished = min((offset for offset in cleaned if offset is not None), default=None)
    swaps: list[str] = []
    for name in names:
        offset = offset_of(name)
        if name.endswith((DELETED, CLEANED)):
            os.unlink(os.path.join(folder, name))
        elif name.endswith(SWAP):
            if unfinished is not None and offset is not None and offset >= unfinished:
                os.unlink(os.path.join(folder, name))
            else:
                swaps.append(name)
    replaced = [_range_of_swap(folder, name) for name in swaps if name.endswith(LOG + SWAP)]
    if replaced:
        first, end = min(low for low, _ in replaced), max(high for _, high in replaced)
        for name in os.listdir(folder):
            offset = offset_of(name)
            if offset is not None and first <= offset < end and name.endswith(FILE_KINDS):
                os.unlink(os.path.join(folder, name))
    for name in swaps:
        logger.info("finishing the interrupted replacement of %s in %s", name.removesuffix(SWAP), folder)
        os.rename(os.path.join(folder, name), os.path.join(folder, name.removesuffix(SWAP)))
    return os.listdir(folder)


def _range_of_swap(folder: str, name: str) -> tuple[int, int]:
    base = offset_of(name) or 0
    path = os.path.join(folder, name)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        end = base + 1  # an emptied segment still replaces the one of its own name
        for batch in scan(descriptor, 0, os.fstat(descriptor).st_size):
            end = batch.header.last_offset + 1
    finally:
        os.close(descriptor)
    return base, end


def _open_segments(folder: str, names: list[str], index_interval: int) -> tuple[list[Segment], list[int]]:
    """The segments and the offsets of the producer snapshots, both in order; index files without a log go."""
    bases, snapshots, others = [], [], []
    for name in names:
        offset = offset_of(name)
        if offset is None:
            continue
        if name.endswith(LOG):
            bases.append(offset)
        elif name.endswith(producer_state.SUFFIX):
            snapshots.append(offset)
        else:
            others.append((offset, name))
    known = set(bases)
    for offset, name in others:
        if offset not in known and name.endswith(FILE_KINDS):
            logger.warning("removing %s of %s: there is no log file for it", name, folder)
            os.unlink(os.path.join(folder, name))
    segments = []
    for base in sorted(bases):
        segment = Segment(folder, base, index_interval)
        segment.size = os.stat(segment.path()).st_size
        segments.append(segment)
    return segments, sorted(snapshots)


def _remove_stray_snapshots(folder: str, segments: list[Segment], snapshots: list[int]) -> None:
    """Keeps one snapshot per segment and the one of the end of the log, which an orderly stop leaves."""
    bases = {segment.base_offset for segment in segments}
    stray = [offset for offset in snapshots if offset not in bases]
    keep = stray[-1] if stray and stray[-1] > segments[-1].base_offset else None
    for offset in stray:
        if offset != keep:
            producer_state.remove_snapshot(folder, offset)


# -- producer state


def apply(producers: ProducerStates, batch: ScannedBatch) -> CompletedTransaction | None:
    """Enters a batch found in the log into the producer state; what it completed, if it is a marker."""
    header = batch.header
    if header.producer_id < 0:
        return None
    if not header.attributes & CONTROL:
        producers.update(header)
        return None
    for record in records(batch.buffer, batch.start, header):
        marker = read_marker(record)
        if marker is None:
            return None
        return producers.complete(
            header.producer_id,
            header.producer_epoch,
            header.base_offset,
            marker.commit,
            marker.coordinator_epoch,
            record.timestamp,
        )
    return None  # compaction has emptied it: the whole transaction is gone


def _load_producers(
    folder: str, segments: Iterable[Segment], producers: ProducerStates, snapshots: list[int], start: int, end: int
) -> None:
    """The producer state at `end`: the latest usable snapshot up to there, and the batches after it.

    Without a snapshot all batches are read that are still there, those below the log start included: what a producer
    wrote last counts even if DeleteRecords has hidden it.
    """
    loaded = False
    for offset in reversed(snapshots):
        if offset > end:
            producer_state.remove_snapshot(folder, offset)
        elif producers.load_snapshot(folder, offset):
            loaded = True
            break
    if not loaded:
        producers.clear(start)
    replay(segments, producers, end)


def replay(segments: Iterable[Segment], producers: ProducerStates, end: int) -> None:
    """Brings the producer state from where it stands up to `end`."""
    if producers.end_offset >= end:
        return
    relevant = list(segments)
    while len(relevant) > 1 and relevant[1].base_offset <= producers.end_offset:
        del relevant[0]
    for segment in relevant:
        position = segment.locate(producers.end_offset, segment.size)
        if position is None:
            continue
        for batch in segment.batches(position):
            if batch.header.base_offset >= end:
                break
            if batch.header.last_offset >= producers.end_offset:
                apply(producers, batch)
    producers.end_offset = end


# -- recovery


def _recover(
    folder: str,
    segments: list[Segment],
    config: LogConfig,
    producers: ProducerStates,
    snapshots: list[int],
    epochs: LeaderEpochs,
    recovery_point: int,
) -> int:
    """Checks the tail of the log and truncates it; the new end offset."""
    first = max((i for i, segment in enumerate(segments) if segment.base_offset <= recovery_point), default=0)
    base = segments[first].base_offset
    for offset in [offset for offset in snapshots if offset > base]:
        # Written after the recovery point: they may be missing, torn or of batches that did not survive.
        producer_state.remove_snapshot(folder, offset)
        snapshots.remove(offset)
    _load_producers(folder, segments[:first], producers, snapshots, segments[0].base_offset, base)
    _remove_stray_snapshots(folder, segments, snapshots)
    end = base
    for number, segment in enumerate(segments[first:], first):
        if number > first:
            producers.write_snapshot(folder, segment.base_offset)
        end, intact = recover_segment(segment, config, producers, epochs, recovery_point)
        if not intact:
            for lost in segments[number + 1 :]:
                logger.warning("dropping %s: it follows a batch that did not survive", lost.path())
                _unlink_all(lost)
            del segments[number + 1 :]
            break
        if number + 1 < len(segments):
            segment.persist_indexes(final=True)
            segment.release()
            end = segments[number + 1].base_offset
    producers.end_offset = end
    return end


def recover_segment(
    segment: Segment, config: LogConfig, producers: ProducerStates, epochs: LeaderEpochs, recovery_point: int
) -> tuple[int, bool]:
    """Reads one segment, truncates it at the first bad batch; (end offset, whether all of it was good)."""
    builder = IndexBuilder(segment.base_offset, config.index_interval_bytes)
    aborted: list[AbortedTransaction] = []
    try:
        aborted = [entry for entry in segment.aborted() if entry.last_offset < producers.end_offset]
    except CorruptTransactionIndex as error:
        logger.warning("rebuilding the transaction index of %s: %s", segment.path(), error)
    expected, end = segment.base_offset, 0
    known_epoch = epochs.latest
    limit = segment.base_offset + MAX_RELATIVE_OFFSET
    for batch in segment.batches():
        header = batch.header
        last_offset = header.last_offset
        if header.base_offset < expected or last_offset > limit:
            break
        if last_offset >= recovery_point and not crc_is_valid(batch.buffer, batch.start, header):
            break
        if last_offset >= producers.end_offset:
            try:
                completed = apply(producers, batch)
            except KafkaError:
                break  # a control batch that does not parse
            if completed is not None and completed.aborted:
                aborted.append(completed.transaction)
        builder.add(header, batch.position)
        if end == 0:
            segment.first_timestamp = header.max_timestamp
        if header.leader_epoch > known_epoch:
            known_epoch = header.leader_epoch
            epochs.assign(known_epoch, header.base_offset)
        end, expected = batch.position + header.size, last_offset + 1
    producers.end_offset = expected
    intact = end == segment.size
    if not intact:
        logger.warning("%s: cutting off %d bytes that are no valid batch", segment.path(), segment.size - end)
        os.ftruncate(segment.file().fd, end)
        segment.size = end
    segment.adopt(builder)
    segment.set_aborted(aborted)
    segment.close_file()  # after a crash all partitions come through here; few will be used soon
    return expected, intact


def _check_transaction_indexes(folder: str, names: Iterable[str], segments: list[Segment], end: int) -> None:
    """Rebuilds the ones that are damaged: a read_committed consumer would see aborted records, or nothing at all."""
    present = {offset_of(name) for name in names if name.endswith(TXN_INDEX)}
    for number, segment in enumerate(segments):
        if segment.base_offset not in present:
            continue
        limit = segments[number + 1].base_offset if number + 1 < len(segments) else end
        try:
            for entry in segment.aborted():
                if not (segment.base_offset <= entry.last_offset < limit and entry.first_offset <= entry.last_offset):
                    raise CorruptTransactionIndex(f"a transaction ends at {entry.last_offset}, which is not in it")
        except CorruptTransactionIndex as error:
            logger.warning("rebuilding the transaction index of %s: %s", segment.path(), error)
            segment.set_aborted(_aborted_in(folder, segment))


def _aborted_in(folder: str, segment: Segment) -> list[AbortedTransaction]:
    """The transactions that markers in the segment aborted; the snapshot knows where those from before it began."""
    producers = ProducerStates()
    if not producers.load_snapshot(folder, segment.base_offset):
        producers.clear(segment.base_offset)
    completed = [apply(producers, batch) for batch in segment.batches()]
    return [item.transaction for item in completed if item is not None and item.aborted]


def _unlink_all(segment: Segment) -> None:
    segment.dead = True
    segment.release()
    for kind in FILE_KINDS:
        try:
            os.unlink(segment.path(kind))
        except FileNotFoundError:
            pass


def rebuild_producers(folder: str, segments: list[Segment], producers: ProducerStates, end: int) -> None:
    """The producer state after a truncation to `end`."""
    snapshots = sorted(
        offset
        for name in os.listdir(folder)
        if name.endswith(producer_state.SUFFIX) and (offset := offset_of(name)) is not None
    )
    _load_producers(folder, segments, producers, snapshots, segments[0].base_offset, end)
