"""The bodies of the REST API that say how things are: made of configurations and statuses, and of nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caudal.connect.errors import ConnectError
from caudal.connect.plugins import PluginKind, find
from caudal.connect.runtime.config_state import Configs, RestartRequest
from caudal.connect.runtime.model import RestError, State, TaskId
from caudal.connect.runtime.statuses import Status, Statuses

VALIDATE = "/connector-plugins/{connectorType}/config/validate"
FAILED = (State.FAILED, State.RESTARTING)


def connector_type(config: Mapping[str, str]) -> str:
    try:
        return find(config.get("connector.class", ""), PluginKind.SOURCE, PluginKind.SINK).kind.value
    except ConnectError:
        return "unknown"


def version_of(config: Mapping[str, str]) -> str | None:
    """Of the connector's class; None where there is none."""
    try:
        return find(config.get("connector.class", ""), PluginKind.SOURCE, PluginKind.SINK).version
    except ConnectError:
        return None


def not_found(name: str) -> RestError:
    return RestError(404, f"Connector {name} not found")


def info(name: str, configs: Configs) -> dict[str, Any]:
    config = _config(name, configs)
    return {
        "name": name,
        "config": dict(config),
        "tasks": [id._asdict() for id in configs.task_ids(name)],
        "type": connector_type(config),
    }


def tasks(name: str, configs: Configs) -> list[dict[str, Any]]:
    _config(name, configs)
    pairs = zip(configs.task_ids(name), configs.tasks(name), strict=True)
    return [{"id": id._asdict(), "config": dict(config)} for id, config in pairs]


def status(name: str, configs: Configs, statuses: Statuses) -> dict[str, Any]:
    """A connector of which nothing was heard yet is UNASSIGNED; Kafka Connect has a 404 for that moment."""
    config = _config(name, configs)
    return {
        "name": name,
        "connector": _state(statuses.connector(name)),
        "tasks": [{"id": id.task, **_state(statuses.task(id))} for id in configs.task_ids(name)],
        "type": connector_type(config),
    }


def task_status(id: TaskId, configs: Configs, statuses: Statuses) -> dict[str, Any]:
    _config(id.connector, configs)
    if id not in configs.task_ids(id.connector):
        raise RestError(404, f"No status found for task {id}")
    return {"id": id.task, **_state(statuses.task(id))}


def to_restart(request: RestartRequest, configs: Configs, statuses: Statuses) -> tuple[bool, list[TaskId]]:
    """Whether the connector itself is meant, and which of its tasks."""
    known = statuses.connector(request.connector)
    itself = not request.only_failed or (known is not None and known.state in FAILED)
    if not request.include_tasks:
        return itself, []
    ids = configs.task_ids(request.connector)
    if request.only_failed:
        ids = [id for id in ids if (one := statuses.task(id)) is not None and one.state in FAILED]
    return itself, ids


def status_when_restarting(request: RestartRequest, configs: Configs, statuses: Statuses) -> dict[str, Any]:
    itself, ids = to_restart(request, configs, statuses)
    body = status(request.connector, configs, statuses)
    if itself:
        body["connector"] = _restarting(body["connector"])
    body["tasks"] = [
        _restarting(task) if TaskId(request.connector, task["id"]) in ids else task for task in body["tasks"]
    ]
    return body


def errors_of(validation: Mapping[str, Any]) -> list[str]:
    return [error for config in validation["configs"] for error in config["value"]["errors"]]


def invalid(errors: list[str]) -> RestError:
    lines = "".join(f"\n{error}" for error in errors)
    return RestError(
        400,
        f"Connector configuration is invalid and contains the following {len(errors)} error(s):{lines}\n"
        f"You can also find the above list of errors at the endpoint `{VALIDATE}`",
    )


def _config(name: str, configs: Configs) -> Mapping[str, str]:
    if name not in configs:
        raise not_found(name)
    return configs.connectors[name]


def _state(status: Status | None) -> dict[str, Any]:
    if status is None:
        return {"state": State.UNASSIGNED.value, "worker_id": ""}
    body: dict[str, Any] = {"state": status.state.value, "worker_id": status.worker_id}
    if status.version is not None:
        body["version"] = status.version
    if status.trace is not None:
        body["trace"] = status.trace
    return body


def _restarting(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "state": State.RESTARTING.value}
