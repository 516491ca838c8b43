"""The registry as a server: the instance, its endpoints and uvicorn put together, from the start to a clean stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator
from typing import Any

import orjson
import uvicorn

from caudal.registry.endpoints import Endpoints
from caudal.registry.forwarding import Forwarder
from caudal.registry.http import Answer, App, Request, Route, own_name
from caudal.registry.instance import Instance, Settings
from caudal.registry.metrics import CONTENT_TYPE as METRICS_TYPE
from caudal.registry.metrics import MetricsPage
from caudal.registry.openapi import docs_page, openapi
from caudal.registry.routes import routes, without_context_prefix

log = logging.getLogger("caudal.registry.server")

BACKLOG = 2048
IDLE_SECONDS = 60
STOP_SECONDS = 5
HTML = b"text/html; charset=utf-8"
# A page that is only to be read: nothing in it may load or run anything.
PAGE_HEADERS = ((b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'"),)


class RegistryServer:
    """`listener` listens already; it is closed with the server."""

    def __init__(self, settings: Settings, listener: socket.socket, host: str) -> None:
        self.instance = Instance(settings)
        self._listener = listener
        self._forwarder = Forwarder(self.instance)
        self.app = build_app(self.instance, self._forwarder, host)
        self._uvicorn = _Uvicorn(uvicorn_config(self.app))
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Returns when schemas are served and, if that takes no longer than a moment, can be written."""
        await self.instance.start()
        self._serving = asyncio.get_running_loop().create_task(self._uvicorn.serve(sockets=[self._listener]))
        listening = asyncio.get_running_loop().create_task(self._uvicorn.listening.wait())
        await asyncio.wait({self._serving, listening}, return_when=asyncio.FIRST_COMPLETED)
        if self._serving.done():
            listening.cancel()
            self._serving.result()
        await self.instance.settle()

    async def stop(self) -> None:
        """Answers what it has, then leaves the group. Safe on a server that never finished its start."""
        self._uvicorn.should_exit = True
        if self._serving is not None:
            await self._serving
        await self._forwarder.close()
        await self.instance.stop()
        self._listener.close()


def build_app(instance: Instance, forwarder: Forwarder, host: str) -> App:
    table = routes(Endpoints(instance, forwarder))
    description, page = orjson.dumps(openapi(table)), docs_page(table).encode()

    async def get_openapi(request: Request) -> Any:
        return Answer(description, content_type=b"application/json")

    async def get_docs(request: Request) -> Any:
        return Answer(page, content_type=HTML, headers=PAGE_HEADERS)

    async def get_metrics(request: Request) -> Any:
        return Answer(metrics.text(), content_type=METRICS_TYPE)

    extra = [
        Route("GET", "/openapi.json", get_openapi, "This API for programs"),
        Route("GET", "/docs", get_docs, "This API for people"),
        Route("GET", "/metrics", get_metrics, "Measurements for Prometheus"),
    ]
    app = App([*table, *extra], instance.index, host, own_name(instance.settings.url), without_context_prefix)
    metrics = MetricsPage(instance, app)
    return app


def uvicorn_config(app: Any) -> uvicorn.Config:
    """Also what the bench gives to the empty endpoint that it compares with."""
    # It tells of every start and stop; the registry's own lines say that too.
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    return uvicorn.Config(
        app,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
        backlog=BACKLOG,
    )


class _Uvicorn(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the command's business."""
        yield
