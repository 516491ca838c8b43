"""How connectors, tasks and validations look on the screen."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from caudal.cli.output import print_heading, print_table

WIDEST_REASON = 100


def summary(name: str, known: dict[str, Any]) -> dict[str, Any]:
    """One line of `list`, from what `expand=status&expand=info` answers."""
    status, info = known.get("status", {}), known.get("info", {})
    tasks = [task["state"] for task in status.get("tasks", ())]
    return {
        "name": name,
        "type": info.get("type", status.get("type")),
        "state": status.get("connector", {}).get("state"),
        "tasks": len(tasks),
        "running": tasks.count("RUNNING"),
        "failed": tasks.count("FAILED"),
        "class": short_class(info.get("config", {}).get("connector.class", "")),
        "worker": status.get("connector", {}).get("worker_id"),
    }


def short_class(name: str) -> str:
    """
    >>> short_class("org.apache.kafka.connect.file.FileStreamSourceConnector"), short_class("Datagen")
    ('FileStreamSource', 'Datagen')
    """
    return name.rpartition(".")[2].removesuffix("Connector") or name


def print_status(status: dict[str, Any], whole_traces: bool) -> None:
    connector = status["connector"]
    print_heading(
        f"{status['name']}  {status.get('type', '')}  {connector['state']}  {connector.get('worker_id') or '-'}"
    )
    if connector.get("trace"):
        print(_reason(connector["trace"], whole_traces))
    tasks = status.get("tasks", [])
    shown = [
        [task["id"], task["state"], task.get("worker_id"), "" if whole_traces else _reason(task.get("trace", ""))]
        for task in tasks
    ]
    print_table(["TASK", "STATE", "WORKER", "REASON"], shown, empty="it has no tasks")
    for task in tasks if whole_traces else ():
        if task.get("trace"):
            print(f"\ntask {task['id']}:\n{task['trace'].rstrip()}")


def _reason(trace: str, whole: bool = False) -> str:
    """What went wrong stands in the last line of a Python trace, and in the first of any other."""
    if whole or not trace:
        return trace.rstrip()
    lines = [line for line in trace.strip().splitlines() if line.strip()]
    line = (lines[-1] if lines[0].startswith("Traceback") else lines[0]).strip()
    return line if len(line) <= WIDEST_REASON else f"{line[: WIDEST_REASON - 1]}…"


def has_failed(status: dict[str, Any]) -> bool:
    return any(part["state"] == "FAILED" for part in (status["connector"], *status.get("tasks", ())))


def is_running(status: dict[str, Any]) -> bool:
    tasks = status.get("tasks", ())
    return bool(tasks) and all(part["state"] == "RUNNING" for part in (status["connector"], *tasks))


def print_offsets(offsets: Iterable[dict[str, Any]]) -> None:
    rows = [[_compact(each["partition"]), _compact(each["offset"])] for each in offsets]
    print_table(["PARTITION", "OFFSET"], rows, empty="it has stored no offsets yet")


def _compact(value: Any) -> str:
    """{"kafka_topic": "a", "kafka_partition": 0} → kafka_topic=a kafka_partition=0"""
    if not isinstance(value, dict):
        return json.dumps(value)
    return " ".join(f"{key}={each if isinstance(each, str) else json.dumps(each)}" for key, each in value.items())


def validation_errors(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (each["value"]["name"], error)
        for each in answer.get("configs", ())
        for error in each["value"].get("errors", ())
    ]


def without_framework_keys(keys: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What only this connector can be told."""
    from caudal.connect.framework_keys import DEAD_LETTER, framework_def
    from caudal.connect.plugins import PluginKind

    names = {key["name"] for key in keys}
    if not {"connector.class", "tasks.max"} <= names:
        return keys  # no connector
    kind = PluginKind.SINK if f"{DEAD_LETTER}topic.name" in names else PluginKind.SOURCE
    framework = {key.name for key in framework_def(kind, {}).keys}
    return [key for key in keys if key["name"] not in framework]


def print_keys(keys: list[dict[str, Any]]) -> None:
    """What a plugin can be told."""
    for key in keys:
        default = key.get("default_value")
        about = "required" if key["required"] else f"default {default}" if default not in (None, "") else "optional"
        print(f"{key['name']}  ({key['type'].lower()}, {about})")
        for line in (key.get("documentation") or "").splitlines():
            print(f"    {line.strip()}")
