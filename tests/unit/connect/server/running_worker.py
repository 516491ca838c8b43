"""The REST API of a worker on a port of its own, in a thread, for tests that talk to it with blocking clients."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from caudal.cli.http_process import bind
from caudal.connect.runtime.model import Herder
from caudal.connect.server.server import ConnectServer

STOP_SECONDS = 60


@contextmanager
def running_worker(herder: Herder) -> Iterator[str]:
    """Its address."""
    listener = bind("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    ready, stop = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    async def run() -> None:
        server = ConnectServer(herder, listener, "127.0.0.1", url)
        try:
            await server.start()
            ready.set()
            await asyncio.to_thread(stop.wait)
        finally:
            await server.stop()

    def serve() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:
            failures.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=serve, name="connect-server", daemon=True)
    thread.start()
    assert ready.wait(120)
    try:
        if failures:
            raise failures[0]
        yield url
    finally:
        stop.set()
        thread.join(STOP_SECONDS)
        assert not thread.is_alive(), "the server did not stop"
