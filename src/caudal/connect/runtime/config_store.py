"""The config topic of a cluster of workers: followed by all, written by the leader alone.

The leader writes under a transactional id that all workers share, so that a predecessor who still lives and believes
that it leads cannot write any more. A write is answered when it has been read back.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaException

from caudal.connect.errors import ConnectError
from caudal.connect.runtime.compacted_topic import Entry, TopicReader, ensure_topic
from caudal.connect.runtime.config_state import Asked, Configs, ConfigState, Record
from caudal.connect.runtime.model import Rebalancing, RestError
from caudal.registry.errors import RegistryError
from caudal.registry.writer import Pen, PenLost, WriteFailed

log = logging.getLogger("caudal.connect.config")

READ_SECONDS = 30.0

# What the topic says now, and what was asked of all workers; from the reader's thread.
Changed = Callable[[Configs, list[Asked]], None]


class ConfigStore:
    def __init__(self, client: Mapping[str, Any], topic: str, group: str, changed: Changed) -> None:
        self.snapshot = Configs()  # replaced as a whole, so any thread may look
        self._client = client
        self._topic = topic
        self._transactional_id = f"connect-cluster-{group}"
        self._changed = changed
        self._state = ConfigState()
        self._started = False
        self._pen: Pen | None = None
        self._reader: TopicReader | None = None

    def start(self) -> None:
        """Blocks until everything is read."""
        partitions = ensure_topic(self._client, self._topic, 1, most=1)
        self._reader = TopicReader(self._client, self._topic, partitions, self._deliver)
        self._reader.start()
        self._started = True

    def stop(self) -> None:
        self.release()
        if self._reader is not None:
            self._reader.stop()

    def claim(self) -> None:
        """This worker leads: it fences whoever wrote before, and reads what they wrote to the end."""
        self.release()
        try:
            self._pen = Pen(self._client, self._topic, self._transactional_id)
        except KafkaException as error:
            raise ConnectError(f"The right to write {self._topic} cannot be had: {error.args[0].str()}") from None
        if not self.refresh(READ_SECONDS):
            self.release()
            raise ConnectError(f"The topic {self._topic} could not be read to its end in {READ_SECONDS:.0f} s.")

    def release(self) -> None:
        pen, self._pen = self._pen, None
        if pen is not None:
            pen.close()

    def write(self, records: list[Record]) -> None:
        """All or none, and read back. Raises Rebalancing when another worker has become the writer."""
        if self._pen is None:
            self.claim()
        assert self._pen is not None
        try:
            self._pen.append([(key.encode(), _json(value)) for key, value in records])
        except PenLost as error:
            log.warning("another worker writes %s now: %s", self._topic, error)
            self.release()
            raise Rebalancing from None
        except WriteFailed as error:
            # It may be in the topic or not: the next write claims the pen anew, and reads what is there.
            self.release()
            raise RestError(500, f"It is not known whether {self._topic} was written: {error}. Try again.") from None
        except RegistryError as error:
            raise RestError(500, f"{self._topic} was not written: {error}") from None
        if not self.refresh(READ_SECONDS):
            raise RestError(500, f"What was written to {self._topic} could not be read back in {READ_SECONDS:.0f} s.")

    def refresh(self, seconds: float) -> bool:
        """Waits until everything that is committed now is in the snapshot."""
        return self._reader is not None and self._reader.read_to_end(seconds)

    def _deliver(self, entries: list[Entry]) -> None:
        asked: list[Asked] = []
        for entry in entries:
            request = self._state.apply(entry.offset, entry.key, entry.value)
            if request is not None and self._started:  # what was asked of workers before us is done
                asked.append(request)
        self.snapshot = self._state.snapshot()
        self._changed(self.snapshot, asked)


def _json(value: dict[str, Any] | None) -> bytes | None:
    return None if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
