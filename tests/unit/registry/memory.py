"""A registry without Kafka: its log is a list. Requests go through the real application, in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import httpx

from caudal.registry.catalog import Catalog
from caudal.registry.forwarding import Forwarder
from caudal.registry.http import CONTENT_TYPE
from caudal.registry.index import Entry, Index
from caudal.registry.instance import Instance, Settings
from caudal.registry.plans import Plan, Plans
from caudal.registry.server import build_app

HEADERS = {"content-type": CONTENT_TYPE.decode()}


class MemoryInstance:
    """Stands for an Instance that writes."""

    def __init__(self, log: list[Entry] | None = None) -> None:
        self.settings = Settings({}, "http://localhost:8081")
        self.index = Index()
        self.catalog = Catalog(self.index)
        self.plans = Plans(self.catalog)
        self.is_chosen = self.is_writer = True
        self.log: list[Entry] = list(log or ())
        self.index.apply(self.log)

    @property
    def position(self) -> int:
        return len(self.log)

    async def pen_is_taken(self, seconds: float) -> bool:
        return True

    async def write(self, make_plan: Callable[[], Plan]) -> tuple[Any, int]:
        plan = make_plan()
        for key, value in plan.records:
            self.log.append(Entry(len(self.log), key, value))
            self.index.apply(self.log[-1:])
        return plan.answer, len(self.log)


class Reply(NamedTuple):
    status: int
    body: Any

    @property
    def code(self) -> int:
        return cast(int, self.body["error_code"])


class Rest:
    """The registry as a client sees it."""

    def __init__(self, log: list[Entry] | None = None) -> None:
        self.instance = MemoryInstance(log)
        instance = cast(Instance, self.instance)
        self.app = build_app(instance, Forwarder(instance), "127.0.0.1")

    def send(self, method: str, path: str, content: bytes | None = None, **headers: str) -> httpx.Response:
        given = {name.replace("_", "-"): value for name, value in headers.items()}

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(cast(Any, self.app))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8081") as client:
                return await client.request(method, path, content=content, headers=given)

        return asyncio.run(ask())

    def ask(self, method: str, path: str, body: Any = None) -> Reply:
        content = None if body is None else json.dumps(body).encode()
        answer = self.send(method, path, content, **({} if body is None else HEADERS))
        return Reply(answer.status_code, answer.json() if answer.content else None)

    def get(self, path: str) -> Any:
        """The body of an answer that is no error."""
        reply = self.ask("GET", path)
        assert reply.status == 200, reply
        return reply.body

    def register(self, subject: str, schema: Any, **fields: Any) -> Reply:
        return self.ask("POST", f"/subjects/{subject}/versions", body(schema, **fields))

    def id_of(self, subject: str, schema: Any, **fields: Any) -> int:
        reply = self.register(subject, schema, **fields)
        assert reply.status == 200, reply
        return cast(int, reply.body["id"])

    def restarted(self) -> Rest:
        return Rest(self.instance.log)


def body(schema: Any, **fields: Any) -> dict[str, Any]:
    return {"schema": schema if isinstance(schema, str) else json.dumps(schema), **fields}


def record(name: str = "R", **fields: Any) -> dict[str, Any]:
    """An Avro record: `record("Order", id="int")`; a field given as (type, default) has a default."""
    listed = [
        {"name": field, "type": kind[0], "default": kind[1]}
        if isinstance(kind, tuple)
        else {"name": field, "type": kind}
        for field, kind in fields.items()
    ]
    return {"type": "record", "name": name, "fields": listed}
