"""uvicorn as our HTTP servers run it: on a socket that listens already, with their own loop and signals."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator
from typing import Any, Literal

import uvicorn

BACKLOG = 2048
IDLE_SECONDS = 60
STOP_SECONDS = 5


def uvicorn_config(app: Any, loop: Literal["none", "uvloop"] = "none", websockets: bool = False) -> uvicorn.Config:
    # It tells of every start and stop; the servers' own lines say that too.
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    return uvicorn.Config(
        app,
        loop=loop,
        http="httptools",
        ws="websockets-sansio" if websockets else "none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
        backlog=BACKLOG,
    )


class HttpServing:
    """`start` returns when requests are answered, `stop` when what was asked has been. Stopping twice is no error."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket) -> None:
        self._uvicorn = _Uvicorn(config)
        self._listener = listener
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._serving = loop.create_task(self._uvicorn.serve(sockets=[self._listener]))
        listening = loop.create_task(self._uvicorn.listening.wait())
        await asyncio.wait({self._serving, listening}, return_when=asyncio.FIRST_COMPLETED)
        if self._serving.done():
            listening.cancel()
            self._serving.result()

    async def stop(self) -> None:
        self._uvicorn.should_exit = True
        if self._serving is not None:
            await self._serving


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
