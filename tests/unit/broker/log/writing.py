"""Short ways to write to a log and to look at what is in it, for the tests of the storage."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from caudal.broker.log.log import Log
from caudal.broker.wire.batch import (
    BatchHeader,
    EndTxnMarker,
    Record,
    build_batch,
    build_marker,
    iter_batches,
    read_header,
    records,
)

KeyValue = tuple[bytes | None, bytes | None]


def open_log(folder: Path, config: Any, **options: Any) -> Log:
    path = folder / "t-0"
    path.mkdir(parents=True, exist_ok=True)
    return Log.open(path, "t", 0, config, **options)


def append(log: Log, *items: KeyValue, timestamp: int = 1000, **fields: Any) -> BatchHeader:
    """Appends one batch with consecutive offsets; `timestamp` counts up by 1 from record to record."""
    base = log.log_end_offset
    batch = build_batch(
        [Record(base + i, timestamp + i, key, value) for i, (key, value) in enumerate(items)],
        **{"leader_epoch": 0, **fields},
    )
    header = read_header(batch)
    log.append(batch, header)
    return header


def append_values(log: Log, count: int, size: int = 20, timestamp: int = 1000) -> None:
    """`count` batches of one record each."""
    for number in range(count):
        append(log, (None, b"%0*d" % (size, log.log_end_offset)), timestamp=timestamp + number)


def produce(
    log: Log, producer_id: int, sequence: int, *items: KeyValue, epoch: int = 0, transactional: bool = False
) -> BatchHeader:
    return append(
        log,
        *items,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )


def end_transaction(log: Log, producer_id: int, *, commit: bool, epoch: int = 0, timestamp: int = 5000) -> int:
    offset = log.log_end_offset
    batch = build_marker(offset, timestamp, producer_id, epoch, EndTxnMarker(commit, 0), 0)
    log.append(batch, read_header(batch))
    return offset


def read_all(log: Log, start: int | None = None, max_bytes: int = 1 << 20) -> list[Record]:
    """Every data record, by reading as a consumer does."""
    offset = log.log_start_offset if start is None else start
    found: list[Record] = []
    while offset < log.log_end_offset:
        data = log.read(offset, max_bytes, log.log_end_offset, whole_batch=True, nowait=False)
        if not data:
            break
        for position, header in iter_batches(data):
            if not header.is_control:
                found += [r for r in records(data, position, header) if r.offset >= offset]
            last = header.last_offset
        offset = last + 1
    return found


def headers(log: Log) -> list[BatchHeader]:
    return [batch.header for batch in log.batches(0)]


def offsets(items: Sequence[Record]) -> list[int]:
    return [item.offset for item in items]


def as_if_crashed(log: Log, target: Path) -> Path:
    """A copy of the folder as a killed process leaves it."""
    path = target / os.path.basename(log.folder)
    shutil.copytree(log.folder, path)
    return path


def file_names(log: Log, suffix: str = "") -> list[str]:
    return sorted(name for name in os.listdir(log.folder) if name.endswith(suffix))
