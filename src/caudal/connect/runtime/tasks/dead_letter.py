"""The dead-letter topic of a sink: the bytes of each failed record as they were, and why it failed in its headers.

A report is only asked for here; `flush` makes all of them durable, and is called before any offset is committed: a
record is always in one of the two places.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import NewTopic

from caudal.connect.errors import ConnectError
from caudal.connect.runtime.model import TaskSpec
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.tasks.client_properties import make_admin, make_producer
from caudal.connect.runtime.tasks.error_policy import Failure
from caudal.connect.runtime.tasks.task_metrics import TaskMetrics
from caudal.connect.runtime.tasks.topic_creation import create_topic

HEADERS = "__connect.errors."
FLUSH_SECONDS = 60.0
FLUSH_SLICE = 0.5


def error_headers(failure: Failure, spec: TaskSpec, trace: str) -> list[tuple[str, bytes | None]]:
    """Kafka Connect's names; what a record that was not consumed lacks is left out."""
    message, error = failure.message, failure.error
    kind = type(error)
    text = {
        "topic": message.topic(),
        "partition": str(message.partition()),
        "offset": str(message.offset()),
        "connector.name": spec.id.connector,
        "task.id": str(spec.id.task),
        "stage": failure.stage.value,
        "class.name": failure.executing,
        "exception.class.name": f"{kind.__module__}.{kind.__qualname__}",
        "exception.message": str(error) or None,
        "exception.stacktrace": trace,
    }
    return [(HEADERS + name, None if value is None else value.encode()) for name, value in text.items()]


class DeadLetterTopic:
    def __init__(
        self,
        topic: str,
        settings: WorkerSettings,
        spec: TaskSpec,
        framework: Mapping[str, Any],
        metrics: TaskMetrics,
    ) -> None:
        self.topic = topic
        self._spec = spec
        self._metrics = metrics
        self._refused: list[Any] = []
        self._lock = threading.Lock()
        config = spec.connector_config
        self._with_headers = bool(framework.get("errors.deadletterqueue.context.headers.enable", False))
        # Kafka Connect wants three replicas unless told: here the broker's default, which one broker can keep too.
        replication = int(framework.get("errors.deadletterqueue.topic.replication.factor", -1))
        create_topic(make_admin(settings, config), NewTopic(topic, 1, replication))
        self._producer = make_producer(settings, config)

    def report(self, failure: Failure, trace: str | None = None) -> None:
        message = failure.message
        if message is None:
            raise ConnectError(
                "This record cannot go to the dead-letter topic: it is not one that put() was given "
                "(report the record itself, or a copy made by dataclasses.replace)."
            )
        headers = list(message.headers() or ())
        if self._with_headers:
            headers += error_headers(failure, self._spec, trace or "".join(traceback.format_exception(failure.error)))
        kind, timestamp = message.timestamp()
        self._metrics.count("deadletterqueue-produce-requests")
        while True:
            try:
                self._producer.produce(
                    self.topic,
                    message.value(),
                    message.key(),
                    on_delivery=self._delivered,
                    timestamp=timestamp if kind else 0,
                    headers=headers,
                )
                break
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as error:
                self._delivered(error.args[0], None)
                break
        self._producer.poll(0)

    def _delivered(self, error: Any, _: Any) -> None:
        if error is not None:
            self._metrics.count("deadletterqueue-produce-failures")
            self._refused.append(error)

    def flush(self, is_unwanted: threading.Event | None = None) -> None:
        """Raises ConnectError where a report did not arrive: the offset behind it must not be committed."""
        deadline = time.monotonic() + FLUSH_SECONDS
        while self._producer.flush(FLUSH_SLICE) > 0 and not self._refused:
            if time.monotonic() > deadline or (is_unwanted is not None and is_unwanted.is_set()):
                raise ConnectError(f"The dead-letter topic '{self.topic}' did not take the reports in time.")
        if self._refused:
            raise ConnectError(f"The dead-letter topic '{self.topic}' refused a report: {self._refused[0].str()}.")

    def purge(self) -> None:
        """What has not arrived by now is reported again by another run."""
        producer = self._producer
        if producer is not None:
            producer.purge(blocking=False)

    def close(self) -> None:
        self._producer.purge()
        self._producer = None
