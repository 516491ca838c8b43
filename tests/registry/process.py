"""`caudal registry` as a process of its own, and what tests ask it."""

from __future__ import annotations

import json
from typing import Any

import httpx

from tests.server_process import ServerProcess

HEADERS = {"content-type": "application/vnd.schemaregistry.v1+json"}


class RegistryProcess(ServerProcess):
    def __init__(self, bootstrap: str, *arguments: str, port: int = 0, log: Any = None) -> None:
        super().__init__("registry", bootstrap, "--log-level", "info", *arguments, port=port, log=log)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def is_writer(self) -> bool:
        text = httpx.get(f"{self.url}/metrics", timeout=30).text
        return "caudal_registry_writer 1.0" in text

    def register(self, subject: str, schema: Any) -> httpx.Response:
        body = {"schema": schema if isinstance(schema, str) else json.dumps(schema)}
        return httpx.post(f"{self.url}/subjects/{subject}/versions", json=body, headers=HEADERS, timeout=30)

    def get(self, path: str) -> Any:
        answer = httpx.get(self.url + path, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.json()
