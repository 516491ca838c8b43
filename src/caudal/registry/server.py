"""The registry as a server: the instance, its endpoints and uvicorn put together, from the start to a clean stop."""

from __future__ import annotations

import socket
from typing import Any

import orjson

from caudal.http_serving import HttpServing, uvicorn_config
from caudal.registry.endpoints import Endpoints
from caudal.registry.forwarding import Forwarder
from caudal.registry.http import Answer, App, Request, Route, own_name
from caudal.registry.instance import Instance, Settings
from caudal.registry.metrics import CONTENT_TYPE as METRICS_TYPE
from caudal.registry.metrics import MetricsPage
from caudal.registry.openapi import docs_page, openapi
from caudal.registry.routes import routes, without_context_prefix

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
        self._serving = HttpServing(uvicorn_config(self.app, "uvloop"), listener)

    async def start(self) -> None:
        """Returns when schemas are served and, if that takes no longer than a moment, can be written."""
        await self.instance.start()
        await self._serving.start()
        await self.instance.settle()

    async def stop(self) -> None:
        """Answers what it has, then leaves the group. Safe on a server that never finished its start."""
        await self._serving.stop()
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
