"""Connect as a server: the worker, its endpoints and uvicorn put together, from the start to a clean stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import uvicorn

from caudal.connect.runtime.model import Herder
from caudal.connect.server.app import build_app
from caudal.connect.server.asking import REQUEST_SECONDS, Asking

BACKLOG = 2048
IDLE_SECONDS = 60
STOP_SECONDS = 5


class ConnectServer:
    """`listener` listens already; it is closed with the server. `url` is where other workers reach it."""

    def __init__(
        self, herder: Herder, listener: socket.socket, host: str, url: str, request_seconds: float = REQUEST_SECONDS
    ) -> None:
        self.herder = herder
        self._listener = listener
        self._asking = Asking(herder, request_seconds)
        name = urlsplit(url).hostname
        self._uvicorn = _Uvicorn(_config(build_app(self._asking, host, (name,) if name else ())))
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Returns when the worker is ready. /health is answered before: it is how one sees that it starts, and workers
        that join may have to ask each other."""
        loop = asyncio.get_running_loop()
        self._serving = loop.create_task(self._uvicorn.serve(sockets=[self._listener]))
        listening = loop.create_task(self._uvicorn.listening.wait())
        await asyncio.wait({self._serving, listening}, return_when=asyncio.FIRST_COMPLETED)
        if self._serving.done():
            listening.cancel()
            self._serving.result()
        await loop.run_in_executor(None, self.herder.start)
        self._asking.started.set()

    async def stop(self) -> None:
        """Answers what it has, then the tasks flush and the group is left. Safe on a server that never finished its
        start."""
        self._uvicorn.should_exit = True
        if self._serving is not None:
            await self._serving
        await asyncio.get_running_loop().run_in_executor(None, self.herder.stop)
        await self._asking.close()
        self._listener.close()


def _config(app: object) -> uvicorn.Config:
    # It tells of every start and stop; the worker's own lines say that too.
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        loop="none",
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
