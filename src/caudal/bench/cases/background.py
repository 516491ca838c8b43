"""A steady producer while the broker is busy with something else: compacting 1 GB, or serving a catch-up read of cold
data.

The read is cold because the pages of the log were written to disk and dropped from the page cache just before; that
they are gone is checked.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from caudal.bench.case import Figure, Session, Values, case, ratio_at_most

RATE = 1000
SIZE = 1024
MESSAGES = 1_000_000  # of SIZE bytes: 1 GB
KEYS = 100_000
COMPACTION_TIMEOUT = 90.0


class StillWarm(Exception):
    """The page cache could not be emptied, so a cold read cannot be measured here."""


@case(
    "compaction",
    {
        "p99": Figure("p99 of a 1,000 msg/s producer during a 1 GB compaction", "ms", False, (ratio_at_most(2.0),)),
        "seconds": Figure("compaction of 1 GB", "s", False),
    },
    max_rounds=2,
)
def compaction(session: Session) -> Values:
    """The topic is filled as `delete` and then turned into `compact`, so that the cleaner's whole work lies inside
    the measured time.
    """
    segment = max(1 << 20, int(100e6 * session.scale))
    topic = session.topic(1, {"cleanup.policy": "delete", "segment.bytes": str(segment)})
    keys = session.count(KEYS)
    session.run("produce", topics=[topic], count=session.count(MESSAGES), size=SIZE, keys=keys)
    folder = session.server.partition_folder(topic)
    producer = session.begin("paced_produce", 1, topic=session.topic(), rate=RATE, seconds=COMPACTION_TIMEOUT + 30)
    time.sleep(1.5)  # its first second is not counted
    before = log_size(folder)
    begin = time.perf_counter()
    session.run("alter_topic", topic=topic, configs={"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"})
    # What may be left: the newest value of each key, and the active segment, which is never compacted.
    expected = keys * (SIZE + 100) + segment * 1.2
    while not is_compacted(folder, min(expected, before * 0.7)):
        if time.perf_counter() - begin > COMPACTION_TIMEOUT:
            break
        time.sleep(0.05)
    seconds = time.perf_counter() - begin
    return {"p99": producer.finish()["p99_ms"], "seconds": seconds}


def log_size(folder: Path) -> int:
    total = 0
    for path in folder.glob("*.log"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # swapped away between the listing and the look
            continue
    return total


def is_compacted(folder: Path, expected: float) -> bool:
    unfinished = any(path.suffix in {".cleaned", ".swap"} for path in folder.iterdir())
    return not unfinished and log_size(folder) <= expected


@case(
    "cold-read",
    {
        "p99": Figure("p99 of a 1,000 msg/s producer during a cold catch-up read", "ms", False, (ratio_at_most(2.0),)),
        "rate": Figure("cold catch-up read of 1 GB", "MB/s", True),
    },
    max_rounds=2,
)
def cold_read(session: Session) -> Values:
    topic, count = session.topic(), session.count(MESSAGES)
    session.run("produce", topics=[topic], count=count, size=SIZE)
    drop_page_cache(session.server.partition_folder(topic))
    producer = session.begin("paced_produce", 1, topic=session.topic(), rate=RATE, seconds=300)
    time.sleep(1.5)  # the producer's first second is not counted
    read = session.run("consume", topic=topic, partitions=1, count=count)
    return {"p99": producer.finish()["p99_ms"], "rate": read["mb"] / read["seconds"]}


def drop_page_cache(folder: Path) -> None:
    """Makes every segment in the folder cold; only clean pages can be dropped, so they are written out first."""
    for path in sorted(folder.glob("*.log")):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            size = os.fstat(descriptor).st_size
            # The tail may be warm again already, the middle must not be.
            if size > 1 << 20 and is_cached(descriptor, size // 2):
                raise StillWarm(
                    "the pages of the log stayed in memory (a file system in memory?): run with --data on a disk"
                )
        finally:
            os.close(descriptor)


def is_cached(descriptor: int, position: int) -> bool:
    try:
        return os.preadv(descriptor, [bytearray(4096)], position, os.RWF_NOWAIT) > 0
    except BlockingIOError:
        return False
