"""Connectors: statements that Kafka Connect's REST API answers (ksql.connect.url)."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote

from caudal.ksql.engine.entities import Entity, entity, warning
from caudal.ksql.engine.handlers import Request, handles, text_of
from caudal.ksql.errors import KsqlError
from caudal.ksql.syntax.statements import CreateConnector, DropConnector

SECONDS = 30.0  # a validation may ask a database
REBALANCE_SECONDS = 15.0  # for so long a worker that is being rebalanced is asked again
PAUSE_SECONDS = 0.3


class Connect:
    """Raises KsqlError with Connect's own words."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def connectors(self, kind: str | None) -> list[dict[str, Any]]:
        listed = self._ask("GET", "/connectors?expand=status&expand=info")
        lines = []
        for name, known in sorted(listed.items()):
            status, info = known.get("status", {}), known.get("info", {})
            type = str(info.get("type", status.get("type", "unknown"))).lower()
            if kind is not None and type != kind.lower():
                continue
            tasks = [task.get("state") for task in status.get("tasks", [])]
            running = sum(state == "RUNNING" for state in tasks)
            state = status.get("connector", {}).get("state", "UNKNOWN")
            if state == "RUNNING":
                state = f"{'RUNNING' if running == len(tasks) else 'WARNING'} ({running}/{len(tasks)} tasks RUNNING)"
            name_of_class = info.get("config", {}).get("connector.class", "")
            lines.append({"name": name, "type": type, "className": name_of_class, "state": state})
        return lines

    def plugins(self) -> list[dict[str, Any]]:
        return [
            {"className": one.get("class"), "type": one.get("type"), "version": one.get("version")}
            for one in self._ask("GET", "/connector-plugins")
        ]

    def describe(self, name: str) -> dict[str, Any]:
        place = f"/connectors/{quote(name, safe='')}"
        info, status = self._ask("GET", place), self._ask("GET", f"{place}/status")
        topics = self._ask("GET", f"{place}/topics", missing={})
        return {
            "connectorClass": info.get("config", {}).get("connector.class", ""),
            "status": status,
            "topics": topics.get(name, {}).get("topics", []),
        }

    def exists(self, name: str) -> bool:
        return self._ask("GET", f"/connectors/{quote(name, safe='')}", missing=None) is not None

    def create(self, name: str, config: dict[str, str]) -> dict[str, Any]:
        return dict(self._ask("POST", "/connectors", {"name": name, "config": config}))

    def drop(self, name: str) -> None:
        self._ask("DELETE", f"/connectors/{quote(name, safe='')}")

    _REFUSE = object()

    def _ask(self, method: str, path: str, body: Any = None, missing: Any = _REFUSE) -> Any:
        import httpx

        deadline = time.monotonic() + REBALANCE_SECONDS
        while True:
            try:
                # A neighbour: no proxy of the environment is meant for it.
                response = httpx.request(method, self._url + path, json=body, timeout=SECONDS, trust_env=False)
            except httpx.HTTPError as error:
                reason = str(error) or type(error).__name__
                raise KsqlError(f"Kafka Connect at {self._url} does not answer: {reason}.") from None
            if response.status_code == 404 and missing is not self._REFUSE:
                return missing
            if response.status_code < 400:
                return response.json() if response.content else None
            words = _words(response)
            # Nothing was done then, and it soon can be.
            if response.status_code != 409 or "rebalance" not in words or time.monotonic() > deadline:
                raise KsqlError(f"Kafka Connect refused: {words}")
            time.sleep(PAUSE_SECONDS)


def _words(response: Any) -> str:
    try:
        return str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        return str(response.text)


@handles(CreateConnector)
def create_connector(request: Request, statement: CreateConnector) -> Entity:
    connect = request.engine.connect()
    if statement.if_not_exists and connect.exists(statement.name):
        return warning(text_of(statement), f"Connector {statement.name} already exists")
    config = {
        prop.name.lower() if prop.name.isupper() else prop.name: _text(prop.value) for prop in statement.properties
    }
    config["name"] = statement.name
    return entity("connector_info", text_of(statement), info=connect.create(statement.name, config))


@handles(DropConnector)
def drop_connector(request: Request, statement: DropConnector) -> Entity:
    connect = request.engine.connect()
    if statement.if_exists and not connect.exists(statement.name):
        return warning(text_of(statement), f"Connector '{statement.name}' does not exist.")
    connect.drop(statement.name)
    return entity("drop_connector", text_of(statement), connectorName=statement.name)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
