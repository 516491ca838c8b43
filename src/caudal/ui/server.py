"""The control center as a server: NiceGUI's application behind our checks, on a socket that listens already.

Requests are answered only when their Host names this machine as it was exposed, and when their Origin, if they have
one, is the same: a page of another site can neither read nor open the websocket. Nothing is loaded from elsewhere,
which a Content-Security-Policy enforces.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from caudal import __version__
from caudal.http_hosts import names_us
from caudal.http_serving import HttpServing, uvicorn_config
from caudal.ui import platform as platforms
from caudal.ui.platform import Platform, Settings

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

RECONNECT_SECONDS = 10.0
# Messages kept for a browser that lost its connection for a moment: live pages send many.
MESSAGES_KEPT = 100
BINDING_SECONDS = 0.5
STATIC_AGE = 365 * 24 * 3600
# What NiceGUI's websocket library can also do and we do not: megabytes and a third of a second.
UNUSED_MODULES = (
    "kafka",
    "aiohttp",
    "requests",
    "rich",
    "websocket",
    "pyecharts",
    "pandas",
    "polars",
    "matplotlib",
    "plotly",
)

# Quasar's names for the colours of caudal.css, which differ between light and dark.
COLOURS = {
    "primary": "var(--accent)",
    "secondary": "var(--series-3)",
    "accent": "var(--accent)",
    "dark": "var(--raised)",
    "dark_page": "var(--bg)",
    "positive": "var(--good)",
    "negative": "var(--bad)",
    "info": "var(--info)",
    "warning": "var(--warn)",
}

HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self' ws: wss:; "
        b"object-src 'none'; frame-ancestors 'self'; base-uri 'self'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
]


class UiServer:
    """`listener` listens already; it is closed with the server. One per process, as NiceGUI's application is."""

    def __init__(self, settings: Settings, listener: socket.socket, host: str) -> None:
        self.platform = Platform(settings)
        platforms.use(self.platform)
        self._listener = listener
        self._application = build_app(self.platform)
        config = uvicorn_config(Guard(self._application, host), "uvloop", websockets=True)
        config.load()  # NiceGUI looks for the server of its application when its life begins
        self._serving = HttpServing(config, listener)
        self._life = contextlib.AsyncExitStack()

    async def start(self) -> None:
        """Returns when pages are served."""
        await self._life.enter_async_context(self._application.router.lifespan_context(self._application))
        await self.platform.start()
        await self._serving.start()

    async def stop(self) -> None:
        """Closes the browsers' connections. Safe on a server that never finished its start."""
        await self._serving.stop()
        await self.platform.stop()
        await self._life.aclose()
        platforms.use(None)
        self._listener.close()


def build_app(platform: Platform) -> Any:
    """The FastAPI application with NiceGUI's mounted in it."""
    with _without_unused_modules():
        from fastapi import FastAPI
        from nicegui import app as nicegui_app
        from nicegui import ui

    from starlette.responses import JSONResponse, PlainTextResponse, Response

    from caudal.ui import find, shell
    from caudal.ui.frame import FAVICON, STATIC, static_prefix

    app = FastAPI(title="Caudal", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/health")
    async def health() -> Response:
        return JSONResponse({"status": "ok", "version": __version__})

    @app.get("/metrics")
    async def metrics() -> Response:
        return PlainTextResponse(metrics_text(platform), media_type="text/plain; version=0.0.4; charset=utf-8")

    find.add_route(app, platform)
    nicegui_app.add_static_files(static_prefix(), STATIC, max_cache_age=STATIC_AGE)
    shell.load_pages()
    nicegui_app.add_exception_handler(404, _on_not_found)
    _add_docs(app, platform.settings.docs)
    ui.run_with(
        app,
        title="Caudal",
        favicon=FAVICON,
        dark=None,
        tailwind=False,
        show_welcome_message=False,
        # On one machine compressing costs more than sending.
        gzip_middleware_factory=None,
        reconnect_timeout=RECONNECT_SECONDS,
        message_history_length=MESSAGES_KEPT,
        binding_refresh_interval=BINDING_SECONDS,
    )
    nicegui_app.colors(**COLOURS)  # run_with has just set its own
    return app


async def _on_not_found(request: Any, error: Exception) -> Any:
    """People see a page of ours, programs and scripts of a page a short answer."""
    from starlette.responses import PlainTextResponse

    from caudal.ui import shell

    if request.url.path.startswith("/_") or "text/html" not in request.headers.get("accept", ""):
        return PlainTextResponse("not found\n", 404)
    return await shell.not_found(request)


def _add_docs(app: Any, given: str | None) -> None:
    """The site as plain files, where there is one."""
    from starlette.staticfiles import StaticFiles

    from caudal.ui.pages.docs import MOUNT, site_folder

    folder = site_folder(given)
    if folder is not None:
        app.mount(MOUNT, StaticFiles(directory=folder, html=True))


def metrics_text(platform: Platform) -> str:
    """This process for Prometheus: small enough to be written by hand."""
    from nicegui import Client

    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    lines = []
    for name, kind, help_text, value in (
        ("caudal_ui_pages", "gauge", "Pages that browsers have open.", len(Client.instances)),
        ("caudal_ui_samples_total", "counter", "Samples taken of the cluster.", platform.sampler.samples),
        ("process_resident_memory_bytes", "gauge", "Resident memory.", resident),
        ("process_cpu_seconds_total", "counter", "CPU time used.", round(sum(os.times()[:2]), 2)),
    ):
        lines += [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}", f"{name} {value}"]
    return "\n".join(lines) + "\n"


class Guard:
    """Refuses requests and websockets that mean another host or come from another site's page."""

    def __init__(self, app: App, host: str) -> None:
        self._app = app
        self._host = host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = dict(reversed(scope["headers"]))
        trouble = refusal(
            headers.get(b"host", b"").decode("latin-1"), headers.get(b"origin", b"").decode("latin-1"), self._host
        )
        if trouble:
            await (_close(receive, send) if scope["type"] == "websocket" else _refuse(send, trouble))
            return
        await self._app(scope, receive, _with_headers(send) if scope["type"] == "http" else send)


def refusal(host: str, origin: str, bound: str) -> str:
    """Why a request is refused; empty when it is not."""
    if not names_us(host, bound):
        return "this server is not known by that Host name"
    if origin and urlsplit(origin).netloc.lower() != host.lower():
        return "requests of other sites' pages are refused"
    return ""


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *HEADERS]
        await send(message)

    return sending


async def _refuse(send: Send, reason: str) -> None:
    body = f"{reason}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _close(receive: Receive, send: Send) -> None:
    await receive()
    # Before it was accepted: the browser sees a 403.
    await send({"type": "websocket.close", "code": 1008})


@contextlib.contextmanager
def _without_unused_modules() -> Iterator[None]:
    """NiceGUI and its libraries use these when they are there; importing them would only cost."""
    hidden = [name for name in UNUSED_MODULES if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
