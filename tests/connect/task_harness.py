"""Runs tasks for the tests: a listener that remembers, notes that tasks wrote, and what a topic holds."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from caudal.connect.runtime.model import RunningTask, State, TargetState, TaskId, TaskSpec
from caudal.connect.runtime.offset_store import open_offset_store
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.tasks import start_task

PLUGINS = Path(__file__).parent / "task_plugins"
LIMIT = 120.0  # for anything to happen: the machine may be slow


def wait_for(condition: Callable[[], Any], what: str, limit: float = LIMIT) -> Any:
    deadline = time.monotonic() + limit
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"did not happen: {what}")
        time.sleep(0.02)
    return found


def stored(
    settings: WorkerSettings, name: str, config: Mapping[str, str] | None = None
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The source offsets of a connector."""
    store = open_offset_store(settings, config)
    try:
        return store.read_all(name)
    finally:
        store.close()


class Heard:
    """A listener."""

    def __init__(self) -> None:
        self.states: list[State] = []
        self.traces: list[str] = []
        self.topics: set[str] = set()
        self._lock = threading.Lock()

    def on_state(self, id: TaskId | str, state: State, trace: str | None = None) -> None:
        with self._lock:
            self.states.append(state)
            if trace is not None:
                self.traces.append(trace)

    def on_topic(self, connector: str, topic: str, task: int) -> None:
        with self._lock:
            self.topics.add(topic)

    def wait(self, state: State) -> None:
        def happened() -> bool:
            failed = State.FAILED in self.states and state is not State.FAILED
            assert not failed, "".join(self.traces)
            return state in self.states

        wait_for(happened, f"{state}; there was {self.states}")


class Bench:
    """One worker's settings, and the tasks that were started with them; all of them end with the test."""

    def __init__(self, bootstrap: str, folder: Path, **settings: Any) -> None:
        self.bootstrap = bootstrap
        self.folder = folder
        self.settings = WorkerSettings(
            **{
                "bootstrap": bootstrap,
                "url": "http://127.0.0.1:1",
                "offset_flush_seconds": 0.2,
                "offset_partitions": 3,
                "plugin_path": (PLUGINS,),
                "converter_properties": {
                    "key.converter.schemas.enable": "false",
                    "value.converter.schemas.enable": "false",
                },
                "session_timeout_ms": 6000,
                "heartbeat_interval_ms": 500,
                **settings,
            }
        )
        self.running: list[RunningTask] = []

    def start(
        self,
        kind: str,
        name: str,
        config: Mapping[str, str],
        target: TargetState = TargetState.STARTED,
        task: int = 0,
        heard: Heard | None = None,
    ) -> tuple[RunningTask, Heard]:
        properties = {"name": name, "connector.class": kind, "folder": str(self.folder), **config}
        spec = TaskSpec(TaskId(name, task), properties, properties, 1, 1)
        heard = heard or Heard()
        running = start_task(spec, self.settings, heard, target)
        self.running.append(running)
        return running, heard

    def stop(self, running: RunningTask) -> None:
        running.stop()
        assert running.wait(LIMIT), "the task did not stop"

    def abandon(self, running: RunningTask) -> None:
        running.abandon()
        self.running.remove(running)

    def close(self) -> None:
        for one in self.running:
            one.stop()
        for one in self.running:
            if not one.wait(5):
                one.abandon()

    # -- what happened -----------------------------------------------------------------------------------------------

    def notes(self, what: str, begins: str = "") -> list[Any]:
        found = []
        for path in sorted(self.folder.glob(f"{begins}*")):
            if path.is_file():
                lines = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("]")]
                found += [value for kind, value in lines if kind == what]
        return found

    def records(self, topic: str, isolation: str = "read_committed") -> list[Any]:
        """Every message of the topic, up to its end."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "reader",
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )
        try:
            partitions = consumer.list_topics(topic, timeout=60).topics[topic].partitions
            consumer.assign([TopicPartition(topic, one, 0) for one in partitions])
            found, open_ends = [], set(partitions)
            while open_ends:
                for message in consumer.consume(10_000, 1.0):
                    if message.error() is None:
                        found.append(message)
                    elif message.error().code() == KafkaError._PARTITION_EOF:
                        open_ends.discard(message.partition())
            return found
        finally:
            consumer.close()

    def partitions(self, topic: str) -> int:
        return len(AdminClient({"bootstrap.servers": self.bootstrap}).list_topics(timeout=60).topics[topic].partitions)

    def topic_exists(self, topic: str) -> bool:
        return topic in AdminClient({"bootstrap.servers": self.bootstrap}).list_topics(timeout=60).topics

    def length(self, topic: str) -> int:
        """Offsets in all partitions, whatever is behind them."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "reader"})
        try:
            partitions = consumer.list_topics(topic, timeout=60).topics[topic].partitions
            return sum(consumer.get_watermark_offsets(TopicPartition(topic, one), 60)[1] for one in partitions)
        finally:
            consumer.close()

    def values(self, topic: str) -> list[Any]:
        return [json.loads(message.value()) for message in self.records(topic)]

    def produce(self, topic: str, values: list[Any], partition: int = -1, **more: Any) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5})
        for value in values:
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            producer.produce(topic, data, partition=partition, **more)
        assert producer.flush(60) == 0
