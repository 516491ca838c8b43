"""One connector with its tasks as a worker runs them, without the workers' group: for tests of a single connector."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from caudal.connect.connector import Connector
from caudal.connect.connector_config import parse
from caudal.connect.runtime.model import RunningTask, TargetState, TaskId, TaskSpec
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.tasks import start_task
from tests.connect.task_harness import Heard

PATIENCE = 120.0


def until(question: Callable[[], Any], what: str = "it") -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (answer := question()):
        assert time.monotonic() < deadline, f"{what} did not happen: {answer!r}"
        time.sleep(0.05)
    return answer


class SmallWorker:
    """From `start` to `stop`; may be started again and goes on then."""

    def __init__(
        self, connector: type[Connector], bootstrap: str, config: Mapping[str, Any], exactly_once: bool = False
    ) -> None:
        name = f"{connector.__name__}-{id(self)}"
        config = {
            "name": name,
            "connector.class": f"{connector.__module__}.{connector.__name__}",
            **{key: str(value) for key, value in config.items()},
        }
        if exactly_once:
            config["exactly.once.support"] = "required"
        self.config: Mapping[str, str] = config
        self.settings = WorkerSettings(
            bootstrap=bootstrap,
            url="http://127.0.0.1:1",
            offset_flush_seconds=0.2,
            offset_partitions=3,
            allowed_folders=(Path("/"),),
        )
        self.heard = Heard()
        self._class = connector
        self._generation = 0
        self._tasks: list[RunningTask] = []
        self._lock = threading.RLock()
        self.reconfigured = 0

    def __enter__(self) -> SmallWorker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        assert not self.heard.traces, "".join(self.heard.traces)

    def start(self) -> None:
        self._connector = self._class()
        self._connector.name = self.config["name"]
        self._connector.context = self
        self._connector.start(parse(self.config, self.settings))
        self._start_tasks()

    def stop(self) -> None:
        self._connector.stop()
        self._stop_tasks()

    @property
    def tasks(self) -> list[RunningTask]:
        return self._tasks

    # ConnectorContext

    def request_task_reconfiguration(self) -> None:
        with self._lock:
            self._stop_tasks()
            self._start_tasks()
            self.reconfigured += 1

    def raise_error(self, error: Exception) -> None:
        self.heard.traces.append(str(error))

    def _start_tasks(self) -> None:
        self._generation += 1
        configs = self._connector.task_configs(2)
        for number, config in enumerate(configs):
            id = TaskId(self.config["name"], number)
            spec = TaskSpec(id, self.config, config, self._generation, len(configs))
            self._tasks.append(start_task(spec, self.settings, self.heard, TargetState.STARTED))

    def _stop_tasks(self) -> None:
        for task in self._tasks:
            task.stop()
        for task in self._tasks:
            assert task.wait(PATIENCE)
        self._tasks.clear()
