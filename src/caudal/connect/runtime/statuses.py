"""The states of connectors and tasks as all workers see them: the status topic, or the memory of a single worker.

Keys and values are Kafka Connect's: `status-connector-NAME`, `status-task-NAME-N`, and for topics that a connector has
used `status-topic-TOPIC:connector-NAME`. A tombstone removes.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from caudal.connect.runtime.compacted_topic import Entry, TopicReader, ensure_topic
from caudal.connect.runtime.model import State, TaskId

log = logging.getLogger("caudal.connect.status")

CONNECTOR = "status-connector-"
TASK = "status-task-"
TOPIC = "status-topic-"
TOPIC_SEPARATOR = ":connector-"
FLUSH_SECONDS = 10.0
TRACE_LIMIT = 60_000  # characters: a status is one record of a topic


@dataclass(frozen=True, slots=True)
class Status:
    state: State
    worker_id: str
    generation: int = 0  # of the group
    trace: str | None = None
    version: str | None = None  # of the connector


# Told of every status that comes, from the reader's thread.
Seen = Callable[[TaskId | str, Status], None]


class Statuses:
    """In memory; what subclasses write comes back through `_apply`. Any thread may read: entries are replaced."""

    def __init__(self, seen: Seen | None = None) -> None:
        self._seen = seen
        self._connectors: dict[str, Status] = {}
        self._tasks: dict[str, dict[int, Status]] = {}
        self._topics: dict[str, dict[str, int]] = {}  # connector → topic → the task that used it first

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def flush(self) -> None:
        """Waits until what was put is safe."""

    def refresh(self, seconds: float) -> bool:
        """Waits until everything that others have put is seen."""
        return True

    def connector(self, name: str) -> Status | None:
        return self._connectors.get(name)

    def task(self, id: TaskId) -> Status | None:
        return self._tasks.get(id.connector, {}).get(id.task)

    def tasks(self, name: str) -> dict[int, Status]:
        return self._tasks.get(name, {})

    def topics(self, name: str) -> list[str]:
        return sorted(self._topics.get(name, {}))

    def names(self) -> set[str]:
        """The connectors of which anything is known."""
        return {*list(self._connectors), *list(self._tasks), *list(self._topics)}

    def put(self, id: TaskId | str, status: Status) -> None:
        self._write(_key(id), {**asdict(status), "trace": _shortened(status.trace)})

    def put_if_mine(self, id: TaskId | str, status: Status) -> None:
        """For what may come late: a run that has ended says so only where nobody else has taken over since."""
        known = self.task(id) if isinstance(id, TaskId) else self.connector(id)
        if known is None or known.worker_id == status.worker_id or known.generation <= status.generation:
            self.put(id, status)

    def remove(self, id: TaskId | str) -> None:
        self._write(_key(id), None)

    def add_topic(self, connector: str, topic: str, task: int) -> None:
        if topic not in self._topics.get(connector, {}):
            used = {"name": topic, "connector": connector, "task": task, "discoverTimestamp": int(time.time() * 1000)}
            self._write(f"{TOPIC}{topic}{TOPIC_SEPARATOR}{connector}", {"topic": used})

    def remove_topics(self, connector: str) -> None:
        for topic in self.topics(connector):
            self._write(f"{TOPIC}{topic}{TOPIC_SEPARATOR}{connector}", None)

    def forget(self, connector: str) -> None:
        """Nothing is left of a connector that was deleted."""
        for task in sorted(self.tasks(connector)):
            self.remove(TaskId(connector, task))
        if self.connector(connector) is not None:
            self.remove(connector)
        self.remove_topics(connector)

    def _write(self, key: str, value: dict[str, Any] | None) -> None:
        self._apply(key, value)

    def _apply(self, key: str, value: dict[str, Any] | None) -> None:
        if key.startswith(TOPIC):
            # Neither topics nor the separator have a colon in them; connectors may.
            topic, _, connector = key.removeprefix(TOPIC).partition(TOPIC_SEPARATOR)
            used = dict(self._topics.get(connector, {}))
            if value is None:
                used.pop(topic, None)
            else:
                used[topic] = int(value["topic"]["task"])
            _keep(self._topics, connector, used)
        elif key.startswith(TASK):
            name, _, number = key.removeprefix(TASK).rpartition("-")
            statuses = dict(self._tasks.get(name, {}))
            status = _status(value)
            if status is None:
                statuses.pop(int(number), None)
            else:
                statuses[int(number)] = status
            _keep(self._tasks, name, statuses)
            self._tell(TaskId(name, int(number)), status)
        elif key.startswith(CONNECTOR):
            name, status = key.removeprefix(CONNECTOR), _status(value)
            if status is None:
                self._connectors.pop(name, None)
            else:
                self._connectors[name] = status
            self._tell(name, status)

    def _tell(self, id: TaskId | str, status: Status | None) -> None:
        if self._seen is not None and status is not None:
            self._seen(id, status)


class StatusTopic(Statuses):
    def __init__(self, client: Mapping[str, Any], topic: str, partitions: int, seen: Seen | None = None) -> None:
        super().__init__()
        self._tell_later = seen
        self._client = client
        self._topic = topic
        self._partitions = partitions
        self._reader: TopicReader | None = None
        self._producer: Producer | None = None

    def start(self) -> None:
        partitions = ensure_topic(self._client, self._topic, self._partitions)
        # Java's partitioner: where a Java worker takes over, a key must be in the same partition, or it is there twice.
        settings = {"enable.idempotence": True, "acks": "all", "linger.ms": 0, "partitioner": "murmur2_random"}
        self._producer = Producer({**self._client, **settings})
        self._reader = TopicReader(self._client, self._topic, partitions, self._deliver)
        self._reader.start()
        self._seen = self._tell_later  # the past is no news

    def stop(self) -> None:
        self.flush()
        self._producer = None
        if self._reader is not None:
            self._reader.stop()

    def flush(self) -> None:
        if self._producer is not None:
            self._producer.flush(FLUSH_SECONDS)

    def refresh(self, seconds: float) -> bool:
        return self._reader is not None and self._reader.read_to_end(seconds)

    def _write(self, key: str, value: dict[str, Any] | None) -> None:
        if self._producer is None:
            return  # a late word of a worker that has stopped
        data = None if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        try:
            self._producer.produce(self._topic, key=key.encode(), value=data, on_delivery=self._delivered)
            self._producer.poll(0)
        except (BufferError, KafkaException) as error:
            log.error("the status %s could not be written: %s", key, error)

    def _delivered(self, error: KafkaError | None, message: Any) -> None:
        if error is not None:
            log.error("a status could not be written: %s", error.str())

    def _deliver(self, entries: list[Entry]) -> None:
        for entry in entries:
            try:
                self._apply((entry.key or b"").decode(), None if entry.value is None else json.loads(entry.value))
            except (ValueError, KeyError, TypeError) as error:
                log.error("the status topic's record %r is not understood: %s", entry.key, error)


def _status(value: dict[str, Any] | None) -> Status | None:
    if value is None or value["state"] == State.DESTROYED:
        return None
    generation, trace, version = value.get("generation"), value.get("trace"), value.get("version")
    return Status(State(value["state"]), str(value.get("worker_id") or ""), int(generation or 0), trace, version)


def _shortened(trace: str | None) -> str | None:
    if trace is None or len(trace) <= TRACE_LIMIT:
        return trace
    return f"{trace[: TRACE_LIMIT // 2]}\n…\n{trace[-TRACE_LIMIT // 2 :]}"


def _key(id: TaskId | str) -> str:
    return f"{TASK}{id.connector}-{id.task}" if isinstance(id, TaskId) else f"{CONNECTOR}{id}"


def _keep(entries: dict[str, Any], name: str, entry: Any) -> None:
    if entry:
        entries[name] = entry
    else:
        entries.pop(name, None)
