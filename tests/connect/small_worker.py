"""A worker of a few lines for tests of one connector: tasks in threads, offsets in memory, transactions if asked.

It keeps to the contract of `connector.py`. What a real worker adds (groups, topics, restarts) has its own tests.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from confluent_kafka import Message, Producer

from caudal.connect.connector import SourceConnector, SourceTask
from caudal.connect.records import RecordMetadata, SourceRecord

PATIENCE = 120.0


def until(question: Callable[[], Any], what: str = "it") -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (answer := question()):
        assert time.monotonic() < deadline, f"{what} did not happen: {answer!r}"
        time.sleep(0.05)
    return answer


class _Offsets(dict[str, dict[str, Any]]):
    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return self.get(json.dumps(partition, sort_keys=True))

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        return [self.offset(partition) for partition in partitions]


class _TaskContext:
    def __init__(self, config: Mapping[str, str], offsets: _Offsets) -> None:
        self.config = config
        self.offsets = offsets
        self.stopping = threading.Event()

    def report_error(self, record: SourceRecord | None, error: Exception) -> None:
        raise error


class SmallWorker:
    """Runs one source connector, from `start` to `stop`; may be started again and goes on then."""

    def __init__(
        self, connector: type[SourceConnector], bootstrap: str, config: Mapping[str, Any], exactly_once: bool = False
    ) -> None:
        self.config = {"name": connector.__name__, **{name: str(value) for name, value in config.items()}}
        self._class = connector
        self._bootstrap = bootstrap
        self._exactly_once = exactly_once
        self._offsets = _Offsets()
        self._tasks: list[tuple[_TaskContext, threading.Thread]] = []
        self._lock = threading.RLock()
        self.failures: list[BaseException] = []
        self.reconfigured = 0

    def __enter__(self) -> SmallWorker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        assert not self.failures, self.failures

    def start(self) -> None:
        self._connector = self._class()
        self._connector.name = self.config["name"]
        self._connector.context = self
        self._connector.start(self._class.config().parse(self.config))
        self._start_tasks()

    def stop(self) -> None:
        self._connector.stop()
        self._stop_tasks()

    # ConnectorContext

    def request_task_reconfiguration(self) -> None:
        with self._lock:
            self._stop_tasks()
            self._start_tasks()
            self.reconfigured += 1

    def raise_error(self, error: Exception) -> None:
        self.failures.append(error)

    def _start_tasks(self) -> None:
        for config in self._connector.task_configs(2):
            context = _TaskContext(config, self._offsets)
            thread = threading.Thread(target=self._run, args=(context, len(self._tasks)), daemon=True)
            self._tasks.append((context, thread))
            thread.start()

    def _stop_tasks(self) -> None:
        for context, _ in self._tasks:
            context.stopping.set()
        for _, thread in self._tasks:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        self._tasks.clear()

    def _run(self, context: _TaskContext, number: int) -> None:
        properties: dict[str, Any] = {"bootstrap.servers": self._bootstrap, "linger.ms": 5, "enable.idempotence": True}
        if self._exactly_once:
            properties["transactional.id"] = f"{self.config['name']}-{number}"
        producer = Producer(properties)
        task = self._class.task()
        assert isinstance(task, SourceTask)
        try:
            if self._exactly_once:
                producer.init_transactions(PATIENCE)
            task.context = context
            task.start(self._class.config().parse(context.config))
            while not context.stopping.is_set():
                records = task.poll()
                if records:
                    self._send(producer, task, list(records))
        except BaseException as error:
            self.failures.append(error)
        finally:
            task.stop()

    def _send(self, producer: Producer, task: SourceTask, records: list[SourceRecord]) -> None:
        places: list[RecordMetadata | None] = [None] * len(records)

        def note(at: int) -> Callable[[Any, Message], None]:
            def delivered(error: Any, message: Message) -> None:
                assert error is None, error
                places[at] = RecordMetadata(
                    str(message.topic()), int(message.partition() or 0), int(message.offset() or 0)
                )

            return delivered

        if self._exactly_once:
            producer.begin_transaction()
        for at, record in enumerate(records):
            producer.produce(
                record.topic,
                record.value,
                record.key,
                record.kafka_partition if record.kafka_partition is not None else -1,
                on_delivery=note(at),
                timestamp=record.timestamp or 0,
                headers=[(header.key, header.value) for header in record.headers],
            )
        producer.flush(PATIENCE)
        if self._exactly_once:
            producer.commit_transaction(PATIENCE)
        for record, place in zip(records, places, strict=True):
            assert place is not None
            task.commit_record(record, place)
            self._offsets[json.dumps(record.partition, sort_keys=True)] = dict(record.offset)
        task.commit()
