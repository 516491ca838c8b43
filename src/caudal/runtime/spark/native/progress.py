"""How far a native query is, from the files of its checkpoint: a batch whose commit is there is written to Kafka.

Looking at a folder costs microseconds; asking Spark for its progress costs milliseconds, and an idle application must
not cost anything.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

Places = dict[tuple[str, int], int]


class BatchProgress:
    """Of one start of a query."""

    def __init__(self, checkpoint: Path) -> None:
        self._offsets = checkpoint / "offsets"
        self._commits = checkpoint / "commits"
        self.finished = -1  # the last batch that `advance` gave

    def advance(self) -> Places | None:
        """Where the batches that are done end; None where there is none beyond those that were given before."""
        last = _last(self._commits)
        if last <= self.finished:
            return None
        ends = self._ends(last)
        self.finished = last
        return ends

    def is_under_way(self) -> bool:
        """Whether a batch was begun and is not done."""
        return _last(self._offsets) > _last(self._commits)

    def planned(self) -> Places:
        """Where the last batch ends that was begun; nothing where none was."""
        last = _last(self._offsets)
        return {} if last < 0 else self._ends(last)

    def _ends(self, batch: int) -> Places:
        """A line with the format, one with the batch's metadata, then one per source ("-": it gave nothing yet)."""
        lines = (self._offsets / str(batch)).read_text().splitlines()[2:]
        sources = [json.loads(line) for line in lines if line != "-"]
        return {
            (topic, int(number)): offset
            for source in sources
            for topic, partitions in source.items()
            for number, offset in partitions.items()
        }


def _last(folder: Path) -> int:
    try:
        return max((int(name) for name in os.listdir(folder) if name.isdigit()), default=-1)
    except FileNotFoundError:
        return -1
