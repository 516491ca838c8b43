"""Zombies of exactly-once sources are fenced: the producers of an earlier generation can commit nothing any more.

The leader fences all tasks of a connector's former configuration before new ones start (`fence`): there may have been
more of them. Each new run then takes its own transactional id, which fences its direct predecessor.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from caudal.connect.errors import ConnectError
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.tasks.client_properties import make_producer
from caudal.connect.runtime.tasks.error_policy import RunStopped

INIT_SECONDS = 60.0
INIT_SLICE = 5.0
FENCED = {
    KafkaError._FENCED,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
}


def transactional_id(settings: WorkerSettings, connector: str, task: int) -> str:
    return f"{settings.group_id}-{connector}-{task}"


def initialised(producer: Any, stopping: threading.Event | None = None) -> None:
    """Takes the transactional id: whoever had it is fenced, and what they left open is ended."""
    deadline = time.monotonic() + INIT_SECONDS
    while True:
        try:
            producer.init_transactions(INIT_SLICE)
            return
        except KafkaException as error:
            reason = error.args[0]
            if stopping is not None and stopping.is_set():
                raise RunStopped from error
            if not reason.retriable() or time.monotonic() > deadline:
                raise ConnectError(f"The transactional producer cannot be made: {reason.str()}.") from error


def fence(settings: WorkerSettings, connector: str, tasks: int, connector_config: Mapping[str, str]) -> None:
    """Ends every transaction of the tasks 0 to `tasks` - 1 and shuts their producers out. Blocks; ConnectError."""

    def shut_out(task: int) -> None:
        producer = make_producer(
            settings,
            connector_config,
            **{
                "transactional.id": transactional_id(settings, connector, task),
                "transaction.timeout.ms": 10_000,
                "message.timeout.ms": 10_000,
            },
        )
        initialised(producer)

    if tasks > 0:
        with ThreadPoolExecutor(min(tasks, 8), thread_name_prefix="connect-fence") as pool:
            list(pool.map(shut_out, range(tasks)))
