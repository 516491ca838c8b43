"""The processing log as a topic, and the records of queries that cannot be read as lines of it.

Both travel with a query to the processes that run it (Spark's workers, push queries). Where a `LogTopic` arrives it
becomes that process's sink, so that what expressions report there goes to the topic too. Lines go to Python's log in
any case; a broker that does not take them is not waited for.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import orjson

from caudal.ksql import processing_log
from caudal.ksql.processing_log import Line
from caudal.runtime.record import RecordContext

_lock = threading.Lock()
_producers: dict[LogTopic, Any] = {}
_plain = processing_log.LogSink()


@dataclass(frozen=True)
class LogTopic:
    client: tuple[tuple[str, Any], ...]
    topic: str

    def __call__(self, line: Line) -> None:
        _plain(line)
        producer = _producers.get(self) or self._open()
        try:
            producer.produce(self.topic, orjson.dumps(line, default=str))
            producer.poll(0)
        except BufferError:
            pass  # the broker is away; the line is in Python's log

    def _open(self) -> Any:
        from confluent_kafka import Producer

        with _lock:
            if self not in _producers:
                _producers[self] = Producer({**dict(self.client), "client.id": "caudal-ksql-log", "linger.ms": 50})
            return _producers[self]

    def install(self) -> None:
        processing_log.set_sink(self)

    def __reduce__(self) -> Any:
        return _arrived, (self.client, self.topic)


def _arrived(client: tuple[tuple[str, Any], ...], topic: str) -> LogTopic:
    made = LogTopic(client, topic)
    made.install()
    return made


@dataclass(frozen=True)
class DroppedRecords:
    """`Handlers.dropped` of a query: one line for each record that it leaves out."""

    query_id: str
    lines: LogTopic | None = None

    def __call__(
        self, what: str, context: RecordContext, error: BaseException, key: bytes | None, value: bytes | None
    ) -> None:
        name = f"{self.query_id}.{context.topic}"
        if what == "Deserialising":
            processing_log.report_deserialization(name, error, topic=str(context.topic), data=value)
        else:
            processing_log.report(f"{self.query_id}: {what}", error)
