"""Connect as pages ask it: connectors with their state, tasks, offsets and topics, plugins, and what is done to them.

While the workers share out connectors anew they refuse with 409; such a request is sent again for a while, since
nothing was done. What a plugin's form looks like is `connect_form.py`'s, what is secret `connect_secrets.py`'s.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from caudal.ui.services.errors import UiError
from caudal.ui.services.http import Http
from caudal.ui.services.kafka import Kafka

REQUEST_SECONDS = 95.0  # longer than a worker gives itself
REBALANCE_SECONDS = 20.0
PAUSE_SECONDS = 0.3
BAD = ("FAILED", "RESTARTING")
STATES = ("RUNNING", "PAUSED", "STOPPED", "FAILED", "RESTARTING", "UNASSIGNED")


@dataclass(frozen=True, slots=True)
class Task:
    id: int
    state: str
    worker: str
    trace: str = ""

    @property
    def reason(self) -> str:
        return reason_of(self.trace)


@dataclass(frozen=True, slots=True)
class Connector:
    name: str
    state: str
    worker: str
    kind: str  # source or sink
    plugin: str
    config: Mapping[str, str]
    tasks: tuple[Task, ...] = ()
    trace: str = ""

    @property
    def is_sink(self) -> bool:
        return self.kind == "sink"

    @property
    def reason(self) -> str:
        return reason_of(self.trace)

    @property
    def failed(self) -> int:
        return sum(task.state in BAD for task in self.tasks)

    @property
    def worst(self) -> str:
        """Of the connector and its tasks: a connector that runs with a failed task does not run."""
        if self.state in BAD or not self.failed:
            return self.state
        return "FAILED"


@dataclass(frozen=True, slots=True)
class Plugin:
    """One version of one; `name` is what `connector.class` is given."""

    name: str
    kind: str
    version: str
    about: str = ""
    delivery: str = ""
    short: str = ""
    error: str = ""

    @property
    def shown(self) -> str:
        return self.short or self.name.rpartition(".")[2]

    @property
    def is_connector(self) -> bool:
        return self.kind in ("source", "sink")


@dataclass(frozen=True, slots=True)
class Offset:
    partition: Mapping[str, Any]
    offset: Mapping[str, Any] | None
    end: int | None = None  # of a sink's partition

    @property
    def lag(self) -> int | None:
        at = (self.offset or {}).get("kafka_offset")
        return None if self.end is None or not isinstance(at, int) else max(0, self.end - at)


class Connect:
    def __init__(self, http: Http) -> None:
        self._http = http

    async def ask(self, method: str, path: str, body: Any = None, params: Mapping[str, Any] | None = None) -> Any:
        deadline = time.monotonic() + REBALANCE_SECONDS
        while True:
            try:
                return await self._http.request(method, path, body, params, timeout=REQUEST_SECONDS)
            except UiError as error:
                if error.code != 409 or "rebalance" not in error.message or time.monotonic() > deadline:
                    raise
            await asyncio.sleep(PAUSE_SECONDS)

    async def of(self, name: str, rest: str = "", method: str = "GET", body: Any = None, **params: Any) -> Any:
        return await self.ask(method, f"/connectors/{quote(name, safe='')}{rest}", body, params or None)

    # -- what there is -------------------------------------------------------------------------------------------------

    async def connectors(self) -> list[Connector]:
        found = await self.ask("GET", "/connectors", params={"expand": ["status", "info"]})
        return sorted((_connector(name, one) for name, one in found.items()), key=lambda one: one.name)

    async def connector(self, name: str) -> Connector:
        info, status = await asyncio.gather(self.of(name), self._status(name))
        return _connector(name, {"info": info, "status": status})

    async def _status(self, name: str) -> Any:
        """A connector that has just been made has no status yet."""
        try:
            return await self.of(name, "/status")
        except UiError as error:
            if error.code != 404:
                raise
            return {}

    async def topics(self, name: str) -> list[str]:
        found = await self.of(name, "/topics")
        return sorted(found.get(name, {}).get("topics", ()))

    async def plugins(self) -> list[Plugin]:
        """Connectors first, then converters, transforms and predicates."""
        found = await self.ask("GET", "/connector-plugins", params={"connectorsOnly": "false", "detail": "true"})
        return sorted((_plugin(one) for one in found), key=lambda one: (not one.is_connector, one.kind, one.shown))

    async def plugin_keys(self, plugin: str, version: str | None = None) -> list[dict[str, Any]]:
        params = {"version": version} if version else None
        found = await self.ask("GET", f"/connector-plugins/{quote(plugin, safe='')}/config", params=params)
        return list(found)

    async def validate(self, plugin: str, config: Mapping[str, str]) -> dict[str, Any]:
        path = f"/connector-plugins/{quote(plugin, safe='')}/config/validate"
        return dict(await self.ask("PUT", path, dict(config)))

    async def offsets(self, name: str, kafka: Kafka | None = None) -> list[Offset]:
        """How far it is. With `kafka`, a sink's partitions also say where they end."""
        found = (await self.of(name, "/offsets"))["offsets"]
        pairs = {at: pair for at, one in enumerate(found) if (pair := _kafka_partition(one["partition"])) is not None}
        ends = await kafka.end_offsets(pairs.values()) if kafka is not None and pairs else {}
        return [
            Offset(one["partition"], one["offset"], ends.get(pairs[at]) if at in pairs else None)
            for at, one in enumerate(found)
        ]

    # -- what is done --------------------------------------------------------------------------------------------------

    async def create(self, name: str, config: Mapping[str, str], initial_state: str | None = None) -> None:
        body: dict[str, Any] = {"name": name, "config": dict(config)}
        if initial_state is not None:
            body["initial_state"] = initial_state
        await self.ask("POST", "/connectors", body)

    async def put_config(self, name: str, config: Mapping[str, str]) -> None:
        await self.of(name, "/config", "PUT", dict(config))

    async def pause(self, name: str) -> None:
        await self.of(name, "/pause", "PUT")

    async def resume(self, name: str) -> None:
        await self.of(name, "/resume", "PUT")

    async def stop(self, name: str) -> None:
        await self.of(name, "/stop", "PUT")

    async def restart(self, name: str, *, tasks: bool = False, only_failed: bool = False) -> None:
        flags = {"includeTasks": str(tasks).lower(), "onlyFailed": str(only_failed).lower()}
        await self.of(name, "/restart", "POST", **flags)

    async def restart_task(self, name: str, task: int) -> None:
        await self.of(name, f"/tasks/{task}/restart", "POST")

    async def delete(self, name: str) -> None:
        await self.of(name, "", "DELETE")

    async def forget_topics(self, name: str) -> None:
        await self.of(name, "/topics/reset", "PUT")

    async def alter_offsets(self, name: str, offsets: list[dict[str, Any]]) -> str:
        return _said(await self.of(name, "/offsets", "PATCH", {"offsets": offsets}))

    async def reset_offsets(self, name: str) -> str:
        return _said(await self.of(name, "/offsets", "DELETE"))


def reason_of(trace: str) -> str:
    """The line of a trace that says what happened: Python's is the last one, Java's the first.

    >>> reason_of("Traceback (most recent call last):\\n  File x\\nOSError: disk full")
    'OSError: disk full'
    """
    lines = [line for line in trace.strip().splitlines() if line.strip()]
    if not lines:
        return ""
    if lines[0].startswith("Traceback"):
        return next((line for line in reversed(lines) if not line.startswith(" ")), lines[-1]).strip()
    return lines[0].strip()


def _connector(name: str, found: Mapping[str, Any]) -> Connector:
    info, status = found.get("info") or {}, found.get("status") or {}
    state = status.get("connector") or {}
    config = info.get("config") or {}
    tasks = tuple(
        Task(task["id"], task["state"], task.get("worker_id", ""), task.get("trace", ""))
        for task in sorted(status.get("tasks") or (), key=lambda one: int(one["id"]))
    )
    return Connector(
        name,
        state.get("state", "UNASSIGNED"),
        state.get("worker_id", ""),
        info.get("type") or status.get("type") or "unknown",
        str(config.get("connector.class", "")),
        config,
        tasks,
        state.get("trace", ""),
    )


def _plugin(found: Mapping[str, Any]) -> Plugin:
    return Plugin(
        str(found.get("class", "")),
        str(found.get("type", "")),
        str(found.get("version") or ""),
        str(found.get("documentation") or ""),
        str(found.get("delivery") or ""),
        str(found.get("name") or ""),
        str(found.get("error") or ""),
    )


def _kafka_partition(partition: Mapping[str, Any]) -> tuple[str, int] | None:
    topic, number = partition.get("kafka_topic"), partition.get("kafka_partition")
    return (topic, number) if isinstance(topic, str) and isinstance(number, int) else None


def _said(answer: Any) -> str:
    return str(answer.get("message", "")) if isinstance(answer, dict) else ""
