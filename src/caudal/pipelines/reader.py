"""Reads the reports: to the end (`caudal pipeline`), or from a thread that follows them (the control center)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from caudal.pipelines.board import Board
from caudal.pipelines.records import PIPELINES_TOPIC

log = logging.getLogger("caudal.pipelines")

CALL_SECONDS = 10.0
AGAIN_SECONDS = 2.0
POLL_SECONDS = 0.2
AT_ONCE = 500


def _consumer(connection: Mapping[str, Any]) -> Any:
    return Consumer(
        {
            **connection,
            "client.id": "caudal-pipelines-reader",
            "group.id": "caudal-pipelines-reader",  # never joined: the partition is assigned by hand
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 500,
            "allow.auto.create.topics": False,
        }
    )


class BoardReader:
    """Fills a board. `read` is called again and again, from one thread."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self.board = Board()
        self.caught_up = False
        self.is_following = False  # the topic is there
        self._consumer = _consumer(connection)

    def read(self, seconds: float) -> None:
        """Takes what there is. Waits at most so long for something. Raises KafkaException where nobody answers."""
        if not self.is_following and not self._assign():
            return
        for message in self._consumer.consume(AT_ONCE, seconds):
            error = message.error()
            if error is None:
                self.board.take(message.key(), message.value(), message.timestamp()[1])
            elif error.code() == KafkaError._PARTITION_EOF:
                self.caught_up = True
            elif error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION):
                self.is_following = False  # deleted under way
            elif not error.retriable():
                raise KafkaException(error)

    def catch_up(self, seconds: float) -> None:
        """Reads to the end of what is there. Raises KafkaException, TimeoutError."""
        deadline = time.monotonic() + seconds
        while not self.caught_up:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{PIPELINES_TOPIC} could not be read to its end in {seconds:.0f} s")
            self.read(POLL_SECONDS)

    def _assign(self) -> bool:
        """False: there is no such topic, so no pipeline has ever reported."""
        found = self._consumer.list_topics(PIPELINES_TOPIC, CALL_SECONDS).topics[PIPELINES_TOPIC]
        if found.error is not None:
            if found.error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise KafkaException(found.error)
            self.caught_up = True
            return False
        self._consumer.assign([TopicPartition(PIPELINES_TOPIC, 0, 0)])
        self.is_following, self.caught_up = True, False
        return True

    def close(self) -> None:
        self._consumer.close()


class BoardFollower:
    """A thread that keeps a board up to date. It outlives a broker that is away."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._reader = BoardReader(connection)
        self._stopping = threading.Event()
        self._caught_up = threading.Event()
        self.trouble: str | None = None  # why nothing is read
        self._thread = threading.Thread(target=self._run, name="caudal-pipelines-board", daemon=True)

    def start(self) -> BoardFollower:
        self._thread.start()
        return self

    @property
    def board(self) -> Board:
        return self._reader.board

    def wait(self, seconds: float) -> bool:
        """Until the board has everything that was there at the start."""
        return self._caught_up.wait(seconds)

    def close(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(CALL_SECONDS)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._reader.read(POLL_SECONDS)
                self.trouble = None
                if self._reader.caught_up:
                    self._caught_up.set()
                if not self._reader.is_following:
                    self._stopping.wait(AGAIN_SECONDS)
            except KafkaException as error:
                self.trouble = error.args[0].str() if isinstance(error.args[0], KafkaError) else str(error)
                self._stopping.wait(AGAIN_SECONDS)
            except Exception:
                log.exception("the reports of pipelines cannot be read")
                self.trouble = "unexpected trouble; the log says more"
                self._stopping.wait(AGAIN_SECONDS)
        self._reader.close()
