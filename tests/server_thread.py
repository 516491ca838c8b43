"""An HTTP server of ours on a port of its own, in a thread, for tests that talk to it with blocking clients."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from caudal.cli.http_process import bind

START_SECONDS = 120
STOP_SECONDS = 60


@contextmanager
def serving(make: Callable[[socket.socket, str, str], Any]) -> Iterator[str]:
    """The address of what `make` makes of a listener, a host and this address: something to start and to stop."""
    listener = bind("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    ready, stop = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    async def run() -> None:
        server = make(listener, "127.0.0.1", url)
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

    thread = threading.Thread(target=serve, name="server", daemon=True)
    thread.start()
    assert ready.wait(START_SECONDS)
    if failures:
        raise failures[0]
    try:
        yield url
    finally:
        stop.set()
        thread.join(STOP_SECONDS)
        assert not thread.is_alive(), "the server did not stop"
        if failures:
            raise failures[0]
