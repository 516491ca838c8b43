"""A worker in memory that answers as the real ones do, and can be told to be slow, to fail, or to name another."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from caudal.connect.runtime.model import RestError, State, TargetState, TaskId

STATES = {
    TargetState.STARTED: State.RUNNING,
    TargetState.PAUSED: State.PAUSED,
    TargetState.STOPPED: State.STOPPED,
}


class FakeHerder:
    def __init__(self) -> None:
        self.configs: dict[str, dict[str, Any]] = {}
        self.targets: dict[str, TargetState] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.error: Exception | None = None  # raised by the next call
        self.healthy: tuple[bool, str] = (True, "")
        self.hold = threading.Event()
        self.hold.set()

    def start(self) -> None:
        self._called("start")

    def stop(self) -> None:
        self._called("stop")

    def _called(self, *call: Any) -> None:
        self.hold.wait(30)
        self.calls.append(call)
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    def _known(self, name: str) -> dict[str, Any]:
        if name not in self.configs:
            raise RestError(404, f"Connector {name} not found")
        return self.configs[name]

    def root(self) -> dict[str, Any]:
        self._called("root")
        return {"version": "1", "commit": "c", "kafka_cluster_id": "k"}

    def is_healthy(self) -> tuple[bool, str]:
        self.hold.wait(30)
        return self.healthy

    def connectors(self) -> list[str]:
        self._called("connectors")
        return sorted(self.configs)

    def info(self, name: str) -> dict[str, Any]:
        self._called("info", name)
        return {"name": name, "config": self._known(name), "tasks": [{"connector": name, "task": 0}], "type": "source"}

    def status(self, name: str) -> dict[str, Any]:
        self._called("status", name)
        self._known(name)
        state = {"state": STATES[self.targets[name]].value, "worker_id": "w:1"}
        return {"name": name, "connector": state, "tasks": [{"id": 0, **state}], "type": "source"}

    def task_status(self, id: TaskId) -> dict[str, Any]:
        self._called("task_status", id)
        self._known(id.connector)
        return {"id": id.task, "state": "RUNNING", "worker_id": "w:1"}

    def tasks(self, name: str) -> list[dict[str, Any]]:
        self._called("tasks", name)
        return [{"id": {"connector": name, "task": 0}, "config": self._known(name)}]

    def create(self, name: str, config: Mapping[str, Any], initial_state: TargetState | None) -> dict[str, Any]:
        self._called("create", name, dict(config), initial_state)
        if name in self.configs:
            raise RestError(409, f"Connector {name} already exists")
        self.configs[name] = dict(config)
        self.targets[name] = initial_state or TargetState.STARTED
        return self.info(name)

    def put_config(self, name: str, config: Mapping[str, Any]) -> tuple[bool, dict[str, Any]]:
        self._called("put_config", name, dict(config))
        is_new = name not in self.configs
        self.configs[name] = dict(config)
        self.targets.setdefault(name, TargetState.STARTED)
        return is_new, self.info(name)

    def patch_config(self, name: str, patch: Mapping[str, Any]) -> dict[str, Any]:
        self._called("patch_config", name, dict(patch))
        merged = {**self._known(name), **patch}
        self.configs[name] = {key: value for key, value in merged.items() if value is not None}
        return self.info(name)

    def delete(self, name: str) -> None:
        self._called("delete", name)
        self._known(name)
        del self.configs[name]

    def set_target(self, name: str, target: TargetState) -> None:
        self._called("set_target", name, target)
        self._known(name)
        self.targets[name] = target

    def restart(self, name: str, include_tasks: bool, only_failed: bool) -> dict[str, Any] | None:
        self._called("restart", name, include_tasks, only_failed)
        self._known(name)
        return self.status(name) if include_tasks or only_failed else None

    def restart_task(self, id: TaskId) -> None:
        self._called("restart_task", id)
        self._known(id.connector)

    def topics(self, name: str) -> list[str]:
        self._called("topics", name)
        self._known(name)
        return ["a", "b"]

    def reset_topics(self, name: str) -> None:
        self._called("reset_topics", name)
        self._known(name)

    def offsets(self, name: str) -> dict[str, Any]:
        self._called("offsets", name)
        self._known(name)
        return {"offsets": [{"partition": {"file": "f"}, "offset": {"position": 3}}]}

    def alter_offsets(self, name: str, body: Mapping[str, Any]) -> str:
        self._called("alter_offsets", name, dict(body))
        self._known(name)
        return "altered"

    def reset_offsets(self, name: str) -> str:
        self._called("reset_offsets", name)
        self._known(name)
        return "reset"

    def validate(self, plugin: str, config: Mapping[str, Any]) -> dict[str, Any]:
        self._called("validate", plugin, dict(config))
        return {"name": plugin, "error_count": 0, "groups": [], "configs": []}

    def put_task_configs(self, name: str, configs: list[dict[str, str]], signature: str | None) -> None:
        self._called("put_task_configs", name, configs, signature)

    def fence(self, name: str, signature: str | None) -> None:
        self._called("fence", name, signature)

    def set_cluster_log_level(self, name: str, level: str) -> None:
        self._called("set_cluster_log_level", name, level)

    def metrics(self) -> dict[str, dict[str, float]]:
        self._called("metrics")
        return {"": {"task-count": 2}, "lines": {"task-count": 1}, "lines-0": {"source-record-poll-total": 7}}
