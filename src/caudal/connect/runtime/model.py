"""Connectors, tasks and their states: the words that the worker's parts use among themselves and REST shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol


class State(StrEnum):
    """Of a connector or a task, by Kafka Connect's names."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
    DESTROYED = "DESTROYED"  # only in the status topic


class TargetState(StrEnum):
    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class TaskId(NamedTuple):
    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """Everything that one run of a task needs; plain data, so that it can be sent to a process."""

    id: TaskId
    connector_config: Mapping[str, str]  # secrets filled in
    task_config: Mapping[str, str]  # secrets filled in
    generation: int  # of the connector's task configurations; a later one fences an earlier (exactly once)
    tasks: int  # how many the connector has


class Listener(Protocol):
    """Told by tasks and connectors, from any thread."""

    def on_state(self, id: TaskId | str, state: State, trace: str | None = None) -> None:
        """A str is a connector. FAILED and UNASSIGNED (stopped in good order) end a run."""

    def on_topic(self, connector: str, topic: str, task: int) -> None:
        """A topic that this connector has used, once for each."""


class RunningTask(Protocol):
    """A run of a task. No call blocks but `wait`."""

    id: TaskId

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def stop(self) -> None:
        """Flushes and commits, then ends; UNASSIGNED is told."""

    def wait(self, seconds: float) -> bool:
        """Whether it has ended. One that has not by then is abandoned: what it still writes is fenced or ignored."""

    def abandon(self) -> None: ...

    def metrics(self) -> dict[str, float]:
        """By the names of Kafka Connect's task metrics (source-record-poll-total, sink-record-send-total, …)."""


class RestError(Exception):
    """An answer of the REST API that is not a success."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Forward(Exception):
    """Another worker has to answer: the leader, or the owner of a connector or task. The REST layer sends it there."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


class Rebalancing(RestError):
    def __init__(self) -> None:
        super().__init__(409, "Cannot complete request momentarily due to a rebalance; try again in a moment.")


class Herder(Protocol):
    """What REST can ask of a worker; the distributed and the standalone one answer alike. Every call may block, and
    raises RestError or Forward. Bodies are Kafka Connect's."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def root(self) -> dict[str, Any]:
        """version, commit, kafka_cluster_id."""

    def is_healthy(self) -> tuple[bool, str]: ...

    def connectors(self) -> list[str]: ...

    def info(self, name: str) -> dict[str, Any]:
        """name, config (secrets as they were given: `${file:…}`), tasks, type. 404."""

    def status(self, name: str) -> dict[str, Any]: ...

    def task_status(self, id: TaskId) -> dict[str, Any]: ...

    def tasks(self, name: str) -> list[dict[str, Any]]: ...

    def create(self, name: str, config: Mapping[str, Any], initial_state: TargetState | None) -> dict[str, Any]:
        """409 when there is one, 400 when the configuration is wrong (each property named)."""

    def put_config(self, name: str, config: Mapping[str, Any]) -> tuple[bool, dict[str, Any]]:
        """Whether it is new, and its info."""

    def patch_config(self, name: str, patch: Mapping[str, Any]) -> dict[str, Any]:
        """null removes a property."""

    def delete(self, name: str) -> None: ...

    def set_target(self, name: str, target: TargetState) -> None: ...

    def restart(self, name: str, include_tasks: bool, only_failed: bool) -> dict[str, Any] | None:
        """The status as it is to be, where tasks are included; None otherwise (204)."""

    def restart_task(self, id: TaskId) -> None: ...

    def topics(self, name: str) -> list[str]: ...

    def reset_topics(self, name: str) -> None: ...

    def offsets(self, name: str) -> dict[str, Any]: ...

    def alter_offsets(self, name: str, body: Mapping[str, Any]) -> str:
        """The message of the answer. The connector must be STOPPED."""

    def reset_offsets(self, name: str) -> str: ...

    def validate(self, plugin: str, config: Mapping[str, Any]) -> dict[str, Any]:
        """name, error_count, groups, configs: Kafka Connect's body."""

    def put_task_configs(self, name: str, configs: list[dict[str, str]], signature: str | None) -> None:
        """From the worker that runs the connector, to the leader (POST /connectors/{c}/tasks, signed)."""

    def fence(self, name: str, signature: str | None) -> None:
        """From a worker that is to run an exactly-once source's tasks, to the leader (PUT /connectors/{c}/fence)."""

    def set_cluster_log_level(self, name: str, level: str) -> None:
        """Every worker calls `log_levels.set_log_level` with these (PUT /admin/loggers/{name}?scope=cluster)."""

    def metrics(self) -> dict[str, dict[str, float]]:
        """Of this worker: by "" (the worker), connector, or task (`orders-0`), then by Kafka Connect's names."""
