"""Which leader epoch began at which offset (`leader-epoch-checkpoint`): how replicas find where their logs part.

Kept per partition, at most one entry per epoch, both columns increasing. The file is rewritten on a change; it is not
synced each time, since recovery reads the epochs of unflushed batches again. Deciding to truncate is replication's.
"""

from __future__ import annotations

import logging
import os
from bisect import bisect_right

from caudal.broker.log.checkpoints import decode_lines, encode_lines, replace_file

logger = logging.getLogger(__name__)

FILE_NAME = "leader-epoch-checkpoint"
UNKNOWN_EPOCH = -1
UNKNOWN_OFFSET = -1


class LeaderEpochs:
    __slots__ = ("_epochs", "_folder", "_starts")

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._epochs: list[int] = []
        self._starts: list[int] = []

    @property
    def latest(self) -> int:
        return self._epochs[-1] if self._epochs else UNKNOWN_EPOCH

    @property
    def entries(self) -> list[tuple[int, int]]:
        """(epoch, start offset), oldest first."""
        return list(zip(self._epochs, self._starts, strict=True))

    def assign(self, epoch: int, start_offset: int) -> None:
        """A batch of this epoch was written at this offset. Entries that contradict it are dropped, as Kafka does."""
        if epoch <= UNKNOWN_EPOCH or (self._epochs and epoch == self._epochs[-1]):
            return
        while self._epochs and (self._epochs[-1] >= epoch or self._starts[-1] >= start_offset):
            del self._epochs[-1], self._starts[-1]
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        self.write()

    def epoch_at(self, offset: int) -> int:
        """The epoch of the batch at the offset, or -1."""
        entry = bisect_right(self._starts, offset) - 1
        return self._epochs[entry] if entry >= 0 else UNKNOWN_EPOCH

    def end_offset(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(largest epoch not after the asked one, where it ends); (-1, -1) when there is no answer."""
        if epoch == UNKNOWN_EPOCH or not self._epochs or epoch > self._epochs[-1]:
            return UNKNOWN_EPOCH, UNKNOWN_OFFSET
        if epoch == self._epochs[-1]:
            return epoch, log_end_offset
        later = bisect_right(self._epochs, epoch)
        if later == 0:
            # Older than all we know: such a log shares nothing with ours past our first entry.
            return epoch, self._starts[0]
        return self._epochs[later - 1], self._starts[later]

    def truncate_from_end(self, end_offset: int) -> None:
        """Entries that begin at or after the new end of the log go."""
        if self._starts and self._starts[-1] >= end_offset:
            while self._starts and self._starts[-1] >= end_offset:
                del self._epochs[-1], self._starts[-1]
            self.write()

    def truncate_from_start(self, start_offset: int) -> None:
        """Entries before the new start go; the epoch in force at the start now begins there."""
        entry = bisect_right(self._starts, start_offset) - 1
        if entry >= 0 and (entry > 0 or self._starts[0] < start_offset):
            del self._epochs[:entry], self._starts[:entry]
            self._starts[0] = start_offset
            self.write()

    def clear(self) -> None:
        if self._epochs:
            self._epochs, self._starts = [], []
            self.write()

    def write(self, *, sync: bool = False) -> None:
        lines = (f"{epoch} {start}" for epoch, start in self.entries)
        replace_file(os.path.join(self._folder, FILE_NAME), encode_lines(lines), sync=sync)

    def load(self) -> None:
        path = os.path.join(self._folder, FILE_NAME)
        self._epochs, self._starts = [], []
        try:
            with open(path, "rb") as file:
                for epoch, start in decode_lines(file.read()):
                    self._epochs.append(int(epoch))
                    self._starts.append(int(start))
        except FileNotFoundError:
            return
        except ValueError as error:
            self._epochs, self._starts = [], []
            logger.warning("%s is damaged (%s); going on without it", path, error)

    def moved_to(self, folder: str) -> None:
        self._folder = folder
