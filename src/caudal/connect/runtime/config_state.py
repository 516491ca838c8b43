"""What the config topic says: connectors, their tasks and target states, as a fold over its records. Pure.

Keys and values are Kafka Connect's. The configurations of a connector's tasks count from their commit record on; where
one is missing (the writer died in the middle, and the older ones are compacted away), the connector has no tasks
until it is asked for them anew.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from caudal.connect.runtime.group_protocol import Load, load
from caudal.connect.runtime.model import TargetState, TaskId

log = logging.getLogger("caudal.connect.config")

CONNECTOR = "connector-"
TASK = "task-"
COMMIT = "commit-"
TARGET = "target-state-"
FENCING = "tasks-fencing-"
RESTART = "restart-connector-"
LOGGER = "logger-cluster-"
SESSION_KEY = "session-key"

Record = tuple[str, dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class SessionKey:
    key: str  # base64
    algorithm: str
    created: int  # milliseconds


@dataclass(frozen=True, slots=True)
class RestartRequest:
    connector: str
    include_tasks: bool
    only_failed: bool


@dataclass(frozen=True, slots=True)
class LogLevel:
    """All workers are to say so much in this logger; those that start later know nothing of it (KIP-976)."""

    logger: str
    level: str


Asked = RestartRequest | LogLevel


@dataclass(frozen=True, slots=True)
class Configs:
    """A snapshot; `offset` is that of the next record."""

    offset: int = 0
    connectors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    written: Mapping[str, int] = field(default_factory=dict)  # the offset of each connector's configuration
    targets: Mapping[str, TargetState] = field(default_factory=dict)
    task_configs: Mapping[str, tuple[Mapping[str, str], ...]] = field(default_factory=dict)
    generations: Mapping[str, int] = field(default_factory=dict)  # the offset of each commit record
    fenced: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # how many tasks may live; offset
    inconsistent: frozenset[str] = frozenset()
    session_key: SessionKey | None = None

    def __contains__(self, connector: str) -> bool:
        return connector in self.connectors

    def target(self, connector: str) -> TargetState:
        return self.targets.get(connector, TargetState.STARTED)

    def tasks(self, connector: str) -> tuple[Mapping[str, str], ...]:
        return self.task_configs.get(connector, ()) if connector in self.connectors else ()

    def task_ids(self, connector: str) -> list[TaskId]:
        return [TaskId(connector, number) for number in range(len(self.tasks(connector)))]

    def generation(self, connector: str) -> int:
        return self.generations.get(connector, 0)

    def load(self) -> Load:
        """Everything that somebody has to run."""
        return load(self.connectors, (task for name in self.connectors for task in self.task_ids(name)))

    def needs_fencing(self, connector: str) -> bool:
        """Whether tasks were configured after earlier ones were last fenced."""
        return self.generation(connector) > self.fenced.get(connector, (0, -1))[1]


class ConfigState:
    """The fold. Used by one thread."""

    def __init__(self) -> None:
        self._offset = 0
        self._connectors: dict[str, Mapping[str, str]] = {}
        self._written: dict[str, int] = {}
        self._targets: dict[str, TargetState] = {}
        self._pending: dict[str, dict[int, Mapping[str, str]]] = {}
        self._tasks: dict[str, tuple[Mapping[str, str], ...]] = {}
        self._generations: dict[str, int] = {}
        self._fenced: dict[str, tuple[int, int]] = {}
        self._inconsistent: set[str] = set()
        self._session_key: SessionKey | None = None

    def snapshot(self) -> Configs:
        return Configs(
            self._offset,
            dict(self._connectors),
            dict(self._written),
            dict(self._targets),
            dict(self._tasks),
            dict(self._generations),
            dict(self._fenced),
            frozenset(self._inconsistent),
            self._session_key,
        )

    def apply(self, offset: int, key: bytes | None, data: bytes | None) -> Asked | None:
        """One record. What is not understood is logged and changes nothing, as in Kafka Connect."""
        self._offset = offset + 1
        try:
            name = (key or b"").decode()
            value = None if data is None else json.loads(data)
            if value is not None and not isinstance(value, dict):
                raise ValueError("it is no JSON object")
            return self._apply(offset, name, value)
        except (ValueError, KeyError, TypeError) as error:
            log.error("the config topic's record at offset %d (%r) is not understood: %s", offset, key, error)
            return None

    def _apply(self, offset: int, key: str, value: dict[str, Any] | None) -> Asked | None:
        if key.startswith(TARGET):
            self._target(key.removeprefix(TARGET), value)
        elif key.startswith(CONNECTOR):
            self._connector(offset, key.removeprefix(CONNECTOR), value)
        elif key.startswith(FENCING):
            if value is not None:
                self._fenced[key.removeprefix(FENCING)] = (int(value["tasks"]), offset)
        elif key.startswith(TASK):
            name, _, number = key.removeprefix(TASK).rpartition("-")
            if value is not None and name:
                self._pending.setdefault(name, {})[int(number)] = _properties(value)
        elif key.startswith(COMMIT):
            if value is not None:
                self._commit(offset, key.removeprefix(COMMIT), int(value["tasks"]))
        elif key == SESSION_KEY:
            if value is not None:
                self._session_key = SessionKey(value["key"], value["algorithm"], int(value["creation-timestamp"]))
        elif key.startswith(RESTART):
            if value is not None:
                name = key.removeprefix(RESTART)
                return RestartRequest(name, bool(value.get("include-tasks")), bool(value.get("only-failed")))
        elif key.startswith(LOGGER):
            if value is not None:
                return LogLevel(key.removeprefix(LOGGER), str(value["level"]))
        else:
            log.debug("the config topic's record %r is not for us", key)
        return None

    def _connector(self, offset: int, name: str, value: dict[str, Any] | None) -> None:
        if value is None:
            for entries in (self._connectors, self._written, self._targets, self._pending, self._tasks, self._fenced):
                entries.pop(name, None)
            self._generations.pop(name, None)
            self._inconsistent.discard(name)
        else:
            self._connectors[name] = _properties(value)
            self._written[name] = offset

    def _target(self, name: str, value: dict[str, Any] | None) -> None:
        if value is None:
            self._targets.pop(name, None)
        else:
            # Workers before Kafka 3.5 know no STOPPED, so it is said in a second field.
            self._targets[name] = TargetState(value.get("state.v2") or value["state"])

    def _commit(self, offset: int, name: str, count: int) -> None:
        pending = self._pending.pop(name, {})
        self._generations[name] = offset
        if any(number not in pending for number in range(count)):
            log.warning("the task configurations of %s are incomplete: it will be asked for them anew", name)
            self._inconsistent.add(name)
            self._tasks.pop(name, None)
        else:
            self._inconsistent.discard(name)
            self._tasks[name] = tuple(pending[number] for number in range(count))


def connector_record(name: str, config: Mapping[str, str]) -> Record:
    return f"{CONNECTOR}{name}", {"properties": dict(config)}


def target_record(name: str, target: TargetState) -> Record:
    old = TargetState.PAUSED if target is TargetState.STOPPED else target
    return f"{TARGET}{name}", {"state": old.value, "state.v2": target.value}


def task_records(name: str, configs: list[dict[str, str]]) -> list[Record]:
    records: list[Record] = [(f"{TASK}{name}-{n}", {"properties": config}) for n, config in enumerate(configs)]
    return [*records, (f"{COMMIT}{name}", {"tasks": len(configs)})]


def removal_records(name: str) -> list[Record]:
    # The commit of no tasks keeps old ones from coming back with a new connector of this name.
    return [(f"{COMMIT}{name}", {"tasks": 0}), (f"{CONNECTOR}{name}", None), (f"{TARGET}{name}", None)]


def fencing_record(name: str, tasks: int) -> Record:
    return f"{FENCING}{name}", {"tasks": tasks}


def restart_record(request: RestartRequest) -> Record:
    return f"{RESTART}{request.connector}", {"include-tasks": request.include_tasks, "only-failed": request.only_failed}


def log_level_record(logger: str, level: str) -> Record:
    return f"{LOGGER}{logger}", {"level": level}


def session_key_record(key: SessionKey) -> Record:
    return SESSION_KEY, {"key": key.key, "algorithm": key.algorithm, "creation-timestamp": key.created}


def _properties(value: dict[str, Any]) -> dict[str, str]:
    properties = value["properties"]
    if not isinstance(properties, dict):
        raise ValueError("its properties are no JSON object")
    return {str(key): one for key, one in properties.items()}
