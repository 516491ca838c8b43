"""A registry inside this process, for tests: `mock://name` is its address, and every client in the process that uses
the name sees the same schemas. It is the real one, endpoints and all, with a list in memory for the topic `_schemas`
and no sockets; it ends with the process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

from caudal.registry.client import forget_shared
from caudal.registry.endpoints import Endpoints
from caudal.registry.forwarding import Forwarder
from caudal.registry.http import CONTENT_TYPE, App
from caudal.registry.index import Entry
from caudal.registry.instance import Instance, Settings
from caudal.registry.plans import Plan
from caudal.registry.routes import routes, without_context_prefix

_HOST = "localhost"
_registries: dict[str, MockRegistry] = {}
_lock = threading.Lock()


def registry_named(address: str) -> MockRegistry:
    """The registry of `mock://name`; the first question makes it."""
    with _lock:
        name = address.removeprefix("mock://")
        if name not in _registries:
            _registries[name] = MockRegistry()
        return _registries[name]


def forget_registry(address: str) -> None:
    """Begin anew."""
    forget_shared(address)
    with _lock:
        _registries.pop(address.removeprefix("mock://"), None)


class MockRegistry:
    def __init__(self) -> None:
        instance = _InMemory(Settings({}, f"http://{_HOST}"))
        table = routes(Endpoints(instance, Forwarder(instance)))
        self._app = App(table, instance.index, _HOST, (), without_context_prefix)

    def answer(self, method: str, path: str, query: Sequence[tuple[str, str]], body: bytes | None) -> tuple[int, bytes]:
        """As the server would."""
        return asyncio.run_coroutine_threadsafe(self._answer(method, path, query, body), _loop()).result()

    async def _answer(
        self, method: str, path: str, query: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, bytes]:
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": urlencode(query).encode(),
            "headers": [(b"host", _HOST.encode()), (b"content-type", CONTENT_TYPE)],
        }
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body or b""}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        return sent[0]["status"], sent[1]["body"]


class _InMemory(Instance):
    """What is written is in the index at once."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.is_chosen = True

    async def pen_is_taken(self, seconds: float) -> bool:
        return True

    async def write(self, make_plan: Callable[[], Plan]) -> tuple[Any, int]:
        plan = await asyncio.to_thread(make_plan)
        self.index.apply([Entry(self.position + place, *record) for place, record in enumerate(plan.records)])
        self.position += len(plan.records)
        return plan.answer, self.position


_running: list[asyncio.AbstractEventLoop] = []


def _loop() -> asyncio.AbstractEventLoop:
    """One loop for all, in a thread of its own: whoever asks may have one, or none."""
    with _lock:
        if not _running:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="caudal-mock-registry", daemon=True).start()
            _running.append(loop)
        return _running[0]
