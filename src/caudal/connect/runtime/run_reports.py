"""What runs of connectors and tasks report, brought from their threads to the herder's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caudal.connect.runtime.model import State, TaskId

if TYPE_CHECKING:
    from caudal.connect.runtime.runs import ConnectorEntry, Runs, TaskEntry


class ConnectorReports:
    """From the connector's thread to the herder's."""

    def __init__(self, runs: Runs, name: str, connector: ConnectorEntry) -> None:
        self._runs, self._name, self._connector = runs, name, connector

    def on_state(self, state: State, trace: str | None, error: Exception | None) -> None:
        self._runs.post(lambda: self._runs.connector_reports(self._name, self._connector, state, trace))

    def on_task_configs(self, configs: list[dict[str, str]]) -> None:
        self._runs.post(lambda: self._runs.task_configs_reported(self._name, self._connector, configs))


class TaskReports:
    """From a task's thread to the herder's."""

    def __init__(self, runs: Runs, id: TaskId, task: TaskEntry) -> None:
        self._runs, self._id, self._task = runs, id, task

    def on_state(self, id: TaskId | str, state: State, trace: str | None = None) -> None:
        self._runs.post(lambda: self._runs.task_reports(self._id, self._task, state, trace))

    def on_topic(self, connector: str, topic: str, task: int) -> None:
        self._runs.post(lambda: self._runs.on_topic(connector, topic, task))
