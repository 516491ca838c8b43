"""Which of a log's oldest segments may go: by age, by total size, or because DeleteRecords has passed them.

Pure decisions; log.py carries them out. A segment goes only when all of it is below the high watermark. The empty last
segment of a log always stays.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from caudal.broker.log.config import LogConfig
from caudal.broker.log.segment import Segment


def expired(
    segments: Sequence[Segment],
    config: LogConfig,
    *,
    now_ms: int,
    size: int,
    log_start_offset: int,
    log_end_offset: int,
    high_watermark: int,
) -> int:
    """How many segments from the oldest on are to be deleted."""

    def leading(condition: Callable[[int, Segment], bool]) -> int:
        for number, segment in enumerate(segments):
            following = segments[number + 1].base_offset if number + 1 < len(segments) else log_end_offset
            last_and_empty = number + 1 == len(segments) and segment.size == 0
            if high_watermark < following or last_and_empty or not condition(number, segment):
                return number
        return len(segments)

    def below_start(number: int, _: Segment) -> bool:
        return number + 1 < len(segments) and segments[number + 1].base_offset <= log_start_offset

    count = leading(below_start)
    if config.delete and config.retention_ms >= 0:
        count = max(count, leading(lambda _, segment: now_ms - _age_timestamp(segment) > config.retention_ms))
    if config.delete and config.retention_bytes >= 0:
        surplus = size - config.retention_bytes

        def too_much(_: int, segment: Segment) -> bool:
            nonlocal surplus
            surplus -= segment.size
            return surplus >= 0

        count = max(count, leading(too_much))
    return count


def _age_timestamp(segment: Segment) -> int:
    """The time of the latest record, or of the last write where records have none."""
    timestamp = segment.largest_timestamp()
    if timestamp >= 0:
        return timestamp
    return int(os.stat(segment.path()).st_mtime * 1000)
