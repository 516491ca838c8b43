"""Connect as a server: the worker, its endpoints and uvicorn put together, from the start to a clean stop."""

from __future__ import annotations

import asyncio
import socket
from urllib.parse import urlsplit

from caudal.connect.runtime.model import Herder
from caudal.connect.server.app import build_app
from caudal.connect.server.asking import REQUEST_SECONDS, Asking
from caudal.http_serving import HttpServing, uvicorn_config


class ConnectServer:
    """`listener` listens already; it is closed with the server. `url` is where other workers reach it."""

    def __init__(
        self, herder: Herder, listener: socket.socket, host: str, url: str, request_seconds: float = REQUEST_SECONDS
    ) -> None:
        self.herder = herder
        self._listener = listener
        self._asking = Asking(herder, request_seconds)
        name = urlsplit(url).hostname
        app = build_app(self._asking, host, (name,) if name else ())
        self._serving = HttpServing(uvicorn_config(app), listener)

    async def start(self) -> None:
        """Returns when the worker is ready. /health is answered before: it is how one sees that it starts, and workers
        that join may have to ask each other."""
        await self._serving.start()
        await asyncio.get_running_loop().run_in_executor(None, self.herder.start)
        self._asking.started.set()

    async def stop(self) -> None:
        """Answers what it has, then the tasks flush and the group is left. Safe on a server that never finished its
        start."""
        await self._serving.stop()
        await asyncio.get_running_loop().run_in_executor(None, self.herder.stop)
        await self._asking.close()
        self._listener.close()
