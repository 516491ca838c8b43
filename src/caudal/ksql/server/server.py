"""KSQL as a server: the engine, its endpoints and hypercorn put together, from the start to a clean stop.

hypercorn because it speaks HTTP/1.1, HTTP/2 without TLS (as ksqlDB's Java client does) and websockets on one port.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys
from urllib.parse import urlsplit

from hypercorn.asyncio import serve
from hypercorn.config import Config

from caudal.ksql.engine.engine import Engine
from caudal.ksql.server.app import build_app
from caudal.ksql.server.asking import Asking

log = logging.getLogger("caudal.ksql.server")

IDLE_SECONDS = 60
STOP_SECONDS = 3.0
STREAMS = 1000  # HTTP/2: requests of one connection at the same time; a push query is one for as long as it lives


class KsqlServer:
    """`listener` listens already; it is closed with the server."""

    def __init__(self, engine: Engine, listener: socket.socket, host: str, url: str) -> None:
        self.engine = engine
        self._listener = listener
        self._asking = Asking(engine)
        name = urlsplit(url).hostname
        self._app = build_app(self._asking, host, (name,) if name else ())
        self._stopping = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Returns when statements are served. Queries of an earlier life may still be on their way to run."""
        await self._asking.blocking(self.engine.start)
        self._serving = asyncio.get_running_loop().create_task(
            serve(self._app, hypercorn_config(self._listener), shutdown_trigger=self._stopping.wait)  # type: ignore[arg-type]
        )

    async def stop(self) -> None:
        # Push queries first: their responses would keep the server waiting.
        await asyncio.get_running_loop().run_in_executor(None, self.engine.push_queries.close)
        self._stopping.set()
        if self._serving is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._serving
        await asyncio.get_running_loop().run_in_executor(None, self.engine.close)
        self._asking.close()
        self._listener.close()


def hypercorn_config(listener: socket.socket) -> Config:
    """Also what the bench gives to the empty endpoint that it compares with."""
    config = Config()
    # A descriptor of its own: hypercorn closes the one it is given.
    config.bind = [f"fd://{os.dup(listener.fileno())}"]
    config.accesslog = None
    config.errorlog = logging.getLogger("caudal.ksql.http")
    logging.getLogger("caudal.ksql.http").setLevel(logging.WARNING)
    config.include_server_header = False
    config.keep_alive_timeout = IDLE_SECONDS
    config.keep_alive_max_requests = sys.maxsize  # hypercorn's own is 1,000: a busy client lost its connection
    config.graceful_timeout = STOP_SECONDS
    config.h2_max_concurrent_streams = STREAMS
    # A body that is longer than its socket's buffer arrives in parts; a push query's answer has no end.
    config.read_timeout = None
    return config
