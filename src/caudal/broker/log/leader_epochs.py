"""Which leader epoch began at which offset (`leader-epoch-checkpoint`): how replicas find where their logs part.

Kept per partition, at most one entry per epoch, both columns increasing. The file is written with the next flush,
before the recovery point passes the batch that began the epoch: what is not in the file, recovery finds in the log.
Deciding to truncate is replication's.
"""

from __future__ import annotations

import logging
import os
from bisect import bisect_right
from operator import itemgetter

from caudal.broker.log.checkpoints import decode_lines, encode_lines, replace_file

logger = logging.getLogger(__name__)

FILE_NAME = "leader-epoch-checkpoint"
UNKNOWN_EPOCH = -1
UNKNOWN_OFFSET = -1

_EPOCH, _START = itemgetter(0), itemgetter(1)


class LeaderEpochs:
    __slots__ = ("_changed", "_entries", "_folder")

    def __init__(self, folder: str) -> None:
        self._folder = folder
        # (epoch, start offset); replaced, never changed in place: `persist` reads it in another thread
        self._entries: list[tuple[int, int]] = []
        self._changed = False

    @property
    def latest(self) -> int:
        return self._entries[-1][0] if self._entries else UNKNOWN_EPOCH

    @property
    def entries(self) -> list[tuple[int, int]]:
        """(epoch, start offset), oldest first."""
        return list(self._entries)

    def assign(self, epoch: int, start_offset: int) -> None:
        """A batch of this epoch was written at this offset. Entries that contradict it are dropped, as Kafka does."""
        if epoch <= UNKNOWN_EPOCH or epoch == self.latest:
            return
        earlier = [entry for entry in self._entries if entry[0] < epoch and entry[1] < start_offset]
        self._replace([*earlier, (epoch, start_offset)])

    def epoch_at(self, offset: int) -> int:
        """The epoch of the batch at the offset, or -1."""
        number = bisect_right(self._entries, offset, key=_START) - 1
        return self._entries[number][0] if number >= 0 else UNKNOWN_EPOCH

    def end_offset(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(largest epoch not after the asked one, where it ends); (-1, -1) when there is no answer."""
        entries = self._entries
        if epoch == UNKNOWN_EPOCH or not entries or epoch > entries[-1][0]:
            return UNKNOWN_EPOCH, UNKNOWN_OFFSET
        if epoch == entries[-1][0]:
            return epoch, log_end_offset
        later = bisect_right(entries, epoch, key=_EPOCH)
        if later == 0:
            # Older than all we know: such a log shares nothing with ours past our first entry.
            return epoch, entries[0][1]
        return entries[later - 1][0], entries[later][1]

    def truncate_from_end(self, end_offset: int) -> None:
        """Entries that begin at or after the new end of the log go."""
        if self._entries and self._entries[-1][1] >= end_offset:
            self._replace([entry for entry in self._entries if entry[1] < end_offset])

    def truncate_from_start(self, start_offset: int) -> None:
        """Entries before the new start go; the epoch in force at the start now begins there."""
        number = bisect_right(self._entries, start_offset, key=_START) - 1
        if (number >= 0 and self._entries[number][1] < start_offset) or number > 0:
            self._replace([(self._entries[number][0], start_offset), *self._entries[number + 1 :]])

    def clear(self) -> None:
        if self._entries:
            self._replace([])

    def _replace(self, entries: list[tuple[int, int]]) -> None:
        self._entries = entries
        self._changed = True

    def persist(self) -> bool:
        """Writes the file if there is news; whether there was. The caller syncs the folder. Blocking."""
        if not self._changed:
            return False
        self._changed = False
        lines = (f"{epoch} {start}" for epoch, start in self._entries)
        replace_file(os.path.join(self._folder, FILE_NAME), encode_lines(lines), sync_name=False)
        return True

    def load(self) -> None:
        path = os.path.join(self._folder, FILE_NAME)
        self._entries, self._changed = [], False
        try:
            with open(path, "rb") as file:
                self._entries = [(int(epoch), int(start)) for epoch, start in decode_lines(file.read())]
        except FileNotFoundError:
            return
        except ValueError as error:
            logger.warning("%s is damaged (%s); going on without it", path, error)
