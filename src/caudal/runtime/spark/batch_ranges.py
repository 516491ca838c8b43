"""Which offsets a batch covers, read from Spark's own write-ahead log in the checkpoint.

Rows do not say where a batch begins and ends: with transactional topics the first row may stand behind markers, and
nothing at all may stand at the end. The log says both, before the batch runs, and only the driver writes it, so it
can be read here even where executors are elsewhere. With it a task can prove that batches join, and commit the
batch's end: lag then is 0 where everything was read. Without it (a file that cannot be read) tasks ask the broker
about every gap.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from caudal.runtime.spark.slots import Slot

log = logging.getLogger("caudal.streams")

# source within the slot, topic, partition, first offset, end (exclusive)
Range = tuple[int, str, int, int, int]
_Ends = list[dict[str, dict[str, int]]]  # by source: topic → partition → end


class BatchRanges:
    def __init__(
        self, checkpoint: Path, slots: Sequence[Slot], begins: Mapping[str, Mapping[tuple[str, int], int]]
    ) -> None:
        self._folder = checkpoint / "offsets"
        # In the order of the plan: slot by slot, source by source. Spark numbers sources so.
        self._sources = [(slot, number, source) for slot in slots for number, source in enumerate(slot.sources)]
        self._begins = begins
        self._read: dict[int, _Ends] = {}

    def of(self, batch: int, slot: int) -> list[Range]:
        try:
            ends = self._ends(batch)
            before = self._ends(batch - 1) if batch > 0 else None
        except (OSError, ValueError, KeyError) as error:
            log.debug("the offsets of batch %d cannot be read: %s", batch, error)
            return []
        result: list[Range] = []
        for index, (owner, number, source) in enumerate(self._sources):
            if owner.number != slot:
                continue
            for topic, partitions in ends[index].items():
                known = self._begins[source.owners[topic]]
                for text, end in partitions.items():
                    partition = int(text)
                    first = known.get((topic, partition)) if before is None else before[index].get(topic, {}).get(text)
                    if first is not None:
                        result.append((number, topic, partition, first, end))
        return result

    def _ends(self, batch: int) -> _Ends:
        if batch not in self._read:
            lines = (self._folder / str(batch)).read_text().splitlines()
            # "v1", the batch's metadata, then a line per source ("-" where it has given nothing yet).
            ends = [{} if line == "-" else json.loads(line) for line in lines[2:]]
            for (_, _, source), found in zip(self._sources, ends, strict=True):
                if not found.keys() <= source.partitions.keys():
                    raise ValueError("the sources are in another order")
            self._read = {number: known for number, known in self._read.items() if number >= batch - 2}
            self._read[batch] = ends
        return self._read[batch]
